//! Scaling, sums, limits, counters.

use oarlock_ir::{Kind, Op, Result, fail};

use crate::declare::{Args, declare, refs};
use crate::layer::known;
use crate::layers::Operand;
use crate::options::options;
use crate::{Act, Initializer, Net, Param, VarRef};

options! {
    /// `scale(x, scale=1.0, bias=0.0, bias_after_scale=True, act=None, name=None)`
    Scale::by(
        /// The factor: a number, or a variable `[1]`.
        scale(into): Operand,
    ) {
        /// The term that is added.
        bias: f32 = 0.0,
        /// Multiply first?
        bias_after_scale: bool = true,
        /// Activation.
        act(into): Act = Act::none(),
    }
}

impl Net {
    /// `scale * x + bias`
    #[track_caller]
    pub fn scale(&mut self, x: &VarRef, options: Scale) -> Result<VarRef> {
        let mut layer = self.layer("scale");
        let dtype = layer.dtype(x)?;
        let mut op = Op::new("scale").input("X", [x]);
        op = match &options.scale {
            Operand::Number(factor) => op.attr("scale", *factor as f32),
            Operand::Var(factor) => op.input("ScaleTensor", [factor]),
        };
        let op = op.attr("bias", options.bias).attr("bias_after_scale", options.bias_after_scale);
        let out = layer.out(dtype, op)?;
        layer.activate(out, &options.act)
    }

    /// `sum(x)`, `sums(input)`: the sum of tensors of one shape.
    #[track_caller]
    pub fn sum(&mut self, x: &[&VarRef]) -> Result<VarRef> {
        let mut layer = self.layer("sum");
        let Some(first) = x.first() else {
            fail!(Kind::Argument, "`sum` needs at least one variable");
        };
        let dtype = layer.dtype(first)?;
        layer.out(dtype, Op::new("sum").input("X", x.iter().copied()))
    }

    /// `sums(input, out)`: the sum of tensors of one shape, into a variable.
    #[track_caller]
    pub fn sums_into(&mut self, x: &[&VarRef], out: &VarRef) -> Result<()> {
        self.layer("sum").append_op(Op::new("sum").input("X", x.iter().copied()).output("Out", [out]))
    }

    /// `mean(x)`: the mean of all elements, `[1]`.
    #[track_caller]
    pub fn mean(&mut self, x: &VarRef) -> Result<VarRef> {
        self.unary(x, Op::new("mean"))
    }

    /// `clip(x, min, max)`: each element within bounds.
    #[track_caller]
    pub fn clip(&mut self, x: &VarRef, min: f32, max: f32) -> Result<VarRef> {
        self.unary(x, Op::new("clip").attr("min", min).attr("max", max))
    }

    /// `clip_by_norm(x, max_norm)`: scaled down to at most this norm.
    #[track_caller]
    pub fn clip_by_norm(&mut self, x: &VarRef, max_norm: f32) -> Result<VarRef> {
        self.unary(x, Op::new("clip_by_norm").attr("max_norm", max_norm))
    }

    /// `increment(x, value=1.0, in_place=True)`: adds a number to a variable `[1]` and returns it.
    #[track_caller]
    pub fn increment(&mut self, x: &VarRef, value: f32) -> Result<VarRef> {
        let mut layer = self.layer("increment");
        layer.append_op(Op::new("increment").input("X", [x]).output("Out", [x]).attr("step", value))?;
        Ok(x.clone())
    }

    /// `increment(x, value, in_place=False)`: a new variable.
    #[track_caller]
    pub fn incremented(&mut self, x: &VarRef, value: f32) -> Result<VarRef> {
        self.unary(x, Op::new("increment").attr("step", value))
    }

    /// `cumsum(x, axis=None, exclusive=None, reverse=None)`: running sums along a dimension, the last one where `None`.
    #[track_caller]
    pub fn cumsum(&mut self, x: &VarRef, axis: Option<i32>, exclusive: bool, reverse: bool) -> Result<VarRef> {
        let mut op = Op::new("cumsum").attr("exclusive", exclusive).attr("reverse", reverse);
        if let Some(axis) = axis {
            op = op.attr("axis", axis);
        }
        self.unary(x, op)
    }

