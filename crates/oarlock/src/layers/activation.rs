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
    /// Computes the rectified linear unit ``max(x, 0)``, element by element.
    ///
    /// The gradient passes where ``x > 0`` and is 0 elsewhere, also at 0.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, any shape.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``.
    ///
    /// Raises:
    ///     TypeError: ``x`` is no Variable, or its elements are no floats.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([-1, 0, 2], "float32"))
    ///     >>> out = fluid.layers.relu(x)
    ///     >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
    ///     [0.0, 0.0, 2.0]
    "nn.relu(x, name=None)" => |net, a| net.relu(&a.var("x")?);

    /// Computes the logistic function ``1 / (1 + exp(-x))``, element by element.
    ///
    /// Results lie between 0 and 1. For a loss of a sigmoid use ``sigmoid_cross_entropy_with_logits``, which takes the
    /// argument of the sigmoid and stays finite for large ones.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, any shape.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``.
    ///
    /// Raises:
    ///     TypeError: ``x`` is no Variable, or its elements are no floats.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([-2, 0, 2], "float32"))
    ///     >>> out = fluid.layers.sigmoid(x)
    ///     >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
    ///     [0.1192 0.5    0.8808]
    "ops.sigmoid(x, name=None)" => |net, a| net.sigmoid(&a.var("x")?);

    /// Computes the logarithm of the logistic function, ``log(1 / (1 + exp(-x)))``, element by element.
    ///
    /// It is computed without the intermediate sigmoid, so that large negative arguments give about ``x`` instead of
    /// minus infinity.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, any shape.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``. All elements are negative.
    ///
    /// Raises:
    ///     TypeError: ``x`` is no Variable, or its elements are no floats.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([-100, 0, 2], "float32"))
    ///     >>> out = fluid.layers.logsigmoid(x)
    ///     >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
    ///     [-100.       -0.6931   -0.1269]
    "ops.logsigmoid(x, name=None)" => |net, a| net.logsigmoid(&a.var("x")?);

    /// Computes the hyperbolic tangent ``(exp(x) - exp(-x)) / (exp(x) + exp(-x))``, element by element.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, any shape.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``. Elements lie between -1 and 1.
    ///
    /// Raises:
    ///     TypeError: ``x`` is no Variable, or its elements are no floats.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([-1, 0, 1], "float32"))
    ///     >>> out = fluid.layers.tanh(x)
    ///     >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
    ///     [-0.7616  0.      0.7616]
    "ops.tanh(x, name=None)" => |net, a| net.tanh(&a.var("x")?);

    /// Computes ``x - tanh(x)``, element by element.
    ///
    /// Small arguments become nearly 0, large ones move towards 0 by 1.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, any shape.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``.
    ///
    /// Raises:
    ///     TypeError: ``x`` is no Variable, or its elements are no floats.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([-3, 0.5, 3], "float32"))
    ///     >>> out = fluid.layers.tanh_shrink(x)
    ///     >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
    ///     [-2.0049  0.0379  2.0049]
    "ops.tanh_shrink(x, name=None)" => |net, a| net.tanh_shrink(&a.var("x")?);

    /// Computes the exponential function ``e ** x``, element by element.
    ///
    /// Arguments above about 88 overflow to infinity in float32.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, any shape.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``.
    ///
    /// Raises:
    ///     TypeError: ``x`` is no Variable, or its elements are no floats.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([0, 1, -1], "float32"))
    ///     >>> out = fluid.layers.exp(x)
    ///     >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
    ///     [1.     2.7183 0.3679]
    "ops.exp(x, name=None)" => |net, a| net.exp(&a.var("x")?);

    /// Computes the natural logarithm ``ln(x)``, element by element.
    ///
    /// 0 gives minus infinity and negative arguments give ``nan``; neither is an error. Use ``clip`` first where zeros
    /// can occur.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, any shape; elements should be positive.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``.
    ///
    /// Raises:
    ///     TypeError: ``x`` is no Variable, or its elements are no floats.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([1, 10, 100], "float32"))
    ///     >>> out = fluid.layers.log(x)
    ///     >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
    ///     [0.     2.3026 4.6052]
    "nn.log(x, name=None)" => |net, a| net.log(&a.var("x")?);

    /// Computes the square root, element by element.
    ///
    /// Negative arguments give ``nan``. The gradient ``0.5 / sqrt(x)`` is infinite at 0.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, any shape; elements should not be negative.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``.
    ///
    /// Raises:
    ///     TypeError: ``x`` is no Variable, or its elements are no floats.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([0, 4, 9], "float32"))
    ///     >>> out = fluid.layers.sqrt(x)
    ///     >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
    ///     [0.0, 2.0, 3.0]
    "ops.sqrt(x, name=None)" => |net, a| net.sqrt(&a.var("x")?);

    /// Computes the reciprocal square root ``1 / sqrt(x)``, element by element.
    ///
    /// 0 gives infinity and negative arguments give ``nan``.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, any shape; elements should be positive.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``.
    ///
    /// Raises:
    ///     TypeError: ``x`` is no Variable, or its elements are no floats.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([1, 4, 16], "float32"))
    ///     >>> out = fluid.layers.rsqrt(x)
    ///     >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
    ///     [1.0, 0.5, 0.25]
    "ops.rsqrt(x, name=None)" => |net, a| net.rsqrt(&a.var("x")?);

    /// Computes ``x * x``, element by element.
    ///
    /// Args:
    ///     x (Variable): float32, float64, int32 or int64, any shape.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([-3, 0.5, 2], "float32"))
    ///     >>> out = fluid.layers.square(x)
    ///     >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
    ///     [9.0, 0.25, 4.0]
    "ops.square(x, name=None)" => |net, a| net.square(&a.var("x")?);

    /// Computes the absolute value ``|x|``, element by element.
    ///
    /// The gradient is the sign of ``x``, and 0 at 0.
    ///
    /// Args:
    ///     x (Variable): float32, float64, int32 or int64, any shape.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([-1.5, 0, 2], "float32"))
    ///     >>> out = fluid.layers.abs(x)
    ///     >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
    ///     [1.5, 0.0, 2.0]
    "ops.abs(x, name=None)" => |net, a| net.abs(&a.var("x")?);

    /// Rounds each element up to a whole number: the smallest one that is not below ``x``.
    ///
    /// The element type does not change. The gradient is 0.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, any shape.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``.
    ///
    /// Raises:
    ///     TypeError: ``x`` is no Variable, or its elements are no floats.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([-1.5, 0.2, 2], "float32"))
    ///     >>> out = fluid.layers.ceil(x)
    ///     >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
    ///     [-1.0, 1.0, 2.0]
    "ops.ceil(x, name=None)" => |net, a| net.ceil(&a.var("x")?);

    /// Rounds each element down to a whole number: the largest one that is not above ``x``.
    ///
    /// The element type does not change. The gradient is 0.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, any shape.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``.
    ///
    /// Raises:
    ///     TypeError: ``x`` is no Variable, or its elements are no floats.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([-1.5, 0.2, 2], "float32"))
    ///     >>> out = fluid.layers.floor(x)
    ///     >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
    ///     [-2.0, 0.0, 2.0]
    "ops.floor(x, name=None)" => |net, a| net.floor(&a.var("x")?);

    /// Rounds each element to the nearest whole number, halves away from zero.
    ///
    /// ``numpy.round`` differs: it rounds halves to the even neighbour. The element type does not change. The gradient
    /// is 0.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, any shape.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``.
    ///
    /// Raises:
    ///     TypeError: ``x`` is no Variable, or its elements are no floats.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([-2.5, 0.4, 0.5, 2.5], "float32"))
    ///     >>> out = fluid.layers.round(x)
    ///     >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
    ///     [-3.0, 0.0, 1.0, 3.0]
    "ops.round(x, name=None)" => |net, a| net.round(&a.var("x")?);

    /// Computes ``1 / x``, element by element.
    ///
    /// 0 gives infinity; it is no error.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, any shape; elements should not be 0.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``.
    ///
    /// Raises:
    ///     TypeError: ``x`` is no Variable, or its elements are no floats.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([-2, 0.5, 4], "float32"))
    ///     >>> out = fluid.layers.reciprocal(x)
    ///     >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
    ///     [-0.5, 2.0, 0.25]
    "ops.reciprocal(x, name=None)" => |net, a| net.reciprocal(&a.var("x")?);

    /// Computes ``log(1 + exp(x))``, a smooth form of ``relu``, element by element.
    ///
    /// The gradient is ``sigmoid(x)``. Large arguments give ``x`` and do not overflow.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, any shape.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``.
    ///
    /// Raises:
    ///     TypeError: ``x`` is no Variable, or its elements are no floats.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([-1, 0, 100], "float32"))
    ///     >>> out = fluid.layers.softplus(x)
    ///     >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
    ///     [  0.3133   0.6931 100.    ]
    "ops.softplus(x, name=None)" => |net, a| net.softplus(&a.var("x")?);

    /// Computes ``x / (1 + |x|)``, element by element.
    ///
    /// Results lie between -1 and 1 as those of ``tanh``, which approaches its limits faster.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, any shape.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``.
    ///
    /// Raises:
    ///     TypeError: ``x`` is no Variable, or its elements are no floats.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([-3, 0, 1], "float32"))
    ///     >>> out = fluid.layers.softsign(x)
    ///     >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
    ///     [-0.75, 0.0, 0.5]
    "ops.softsign(x, name=None)" => |net, a| net.softsign(&a.var("x")?);

    /// Computes the sine of an angle in radians, element by element.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, any shape.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``. Elements lie in ``[-1, 1]``.
    ///
    /// Raises:
    ///     TypeError: ``x`` is no Variable, or its elements are no floats.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([0, 0.5, 1], "float32"))
    ///     >>> out = fluid.layers.sin(x)
    ///     >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
    ///     [0.     0.4794 0.8415]
    "ops.sin(x, name=None)" => |net, a| net.sin(&a.var("x")?);

    /// Computes the cosine of an angle in radians, element by element.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, any shape.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``. Elements lie in ``[-1, 1]``.
    ///
    /// Raises:
    ///     TypeError: ``x`` is no Variable, or its elements are no floats.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([0, 0.5, 1], "float32"))
    ///     >>> out = fluid.layers.cos(x)
    ///     >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
    ///     [1.     0.8776 0.5403]
    "ops.cos(x, name=None)" => |net, a| net.cos(&a.var("x")?);

    /// Computes the inverse cosine, an angle in radians, element by element.
    ///
    /// Arguments outside of ``[-1, 1]`` give ``nan``. The gradient is infinite at -1 and 1.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, any shape; elements in ``[-1, 1]``.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``. Elements lie in ``[0, pi]``.
    ///
    /// Raises:
    ///     TypeError: ``x`` is no Variable, or its elements are no floats.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([-1, 0, 1], "float32"))
    ///     >>> out = fluid.layers.acos(x)
    ///     >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
    ///     [3.1416 1.5708 0.    ]
    "ops.acos(x, name=None)" => |net, a| net.acos(&a.var("x")?);

    /// Computes the inverse sine, an angle in radians, element by element.
    ///
    /// Arguments outside of ``[-1, 1]`` give ``nan``. The gradient is infinite at -1 and 1.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, any shape; elements in ``[-1, 1]``.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``. Elements lie in ``[-pi / 2, pi / 2]``.
    ///
    /// Raises:
    ///     TypeError: ``x`` is no Variable, or its elements are no floats.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([-1, 0, 1], "float32"))
    ///     >>> out = fluid.layers.asin(x)
    ///     >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
    ///     [-1.5708  0.      1.5708]
    "ops.asin(x, name=None)" => |net, a| net.asin(&a.var("x")?);

    /// Computes the inverse tangent, an angle in radians, element by element.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, any shape.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``. Elements lie between ``-pi / 2`` and ``pi / 2``.
    ///
    /// Raises:
    ///     TypeError: ``x`` is no Variable, or its elements are no floats.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([-1, 0, 100], "float32"))
    ///     >>> out = fluid.layers.atan(x)
    ///     >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
    ///     [-0.7854  0.      1.5608]
    "ops.atan(x, name=None)" => |net, a| net.atan(&a.var("x")?);

    /// Computes the error function ``2 / sqrt(pi) * integral of exp(-t * t) from 0 to x``, element by element.
    ///
    /// ``0.5 * (1 + erf(x / sqrt(2)))`` is the normal distribution function, which ``gelu`` uses.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, any shape.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``. Elements lie between -1 and 1.
    ///
    /// Raises:
    ///     TypeError: ``x`` is no Variable, or its elements are no floats.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([-1, 0, 0.5], "float32"))
    ///     >>> out = fluid.layers.erf(x)
    ///     >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
    ///     [-0.8427  0.      0.5205]
    "ops.erf(x)" => |net, a| net.erf(&a.var("x")?);

    /// Computes the sign of each element: -1, 0 or 1.
    ///
    /// The gradient is 0.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, any shape.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``.
    ///
    /// Raises:
    ///     TypeError: ``x`` is no Variable, or its elements are no floats.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([-3, 0, 0.5], "float32"))
    ///     >>> out = fluid.layers.sign(x)
    ///     >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
    ///     [-1.0, 0.0, 1.0]
    "nn.sign(x)" => |net, a| net.sign(&a.var("x")?);

    /// Computes ``log(1 + x)``, element by element, accurately also for ``x`` near 0.
    ///
    /// -1 gives minus infinity and smaller arguments give ``nan``. Counts are often scaled this way, because 0 stays 0.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, any shape; elements above -1.
    ///     out (Variable): a Variable that receives the result and is returned; ``None``: a new Variable.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``.
    ///
    /// Raises:
    ///     TypeError: ``x`` is no Variable, or its elements are no floats.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([0, 1, 99], "float32"))
    ///     >>> out = fluid.layers.log1p(x)
    ///     >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
    ///     [0.     0.6931 4.6052]
    "nn.log1p(x, out=None, name=None)" => |net, a| net.log1p(&a.var("x")?);

    /// Computes ``min(max(x, 0), threshold)``, element by element.
    ///
    /// The gradient passes where ``0 < x < threshold`` and is 0 elsewhere.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, any shape.
    ///     threshold (float): the largest result.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``.
    ///
    /// Raises:
    ///     TypeError: ``x`` is no Variable, or its elements are no floats.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([-1, 3, 8], "float32"))
    ///     >>> out = fluid.layers.relu6(x)
    ///     >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
    ///     [0.0, 3.0, 6.0]
    "nn.relu6(x, threshold=6.0, name=None)" => |net, a| net.relu6(&a.var("x")?, a.f32("threshold")?);

    /// Computes ``max(x, alpha * x)``, element by element: ``x`` where it is positive, otherwise ``alpha * x``.
    ///
    /// Unlike ``relu``, it has a gradient for negative arguments: ``alpha``.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, any shape.
    ///     alpha (float): slope below 0; smaller than 1.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``.
    ///
    /// Raises:
    ///     TypeError: ``x`` is no Variable, or its elements are no floats.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([-2, 0, 3], "float32"))
    ///     >>> out = fluid.layers.leaky_relu(x, alpha=0.5)
    ///     >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
    ///     [-1.0, 0.0, 3.0]
    "nn.leaky_relu(x, alpha=0.02, name=None)" => |net, a| net.leaky_relu(&a.var("x")?, a.f32("alpha")?);

    /// Computes the exponential linear unit ``max(0, x) + min(0, alpha * (exp(x) - 1))``, element by element.
    ///
    /// Positive elements stay as they are; negative ones approach ``-alpha``.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, any shape.
    ///     alpha (float): the limit below 0 is ``-alpha``.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``.
    ///
    /// Raises:
    ///     TypeError: ``x`` is no Variable, or its elements are no floats.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([-100, -1, 2], "float32"))
    ///     >>> out = fluid.layers.elu(x, alpha=0.5)
    ///     >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
    ///     [-0.5    -0.3161  2.    ]
    "nn.elu(x, alpha=1.0, name=None)" => |net, a| net.elu(&a.var("x")?, a.f32("alpha")?);

    /// Computes the Gaussian error linear unit ``0.5 * x * (1 + erf(x / sqrt(2)))``, element by element.
    ///
    /// It is ``x`` times the probability that a normally distributed number is below ``x``.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, any shape.
    ///     approximate (bool): compute ``0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x ** 3)))`` instead.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``.
    ///
    /// Raises:
    ///     TypeError: ``x`` is no Variable, or its elements are no floats.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([-1, 0, 2], "float32"))
    ///     >>> out = fluid.layers.gelu(x)
    ///     >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
    ///     [-0.1587  0.      1.9545]
    "ops.gelu(x, approximate=False)" => |net, a| net.gelu(&a.var("x")?, a.bool("approximate")?);

    /// Computes ``x / (1 + exp(-beta * x))``, element by element: ``x`` times the sigmoid of ``beta * x``.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, any shape.
    ///     beta (float): steepness; 0 gives ``x / 2``, large values approach ``relu``.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``.
    ///
    /// Raises:
    ///     TypeError: ``x`` is no Variable, or its elements are no floats.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([-1, 0, 2], "float32"))
    ///     >>> out = fluid.layers.swish(x)
    ///     >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
    ///     [-0.2689  0.      1.7616]
    "nn.swish(x, beta=1.0, name=None)" => |net, a| net.swish(&a.var("x")?, a.f32("beta")?);

    /// Computes ``min(max(slope * x + offset, 0), 1)``, a sigmoid of straight lines, element by element.
    ///
    /// The gradient is ``slope`` between the bounds and 0 outside of them.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, any shape.
    ///     slope (float): slope between the bounds; positive.
    ///     offset (float): the result at 0.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``. Elements lie in ``[0, 1]``.
    ///
    /// Raises:
    ///     TypeError: ``x`` is no Variable, or its elements are no floats.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([-5, 0, 1, 5], "float32"))
    ///     >>> out = fluid.layers.hard_sigmoid(x)
    ///     >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
    ///     [0.  0.5 0.7 1. ]
    "nn.hard_sigmoid(x, slope=0.2, offset=0.5, name=None)"
        => |net, a| net.hard_sigmoid(&a.var("x")?, a.f32("slope")?, a.f32("offset")?);

    /// Computes ``x * min(max(x + offset, 0), threshold) / scale``, element by element.
    ///
    /// With the defaults this is 0 up to -3, ``x`` from 3 on, and close to ``swish`` between them.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, any shape.
    ///     threshold (float): largest value of the clipped factor.
    ///     scale (float): divides the result.
    ///     offset (float): added to ``x`` before it is clipped.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``.
    ///
    /// Raises:
    ///     TypeError: ``x`` is no Variable, or its elements are no floats.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([-2, -1, 1, 4], "float32"))
    ///     >>> out = fluid.layers.hard_swish(x)
    ///     >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
    ///     [-0.3333 -0.3333  0.6667  4.    ]
    "nn.hard_swish(x, threshold=6.0, scale=6.0, offset=3.0, name=None)"
        => |net, a| net.hard_swish(&a.var("x")?, a.f32("threshold")?, a.f32("scale")?, a.f32("offset")?);

    /// Limits each element to the range from ``t_min`` to ``t_max``: ``min(max(x, t_min), t_max)``.
    ///
    /// The gradient passes strictly between the bounds and is 0 elsewhere.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, any shape.
    ///     t_min (float): lower bound.
    ///     t_max (float): upper bound.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``.
    ///
    /// Raises:
    ///     TypeError: ``x`` is no Variable, or its elements are no floats.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([-1, 5, 30], "float32"))
    ///     >>> out = fluid.layers.brelu(x, t_min=1.0, t_max=20.0)
    ///     >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
    ///     [1.0, 5.0, 20.0]
    "nn.brelu(x, t_min=0.0, t_max=24.0, name=None)"
        => |net, a| net.brelu(&a.var("x")?, a.f32("t_min")?, a.f32("t_max")?);

    /// Computes the scaled hyperbolic tangent ``scale_b * tanh(scale_a * x)``, element by element.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, any shape.
    ///     scale_a (float): factor of the argument.
    ///     scale_b (float): factor of the result.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``.
    ///
    /// Raises:
    ///     TypeError: ``x`` is no Variable, or its elements are no floats.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([-1, 0, 1], "float32"))
    ///     >>> out = fluid.layers.stanh(x)
    ///     >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
    ///     [-1.0038  0.      1.0038]
    "nn.stanh(x, scale_a=0.67, scale_b=1.7159, name=None)"
        => |net, a| net.stanh(&a.var("x")?, a.f32("scale_a")?, a.f32("scale_b")?);

    /// Raises each element to the power of ``factor``.
    ///
    /// A negative element with a factor that is no whole number gives ``nan``. For a different exponent per element use
    /// ``elementwise_pow``.
    ///
    /// Args:
    ///     x (Variable): float32, float64, int32 or int64, any shape.
    ///     factor (Variable or float): the exponent; a Variable is float32 with the shape ``[1]``.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([1, 2, 3], "float32"))
    ///     >>> out = fluid.layers.pow(x, factor=3.0)
    ///     >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
    ///     [1.0, 8.0, 27.0]
    "nn.pow(x, factor=1.0, name=None)" => |net, a| match a.is_var("factor") {
        true => net.pow_var(&a.var("x")?, &a.var("factor")?),
        false => net.pow(&a.var("x")?, a.f32("factor")?),
    };

    /// Computes the scaled exponential linear unit, element by element: ``scale * x`` where ``x > 0``, otherwise
    /// ``scale * alpha * (exp(x) - 1)``.
    ///
    /// With the default constants activations of a deep network keep mean 0 and variance 1 (self-normalizing networks).
    ///
    /// Args:
    ///     x (Variable): float32 or float64, any shape.
    ///     scale (float): factor of the result; ``None``: 1.0507009873554805.
    ///     alpha (float): factor below 0; ``None``: 1.6732632423543772.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``.
    ///
    /// Raises:
    ///     TypeError: ``x`` is no Variable, or its elements are no floats.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([-1, 0, 1], "float32"))
    ///     >>> out = fluid.layers.selu(x)
    ///     >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
    ///     [-1.1113  0.      1.0507]
    "nn.selu(x, scale=None, alpha=None, name=None)"
        => |net, a| net.selu(&a.var("x")?, a.opt("scale", Args::f32)?, a.opt("alpha", Args::f32)?);

    /// Computes ``log(1 + exp(max(min(x, threshold), -threshold)))``, element by element.
    ///
    /// It is ``softplus`` of ``x`` limited to ``[-threshold, threshold]``.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, any shape.
    ///     threshold (float): the largest magnitude of the argument.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``.
    ///
    /// Raises:
    ///     TypeError: ``x`` is no Variable, or its elements are no floats.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([-1, 0, 5], "float32"))
    ///     >>> out = fluid.layers.soft_relu(x, threshold=2.0)
    ///     >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
    ///     [0.3133 0.6931 2.1269]
    "nn.soft_relu(x, threshold=40.0, name=None)" => |net, a| net.soft_relu(&a.var("x")?, a.f32("threshold")?);

    /// Moves each element towards 0 by ``alpha``: ``x - alpha`` above ``alpha``, ``x + alpha`` below ``-alpha``,
    /// otherwise 0.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, any shape.
    ///     alpha (float): the distance, not negative; ``None``: 0.5.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``.
    ///
    /// Raises:
    ///     TypeError: ``x`` is no Variable, or its elements are no floats.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([-2, 0.3, 1], "float32"))
    ///     >>> out = fluid.layers.softshrink(x)
    ///     >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
    ///     [-1.5, 0.0, 0.5]
    "ops.softshrink(x, alpha=None)" => |net, a| net.softshrink(&a.var("x")?, a.opt("alpha", Args::f32)?);

    /// Sets small elements to 0: ``x`` where ``|x| > threshold``, otherwise 0.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, any shape.
    ///     threshold (float): the largest magnitude that becomes 0; ``None``: 0.5.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``.
    ///
    /// Raises:
    ///     TypeError: ``x`` is no Variable, or its elements are no floats.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([-2, 0.3, 1], "float32"))
    ///     >>> out = fluid.layers.hard_shrink(x)
    ///     >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
    ///     [-2.0, 0.0, 1.0]
    "ops.hard_shrink(x, threshold=None)" => |net, a| net.hard_shrink(&a.var("x")?, a.opt("threshold", Args::f32)?);

    /// Computes ``x`` where ``x > threshold``, otherwise 0, element by element.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, any shape.
    ///     threshold (float): elements up to it become 0; ``None``: 1.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``.
    ///
    /// Raises:
    ///     TypeError: ``x`` is no Variable, or its elements are no floats.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([-2, 0.5, 3], "float32"))
    ///     >>> out = fluid.layers.thresholded_relu(x)
    ///     >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
    ///     [0.0, 0.0, 3.0]
    "ops.thresholded_relu(x, threshold=None)"
        => |net, a| net.thresholded_relu(&a.var("x")?, a.opt("threshold", Args::f32)?);

    /// Computes ``x * tanh(log(1 + exp(x)))``, element by element.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, any shape.
    ///     threshold (float): above it ``log(1 + exp(x))`` is taken as ``x``, below ``-threshold`` as ``exp(x)``.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``.
    ///
    /// Raises:
    ///     TypeError: ``x`` is no Variable, or its elements are no floats.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([-1, 0, 2], "float32"))
    ///     >>> out = fluid.layers.mish(x)
    ///     >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
    ///     [-0.3034  0.      1.944 ]
    "nn.mish(x, threshold=20, name=None)" => |net, a| net.mish(&a.var("x")?, a.f32("threshold")?);
}
