//! Comparisons and logic; results are bool and carry no gradient.

use oarlock_ir::{Op, Result};
use oarlock_tensor::DType;

use crate::declare::{Args, declare};
use crate::options::options;
use crate::{Net, VarRef};

options! {
    /// The arguments of comparisons: `less_than(x, y, force_cpu=None, cond=None)` and the like, `logical_and(x, y, out=None)` and the like.
    Compare::new() {
        /// Write into this variable instead of a new one.
        cond: Option<VarRef> = None,
    }
}

impl Compare {
    /// Into this variable.
    pub fn into_var(cond: &VarRef) -> Compare {
        Compare::new().cond(Some(cond.clone()))
    }
}

macro_rules! comparisons {
    ($( $(#[$meta:meta])* $name:ident ),* $(,)?) => {
        impl Net {
            $(
                $(#[$meta])*
                #[track_caller]
                pub fn $name(&mut self, x: &VarRef, y: &VarRef, options: Compare) -> Result<VarRef> {
                    let op = Op::new(stringify!($name)).input("X", [x]).input("Y", [y]);
                    self.predicate(op, options.cond.as_ref())
                }
            )*
        }
    };
}

comparisons! {
    /// `x < y`
    less_than,
    /// `x <= y`
    less_equal,
    /// `x > y`
    greater_than,
    /// `x >= y`
    greater_equal,
    /// `x == y`
    equal,
    /// `x != y`
    not_equal,
    /// Both.
    logical_and,
    /// One or both.
    logical_or,
    /// One, but not both.
    logical_xor,
}

impl Net {
    /// `logical_not(x, out=None)`
    #[track_caller]
    pub fn logical_not(&mut self, x: &VarRef, options: Compare) -> Result<VarRef> {
        self.predicate(Op::new("logical_not").input("X", [x]), options.cond.as_ref())
    }

    /// `isfinite(x)`: is every element finite? `[1]`
    #[track_caller]
    pub fn isfinite(&mut self, x: &VarRef) -> Result<VarRef> {
        self.layer("isfinite").out(DType::Bool, Op::new("isfinite").input("X", [x]))
    }

    /// `has_inf(x)`: is an element infinite? `[1]`
    #[track_caller]
    pub fn has_inf(&mut self, x: &VarRef) -> Result<VarRef> {
        self.unary(x, Op::new("isinf"))
    }

    /// `has_nan(x)`: is an element not a number? `[1]`
    #[track_caller]
    pub fn has_nan(&mut self, x: &VarRef) -> Result<VarRef> {
        self.unary(x, Op::new("isnan"))
    }

    /// `is_empty(x, cond=None)`: has it no elements? `[1]`
    #[track_caller]
    pub fn is_empty(&mut self, x: &VarRef, options: Compare) -> Result<VarRef> {
        self.predicate(Op::new("is_empty").input("X", [x]), options.cond.as_ref())
    }

    #[track_caller]
    fn predicate(&mut self, op: Op, cond: Option<&VarRef>) -> Result<VarRef> {
        let layer_type = op.op_type.clone();
        let mut layer = self.layer(&layer_type);
        let out = match cond {
            Some(cond) => cond.clone(),
            None => layer.temp(DType::Bool),
        };
        layer.append_op(op.output("Out", [&out]))?;
        layer.stop_gradient(&out)?;
        Ok(out)
    }
}

declare! {
    /// ``x < y``, element by element.
    ///
    /// Args:
    ///     x (Variable): any tensor of numbers or truth values.
    ///     y (Variable): of the same dtype; its sizes are those of `X` from `axis` on, or 1.
    ///     force_cpu (bool): accepted; values are always on the CPU.
    ///     cond (Variable): a bool variable for the result, as a `While` loop needs it; otherwise a new one.
    ///
    /// Example:
    ///     >>> i, n = fluid.layers.fill_constant([1], "int64", 3), fluid.layers.fill_constant([1], "int64", 5)
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.less_than(i, n)])[0].tolist()
    ///     [True]
    "control_flow.less_than(x, y, force_cpu=None, cond=None)"
        => |net, a| net.less_than(&a.var("x")?, &a.var("y")?, into(a, "cond")?);

    /// `x <= y`
    ///
    /// Args:
    ///     x (Variable): any tensor of numbers or truth values.
    ///     y (Variable): of the same dtype; its sizes are those of `X` from `axis` on, or 1.
    ///     cond (Variable): the result goes into this bool Variable; ``None``: a new one.
    "control_flow.less_equal(x, y, cond=None)"
        => |net, a| net.less_equal(&a.var("x")?, &a.var("y")?, into(a, "cond")?);

    /// `x > y`
    ///
    /// Args:
    ///     x (Variable): any tensor of numbers or truth values.
    ///     y (Variable): of the same dtype; its sizes are those of `X` from `axis` on, or 1.
    ///     cond (Variable): the result goes into this bool Variable; ``None``: a new one.
    "control_flow.greater_than(x, y, cond=None)"
        => |net, a| net.greater_than(&a.var("x")?, &a.var("y")?, into(a, "cond")?);

    /// `x >= y`
    ///
    /// Args:
    ///     x (Variable): any tensor of numbers or truth values.
    ///     y (Variable): of the same dtype; its sizes are those of `X` from `axis` on, or 1.
    ///     cond (Variable): the result goes into this bool Variable; ``None``: a new one.
    "control_flow.greater_equal(x, y, cond=None)"
        => |net, a| net.greater_equal(&a.var("x")?, &a.var("y")?, into(a, "cond")?);

    /// `x == y`
    ///
    /// Args:
    ///     x (Variable): any tensor of numbers or truth values.
    ///     y (Variable): of the same dtype; its sizes are those of `X` from `axis` on, or 1.
    ///     cond (Variable): the result goes into this bool Variable; ``None``: a new one.
    "control_flow.equal(x, y, cond=None)" => |net, a| net.equal(&a.var("x")?, &a.var("y")?, into(a, "cond")?);

    /// `x != y`
    ///
    /// Args:
    ///     x (Variable): any tensor of numbers or truth values.
    ///     y (Variable): of the same dtype; its sizes are those of `X` from `axis` on, or 1.
    ///     cond (Variable): the result goes into this bool Variable; ``None``: a new one.
    "control_flow.not_equal(x, y, cond=None)"
        => |net, a| net.not_equal(&a.var("x")?, &a.var("y")?, into(a, "cond")?);

    /// ``x and y``, element by element, of bool tensors.
    ///
    /// Args:
    ///     x (Variable): a bool tensor.
    ///     y (Variable): a bool tensor of the same shape.
    ///     out (Variable): the result goes into this Variable; ``None``: a new one.
    "nn.logical_and(x, y, out=None, name=None)"
        => |net, a| net.logical_and(&a.var("x")?, &a.var("y")?, into(a, "out")?);

    /// ``x or y``, element by element, of bool tensors.
    ///
    /// Args:
    ///     x (Variable): a bool tensor.
    ///     y (Variable): a bool tensor of the same shape.
    ///     out (Variable): the result goes into this Variable; ``None``: a new one.
    "nn.logical_or(x, y, out=None, name=None)" => |net, a| net.logical_or(&a.var("x")?, &a.var("y")?, into(a, "out")?);

    /// True where exactly one of ``x`` and ``y`` is true, element by element.
    ///
    /// Args:
    ///     x (Variable): a bool tensor.
    ///     y (Variable): a bool tensor of the same shape.
    ///     out (Variable): the result goes into this Variable; ``None``: a new one.
    "nn.logical_xor(x, y, out=None, name=None)"
        => |net, a| net.logical_xor(&a.var("x")?, &a.var("y")?, into(a, "out")?);

    /// ``not x``, element by element, of a bool tensor.
    ///
    /// Args:
    ///     x (Variable): a bool tensor.
    ///     out (Variable): the result goes into this Variable; ``None``: a new one.
    "nn.logical_not(x, out=None, name=None)" => |net, a| net.logical_not(&a.var("x")?, into(a, "out")?);

    /// True if ``x`` has no elements, ``[1]``.
    ///
    /// Args:
    ///     x (Variable): any tensor.
    ///     cond (Variable): the result goes into this bool Variable; ``None``: a new one.
    "control_flow.is_empty(x, cond=None)" => |net, a| net.is_empty(&a.var("x")?, into(a, "cond")?);

    /// True if every element is finite, ``[1]``.
    ///
    /// Args:
    ///     x (Variable): any tensor of numbers, or selected rows.
    "tensor.isfinite(x)" => |net, a| net.isfinite(&a.var("x")?);

    /// True if an element is infinite, ``[1]``.
    ///
    /// Args:
    ///     x (Variable): the input.
    "tensor.has_inf(x)" => |net, a| net.has_inf(&a.var("x")?);

    /// True if an element is not a number, ``[1]``.
    ///
    /// Args:
    ///     x (Variable): the input.
    "tensor.has_nan(x)" => |net, a| net.has_nan(&a.var("x")?);
}

/// The result goes into the variable of this argument, if there is one.
fn into(a: &Args, name: &str) -> Result<Compare> {
    Ok(Compare::new().cond(a.opt_var(name)?))
}
