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
    /// Takes the rows of ``input`` whose numbers are in ``index``.
    ///
    /// Args:
    ///     input (Variable): any element type, ``[rows, ...]``.
    ///     index (Variable): int32 or int64, ``[n]`` or ``[n, 1]``; numbers from 0 to ``rows - 1``.
    ///     overwrite (bool): how the gradient treats a row that occurs several times: ``True`` keeps one of its
    ///         gradients, ``False`` sums them.
    ///
    /// Returns:
    ///     Variable: ``[n, ...]``: row ``i`` is row ``index[i]`` of ``input``.
    ///
    /// Raises:
    ///     IndexError: an index is outside of the rows (when the program runs).
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4], [5, 6]], "float32"))
    ///     >>> index = fluid.layers.assign(np.array([2, 0], "int64"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.gather(x, index)])[0].tolist()
    ///     [[5.0, 6.0], [1.0, 2.0]]
    "nn.gather(input, index, overwrite=True)"
        => |net, a| net.gather(&a.var("input")?, &a.var("index")?, a.bool("overwrite")?);

    /// Takes elements or slices at indices with several coordinates.
    ///
    /// The last dimension of ``index`` holds ``k`` coordinates along the first ``k`` dimensions of ``input``. With as
    /// many coordinates as dimensions they address elements, with fewer whole slices.
    ///
    /// Args:
    ///     input (Variable): any element type and shape.
    ///     index (Variable): int32 or int64, ``[..., k]``.
    ///
    /// Returns:
    ///     Variable: the shape of ``index`` without its last dimension, then the dimensions of ``input`` from ``k`` on.
    ///
    /// Raises:
    ///     IndexError: an index is outside of ``input`` (when the program runs).
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
    ///     >>> index = fluid.layers.assign(np.array([[0, 1], [1, 0]], "int64"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.gather_nd(x, index)])[0].tolist()
    ///     [2.0, 3.0]
    ///     >>> row = fluid.layers.assign(np.array([[1]], "int64"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.gather_nd(x, row)])[0].tolist()
    ///     [[3.0, 4.0]]
    "nn.gather_nd(input, index, name=None)" => |net, a| net.gather_nd(&a.var("input")?, &a.var("index")?);

    /// Replaces the rows ``index`` of ``input`` by ``updates``, or sums ``updates`` there.
    ///
    /// Args:
    ///     input (Variable): numbers, ``[rows, ...]``; it does not change itself.
    ///     index (Variable): int32 or int64, ``[n]``.
    ///     updates (Variable): the element type of ``input``, ``[n, ...]``: a row per index.
    ///     overwrite (bool): ``True``: of several updates of one row the last one stays; ``False``: the rows of
    ///         ``index`` are set to 0 and all their updates are added.
    ///
    /// Returns:
    ///     Variable: the shape and element type of ``input``.
    ///
    /// Raises:
    ///     IndexError: an index is outside of the rows (when the program runs).
    ///     fluid.core.EnforceNotMet: the sizes of ``updates`` do not fit those of ``input``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.ones([3, 2], "float32")
    ///     >>> index = fluid.layers.assign(np.array([2, 0, 2], "int64"))
    ///     >>> updates = fluid.layers.assign(np.array([[1, 1], [2, 2], [3, 3]], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.scatter(x, index, updates)])[0].tolist()
    ///     [[2.0, 2.0], [1.0, 1.0], [3.0, 3.0]]
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.scatter(x, index, updates, overwrite=False)])[0].tolist()
    ///     [[2.0, 2.0], [1.0, 1.0], [4.0, 4.0]]
    "nn.scatter(input, index, updates, name=None, overwrite=True)"
        => |net, a| net.scatter(&a.var("input")?, &a.var("index")?, &a.var("updates")?, a.bool("overwrite")?);

    /// Finds the position of the largest element along a dimension.
    ///
    /// Of several equal ones the first counts. No gradient flows through it.
    ///
    /// Args:
    ///     x (Variable): numbers, any shape.
    ///     axis (int): the dimension; negative ones count from the end.
    ///
    /// Returns:
    ///     Variable: int64, the shape of ``x`` without dimension ``axis``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``x`` has no dimension ``axis``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 5, 3], [9, 8, 7]], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.argmax(x, axis=1)])[0].tolist()
    ///     [1, 0]
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.argmax(x, axis=0)])[0].tolist()
    ///     [1, 1, 1]
    "tensor.argmax(x, axis=0)" => |net, a| net.argmax(&a.var("x")?, a.i64("axis")?);

    /// Finds the position of the smallest element along a dimension.
    ///
    /// Of several equal ones the first counts. No gradient flows through it.
    ///
    /// Args:
    ///     x (Variable): numbers, any shape.
    ///     axis (int): the dimension; negative ones count from the end.
    ///
    /// Returns:
    ///     Variable: int64, the shape of ``x`` without dimension ``axis``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``x`` has no dimension ``axis``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 5, 3], [9, 8, 7]], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.argmin(x, axis=1)])[0].tolist()
    ///     [0, 2]
    "tensor.argmin(x, axis=0)" => |net, a| net.argmin(&a.var("x")?, a.i64("axis")?);

    /// Sorts the elements along a dimension, and tells where each of them was.
    ///
    /// Args:
    ///     input (Variable): float32, float64, int32 or int64, any shape.
    ///     axis (int): the dimension; negative ones count from the end.
    ///     descending (bool): the largest element first.
    ///
    /// Returns:
    ///     tuple: (sorted, indices): both with the shape of ``input``; the indices are int64.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``input`` has no dimension ``axis``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[3, 1, 2]], "float32"))
    ///     >>> values, indices = fluid.layers.argsort(x, axis=-1)
    ///     >>> [a.tolist() for a in fluid.Executor().run(fetch_list=[values, indices])]
    ///     [[[1.0, 2.0, 3.0]], [[1, 2, 0]]]
    "tensor.argsort(input, axis=-1, descending=False, name=None)"
        => |net, a| net.argsort(&a.var("input")?, a.i32("axis")?, a.bool("descending")?);

    /// Finds the ``k`` largest elements of each row and their positions.
    ///
    /// Rows are the last dimension. The largest element comes first. The gradient goes to the elements that were taken.
    ///
    /// Args:
    ///     input (Variable): float32, float64, int32 or int64, ``[..., n]``.
    ///     k (Variable or int): the number of elements per row, at most ``n``; a Variable is int32 ``[1]``.
    ///
    /// Returns:
    ///     tuple: (values, indices): both ``[..., k]``; the indices are int64.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``k`` is less than 1 or larger than a row.
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

    /// Adds ``updates`` to elements or slices of ``ref`` at indices with several coordinates.
    ///
    /// The last dimension of ``index`` holds ``k`` coordinates along the first ``k`` dimensions of ``ref``. Updates of
    /// an index that occurs several times are all added.
    ///
    /// Args:
    ///     ref (Variable): numbers, any shape; it does not change itself.
    ///     index (Variable): int32 or int64, ``[..., k]``.
    ///     updates (Variable): the element type of ``ref``; the shape of ``index`` without its last dimension, then the
    ///         dimensions of ``ref`` from ``k`` on.
    ///
    /// Returns:
    ///     Variable: the shape and element type of ``ref``.
    ///
    /// Raises:
    ///     IndexError: an index is outside of ``ref`` (when the program runs).
    ///
    /// Example:
    ///     >>> ref = fluid.layers.ones([3], "float32")
    ///     >>> index = fluid.layers.assign(np.array([[1], [2], [1]], "int64"))
    ///     >>> updates = fluid.layers.assign(np.array([10, 20, 30], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.scatter_nd_add(ref, index, updates)])[0].tolist()
    ///     [1.0, 41.0, 21.0]
    "nn.scatter_nd_add(ref, index, updates, name=None)"
        => |net, a| net.scatter_nd_add(&a.var("ref")?, &a.var("index")?, &a.var("updates")?);

    /// Adds ``updates`` at indices with several coordinates to a tensor of zeros.
    ///
    /// It is ``scatter_nd_add`` with ``ref`` all 0.
    ///
    /// Args:
    ///     index (Variable): int32 or int64, ``[..., k]``: coordinates along the first ``k`` dimensions of the result.
    ///     updates (Variable): float32 or float64; the shape of ``index`` without its last dimension, then the sizes of
    ///         ``shape`` from ``k`` on.
    ///     shape (list or tuple): the sizes of the result.
    ///
    /// Returns:
    ///     Variable: ``shape``, the element type of ``updates``.
    ///
    /// Raises:
    ///     IndexError: an index is outside of ``shape`` (when the program runs).
    ///
    /// Example:
    ///     >>> index = fluid.layers.assign(np.array([[1], [3]], "int64"))
    ///     >>> updates = fluid.layers.assign(np.array([9, 10], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.scatter_nd(index, updates, shape=[5])])[0].tolist()
    ///     [0.0, 9.0, 0.0, 10.0, 0.0]
    "nn.scatter_nd(index, updates, shape, name=None)"
        => |net, a| net.scatter_nd(&a.var("index")?, &a.var("updates")?, &a.i64s("shape")?);

    /// Takes the slices of dimension ``dim`` whose numbers are in ``index``.
    ///
    /// ``gather`` is the same for dimension 0.
    ///
    /// Args:
    ///     input (Variable): any element type and shape.
    ///     index (Variable): int32 or int64, ``[n]``.
    ///     dim (int): the dimension; negative ones count from the end.
    ///
    /// Returns:
    ///     Variable: the shape of ``input`` with size ``n`` along ``dim``.
    ///
    /// Raises:
    ///     IndexError: an index is outside of the dimension (when the program runs).
    ///     fluid.core.EnforceNotMet: ``input`` has no dimension ``dim``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2, 3], [4, 5, 6]], "float32"))
    ///     >>> index = fluid.layers.assign(np.array([2, 0], "int64"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.index_select(x, index, dim=1)])[0].tolist()
    ///     [[3.0, 1.0], [6.0, 4.0]]
    "nn.index_select(input, index, dim=0)"
        => |net, a| net.index_select(&a.var("input")?, &a.var("index")?, a.i32("dim")?);

    /// Finds the coordinates of the true elements.
    ///
    /// Args:
    ///     condition (Variable): bool, any shape.
    ///
    /// Returns:
    ///     Variable: int64, ``[n, rank]``: a row of coordinates for each of the ``n`` true elements, in their order.
    ///         ``n`` is known only when the program runs.
    ///
    /// Raises:
    ///     TypeError: the condition is not bool; compare or cast it first.
    ///
    /// Example:
    ///     >>> condition = fluid.layers.assign(np.array([[True, False], [True, True]], "bool"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.where(condition)])[0].tolist()
    ///     [[0, 0], [1, 0], [1, 1]]
    "nn.where(condition)" => |net, a| net.where_index(&a.var("condition")?);

    /// Finds the distinct elements of a vector, in the order of their first occurrence.
    ///
    /// Args:
    ///     x (Variable): numbers, ``[n]``.
    ///     dtype (dtype): element type of the indices: int32 or int64.
    ///
    /// Returns:
    ///     tuple: (out, index): the distinct elements, and for each element of ``x`` its position in ``out``, ``[n]``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``x`` does not have one dimension.
    ///     TypeError: ``dtype`` is neither int32 nor int64.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([2, 3, 3, 1, 5, 3], "int64"))
    ///     >>> out, index = fluid.layers.unique(x)
    ///     >>> [a.tolist() for a in fluid.Executor().run(fetch_list=[out, index])]
    ///     [[2, 3, 1, 5], [0, 1, 1, 2, 3, 1]]
    "nn.unique(x, dtype='int32')" => |net, a| net.unique_of(&a.var("x")?, a.dtype("dtype")?);

    /// Finds the distinct elements of a vector, in the order of their first occurrence, and counts them.
    ///
    /// Args:
    ///     x (Variable): numbers, ``[n]``.
    ///     dtype (dtype): element type of the indices and counts: int32 or int64.
    ///
    /// Returns:
    ///     tuple: (out, index, count): the distinct elements, for each element of ``x`` its position in ``out``, and
    ///         for each element of ``out`` the number of its occurrences.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``x`` does not have one dimension.
    ///     TypeError: ``dtype`` is neither int32 nor int64.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([2, 3, 3, 1, 5, 3], "int64"))
    ///     >>> out, index, count = fluid.layers.unique_with_counts(x)
    ///     >>> [a.tolist() for a in fluid.Executor().run(fetch_list=[out, index, count])]
    ///     [[2, 3, 1, 5], [0, 1, 1, 2, 3, 1], [1, 3, 1, 1]]
    "nn.unique_with_counts(x, dtype='int32')" => |net, a| net.unique_with_counts(&a.var("x")?, a.dtype("dtype")?);

    /// Chooses each row from one of several tensors: row ``i`` of the result is row ``i`` of ``inputs[index[i]]``.
    ///
    /// Args:
    ///     inputs (list of Variable): at least two tensors of one shape and element type, ``[batch, ...]``.
    ///     index (Variable): int32 or int64, ``[batch, 1]``: the number of the input that each row comes from.
    ///
    /// Returns:
    ///     Variable: the shape of an input.
    ///
    /// Raises:
    ///     ValueError: there are fewer than two inputs.
    ///     IndexError: an index is no number of an input (when the program runs).
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
    ///     >>> y = fluid.layers.assign(np.array([[10, 20], [30, 40]], "float32"))
    ///     >>> index = fluid.layers.assign(np.array([[1], [0]], "int32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.multiplex([x, y], index)])[0].tolist()
    ///     [[10.0, 20.0], [3.0, 4.0]]
    "nn.multiplex(inputs, index)" => |net, a| net.multiplex(&refs(&a.vars("inputs")?), &a.var("index")?);

    /// Converts class numbers to numbers within one shard of the classes.
    ///
    /// Classes are divided into ``nshards`` ranges of ``ceil(index_num / nshards)``. An index of the range ``shard_id``
    /// becomes its distance from the beginning of the range, others become ``ignore_value``. A classification layer
    /// that is divided among ranks uses it for its labels.
    ///
    /// Args:
    ///     input (Variable): int32 or int64, ``[..., 1]``; from 0 to ``index_num - 1``.
    ///     index_num (int): the number of classes.
    ///     nshards (int): the number of shards.
    ///     shard_id (int): the shard, from 0 to ``nshards - 1``.
    ///     ignore_value (int): stands for classes of other shards.
    ///
    /// Returns:
    ///     Variable: the shape and element type of ``input``.
    ///
    /// Raises:
    ///     IndexError: ``shard_id`` is not in ``[0, nshards)``.
    ///
    /// Example:
    ///     >>> label = fluid.layers.assign(np.array([[1], [6], [12], [19]], "int64"))
    ///     >>> out = fluid.layers.shard_index(label, index_num=20, nshards=2, shard_id=0)
    ///     >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
    ///     [[1], [6], [-1], [-1]]
    "nn.shard_index(input, index_num, nshards, shard_id, ignore_value=-1)"
        => |net, a| net.shard_index(&a.var("input")?, a.i32("index_num")?, a.i32("nshards")?, a.i32("shard_id")?,
        a.i32("ignore_value")?);

    /// Makes a square matrix with the given diagonal and zeros elsewhere.
    ///
    /// Args:
    ///     diagonal (Variable or numpy.ndarray): numbers, ``[n]``.
    ///
    /// Returns:
    ///     Variable: ``[n, n]``, the element type of ``diagonal``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``diagonal`` does not have one dimension.
    ///
    /// Example:
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.diag(np.array([3, 4, 5], "int32"))])[0].tolist()
    ///     [[3, 0, 0], [0, 4, 0], [0, 0, 5]]
    "tensor.diag(diagonal)" => |net, a| match a.is_var("diagonal") {
        true => net.diag(&a.var("diagonal")?),
        false => {
            let diagonal = net.assign_value(&a.tensor("diagonal")?)?;
            net.diag(&diagonal)
        }
    };

    /// Makes a batch of matrices whose diagonals are the last dimension of ``input``; other elements are 0.
    ///
    /// Args:
    ///     input (Variable): numbers, ``[..., n]``.
    ///     offset (int): 0: the main diagonal; positive: that number of places above it; negative: below it.
    ///     dim1 (int): the dimension of the rows in the result; negative ones count from the end.
    ///     dim2 (int): the dimension of the columns in the result; different from ``dim1``.
    ///
    /// Returns:
    ///     Variable: one dimension more than ``input``; rows and columns have the size ``n + abs(offset)``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``dim1`` and ``dim2`` are not two different dimensions of the result.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2]], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.diag_embed(x)])[0].tolist()
    ///     [[[1.0, 0.0], [0.0, 2.0]]]
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.diag_embed(x, offset=1)])[0].tolist()
    ///     [[[0.0, 1.0, 0.0], [0.0, 0.0, 2.0], [0.0, 0.0, 0.0]]]
    "nn.diag_embed(input, offset=0, dim1=-2, dim2=-1)"
        => |net, a| net.diag_embed(&a.var("input")?, a.i32("offset")?, (a.i32("dim1")?, a.i32("dim2")?));

    /// Makes the coordinates of a grid from one vector per dimension.
    ///
    /// Result ``i`` varies along dimension ``i`` only, where it holds ``input[i]``.
    ///
    /// Args:
    ///     input (list of Variable): ``n`` vectors of one element type.
    ///
    /// Returns:
    ///     list: ``n`` Variables of ``n`` dimensions, whose sizes are the lengths of the vectors.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([1, 2], "int64"))
    ///     >>> y = fluid.layers.assign(np.array([3, 4, 5], "int64"))
    ///     >>> rows, columns = fluid.layers.meshgrid([x, y])
    ///     >>> [a.tolist() for a in fluid.Executor().run(fetch_list=[rows, columns])]
    ///     [[[1, 1, 1], [2, 2, 2]], [[3, 4, 5], [3, 4, 5]]]
    "nn.meshgrid(input, name=None)" => |net, a| net.meshgrid(&refs(&a.vars("input")?));

    /// Keeps the lower triangle of matrices; elements above the diagonal become 0.
    ///
    /// Args:
    ///     input (Variable): numbers, ``[..., n, m]``.
    ///     diagonal (int): the last diagonal that is kept: 0 is the main one, positive ones lie above it, negative ones
    ///         below.
    ///
    /// Returns:
    ///     Variable: the shape and element type of ``input``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``input`` has fewer than two dimensions.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.tril(x)])[0].tolist()
    ///     [[1.0, 0.0, 0.0], [4.0, 5.0, 0.0], [7.0, 8.0, 9.0]]
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.tril(x, diagonal=-1)])[0].tolist()
    ///     [[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [7.0, 8.0, 0.0]]
    "nn.tril(input, diagonal=0, name=None)" => |net, a| net.tril(&a.var("input")?, a.i32("diagonal")?);

    /// Keeps the upper triangle of matrices; elements below the diagonal become 0.
    ///
    /// Args:
    ///     input (Variable): numbers, ``[..., n, m]``.
    ///     diagonal (int): the first diagonal that is kept: 0 is the main one, positive ones lie above it, negative
    ///         ones below.
    ///
    /// Returns:
    ///     Variable: the shape and element type of ``input``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``input`` has fewer than two dimensions.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.triu(x)])[0].tolist()
    ///     [[1.0, 2.0, 3.0], [0.0, 5.0, 6.0], [0.0, 0.0, 9.0]]
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.triu(x, diagonal=1)])[0].tolist()
    ///     [[0.0, 2.0, 3.0], [0.0, 0.0, 6.0], [0.0, 0.0, 0.0]]
    "nn.triu(input, diagonal=0, name=None)" => |net, a| net.triu(&a.var("input")?, a.i32("diagonal")?);

    /// Sums a diagonal of matrices.
    ///
    /// Args:
    ///     input (Variable): numbers, at least two dimensions.
    ///     offset (int): 0: the main diagonal; positive: that number of places above it; negative: below it.
    ///     dim1 (int): the dimension of the rows; negative ones count from the end.
    ///     dim2 (int): the dimension of the columns; different from ``dim1``.
    ///     out (Variable): a Variable that receives the result and is returned; ``None``: a new Variable.
    ///
    /// Returns:
    ///     Variable: the shape of ``input`` without ``dim1`` and ``dim2``; of one matrix ``[1]``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``input`` does not have the dimensions ``dim1`` and ``dim2``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.trace(x)])[0].tolist()
    ///     [5.0]
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.trace(x, offset=1)])[0].tolist()
    ///     [2.0]
    "nn.trace(input, offset=0, dim1=0, dim2=1, out=None, name=None)"
        => |net, a| net.trace(&a.var("input")?, a.i32("offset")?, (a.i32("dim1")?, a.i32("dim2")?));

    /// Hashes each row of ids to ``num_hash`` numbers below ``hash_size``.
    ///
    /// The hash is xxHash64 of the bytes of the row, with the seeds 0, 1, ..., as in Fluid, so that models keep their
    /// ids. Feed the result to an embedding of ``hash_size`` rows.
    ///
    /// Args:
    ///     input (Variable): int32 or int64, ``[n, k]``; the last dimension is hashed as a whole. LoD is kept.
    ///     hash_size (int): hashes are at least 0 and below this number.
    ///     num_hash (int): hashes of each row.
    ///
    /// Returns:
    ///     Variable: int64, ``[n, num_hash, 1]``.
    ///
    /// Raises:
    ///     TypeError: the ids are no integers.
    ///
    /// Example:
    ///     >>> ids = fluid.layers.assign(np.array([[1, 2], [3, 4]], "int32"))
    ///     >>> hashed = fluid.layers.hash(ids, hash_size=1000, num_hash=2)
    ///     >>> out = fluid.Executor().run(fetch_list=[hashed])[0]
    ///     >>> out.shape, bool((out < 1000).all())
    ///     ((2, 2, 1), True)
    "nn.hash(input, hash_size, num_hash=1, name=None)"
        => |net, a| net.hash(&a.var("input")?, a.i64("hash_size")?, a.i32("num_hash")?);

    /// Keeps the instances that have one of the wanted tags.
    ///
    /// The result can go on to a part of the network that is trained with these instances only. The weight is 1 for
    /// each kept row; if none is kept, the result is one row of ``out_val_if_empty`` with the weight 0, so that its
    /// loss can be masked.
    ///
    /// Args:
    ///     ins (Variable): float32 or float64, ``[rows, ...]``; with ``is_lod`` an instance is a sequence, otherwise a
    ///         row.
    ///     ins_tag (Variable): int64 with LoD: the tags of each instance.
    ///     filter_tag (Variable): int64, ``[k]``: the tags to keep.
    ///     is_lod (bool): ``ins`` has LoD.
    ///     out_val_if_empty (int): the elements of the result if no instance is kept.
    ///
    /// Returns:
    ///     tuple: (out, loss_weight): the kept rows, and float32 ``[kept rows, 1]``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 1], [2, 2], [3, 3]], "float32"))
    ///     >>> tags = fluid.layers.assign(np.array([[0], [1], [0]], "int64"))
    ///     >>> tags = fluid.layers.lod_reset(tags, target_lod=[0, 1, 2, 3])
    ///     >>> wanted = fluid.layers.assign(np.array([0], "int64"))
    ///     >>> out, weight = fluid.layers.filter_by_instag(x, tags, wanted, is_lod=False)
    ///     >>> found = fluid.Executor().run(fetch_list=[out, weight], return_numpy=False)
    ///     >>> [np.array(tensor).tolist() for tensor in found]
    ///     [[[1.0, 1.0], [3.0, 3.0]], [[1.0], [1.0]]]
    "nn.filter_by_instag(ins, ins_tag, filter_tag, is_lod, out_val_if_empty=0)"
        => |net, a| net.filter_by_instag(&a.var("ins")?, (&a.var("ins_tag")?, &a.var("filter_tag")?),
        a.bool("is_lod")?, a.i64("out_val_if_empty")?);
}
