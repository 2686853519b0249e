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
    /// Limits each element to the range from ``min`` to ``max``: ``min(max(x, min), max)``.
    ///
    /// The gradient passes where ``x`` lies strictly between the bounds and is 0 elsewhere.
    ///
    /// Args:
    ///     x (Variable): float32 or float64 of any shape, or SelectedRows.
    ///     min (float): lower bound.
    ///     max (float): upper bound, not below ``min``.
    ///
    /// Returns:
    ///     Variable: the shape and element type of ``x``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([-2, 0.5, 9], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.clip(x, -1.0, 1.0)])[0].tolist()
    ///     [-1.0, 0.5, 1.0]
    "nn.clip(x, min, max, name=None)" => |net, a| net.clip(&a.var("x")?, a.f32("min")?, a.f32("max")?);

    /// Scales a tensor so that its L2 norm is at most ``max_norm``: ``x * max_norm / norm(x)`` if the norm is larger,
    /// otherwise ``x``.
    ///
    /// The norm is taken over all elements together. It has no gradient. To clip gradients in an optimizer use
    /// ``fluid.clip.GradientClipByNorm``.
    ///
    /// Args:
    ///     x (Variable): float32 or float64 of any shape, or SelectedRows.
    ///     max_norm (float): the largest norm; positive.
    ///
    /// Returns:
    ///     Variable: the shape and element type of ``x``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([3, 4], "float32"))
    ///     >>> print(fluid.Executor().run(fetch_list=[fluid.layers.clip_by_norm(x, max_norm=1.0)])[0].round(4))
    ///     [0.6 0.8]
    "nn.clip_by_norm(x, max_norm, name=None)" => |net, a| net.clip_by_norm(&a.var("x")?, a.f32("max_norm")?);

    /// Multiplies and adds numbers: ``scale * x + bias``, or ``scale * (x + bias)`` with ``bias_after_scale=False``.
    ///
    /// Args:
    ///     x (Variable): numbers of any shape, or SelectedRows.
    ///     scale (float or Variable): the factor; a Variable has one element.
    ///     bias (float): the number to add.
    ///     bias_after_scale (bool): add after the multiplication.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([1, 2], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.scale(x, scale=2.0, bias=1.0)])[0].tolist()
    ///     [3.0, 5.0]
    ///     >>> out = fluid.layers.scale(x, scale=2.0, bias=1.0, bias_after_scale=False)
    ///     >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
    ///     [4.0, 6.0]
    "nn.scale(x, scale=1.0, bias=0.0, bias_after_scale=True, act=None, name=None)"
        => |net, a| net.scale(&a.var("x")?, Scale::by(a.operand("scale")?).bias(a.f32("bias")?)
        .bias_after_scale(a.bool("bias_after_scale")?).act(a.act("act")?));

    /// Computes ``max(x, 0) + weight * min(x, 0)`` with a trained slope ``weight`` for negative elements.
    ///
    /// The slope starts at 0.25 unless ``param_attr`` has an initializer.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, ``[batch, channels, ...]``.
    ///     mode (str): ``all``: one slope; ``channel``: one per channel (dimension 1); ``element``: one per element of
    ///         a sample.
    ///     param_attr (ParamAttr): name, initializer, regularizer and learning rate of the slopes.
    ///
    /// Returns:
    ///     Variable: the shape and element type of ``x``.
    ///
    /// Raises:
    ///     ValueError: ``mode`` is none of the three.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[[[-4.0, 2.0]]]], "float32"))
    ///     >>> out = fluid.layers.prelu(x, mode="all")
    ///     >>> exe = fluid.Executor()
    ///     >>> _ = exe.run(fluid.default_startup_program())
    ///     >>> exe.run(fetch_list=[out])[0].tolist()
    ///     [[[[-1.0, 2.0]]]]
    "nn.prelu(x, mode, param_attr=None, name=None)"
        => |net, a| net.prelu(&a.var("x")?, &a.str("mode")?, a.param("param_attr")?);

    /// Takes the largest of each ``groups`` neighbouring channels, position by position.
    ///
    /// Channel ``c`` of the result is the maximum of the channels ``c * groups`` to ``c * groups + groups - 1``. The
    /// gradient goes to that maximum.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, ``[batch, channels, height, width]``; with ``axis`` 3 the channels are
    ///         last.
    ///     groups (int): the number of channels in a group; it divides the number of channels.
    ///     axis (int): the dimension of the channels: 1, or 3 or -1.
    ///
    /// Returns:
    ///     Variable: ``[batch, channels / groups, height, width]``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``groups`` does not divide the number of channels.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([1, 5, 7, 2], "float32").reshape(1, 4, 1, 1))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.maxout(x, groups=2)])[0].tolist()
    ///     [[[[5.0]], [[7.0]]]]
    "nn.maxout(x, groups, name=None, axis=1)" => |net, a| net.maxout(&a.var("x")?, a.i32("groups")?, a.i32("axis")?);

    /// Adds a list of tensors, element by element.
    ///
    /// SelectedRows (gradients of sparse embeddings) and tensor arrays can be added, too. Variables of the list that no
    /// operator has written are left out. To sum the elements of one tensor use ``reduce_sum``.
    ///
    /// Args:
    ///     x (Variable or list): one Variable or several of one shape and element type.
    ///
    /// Returns:
    ///     Variable: the shape and element type of the elements of ``x``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: the shapes differ.
    ///
    /// Example:
    ///     >>> x = fluid.layers.fill_constant([2], "float32", 1.5)
    ///     >>> y = fluid.layers.fill_constant([2], "float32", 2.0)
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.sum([x, y, y])])[0].tolist()
    ///     [5.5, 5.5]
    "nn.sum(x)" => |net, a| net.sum(&refs(&a.vars("x")?));

    /// Adds a list of tensors, element by element, optionally into an existing Variable.
    ///
    /// Args:
    ///     input (Variable or list): one Variable or several of one shape and element type.
    ///     out (Variable): a Variable that receives the sum and is returned, it may be one of ``input``; ``None``: a
    ///         new Variable.
    ///
    /// Returns:
    ///     Variable: the shape and element type of the elements of ``input``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: the shapes differ.
    ///
    /// Example:
    ///     >>> x = fluid.layers.fill_constant([2], "float32", 1.5)
    ///     >>> total = fluid.layers.fill_constant([2], "float32", 10.0)
    ///     >>> total = fluid.layers.sums([total, x], out=total)
    ///     >>> fluid.Executor().run(fetch_list=[total])[0].tolist()
    ///     [11.5, 11.5]
    "tensor.sums(input, out=None)" => |net, a| match a.opt_var("out")? {
        Some(out) => net.sums_into(&refs(&a.vars("input")?), &out).map(|()| out),
        None => net.sum(&refs(&a.vars("input")?)),
    };

    /// Computes the mean of all elements; usually it makes a loss of the costs of a batch.
    ///
    /// The gradient of every element is ``1 / n``. For means along dimensions use ``reduce_mean``.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, any shape.
    ///
    /// Returns:
    ///     Variable: ``[1]``, the element type of ``x``.
    ///
    /// Raises:
    ///     TypeError: the elements are no floats; cast them first.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2], [3, 6]], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.mean(x)])[0].tolist()
    ///     [3.0]
    "nn.mean(x, name=None)" => |net, a| net.mean(&a.var("x")?);

    /// Converts the element type.
    ///
    /// Floats lose their fraction when they become integers; numbers other than 0 become ``True``. The gradient is
    /// converted back to the type of ``x``.
    ///
    /// Args:
    ///     x (Variable): any element type and shape.
    ///     dtype (dtype): the new element type: bool, float16, float32, float64, int8, int16, int32, int64 or uint8.
    ///
    /// Returns:
    ///     Variable: the shape and LoD of ``x``, of ``dtype``.
    ///
    /// Raises:
    ///     TypeError: ``dtype`` is no element type.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([-1.9, 0, 2.6], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.cast(x, "int64")])[0].tolist()
    ///     [-1, 0, 2]
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.cast(x, "bool")])[0].tolist()
    ///     [True, False, True]
    "tensor.cast(x, dtype)" => |net, a| net.cast(&a.var("x")?, a.dtype("dtype")?);

    /// Adds ``value`` to a variable of one element.
    ///
    /// By default the variable itself changes, as counters of loops need it.
    ///
    /// Args:
    ///     x (Variable): numbers, ``[1]``.
    ///     value (float): the number to add; for an integer variable a whole number.
    ///     in_place (bool): change ``x`` itself; otherwise the sum is a new Variable.
    ///
    /// Returns:
    ///     Variable: ``x`` itself, or the new Variable ``[1]``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``x`` has more than one element.
    ///
    /// Example:
    ///     >>> i = fluid.layers.fill_constant([1], "int64", 3)
    ///     >>> i = fluid.layers.increment(i, 2)
    ///     >>> fluid.Executor().run(fetch_list=[i])[0].tolist()
    ///     [5]
    "control_flow.increment(x, value=1.0, in_place=True)" => |net, a| match a.bool("in_place")? {
        true => net.increment(&a.var("x")?, a.f32("value")?),
        false => net.incremented(&a.var("x")?, a.f32("value")?),
    };

    /// Computes running sums along a dimension: ``out[i] = x[0] + ... + x[i]``.
    ///
    /// Args:
    ///     x (Variable): float32, float64, int32 or int64, any shape.
    ///     axis (int): the dimension; negative ones count from the end; ``None``: the last one.
    ///     exclusive (bool): leave the element itself out of its sum; the first sum is then 0; ``None``: ``False``.
    ///     reverse (bool): sum from the end to the beginning; ``None``: ``False``.
    ///
    /// Returns:
    ///     Variable: the shape and element type of ``x``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``x`` has no dimension ``axis``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2, 3]], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.cumsum(x, axis=1)])[0].tolist()
    ///     [[1.0, 3.0, 6.0]]
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.cumsum(x, axis=1, exclusive=True)])[0].tolist()
    ///     [[0.0, 1.0, 3.0]]
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.cumsum(x, axis=1, reverse=True)])[0].tolist()
    ///     [[6.0, 5.0, 3.0]]
    "ops.cumsum(x, axis=None, exclusive=None, reverse=None)"
        => |net, a| net.cumsum(&a.var("x")?, a.opt("axis", Args::i32)?, a.opt("exclusive", Args::bool)?.unwrap_or(false),
        a.opt("reverse", Args::bool)?.unwrap_or(false));
}
