//! `cross_entropy`: minus the logarithm of the probability given to the true class.

use oarlock_ir::{GradOp, In, Infer, Io, Kernel, OpDef, Out, Prepare, Result, Sig, by_float, kernel, sig};
use oarlock_ops_support::class_axis::{self, Classes, Labels, bounded_ln};
use oarlock_tensor::Float;

pub(crate) const OPS: &[&dyn OpDef] = &[&CrossEntropy, &GRAD];

fn attrs(sig: Sig) -> Sig {
    sig.attr("soft_label", false, "labels are probabilities of every class").attr(
        "ignore_index",
        -100,
        "rows with this label cost nothing",
    )
}

struct CrossEntropy;

impl OpDef for CrossEntropy {
    sig! {
        "cross_entropy": "Y = -ln X[Label], or -sum of Label * ln X for soft labels; ln 0 is -1e20";
        in "X": "probabilities [..., classes]";
        in "Label": "class numbers [..., 1], or probabilities like `X`";
        out "Y": "[..., 1]";
        with attrs;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.float("X")?;
        if x.shape.rank() == 0 {
            return Err(cx.shape_error(format_args!("needs classes along the last axis of {}", cx.describe("X"))));
        }
        let soft = cx.attrs().bool("soft_label")?;
        let loss = class_axis::infer_loss(cx, "X", "Label", x.shape.rank() - 1, soft)?;
        cx.set("Y", loss);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, label, y) = (p.input("X")?, p.input("Label")?, p.output("Y")?);
        let ignore = p.attrs().int("ignore_index")?;
        by_float!(p.float("X")?, T => match p.attrs().bool("soft_label")? {
            true => kernel(move |io| soft::<T>(io, x, label, y)),
            false => kernel(move |io| hard::<T>(io, x, label, y, ignore)),
        })
    }
}

fn hard<T: Float>(io: &Io<'_>, x: In, label: In, y: Out, ignore: i64) -> Result<()> {
    let (x_tensor, label_tensor) = (io.dense(x)?, io.dense(label)?);
    let classes = Classes::of(io, x, x_tensor.dims(), -1)?;
    let labels = Labels::new(io, label, &label_tensor, classes.rows(), classes.len, ignore)?;
    let mut t = io.out_sized(y, T::DTYPE, class_axis::loss_dims(&label_tensor, -1, x_tensor.dims().rank()))?;
    t.set_lod(x_tensor.lod().clone());
    let p = io.data::<T>(x, &x_tensor)?;
    for ((row, y), class) in io.data_mut::<T>(y, &mut t)?.iter_mut().enumerate().zip(labels.iter()) {
        *y = class.map_or(T::ZERO, |c| -bounded_ln(p[row * classes.len + c]));
    }
    Ok(())
}

fn soft<T: Float>(io: &Io<'_>, x: In, label: In, y: Out) -> Result<()> {
    let (x_tensor, label_tensor) = (io.dense(x)?, io.dense(label)?);
    let classes = Classes::of(io, x, x_tensor.dims(), -1)?;
    let (p, labels) = (io.data::<T>(x, &x_tensor)?, io.data::<T>(label, &label_tensor)?);
    class_axis::same_count(io, x, label, p.len(), labels.len())?;
    let mut t = io.out_sized(y, T::DTYPE, class_axis::loss_dims(&label_tensor, -1, x_tensor.dims().rank()))?;
    t.set_lod(x_tensor.lod().clone());
    for (row, y) in io.data_mut::<T>(y, &mut t)?.iter_mut().enumerate() {
        let at = row * classes.len..(row + 1) * classes.len;
        *y = -p[at.clone()].iter().zip(&labels[at]).map(|(&p, &l)| l * bounded_ln(p)).sum::<T>();
    }
    Ok(())
}

const GRAD: GradOp = GradOp::of(&CrossEntropy, "cross_entropy_grad(X, Label, Y@GRAD) -> X@GRAD")
    .doc("X@GRAD = -Y@GRAD * label / X, with label 1 at the true class, else 0")
    .kernel(|p| {
        let (x, label, dy, dx) = (p.input("X")?, p.input("Label")?, p.input("Y@GRAD")?, p.output("X@GRAD")?);
        let ignore = p.attrs().int("ignore_index")?;
        by_float!(p.float("X")?, T => match p.attrs().bool("soft_label")? {
            true => kernel(move |io| soft_grad::<T>(io, x, label, dy, dx)),
            false => kernel(move |io| hard_grad::<T>(io, x, label, dy, dx, ignore)),
        })
    });

