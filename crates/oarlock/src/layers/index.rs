//! Choosing, sorting and placing elements by index.

use oarlock_ir::{Kind, Op, Result, Shape, Var, VarType, fail};
use oarlock_tensor::DType;

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
