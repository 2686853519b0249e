//! `sigmoid_cross_entropy_with_logits`: the cross entropy of sigmoid(x) with independent labels, element by element.

use oarlock_ir::{GradOp, In, Infer, Io, Kernel, OpDef, Out, Prepare, Result, Sig, Traits, by_float, kernel, sig};
use oarlock_ops_support::class_axis::same_count;
use oarlock_tensor::Float;
use oarlock_tensor::simd::Math;

pub(crate) const OPS: &[&dyn OpDef] = &[&SigmoidCrossEntropy, &GRAD];

fn attrs(sig: Sig) -> Sig {
    sig.attr("ignore_index", -100, "elements with this label cost nothing").attr(
        "normalize",
        false,
        "divide by the number of elements not ignored",
    )
}

#[derive(Clone, Copy)]
struct Rule {
    ignore: i64,
    normalize: bool,
}

impl Rule {
    fn new(p: &Prepare<'_>) -> Result<Rule> {
        Ok(Rule { ignore: p.attrs().int("ignore_index")?, normalize: p.attrs().bool("normalize")? })
    }

    /// The divisor of every element; not 0 when all are ignored.
    fn divisor<T: Float>(self, labels: &[T]) -> T {
        if !self.normalize {
            return T::ONE;
        }
        let ignore = T::of(self.ignore as f64);
        T::of(labels.iter().filter(|&&l| l != ignore).count() as f64).max(T::of(1e-5))
    }
}

struct SigmoidCrossEntropy;

impl OpDef for SigmoidCrossEntropy {
    sig! {
        "sigmoid_cross_entropy_with_logits": "Out = max(X, 0) - X * Label + ln(1 + exp(-|X|))";
        in "X": "scores";
        in "Label": "probabilities, like `X`";
        out "Out": "like `X`";
        with attrs;
        traits Traits::X_TO_OUT;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, label) = (cx.float("X")?, cx.float("Label")?);
        let same =
            x.shape.rank() == label.shape.rank() && x.shape.iter().zip(label.shape.iter()).all(|(a, b)| a.fits(*b));
        if !same {
            return Err(cx
                .shape_error(format_args!("cannot compare {} with {}", cx.describe("X"), cx.describe("Label")))
                .help("both need the same shape"));
        }
        cx.set("Out", x);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, label, out, rule) = (p.input("X")?, p.input("Label")?, p.output("Out")?, Rule::new(p)?);
        by_float!(p.float("X")?, T => kernel(move |io| forward::<T>(io, x, label, out, rule)))
    }
}

fn forward<T: Math>(io: &Io<'_>, x: In, label: In, out: Out, rule: Rule) -> Result<()> {
    let label_tensor = io.dense(label)?;
    let labels = io.data::<T>(label, &label_tensor)?;
    let mut t = io.update(x, out)?;
    same_count(io, x, label, t.numel(), labels.len())?;
    let (ignore, divisor) = (T::of(rule.ignore as f64), rule.divisor(labels));
    for (v, &l) in io.data_mut::<T>(out, &mut t)?.iter_mut().zip(labels) {
        let loss = v.max(T::ZERO) - *v * l + (-v.abs()).fast_exp().ln_1p();
        *v = if l == ignore { T::ZERO } else { loss / divisor };
    }
    Ok(())
}

const GRAD: GradOp =
    GradOp::of(&SigmoidCrossEntropy, "sigmoid_cross_entropy_with_logits_grad(X, Label, Out@GRAD) -> X@GRAD")
        .doc("X@GRAD = Out@GRAD * (sigmoid(X) - Label)")
        .traits(Traits::NONE.in_place(&[("Out@GRAD", "X@GRAD")]))
        .kernel(|p| {
            let (x, label, dout, dx) = (p.input("X")?, p.input("Label")?, p.input("Out@GRAD")?, p.output("X@GRAD")?);
            let rule = Rule::new(p)?;
            by_float!(p.float("X")?, T => kernel(move |io| backward::<T>(io, (x, label, dout), dx, rule)))
        });

fn backward<T: Math>(io: &Io<'_>, (x, label, dout): (In, In, In), dx: Out, rule: Rule) -> Result<()> {
    let (x_tensor, label_tensor) = (io.dense(x)?, io.dense(label)?);
    let (scores, labels) = (io.data::<T>(x, &x_tensor)?, io.data::<T>(label, &label_tensor)?);
    let mut t = io.update(dout, dx)?;
    same_count(io, x, label, scores.len(), labels.len())?;
    same_count(io, x, dout, scores.len(), t.numel())?;
    let (ignore, divisor) = (T::of(rule.ignore as f64), rule.divisor(labels));
    for ((d, &x), &l) in io.data_mut::<T>(dx, &mut t)?.iter_mut().zip(scores).zip(labels) {
        *d = if l == ignore { T::ZERO } else { *d * (x.fast_sigmoid() - l) / divisor };
    }
    Ok(())
}

#[test]
fn sigmoid_cross_entropy_with_logits() {
    use crate::testing::{check, noise, tensor};
    let case = || {
        check("sigmoid_cross_entropy_with_logits")
            .input("X", tensor([3], &[-2.0, 0.5, 3.0]))
            .input("Label", tensor([3], &[0.0, 1.0, -100.0]))
    };
    case().output("Out", tensor([3], &[0.126928, 0.474077, 0.0])).grad(&["X"]).run();
    case().attr("normalize", true).output("Out", tensor([3], &[0.063464, 0.2370385, 0.0])).grad(&["X"]).run();
    let e = check("sigmoid_cross_entropy_with_logits").input("X", noise([2, 1], 1)).input("Label", noise([2], 1));
    assert!(e.any_output("Out").error().contains("both need the same shape"));
}
