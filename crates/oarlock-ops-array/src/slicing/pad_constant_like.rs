//! `pad_constant_like`: a tensor made as large as another one.

use oarlock_ir::{GradOp, Infer, Kernel, OpDef, Prepare, Result, Traits, kernel, sig};

use crate::slicing::sub_tensor;

pub(crate) const OPS: &[&dyn OpDef] = &[&PadConstantLike, &GRAD];

const START: [usize; oarlock_tensor::MAX_RANK] = [0; oarlock_tensor::MAX_RANK];

struct PadConstantLike;

impl OpDef for PadConstantLike {
    sig! {
        "pad_constant_like": "Out = Y followed by `pad_value` along each axis, as large as X";
        in "X": "its sizes are those of `Out`";
        in "Y": "of the same rank, along no axis larger";
        out "Out": "the elements of `Y`, of the sizes of `X`";
        attr "pad_value" = 0.0f32, "what is added";
        traits Traits::NONE.shape_only(&["X"]);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, y) = (cx.input("X")?, cx.input("Y")?);
        let larger = x
            .shape
            .iter()
            .zip(y.shape.iter())
            .any(|(x, y)| matches!((x.known(), y.known()), (Some(x), Some(y)) if y > x));
        if larger || x.shape.rank() != y.shape.rank() {
            let what = format_args!("cannot make {} as large as {}", cx.describe("Y"), cx.describe("X"));
            return Err(cx.shape_error(what).help("Y has as many axes as X and is along none of them larger"));
        }
        cx.set("Out", y.with_shape(x.shape));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, y, out, value) = (p.input("X")?, p.input("Y")?, p.output("Out")?, p.attrs().f32("pad_value")?);
        kernel(move |io| {
            let (large, lod) = (*io.dense(x)?.dims(), io.dense(y)?.lod().clone());
            sub_tensor::put(io, y, out, large, &START[..large.rank()], value.into(), lod)
        })
    }
}

const GRAD: GradOp = GradOp::of(&PadConstantLike, "pad_constant_like_grad(Y, Out@GRAD) -> Y@GRAD")
    .doc("Y@GRAD = the part of Out@GRAD that Y covers")
    .traits(Traits::NONE.shape_only(&["Y"]))
    .kernel(|p| {
        let (y, dout, dy) = (p.input("Y")?, p.input("Out@GRAD")?, p.output("Y@GRAD")?);
        kernel(move |io| {
            let y = io.dense(y)?;
            sub_tensor::take(io, dout, dy, *y.dims(), &START[..y.dims().rank()], y.lod().clone())
        })
    });

#[test]
fn as_large_as_another() {
    use crate::testing::{check, noise, tensor};
    let case = || check("pad_constant_like").attr("pad_value", 9.0f32);
    let sizes = case().input("X", noise([2, 3], 1)).input("Y", tensor([1, 2], &[1.0, 2.0]));
    sizes.output("Out", tensor([2, 3], &[1.0, 2.0, 9.0, 9.0, 9.0, 9.0])).grad(&["Y"]).run();
    let e = case().input("X", noise([2, 3], 1)).input("Y", noise([3, 2], 1)).any_output("Out").error();
    assert!(e.contains("`pad_constant_like` cannot make `Y` = Y.0 f32[3, 2] as large as `X` = X.0 f32[2, 3]"), "{e}");
}