    /// `prelu(x, mode, param_attr=None)`: negative elements times a learnt factor: one for `all`, one per `channel`, or one per
    /// `element` of an example.
    #[track_caller]
    pub fn prelu(&mut self, x: &VarRef, mode: &str, param_attr: impl Into<Param>) -> Result<VarRef> {
        let mut layer = self.layer("prelu");
        let (shape, dtype) = (layer.shape(x)?, layer.dtype(x)?);
        let alpha_shape = match mode {
            "all" => vec![1],
            "channel" if shape.rank() >= 2 => vec![1, known(&shape[1..2], "`prelu`", x)?[0], 1, 1],
            "element" if shape.rank() >= 1 => [vec![1], known(&shape[1..], "`prelu`", x)?].concat(),
            "channel" | "element" => fail!(Kind::Shape, "`prelu` cannot have mode {mode} for `{x}` of shape {shape}"),
            _ => fail!(Kind::Argument, "mode of `prelu` must be all, channel or element, not {mode:?}"),
        };
        let first = Some(Initializer::constant(0.25));
        let alpha = layer.weight_with(&param_attr.into(), &alpha_shape, dtype, first)?;
        layer.out(dtype, Op::new("prelu").input("X", [x]).input("Alpha", [&alpha]).attr("mode", mode))
    }

    /// `maxout(x, groups, axis=1)`: the largest of each group of channels.
    #[track_caller]
    pub fn maxout(&mut self, x: &VarRef, groups: i32, axis: i32) -> Result<VarRef> {
        self.unary(x, Op::new("maxout").attr("groups", groups).attr("axis", axis))
    }

    /// `cast(x, dtype)`: the same numbers in another element type.
    #[track_caller]
    pub fn cast(&mut self, x: &VarRef, dtype: oarlock_tensor::DType) -> Result<VarRef> {
        let mut layer = self.layer("cast");
        let from = layer.dtype(x)?;
        let op = Op::new("cast").input("X", [x]);
        layer.out(dtype, op.attr("in_dtype", from.proto()).attr("out_dtype", dtype.proto()))
    }
}

