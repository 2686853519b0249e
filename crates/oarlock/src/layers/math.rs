//! Scaling, sums, limits, counters.

use oarlock_ir::{Kind, Op, Result, fail};

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