fn hard_grad<T: Float>(io: &Io<'_>, x: In, label: In, dy: In, dx: Out, ignore: i64) -> Result<()> {
    let (x_tensor, label_tensor, dy_tensor) = (io.dense(x)?, io.dense(label)?, io.dense(dy)?);
    let classes = Classes::of(io, x, x_tensor.dims(), -1)?;
    let labels = Labels::new(io, label, &label_tensor, classes.rows(), classes.len, ignore)?;
    let (p, d) = (io.data::<T>(x, &x_tensor)?, io.data::<T>(dy, &dy_tensor)?);
    class_axis::same_count(io, label, dy, classes.rows(), d.len())?;
    let mut t = io.out_sized(dx, T::DTYPE, *x_tensor.dims())?;
    t.set_lod(x_tensor.lod().clone());
    let dx = io.data_mut::<T>(dx, &mut t)?;
    dx.fill(T::ZERO);
    for (row, class) in labels.iter().enumerate() {
        if let Some(at) = class.map(|c| row * classes.len + c) {
            dx[at] = -d[row] / p[at];
        }
    }
    Ok(())
}

fn soft_grad<T: Float>(io: &Io<'_>, x: In, label: In, dy: In, dx: Out) -> Result<()> {
    let (x_tensor, label_tensor, dy_tensor) = (io.dense(x)?, io.dense(label)?, io.dense(dy)?);
    let classes = Classes::of(io, x, x_tensor.dims(), -1)?;
    let (p, labels) = (io.data::<T>(x, &x_tensor)?, io.data::<T>(label, &label_tensor)?);
    let d = io.data::<T>(dy, &dy_tensor)?;
    class_axis::same_count(io, x, label, p.len(), labels.len())?;
    class_axis::same_count(io, x, dy, classes.rows(), d.len())?;
    let mut t = io.out_sized(dx, T::DTYPE, *x_tensor.dims())?;
    t.set_lod(x_tensor.lod().clone());
    for (i, dx) in io.data_mut::<T>(dx, &mut t)?.iter_mut().enumerate() {
        *dx = -d[i / classes.len] * labels[i] / p[i];
    }
    Ok(())
}

#[test]
fn hard_labels() {
    use crate::testing::{check, tensor, tensor_of};
    let p = || tensor([3, 2], &[0.25, 0.75, 0.5, 0.5, 0.0, 1.0]);
    check("cross_entropy")
        .input("X", p())
        .input("Label", tensor_of([3, 1], &[0i64, -100, 0]))
        .output("Y", tensor([3, 1], &[1.3862944, 0.0, 1e20]))
        .run();
    check("cross_entropy")
        .input("X", tensor([2, 2], &[0.25, 0.75, 0.5, 0.5]))
        .input("Label", tensor_of([2], &[1i64, 0]))
        .any_output("Y")
        .grad(&["X"])
        .run();
    let e = check("cross_entropy").input("X", p()).input("Label", tensor_of([3, 1], &[0i64, 2, 0])).any_output("Y");
    let e = e.error();
    assert!(
        e.contains("`cross_entropy`: input `Label` = `Label.0` has label 2 in row 1, but there are 2 classes"),
        "{e}"
    );
    let e = check("cross_entropy").input("X", p()).input("Label", tensor_of([2, 1], &[0i64, 1])).any_output("Y");
    assert!(e.error().contains("labels of these scores have shape [3, 1]"));
}

#[test]
fn soft_labels() {
    use crate::testing::{check, tensor};
    check("cross_entropy")
        .attr("soft_label", true)
        .input("X", tensor([1, 2], &[0.25, 0.75]))
        .input("Label", tensor([1, 2], &[0.5, 0.5]))
        .output("Y", tensor([1, 1], &[0.8369882]))
        .grad(&["X"])
        .run();
}
