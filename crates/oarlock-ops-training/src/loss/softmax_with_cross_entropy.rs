//! `softmax_with_cross_entropy`: scores as probabilities, and the cross entropy of those with labels.

use oarlock_ir::{GradOp, In, Infer, Io, Kernel, OpDef, Out, Prepare, Result, Traits, by_float, kernel, sig};
use oarlock_ops_support::class_axis::{self, Classes, Labels, bounded_ln};
use oarlock_tensor::simd::Math;
use oarlock_tensor::{Dims, Float, Tensor};

pub(crate) const OPS: &[&dyn OpDef] = &[&SoftmaxWithCrossEntropy, &GRAD];

/// How labels count.
#[derive(Clone, Copy)]
struct Rule {
    axis: i64,
    soft: bool,
    ignore: i64,
}

impl Rule {
    fn new(p: &Prepare<'_>) -> Result<Rule> {
        let attrs = p.attrs();
        Ok(Rule { axis: attrs.int("axis")?, soft: attrs.bool("soft_label")?, ignore: attrs.int("ignore_index")? })
    }
}

struct SoftmaxWithCrossEntropy;

impl OpDef for SoftmaxWithCrossEntropy {
    sig! {
        "softmax_with_cross_entropy":
            "Softmax = softmax of Logits along `axis`; Loss = -ln Softmax[Label], or -sum of Label * ln Softmax";
        in "Logits": "scores";
        in "Label": "class numbers, of size 1 along `axis`; or probabilities like `Logits`";
        out "Softmax": "like `Logits`";
        out "Loss": "like `Logits`, of size 1 along `axis`";
        attr "axis" = -1, "the axis of the classes";
        attr "soft_label" = false, "labels are probabilities of every class";
        attr "ignore_index" = -100, "rows with this label cost nothing";
        // Always stable here.
        hints ["numeric_stable_mode"];
        traits Traits::NONE.in_place(&[("Logits", "Softmax")]);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let logits = cx.float("Logits")?;
        let axis = class_axis::infer_axis(cx, "Logits")?;
        let loss = class_axis::infer_loss(cx, "Logits", "Label", axis, cx.attrs().bool("soft_label")?)?;
        cx.set("Softmax", logits);
        cx.set("Loss", loss);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (inputs, outputs) = ((p.input("Logits")?, p.input("Label")?), (p.output("Softmax")?, p.output("Loss")?));
        let rule = Rule::new(p)?;
        by_float!(p.float("Logits")?, T => {
            let mut scratch = Vec::new();
            kernel(move |io| forward::<T>(io, inputs, outputs, rule, &mut scratch))
        })
    }
}

fn forward<T: Math>(
    io: &Io<'_>,
    (logits, label): (In, In),
    (softmax, loss): (Out, Out),
    rule: Rule,
    scratch: &mut Vec<T>,
) -> Result<()> {
    let label_tensor = io.dense(label)?;
    let mut t = io.update(logits, softmax)?;
    let classes = Classes::of(io, logits, t.dims(), rule.axis)?;
    let mut loss_tensor = io.out_sized(loss, T::DTYPE, loss_dims(&t, &label_tensor, rule))?;
    loss_tensor.set_lod(t.lod().clone());
    let p = io.data_mut::<T>(softmax, &mut t)?;
    let losses = io.data_mut::<T>(loss, &mut loss_tensor)?;
    if rule.soft {
        let labels = io.data::<T>(label, &label_tensor)?;
        class_axis::same_count(io, logits, label, p.len(), labels.len())?;
        classes.softmax(p, scratch);
        for (row, loss) in losses.iter_mut().enumerate() {
            *loss = -classes.row(row).map(|i| labels[i] * bounded_ln(p[i])).sum::<T>();
        }
        return Ok(());
    }
    let labels = Labels::new(io, label, &label_tensor, classes.rows(), classes.len, rule.ignore)?;
    classes.softmax(p, scratch);
    for ((row, loss), class) in losses.iter_mut().enumerate().zip(labels.iter()) {
        *loss = class.map_or(T::ZERO, |c| -bounded_ln(p[classes.at(row, c)]));
    }
    Ok(())
}

fn loss_dims(logits: &Tensor, label: &Tensor, rule: Rule) -> Dims {
    if rule.soft { class_axis::loss_dims(logits, rule.axis, logits.dims().rank()) } else { *label.dims() }
}

