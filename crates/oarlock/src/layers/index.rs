//! Choosing, sorting and placing elements by index.

use oarlock_ir::{Kind, Op, Result, Shape, Var, VarType, fail};
use oarlock_tensor::DType;

use crate::declare::{declare, refs};
use crate::{Net, VarRef};

impl Net {
    /// `gather(input, index, overwrite=True)`: rows by their index.
    #[track_caller]
    pub fn gather(&mut self, input: &VarRef, index: &VarRef, overwrite: bool) -> Result<VarRef> {
        self.unary(input, Op::new("gather").input("Index", [index]).attr("overwrite", overwrite))
    }

    /// `gather_nd(input, index)`: slices by the indices in the last dimension of `index`.
    #[track_caller]
    pub fn gather_nd(&mut self, input: &VarRef, index: &VarRef) -> Result<VarRef> {
        self.unary(input, Op::new("gather_nd").input("Index", [index]))
    }

    /// `scatter(input, index, updates, overwrite=True)`: rows replaced, or summed up without `overwrite`.
    #[track_caller]
    pub fn scatter(&mut self, input: &VarRef, index: &VarRef, updates: &VarRef, overwrite: bool) -> Result<VarRef> {
        let op = Op::new("scatter").input("Ids", [index]).input("Updates", [updates]);
        self.unary(input, op.attr("overwrite", overwrite))
    }

    /// `scatter_nd_add(ref, index, updates)`: slices added at indices.
    #[track_caller]
    pub fn scatter_nd_add(&mut self, to: &VarRef, index: &VarRef, updates: &VarRef) -> Result<VarRef> {
        self.unary(to, Op::new("scatter_nd_add").input("Index", [index]).input("Updates", [updates]))
    }

    /// `scatter_nd(index, updates, shape)`: slices added to zeros.
    #[track_caller]
    pub fn scatter_nd(&mut self, index: &VarRef, updates: &VarRef, shape: &[i64]) -> Result<VarRef> {
        let dtype = self.dtype(updates)?;
        let zeros = self.fill_constant(shape, dtype, 0.0)?;
        self.scatter_nd_add(&zeros, index, updates)
    }

    /// `index_select(input, index, dim=0)`: slices of a dimension.
    #[track_caller]
    pub fn index_select(&mut self, input: &VarRef, index: &VarRef, dim: i32) -> Result<VarRef> {
        self.unary(input, Op::new("index_select").input("Index", [index]).attr("dim", dim))
    }

    /// `where(condition)`: the indices of what is true.
    #[track_caller]
    pub fn where_index(&mut self, condition: &VarRef) -> Result<VarRef> {
        self.layer("where_index").out(DType::I64, Op::new("where_index").input("Condition", [condition]))
    }

    /// `multiplex(inputs, index)`: row `i` of the input that `index[i]` names.
    #[track_caller]
    pub fn multiplex(&mut self, inputs: &[&VarRef], index: &VarRef) -> Result<VarRef> {
        if inputs.len() < 2 {
            fail!(Kind::Argument, "`multiplex` chooses between at least two variables");
        }
        let dtype = self.first_dtype("multiplex", inputs)?;
        let op = Op::new("multiplex").input("X", inputs.iter().copied()).input("Ids", [index]);
        self.layer("multiplex").out(dtype, op)
    }

    /// `shard_index(input, index_num, nshards, shard_id, ignore_value=-1)`: ids within their shard.
    #[track_caller]
    pub fn shard_index(
        &mut self,
        input: &VarRef,
        index_num: i32,
        nshards: i32,
        shard_id: i32,
        ignore_value: i32,
    ) -> Result<VarRef> {
        if !(0..nshards).contains(&shard_id) {
            fail!(Kind::Range, "`shard_index`: shard {shard_id} is not one of {nshards}");
        }
        let op = Op::new("shard_index").attr("index_num", index_num).attr("nshards", nshards);
        let mut layer = self.layer("shard_index");
        let dtype = layer.dtype(input)?;
        let out =
            layer.out(dtype, op.input("X", [input]).attr("shard_id", shard_id).attr("ignore_value", ignore_value))?;
        layer.stop_gradient(&out)?;
        Ok(out)
    }

