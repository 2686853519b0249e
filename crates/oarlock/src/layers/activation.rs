//! Functions of one tensor, element by element.

use oarlock_ir::{Op, Result};

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
