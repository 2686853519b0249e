//! Where the best element along an axis is; shared by `arg_max` and `arg_min`.

use std::cmp::Ordering;

use oarlock_ir::{AttrView, Dim, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Sig, Traits, VarType};
use oarlock_ir::{fail, kernel};
use oarlock_ops_support::int_list::axis_of;
use oarlock_ops_support::number::{Number, by_number};
use oarlock_tensor::{DType, Dims};

use crate::index::sorting::along;

/// The operator.
pub(crate) struct Pick {
    /// The operator's type.
    pub(crate) op_type: &'static str,
    /// The formula, for the documentation.
    pub(crate) doc: &'static str,
    /// How a better element compares to a worse one.
    pub(crate) better: Ordering,
}

/// The dtype of the answer; -1 asks for i64.
fn index_dtype(attrs: AttrView<'_>) -> Result<DType> {
    if attrs.int("dtype")? < 0 {
        return Ok(DType::I64);
    }
    match attrs.dtype("dtype")? {
        d @ (DType::I32 | DType::I64) => Ok(d),
        other => fail!(Kind::DType, "indices are i32 or i64, not {other}"),
    }
}

impl OpDef for Pick {
    fn sig(&self) -> Sig {
        Sig::new(self.op_type, self.doc)
            .input("X", "any tensor of numbers")
            .output("Out", "integers; `X` without the axis")
            .required_attr("axis", "the axis; negative ones count from the end")
            .attr("keepdims", false, "keep the axis as one of size 1")
            .attr("dtype", -1, "dtype of `Out`: i32, or i64 which is also meant by -1")
            .traits(Traits::GRADIENT_FREE)
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, axis) = (cx.input("X")?, cx.attrs().int("axis")?);
        let Some(axis) = axis_of(axis, x.shape.rank()) else {
            return Err(cx.shape_error(format!("has no axis {axis} in {}", cx.describe("X"))));
        };
        let mut shape = x.shape.0;
        if cx.attrs().bool("keepdims")? {
            shape[axis] = Dim::Is(1);
        } else {
            shape.remove(axis);
        }
        let out = VarType::tensor(index_dtype(cx.attrs())?, shape);
        cx.set("Out", out);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out, axis) = (p.input("X")?, p.output("Out")?, p.attrs().int("axis")?);
        let (keep, better, to) = (p.attrs().bool("keepdims")?, self.better, index_dtype(p.attrs())?);
        by_number!(p.dtype("X")?, T => kernel(move |io| match to {
            DType::I32 => pick::<T, i32>(io, x, out, axis, keep, better),
            _ => pick::<T, i64>(io, x, out, axis, keep, better),
        }), other => fail!(Kind::DType, "`{}` works on f32, f64, i32 and i64, not on {other}", self.op_type))
    }
}

/// Of equal elements the first is picked.
fn pick<T: Number, I: Number>(io: &Io<'_>, x: In, out: Out, axis: i64, keep: bool, better: Ordering) -> Result<()> {
    let tensor = io.dense(x)?;
    let dims = *tensor.dims();
    let Some(axis) = axis_of(axis, dims.rank()).filter(|a| dims[*a] > 0) else {
        return Err(io.error(Kind::Shape, x, format_args!("is {dims}, there is nothing to pick along axis {axis}")));
    };
    let mut left = Dims::new(&dims[..axis]);
    if keep {
        left.push(1);
    }
    dims[axis + 1..].iter().for_each(|n| left.push(*n));
    let mut to = io.out_sized(out, I::DTYPE, left)?;
    let (data, to) = (io.data::<T>(x, &tensor)?, io.data_mut::<I>(out, &mut to)?);
    let [_, size, after] = along(&dims, axis);
    for (i, to) in to.iter_mut().enumerate() {
        let start = i / after * size * after + i % after;
        let at = |k: usize| data[start + k * after];
        let best = (1..size).fold(0, |best, k| if at(k).partial_cmp(&at(best)) == Some(better) { k } else { best });
        *to = I::from_i64(best as i64);
    }
    Ok(())
}