declare! {
    /// Limits each element to ``[min, max]``.
    ///
    /// Args:
    ///     x (Variable): a tensor or selected rows.
    ///     min (float): lower bound (must be set).
    ///     max (float): upper bound (must be set).
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([-2, 0.5, 9], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.clip(x, -1.0, 1.0)])[0].tolist()
    ///     [-1.0, 0.5, 1.0]
    "nn.clip(x, min, max, name=None)" => |net, a| net.clip(&a.var("x")?, a.f32("min")?, a.f32("max")?);

    /// Scales ``x`` down so that its L2 norm is at most ``max_norm``.
    ///
    /// Args:
    ///     x (Variable): a tensor or selected rows.
    ///     max_norm (float): the largest norm (must be set).
    "nn.clip_by_norm(x, max_norm, name=None)" => |net, a| net.clip_by_norm(&a.var("x")?, a.f32("max_norm")?);

    /// ``scale * x + bias``, or ``scale * (x + bias)`` without ``bias_after_scale``.
    ///
    /// Args:
    ///     x (Variable): any tensor of numbers, or selected rows.
    ///     scale (float or Variable): the factor: a number, or a variable `[1]`.
    ///     bias (float): what is added.
    ///     bias_after_scale (bool): multiply first?.
    ///     act (str): activation.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([1, 2], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.scale(x, 2.0, bias=1.0)])[0].tolist()
    ///     [3.0, 5.0]
    "nn.scale(x, scale=1.0, bias=0.0, bias_after_scale=True, act=None, name=None)"
        => |net, a| net.scale(&a.var("x")?, Scale::by(a.operand("scale")?).bias(a.f32("bias")?)
        .bias_after_scale(a.bool("bias_after_scale")?).act(a.act("act")?));

    /// ``x`` where positive, else a learnt factor times ``x``. ``mode``: one factor for ``all``, one per ``channel``, or one
    /// per ``element``.
    ///
    /// Args:
    ///     x (Variable): [n, channels, ...].
    ///     mode (str): all: one slope; channel: one per channel; element: one per element of a sample.
    ///     param_attr (ParamAttr): name, initializer and regularizer of the weight.
    "nn.prelu(x, mode, param_attr=None, name=None)"
        => |net, a| net.prelu(&a.var("x")?, &a.str("mode")?, a.param("param_attr")?);

    /// The largest element of each group of ``groups`` channels; ``axis`` is the dimension of the channels.
    ///
    /// Args:
    ///     x (Variable): images of four sizes.
    ///     groups (int): how many channels are compared (must be set).
    ///     axis (int): the axis of the channels.
    "nn.maxout(x, groups, name=None, axis=1)" => |net, a| net.maxout(&a.var("x")?, a.i32("groups")?, a.i32("axis")?);

    /// The sum of a list of tensors of one shape.
    ///
    /// Args:
    ///     x (Variable or list): tensors of one shape, selected rows of one height, or arrays; what nothing has written is left out.
    ///
    /// Example:
    ///     >>> x = fluid.layers.fill_constant([2], "float32", 1.5)
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.sum([x, x])])[0].tolist()
    ///     [3.0, 3.0]
    "nn.sum(x)" => |net, a| net.sum(&refs(&a.vars("x")?));

    /// The sum of a list of tensors of one shape; ``out`` names a variable for the result.
    ///
    /// Args:
    ///     input (Variable or list): the input.
    ///     out (Variable): a Variable that the result goes into.
    "tensor.sums(input, out=None)" => |net, a| match a.opt_var("out")? {
        Some(out) => net.sums_into(&refs(&a.vars("input")?), &out).map(|()| out),
        None => net.sum(&refs(&a.vars("input")?)),
    };

    /// The mean of all elements.
    ///
    /// Args:
    ///     x (Variable): any float tensor.
    ///
    /// Returns:
    ///     Variable: ``[1]``; usually the loss that an optimizer minimizes.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2], [3, 6]], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.mean(x)])[0].tolist()
    ///     [3.0]
    "nn.mean(x, name=None)" => |net, a| net.mean(&a.var("x")?);

    /// Converts the element type.
    ///
    /// Args:
    ///     x (Variable): any tensor.
    ///     dtype (str): the element type.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([1.9], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.cast(x, "int64")])[0].tolist()
    ///     [1]
    "tensor.cast(x, dtype)" => |net, a| net.cast(&a.var("x")?, a.dtype("dtype")?);

    /// Adds ``value`` to a variable of one element, in place by default, and returns it.
    ///
    /// Args:
    ///     x (Variable): [1], any number.
    ///     value (float): the number to add.
    ///     in_place (bool): change ``x`` itself.
    ///
    /// Example:
    ///     >>> i = fluid.layers.fill_constant([1], "int64", 3)
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.increment(i, 2)])[0].tolist()
    ///     [5]
    "control_flow.increment(x, value=1.0, in_place=True)" => |net, a| match a.bool("in_place")? {
        true => net.increment(&a.var("x")?, a.f32("value")?),
        false => net.incremented(&a.var("x")?, a.f32("value")?),
    };

    /// Running sums along ``axis``, the last dimension where ``None``. ``exclusive``: without the element itself;
    /// ``reverse``: from the end.
    ///
    /// Args:
    ///     x (Variable): any tensor of numbers.
    ///     axis (int): the axis; negative ones count from the end.
    ///     exclusive (bool): without the element itself.
    ///     reverse (bool): from the end.
    "ops.cumsum(x, axis=None, exclusive=None, reverse=None)"
        => |net, a| net.cumsum(&a.var("x")?, a.opt("axis", Args::i32)?, a.opt("exclusive", Args::bool)?.unwrap_or(false),
        a.opt("reverse", Args::bool)?.unwrap_or(false));
}
