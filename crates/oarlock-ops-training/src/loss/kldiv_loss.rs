//! `kldiv_loss`: the divergence of a distribution from a target; `X` holds logarithms.

use oarlock_ir::{AttrView, Dim, GradOp, Infer, Kernel, Kind, OpDef, Prepare, Result, Traits};
use oarlock_ir::{by_float, fail, kernel, sig};
use oarlock_ops_support::equal_sizes::{self, Together};
use oarlock_tensor::{Dims, Float};

pub(crate) const OPS: &[&dyn OpDef] = &[&KldivLoss, &GRAD];

/// How elements become one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reduction {
    None,
    Sum,
    Mean,
    BatchMean,
}

impl Reduction {
    fn new(attrs: &AttrView<'_>) -> Result<Reduction> {
        match attrs.str("reduction")? {
            "none" => Ok(Reduction::None),
            "sum" => Ok(Reduction::Sum),
            "mean" => Ok(Reduction::Mean),
            "batchmean" => Ok(Reduction::BatchMean),
            other => fail!(
                Kind::Argument,
                "attribute `reduction` of `kldiv_loss` is `{other}`; it can be `none`, `sum`, `mean` or `batchmean`"
            ),
        }
    }

    /// The divisor of the sum of a tensor.
    fn divisor<T: Float>(self, dims: &Dims) -> T {
        match self {
            Reduction::None | Reduction::Sum => T::ONE,
            Reduction::Mean => T::of(dims.numel().max(1) as f64),
            Reduction::BatchMean => T::of(dims.first().copied().unwrap_or(1).max(1) as f64),
        }
    }
}

struct KldivLoss;

impl OpDef for KldivLoss {
    sig! {
        "kldiv_loss": "Loss = Target * (ln Target - X), 0 where Target is not positive; then reduced";
        in "X": "logarithms of probabilities";
        in "Target": "probabilities, like `X`";
        out "Loss": "[1], or like `X` without reduction";
        attr "reduction" = "mean", "none; or sum; or mean over all elements, or batchmean over rows";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let ty = equal_sizes::infer_same(cx, "X", "Target")?;
        let whole = Reduction::new(&cx.attrs())? == Reduction::None;
        cx.set("Loss", if whole { ty } else { ty.with_shape(vec![Dim::Is(1)]).with_lod(0) });
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (inputs, out) = ([p.input("X")?, p.input("Target")?], p.output("Loss")?);
        let reduction = Reduction::new(&p.attrs())?;
        by_float!(p.float("X")?, T => kernel(move |io| {
            if reduction == Reduction::None {
                return equal_sizes::each(io, inputs, out, |[x, target]: [T; 2]| loss(x, target));
            }
            let together = Together::new(io, inputs)?;
            let [x, target] = together.data::<T>(io)?;
            let sum: T = x.iter().zip(target).map(|(x, t)| loss(*x, *t)).sum();
            equal_sizes::number(io, out, sum / reduction.divisor::<T>(together.first().dims()))
        }))
    }
}

fn loss<T: Float>(x: T, target: T) -> T {
    if target > T::ZERO { target * (target.ln() - x) } else { T::ZERO }
}

const GRAD: GradOp = GradOp::of(&KldivLoss, "kldiv_loss_grad(X, Target, Loss@GRAD) -> X@GRAD")
    .doc("X@GRAD = -Loss@GRAD * Target where Target is positive, else 0; reduced likewise")
    .traits(Traits::NONE.shape_only(&["X"]))
    .kernel(|p| {
        let (x, target, d) = (p.input("X")?, p.input("Target")?, p.input("Loss@GRAD")?);
        let (out, reduction) = (p.output("X@GRAD")?, Reduction::new(&p.attrs())?);
        by_float!(p.float("X")?, T => kernel(move |io| {
            let slope = |target: T| if target > T::ZERO { -target } else { T::ZERO };
            if reduction == Reduction::None {
                return equal_sizes::each(io, [x, target, d], out, |[_, target, d]: [T; 3]| d * slope(target));
            }
            let factor = T::of(io.scalar(d)?) / reduction.divisor::<T>(io.dense(x)?.dims());
            equal_sizes::each(io, [x, target], out, |[_, target]: [T; 2]| factor * slope(target))
        }))
    });

#[test]
fn kldiv_loss() {
    use crate::testing::{check, tensor};
    let case = |reduction: &str| {
        check("kldiv_loss")
            .attr("reduction", reduction)
            .input("X", tensor([2, 2], &[-0.5, -1.0, -2.0, -0.25]))
            .input("Target", tensor([2, 2], &[1.0, 0.0, 0.5, 0.5]))
            .grad(&["X"])
    };
    case("none").output("Loss", tensor([2, 2], &[0.5, 0.0, 0.6534264, -0.2215736])).run();
    case("sum").output("Loss", tensor([1], &[0.9318528])).run();
    case("mean").output("Loss", tensor([1], &[0.2329632])).run();
    case("batchmean").output("Loss", tensor([1], &[0.4659264])).run();
    let e = check("kldiv_loss")
        .attr("reduction", "max")
        .input("X", tensor([1], &[0.0]))
        .input("Target", tensor([1], &[1.0]));
    assert!(e.any_output("Loss").error().contains("it can be `none`, `sum`, `mean` or `batchmean`"));
}
