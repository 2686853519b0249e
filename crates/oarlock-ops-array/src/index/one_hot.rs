//! `one_hot`: a row with a single one in place of each number. `one_hot_v2` makes the rows a new axis.

use oarlock_ir::{Dim, Infer, Kernel, Kind, OpDef, Prepare, Result, Sig, Traits, VarType, kernel};
use oarlock_ops_support::ints::Ints;
use oarlock_tensor::{Dims, Element, MAX_RANK, by_element};

pub(crate) const OPS: &[&dyn OpDef] = &[&OneHot { op_type: "one_hot", replaces: true }];

/// The operator.
pub(crate) struct OneHot {
    /// The operator's type.
    pub(crate) op_type: &'static str,
    /// The rows replace a last axis of size 1; otherwise they are a new axis.
    pub(crate) replaces: bool,
}

impl OneHot {
    fn shape(&self, x: &VarType, depth: Dim) -> Option<Vec<Dim>> {
        let mut shape = x.shape.0.clone();
        if self.replaces {
            shape.pop().filter(|last| last.fits(Dim::Is(1)))?;
        }
        shape.push(depth);
        Some(shape)
    }
}

impl OpDef for OneHot {
    fn sig(&self) -> Sig {
        Sig::new(self.op_type, "Out = 1 at the place that each element of X names, else 0")
            .input("X", if self.replaces { "i32 or i64, [..., 1]" } else { "i32 or i64" })
            .optional_input("depth_tensor", "an i32 tensor of one number, instead of attribute `depth`")
            .output("Out", "the axes of `X`, then `depth`; LoD of `X`")
            .attr("depth", -1, "the length of the rows")
            .attr("dtype", 5, "dtype of `Out`")
            .attr(
                "allow_out_of_range",
                false,
                "an element outside of 0 to depth - 1 makes a row of zeros, not an error",
            )
            .traits(Traits::GRADIENT_FREE)
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, dtype) = (cx.integer("X")?, cx.attrs().dtype("dtype")?);
        let depth = if cx.has("depth_tensor") { Dim::Any } else { Dim::from_i64(cx.attrs().int("depth")?) };
        match self.shape(&x, depth) {
            Some(shape) => cx.set("Out", x.with_shape(shape).with_dtype(dtype)),
            None => return Err(cx.shape_error(format!("needs a last axis of size 1 in {}", cx.describe("X")))),
        }
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, depth_tensor, out) = (p.input("X")?, p.maybe_input("depth_tensor")?, p.output("Out")?);
        let (depth, lenient) = (p.attrs().int("depth")?, p.attrs().bool("allow_out_of_range")?);
        let replaces = self.replaces;
        by_element!(p.attrs().dtype("dtype")?, T => kernel(move |io| {
            let depth = depth_tensor.map_or(Ok(depth), |t| io.index(t))?;
            let tensor = io.dense(x)?;
            let Ok(width) = usize::try_from(depth) else {
                return Err(io.op_error(Kind::Argument, format_args!("needs a depth of at least 0, not {depth}")));
            };
            let dims = tensor.dims();
            if dims.rank() >= MAX_RANK || (replaces && dims.last() != Some(&1)) {
                return Err(io.error(Kind::Shape, x, format_args!("is {dims}, which cannot be replaced by rows")));
            }
            let mut shape = Dims::new(&dims[..dims.rank() - usize::from(replaces)]);
            shape.push(width);
            let mut to = io.out_sized(out, T::DTYPE, shape)?;
            to.set_lod(tensor.lod().clone());
            let to = io.data_mut::<T>(out, &mut to)?;
            to.fill(T::from_i64(0));
            for (row, v) in Ints::of(io, x, &tensor)?.iter().enumerate() {
                match usize::try_from(v).ok().filter(|v| *v < width) {
                    Some(at) => to[row * width + at] = T::from_i64(1),
                    None if lenient => {}
                    None => {
                        let what = format_args!("has {v} at element {row}, but only 0 to {} exist", depth - 1);
                        return Err(io.error(Kind::Range, x, what).help("raise `depth`, or set allow_out_of_range"));
                    }
                }
            }
            Ok(())
        }))
    }
}

#[test]
fn one_hot() {
    use crate::testing::{check, tensor, tensor_of};
    let hot = |ids: &[i64]| check("one_hot").input("X", tensor_of::<i64>([2, 1], ids));
    hot(&[1, 2]).attr("depth", 3).output("Out", tensor([2, 3], &[0.0, 1.0, 0.0, 0.0, 0.0, 1.0])).run();
    let depth = tensor_of::<i32>([1], &[2]);
    hot(&[1, 0]).input("depth_tensor", depth).output("Out", tensor([2, 2], &[0.0, 1.0, 1.0, 0.0])).run();
    let lenient = hot(&[1, 7]).attr("depth", 2).attr("allow_out_of_range", true);
    lenient.output("Out", tensor([2, 2], &[0.0, 1.0, 0.0, 0.0])).run();
    assert_eq!(
        hot(&[1, 7]).attr("depth", 2).any_output("Out").error(),
        "error[range]: `one_hot`: input `X` = `X.0` has 7 at element 1, but only 0 to 1 exist\n  \
         at (`one_hot`, block 0, op 0)\n  help: raise `depth`, or set allow_out_of_range"
    );
}