// The gradient of `Softmax` does not count: programs use that output to predict, not to train.
const GRAD: GradOp =
    GradOp::of(&SoftmaxWithCrossEntropy, "softmax_with_cross_entropy_grad(Softmax, Label, Loss@GRAD) -> Logits@GRAD")
        .doc("Logits@GRAD = Loss@GRAD * (Softmax - label), with label 1 at the true class, else 0")
        .traits(Traits::NONE.in_place(&[("Softmax", "Logits@GRAD")]))
        .infer(|cx| cx.same("Logits@GRAD", "Softmax"))
        .kernel(|p| {
            let inputs = (p.input("Softmax")?, p.input("Label")?, p.input("Loss@GRAD")?);
            let (dx, rule) = (p.output("Logits@GRAD")?, Rule::new(p)?);
            by_float!(p.float("Softmax")?, T => kernel(move |io| backward::<T>(io, inputs, dx, rule)))
        });

fn backward<T: Float>(io: &Io<'_>, (softmax, label, dloss): (In, In, In), dx: Out, rule: Rule) -> Result<()> {
    let (label_tensor, dloss_tensor) = (io.dense(label)?, io.dense(dloss)?);
    let mut t = io.update(softmax, dx)?;
    let classes = Classes::of(io, softmax, t.dims(), rule.axis)?;
    let d = io.data::<T>(dloss, &dloss_tensor)?;
    class_axis::same_count(io, softmax, dloss, classes.rows(), d.len())?;
    let p = io.data_mut::<T>(dx, &mut t)?;
    if rule.soft {
        let labels = io.data::<T>(label, &label_tensor)?;
        class_axis::same_count(io, softmax, label, p.len(), labels.len())?;
        for (row, &d) in d.iter().enumerate() {
            classes.row(row).for_each(|i| p[i] = d * (p[i] - labels[i]));
        }
        return Ok(());
    }
    // A row that is ignored costs nothing, yet Fluid's gradient of it is that of any other row if its label is a class:
    // kept, because runs are compared with Fluid's. A label that is no class (-100) gives no gradient.
    let labels = Labels::new(io, label, &label_tensor, classes.rows(), classes.len, rule.ignore)?;
    for ((row, &d), class) in d.iter().enumerate().zip(labels.even_ignored()) {
        let d = if class.is_some() { d } else { T::ZERO };
        if classes.inner == 1 {
            p[row * classes.len..][..classes.len].iter_mut().for_each(|p| *p *= d);
        } else {
            classes.row(row).for_each(|i| p[i] *= d);
        }
        if let Some(c) = class {
            p[classes.at(row, c)] -= d;
        }
    }
    Ok(())
}

#[test]
fn hard_labels() {
    use crate::testing::{check, noise, tensor, tensor_of};
    check("softmax_with_cross_entropy")
        .input("Logits", tensor([2, 3], &[1.0, 2.0, 3.0, 0.5, 0.5, 0.25]))
        .input("Label", tensor_of([2, 1], &[2i64, -100]))
        .output("Softmax", tensor([2, 3], &[0.09003057, 0.24472848, 0.66524094, 0.35986748, 0.35986748, 0.28026504]))
        .output("Loss", tensor([2, 1], &[0.40760598, 0.0]))
        .run();
    check("softmax_with_cross_entropy")
        .input("Logits", noise([2, 3, 2], 1))
        .input("Label", tensor_of([2, 1, 2], &[2i64, 0, 1, 1]))
        .attr("axis", 1)
        .any_output("Loss")
        .any_output("Softmax")
        .counting(&["Loss"])
        .grad(&["Logits"])
        .run();
    let e = check("softmax_with_cross_entropy")
        .input("Logits", noise([2, 3], 1))
        .input("Label", tensor([2, 1], &[1.0, 0.0]))
        .any_output("Loss")
        .any_output("Softmax")
        .error();
    assert!(e.contains("labels must be i64, but `Label` = Label.0 f32[2, 1] is f32"), "{e}");
}

#[test]
fn soft_labels() {
    use crate::testing::{check, tensor};
    check("softmax_with_cross_entropy")
        .attr("soft_label", true)
        .input("Logits", tensor([1, 3], &[1.0, 2.0, 3.0]))
        .input("Label", tensor([1, 3], &[0.5, 0.25, 0.25]))
        .any_output("Softmax")
        .output("Loss", tensor([1, 1], &[1.657606]))
        .counting(&["Loss"])
        .grad(&["Logits"])
        .run();
}
