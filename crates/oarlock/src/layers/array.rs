//! Arrays of tensors, and sequences by rank: what loops over sequences are made of.

use oarlock_ir::{Error, Kind, Op, Result, Shape, Var, VarKind, VarType, fail};
use oarlock_tensor::DType;

use crate::declare::declare;
use crate::network::opaque;
use crate::{Net, VarRef};

impl Net {
    /// `create_array(dtype)`: an array without tensors.
    pub fn create_array(&mut self, dtype: DType) -> VarRef {
        let prefix = self.next_name.take().unwrap_or_else(|| self.names.generate("array"));
        self.declare(Var::new(format!("{prefix}.out"), array_of(dtype)))
    }

    /// `array_write(x, i, array=None)`: writes into a new array at index `i`, an i64 `[1]`.
    #[track_caller]
    pub fn array_write(&mut self, x: &VarRef, i: &VarRef) -> Result<VarRef> {
        let mut layer = self.layer("array_write");
        let name = format!("{}.out", layer.prefix());
        let dtype = layer.dtype(x)?;
        let array = layer.declare(Var::new(name, array_of(dtype)));
        layer.write_op(x, i, &array)?;
        Ok(array)
    }

    /// `array_write(x, i, array)`: writes into an array at index `i`.
    #[track_caller]
    pub fn array_write_into(&mut self, x: &VarRef, i: &VarRef, array: &VarRef) -> Result<()> {
        let mut layer = self.layer("array_write");
        layer.expect_array(array)?;
        layer.write_op(x, i, array)
    }

    #[track_caller]
    fn write_op(&mut self, x: &VarRef, i: &VarRef, array: &VarRef) -> Result<()> {
        self.append_op(Op::new("write_to_array").input("X", [x]).input("I", [i]).output("Out", [array]))
    }

    /// `array_read(array, i)`: the tensor at index `i`.
    #[track_caller]
    pub fn array_read(&mut self, array: &VarRef, i: &VarRef) -> Result<VarRef> {
        let mut layer = self.layer("array_read");
        layer.expect_array(array)?;
        let dtype = layer.dtype(array)?;
        layer.out(dtype, Op::new("read_from_array").input("X", [array]).input("I", [i]))
    }

    /// `array_length(array)`: how many tensors, an i64 `[1]`.
    #[track_caller]
    pub fn array_length(&mut self, array: &VarRef) -> Result<VarRef> {
        let mut layer = self.layer("array_length");
        layer.expect_array(array)?;
        let out = layer.temp_without_gradient(DType::I64);
        layer.append_op(Op::new("lod_array_length").input("X", [array]).output("Out", [&out]))?;
        Ok(out)
    }

    fn expect_array(&self, array: &VarRef) -> Result<()> {
        let ty = self.var(array)?.ty();
        if ty.kind != VarKind::TensorArray {
            fail!(Kind::Argument, "`{array}` must be an array of tensors, but it is {ty}");
        }
        Ok(())
    }

    /// `lod_rank_table(x, level=0)`: the sequences of a level, longest first.
    #[track_caller]
    pub fn lod_rank_table(&mut self, x: &VarRef, level: i32) -> Result<VarRef> {
        let mut layer = self.layer("lod_rank_table");
        let name = layer.names.generate("lod_rank_table");
        let table = layer.declare(Var::new(name, opaque(VarKind::RankTable)));
        layer.append_op(Op::new("lod_rank_table").input("X", [x]).output("Out", [&table]).attr("level", level))?;
        Ok(table)
    }

    /// `max_sequence_len(rank_table)`: the longest sequence, an i64 `[1]`.
    #[track_caller]
    pub fn max_sequence_len(&mut self, table: &VarRef) -> Result<VarRef> {
        // The misspelt name is part of the variable's name.
        let mut layer = self.layer("max_seqence_len");
        layer.out(DType::I64, Op::new("max_sequence_len").input("RankTable", [table]))
    }

    /// `lod_tensor_to_array(x, table)`: the sequences split by step: tensor `t` holds the `t`-th row of each that is long enough.
    #[track_caller]
    pub fn lod_tensor_to_array(&mut self, x: &VarRef, table: &VarRef) -> Result<VarRef> {
        let mut layer = self.layer("lod_tensor_to_array");
        let name = layer.names.generate("lod_tensor_to_array");
        let dtype = layer.dtype(x)?;
        let array = layer.declare(Var::new(name, array_of(dtype)));
        let op = Op::new("lod_tensor_to_array").input("X", [x]).input("RankTable", [table]);
        layer.append_op(op.output("Out", [&array]))?;
        Ok(array)
    }