    /// `topk(input, k)`: the largest of each row, and their indices.
    #[track_caller]
    pub fn topk(&mut self, input: &VarRef, k: i32) -> Result<(VarRef, VarRef)> {
        self.topk_op(input, Op::new("top_k").attr("k", k))
    }

    /// `topk(input, k)` with `k` in a variable `[1]`.
    #[track_caller]
    pub fn topk_var(&mut self, input: &VarRef, k: &VarRef) -> Result<(VarRef, VarRef)> {
        self.topk_op(input, Op::new("top_k").input("K", [k]))
    }

    #[track_caller]
    fn topk_op(&mut self, input: &VarRef, op: Op) -> Result<(VarRef, VarRef)> {
        let mut layer = self.layer("top_k");
        let dtype = layer.dtype(input)?;
        let (values, indices) = (layer.temp_without_gradient(dtype), layer.temp_without_gradient(DType::I64));
        layer.append_op(op.input("X", [input]).output("Out", [&values]).output("Indices", [&indices]))?;
        Ok((values, indices))
    }

    /// `argmax(x, axis=0)`: where along a dimension the largest element stands.
    #[track_caller]
    pub fn argmax(&mut self, x: &VarRef, axis: i64) -> Result<VarRef> {
        self.layer("arg_max").out(DType::I64, Op::new("arg_max").input("X", [x]).attr("axis", axis))
    }

    /// `argmin(x, axis=0)`: where along a dimension the smallest element stands.
    #[track_caller]
    pub fn argmin(&mut self, x: &VarRef, axis: i64) -> Result<VarRef> {
        self.layer("arg_min").out(DType::I64, Op::new("arg_min").input("X", [x]).attr("axis", axis))
    }

    /// `argsort(input, axis=-1, descending=False)`: sorted along a dimension, and where each element stood.
    #[track_caller]
    pub fn argsort(&mut self, input: &VarRef, axis: i32, descending: bool) -> Result<(VarRef, VarRef)> {
        let mut layer = self.layer("argsort");
        let dtype = layer.dtype(input)?;
        let (out, indices) = (layer.temp_without_gradient(dtype), layer.temp_without_gradient(DType::I64));
        let op = Op::new("argsort").input("X", [input]).output("Out", [&out]).output("Indices", [&indices]);
        layer.append_op(op.attr("axis", axis).attr("descending", descending))?;
        Ok((out, indices))
    }

    /// `unique(x, dtype='int32')`: each element once, and for each element of `x` its place there.
    #[track_caller]
    pub fn unique_of(&mut self, x: &VarRef, index_dtype: DType) -> Result<(VarRef, VarRef)> {
        let mut layer = self.layer("unique");
        let dtype = layer.dtype(x)?;
        let (out, index) = (layer.temp(dtype), layer.temp(index_dtype));
        let op = Op::new("unique").input("X", [x]).output("Out", [&out]).output("Index", [&index]);
        layer.append_op(op.attr("dtype", index_dtype.proto()))?;
        Ok((out, index))
    }

    /// `unique_with_counts(x, dtype='int32')`: as [`Net::unique_of`], and how often each element occurs.
    #[track_caller]
    pub fn unique_with_counts(&mut self, x: &VarRef, index_dtype: DType) -> Result<(VarRef, VarRef, VarRef)> {
        let mut layer = self.layer("unique_with_counts");
        let dtype = layer.dtype(x)?;
        let (out, index, count) = (layer.temp(dtype), layer.temp(index_dtype), layer.temp(index_dtype));
        let op = Op::new("unique_with_counts").input("X", [x]).output("Out", [&out]);
        let op = op.output("Index", [&index]).output("Count", [&count]);
        layer.append_op(op.attr("dtype", index_dtype.proto()))?;
        Ok((out, index, count))
    }

