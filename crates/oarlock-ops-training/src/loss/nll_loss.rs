//! `nll_loss`: the negative log-likelihood of classes, from log-probabilities.

use oarlock_ir::{Dim, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Sig, VarType};
use oarlock_ir::{by_float, fail, kernel, sig, slots};
use oarlock_ops_support::checks;
use oarlock_ops_support::class_axis::{Classes, Labels};
use oarlock_ops_support::equal_sizes;
use oarlock_tensor::{Float, Tensor};

pub(crate) const OPS: &[&dyn OpDef] = &[&NllLoss, &GRAD];

struct NllLoss;

impl OpDef for NllLoss {
    sig! {
        "nll_loss":
            "Out = -Weight[Label] * X[Label], 0 at labels of ignore_index; their sum, or that divided by Total_weight, the sum of weights";
        in "X": "log-probabilities [batch, classes] or [batch, classes, height, width]";
        in "Label": "i64, like `X` without the classes";
        in? "Weight": "[classes]; 1 without it";
        out "Out": "like `Label`, or [1]";
        out "Total_weight": "[1]; 0 if nothing is summed";
        with attrs;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, label) = (cx.float("X")?, cx.integer("Label")?);
        let sum = Reduction::new(cx.attrs().str("reduction")?)? != Reduction::None;
        let mut expected = x.shape.0.clone();
        if expected.len() > 1 {
            expected.remove(1);
        }
        let fits = matches!(x.shape.rank(), 2 | 4)
            && label.shape.rank() == expected.len()
            && label.shape.iter().zip(&expected).all(|(a, b)| a.fits(*b));
        if !fits {
            let what = format!("cannot compare {} with {}", cx.describe("X"), cx.describe("Label"));
            return Err(cx.shape_error(what).help("labels have the shape of the scores without their second size"));
        }
        let one = VarType::tensor(x.dtype, vec![Dim::Is(1)]);
        cx.set("Out", if sum { one.clone() } else { VarType::tensor(x.dtype, expected) });
        cx.set("Total_weight", one);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (inputs, out, total) = (Inputs::new(p)?, p.output("Out")?, p.output("Total_weight")?);
        by_float!(p.float("X")?, T => kernel(move |io| forward::<T>(io, &inputs, out, total)))
    }
}