    /// `array_to_lod_tensor(x, table)`: the way back.
    #[track_caller]
    pub fn array_to_lod_tensor(&mut self, x: &VarRef, table: &VarRef) -> Result<VarRef> {
        self.unary(x, Op::new("array_to_lod_tensor").input("RankTable", [table]))
    }

    /// `shrink_memory(x, i, table)`: the rows of the sequences that still run at step `i`.
    #[track_caller]
    pub fn shrink_memory(&mut self, x: &VarRef, i: &VarRef, table: &VarRef) -> Result<VarRef> {
        let mut layer = self.layer("shrink_memory");
        let dtype = layer.dtype(x)?;
        layer.out(dtype, Op::new("shrink_rnn_memory").input("X", [x]).input("I", [i]).input("RankTable", [table]))
    }

    /// `reorder_lod_tensor_by_rank(x, rank_table)`: sequences in the table's order.
    #[track_caller]
    pub fn reorder_lod_tensor_by_rank(&mut self, x: &VarRef, table: &VarRef) -> Result<VarRef> {
        self.unary(x, Op::new("reorder_lod_tensor_by_rank").input("RankTable", [table]))
    }

    /// `tensor_array_to_tensor(input, axis=1, use_stack=False)`: the tensors joined or stacked along a dimension, and the size of
    /// each there.
    #[track_caller]
    pub fn tensor_array_to_tensor(&mut self, input: &VarRef, axis: i32, use_stack: bool) -> Result<(VarRef, VarRef)> {
        let mut layer = self.layer("tensor_array_to_tensor");
        layer.expect_array(input)?;
        let dtype = layer.dtype(input)?;
        let (out, index) = (layer.temp(dtype), layer.temp(DType::I32));
        let op = Op::new("tensor_array_to_tensor").input("X", [input]).output("Out", [&out]);
        let op = op.output("OutIndex", [&index]);
        layer.append_op(op.attr("axis", axis).attr("use_stack", use_stack))?;
        Ok((out, index))
    }
}

/// An array of tensors of this dtype.
pub(crate) fn array_of(dtype: DType) -> VarType {
    VarType::tensor(dtype, Shape::default()).with_kind(VarKind::TensorArray)
}

