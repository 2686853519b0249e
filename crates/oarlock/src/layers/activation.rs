//! Functions of one tensor, element by element.

use oarlock_ir::{Op, Result};

use crate::declare::{Args, declare};
use crate::{Net, VarRef};

macro_rules! functions {
    ($( $(#[$meta:meta])* $name:ident ),* $(,)?) => {
        impl Net {
            $(
                $(#[$meta])*
                #[track_caller]
                pub fn $name(&mut self, x: &VarRef) -> Result<VarRef> {
                    self.unary(x, Op::new(stringify!($name)))
                }
            )*
        }
    };
}

functions! {
    /// `max(x, 0)`
    relu,
    /// `1 / (1 + exp(-x))`
    sigmoid,
    /// `log(sigmoid(x))`
    logsigmoid,
    /// The hyperbolic tangent.
    tanh,
    /// `x - tanh(x)`
    tanh_shrink,
    /// e to the power of `x`.
    exp,
    /// The natural logarithm.
    log,
    /// `log(1 + x)`
    log1p,
    /// The square root.
    sqrt,
    /// `1 / sqrt(x)`
    rsqrt,
    /// `x * x`
    square,
    /// `|x|`
    abs,
    /// Rounded up.
    ceil,
    /// Rounded down.
    floor,
    /// Rounded to the nearest, halves away from zero.
    round,
    /// `1 / x`
    reciprocal,
    /// `log(1 + exp(x))`
    softplus,
    /// `x / (1 + |x|)`
    softsign,
    /// The sine.
    sin,
    /// The cosine.
    cos,
    /// The inverse cosine.
    acos,
    /// The inverse sine.
    asin,
    /// The inverse tangent.
    atan,
    /// The error function.
    erf,
    /// -1, 0 or 1.
    sign,
}

impl Net {
    /// `leaky_relu(x, alpha=0.02)`: `x` where positive, else `alpha * x`.
    #[track_caller]
    pub fn leaky_relu(&mut self, x: &VarRef, alpha: f32) -> Result<VarRef> {
        self.unary(x, Op::new("leaky_relu").attr("alpha", alpha))
    }

    /// `relu6(x, threshold=6.0)`: `min(max(x, 0), threshold)`.
    #[track_caller]
    pub fn relu6(&mut self, x: &VarRef, threshold: f32) -> Result<VarRef> {
        self.unary(x, Op::new("relu6").attr("threshold", threshold))
    }

    /// `elu(x, alpha=1.0)`: `x` where positive, else `alpha * (exp(x) - 1)`.
    #[track_caller]
    pub fn elu(&mut self, x: &VarRef, alpha: f32) -> Result<VarRef> {
        self.unary(x, Op::new("elu").attr("alpha", alpha))
    }

    /// `selu(x, scale=None, alpha=None)`: `scale` times `elu` with `alpha`, the constants of its paper where `None`.
    #[track_caller]
    pub fn selu(&mut self, x: &VarRef, scale: Option<f32>, alpha: Option<f32>) -> Result<VarRef> {
        self.unary(x, with_some(Op::new("selu"), [("scale", scale), ("alpha", alpha)]))
    }

    /// `gelu(x, approximate=False)`: `x` times the normal distribution's integral up to `x`.
    #[track_caller]
    pub fn gelu(&mut self, x: &VarRef, approximate: bool) -> Result<VarRef> {
        self.unary(x, Op::new("gelu").attr("approximate", approximate))
    }

    /// `swish(x, beta=1.0)`: `x * sigmoid(beta * x)`.
    #[track_caller]
    pub fn swish(&mut self, x: &VarRef, beta: f32) -> Result<VarRef> {
        self.unary(x, Op::new("swish").attr("beta", beta))
    }

    /// `mish(x, threshold=20)`: `x * tanh(softplus(x))`.
    #[track_caller]
    pub fn mish(&mut self, x: &VarRef, threshold: f32) -> Result<VarRef> {
        self.unary(x, Op::new("mish").attr("threshold", threshold))
    }

    /// `hard_sigmoid(x, slope=0.2, offset=0.5)`: `slope * x + offset`, limited to 0 and 1.
    #[track_caller]
    pub fn hard_sigmoid(&mut self, x: &VarRef, slope: f32, offset: f32) -> Result<VarRef> {
        self.unary(x, Op::new("hard_sigmoid").attr("slope", slope).attr("offset", offset))
    }

    /// `hard_swish(x, threshold=6.0, scale=6.0, offset=3.0)`: `x * min(max(x + offset, 0), threshold) / scale`.
    #[track_caller]
    pub fn hard_swish(&mut self, x: &VarRef, threshold: f32, scale: f32, offset: f32) -> Result<VarRef> {
        let op = Op::new("hard_swish").attr("threshold", threshold).attr("scale", scale);
        self.unary(x, op.attr("offset", offset))
    }

    /// `brelu(x, t_min=0.0, t_max=24.0)`: `x` limited to both bounds.
    #[track_caller]
    pub fn brelu(&mut self, x: &VarRef, t_min: f32, t_max: f32) -> Result<VarRef> {
        self.unary(x, Op::new("brelu").attr("t_min", t_min).attr("t_max", t_max))
    }

    /// `soft_relu(x, threshold=40.0)`: `log(1 + exp(x))` with `x` limited to both sides of the threshold.
    #[track_caller]
    pub fn soft_relu(&mut self, x: &VarRef, threshold: f32) -> Result<VarRef> {
        self.unary(x, Op::new("soft_relu").attr("threshold", threshold))
    }

    /// `stanh(x, scale_a=0.67, scale_b=1.7159)`: `scale_b * tanh(scale_a * x)`.
    #[track_caller]
    pub fn stanh(&mut self, x: &VarRef, scale_a: f32, scale_b: f32) -> Result<VarRef> {
        self.unary(x, Op::new("stanh").attr("scale_a", scale_a).attr("scale_b", scale_b))
    }

    /// `softshrink(x, alpha=None)`: `x` pulled towards zero by `alpha`, which is 0.5 where `None`.
    #[track_caller]
    pub fn softshrink(&mut self, x: &VarRef, alpha: Option<f32>) -> Result<VarRef> {
        self.unary(x, with_some(Op::new("softshrink"), [("lambda", alpha)]))
    }

    /// `hard_shrink(x, threshold=None)`: 0 within the threshold, which is 0.5 where `None`.
    #[track_caller]
    pub fn hard_shrink(&mut self, x: &VarRef, threshold: Option<f32>) -> Result<VarRef> {
        self.unary(x, with_some(Op::new("hard_shrink"), [("threshold", threshold)]))
    }

    /// `thresholded_relu(x, threshold=None)`: 0 up to the threshold, which is 1 where `None`.
    #[track_caller]
    pub fn thresholded_relu(&mut self, x: &VarRef, threshold: Option<f32>) -> Result<VarRef> {
        self.unary(x, with_some(Op::new("thresholded_relu"), [("threshold", threshold)]))
    }

    /// `pow(x, factor=1.0)`: `x` to the power of `factor`.
    #[track_caller]
    pub fn pow(&mut self, x: &VarRef, factor: f32) -> Result<VarRef> {
        self.unary(x, Op::new("pow").attr("factor", factor))
    }

    /// `pow(x, factor)` with the exponent in a variable `[1]`.
    #[track_caller]
    pub fn pow_var(&mut self, x: &VarRef, factor: &VarRef) -> Result<VarRef> {
        self.stop_gradient(factor)?;
        self.unary(x, Op::new("pow").input("FactorTensor", [factor]))
    }
}

/// Sets the attributes that have a value.
fn with_some<const N: usize>(mut op: Op, attrs: [(&str, Option<f32>); N]) -> Op {
    for (name, value) in attrs {
        if let Some(value) = value {
            op.attrs.set(name, value);
        }
    }
    op
}

declare! {
    /// ``max(x, 0)``, element by element.
    ///
    /// Args:
    ///     x (Variable): any float tensor.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([-1, 0, 2], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.relu(x)])[0].tolist()
    ///     [0.0, 0.0, 2.0]
    "nn.relu(x, name=None)" => |net, a| net.relu(&a.var("x")?);

    /// ``1 / (1 + exp(-x))``, element by element.
    ///
    /// Args:
    ///     x (Variable): f32 or f64.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([0.0], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.sigmoid(x)])[0].tolist()
    ///     [0.5]
    "ops.sigmoid(x, name=None)" => |net, a| net.sigmoid(&a.var("x")?);

    /// `log(sigmoid(x))`
    ///
    /// Args:
    ///     x (Variable): f32 or f64.
    "ops.logsigmoid(x, name=None)" => |net, a| net.logsigmoid(&a.var("x")?);

    /// The hyperbolic tangent, element by element: ``(exp(x) - exp(-x)) / (exp(x) + exp(-x))``.
    ///
    /// Args:
    ///     x (Variable): f32 or f64.
    ///
    /// Example:
    ///     >>> fluid.layers.tanh(fluid.data("x", [None, 3])).shape
    ///     (-1, 3)
    "ops.tanh(x, name=None)" => |net, a| net.tanh(&a.var("x")?);

    /// `x - tanh(x)`
    ///
    /// Args:
    ///     x (Variable): f32 or f64.
    "ops.tanh_shrink(x, name=None)" => |net, a| net.tanh_shrink(&a.var("x")?);

    /// The exponential function e^x, element by element.
    ///
    /// Args:
    ///     x (Variable): f32 or f64.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([0.0], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.exp(x)])[0].tolist()
    ///     [1.0]
    "ops.exp(x, name=None)" => |net, a| net.exp(&a.var("x")?);

    /// The natural logarithm, element by element. The argument must be positive; otherwise the result is nan or minus
    /// infinity.
    ///
    /// Args:
    ///     x (Variable): f32 or f64.
    "nn.log(x, name=None)" => |net, a| net.log(&a.var("x")?);

    /// The square root, element by element.
    ///
    /// Args:
    ///     x (Variable): f32 or f64.
    "ops.sqrt(x, name=None)" => |net, a| net.sqrt(&a.var("x")?);

    /// `1 / sqrt(x)`
    ///
    /// Args:
    ///     x (Variable): f32 or f64.
    "ops.rsqrt(x, name=None)" => |net, a| net.rsqrt(&a.var("x")?);

    /// `x * x`
    ///
    /// Args:
    ///     x (Variable): numbers.
    "ops.square(x, name=None)" => |net, a| net.square(&a.var("x")?);

    /// `|x|`
    ///
    /// Args:
    ///     x (Variable): numbers.
    "ops.abs(x, name=None)" => |net, a| net.abs(&a.var("x")?);

    /// Each element rounded up.
    ///
    /// Args:
    ///     x (Variable): f32 or f64.
    "ops.ceil(x, name=None)" => |net, a| net.ceil(&a.var("x")?);

    /// Each element rounded down.
    ///
    /// Args:
    ///     x (Variable): f32 or f64.
    "ops.floor(x, name=None)" => |net, a| net.floor(&a.var("x")?);

    /// Each element rounded to the nearest whole number, halves away from zero.
    ///
    /// Args:
    ///     x (Variable): f32 or f64.
    "ops.round(x, name=None)" => |net, a| net.round(&a.var("x")?);

    /// `1 / x`
    ///
    /// Args:
    ///     x (Variable): f32 or f64.
    "ops.reciprocal(x, name=None)" => |net, a| net.reciprocal(&a.var("x")?);

    /// `log(1 + exp(x))`
    ///
    /// Args:
    ///     x (Variable): f32 or f64.
    "ops.softplus(x, name=None)" => |net, a| net.softplus(&a.var("x")?);

    /// `x / (1 + |x|)`
    ///
    /// Args:
    ///     x (Variable): f32 or f64.
    "ops.softsign(x, name=None)" => |net, a| net.softsign(&a.var("x")?);

    /// The sine, element by element.
    ///
    /// Args:
    ///     x (Variable): f32 or f64.
    "ops.sin(x, name=None)" => |net, a| net.sin(&a.var("x")?);

    /// The cosine, element by element.
    ///
    /// Args:
    ///     x (Variable): f32 or f64.
    "ops.cos(x, name=None)" => |net, a| net.cos(&a.var("x")?);

    /// The inverse cosine, element by element.
    ///
    /// Args:
    ///     x (Variable): f32 or f64.
    "ops.acos(x, name=None)" => |net, a| net.acos(&a.var("x")?);

    /// The inverse sine, element by element.
    ///
    /// Args:
    ///     x (Variable): f32 or f64.
    "ops.asin(x, name=None)" => |net, a| net.asin(&a.var("x")?);

    /// The inverse tangent, element by element.
    ///
    /// Args:
    ///     x (Variable): f32 or f64.
    "ops.atan(x, name=None)" => |net, a| net.atan(&a.var("x")?);

    /// The error function, element by element.
    ///
    /// Args:
    ///     x (Variable): f32 or f64.
    "ops.erf(x)" => |net, a| net.erf(&a.var("x")?);

    /// -1, 0 or 1 for each element: its sign.
    ///
    /// Args:
    ///     x (Variable): f32 or f64.
    "nn.sign(x)" => |net, a| net.sign(&a.var("x")?);

    /// `log(1 + x)`
    ///
    /// Args:
    ///     x (Variable): f32 or f64.
    ///     out (Variable): the result goes into this Variable; ``None``: a new one.
    "nn.log1p(x, out=None, name=None)" => |net, a| net.log1p(&a.var("x")?);

    /// `min(max(x, 0), threshold)`.
    ///
    /// Args:
    ///     x (Variable): f32 or f64.
    ///     threshold (float): the largest output.
    "nn.relu6(x, threshold=6.0, name=None)" => |net, a| net.relu6(&a.var("x")?, a.f32("threshold")?);

    /// `x` where positive, else `alpha * x`.
    ///
    /// Args:
    ///     x (Variable): f32 or f64.
    ///     alpha (float): slope below 0.
    "nn.leaky_relu(x, alpha=0.02, name=None)" => |net, a| net.leaky_relu(&a.var("x")?, a.f32("alpha")?);

    /// `x` where positive, else `alpha * (exp(x) - 1)`.
    ///
    /// Args:
    ///     x (Variable): f32 or f64.
    ///     alpha (float): depth below 0.
    "nn.elu(x, alpha=1.0, name=None)" => |net, a| net.elu(&a.var("x")?, a.f32("alpha")?);

    /// The Gaussian error linear unit ``x * P(X <= x)`` with X normally distributed; ``approximate`` uses tanh.
    ///
    /// Args:
    ///     x (Variable): f32 or f64.
    ///     approximate (bool): use the formula with tanh.
    "ops.gelu(x, approximate=False)" => |net, a| net.gelu(&a.var("x")?, a.bool("approximate")?);

    /// `x * sigmoid(beta * x)`.
    ///
    /// Args:
    ///     x (Variable): f32 or f64.
    ///     beta (float): steepness.
    "nn.swish(x, beta=1.0, name=None)" => |net, a| net.swish(&a.var("x")?, a.f32("beta")?);

    /// ``min(max(slope * x + offset, 0), 1)``, element by element.
    ///
    /// Args:
    ///     x (Variable): f32 or f64.
    ///     slope (float): slope between the bounds.
    ///     offset (float): value at 0.
    "nn.hard_sigmoid(x, slope=0.2, offset=0.5, name=None)"
        => |net, a| net.hard_sigmoid(&a.var("x")?, a.f32("slope")?, a.f32("offset")?);

    /// `x * min(max(x + offset, 0), threshold) / scale`.
    ///
    /// Args:
    ///     x (Variable): f32 or f64.
    ///     threshold (float): end of the ramp.
    ///     scale (float): divides the output.
    ///     offset (float): added to `X` before the ramp.
    "nn.hard_swish(x, threshold=6.0, scale=6.0, offset=3.0, name=None)"
        => |net, a| net.hard_swish(&a.var("x")?, a.f32("threshold")?, a.f32("scale")?, a.f32("offset")?);

    /// ``min(max(x, t_min), t_max)``, element by element.
    ///
    /// Args:
    ///     x (Variable): f32 or f64.
    ///     t_min (float): lower bound.
    ///     t_max (float): upper bound.
    "nn.brelu(x, t_min=0.0, t_max=24.0, name=None)"
        => |net, a| net.brelu(&a.var("x")?, a.f32("t_min")?, a.f32("t_max")?);

    /// `scale_b * tanh(scale_a * x)`.
    ///
    /// Args:
    ///     x (Variable): f32 or f64.
    ///     scale_a (float): factor of the input.
    ///     scale_b (float): factor of the output.
    "nn.stanh(x, scale_a=0.67, scale_b=1.7159, name=None)"
        => |net, a| net.stanh(&a.var("x")?, a.f32("scale_a")?, a.f32("scale_b")?);

    /// `x` to the power of `factor`.
    ///
    /// Args:
    ///     x (Variable): f32, f64, i32 or i64.
    ///     factor (Variable or float): the power.
    "nn.pow(x, factor=1.0, name=None)" => |net, a| match a.is_var("factor") {
        true => net.pow_var(&a.var("x")?, &a.var("factor")?),
        false => net.pow(&a.var("x")?, a.f32("factor")?),
    };

    /// ``scale * elu(x, alpha)``, element by element; ``None`` stands for the constants of the paper (1.0507..., 1.6732...).
    ///
    /// Args:
    ///     x (Variable): f32 or f64.
    ///     scale (float): slope above 0.
    ///     alpha (float): depth below 0.
    "nn.selu(x, scale=None, alpha=None, name=None)"
        => |net, a| net.selu(&a.var("x")?, a.opt("scale", Args::f32)?, a.opt("alpha", Args::f32)?);

    /// ``log(1 + exp(min(max(x, -threshold), threshold)))``, element by element.
    ///
    /// Args:
    ///     x (Variable): f32 or f64.
    ///     threshold (float): largest magnitude of the input.
    "nn.soft_relu(x, threshold=40.0, name=None)" => |net, a| net.soft_relu(&a.var("x")?, a.f32("threshold")?);

    /// ``x - alpha`` above ``alpha``, ``x + alpha`` below ``-alpha``, else 0; ``alpha`` is 0.5 where ``None``.
    ///
    /// Args:
    ///     x (Variable): f32 or f64.
    ///     alpha (float): the threshold; ``None``: 0.5.
    "ops.softshrink(x, alpha=None)" => |net, a| net.softshrink(&a.var("x")?, a.opt("alpha", Args::f32)?);

    /// ``x``, but 0 where ``|x|`` is at most the threshold, which is 0.5 where ``None``.
    ///
    /// Args:
    ///     x (Variable): f32 or f64.
    ///     threshold (float): what counts as small.
    "ops.hard_shrink(x, threshold=None)" => |net, a| net.hard_shrink(&a.var("x")?, a.opt("threshold", Args::f32)?);

    /// ``x``, but 0 where it is at most the threshold, which is 1 where ``None``.
    ///
    /// Args:
    ///     x (Variable): f32 or f64.
    ///     threshold (float): what counts as large.
    "ops.thresholded_relu(x, threshold=None)"
        => |net, a| net.thresholded_relu(&a.var("x")?, a.opt("threshold", Args::f32)?);

    /// `x * tanh(softplus(x))`.
    ///
    /// Args:
    ///     x (Variable): f32 or f64.
    ///     threshold (float): beyond it softplus is taken for its asymptote.
    "nn.mish(x, threshold=20, name=None)" => |net, a| net.mish(&a.var("x")?, a.f32("threshold")?);
}
