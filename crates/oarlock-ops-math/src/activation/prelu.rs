//! `prelu`: x, but a learned multiple of it below 0.

use oarlock_ir::{GradOp, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, by_float, fail, kernel, sig};
use oarlock_tensor::{Dims, Float};

pub(crate) const OPS: &[&dyn OpDef] = &[&Prelu, &GRAD];

/// Which slope an element has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    All,
    Channel,
    Element,
}

impl Mode {
    fn new(text: &str) -> Result<Mode> {
        match text {
            "all" => Ok(Mode::All),
            "channel" => Ok(Mode::Channel),
            "element" => Ok(Mode::Element),
            other => fail!(
                Kind::Argument,
                "attribute `mode` of `prelu` is `{other}`; it can be `all`, `channel` or `element`"
            ),
        }
    }

    /// How many slopes there are, and how many neighbouring elements share one.
    fn slopes(self, dims: &[usize]) -> (usize, usize) {
        match (self, dims) {
            (Mode::All, _) => (1, 1),
            (Mode::Channel, [_, channels, rest @ ..]) => (*channels, rest.iter().product()),
            (Mode::Element, [_, rest @ ..]) => (rest.iter().product(), 1),
            (Mode::Channel | Mode::Element, _) => (1, 1),
        }
    }
}

struct Prelu;

impl OpDef for Prelu {
    sig! {
        "prelu": "Out = X where X > 0, else Alpha * X";
        in "X": "[n, channels, ...]";
        in "Alpha": "the slopes: 1, one per channel, or one per element of a sample";
        out "Out": "like `X`";
        attr "mode" = "all", "all: one slope; channel: one per channel; element: one per element of a sample";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, alpha) = (cx.float("X")?, cx.float("Alpha")?);
        let mode = Mode::new(cx.attrs().str("mode")?)?;
        // Sizes after the first are known in practice; where they are not, the run checks.
        let sizes: Option<Vec<usize>> = x.shape.iter().skip(1).map(|d| d.known()).collect();
        if let (Some(mut sizes), Some(found)) = (sizes, alpha.shape.numel()) {
            sizes.insert(0, 1);
            let (expected, _) = mode.slopes(&sizes);
            if found != expected {
                let what =
                    format!("needs {expected} slopes for {}, but has {}", cx.describe("X"), cx.describe("Alpha"));
                return Err(cx.shape_error(what));
            }
        }
        cx.set("Out", x);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, alpha, out) = (p.input("X")?, p.input("Alpha")?, p.output("Out")?);
        let mode = Mode::new(p.attrs().str("mode")?)?;
        by_float!(p.float("X")?, T => kernel(move |io| forward::<T>(io, x, alpha, out, mode)))
    }
}

fn forward<T: Float>(io: &Io<'_>, x: In, alpha: In, out: Out, mode: Mode) -> Result<()> {
    let (x_tensor, alpha_tensor) = (io.dense(x)?, io.dense(alpha)?);
    let slopes = io.data::<T>(alpha, &alpha_tensor)?;
    let (count, shared) = check(io, alpha, slopes.len(), mode, x_tensor.dims())?;
    let x = io.data::<T>(x, &x_tensor)?;
    let mut t = io.out_sized(out, T::DTYPE, *x_tensor.dims())?;
    t.set_lod(x_tensor.lod().clone());
    for (i, out) in io.data_mut::<T>(out, &mut t)?.iter_mut().enumerate() {
        *out = if x[i] > T::ZERO { x[i] } else { slopes[i / shared % count] * x[i] };
    }
    Ok(())
}

fn check(io: &Io<'_>, alpha: In, found: usize, mode: Mode, dims: &Dims) -> Result<(usize, usize)> {
    let (slopes, shared) = mode.slopes(dims);
    if found != slopes {
        let what = format_args!("has {found} slopes, but {slopes} are needed for sizes {dims}");
        return Err(io.error(Kind::Shape, alpha, what));
    }
    Ok((slopes, shared.max(1)))
}

const GRAD: GradOp = GradOp::of(&Prelu, "prelu_grad(X, Alpha, Out@GRAD) -> X@GRAD, Alpha@GRAD")
    .doc("X@GRAD = Out@GRAD where X > 0, else Alpha * Out@GRAD; Alpha@GRAD = sum of X * Out@GRAD where X <= 0")
    .kernel(|p| {
        let inputs = (p.input("X")?, p.input("Alpha")?, p.input("Out@GRAD")?);
        let outputs = (p.maybe_output("X@GRAD")?, p.maybe_output("Alpha@GRAD")?);
        let mode = Mode::new(p.attrs().str("mode")?)?;
        by_float!(p.float("X")?, T => kernel(move |io| backward::<T>(io, inputs, outputs, mode)))
    });

fn backward<T: Float>(
    io: &Io<'_>,
    (x, alpha, dout): (In, In, In),
    (dx, dalpha): (Option<Out>, Option<Out>),
    mode: Mode,
) -> Result<()> {
    let (x_tensor, alpha_tensor, dout_tensor) = (io.dense(x)?, io.dense(alpha)?, io.dense(dout)?);
    let slopes = io.data::<T>(alpha, &alpha_tensor)?;
    let (count, shared) = check(io, alpha, slopes.len(), mode, x_tensor.dims())?;
    let (x_data, d) = (io.data::<T>(x, &x_tensor)?, io.data::<T>(dout, &dout_tensor)?);
    oarlock_ops_support::class_axis::same_count(io, x, dout, x_data.len(), d.len())?;
    if let Some(dx) = dx {
        let mut t = io.out_sized(dx, T::DTYPE, *x_tensor.dims())?;
        t.set_lod(x_tensor.lod().clone());
        for (i, dx) in io.data_mut::<T>(dx, &mut t)?.iter_mut().enumerate() {
            *dx = if x_data[i] > T::ZERO { d[i] } else { slopes[i / shared % count] * d[i] };
        }
    }
    if let Some(dalpha) = dalpha {
        let mut t = io.out_sized(dalpha, T::DTYPE, *alpha_tensor.dims())?;
        let dalpha = io.data_mut::<T>(dalpha, &mut t)?;
        dalpha.fill(T::ZERO);
        for (i, &x) in x_data.iter().enumerate().filter(|(_, x)| **x <= T::ZERO) {
            dalpha[i / shared % count] += x * d[i];
        }
    }
    Ok(())
}

#[test]
fn prelu() {
    use crate::testing::{check, noise, tensor};
    let x = || tensor([2, 2, 1], &[-1.0, 2.0, 3.0, -4.0]);
    let case = |mode: &str, alpha| {
        check("prelu").attr("mode", mode).input("X", x()).input("Alpha", alpha).grad(&["X", "Alpha"])
    };
    case("all", tensor([1], &[0.5])).output("Out", tensor([2, 2, 1], &[-0.5, 2.0, 3.0, -2.0])).run();
    case("channel", tensor([2], &[0.5, 0.25])).output("Out", tensor([2, 2, 1], &[-0.5, 2.0, 3.0, -1.0])).run();
    case("element", tensor([1, 2, 1], &[0.5, 0.25])).output("Out", tensor([2, 2, 1], &[-0.5, 2.0, 3.0, -1.0])).run();
    let e = check("prelu").attr("mode", "channel").input("X", x()).input("Alpha", noise([3], 1)).any_output("Out");
    assert!(e.error().contains("`prelu` needs 2 slopes for `X` = X.0 f32[2, 2, 1], but has `Alpha` = Alpha.0 f32[3]"));
}
