//! `teacher_student_sigmoid_loss`: the loss of a click and of a teacher's score, both coded in one label.

use oarlock_ir::{GradOp, Infer, Kernel, OpDef, Prepare, Result, Sig, by_float, kernel, sig};
use oarlock_ops_support::equal_sizes;
use oarlock_tensor::Float;

pub(crate) const OPS: &[&dyn OpDef] = &[&TeacherStudent, &TEACHER_STUDENT_GRAD];

fn attrs(sig: Sig) -> Sig {
    sig.attr("soft_max_up_bound", 15.0f32, "from this score on there is no gradient").attr(
        "soft_max_lower_bound",
        -15.0f32,
        "up to this score there is no gradient",
    )
}

struct TeacherStudent;

impl OpDef for TeacherStudent {
    sig! {
        "teacher_student_sigmoid_loss":
            "Y = f(X, click) + f(X, teacher), with f(x, t) = max(x, 0) - x t + ln(1 + exp(-|x|)). Label below -1: no \
                   click, no teacher; below 0: click, no teacher; below 1: no click, teacher = Label; else: click, \
                   teacher = Label - 1";
        in "X": "scores [n, 1]";
        in "Label": "[n, 1]";
        out "Y": "like `X`";
        with attrs;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let ty = equal_sizes::infer_same(cx, "X", "Label")?;
        cx.set("Y", ty);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (inputs, out) = ([p.input("X")?, p.input("Label")?], p.output("Y")?);
        by_float!(p.float("X")?, T => kernel(move |io| {
            equal_sizes::each(io, inputs, out, |[x, label]: [T; 2]| loss(x, label))
        }))
    }
}

fn loss<T: Float>(x: T, label: T) -> T {
    let f = |target: T| x.max(T::ZERO) - x * target + (-x.abs()).exp().ln_1p();
    if label < -T::ONE {
        f(T::ZERO)
    } else if label < T::ZERO {
        f(T::ONE)
    } else if label < T::ONE {
        f(T::ZERO) + f(label)
    } else {
        f(T::ONE) + f(label - T::ONE)
    }
}

const TEACHER_STUDENT_GRAD: GradOp =
    GradOp::of(&TeacherStudent, "teacher_student_sigmoid_loss_grad(X, Label, Y@GRAD) -> X@GRAD")
        .doc("X@GRAD = Y@GRAD * (sigmoid(X) - target), for each target; 0 beyond the bounds")
        .kernel(|p| {
            let (inputs, out) = ([p.input("X")?, p.input("Label")?, p.input("Y@GRAD")?], p.output("X@GRAD")?);
            let (low, high) = (p.attrs().f32("soft_max_lower_bound")?, p.attrs().f32("soft_max_up_bound")?);
            by_float!(p.float("X")?, T => kernel(move |io| {
                let (low, high) = (T::of(low.into()), T::of(high.into()));
                equal_sizes::each(io, inputs, out, |[x, label, d]: [T; 3]| {
                    if x >= high || x <= low { T::ZERO } else { d * slope(x, label) }
                })
            }))
        });

fn slope<T: Float>(x: T, label: T) -> T {
    let p = T::ONE / (T::ONE + (-x).exp());
    if label < -T::ONE {
        p
    } else if label < T::ZERO {
        p - T::ONE
    } else {
        // Two terms; their targets add up to the label.
        T::of(2.0) * p - label
    }
}

#[test]
fn four_kinds_of_labels() {
    use crate::testing::{check, tensor};
    check("teacher_student_sigmoid_loss")
        .input("X", tensor([4, 1], &[0.5, 0.5, 0.5, 0.5]))
        .input("Label", tensor([4, 1], &[-2.0, -1.0, 0.25, 1.75]))
        .output("Y", tensor([4, 1], &[0.974077, 0.474077, 1.823154, 1.073154]))
        .grad(&["X"])
        .run();
}