fn attrs(sig: Sig) -> Sig {
    sig.attr("ignore_index", -100i64, "rows with this label cost nothing").attr(
        "reduction",
        "mean",
        "none, sum, or mean: the sum divided by `Total_weight`",
    )
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reduction {
    None,
    Sum,
    Mean,
}

impl Reduction {
    fn new(name: &str) -> Result<Reduction> {
        match name {
            "none" => Ok(Reduction::None),
            "sum" => Ok(Reduction::Sum),
            "mean" => Ok(Reduction::Mean),
            other => fail!(Kind::Argument, "`nll_loss` knows the reductions none, sum and mean, not `{other}`"),
        }
    }
}

slots! {
    /// The inputs and attributes of the operator and its gradient.
    struct Inputs(p) {
        x: input "X",
        label: input "Label",
        weight: maybe_input "Weight",
        ignore: int "ignore_index",
        reduction: Reduction = Reduction::new(p.attrs().str("reduction")?)?,
    }
}

impl Inputs {
    /// Appends, for each label that counts: its number, where its score is in `X`, and its weight.
    fn find<T: Float>(&self, io: &Io<'_>, x: &Tensor, label: &Tensor) -> Result<Vec<(usize, usize, T)>> {
        let classes = Classes::of(io, self.x, x.dims(), 1)?;
        let labels = Labels::new(io, self.label, label, classes.rows(), classes.len, self.ignore)?;
        let weight_tensor = self.weight.map(|w| io.dense(w)).transpose()?;
        let weight = match (self.weight, &weight_tensor) {
            (Some(input), Some(t)) => Some(checks::sized::<T>(io, input, t, classes.len)?),
            _ => None,
        };
        let one = |(row, class): (usize, Option<usize>)| {
            let class = class?;
            Some((row, classes.at(row, class), weight.map_or(T::ONE, |w| w[class])))
        };
        Ok(labels.iter().enumerate().filter_map(one).collect())
    }
}

fn forward<T: Float>(io: &Io<'_>, inputs: &Inputs, out: Out, total_out: Out) -> Result<()> {
    let (x, label) = (io.dense(inputs.x)?, io.dense(inputs.label)?);
    let found = inputs.find::<T>(io, &x, &label)?;
    let x = io.data::<T>(inputs.x, &x)?;
    if inputs.reduction == Reduction::None {
        let mut t = io.out_sized(out, T::DTYPE, *label.dims())?;
        let to = io.data_mut::<T>(out, &mut t)?;
        to.fill(T::ZERO);
        found.iter().for_each(|&(row, at, w)| to[row] = -x[at] * w);
        return equal_sizes::number(io, total_out, T::ZERO);
    }
    let total = found.iter().fold(T::ZERO, |sum, &(_, _, w)| sum + w);
    let cost = found.iter().fold(T::ZERO, |sum, &(_, at, w)| sum - x[at] * w);
    let mean = inputs.reduction == Reduction::Mean && total != T::ZERO;
    equal_sizes::number(io, out, if mean { cost / total } else { cost })?;
    equal_sizes::number(io, total_out, total)
}

const GRAD: GradOp = GradOp::of(&NllLoss, "nll_loss_grad(Label, Out@GRAD, Total_weight, Weight, X) -> X@GRAD")
    .doc("X@GRAD = -Weight[Label] * Out@GRAD at the labels, divided by Total_weight for the mean")
    .kernel(|p| {
        let (inputs, d) = (Inputs::new(p)?, p.input("Out@GRAD")?);
        let (total, dx) = (p.input("Total_weight")?, p.output("X@GRAD")?);
        by_float!(p.float("X")?, T => kernel(move |io| backward::<T>(io, &inputs, (d, total), dx)))
    });

fn backward<T: Float>(io: &Io<'_>, inputs: &Inputs, (d, total): (In, In), dx: Out) -> Result<()> {
    let (x, label, d_tensor) = (io.dense(inputs.x)?, io.dense(inputs.label)?, io.dense(d)?);
    let found = inputs.find::<T>(io, &x, &label)?;
    let each = inputs.reduction == Reduction::None;
    let d = checks::sized::<T>(io, d, &d_tensor, if each { label.numel() } else { 1 })?;
    let total = T::of(io.scalar(total)?);
    let divisor = if inputs.reduction == Reduction::Mean && total != T::ZERO { total } else { T::ONE };
    let mut t = io.out_sized(dx, T::DTYPE, *x.dims())?;
    let dx = io.data_mut::<T>(dx, &mut t)?;
    dx.fill(T::ZERO);
    for (row, at, w) in found {
        dx[at] = -w * d[if each { row } else { 0 }] / divisor;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, noise, tensor, tensor_of};

    fn loss(reduction: &str) -> Check {
        check("nll_loss")
            .input("X", tensor([3, 2], &[-1.0, -2.0, -3.0, -4.0, -5.0, -6.0]))
            .input("Label", tensor_of([3], &[1i64, 0, 7]))
            .input("Weight", tensor([2], &[3.0, 1.0]))
            .attr("ignore_index", 7i64)
            .attr("reduction", reduction)
            .counting(&["Out"])
            .grad(&["X"])
    }

    #[test]
    fn reductions() {
        loss("none").output("Out", tensor([3], &[2.0, 9.0, 0.0])).output("Total_weight", tensor([1], &[0.0])).run();
        loss("sum").output("Out", tensor([1], &[11.0])).output("Total_weight", tensor([1], &[4.0])).run();
        loss("mean").output("Out", tensor([1], &[2.75])).output("Total_weight", tensor([1], &[4.0])).run();
        let e = loss("max").any_output("Out").any_output("Total_weight").error();
        assert!(e.contains("knows the reductions none, sum and mean, not `max`"), "{e}");
    }

    #[test]
    fn pictures() {
        check("nll_loss")
            .input("X", noise([1, 2, 2, 1], 1))
            .input("Label", tensor_of([1, 2, 1], &[1i64, 0]))
            .any_output("Out")
            .any_output("Total_weight")
            .counting(&["Out"])
            .grad(&["X"])
            .run();
    }
}
