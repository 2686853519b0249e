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
    /// Adds two tensors: ``x + y``, element by element.
    ///
    /// ``y`` is repeated along the dimensions of ``x`` that it lacks or where its size is 1. With ``x`` of shape
    /// ``[2, 3, 4, 5]``, ``y`` may be ``[2, 3, 4, 5]``, ``[5]``, ``[4, 5]``, ``[3, 4]`` with ``axis=1``, ``[2]`` with
    /// ``axis=0`` or ``[1]``. The gradient of ``y`` is summed over the repetitions. ``x + y`` with Variables does the
    /// same.
    ///
    /// Args:
    ///     x (Variable): float32, float64, int32 or int64, any shape.
    ///     y (Variable): the element type of ``x``; its sizes are those of consecutive dimensions of ``x``, or 1.
    ///     axis (int): the dimension of ``x`` at which the dimensions of ``y`` begin; -1: the last dimensions of both
    ///         are aligned.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``; where a size of ``x`` is 1, that of ``y``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: the sizes of ``y`` do not fit those of ``x`` from ``axis`` on.
    ///     TypeError: ``x`` and ``y`` have different element types, or ``y`` is no Variable.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
    ///     >>> y = fluid.layers.assign(np.array([10, 20], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.elementwise_add(x, y)])[0].tolist()
    ///     [[11.0, 22.0], [13.0, 24.0]]
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.elementwise_add(x, y, axis=0)])[0].tolist()
    ///     [[11.0, 12.0], [23.0, 24.0]]
    "nn.elementwise_add(x, y, axis=-1, act=None, name=None)"
        => |net, a| net.elementwise_add(&a.var("x")?, &a.var("y")?, elementwise(a)?);

    /// Subtracts two tensors: ``x - y``, element by element.
    ///
    /// ``y`` is repeated along the dimensions of ``x`` that it lacks or where its size is 1. With ``x`` of shape
    /// ``[2, 3, 4, 5]``, ``y`` may be ``[2, 3, 4, 5]``, ``[5]``, ``[4, 5]``, ``[3, 4]`` with ``axis=1``, ``[2]`` with
    /// ``axis=0`` or ``[1]``. ``x - y`` with Variables does the same.
    ///
    /// Args:
    ///     x (Variable): float32, float64, int32 or int64, any shape.
    ///     y (Variable): the element type of ``x``; its sizes are those of consecutive dimensions of ``x``, or 1.
    ///     axis (int): the dimension of ``x`` at which the dimensions of ``y`` begin; -1: the last dimensions of both
    ///         are aligned.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``; where a size of ``x`` is 1, that of ``y``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: the sizes of ``y`` do not fit those of ``x`` from ``axis`` on.
    ///     TypeError: ``x`` and ``y`` have different element types, or ``y`` is no Variable.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
    ///     >>> y = fluid.layers.assign(np.array([1, 3], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.elementwise_sub(x, y, axis=0)])[0].tolist()
    ///     [[0.0, 1.0], [0.0, 1.0]]
    "nn.elementwise_sub(x, y, axis=-1, act=None, name=None)"
        => |net, a| net.elementwise_sub(&a.var("x")?, &a.var("y")?, elementwise(a)?);

    /// Multiplies two tensors: ``x * y``, element by element; ``matmul`` computes the product of matrices.
    ///
    /// ``y`` is repeated along the dimensions of ``x`` that it lacks or where its size is 1. With ``x`` of shape
    /// ``[2, 3, 4, 5]``, ``y`` may be ``[2, 3, 4, 5]``, ``[5]``, ``[4, 5]``, ``[3, 4]`` with ``axis=1``, ``[2]`` with
    /// ``axis=0`` or ``[1]``. ``x * y`` with Variables does the same.
    ///
    /// Args:
    ///     x (Variable): float32, float64, int32 or int64, any shape.
    ///     y (Variable): the element type of ``x``; its sizes are those of consecutive dimensions of ``x``, or 1.
    ///     axis (int): the dimension of ``x`` at which the dimensions of ``y`` begin; -1: the last dimensions of both
    ///         are aligned.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``; where a size of ``x`` is 1, that of ``y``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: the sizes of ``y`` do not fit those of ``x`` from ``axis`` on.
    ///     TypeError: ``x`` and ``y`` have different element types, or ``y`` is no Variable.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
    ///     >>> weight = fluid.layers.assign(np.array([[0.5], [2]], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.elementwise_mul(x, weight)])[0].tolist()
    ///     [[0.5, 1.0], [6.0, 8.0]]
    "nn.elementwise_mul(x, y, axis=-1, act=None, name=None)"
        => |net, a| net.elementwise_mul(&a.var("x")?, &a.var("y")?, elementwise(a)?);

    /// Divides two tensors: ``x / y``, element by element.
    ///
    /// ``y`` is repeated along the dimensions of ``x`` that it lacks or where its size is 1. With ``x`` of shape
    /// ``[2, 3, 4, 5]``, ``y`` may be ``[2, 3, 4, 5]``, ``[5]``, ``[4, 5]``, ``[3, 4]`` with ``axis=1``, ``[2]`` with
    /// ``axis=0`` or ``[1]``. A float divided by 0 is infinite or ``nan``. Integers lose their fraction, and a division
    /// by 0 is an error. ``x / y`` with Variables does the same.
    ///
    /// Args:
    ///     x (Variable): float32, float64, int32 or int64, any shape.
    ///     y (Variable): the element type of ``x``; its sizes are those of consecutive dimensions of ``x``, or 1.
    ///     axis (int): the dimension of ``x`` at which the dimensions of ``y`` begin; -1: the last dimensions of both
    ///         are aligned.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``; where a size of ``x`` is 1, that of ``y``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: the sizes of ``y`` do not fit those of ``x`` from ``axis`` on.
    ///     TypeError: ``x`` and ``y`` have different element types, or ``y`` is no Variable.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
    ///     >>> y = fluid.layers.assign(np.array([2, 4], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.elementwise_div(x, y)])[0].tolist()
    ///     [[0.5, 0.5], [1.5, 1.0]]
    "nn.elementwise_div(x, y, axis=-1, act=None, name=None)"
        => |net, a| net.elementwise_div(&a.var("x")?, &a.var("y")?, elementwise(a)?);

    /// Takes the larger one of two numbers: ``max(x, y)``, element by element.
    ///
    /// ``y`` is repeated along the dimensions of ``x`` that it lacks or where its size is 1. With ``x`` of shape
    /// ``[2, 3, 4, 5]``, ``y`` may be ``[2, 3, 4, 5]``, ``[5]``, ``[4, 5]``, ``[3, 4]`` with ``axis=1``, ``[2]`` with
    /// ``axis=0`` or ``[1]``. The gradient goes to the larger element; of equal ones to ``y``.
    ///
    /// Args:
    ///     x (Variable): float32, float64, int32 or int64, any shape.
    ///     y (Variable): the element type of ``x``; its sizes are those of consecutive dimensions of ``x``, or 1.
    ///     axis (int): the dimension of ``x`` at which the dimensions of ``y`` begin; -1: the last dimensions of both
    ///         are aligned.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``; where a size of ``x`` is 1, that of ``y``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: the sizes of ``y`` do not fit those of ``x`` from ``axis`` on.
    ///     TypeError: ``x`` and ``y`` have different element types, or ``y`` is no Variable.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 5], [3, 4]], "float32"))
    ///     >>> y = fluid.layers.assign(np.array([2, 4], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.elementwise_max(x, y)])[0].tolist()
    ///     [[2.0, 5.0], [3.0, 4.0]]
    "nn.elementwise_max(x, y, axis=-1, act=None, name=None)"
        => |net, a| net.elementwise_max(&a.var("x")?, &a.var("y")?, elementwise(a)?);

    /// Takes the smaller one of two numbers: ``min(x, y)``, element by element.
    ///
    /// ``y`` is repeated along the dimensions of ``x`` that it lacks or where its size is 1. With ``x`` of shape
    /// ``[2, 3, 4, 5]``, ``y`` may be ``[2, 3, 4, 5]``, ``[5]``, ``[4, 5]``, ``[3, 4]`` with ``axis=1``, ``[2]`` with
    /// ``axis=0`` or ``[1]``. The gradient goes to the smaller element; of equal ones to ``y``.
    ///
    /// Args:
    ///     x (Variable): float32, float64, int32 or int64, any shape.
    ///     y (Variable): the element type of ``x``; its sizes are those of consecutive dimensions of ``x``, or 1.
    ///     axis (int): the dimension of ``x`` at which the dimensions of ``y`` begin; -1: the last dimensions of both
    ///         are aligned.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``; where a size of ``x`` is 1, that of ``y``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: the sizes of ``y`` do not fit those of ``x`` from ``axis`` on.
    ///     TypeError: ``x`` and ``y`` have different element types, or ``y`` is no Variable.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 5], [3, 4]], "float32"))
    ///     >>> y = fluid.layers.assign(np.array([2, 4], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.elementwise_min(x, y)])[0].tolist()
    ///     [[1.0, 4.0], [2.0, 4.0]]
    "nn.elementwise_min(x, y, axis=-1, act=None, name=None)"
        => |net, a| net.elementwise_min(&a.var("x")?, &a.var("y")?, elementwise(a)?);

    /// Raises ``x`` to the power of ``y``, element by element.
    ///
    /// ``y`` is repeated along the dimensions of ``x`` that it lacks or where its size is 1. With ``x`` of shape
    /// ``[2, 3, 4, 5]``, ``y`` may be ``[2, 3, 4, 5]``, ``[5]``, ``[4, 5]``, ``[3, 4]`` with ``axis=1``, ``[2]`` with
    /// ``axis=0`` or ``[1]``. A negative base with an exponent that is no whole number gives ``nan``. For one exponent
    /// that is a number use ``pow``.
    ///
    /// Args:
    ///     x (Variable): the bases: float32, float64, int32 or int64, any shape.
    ///     y (Variable): the element type of ``x``; its sizes are those of consecutive dimensions of ``x``, or 1.
    ///     axis (int): the dimension of ``x`` at which the dimensions of ``y`` begin; -1: the last dimensions of both
    ///         are aligned.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``; where a size of ``x`` is 1, that of ``y``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: the sizes of ``y`` do not fit those of ``x`` from ``axis`` on.
    ///     TypeError: ``x`` and ``y`` have different element types, or ``y`` is no Variable.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
    ///     >>> y = fluid.layers.assign(np.array([2, 3], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.elementwise_pow(x, y)])[0].tolist()
    ///     [[1.0, 8.0], [9.0, 64.0]]
    "nn.elementwise_pow(x, y, axis=-1, act=None, name=None)"
        => |net, a| net.elementwise_pow(&a.var("x")?, &a.var("y")?, elementwise(a)?);

    /// Computes the remainder of ``x`` divided by ``y``, element by element.
    ///
    /// The remainder of integers has the sign of ``x`` as in C, that of floats the sign of ``y`` as in Python; so it is
    /// in Fluid.
    ///
    /// ``y`` is repeated along the dimensions of ``x`` that it lacks or where its size is 1. With ``x`` of shape
    /// ``[2, 3, 4, 5]``, ``y`` may be ``[2, 3, 4, 5]``, ``[5]``, ``[4, 5]``, ``[3, 4]`` with ``axis=1``, ``[2]`` with
    /// ``axis=0`` or ``[1]``. No gradient flows through it. ``x % y`` with Variables does the same.
    ///
    /// Args:
    ///     x (Variable): the dividends, any shape: float32, float64, int32 or int64.
    ///     y (Variable): the element type of ``x``; its sizes are those of consecutive dimensions of ``x``, or 1.
    ///     axis (int): the dimension of ``x`` at which the dimensions of ``y`` begin; -1: the last dimensions of both
    ///         are aligned.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``; where a size of ``x`` is 1, that of ``y``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: the sizes of ``y`` do not fit those of ``x`` from ``axis`` on.
    ///     TypeError: ``x`` and ``y`` have different element types, or ``y`` is no Variable.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([7, -7, 9], "int64"))
    ///     >>> y = fluid.layers.assign(np.array([3, 3, 4], "int64"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.elementwise_mod(x, y)])[0].tolist()
    ///     [1, -1, 1]
    "nn.elementwise_mod(x, y, axis=-1, act=None, name=None)"
        => |net, a| net.elementwise_mod(&a.var("x")?, &a.var("y")?, elementwise(a)?);

    /// Computes the quotient of integers without a fraction: ``x // y``, element by element.
    ///
    /// It is rounded towards 0 as in Fluid, so that ``-7 // 2`` is -3, while Python gives -4.
    ///
    /// ``y`` is repeated along the dimensions of ``x`` that it lacks or where its size is 1. With ``x`` of shape
    /// ``[2, 3, 4, 5]``, ``y`` may be ``[2, 3, 4, 5]``, ``[5]``, ``[4, 5]``, ``[3, 4]`` with ``axis=1``, ``[2]`` with
    /// ``axis=0`` or ``[1]``. No gradient flows through it. ``x // y`` with Variables does the same.
    ///
    /// Args:
    ///     x (Variable): the dividends: int32 or int64, any shape.
    ///     y (Variable): the element type of ``x``; its sizes are those of consecutive dimensions of ``x``, or 1.
    ///     axis (int): the dimension of ``x`` at which the dimensions of ``y`` begin; -1: the last dimensions of both
    ///         are aligned.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``x``; where a size of ``x`` is 1, that of ``y``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: the sizes of ``y`` do not fit those of ``x`` from ``axis`` on.
    ///     TypeError: ``x`` and ``y`` have different element types, or ``y`` is no Variable.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([7, 8, 9], "int64"))
    ///     >>> y = fluid.layers.assign(np.array([2, 3, 4], "int64"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.elementwise_floordiv(x, y)])[0].tolist()
    ///     [3, 2, 2]
    "nn.elementwise_floordiv(x, y, axis=-1, act=None, name=None)"
        => |net, a| net.elementwise_floordiv(&a.var("x")?, &a.var("y")?, elementwise(a)?);
}

fn elementwise(a: &Args) -> Result<Elementwise> {
    Ok(Elementwise::new().axis(a.i32("axis")?).act(a.act("act")?))
}