    /// `diag(diagonal)`: a matrix with this diagonal.
    #[track_caller]
    pub fn diag(&mut self, diagonal: &VarRef) -> Result<VarRef> {
        let dtype = self.dtype(diagonal)?;
        self.layer("diag").out(dtype, Op::new("diag").input("Diagonal", [diagonal]))
    }
    /// `diag_embed(input, offset=0, dim1=-2, dim2=-1)`: matrices with the rows of `input` on a diagonal; `dims` are the axes of
    /// rows and columns.
    #[track_caller]
    pub fn diag_embed(&mut self, input: &VarRef, offset: i32, dims: (i32, i32)) -> Result<VarRef> {
        let dtype = self.dtype(input)?;
        let op = Op::new("diag_embed").input("Input", [input]).attr("offset", offset);
        self.layer("diag_embed").out(dtype, op.attr("dim1", dims.0).attr("dim2", dims.1))
    }

    /// `meshgrid(input)`: the coordinates of a grid, a tensor per list.
    #[track_caller]
    pub fn meshgrid(&mut self, input: &[&VarRef]) -> Result<Vec<VarRef>> {
        let dtype = self.first_dtype("meshgrid", input)?;
        let mut layer = self.layer("meshgrid");
        let out: Vec<VarRef> = input.iter().map(|_| layer.temp(dtype)).collect();
        layer.append_op(Op::new("meshgrid").input("X", input.iter().copied()).output("Out", &out))?;
        Ok(out)
    }

    /// `tril(input, diagonal=0)`: the lower triangle; elements above the diagonal are zero.
    #[track_caller]
    pub fn tril(&mut self, input: &VarRef, diagonal: i32) -> Result<VarRef> {
        self.triangle("tril", input, diagonal, true)
    }

    /// `triu(input, diagonal=0)`: the upper triangle; elements below the diagonal are zero.
    #[track_caller]
    pub fn triu(&mut self, input: &VarRef, diagonal: i32) -> Result<VarRef> {
        self.triangle("triu", input, diagonal, false)
    }

    /// Fluid gives the result the layer's own name.
    #[track_caller]
    fn triangle(&mut self, name: &str, input: &VarRef, diagonal: i32, lower: bool) -> Result<VarRef> {
        let dtype = self.dtype(input)?;
        let mut layer = self.layer(name);
        let prefix = layer.prefix().to_string();
        let out = layer.declare(Var::new(prefix, VarType::tensor(dtype, Shape::default())));
        let op = Op::new("tril_triu").input("X", [input]).output("Out", [&out]);
        layer.append_op(op.attr("diagonal", diagonal).attr("lower", lower))?;
        Ok(out)
    }

    /// `trace(input, offset=0, dim1=0, dim2=1)`: the sum of a diagonal.
    #[track_caller]
    pub fn trace(&mut self, input: &VarRef, offset: i32, dims: (i32, i32)) -> Result<VarRef> {
        let dtype = self.dtype(input)?;
        let op = Op::new("trace").input("Input", [input]).attr("offset", offset);
        self.layer("trace").out(dtype, op.attr("dim1", dims.0).attr("dim2", dims.1))
    }

    /// `hash(input, hash_size, num_hash=1)`: rows of ids as `num_hash` numbers below `hash_size`.
    #[track_caller]
    pub fn hash(&mut self, input: &VarRef, hash_size: i64, num_hash: i32) -> Result<VarRef> {
        let dtype = self.dtype(input)?;
        let op = Op::new("hash").input("X", [input]).attr("num_hash", num_hash).attr("mod_by", hash_size);
        self.layer("hash").out(dtype, op)
    }

