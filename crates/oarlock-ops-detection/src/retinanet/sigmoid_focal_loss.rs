//! `sigmoid_focal_loss`: cross entropy in which examples that are right already count less.

use oarlock_ir::{AttrView, GradOp, In, Infer, Io, Kernel, OpDef, Out, Prepare, Result, by_float, kernel, sig};
use oarlock_tensor::Float;

use crate::sizes;

pub(crate) const OPS: &[&dyn OpDef] = &[&SigmoidFocalLoss, &GRAD];

struct SigmoidFocalLoss;

impl OpDef for SigmoidFocalLoss {
    sig! {
        "sigmoid_focal_loss": "Out[i, c] = -alpha (1 - p)^gamma ln p / n where Label[i] is c + 1, -(1 - alpha) p^gamma ln(1 - p) / n elsewhere, \
             with p the sigmoid of X[i, c] and n the value of FgNum, at least 1; 0 where Label[i] is -1";
        in "X": "[samples, classes], f32 or f64: logits";
        in "Label": "[samples, 1], i32: 0 for the background, -1 for samples that do not count";
        in "FgNum": "[1], i32: how many samples are no background";
        out "Out": "like `X`";
        attr "gamma" = 2.0f32, "how much less right examples count";
        attr "alpha" = 0.25f32, "weight of the right class; that of the others is 1 - alpha";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = sizes::float(cx, "X", &[None, None], "[samples, classes]")?;
        let expected = [x.shape[0].known(), Some(1)];
        sizes::expect(cx, "Label", &cx.integer("Label")?, &expected, "a label per row of `X`, [samples, 1],")?;
        sizes::expect(cx, "FgNum", &cx.integer("FgNum")?, &[Some(1)], "one number")?;
        cx.set("Out", x);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (inputs, out) = ((p.input("X")?, p.input("Label")?, p.input("FgNum")?), p.output("Out")?);
        let focus = Focus::new(&p.attrs())?;
        by_float!(p.float("X")?, T => kernel(move |io| run::<T>(io, inputs, (None, out), &focus)))
    }
}

#[derive(Clone, Copy)]
struct Focus {
    gamma: f32,
    alpha: f32,
}

impl Focus {
    fn new(attrs: &AttrView<'_>) -> Result<Focus> {
        Ok(Focus { gamma: attrs.f32("gamma")?, alpha: attrs.f32("alpha")? })
    }
}

/// Elements that one thread computes at a time.
const PIECE: usize = 1 << 12;

/// The loss, or with `dout` its gradient.
fn run<T: Float>(
    io: &Io<'_>,
    (x, label, number): (In, In, In),
    (dout, out): (Option<In>, Out),
    focus: &Focus,
) -> Result<()> {
    let (x_tensor, label_tensor) = (io.dense(x)?, io.dense(label)?);
    let [samples, classes] = sizes::dims(io, x, &x_tensor, "[samples, classes]")?;
    let labels = sizes::counted::<i32>(io, label, &label_tensor, samples)?;
    let data = io.data::<T>(x, &x_tensor)?;
    let number = T::of(io.index(number)?.max(1) as f64);
    let alpha = T::of(focus.alpha.into());
    let formula = Formula { gamma: T::of(focus.gamma.into()), right: alpha / number, wrong: (T::ONE - alpha) / number };
    let dout_tensor = dout.map(|slot| io.dense(slot)).transpose()?;
    let dout = match (dout, &dout_tensor) {
        (Some(slot), Some(t)) => Some(sizes::counted::<T>(io, slot, t, data.len())?),
        _ => None,
    };
    let mut t = io.out_sized(out, T::DTYPE, *x_tensor.dims())?;
    t.set_lod(x_tensor.lod().clone());
    io.pool().pieces(io.data_mut::<T>(out, &mut t)?, PIECE, |piece, out| {
        for (i, out) in out.iter_mut().enumerate() {
            let at = piece * PIECE + i;
            let label = labels[at / classes];
            let is_right = i64::from(label) == (at % classes) as i64 + 1;
            *out = match dout {
                _ if label == -1 => T::ZERO,
                None => formula.loss(data[at], is_right),
                Some(dout) => formula.slope(data[at], is_right) * dout[at],
            };
        }
    });
    Ok(())
}

#[derive(Clone, Copy)]
struct Formula<T> {
    gamma: T,
    right: T,
    wrong: T,
}

impl<T: Float> Formula<T> {
    /// The probability, and its logarithm, which stays finite.
    fn probability(x: T) -> (T, T) {
        let p = T::ONE / (T::ONE + (-x).exp());
        (p, p.max(T::of(f32::MIN_POSITIVE.into())).ln())
    }

    /// ln(1 - p), computed without p, which may be rounded to 1.
    fn ln_rest(x: T) -> T {
        -x.max(T::ZERO) - (-x.abs()).exp().ln_1p()
    }

    fn loss(&self, x: T, is_right: bool) -> T {
        let (p, ln_p) = Self::probability(x);
        if is_right {
            -((T::ONE - p).powf(self.gamma) * ln_p * self.right)
        } else {
            -(p.powf(self.gamma) * Self::ln_rest(x) * self.wrong)
        }
    }

    fn slope(&self, x: T, is_right: bool) -> T {
        let (p, ln_p) = Self::probability(x);
        let rest = T::ONE - p;
        if is_right {
            -(rest.powf(self.gamma) * (rest - p * self.gamma * ln_p) * self.right)
        } else {
            -(p.powf(self.gamma) * (Self::ln_rest(x) * rest * self.gamma - p) * self.wrong)
        }
    }
}

const GRAD: GradOp = GradOp::of(&SigmoidFocalLoss, "sigmoid_focal_loss_grad(X, Label, FgNum, Out@GRAD) -> X@GRAD")
    .doc("gradient of `sigmoid_focal_loss`")
    .kernel(|p| {
        let inputs = (p.input("X")?, p.input("Label")?, p.input("FgNum")?);
        let (dout, dx, focus) = (p.input("Out@GRAD")?, p.output("X@GRAD")?, Focus::new(&p.attrs())?);
        by_float!(p.float("X")?, T => kernel(move |io| run::<T>(io, inputs, (Some(dout), dx), &focus)))
    });

#[test]
fn right_examples_count_less() {
    use crate::testing::{Check, check, noise, tensor, tensor_of};
    let case = || -> Check {
        check("sigmoid_focal_loss")
            .input("X", tensor([3, 1], &[0.0, 0.0, 0.0]))
            .input("Label", tensor_of([3, 1], &[1, 0, -1]))
            .input("FgNum", tensor_of([1], &[2]))
    };
    let ln2 = 2.0f32.ln();
    case().output("Out", tensor([3, 1], &[0.25 * 0.25 * ln2 / 2.0, 0.75 * 0.25 * ln2 / 2.0, 0.0])).run();
    case().input("X", noise([3, 2], 5)).attr("gamma", 1.5f32).any_output("Out").grad(&["X"]).run();
    let e = case().input("Label", tensor_of([2, 1], &[1, 0])).any_output("Out").error();
    assert!(e.contains("needs a label per row of `X`, [samples, 1], in `Label`"), "{e}");
}
