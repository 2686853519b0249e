//! `roll`: slices moved along their axes, those beyond the end to the beginning.

use oarlock_ir::{AttrView, GradOp, Infer, Kernel, Kind, OpDef, Prepare, Result, Sig, Traits, fail, kernel, sig};

use crate::shape::axis_moves::{Move, infer_axes, moved};

pub(crate) const OPS: &[&dyn OpDef] = &[&Roll, &GRAD];

fn with_attrs(sig: Sig) -> Sig {
    sig.attr("shifts", Vec::<i64>::new(), "how far along each of `dims`; negative ones go towards the beginning").attr(
        "dims",
        Vec::<i64>::new(),
        "the axes; negative ones count from the end",
    )
}

/// The moves of the attributes, or those that undo them.
fn shifts(attrs: AttrView<'_>, undo: bool) -> Result<Vec<(i64, Move)>> {
    let (dims, shifts) = (attrs.ints("dims")?, attrs.ints("shifts")?);
    if dims.len() != shifts.len() {
        fail!(Kind::Argument, "`roll` has {} shifts for {} axes; it needs one for each", shifts.len(), dims.len());
    }
    let shift = |by: i64| Move::Shift(if undo { by.wrapping_neg() } else { by });
    Ok(dims.into_iter().zip(shifts).map(|(axis, by)| (axis, shift(by))).collect())
}

struct Roll;

impl OpDef for Roll {
    sig! {
        "roll": "Out = X moved by `shifts` along `dims`; what leaves at one end comes in at the other";
        in "X": "any tensor";
        out "Out": "like `X`";
        with with_attrs;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let axes: Vec<i64> = shifts(cx.attrs(), false)?.into_iter().map(|(axis, _)| axis).collect();
        infer_axes(cx, &axes)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out, axes) = (p.input("X")?, p.output("Out")?, shifts(p.attrs(), false)?);
        kernel(move |io| moved(io, x, out, &axes))
    }
}

const GRAD: GradOp = GradOp::of(&Roll, "roll_grad(X, Out@GRAD) -> X@GRAD")
    .doc("X@GRAD = Out@GRAD moved back")
    .traits(Traits::NONE.shape_only(&["X"]))
    .kernel(|p| {
        let (dout, dx, axes) = (p.input("Out@GRAD")?, p.output("X@GRAD")?, shifts(p.attrs(), true)?);
        kernel(move |io| moved(io, dout, dx, &axes))
    });

#[test]
fn roll() {
    use crate::testing::{check, tensor};
    let roll = |dims: &[i64], shifts: &[i64]| {
        let x = tensor([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        check("roll").input("X", x).attr("dims", dims.to_vec()).attr("shifts", shifts.to_vec())
    };
    roll(&[1], &[1]).output("Out", tensor([2, 3], &[3.0, 1.0, 2.0, 6.0, 4.0, 5.0])).grad(&["X"]).run();
    roll(&[1], &[-4]).output("Out", tensor([2, 3], &[2.0, 3.0, 1.0, 5.0, 6.0, 4.0])).grad(&["X"]).run();
    // Two shifts of one axis add up.
    roll(&[0, -1, 1], &[1, 1, 1]).output("Out", tensor([2, 3], &[5.0, 6.0, 4.0, 2.0, 3.0, 1.0])).grad(&["X"]).run();
    assert_eq!(
        roll(&[0], &[1, 2]).any_output("Out").error(),
        "error[argument]: `roll` has 2 shifts for 1 axes; it needs one for each\n  at (`roll`, block 0, op 0)"
    );
}
