//! `fused_elemwise_activation`: a sum or product and a function of one number, one inside the other.

use oarlock_ir::{AttrView, Grad, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Sig};
use oarlock_ir::{by_float, fail, kernel, sig, slots};
use oarlock_ops_support::broadcast::Spread;
use oarlock_ops_support::broadcast::spread;
use oarlock_ops_support::checks::sized;
use oarlock_tensor::simd::Math;
use oarlock_tensor::{Dims, Tensor};

use crate::elementwise::binary::{infer_broadcast, zip_with};

pub(crate) const OPS: &[&dyn OpDef] = &[&FusedElemwiseActivation, &FusedElemwiseActivationGrad];

fn with_attrs(sig: Sig) -> Sig {
    sig.required_attr("functor_list", "the outer function, then the inner one; one is elementwise_add or elementwise_mul, the other scale, relu, tanh or sigmoid")
        .attr("axis", -1, "where the shape of `Y` starts in that of `X`; -1 aligns their ends")
        .attr("scale", 0.0f32, "the factor of `scale`")
        .attr("save_intermediate_out", false, "keep what the inner function gives")
}

struct FusedElemwiseActivation;

impl OpDef for FusedElemwiseActivation {
    sig! {
        "fused_elemwise_activation":
            "with functor_list = [b, u], b taking two numbers and u one: Out = b(X, u(Y)); with [u, b]: Out = u(b(X, Y))";
        in "X": "f32 or f64";
        in "Y": "of the same dtype; its sizes are those of `X` from `axis` on, or 1";
        out "Out": "of the broadcast shape, with the LoD of `X`";
        out? "IntermediateOut": "u(Y) or b(X, Y)";
        with with_attrs;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let pair = Pair::read(&cx.attrs())?;
        cx.float("X")?;
        let out = infer_broadcast(cx)?;
        let inner = if pair.unary_inside { cx.input("Y")? } else { out.clone() };
        cx.set("Out", out);
        cx.set("IntermediateOut", inner);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, y, out, inner) = (p.input("X")?, p.input("Y")?, p.output("Out")?, p.maybe_output("IntermediateOut")?);
        let (pair, axis) = (Pair::read(&p.attrs())?, p.attrs().int("axis")?);
        by_float!(p.float("X")?, T => {
            let mut scratch = Vec::<T>::new();
            kernel(move |io| forward(io, pair, (x, y, axis), (out, inner), &mut scratch))
        })
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let reads = ["X", "Y", "Out", "IntermediateOut", "Out@GRAD"];
        g.emit("fused_elemwise_activation_grad", &reads, &["X@GRAD", "Y@GRAD"])
    }
}

/// A function of one number.
#[derive(Clone, Copy)]
enum Unary {
    Scale(f32),
    Relu,
    Tanh,
    Sigmoid,
}

impl Unary {
    fn value<T: Math>(self, v: T) -> T {
        match self {
            Unary::Scale(by) => v * T::of(by.into()),
            Unary::Relu => v.max(T::ZERO),
            Unary::Tanh => v.fast_tanh(),
            Unary::Sigmoid => v.fast_sigmoid(),
        }
    }

    /// The derivative, by the value.
    fn slope<T: Math>(self, value: T) -> T {
        match self {
            Unary::Scale(by) => T::of(by.into()),
            Unary::Relu if value > T::ZERO => T::ONE,
            Unary::Relu => T::ZERO,
            Unary::Tanh => T::ONE - value * value,
            Unary::Sigmoid => value * (T::ONE - value),
        }
    }
}

/// Both functions.
#[derive(Clone, Copy)]
struct Pair {
    unary: Unary,
    /// A product, not a sum.
    product: bool,
    /// Out = b(X, u(Y)), not u(b(X, Y)).
    unary_inside: bool,
}

