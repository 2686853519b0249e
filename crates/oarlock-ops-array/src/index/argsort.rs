//! `argsort`: elements in order along an axis, and where they were.

use oarlock_ir::{GradOp, Infer, Kernel, Kind, OpDef, Prepare, Result, Traits, fail, kernel, sig};
use oarlock_ops_support::int_list::axis_of;
use oarlock_ops_support::number::by_number;
use oarlock_tensor::{DType, Element};

use crate::index::sorting::{along, larger_first, put_back, smaller_first};

pub(crate) const OPS: &[&dyn OpDef] = &[&Argsort, &GRAD];

struct Argsort;

impl OpDef for Argsort {
    sig! {
        "argsort": "Out = X in order along an axis; Indices = where each element was";
        in "X": "any tensor of numbers";
        out "Out": "like `X`; equal elements keep their order";
        out "Indices": "i64, of the shape of `X`";
        attr "axis" = -1, "the axis; negative ones count from the end";
        attr "descending" = false, "the largest first";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, axis) = (cx.input("X")?, cx.attrs().int("axis")?);
        if axis_of(axis, x.shape.rank()).is_none() {
            return Err(cx.shape_error(format!("has no axis {axis} in {}", cx.describe("X"))));
        }
        let indices = x.clone().with_dtype(DType::I64);
        cx.set("Out", x);
        cx.set("Indices", indices);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out, indices) = (p.input("X")?, p.output("Out")?, p.output("Indices")?);
        let (axis, descending) = (p.attrs().int("axis")?, p.attrs().bool("descending")?);
        by_number!(p.dtype("X")?, T => {
            let mut order: Vec<usize> = Vec::new();
            kernel(move |io| {
                let tensor = io.dense(x)?;
                let dims = *tensor.dims();
                let Some(axis) = axis_of(axis, dims.rank()) else {
                    return Err(io.error(Kind::Shape, x, format_args!("is {dims}, it has no axis {axis}")));
                };
                let (mut values, mut places) = (io.out_sized(out, T::DTYPE, dims)?, io.out_sized(indices, DType::I64, dims)?);
                values.set_lod(tensor.lod().clone());
                places.set_lod(tensor.lod().clone());
                let data = io.data::<T>(x, &tensor)?;
                let (to, at) = (io.data_mut::<T>(out, &mut values)?, io.data_mut::<i64>(indices, &mut places)?);
                let [before, size, after] = along(&dims, axis);
                for start in (0..before).flat_map(|b| (0..after).map(move |a| b * size * after + a)) {
                    let place = |i: usize| start + i * after;
                    order.clear();
                    order.extend(0..size);
                    if descending {
                        order.sort_by(|a, b| larger_first(&data[place(*a)], &data[place(*b)]));
                    } else {
                        order.sort_by(|a, b| smaller_first(&data[place(*a)], &data[place(*b)]));
                    }
                    for (i, from) in order.iter().enumerate() {
                        (to[place(i)], at[place(i)]) = (data[place(*from)], *from as i64);
                    }
                }
                Ok(())
            })
        }, other => fail!(Kind::DType, "`argsort` works on f32, f64, i32 and i64, not on {other}"))
    }
}

const GRAD: GradOp = GradOp::of(&Argsort, "argsort_grad(X, Indices, Out@GRAD) -> X@GRAD")
    .doc("X@GRAD = Out@GRAD where the elements were")
    .traits(Traits::NONE.shape_only(&["X"]))
    .kernel(|p| {
        let axis = p.attrs().int("axis")?;
        put_back(p, move |io, x| {
            let rank = io.dense(x)?.dims().rank();
            axis_of(axis, rank).ok_or_else(|| io.error(Kind::Shape, x, format_args!("has no axis {axis}")))
        })
    });

#[test]
fn argsort() {
    use crate::testing::{check, tensor, tensor_of};
    let sort = || check("argsort").input("X", tensor([2, 3], &[1.0, 3.0, 2.0, 0.0, 4.0, 0.0]));
    sort()
        .output("Out", tensor([2, 3], &[1.0, 2.0, 3.0, 0.0, 0.0, 4.0]))
        .output("Indices", tensor_of::<i64>([2, 3], &[0, 2, 1, 0, 2, 1]))
        .run();
    sort()
        .attr("axis", 0)
        .attr("descending", true)
        .output("Out", tensor([2, 3], &[1.0, 4.0, 2.0, 0.0, 3.0, 0.0]))
        .output("Indices", tensor_of::<i64>([2, 3], &[0, 1, 0, 1, 0, 1]))
        .grad(&["X"])
        .run();
}