declare! {
    /// Writes a tensor at a position of a tensor array.
    ///
    /// A tensor array is a list of tensors that grows while the program runs; loops keep the results of their steps in
    /// it. Gradients flow through it.
    ///
    /// Args:
    ///     x (Variable): any element type and shape.
    ///     i (Variable): int64 ``[1]``: the position, from 0 on. Positions that were skipped are empty.
    ///     array (Variable): a tensor array of ``create_array`` or ``array_write``; ``None``: a new one.
    ///
    /// Returns:
    ///     Variable: the array.
    ///
    /// Raises:
    ///     TypeError: ``i`` is no integer.
    ///
    /// Example:
    ///     >>> i, n = fluid.layers.fill_constant([1], "int64", 0), fluid.layers.fill_constant([1], "int64", 3)
    ///     >>> array = fluid.layers.create_array("int64")
    ///     >>> condition = fluid.layers.less_than(i, n)
    ///     >>> loop = fluid.layers.While(condition)
    ///     >>> with loop.block():
    ///     ...     _ = fluid.layers.array_write(i * i, i, array=array)
    ///     ...     i = fluid.layers.increment(i)
    ///     ...     _ = fluid.layers.less_than(i, n, cond=condition)
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.array_length(array)])[0].tolist()
    ///     [3]
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.array_read(array, n - 1)])[0].tolist()
    ///     [4]
    "control_flow.array_write(x, i, array=None)" => |net, a| match a.opt_var("array")? {
        Some(array) => net.array_write_into(&a.var("x")?, &a.var("i")?, &array).map(|()| array),
        None => net.array_write(&a.var("x")?, &a.var("i")?),
    };

    /// Reads the tensor at a position of a tensor array.
    ///
    /// Args:
    ///     array (Variable): a tensor array of ``create_array`` or ``array_write``.
    ///     i (Variable): int64 ``[1]``: the position, from 0 on.
    ///
    /// Returns:
    ///     Variable: the tensor.
    ///
    /// Raises:
    ///     IndexError: nothing was written there (when the program runs).
    ///
    /// Example:
    ///     >>> i = fluid.layers.fill_constant([1], "int64", 0)
    ///     >>> array = fluid.layers.array_write(fluid.layers.fill_constant([2], "float32", 7.0), i)
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.array_read(array, i)])[0].tolist()
    ///     [7.0, 7.0]
    "control_flow.array_read(array, i)" => |net, a| net.array_read(&a.var("array")?, &a.var("i")?);

    /// Returns the number of tensors in a tensor array.
    ///
    /// Args:
    ///     array (Variable): a tensor array of ``create_array`` or ``array_write``.
    ///
    /// Returns:
    ///     Variable: int64 ``[1]``.
    ///
    /// Example:
    ///     >>> i = fluid.layers.fill_constant([1], "int64", 4)
    ///     >>> array = fluid.layers.array_write(fluid.layers.ones([2], "float32"), i)
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.array_length(array)])[0].tolist()
    ///     [5]
    "control_flow.array_length(array)" => |net, a| net.array_length(&a.var("array")?);

    /// Makes an empty tensor array.
    ///
    /// Args:
    ///     dtype (dtype): the element type of its tensors.
    ///
    /// Returns:
    ///     Variable: the array.
    ///
    /// Example:
    ///     >>> array = fluid.layers.create_array("float32")
    ///     >>> i = fluid.layers.fill_constant([1], "int64", 0)
    ///     >>> array = fluid.layers.array_write(fluid.layers.ones([2], "float32"), i, array=array)
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.array_read(array, i)])[0].tolist()
    ///     [1.0, 1.0]
    "control_flow.create_array(dtype)" => |net, a| Ok::<_, Error>(net.create_array(a.dtype("dtype")?));

    /// Puts the sequences of a tensor into the order of a rank table.
    ///
    /// ``DynamicRNN`` works with sequences from the longest to the shortest; this brings another tensor into the same
    /// order.
    ///
    /// Args:
    ///     x (Variable): any element type, ``[rows, ...]`` with LoD; without LoD its rows are reordered.
    ///     rank_table (Variable): a table of ``lod_rank_table``, of this or another tensor with equally many sequences.
    ///
    /// Returns:
    ///     Variable: the shape and element type of ``x``; the LoD in the new order.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1], [2], [3], [4], [5], [6]], "float32"))
    ///     >>> x = fluid.layers.lod_reset(x, target_lod=[0, 2, 5, 6])
    ///     >>> table = fluid.layers.lod_rank_table(x)
    ///     >>> out = fluid.layers.reorder_lod_tensor_by_rank(x, table)
    ///     >>> np.array(fluid.Executor().run(fetch_list=[out], return_numpy=False)[0]).ravel().tolist()
    ///     [3.0, 4.0, 5.0, 1.0, 2.0, 6.0]
    "control_flow.reorder_lod_tensor_by_rank(x, rank_table)"
        => |net, a| net.reorder_lod_tensor_by_rank(&a.var("x")?, &a.var("rank_table")?);

    /// Makes a table of the sequences of a LoD level, from the longest to the shortest.
    ///
    /// Sequences of equal length keep their order. ``lod_tensor_to_array`` and ``DynamicRNN`` use it.
    ///
    /// Args:
    ///     x (Variable): any element type, with LoD.
    ///     level (int): the LoD level whose sequences are sorted.
    ///
    /// Returns:
    ///     Variable: the table, for the layers that take one; to fetch it is a ``TypeError``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1], [2], [3], [4], [5], [6]], "float32"))
    ///     >>> x = fluid.layers.lod_reset(x, target_lod=[0, 2, 5, 6])
    ///     >>> table = fluid.layers.lod_rank_table(x)
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.max_sequence_len(table)])[0].tolist()
    ///     [3]
    "control_flow.lod_rank_table(x, level=0)" => |net, a| net.lod_rank_table(&a.var("x")?, a.i32("level")?);

    /// Returns the length of the longest sequence of a rank table, which is the number of steps of a loop over all of
    /// them.
    ///
    /// Args:
    ///     rank_table (Variable): a table of ``lod_rank_table``.
    ///
    /// Returns:
    ///     Variable: int64 ``[1]``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1], [2], [3], [4], [5], [6]], "float32"))
    ///     >>> x = fluid.layers.lod_reset(x, target_lod=[0, 2, 5, 6])
    ///     >>> out = fluid.layers.max_sequence_len(fluid.layers.lod_rank_table(x))
    ///     >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
    ///     [3]
    "control_flow.max_sequence_len(rank_table)" => |net, a| net.max_sequence_len(&a.var("rank_table")?);

    /// Divides sequences by step: tensor ``t`` of the array holds row ``t`` of every sequence that is long enough.
    ///
    /// Rows of a step are in the order of the table, from the longest sequence to the shortest, so that those of later
    /// steps are always the first ones of earlier steps. ``array_to_lod_tensor`` is the inverse.
    ///
    /// Args:
    ///     x (Variable): any element type, ``[rows, ...]`` with LoD.
    ///     table (Variable): a table of ``lod_rank_table`` for ``x``.
    ///
    /// Returns:
    ///     Variable: a tensor array with one tensor per step.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1], [2], [3], [4], [5], [6]], "float32"))
    ///     >>> x = fluid.layers.lod_reset(x, target_lod=[0, 2, 5, 6])
    ///     >>> array = fluid.layers.lod_tensor_to_array(x, fluid.layers.lod_rank_table(x))
    ///     >>> second = fluid.layers.array_read(array, fluid.layers.fill_constant([1], "int64", 1))
    ///     >>> fluid.Executor().run(fetch_list=[second])[0].tolist()
    ///     [[4.0], [2.0]]
    "control_flow.lod_tensor_to_array(x, table)"
        => |net, a| net.lod_tensor_to_array(&a.var("x")?, &a.var("table")?);

    /// Puts sequences together again from an array of steps: the inverse of ``lod_tensor_to_array``.
    ///
    /// Args:
    ///     x (Variable): a tensor array with one tensor per step.
    ///     table (Variable): the table with which the steps were made.
    ///
    /// Returns:
    ///     Variable: ``[rows, ...]`` with the sequences in their original order.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1], [2], [3], [4], [5], [6]], "float32"))
    ///     >>> x = fluid.layers.lod_reset(x, target_lod=[0, 2, 5, 6])
    ///     >>> table = fluid.layers.lod_rank_table(x)
    ///     >>> array = fluid.layers.lod_tensor_to_array(x, table)
    ///     >>> out = fluid.layers.array_to_lod_tensor(array, table)
    ///     >>> np.array(fluid.Executor().run(fetch_list=[out], return_numpy=False)[0]).ravel().tolist()
    ///     [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    "control_flow.array_to_lod_tensor(x, table)"
        => |net, a| net.array_to_lod_tensor(&a.var("x")?, &a.var("table")?);

    /// Takes the first rows of a state: those of the sequences that still have a step ``i``.
    ///
    /// States are in the order of the table, so that ended sequences are at the end.
    ///
    /// Args:
    ///     x (Variable): any element type, ``[sequences, ...]``: the state after the step before.
    ///     i (Variable): int64 ``[1]``: the number of the step, from 0 on.
    ///     table (Variable): a table of ``lod_rank_table``.
    ///
    /// Returns:
    ///     Variable: ``[sequences longer than i, ...]``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1], [2], [3], [4], [5], [6]], "float32"))
    ///     >>> x = fluid.layers.lod_reset(x, target_lod=[0, 2, 5, 6])
    ///     >>> table = fluid.layers.lod_rank_table(x)
    ///     >>> state = fluid.layers.assign(np.array([[10], [20], [30]], "float32"))
    ///     >>> step = fluid.layers.fill_constant([1], "int64", 1)
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.shrink_memory(state, step, table)])[0].tolist()
    ///     [[10.0], [20.0]]
    "control_flow.shrink_memory(x, i, table)"
        => |net, a| net.shrink_memory(&a.var("x")?, &a.var("i")?, &a.var("table")?);

    /// Joins the tensors of an array along a dimension, or stacks them along a new one.
    ///
    /// Args:
    ///     input (Variable): a tensor array of ``create_array`` or ``array_write``; its tensors fit together as those
    ///         of ``concat`` or ``stack`` do.
    ///     axis (int): the dimension; negative ones count from the end.
    ///     use_stack (bool): stack along a new dimension instead of joining along an existing one.
    ///
    /// Returns:
    ///     tuple: (out, sizes): the joined tensor, and int32 ``[tensors]``: the size of each tensor along ``axis``; 1
    ///         with ``use_stack``.
    ///
    /// Example:
    ///     >>> i = fluid.layers.fill_constant([1], "int64", 0)
    ///     >>> array = fluid.layers.array_write(fluid.layers.ones([1, 2], "float32"), i)
    ///     >>> i = fluid.layers.increment(i)
    ///     >>> array = fluid.layers.array_write(fluid.layers.zeros([1, 1], "float32"), i, array=array)
    ///     >>> out, sizes = fluid.layers.tensor_array_to_tensor(array, axis=1)
    ///     >>> [a.tolist() for a in fluid.Executor().run(fetch_list=[out, sizes])]
    ///     [[[1.0, 1.0, 0.0]], [2, 1]]
    "tensor.tensor_array_to_tensor(input, axis=1, name=None, use_stack=False)"
        => |net, a| net.tensor_array_to_tensor(&a.var("input")?, a.i32("axis")?, a.bool("use_stack")?);
}