impl Pair {
    fn read(attrs: &AttrView<'_>) -> Result<Pair> {
        let scale = attrs.f32("scale")?;
        let unary = |name: &str| match name {
            "scale" => Some(Unary::Scale(scale)),
            "relu" => Some(Unary::Relu),
            "tanh" => Some(Unary::Tanh),
            "sigmoid" => Some(Unary::Sigmoid),
            _ => None,
        };
        let product = |name: &str| match name {
            "elementwise_add" => Some(false),
            "elementwise_mul" => Some(true),
            _ => None,
        };
        let list = attrs.strs("functor_list")?;
        if let [outer, inner] = list {
            if let (Some(product), Some(unary)) = (product(outer), unary(inner)) {
                return Ok(Pair { unary, product, unary_inside: true });
            }
            if let (Some(unary), Some(product)) = (unary(outer), product(inner)) {
                return Ok(Pair { unary, product, unary_inside: false });
            }
        }
        fail!(
            Kind::Argument,
            "attribute `functor_list` is {list:?}; it must be one of elementwise_add and elementwise_mul together with one of \
             scale, relu, tanh and sigmoid"
        )
    }

    fn binary<T: Math>(self, x: T, y: T) -> T {
        if self.product { x * y } else { x + y }
    }
}

fn forward<T: Math>(
    io: &Io<'_>,
    pair: Pair,
    (x, y, axis): (In, In, i64),
    (out, inner): (Out, Option<Out>),
    scratch: &mut Vec<T>,
) -> Result<()> {
    let (xt, yt) = (io.dense(x)?, io.dense(y)?);
    let s = spread(io, x, xt.dims(), y, yt.dims(), axis)?;
    let mut to = io.out_sized(out, T::DTYPE, s.out)?;
    to.set_lod(xt.lod().clone());
    let to = io.data_mut::<T>(out, &mut to)?;
    let (xs, ys) = (io.data::<T>(x, &xt)?, io.data::<T>(y, &yt)?);
    scratch.resize(if pair.unary_inside { ys.len() } else { to.len() }, T::ZERO);
    if pair.unary_inside {
        scratch.iter_mut().zip(ys).for_each(|(m, y)| *m = pair.unary.value(*y));
        zip_with(&s, xs, scratch, to, |x, m| pair.binary(x, m));
    } else {
        zip_with(&s, xs, ys, scratch, |x, y| pair.binary(x, y));
        to.iter_mut().zip(&*scratch).for_each(|(o, m)| *o = pair.unary.value(*m));
    }
    if let Some(inner) = inner {
        let dims = if pair.unary_inside { *yt.dims() } else { s.out };
        let mut kept = io.out_sized(inner, T::DTYPE, dims)?;
        io.data_mut::<T>(inner, &mut kept)?.copy_from_slice(scratch);
    }
    Ok(())
}

struct FusedElemwiseActivationGrad;

impl OpDef for FusedElemwiseActivationGrad {
    sig! {
        "fused_elemwise_activation_grad": "gradients of `fused_elemwise_activation`";
        in "X": "of the forward operator";
        in "Y": "of the forward operator";
        in? "Out": "of the forward operator";
        in? "IntermediateOut": "of the forward operator; not read";
        in "Out@GRAD": "gradient of `Out`";
        out? "X@GRAD": "gradient of `X`";
        out? "Y@GRAD": "gradient of `Y`";
        out? "IntermediateOut@GRAD": "of no use; not written";
        with with_attrs;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.grads_of(&["X", "Y"])
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let grad = PairGrad::new(p)?;
        by_float!(p.float("X")?, T => kernel(move |io| grad.run::<T>(io)))
    }
}

slots! {
    #[derive(Clone, Copy)]
    struct PairGrad(p) {
        pair: Pair = Pair::read(&p.attrs())?,
        axis: int "axis",
        x: input "X",
        y: input "Y",
        dout: input "Out@GRAD",
        dx: maybe_output "X@GRAD",
        dy: maybe_output "Y@GRAD",
    }
}

