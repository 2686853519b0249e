//! `where`: each element from one of two tensors.

use oarlock_ir::{GradOp, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Traits, kernel, sig};
use oarlock_tensor::{B8, Tensor};

use crate::compare::predicate::infer_bool;

pub(crate) const OPS: &[&dyn OpDef] = &[&Where, &GRAD];

struct Where;

impl OpDef for Where {
    sig! {
        "where": "Out = X where Condition is true, else Y";
        in "Condition": "bool";
        in "X": "of the shape of `Condition`, any dtype";
        in "Y": "like `X`";
        out "Out": "like `X`";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (c, x, y) = (infer_bool(cx, "Condition")?, cx.input("X")?, cx.input("Y")?);
        let mut shape = x.shape.0.clone();
        for (other, slot) in [(&c.shape, "Condition"), (&y.shape, "Y")] {
            if other.rank() != shape.len() || !shape.iter().zip(other.iter()).all(|(a, b)| a.fits(*b)) {
                let what = format!("needs {} and {} of one shape", cx.describe(slot), cx.describe("X"));
                return Err(cx.shape_error(what));
            }
            shape.iter_mut().zip(other.iter()).for_each(|(a, b)| *a = a.or(*b));
        }
        cx.set("Out", x.with_shape(shape));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (c, x, y, out) = (p.input("Condition")?, p.input("X")?, p.input("Y")?, p.output("Out")?);
        kernel(move |io| {
            let (choice, x_tensor, y_tensor) = (io.dense(c)?, io.dense(x)?, io.dense(y)?);
            same_dims(io, c, &choice, &x_tensor)?;
            same_dims(io, y, &y_tensor, &x_tensor)?;
            if x_tensor.dtype() != y_tensor.dtype() {
                let what = format_args!("is {}, but `X` is {}", y_tensor.dtype(), x_tensor.dtype());
                return Err(io.error(Kind::DType, y, what));
            }
            let mut to = io.out_sized(out, x_tensor.dtype(), *x_tensor.dims())?;
            to.set_lod(x_tensor.lod().clone());
            let (size, x, y) = (x_tensor.dtype().size(), x_tensor.bytes(), y_tensor.bytes());
            for (i, (to, choice)) in to.bytes_mut().chunks_exact_mut(size).zip(io.data::<B8>(c, &choice)?).enumerate() {
                to.copy_from_slice(&(if choice.get() { x } else { y })[i * size..][..size]);
            }
            Ok(())
        })
    }
}

fn same_dims(io: &Io<'_>, slot: In, tensor: &Tensor, like: &Tensor) -> Result<()> {
    if tensor.dims() == like.dims() {
        return Ok(());
    }
    Err(io.error(Kind::Shape, slot, format_args!("is {}, but {} is needed", tensor.dims(), like.dims())))
}

const GRAD: GradOp = GradOp::of(&Where, "where_grad(Condition, X, Y, Out@GRAD) -> X@GRAD, Y@GRAD")
    .doc("X@GRAD = Out@GRAD where Condition is true, else 0; Y@GRAD the other way round")
    .traits(Traits::NONE.shape_only(&["X", "Y"]))
    .kernel(|p| {
        let (c, dout) = (p.input("Condition")?, p.input("Out@GRAD")?);
        let sides = [(p.maybe_output("X@GRAD")?, true), (p.maybe_output("Y@GRAD")?, false)];
        kernel(move |io| {
            let (choice, d) = (io.dense(c)?, io.dense(dout)?);
            same_dims(io, dout, &d, &choice)?;
            let size = d.dtype().size();
            for (out, side) in sides {
                let Some(out) = out else { continue };
                let mut to = io.out_sized(out, d.dtype(), *d.dims())?;
                to.bytes_mut().copy_from_slice(d.bytes());
                for (to, choice) in to.bytes_mut().chunks_exact_mut(size).zip(io.data::<B8>(c, &choice)?) {
                    if choice.get() != side {
                        to.fill(0);
                    }
                }
            }
            Ok(())
        })
    });

#[test]
fn where_() {
    use crate::testing::{check, tensor, tensor_of};
    let choice = tensor_of([2, 2], &[true, false, false, true].map(B8::from));
    let choose = || check("where").input("Condition", choice.clone()).input("X", tensor([2, 2], &[1.0, 2.0, 3.0, 4.0]));
    choose()
        .input("Y", tensor([2, 2], &[5.0, 6.0, 7.0, 8.0]))
        .output("Out", tensor([2, 2], &[1.0, 6.0, 7.0, 4.0]))
        .grad(&["X", "Y"])
        .run();
    assert_eq!(
        choose().input("Y", tensor([4], &[0.0; 4])).any_output("Out").error(),
        "error[shape]: `where` needs `Y` = Y.0 f32[4] and `X` = X.0 f32[2, 2] of one shape\n  at (`where`, block 0, op 0)"
    );
}
