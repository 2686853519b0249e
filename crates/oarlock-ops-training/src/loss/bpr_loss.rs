//! `bpr_loss`: Bayesian personalised ranking: the true class should score above every other.

use oarlock_ir::{GradOp, In, Infer, Io, Kernel, OpDef, Out, Prepare, Result, by_float, kernel, sig};
use oarlock_ops_support::class_axis::{self, Classes, Labels};
use oarlock_tensor::Float;

pub(crate) const OPS: &[&dyn OpDef] = &[&BprLoss, &GRAD];

/// No label is ignored: this one is never valid.
const IGNORE: i64 = -1;

struct BprLoss;

impl OpDef for BprLoss {
    sig! {
        "bpr_loss": "Y = mean over other classes j of ln(1 + exp(X[j] - X[Label]))";
        in "X": "scores [..., classes]";
        in "Label": "class numbers [..., 1]";
        out "Y": "[..., 1]";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.float("X")?;
        if x.shape.rank() == 0 {
            return Err(cx.shape_error(format_args!("needs classes along the last axis of {}", cx.describe("X"))));
        }
        let loss = class_axis::infer_loss(cx, "X", "Label", x.shape.rank() - 1, false)?;
        cx.set("Y", loss);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, label, y) = (p.input("X")?, p.input("Label")?, p.output("Y")?);
        by_float!(p.float("X")?, T => kernel(move |io| forward::<T>(io, x, label, y)))
    }
}

/// The divisor of sums over the other classes.
fn others<T: Float>(classes: usize) -> T {
    T::of(classes.saturating_sub(1).max(1) as f64)
}

fn forward<T: Float>(io: &Io<'_>, x: In, label: In, y: Out) -> Result<()> {
    let (x_tensor, label_tensor) = (io.dense(x)?, io.dense(label)?);
    let classes = Classes::of(io, x, x_tensor.dims(), -1)?;
    let labels = Labels::new(io, label, &label_tensor, classes.rows(), classes.len, IGNORE)?;
    let mut t = io.out_sized(y, T::DTYPE, class_axis::loss_dims(&label_tensor, -1, x_tensor.dims().rank()))?;
    t.set_lod(x_tensor.lod().clone());
    let scores = io.data::<T>(x, &x_tensor)?;
    for ((row, y), class) in io.data_mut::<T>(y, &mut t)?.iter_mut().enumerate().zip(labels.iter()) {
        let scores = &scores[row * classes.len..][..classes.len];
        let Some(class) = class else { continue };
        let miss = |(_, s): (usize, &T)| softplus(*s - scores[class]);
        *y = scores.iter().enumerate().filter(|(j, _)| *j != class).map(miss).sum::<T>() / others(classes.len);
    }
    Ok(())
}

fn softplus<T: Float>(x: T) -> T {
    x.max(T::ZERO) + (-x.abs()).exp().ln_1p()
}

const GRAD: GradOp = GradOp::of(&BprLoss, "bpr_loss_grad(X, Label, Y@GRAD) -> X@GRAD")
    .doc("X@GRAD[j] = Y@GRAD * sigmoid(X[j] - X[Label]) / (classes - 1); X@GRAD[Label] = minus their sum")
    .kernel(|p| {
        let (x, label, dy, dx) = (p.input("X")?, p.input("Label")?, p.input("Y@GRAD")?, p.output("X@GRAD")?);
        by_float!(p.float("X")?, T => kernel(move |io| backward::<T>(io, (x, label, dy), dx)))
    });

fn backward<T: Float>(io: &Io<'_>, (x, label, dy): (In, In, In), dx: Out) -> Result<()> {
    let (x_tensor, label_tensor, dy_tensor) = (io.dense(x)?, io.dense(label)?, io.dense(dy)?);
    let classes = Classes::of(io, x, x_tensor.dims(), -1)?;
    let labels = Labels::new(io, label, &label_tensor, classes.rows(), classes.len, IGNORE)?;
    let (scores, d) = (io.data::<T>(x, &x_tensor)?, io.data::<T>(dy, &dy_tensor)?);
    class_axis::same_count(io, label, dy, classes.rows(), d.len())?;
    let mut t = io.out_sized(dx, T::DTYPE, *x_tensor.dims())?;
    t.set_lod(x_tensor.lod().clone());
    let dx = io.data_mut::<T>(dx, &mut t)?;
    for (row, class) in labels.iter().enumerate() {
        let part = row * classes.len..(row + 1) * classes.len;
        let (scores, dx) = (&scores[part.clone()], &mut dx[part]);
        let Some(class) = class else { continue };
        let factor = d[row] / others(classes.len);
        let mut total = T::ZERO;
        for (dx, s) in dx.iter_mut().zip(scores) {
            *dx = factor / (T::ONE + (scores[class] - *s).exp());
            total += *dx;
        }
        dx[class] -= total;
    }
    Ok(())
}

#[test]
fn bpr_loss() {
    use crate::testing::{check, tensor, tensor_of};
    check("bpr_loss")
        .input("X", tensor([2, 3], &[1.0, 2.0, 3.0, 0.5, 0.5, 0.25]))
        .input("Label", tensor_of([2, 1], &[2i64, 0]))
        .output("Y", tensor([2, 1], &[0.22009496, 0.63454276]))
        .grad(&["X"])
        .run();
}