impl PairGrad {
    fn run<T: Math>(&self, io: &Io<'_>) -> Result<()> {
        let (xt, yt, dt) = (io.dense(self.x)?, io.dense(self.y)?, io.dense(self.dout)?);
        let s = spread(io, self.x, xt.dims(), self.y, yt.dims(), self.axis)?;
        let (x, y) = (io.data::<T>(self.x, &xt)?, io.data::<T>(self.y, &yt)?);
        let d = sized::<T>(io, self.dout, &dt, s.out.numel())?;
        let both = |i: usize, j: usize, d: T| self.slopes(x[i], y[j], d);
        self.write(io, self.dx, &xt, &s, |to: &mut [T], o, i, j| to[i] += both(i, j, d[o]).0)?;
        self.write(io, self.dy, &yt, &s, |to: &mut [T], o, i, j| to[j] += both(i, j, d[o]).1)
    }

    /// The gradients of x and of y, for the gradient `d` of one element.
    fn slopes<T: Math>(&self, x: T, y: T, d: T) -> (T, T) {
        let Pair { unary, product, unary_inside } = self.pair;
        if unary_inside {
            let inner = unary.value(y);
            let (dx, dinner) = if product { (d * inner, d * x) } else { (d, d) };
            return (dx, dinner * unary.slope(inner));
        }
        let dinner = d * unary.slope(unary.value(self.pair.binary(x, y)));
        if product { (dinner * y, dinner * x) } else { (dinner, dinner) }
    }

    /// Writes one gradient, adding up over all elements of the result, in their order.
    fn write<T: Math>(
        &self,
        io: &Io<'_>,
        out: Option<Out>,
        like: &Tensor,
        s: &Spread,
        add: impl Fn(&mut [T], usize, usize, usize),
    ) -> Result<()> {
        let Some(out) = out else { return Ok(()) };
        let dims: Dims = *like.dims();
        let mut to = io.out_sized(out, T::DTYPE, dims)?;
        let to = io.data_mut::<T>(out, &mut to)?;
        to.fill(T::ZERO);
        let (x_step, y_step) = (usize::from(s.x_moves), usize::from(s.y_moves));
        s.runs(|o, i, j| (0..s.run).for_each(|k| add(to, o + k, i + k * x_step, j + k * y_step)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, noise, tensor};

    fn fused(outer: &str, inner: &str) -> Check {
        check("fused_elemwise_activation")
            .attr("functor_list", vec![outer.to_string(), inner.to_string()])
            .attr("scale", 0.5f32)
            .counting(&["Out"])
    }

    #[test]
    fn values() {
        let pair =
            |outer, inner| fused(outer, inner).input("X", tensor([2, 1], &[1.0, -3.0])).input("Y", tensor([1], &[2.0]));
        pair("elementwise_add", "scale")
            .output("Out", tensor([2, 1], &[2.0, -2.0]))
            .output("IntermediateOut", tensor([1], &[1.0]))
            .run();
        pair("relu", "elementwise_mul")
            .output("Out", tensor([2, 1], &[2.0, 0.0]))
            .output("IntermediateOut", tensor([2, 1], &[2.0, -6.0]))
            .run();
    }

    #[test]
    fn gradients() {
        for binary in ["elementwise_add", "elementwise_mul"] {
            for unary in ["scale", "tanh", "sigmoid"] {
                for (outer, inner) in [(binary, unary), (unary, binary)] {
                    let pair = fused(outer, inner).input("X", noise([2, 3], 1)).input("Y", noise([3], 2));
                    pair.any_output("Out").any_output("IntermediateOut").grad(&["X", "Y"]).run();
                }
            }
        }
    }

    #[test]
    fn unknown_functions_are_named() {
        let wrong = fused("relu", "tanh").input("X", noise([2], 1)).input("Y", noise([2], 2));
        let e = wrong.any_output("Out").error();
        assert!(
            e.contains("attribute `functor_list` is [\"relu\", \"tanh\"]; it must be one of elementwise_add"),
            "{e}"
        );
    }
}