    /// `filter_by_instag(ins, ins_tag, filter_tag, is_lod, out_val_if_empty=0)`: the instances that have a wanted tag, and the
    /// weight of each in a loss.
    #[track_caller]
    pub fn filter_by_instag(
        &mut self,
        ins: &VarRef,
        tags: (&VarRef, &VarRef),
        is_lod: bool,
        out_val_if_empty: i64,
    ) -> Result<(VarRef, VarRef)> {
        let dtype = self.dtype(ins)?;
        let mut layer = self.layer("filter_by_instag");
        let (out, weight, map) = (layer.temp(dtype), layer.temp(DType::F64), layer.temp(DType::I64));
        let op = Op::new("filter_by_instag")
            .input("Ins", [ins])
            .input("Ins_tag", [tags.0])
            .input("Filter_tag", [tags.1])
            .output("Out", [&out])
            .output("LossWeight", [&weight])
            .output("IndexMap", [&map])
            .attr("is_lod", is_lod)
            .attr("out_val_if_empty", out_val_if_empty);
        layer.append_op(op)?;
        Ok((out, weight))
    }
}

declare! {
    /// The rows of ``input`` whose numbers are in ``index``.
    ///
    /// Args:
    ///     input (Variable): any tensor.
    ///     index (Variable): i32 or i64, [n] or [n, 1].
    ///     overwrite (bool): in the gradient, the last of several uses of a row wins; false: they are summed.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1], [2], [3]], "float32"))
    ///     >>> rows = fluid.layers.gather(x, fluid.layers.assign(np.array([2, 0], "int32")))
    ///     >>> fluid.Executor().run(fetch_list=[rows])[0].tolist()
    ///     [[3.0], [1.0]]
    "nn.gather(input, index, overwrite=True)"
        => |net, a| net.gather(&a.var("input")?, &a.var("index")?, a.bool("overwrite")?);

    /// The slices of ``input`` at the indices in the last dimension of ``index``.
    ///
    /// Args:
    ///     input (Variable): any tensor.
    ///     index (Variable): i32 or i64, [..., k]: indices along the first k axes of `X`.
    "nn.gather_nd(input, index, name=None)" => |net, a| net.gather_nd(&a.var("input")?, &a.var("index")?);

    /// ``input`` with the rows ``index`` replaced by ``updates``; without ``overwrite`` rows of ``updates`` are summed there.
    ///
    /// Args:
    ///     input (Variable): any tensor of numbers.
    ///     index (Variable): int32 or int64 positions.
    ///     updates (Variable): [n], then the other axes of `X`.
    ///     overwrite (bool): the last update of a row wins; false: rows start from 0 and all updates are summed.
    "nn.scatter(input, index, updates, name=None, overwrite=True)"
        => |net, a| net.scatter(&a.var("input")?, &a.var("index")?, &a.var("updates")?, a.bool("overwrite")?);

    /// The index of the largest element along ``axis``, int64.
    ///
    /// Args:
    ///     x (Variable): the input.
    ///     axis (int): the dimension.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 5, 3]], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.argmax(x, axis=1)])[0].tolist()
    ///     [1]
    "tensor.argmax(x, axis=0)" => |net, a| net.argmax(&a.var("x")?, a.i64("axis")?);

    /// The index of the smallest element along ``axis``, int64.
    ///
    /// Args:
    ///     x (Variable): the input.
    ///     axis (int): the dimension.
    "tensor.argmin(x, axis=0)" => |net, a| net.argmin(&a.var("x")?, a.i64("axis")?);

    /// The elements sorted along ``axis``, and the index that each had before.
    ///
    /// Args:
    ///     input (Variable): any tensor of numbers.
    ///     axis (int): the axis; negative ones count from the end.
    ///     descending (bool): the largest first.
    "tensor.argsort(input, axis=-1, descending=False, name=None)"
        => |net, a| net.argsort(&a.var("input")?, a.i32("axis")?, a.bool("descending")?);

    /// The ``k`` largest elements of each row, and their indices.
    ///
    /// Args:
    ///     input (Variable): the input.
    ///     k (Variable or int): the number of elements per row, also as a Variable.
    ///
    /// Returns:
    ///     tuple: values and int64 indices, both ``[..., k]``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 5, 3]], "float32"))
    ///     >>> values, indices = fluid.layers.topk(x, 2)
    ///     >>> [a.tolist() for a in fluid.Executor().run(fetch_list=[values, indices])]
    ///     [[[5.0, 3.0]], [[1, 2]]]
    "nn.topk(input, k, name=None)" => |net, a| match a.is_var("k") {
        true => net.topk_var(&a.var("input")?, &a.var("k")?),
        false => net.topk(&a.var("input")?, a.i32("k")?),
    };

    /// ``ref`` with ``updates`` added at the indices in the last dimension of ``index``.
    ///
    /// Args:
    ///     ref (Variable): the tensor that is added to.
    ///     index (Variable): i32 or i64, [..., k]: indices along the first k axes of `X`.
    ///     updates (Variable): the axes of `Index` but the last, then the axes of `X` from k on.
    "nn.scatter_nd_add(ref, index, updates, name=None)"
        => |net, a| net.scatter_nd_add(&a.var("ref")?, &a.var("index")?, &a.var("updates")?);

    /// Zeros of ``shape`` with ``updates`` added at the indices in the last dimension of ``index``.
    ///
    /// Args:
    ///     index (Variable): int32 or int64 positions.
    ///     updates (Variable): the values to add, one (slice) per index.
    ///     shape (int or list): sizes of the result.
    "nn.scatter_nd(index, updates, shape, name=None)"
        => |net, a| net.scatter_nd(&a.var("index")?, &a.var("updates")?, &a.i64s("shape")?);

    /// The slices ``index`` of dimension ``dim``.
    ///
    /// Args:
    ///     input (Variable): any tensor.
    ///     index (Variable): [k] or [k, 1], i32 or i64.
    ///     dim (int): the axis; negative ones count from the end.
    "nn.index_select(input, index, dim=0)"
        => |net, a| net.index_select(&a.var("input")?, &a.var("index")?, a.i32("dim")?);

    /// The indices of the true elements, int64 ``[n, rank of condition]``.
    ///
    /// Args:
    ///     condition (Variable): bool.
    "nn.where(condition)" => |net, a| net.where_index(&a.var("condition")?);

    /// The distinct elements of a 1-D tensor in the order of their first occurrence, and for each element of ``x`` its index
    /// among them.
    ///
    /// Args:
    ///     x (Variable): [n], numbers.
    ///     dtype (str): element type of indices and counts: i32 or i64 (must be set).
    "nn.unique(x, dtype='int32')" => |net, a| net.unique_of(&a.var("x")?, a.dtype("dtype")?);

    /// `unique`, and the number of occurrences of each distinct element.
    ///
    /// Args:
    ///     x (Variable): [n], numbers.
    ///     dtype (str): element type of indices and counts: i32 or i64 (must be set).
    "nn.unique_with_counts(x, dtype='int32')" => |net, a| net.unique_with_counts(&a.var("x")?, a.dtype("dtype")?);

    /// Row ``i`` of the result is row ``i`` of the input with number ``index[i]``.
    ///
    /// Args:
    ///     inputs (Variable or list): tensors of one shape, ``[batch, ...]``.
    ///     index (Variable): ``[batch, 1]``, int32 or int64: from which input each row comes.
    "nn.multiplex(inputs, index)" => |net, a| net.multiplex(&refs(&a.vars("inputs")?), &a.var("index")?);

    /// Ids as numbers within their shard: ids of other shards than ``shard_id`` become ``ignore_value``.
    ///
    /// Args:
    ///     input (Variable): ids from 0 on, i32 or i64; the last size is 1.
    ///     index_num (int): how many ids there are (must be set).
    ///     nshards (int): how many shards there are (must be set).
    ///     shard_id (int): which of them this is (must be set).
    ///     ignore_value (int): what stands for ids of other shards.
    "nn.shard_index(input, index_num, nshards, shard_id, ignore_value=-1)"
        => |net, a| net.shard_index(&a.var("input")?, a.i32("index_num")?, a.i32("nshards")?, a.i32("shard_id")?,
        a.i32("ignore_value")?);

    /// A square matrix with ``diagonal`` on its diagonal and zeros elsewhere.
    ///
    /// Args:
    ///     diagonal (Variable or numpy.ndarray): [n], any dtype.
    "tensor.diag(diagonal)" => |net, a| match a.is_var("diagonal") {
        true => net.diag(&a.var("diagonal")?),
        false => {
            let diagonal = net.assign_value(&a.tensor("diagonal")?)?;
            net.diag(&diagonal)
        }
    };

    /// Matrices with the last dimension of ``input`` on a diagonal; ``dim1`` and ``dim2`` are the dimensions of rows and
    /// columns.
    ///
    /// Args:
    ///     input (Variable): [..., n], any dtype.
    ///     offset (int): how far above the main diagonal; below if negative.
    ///     dim1 (int): the axis of rows; negative ones count from the end.
    ///     dim2 (int): the axis of columns.
    "nn.diag_embed(input, offset=0, dim1=-2, dim2=-1)"
        => |net, a| net.diag_embed(&a.var("input")?, a.i32("offset")?, (a.i32("dim1")?, a.i32("dim2")?));

    /// Coordinates of a grid: for ``n`` vectors, ``n`` tensors of ``n`` dimensions.
    ///
    /// Args:
    ///     input (Variable or list): lists, [n] each.
    "nn.meshgrid(input, name=None)" => |net, a| net.meshgrid(&refs(&a.vars("input")?));

    /// The lower triangle; elements above the diagonal are zero.
    ///
    /// Args:
    ///     input (Variable): the input.
    ///     diagonal (int): which diagonal: 0 is the main one, positive ones lie above it.
    "nn.tril(input, diagonal=0, name=None)" => |net, a| net.tril(&a.var("input")?, a.i32("diagonal")?);

    /// The upper triangle; elements below the diagonal are zero.
    ///
    /// Args:
    ///     input (Variable): the input.
    ///     diagonal (int): which diagonal: 0 is the main one, positive ones lie above it.
    "nn.triu(input, diagonal=0, name=None)" => |net, a| net.triu(&a.var("input")?, a.i32("diagonal")?);

    /// The sums of a diagonal.
    ///
    /// Args:
    ///     input (Variable): numbers, at least two axes.
    ///     offset (int): how far above the main diagonal; below if negative.
    ///     dim1 (int): the axis of rows; negative ones count from the end.
    ///     dim2 (int): the axis of columns.
    ///     out (Variable): the result goes into this Variable; ``None``: a new one.
    "nn.trace(input, offset=0, dim1=0, dim2=1, out=None, name=None)"
        => |net, a| net.trace(&a.var("input")?, a.i32("offset")?, (a.i32("dim1")?, a.i32("dim2")?));

    /// Rows of ids as `num_hash` numbers below `hash_size`.
    ///
    /// Args:
    ///     input (Variable): i32 or i64; the last dimension is hashed as a whole.
    ///     hash_size (int): hashes lie in ``[0, hash_size)``.
    ///     num_hash (int): how many hashes of each row, with seeds 0, 1, ...
    "nn.hash(input, hash_size, num_hash=1, name=None)"
        => |net, a| net.hash(&a.var("input")?, a.i64("hash_size")?, a.i32("num_hash")?);

    /// The instances that have a wanted tag, and the weight of each in a loss.
    ///
    /// Args:
    ///     ins (Variable): instances: sequences if is_lod, else rows.
    ///     ins_tag (Variable): i64 tags, a sequence per instance.
    ///     filter_tag (Variable): i64 tags to keep.
    ///     is_lod (bool): instances are sequences of `Ins` (must be set).
    ///     out_val_if_empty (int): what `Out` holds if no instance is kept.
    "nn.filter_by_instag(ins, ins_tag, filter_tag, is_lod, out_val_if_empty=0)"
        => |net, a| net.filter_by_instag(&a.var("ins")?, (&a.var("ins_tag")?, &a.var("filter_tag")?),
        a.bool("is_lod")?, a.i64("out_val_if_empty")?);
}
