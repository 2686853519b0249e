//! Arithmetic between two tensors, element by element.

use oarlock_ir::{Op, Result};

use crate::declare::{Args, declare};
use crate::options::options;
use crate::{Act, Net, VarRef};

options! {
    /// The arguments of every `elementwise_*(x, y, axis=-1, act=None, name=None)`.
    Elementwise::new() {
        /// The dimension of `x` where the dimensions of `y` begin; -1: both end together.
        axis: i32 = -1,
        /// Activation.
        act(into): Act = Act::none(),
    }
}

macro_rules! elementwise {
    ($( $(#[$meta:meta])* $name:ident ),* $(,)?) => {
        impl Net {
            $(
                $(#[$meta])*
                #[track_caller]
                pub fn $name(&mut self, x: &VarRef, y: &VarRef, options: Elementwise) -> Result<VarRef> {
                    self.elementwise(stringify!($name), x, y, options)
                }
            )*
        }
    };
}

elementwise! {
    /// `x + y`
    elementwise_add,
    /// `x - y`
    elementwise_sub,
    /// `x * y`
    elementwise_mul,
    /// `x / y`
    elementwise_div,
    /// The larger of `x` and `y`.
    elementwise_max,
    /// The smaller of `x` and `y`.
    elementwise_min,
    /// `x` to the power of `y`.
    elementwise_pow,
    /// The remainder of integers, with the sign of `y`.
    elementwise_mod,
    /// The quotient of integers, rounded down.
    elementwise_floordiv,
}

impl Net {
    #[track_caller]
    fn elementwise(&mut self, op_type: &str, x: &VarRef, y: &VarRef, options: Elementwise) -> Result<VarRef> {
        let mut layer = self.layer(op_type);
        let dtype = layer.dtype(x)?;
        let op = Op::new(op_type).input("X", [x]).input("Y", [y]).attr("axis", options.axis);
        let out = layer.out(dtype, op)?;
        layer.activate(out, &options.act)
    }
}

declare! {
    /// ``x + y``, element by element.
    ///
    /// Args:
    ///     x (Variable): the first operand; the result has its shape.
    ///     y (Variable): the same shape, or the sizes of consecutive dimensions of ``x``, from dimension ``axis`` on.
    ///     axis (int): where the dimensions of ``y`` begin in ``x``; -1: at the end.
    ///     act (str): an activation applied to the result, such as ``relu`` or ``softmax``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
    ///     >>> y = fluid.layers.assign(np.array([10, 20], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.elementwise_add(x, y, axis=0)])[0].tolist()
    ///     [[11.0, 12.0], [23.0, 24.0]]
    "nn.elementwise_add(x, y, axis=-1, act=None, name=None)"
        => |net, a| net.elementwise_add(&a.var("x")?, &a.var("y")?, elementwise(a)?);

    /// ``x - y``, element by element; ``axis`` as in `elementwise_add`.
    ///
    /// Args:
    ///     x (Variable): any tensor of numbers.
    ///     y (Variable): of the same dtype; its sizes are those of `X` from `axis` on, or 1.
    ///     axis (int): the dimension of `x` where the dimensions of `y` begin; -1: both end together.
    ///     act (str): activation.
    "nn.elementwise_sub(x, y, axis=-1, act=None, name=None)"
        => |net, a| net.elementwise_sub(&a.var("x")?, &a.var("y")?, elementwise(a)?);

    /// ``x * y``, element by element; ``axis`` as in `elementwise_add`.
    ///
    /// Args:
    ///     x (Variable): any tensor of numbers.
    ///     y (Variable): of the same dtype; its sizes are those of `X` from `axis` on, or 1.
    ///     axis (int): the dimension of `x` where the dimensions of `y` begin; -1: both end together.
    ///     act (str): activation.
    "nn.elementwise_mul(x, y, axis=-1, act=None, name=None)"
        => |net, a| net.elementwise_mul(&a.var("x")?, &a.var("y")?, elementwise(a)?);

    /// ``x / y``, element by element; ``axis`` as in `elementwise_add`.
    ///
    /// Args:
    ///     x (Variable): any tensor of numbers.
    ///     y (Variable): of the same dtype; its sizes are those of `X` from `axis` on, or 1.
    ///     axis (int): the dimension of `x` where the dimensions of `y` begin; -1: both end together.
    ///     act (str): activation.
    "nn.elementwise_div(x, y, axis=-1, act=None, name=None)"
        => |net, a| net.elementwise_div(&a.var("x")?, &a.var("y")?, elementwise(a)?);

    /// The larger of ``x`` and ``y``, element by element; ``axis`` as in `elementwise_add`.
    ///
    /// Args:
    ///     x (Variable): any tensor of numbers.
    ///     y (Variable): of the same dtype; its sizes are those of `X` from `axis` on, or 1.
    ///     axis (int): the dimension of `x` where the dimensions of `y` begin; -1: both end together.
    ///     act (str): activation.
    "nn.elementwise_max(x, y, axis=-1, act=None, name=None)"
        => |net, a| net.elementwise_max(&a.var("x")?, &a.var("y")?, elementwise(a)?);

    /// The smaller of ``x`` and ``y``, element by element; ``axis`` as in `elementwise_add`.
    ///
    /// Args:
    ///     x (Variable): any tensor of numbers.
    ///     y (Variable): of the same dtype; its sizes are those of `X` from `axis` on, or 1.
    ///     axis (int): the dimension of `x` where the dimensions of `y` begin; -1: both end together.
    ///     act (str): activation.
    "nn.elementwise_min(x, y, axis=-1, act=None, name=None)"
        => |net, a| net.elementwise_min(&a.var("x")?, &a.var("y")?, elementwise(a)?);

    /// ``x`` to the power of ``y``, element by element; ``axis`` as in `elementwise_add`.
    ///
    /// Args:
    ///     x (Variable): any tensor of numbers.
    ///     y (Variable): of the same dtype; its sizes are those of `X` from `axis` on, or 1.
    ///     axis (int): the dimension of `x` where the dimensions of `y` begin; -1: both end together.
    ///     act (str): activation.
    "nn.elementwise_pow(x, y, axis=-1, act=None, name=None)"
        => |net, a| net.elementwise_pow(&a.var("x")?, &a.var("y")?, elementwise(a)?);

    /// The remainder of integers, with the sign of ``y``; ``axis`` as in `elementwise_add`.
    ///
    /// Args:
    ///     x (Variable): any tensor of numbers.
    ///     y (Variable): of the same dtype; its sizes are those of `X` from `axis` on, or 1.
    ///     axis (int): the dimension of `x` where the dimensions of `y` begin; -1: both end together.
    ///     act (str): activation.
    "nn.elementwise_mod(x, y, axis=-1, act=None, name=None)"
        => |net, a| net.elementwise_mod(&a.var("x")?, &a.var("y")?, elementwise(a)?);

    /// The quotient of integers, rounded down; ``axis`` as in `elementwise_add`.
    ///
    /// Args:
    ///     x (Variable): any tensor of numbers.
    ///     y (Variable): of the same dtype; its sizes are those of `X` from `axis` on, or 1.
    ///     axis (int): the dimension of `x` where the dimensions of `y` begin; -1: both end together.
    ///     act (str): activation.
    "nn.elementwise_floordiv(x, y, axis=-1, act=None, name=None)"
        => |net, a| net.elementwise_floordiv(&a.var("x")?, &a.var("y")?, elementwise(a)?);
}

fn elementwise(a: &Args) -> Result<Elementwise> {
    Ok(Elementwise::new().axis(a.i32("axis")?).act(a.act("act")?))
}
