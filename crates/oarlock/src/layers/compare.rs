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
    /// Compares two tensors: ``x < y``, element by element.
    ///
    /// ``x < y`` with Variables does the same.
    ///
    /// Args:
    ///     x (Variable): numbers or bool, any shape.
    ///     y (Variable): the element type of ``x``; its sizes are those of the last dimensions of ``x``, or 1.
    ///     force_cpu (bool): accepted; values are always on the CPU.
    ///     cond (Variable): a bool Variable that receives the result and is returned, as the condition of a ``While``
    ///         loop needs it; ``None``: a new Variable.
    ///
    /// Returns:
    ///     Variable: bool, the shape of ``x``. No gradient flows through it.
    ///
    /// Raises:
    ///     TypeError: ``x`` and ``y`` have different element types.
    ///     fluid.core.EnforceNotMet: the sizes of ``y`` do not fit those of ``x``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([1, 2, 3], "float32"))
    ///     >>> y = fluid.layers.assign(np.array([2, 2, 2], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.less_than(x, y)])[0].tolist()
    ///     [True, False, False]
    ///     >>> i, n = fluid.layers.fill_constant([1], "int64", 0), fluid.layers.fill_constant([1], "int64", 5)
    ///     >>> condition = fluid.layers.less_than(i, n)
    ///     >>> loop = fluid.layers.While(condition)
    ///     >>> with loop.block():
    ///     ...     i = fluid.layers.increment(i)
    ///     ...     _ = fluid.layers.less_than(i, n, cond=condition)
    ///     >>> fluid.Executor().run(fetch_list=[i])[0].tolist()
    ///     [5]
    "control_flow.less_than(x, y, force_cpu=None, cond=None)"
        => |net, a| net.less_than(&a.var("x")?, &a.var("y")?, into(a, "cond")?);

    /// Compares two tensors: ``x <= y``, element by element.
    ///
    /// ``x <= y`` with Variables does the same.
    ///
    /// Args:
    ///     x (Variable): numbers or bool, any shape.
    ///     y (Variable): the element type of ``x``; its sizes are those of the last dimensions of ``x``, or 1.
    ///     cond (Variable): a bool Variable that receives the result and is returned, as the condition of a ``While``
    ///         loop needs it; ``None``: a new Variable.
    ///
    /// Returns:
    ///     Variable: bool, the shape of ``x``. No gradient flows through it.
    ///
    /// Raises:
    ///     TypeError: ``x`` and ``y`` have different element types.
    ///     fluid.core.EnforceNotMet: the sizes of ``y`` do not fit those of ``x``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([1, 2, 3], "float32"))
    ///     >>> y = fluid.layers.assign(np.array([2, 2, 2], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.less_equal(x, y)])[0].tolist()
    ///     [True, True, False]
    "control_flow.less_equal(x, y, cond=None)"
        => |net, a| net.less_equal(&a.var("x")?, &a.var("y")?, into(a, "cond")?);

    /// Compares two tensors: ``x > y``, element by element.
    ///
    /// ``x > y`` with Variables does the same.
    ///
    /// Args:
    ///     x (Variable): numbers or bool, any shape.
    ///     y (Variable): the element type of ``x``; its sizes are those of the last dimensions of ``x``, or 1.
    ///     cond (Variable): a bool Variable that receives the result and is returned, as the condition of a ``While``
    ///         loop needs it; ``None``: a new Variable.
    ///
    /// Returns:
    ///     Variable: bool, the shape of ``x``. No gradient flows through it.
    ///
    /// Raises:
    ///     TypeError: ``x`` and ``y`` have different element types.
    ///     fluid.core.EnforceNotMet: the sizes of ``y`` do not fit those of ``x``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([1, 2, 3], "float32"))
    ///     >>> y = fluid.layers.assign(np.array([2, 2, 2], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.greater_than(x, y)])[0].tolist()
    ///     [False, False, True]
    "control_flow.greater_than(x, y, cond=None)"
        => |net, a| net.greater_than(&a.var("x")?, &a.var("y")?, into(a, "cond")?);

    /// Compares two tensors: ``x >= y``, element by element.
    ///
    /// ``x >= y`` with Variables does the same.
    ///
    /// Args:
    ///     x (Variable): numbers or bool, any shape.
    ///     y (Variable): the element type of ``x``; its sizes are those of the last dimensions of ``x``, or 1.
    ///     cond (Variable): a bool Variable that receives the result and is returned, as the condition of a ``While``
    ///         loop needs it; ``None``: a new Variable.
    ///
    /// Returns:
    ///     Variable: bool, the shape of ``x``. No gradient flows through it.
    ///
    /// Raises:
    ///     TypeError: ``x`` and ``y`` have different element types.
    ///     fluid.core.EnforceNotMet: the sizes of ``y`` do not fit those of ``x``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([1, 2, 3], "float32"))
    ///     >>> y = fluid.layers.assign(np.array([2, 2, 2], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.greater_equal(x, y)])[0].tolist()
    ///     [False, True, True]
    "control_flow.greater_equal(x, y, cond=None)"
        => |net, a| net.greater_equal(&a.var("x")?, &a.var("y")?, into(a, "cond")?);

    /// Compares two tensors: ``x == y``, element by element.
    ///
    /// Floats are compared exactly; ``nan`` equals nothing. ``x == y`` with Variables does the same.
    ///
    /// Args:
    ///     x (Variable): numbers or bool, any shape.
    ///     y (Variable): the element type of ``x``; its sizes are those of the last dimensions of ``x``, or 1.
    ///     cond (Variable): a bool Variable that receives the result and is returned, as the condition of a ``While``
    ///         loop needs it; ``None``: a new Variable.
    ///
    /// Returns:
    ///     Variable: bool, the shape of ``x``. No gradient flows through it.
    ///
    /// Raises:
    ///     TypeError: ``x`` and ``y`` have different element types.
    ///     fluid.core.EnforceNotMet: the sizes of ``y`` do not fit those of ``x``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([1, 2, 3], "int64"))
    ///     >>> y = fluid.layers.assign(np.array([2, 2, 2], "int64"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.equal(x, y)])[0].tolist()
    ///     [False, True, False]
    "control_flow.equal(x, y, cond=None)" => |net, a| net.equal(&a.var("x")?, &a.var("y")?, into(a, "cond")?);

    /// Compares two tensors: ``x != y``, element by element.
    ///
    /// Floats are compared exactly; ``nan`` differs from everything. ``x != y`` with Variables does the same.
    ///
    /// Args:
    ///     x (Variable): numbers or bool, any shape.
    ///     y (Variable): the element type of ``x``; its sizes are those of the last dimensions of ``x``, or 1.
    ///     cond (Variable): a bool Variable that receives the result and is returned, as the condition of a ``While``
    ///         loop needs it; ``None``: a new Variable.
    ///
    /// Returns:
    ///     Variable: bool, the shape of ``x``. No gradient flows through it.
    ///
    /// Raises:
    ///     TypeError: ``x`` and ``y`` have different element types.
    ///     fluid.core.EnforceNotMet: the sizes of ``y`` do not fit those of ``x``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([1, 2, 3], "int64"))
    ///     >>> y = fluid.layers.assign(np.array([2, 2, 2], "int64"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.not_equal(x, y)])[0].tolist()
    ///     [True, False, True]
    "control_flow.not_equal(x, y, cond=None)"
        => |net, a| net.not_equal(&a.var("x")?, &a.var("y")?, into(a, "cond")?);

    /// Computes ``x and y`` of truth values, element by element.
    ///
    /// Args:
    ///     x (Variable): bool, any shape.
    ///     y (Variable): bool, the shape of ``x``.
    ///     out (Variable): a Variable that receives the result and is returned; ``None``: a new Variable.
    ///
    /// Returns:
    ///     Variable: bool, the shape of ``x``. No gradient flows through it.
    ///
    /// Raises:
    ///     TypeError: an operand is not bool.
    ///     fluid.core.EnforceNotMet: ``x`` and ``y`` differ in shape.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([True, True, False], "bool"))
    ///     >>> y = fluid.layers.assign(np.array([True, False, False], "bool"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.logical_and(x, y)])[0].tolist()
    ///     [True, False, False]
    "nn.logical_and(x, y, out=None, name=None)"
        => |net, a| net.logical_and(&a.var("x")?, &a.var("y")?, into(a, "out")?);

    /// Computes ``x or y`` of truth values, element by element.
    ///
    /// Args:
    ///     x (Variable): bool, any shape.
    ///     y (Variable): bool, the shape of ``x``.
    ///     out (Variable): a Variable that receives the result and is returned; ``None``: a new Variable.
    ///
    /// Returns:
    ///     Variable: bool, the shape of ``x``. No gradient flows through it.
    ///
    /// Raises:
    ///     TypeError: an operand is not bool.
    ///     fluid.core.EnforceNotMet: ``x`` and ``y`` differ in shape.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([True, True, False], "bool"))
    ///     >>> y = fluid.layers.assign(np.array([True, False, False], "bool"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.logical_or(x, y)])[0].tolist()
    ///     [True, True, False]
    "nn.logical_or(x, y, out=None, name=None)" => |net, a| net.logical_or(&a.var("x")?, &a.var("y")?, into(a, "out")?);

    /// Computes the exclusive or of truth values, element by element: true where exactly one of ``x`` and ``y`` is.
    ///
    /// Args:
    ///     x (Variable): bool, any shape.
    ///     y (Variable): bool, the shape of ``x``.
    ///     out (Variable): a Variable that receives the result and is returned; ``None``: a new Variable.
    ///
    /// Returns:
    ///     Variable: bool, the shape of ``x``. No gradient flows through it.
    ///
    /// Raises:
    ///     TypeError: an operand is not bool.
    ///     fluid.core.EnforceNotMet: ``x`` and ``y`` differ in shape.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([True, True, False], "bool"))
    ///     >>> y = fluid.layers.assign(np.array([True, False, False], "bool"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.logical_xor(x, y)])[0].tolist()
    ///     [False, True, False]
    "nn.logical_xor(x, y, out=None, name=None)"
        => |net, a| net.logical_xor(&a.var("x")?, &a.var("y")?, into(a, "out")?);

    /// Computes ``not x`` of truth values, element by element.
    ///
    /// Args:
    ///     x (Variable): bool, any shape.
    ///     out (Variable): a Variable that receives the result and is returned; ``None``: a new Variable.
    ///
    /// Returns:
    ///     Variable: bool, the shape of ``x``. No gradient flows through it.
    ///
    /// Raises:
    ///     TypeError: ``x`` is not bool.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([True, False], "bool"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.logical_not(x)])[0].tolist()
    ///     [False, True]
    "nn.logical_not(x, out=None, name=None)" => |net, a| net.logical_not(&a.var("x")?, into(a, "out")?);

    /// Tells whether a tensor has no elements.
    ///
    /// Args:
    ///     x (Variable): any element type and shape.
    ///     cond (Variable): a bool Variable that receives the result and is returned; ``None``: a new Variable.
    ///
    /// Returns:
    ///     Variable: bool ``[1]``.
    ///
    /// Example:
    ///     >>> x = fluid.data("x", [None, 2])
    ///     >>> empty = fluid.layers.is_empty(x)
    ///     >>> exe = fluid.Executor()
    ///     >>> exe.run(feed={"x": np.zeros([0, 2], "float32")}, fetch_list=[empty])[0].tolist()
    ///     [True]
    ///     >>> exe.run(feed={"x": np.zeros([3, 2], "float32")}, fetch_list=[empty])[0].tolist()
    ///     [False]
    "control_flow.is_empty(x, cond=None)" => |net, a| net.is_empty(&a.var("x")?, into(a, "cond")?);

    /// Tells whether all elements are finite: neither infinite nor ``nan``.
    ///
    /// It is one answer for the whole tensor, unlike that of ``numpy.isfinite``.
    ///
    /// Args:
    ///     x (Variable): numbers of any shape, or SelectedRows.
    ///
    /// Returns:
    ///     Variable: bool ``[1]``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([1, 2], "float32"))
    ///     >>> y = fluid.layers.log(fluid.layers.assign(np.array([0, 1], "float32")))
    ///     >>> exe = fluid.Executor()
    ///     >>> exe.run(fetch_list=[fluid.layers.isfinite(x)])[0].tolist()
    ///     [True]
    ///     >>> exe.run(fetch_list=[fluid.layers.isfinite(y)])[0].tolist()
    ///     [False]
    "tensor.isfinite(x)" => |net, a| net.isfinite(&a.var("x")?);

    /// Tells whether an element is infinite.
    ///
    /// It is one answer for the whole tensor, unlike that of ``numpy.isinf``.
    ///
    /// Args:
    ///     x (Variable): numbers of any shape, or SelectedRows.
    ///
    /// Returns:
    ///     Variable: bool ``[1]``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([0, 1], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.has_inf(fluid.layers.log(x))])[0].tolist()
    ///     [True]
    "tensor.has_inf(x)" => |net, a| net.has_inf(&a.var("x")?);

    /// Tells whether an element is ``nan``, not a number.
    ///
    /// It is one answer for the whole tensor, unlike that of ``numpy.isnan``.
    ///
    /// Args:
    ///     x (Variable): numbers of any shape, or SelectedRows.
    ///
    /// Returns:
    ///     Variable: bool ``[1]``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([-1, 1], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.has_nan(fluid.layers.log(x))])[0].tolist()
    ///     [True]
    "tensor.has_nan(x)" => |net, a| net.has_nan(&a.var("x")?);
}

/// The result goes into the variable of this argument, if there is one.
fn into(a: &Args, name: &str) -> Result<Compare> {
    Ok(Compare::new().cond(a.opt_var(name)?))
}
