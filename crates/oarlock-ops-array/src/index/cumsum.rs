//! `cumsum`: the sum of what comes before, along an axis.

use oarlock_ir::{Attr, Grad, Infer, Kernel, Kind, Op, OpDef, Prepare, Result, fail, kernel, sig};
use oarlock_ops_support::int_list::axis_of;
use oarlock_ops_support::number::{Number, by_number};
use oarlock_tensor::Element;

use crate::index::sorting::along;

pub(crate) const OPS: &[&dyn OpDef] = &[&Cumsum];

struct Cumsum;

impl OpDef for Cumsum {
    sig! {
        "cumsum": "Out = the sum of X up to each element, along an axis";
        in "X": "any tensor of numbers";
        out "Out": "like `X`";
        attr "axis" = -1, "the axis; negative ones count from the end";
        attr "exclusive" = false, "without the element itself";
        attr "reverse" = false, "from the end";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, axis) = (cx.input("X")?, cx.attrs().int("axis")?);
        if axis_of(axis, x.shape.rank()).is_none() {
            return Err(cx.shape_error(format!("has no axis {axis} in {}", cx.describe("X"))));
        }
        cx.set("Out", x);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out, axis) = (p.input("X")?, p.output("Out")?, p.attrs().int("axis")?);
        let (exclusive, reverse) = (p.attrs().bool("exclusive")?, p.attrs().bool("reverse")?);
        by_number!(p.dtype("X")?, T => kernel(move |io| {
            let tensor = io.dense(x)?;
            let Some(axis) = axis_of(axis, tensor.dims().rank()) else {
                return Err(io.error(Kind::Shape, x, format_args!("is {}, it has no axis {axis}", tensor.dims())));
            };
            let mut to = io.out_sized(out, T::DTYPE, *tensor.dims())?;
            to.set_lod(tensor.lod().clone());
            let (data, to) = (io.data::<T>(x, &tensor)?, io.data_mut::<T>(out, &mut to)?);
            let [before, size, after] = along(tensor.dims(), axis);
            for start in (0..before).flat_map(|b| (0..after).map(move |a| b * size * after + a)) {
                let mut sum = T::ZERO;
                for i in 0..size {
                    let at = start + if reverse { size - 1 - i } else { i } * after;
                    let next = sum.plus(data[at]);
                    to[at] = if exclusive { sum } else { next };
                    sum = next;
                }
            }
            Ok(())
        }), other => fail!(Kind::DType, "`cumsum` works on f32, f64, i32 and i64, not on {other}"))
    }

    // An element has part in all sums after it: its gradient is the sum of theirs, from the other end.
    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let flag = |name: &str| matches!(g.attr(name), Some(Attr::Bool(true)));
        let mut op = Op::new("cumsum");
        op.site = g.op().site.clone();
        op.inputs.set("X", g.arguments("Out@GRAD"));
        op.outputs.set("Out", g.input_grads("X"));
        op.attrs.set("axis", g.attr("axis").cloned().unwrap_or((-1).into()));
        op.attrs.set("exclusive", flag("exclusive"));
        op.attrs.set("reverse", !flag("reverse"));
        g.push(op)
    }
}

#[test]
fn cumsum() {
    use crate::testing::{check, tensor};
    let sum = || check("cumsum").input("X", tensor([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    sum().output("Out", tensor([2, 3], &[1.0, 3.0, 6.0, 4.0, 9.0, 15.0])).grad(&["X"]).run();
    sum().attr("axis", 0).output("Out", tensor([2, 3], &[1.0, 2.0, 3.0, 5.0, 7.0, 9.0])).grad(&["X"]).run();
    let without = sum().attr("exclusive", true).attr("reverse", true);
    without.output("Out", tensor([2, 3], &[5.0, 3.0, 0.0, 11.0, 6.0, 0.0])).grad(&["X"]).run();
}
