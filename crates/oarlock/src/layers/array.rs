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
    /// Writes ``x`` at index ``i`` (int64 ``[1]``) of a tensor array, a new one if ``array`` is ``None``, and returns the
    /// array.
    ///
    /// Args:
    ///     x (Variable): the input.
    ///     i (Variable): an int64 Variable of one element: the position.
    ///     array (Variable): a tensor array, of `create_array` or `array_write`.
    "control_flow.array_write(x, i, array=None)" => |net, a| match a.opt_var("array")? {
        Some(array) => net.array_write_into(&a.var("x")?, &a.var("i")?, &array).map(|()| array),
        None => net.array_write(&a.var("x")?, &a.var("i")?),
    };

    /// The tensor at index ``i`` (int64 ``[1]``) of a tensor array.
    ///
    /// Args:
    ///     array (Variable): a tensor array, of `create_array` or `array_write`.
    ///     i (Variable): an int64 Variable of one element: the position.
    "control_flow.array_read(array, i)" => |net, a| net.array_read(&a.var("array")?, &a.var("i")?);

    /// The number of tensors in a tensor array, int64 ``[1]``.
    ///
    /// Args:
    ///     array (Variable): a tensor array, of `create_array` or `array_write`.
    "control_flow.array_length(array)" => |net, a| net.array_length(&a.var("array")?);

    /// An empty tensor array.
    ///
    /// Args:
    ///     dtype (str): the element type.
    "control_flow.create_array(dtype)" => |net, a| Ok::<_, Error>(net.create_array(a.dtype("dtype")?));

    /// The sequences of ``x`` in the order of ``rank_table``.
    ///
    /// Args:
    ///     x (Variable): sequences; without LoD, rows.
    ///     rank_table (Variable): their order, made of this or another tensor.
    "control_flow.reorder_lod_tensor_by_rank(x, rank_table)"
        => |net, a| net.reorder_lod_tensor_by_rank(&a.var("x")?, &a.var("rank_table")?);

    /// A table of the sequences of a LoD level, longest first.
    ///
    /// Args:
    ///     x (Variable): a tensor with LoD.
    ///     level (int): the LoD level.
    "control_flow.lod_rank_table(x, level=0)" => |net, a| net.lod_rank_table(&a.var("x")?, a.i32("level")?);

    /// The length of the longest sequence of a rank table, int64 ``[1]``.
    ///
    /// Args:
    ///     rank_table (Variable): a rank table.
    "control_flow.max_sequence_len(rank_table)" => |net, a| net.max_sequence_len(&a.var("rank_table")?);

    /// Sequences divided by step: tensor ``t`` of the array holds row ``t`` of every sequence that is long enough.
    ///
    /// Args:
    ///     x (Variable): a tensor with LoD.
    ///     table (Variable): sequences by descending length, of `lod_rank_table`.
    "control_flow.lod_tensor_to_array(x, table)"
        => |net, a| net.lod_tensor_to_array(&a.var("x")?, &a.var("table")?);

    /// Sequences from an array of steps: the inverse of `lod_tensor_to_array`.
    ///
    /// Args:
    ///     x (Variable): an array with an entry per step.
    ///     table (Variable): sequences by descending length, of `lod_rank_table`.
    "control_flow.array_to_lod_tensor(x, table)"
        => |net, a| net.array_to_lod_tensor(&a.var("x")?, &a.var("table")?);

    /// The rows of the sequences that have a step ``i``.
    ///
    /// Args:
    ///     x (Variable): the input.
    ///     i (Variable): an int64 Variable of one element: the position.
    ///     table (Variable): sequences by descending length, of `lod_rank_table`.
    "control_flow.shrink_memory(x, i, table)"
        => |net, a| net.shrink_memory(&a.var("x")?, &a.var("i")?, &a.var("table")?);

    /// The tensors of an array joined (or stacked, with ``use_stack``) along ``axis``, and the size of each there.
    ///
    /// Args:
    ///     input (Variable): an array.
    ///     axis (int): where the entries are put together; counts from the end if negative.
    ///     use_stack (bool): along a new axis.
    "tensor.tensor_array_to_tensor(input, axis=1, name=None, use_stack=False)"
        => |net, a| net.tensor_array_to_tensor(&a.var("input")?, a.i32("axis")?, a.bool("use_stack")?);
}
