//! The same elements in another shape: reshape, transpose, concat, split, slice, expand.

use oarlock_ir::{Error, Kind, Op, Result, fail};
use oarlock_tensor::{DType, Tensor};

use crate::declare::{Args, declare, refs};
use crate::ints::{IntOrVar, Ints, Style};
use crate::layer::{Layer, known};
use crate::options::options;
use crate::{Act, Net, VarRef};

/// An end beyond every dimension, as saved programs write it.
const FAR: i64 = 10_000_000;

options! {
    /// `reshape(x, shape, actual_shape=None, act=None, inplace=False, name=None)`
    Reshape::shape(
        /// The new shape: one size may be -1, which is what remains; 0 keeps the size of `x`.
        shape(into): Ints,
    ) {
        /// The new shape in a variable, which wins over known sizes.
        actual_shape: Option<VarRef> = None,
        /// Activation.
        act(into): Act = Act::none(),
        /// Give `x` itself the new shape.
        inplace: bool = false,
    }
}

/// How [`Net::split`] splits.
#[derive(Debug, Clone)]
pub enum SplitInto {
    /// Into this number of equal parts.
    Parts(usize),
    /// Into parts of these sizes; one may be -1, which is what remains.
    Sections(Vec<i32>),
}

impl From<usize> for SplitInto {
    fn from(parts: usize) -> SplitInto {
        SplitInto::Parts(parts)
    }
}

impl<const N: usize> From<[i32; N]> for SplitInto {
    fn from(sections: [i32; N]) -> SplitInto {
        SplitInto::Sections(sections.to_vec())
    }
}

impl Net {
    /// The same elements in another shape.
    #[track_caller]
    pub fn reshape(&mut self, x: &VarRef, options: Reshape) -> Result<VarRef> {
        let mut layer = self.layer("reshape2");
        let dtype = layer.dtype(x)?;
        let mut op = Op::new("reshape2").input("X", [x]);
        if let Some(shape) = options.shape.attr_i32() {
            check_reshape(&shape, layer.shape(x)?.rank())?;
            op = op.attr("shape", shape);
        }
        op = options.shape.feed(&mut layer, op, "Shape", "ShapeTensor", Style::I32)?;
        if let (Some(actual), false) = (&options.actual_shape, options.shape.has_vars()) {
            layer.stop_gradient(actual)?;
            op = op.input("Shape", [actual]);
        }
        let out = if options.inplace { x.clone() } else { layer.temp(dtype) };
        let x_shape = layer.temp(dtype);
        layer.append_op(op.output("Out", [&out]).output("XShape", [&x_shape]))?;
        layer.activate(out, &options.act)
    }

    /// `transpose(x, perm)`: dimension `i` of the result is dimension `perm[i]` of `x`.
    #[track_caller]
    pub fn transpose(&mut self, x: &VarRef, perm: &[i32]) -> Result<VarRef> {
        self.with_x_shape("transpose", x, Op::new("transpose2").attr("axis", perm.to_vec()))
    }

    /// `squeeze(input, axes)`: without these dimensions of size 1.
    #[track_caller]
    pub fn squeeze(&mut self, x: &VarRef, axes: &[i32]) -> Result<VarRef> {
        self.with_x_shape("squeeze", x, Op::new("squeeze2").attr("axes", axes.to_vec()))
    }

    /// `unsqueeze(input, axes)`: with new dimensions of size 1 at these places.
    #[track_caller]
    pub fn unsqueeze(&mut self, x: &VarRef, axes: &[i32]) -> Result<VarRef> {
        self.with_x_shape("unsqueeze2", x, Op::new("unsqueeze2").attr("axes", axes.to_vec()))
    }

    /// `flatten(x, axis=1)`: a matrix; dimensions before `axis` are its rows.
    #[track_caller]
    pub fn flatten(&mut self, x: &VarRef, axis: i32) -> Result<VarRef> {
        self.with_x_shape("flatten", x, Op::new("flatten2").attr("axis", axis))
    }

    /// An operator that also keeps the shape of `X`, for its gradient.
    #[track_caller]
    fn with_x_shape(&mut self, layer_type: &str, x: &VarRef, op: Op) -> Result<VarRef> {
        let mut layer = self.layer(layer_type);
        let dtype = layer.dtype(x)?;
        let (out, x_shape) = (layer.temp(dtype), layer.temp(dtype));
        layer.append_op(op.input("X", [x]).output("Out", [&out]).output("XShape", [&x_shape]))?;
        Ok(out)
    }

    /// `concat(input, axis=0)`: one after another along a dimension.
    #[track_caller]
    pub fn concat(&mut self, input: &[&VarRef], axis: i32) -> Result<VarRef> {
        let dtype = self.first_dtype("concat", input)?;
        self.layer("concat").out(dtype, Op::new("concat").input("X", input.iter().copied()).attr("axis", axis))
    }

    /// `split(input, num_or_sections, dim=-1)`: parts along a dimension.
    #[track_caller]
    pub fn split(&mut self, input: &VarRef, num_or_sections: impl Into<SplitInto>, dim: i32) -> Result<Vec<VarRef>> {
        let mut layer = self.layer("split");
        let (shape, dtype) = (layer.shape(input)?, layer.dtype(input)?);
        let axis = if dim < 0 { dim + shape.rank() as i32 } else { dim };
        let Some(size) = usize::try_from(axis).ok().and_then(|a| shape.get(a)) else {
            fail!(Kind::Argument, "`split`: `{input}` of shape {shape} has no dimension {dim}");
        };
        let mut op = Op::new("split").input("X", [input]).attr("axis", axis);
        let count = match num_or_sections.into() {
            SplitInto::Parts(parts) => {
                if parts < 2 || size.known().is_some_and(|n| n % parts != 0) {
                    fail!(Kind::Argument, "`split`: size {size} of `{input}` cannot be split into {parts} equal parts");
                }
                op = op.attr("num", parts as i32);
                parts
            }
            SplitInto::Sections(sections) => {
                let count = sections.len();
                op = op.attr("sections", sections);
                count
            }
        };
        let parts: Vec<VarRef> = (0..count).map(|_| layer.temp(dtype)).collect();
        layer.append_op(op.output("Out", &parts))?;
        Ok(parts)
    }

    /// `stack(x, axis=0)`: along a new dimension.
    #[track_caller]
    pub fn stack(&mut self, x: &[&VarRef], axis: i32) -> Result<VarRef> {
        let dtype = self.first_dtype("stack", x)?;
        let op = Op::new("stack").input("X", x.iter().copied()).attr("axis", axis);
        self.layer("stack").out_slot("Y", dtype, op)
    }

    /// `unstack(x, axis=0, num=None)`: the slices of a dimension; `num` where its size is not known.
    #[track_caller]
    pub fn unstack(&mut self, x: &VarRef, axis: i32, num: Option<usize>) -> Result<Vec<VarRef>> {
        let mut layer = self.layer("unstack");
        let (shape, dtype) = (layer.shape(x)?, layer.dtype(x)?);
        let at = if axis < 0 { axis + shape.rank() as i32 } else { axis };
        let known = usize::try_from(at).ok().and_then(|a| shape.get(a)?.known());
        let Some(num) = num.or(known) else {
            fail!(Kind::Argument, "`unstack`: the size of dimension {axis} of `{x}` is not known; set num");
        };
        let parts: Vec<VarRef> = (0..num).map(|_| layer.temp(dtype)).collect();
        let op = Op::new("unstack").input("X", [x]).output("Y", &parts);
        layer.append_op(op.attr("axis", axis).attr("num", num as i32))?;
        Ok(parts)
    }

    /// `slice(input, axes, starts, ends)`: along each of `axes`, from its start up to its end; negative ones count from the end.
    #[track_caller]
    pub fn slice(
        &mut self,
        input: &VarRef,
        axes: &[i32],
        starts: impl Into<Ints>,
        ends: impl Into<Ints>,
    ) -> Result<VarRef> {
        self.append_slice("slice", input, axes, &[("starts", starts.into()), ("ends", ends.into())])
    }

    /// `strided_slice(input, axes, starts, ends, strides)`: every `stride`-th.
    #[track_caller]
    pub fn strided_slice(
        &mut self,
        input: &VarRef,
        axes: &[i32],
        starts: impl Into<Ints>,
        ends: impl Into<Ints>,
        strides: impl Into<Ints>,
    ) -> Result<VarRef> {
        let lists = [("starts", starts.into()), ("ends", ends.into()), ("strides", strides.into())];
        self.append_slice("strided_slice", input, axes, &lists)
    }

    /// `x[i]`, `x[:, 1:3]` of Python: along each of `axes` from its start up to its end; the dimensions `gone`, of one element each,
    /// are removed.
    #[track_caller]
    pub fn item(
        &mut self,
        x: &VarRef,
        axes: &[i32],
        starts: impl Into<Ints>,
        ends: impl Into<Ints>,
        gone: &[i32],
    ) -> Result<VarRef> {
        let lists = [("starts", starts.into()), ("ends", ends.into())];
        let dtype = self.dtype(x)?;
        let name = format!("{}_slice", x.name());
        let mut layer = self.named(&name).layer("slice");
        let op = layer.slice_op("slice", x, axes, &lists)?;
        let out = layer.unique(&name, dtype);
        layer.append_op(op.attr("decrease_axis", gone.to_vec()).output("Out", [&out]))?;
        Ok(out)
    }

    /// `x[index]` along one dimension, which is removed; -1 is the last.
    #[track_caller]
    pub fn at(&mut self, x: &VarRef, axis: i32, index: i64) -> Result<VarRef> {
        let end = if index == -1 { FAR } else { index + 1 };
        self.item(x, &[axis], [index], [end], &[axis])
    }

    #[track_caller]
    fn append_slice(&mut self, op_type: &str, input: &VarRef, axes: &[i32], lists: &[(&str, Ints)]) -> Result<VarRef> {
        let mut layer = self.layer(op_type);
        let dtype = layer.dtype(input)?;
        let op = layer.slice_op(op_type, input, axes, lists)?;
        layer.out(dtype, op)
    }

    /// `expand(x, expand_times)`: repeated so often along each dimension.
    #[track_caller]
    pub fn expand(&mut self, x: &VarRef, expand_times: impl Into<Ints>) -> Result<VarRef> {
        let times = expand_times.into();
        let mut layer = self.layer("expand");
        let dtype = layer.dtype(x)?;
        let mut op = Op::new("expand").input("X", [x]);
        if let Some(list) = times.attr_i32() {
            op = op.attr("expand_times", list);
        }
        let op = times.feed(&mut layer, op, "ExpandTimes", "expand_times_tensor", Style::I32)?;
        layer.out(dtype, op)
    }

    /// `expand_as(x, target_tensor)`: repeated until it is as large as another.
    #[track_caller]
    pub fn expand_as(&mut self, x: &VarRef, target: &VarRef) -> Result<VarRef> {
        self.unary(x, Op::new("expand_as").input("target_tensor", [target]))
    }

    /// `reverse(x, axis)`: backwards along these dimensions.
    #[track_caller]
    pub fn reverse(&mut self, x: &VarRef, axis: &[i32]) -> Result<VarRef> {
        self.unary(x, Op::new("reverse").attr("axis", axis.to_vec()))
    }

    /// `flip(input, dims)`: backwards along these dimensions.
    #[track_caller]
    pub fn flip(&mut self, input: &VarRef, dims: &[i32]) -> Result<VarRef> {
        self.unary(input, Op::new("flip").attr("dims", dims.to_vec()))
    }

    /// `roll(input, shifts, dims=None)`: shifted along dimensions, what falls out comes in again; `None` shifts the elements of the
    /// whole tensor.
    #[track_caller]
    pub fn roll(&mut self, input: &VarRef, shifts: &[i64], dims: Option<&[i64]>) -> Result<VarRef> {
        let mut layer = self.layer("roll");
        let (shape, dtype) = (layer.shape(input)?, layer.dtype(input)?);
        let op = Op::new("roll").attr("shifts", shifts.to_vec());
        let Some(dims) = dims else {
            let line = layer.reshape(input, Reshape::shape([-1, 1]))?;
            let out = layer.out(dtype, op.input("X", [&line]).attr("dims", vec![0i64]))?;
            let sizes: Vec<i64> = known(&shape, "`roll`", input)?.iter().map(|&n| n as i64).collect();
            return layer.reshape(&out, Reshape::shape(sizes).inplace(true));
        };
        layer.out(dtype, op.input("X", [input]).attr("dims", dims.to_vec()))
    }

    /// `pad(x, paddings, pad_value=0.0)`: two numbers per dimension: what is added before and after.
    #[track_caller]
    pub fn pad(&mut self, x: &VarRef, paddings: &[i32], pad_value: f32) -> Result<VarRef> {
        self.unary(x, Op::new("pad").attr("paddings", paddings.to_vec()).attr("pad_value", pad_value))
    }

    /// `pad_constant_like(x, y, pad_value=0.0)`: `y` as large as `x`.
    #[track_caller]
    pub fn pad_constant_like(&mut self, x: &VarRef, y: &VarRef, pad_value: f32) -> Result<VarRef> {
        self.unary(x, Op::new("pad_constant_like").input("Y", [y]).attr("pad_value", pad_value))
    }

    /// `shape(input)`: its sizes, i32.
    #[track_caller]
    pub fn shape_of(&mut self, input: &VarRef) -> Result<VarRef> {
        let mut layer = self.layer("shape");
        layer.out(DType::I32, Op::new("shape").input("Input", [input]))
    }

    /// `rank(input)`: the number of dimensions.
    #[track_caller]
    pub fn rank_of(&mut self, input: &VarRef) -> Result<VarRef> {
        let rank = self.shape(input)?.rank() as i32;
        self.assign_value(&Tensor::scalar(rank))
    }

    /// `size(input)`: its number of elements, i64.
    #[track_caller]
    pub fn size_of(&mut self, input: &VarRef) -> Result<VarRef> {
        self.layer("size").out(DType::I64, Op::new("size").input("Input", [input]))
    }

    /// The dtype of the first of several inputs.
    pub(crate) fn first_dtype(&self, op_type: &str, input: &[&VarRef]) -> Result<DType> {
        match input.first() {
            Some(first) => self.dtype(first),
            None => fail!(Kind::Argument, "`{op_type}` needs at least one variable"),
        }
    }
}

impl Layer<'_> {
    /// The operator that slices `input` along `axes`, without its output.
    fn slice_op(&mut self, op_type: &str, input: &VarRef, axes: &[i32], lists: &[(&str, Ints)]) -> Result<Op> {
        // 1 where inference may use the numbers, -1 where only the run knows them.
        let mut flags = vec![1; axes.len()];
        let mut op = Op::new(op_type).input("Input", [input]).attr("axes", axes.to_vec());
        for (name, list) in lists {
            let title = format!("{}{}", name[..1].to_uppercase(), &name[1..]);
            op = list.feed(self, op, &format!("{title}Tensor"), &format!("{title}TensorList"), Style::I32)?;
            match list {
                Ints::Var(_) => flags.fill(-1),
                Ints::Mixed(entries) => {
                    for (flag, entry) in flags.iter_mut().zip(entries) {
                        if matches!(entry, IntOrVar::Var(_)) {
                            *flag = -1;
                        }
                    }
                }
                Ints::Known(entries) if entries.len() != axes.len() => {
                    fail!(Kind::Argument, "`{op_type}` has {} axes but {} {name}", axes.len(), entries.len());
                }
                Ints::Known(_) => {}
            }
            if let Some(list) = list.attr_i32() {
                op = op.attr(name, list);
            }
        }
        Ok(op.attr("infer_flags", flags))
    }
}

fn check_reshape(shape: &[i32], rank: usize) -> Result<()> {
    let wrong = |what: String| Err(Error::new(Kind::Argument, format!("`reshape` to {shape:?}: {what}")));
    if shape.is_empty() {
        return wrong("a shape has at least one size".into());
    }
    if shape.iter().filter(|&&n| n == -1).count() > 1 {
        return wrong("only one size may be -1".into());
    }
    for (i, &n) in shape.iter().enumerate() {
        if n < -1 {
            return wrong(format!("size {n} is negative; only -1 means \"what remains\""));
        }
        if n == 0 && i >= rank {
            return wrong(format!("0 keeps the size of dimension {i}, but there are only {rank}"));
        }
    }
    Ok(())
}

declare! {
    /// Gives the elements another shape; their order and number do not change.
    ///
    /// Args:
    ///     x (Variable): any element type and shape.
    ///     shape (list, tuple or Variable): the new sizes. One of them may be -1: it follows from the others. 0 keeps
    ///         the size of ``x`` at that position. A Variable is int32 with one dimension; elements of a list may be
    ///         Variables ``[1]``.
    ///     actual_shape (Variable): int32, one dimension: the sizes at run time, which replace ``shape``; ``shape``
    ///         must be given nevertheless.
    ///     inplace (bool): let the result use the memory of ``x``.
    ///
    /// Returns:
    ///     Variable: the new shape, the element type of ``x``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: the elements of ``x`` do not fill the new shape.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "int64"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.reshape(x, [-1])])[0].tolist()
    ///     [1, 2, 3, 4]
    ///     >>> y = fluid.data("y", [2, 4, 6])
    ///     >>> fluid.layers.reshape(y, [-1, 0, 3, 2]).shape
    ///     (2, 4, 3, 2)
    "nn.reshape(x, shape, actual_shape=None, act=None, inplace=False, name=None)"
        => |net, a| net.reshape(&a.var("x")?, Reshape::shape(a.ints("shape")?).actual_shape(a.opt_var("actual_shape")?)
        .act(a.act("act")?).inplace(a.bool("inplace")?));

    /// Permutes dimensions: dimension ``i`` of the result is dimension ``perm[i]`` of ``x``.
    ///
    /// Args:
    ///     x (Variable): any element type and shape.
    ///     perm (list or tuple): every dimension of ``x`` once, in the new order.
    ///
    /// Returns:
    ///     Variable: ``[x.shape[perm[0]], x.shape[perm[1]], ...]``.
    ///
    /// Raises:
    ///     ValueError: ``perm`` is no permutation of the dimensions of ``x``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2, 3], [4, 5, 6]], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.transpose(x, [1, 0])])[0].tolist()
    ///     [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]
    ///     >>> fluid.layers.transpose(fluid.data("image", [None, 3, 32, 24]), [0, 2, 3, 1]).shape
    ///     (-1, 32, 24, 3)
    "nn.transpose(x, perm, name=None)" => |net, a| net.transpose(&a.var("x")?, &a.i32s("perm")?);

    /// Removes dimensions of size 1.
    ///
    /// Args:
    ///     input (Variable): any element type and shape.
    ///     axes (list or int): the dimensions to remove; negative ones count from the end; those with another size than
    ///         1 stay. ``[]``: all of size 1.
    ///
    /// Returns:
    ///     Variable: the elements of ``input`` with fewer dimensions.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``input`` has no such dimension.
    ///
    /// Example:
    ///     >>> x = fluid.data("x", [5, 1, 3, 1])
    ///     >>> fluid.layers.squeeze(x, [1]).shape
    ///     (5, 3, 1)
    ///     >>> fluid.layers.squeeze(x, []).shape
    ///     (5, 3)
    "nn.squeeze(input, axes, name=None)" => |net, a| net.squeeze(&a.var("input")?, &a.i32s("axes")?);

    /// Inserts dimensions of size 1.
    ///
    /// Args:
    ///     input (Variable): any element type and shape.
    ///     axes (list or int): positions of the new dimensions in the result; they are inserted one after the other,
    ///         negative ones count from the end.
    ///
    /// Returns:
    ///     Variable: the elements of ``input`` with one more dimension per element of ``axes``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: a position is outside of the result.
    ///
    /// Example:
    ///     >>> x = fluid.data("x", [5, 3])
    ///     >>> fluid.layers.unsqueeze(x, [1]).shape
    ///     (5, 1, 3)
    ///     >>> fluid.layers.unsqueeze(x, [0, -1]).shape
    ///     (1, 5, 3, 1)
    "nn.unsqueeze(input, axes, name=None)" => |net, a| net.unsqueeze(&a.var("input")?, &a.i32s("axes")?);

    /// Makes a matrix: dimensions before ``axis`` become its rows, the others its columns.
    ///
    /// Args:
    ///     x (Variable): any element type and shape.
    ///     axis (int): the first dimension of the columns, from 0 to the number of dimensions; 0: one row.
    ///
    /// Returns:
    ///     Variable: ``[product of the sizes before axis, product of the others]``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``axis`` is larger than the number of dimensions.
    ///
    /// Example:
    ///     >>> x = fluid.data("x", [4, 2, 3])
    ///     >>> fluid.layers.flatten(x, axis=1).shape
    ///     (4, 6)
    ///     >>> fluid.layers.flatten(x, axis=2).shape
    ///     (8, 3)
    "nn.flatten(x, axis=1, name=None)" => |net, a| net.flatten(&a.var("x")?, a.i32("axis")?);

    /// Joins tensors along an existing dimension.
    ///
    /// The gradient is cut into the parts again.
    ///
    /// Args:
    ///     input (list of Variable): tensors of one element type, whose sizes are equal but for dimension ``axis``.
    ///     axis (int): the dimension; negative ones count from the end.
    ///
    /// Returns:
    ///     Variable: the size along ``axis`` is the sum of those of ``input``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: other sizes than the one at ``axis`` differ.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2]], "float32"))
    ///     >>> y = fluid.layers.assign(np.array([[3, 4], [5, 6]], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.concat([x, y], axis=0)])[0].tolist()
    ///     [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    ///     >>> a, b = fluid.data("a", [None, 8]), fluid.data("b", [None, 5])
    ///     >>> fluid.layers.concat([a, b], axis=1).shape
    ///     (-1, 13)
    "tensor.concat(input, axis=0, name=None)" => |net, a| net.concat(&refs(&a.vars("input")?), a.i32("axis")?);

    /// Splits a tensor along a dimension.
    ///
    /// Args:
    ///     input (Variable): any element type and shape.
    ///     num_or_sections (int or list): the number of equal parts, or the size of each part; one size may be -1 and
    ///         takes the rest.
    ///     dim (int): the dimension; negative ones count from the end.
    ///
    /// Returns:
    ///     list: the parts, Variables whose sizes along ``dim`` add up to that of ``input``.
    ///
    /// Raises:
    ///     ValueError: the size of the dimension is no multiple of the number of parts.
    ///     fluid.core.EnforceNotMet: the sizes of the parts do not add up to that of the dimension.
    ///
    /// Example:
    ///     >>> x = fluid.data("x", [3, 9])
    ///     >>> [part.shape for part in fluid.layers.split(x, 3, dim=1)]
    ///     [(3, 3), (3, 3), (3, 3)]
    ///     >>> [part.shape for part in fluid.layers.split(x, [2, 3, -1], dim=1)]
    ///     [(3, 2), (3, 3), (3, 4)]
    "nn.split(input, num_or_sections, dim=-1, name=None)"
        => |net, a| net.split(&a.var("input")?, a.split_into("num_or_sections")?, a.i32("dim")?);

    /// Joins tensors of one shape along a new dimension.
    ///
    /// ``concat`` joins along an existing one.
    ///
    /// Args:
    ///     x (Variable or list): one Variable or several of one shape and element type.
    ///     axis (int): position of the new dimension in the result; negative ones count from the end.
    ///
    /// Returns:
    ///     Variable: the shape of an input with the number of inputs inserted at ``axis``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: the shapes differ.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([1, 2], "float32"))
    ///     >>> y = fluid.layers.assign(np.array([3, 4], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.stack([x, y])])[0].tolist()
    ///     [[1.0, 2.0], [3.0, 4.0]]
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.stack([x, y], axis=1)])[0].tolist()
    ///     [[1.0, 3.0], [2.0, 4.0]]
    "nn.stack(x, axis=0)" => |net, a| net.stack(&refs(&a.vars("x")?), a.i32("axis")?);

    /// Takes a tensor apart along a dimension, which disappears: the inverse of ``stack``.
    ///
    /// Args:
    ///     x (Variable): any element type and shape.
    ///     axis (int): the dimension; negative ones count from the end.
    ///     num (int): the size of the dimension; ``None``: it is taken from the shape of ``x``, in which it must be
    ///         known.
    ///
    /// Returns:
    ///     list: Variables with the shape of ``x`` without dimension ``axis``.
    ///
    /// Raises:
    ///     ValueError: the size of the dimension is not known, and there is no ``num``.
    ///     fluid.core.EnforceNotMet: ``num`` is not the size of the dimension.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
    ///     >>> first, second = fluid.layers.unstack(x, axis=1)
    ///     >>> fluid.Executor().run(fetch_list=[first])[0].tolist()
    ///     [1.0, 3.0]
    "nn.unstack(x, axis=0, num=None)" => |net, a| net.unstack(&a.var("x")?, a.i32("axis")?, a.opt("num", Args::usize)?);

    /// Takes a part of a tensor: along each of ``axes`` the positions from its start up to, but without, its end.
    ///
    /// Negative positions count from the end of the dimension; positions beyond it are moved to it. ``x[1:3]`` with
    /// Variables does the same.
    ///
    /// Args:
    ///     input (Variable): any element type and shape.
    ///     axes (list or tuple): the dimensions that are cut.
    ///     starts (list, tuple or Variable): the first position along each of ``axes``. A Variable is int32 with one
    ///         dimension; elements of a list may be Variables ``[1]``.
    ///     ends (list, tuple or Variable): the position after the last one along each of ``axes``; in the same forms.
    ///
    /// Returns:
    ///     Variable: the dimensions of ``input``, with smaller sizes along ``axes``.
    ///
    /// Raises:
    ///     ValueError: ``axes``, ``starts`` and ``ends`` differ in length.
    ///     fluid.core.EnforceNotMet: ``input`` has no such dimension.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2, 3], [4, 5, 6]], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.slice(x, axes=[1], starts=[1], ends=[3])])[0].tolist()
    ///     [[2.0, 3.0], [5.0, 6.0]]
    ///     >>> last = fluid.layers.slice(x, axes=[0, 1], starts=[-1, 0], ends=[100, -1])
    ///     >>> fluid.Executor().run(fetch_list=[last])[0].tolist()
    ///     [[4.0, 5.0]]
    "nn.slice(input, axes, starts, ends)"
        => |net, a| net.slice(&a.var("input")?, &a.i32s("axes")?, a.ints("starts")?, a.ints("ends")?);

    /// Elements by index, as `x[...]` reads them.
    "_item(x, axes, starts, ends, gone)"
        => |net, a| net.item(&a.var("x")?, &a.i32s("axes")?, a.ints("starts")?, a.ints("ends")?, &a.i32s("gone")?);

    /// Takes every ``strides[i]``-th position along ``axes[i]``, from its start up to, but without, its end.
    ///
    /// Negative positions count from the end. A negative stride goes backwards; its start lies behind its end.
    ///
    /// Args:
    ///     input (Variable): any element type and shape.
    ///     axes (list or tuple): the dimensions that are cut.
    ///     starts (list, tuple or Variable): the first position along each of ``axes``. A Variable is int32 with one
    ///         dimension; elements of a list may be Variables ``[1]``.
    ///     ends (list, tuple or Variable): the position after the last one along each of ``axes``; in the same forms.
    ///     strides (list, tuple or Variable): the step along each of ``axes``, not 0; in the same forms.
    ///
    /// Returns:
    ///     Variable: the dimensions of ``input``, with smaller sizes along ``axes``.
    ///
    /// Raises:
    ///     ValueError: ``axes``, ``starts``, ``ends`` and ``strides`` differ in length.
    ///     fluid.core.EnforceNotMet: the result would have no elements.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[0, 1, 2, 3, 4, 5]], "int64"))
    ///     >>> even = fluid.layers.strided_slice(x, axes=[1], starts=[0], ends=[6], strides=[2])
    ///     >>> fluid.Executor().run(fetch_list=[even])[0].tolist()
    ///     [[0, 2, 4]]
    ///     >>> back = fluid.layers.strided_slice(x, axes=[1], starts=[5], ends=[1], strides=[-2])
    ///     >>> fluid.Executor().run(fetch_list=[back])[0].tolist()
    ///     [[4, 2]]
    "nn.strided_slice(input, axes, starts, ends, strides)"
        => |net, a| net.strided_slice(&a.var("input")?, &a.i32s("axes")?, a.ints("starts")?, a.ints("ends")?,
        a.ints("strides")?);

    /// Repeats a tensor ``expand_times[i]`` times along dimension ``i``.
    ///
    /// The gradient is summed over the repetitions.
    ///
    /// Args:
    ///     x (Variable): any element type, 1 to 6 dimensions.
    ///     expand_times (list, tuple or Variable): a number per dimension of ``x``. A Variable is int32 with one
    ///         dimension; elements of a list may be Variables ``[1]``.
    ///
    /// Returns:
    ///     Variable: dimension ``i`` has the size ``x.shape[i] * expand_times[i]``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: there is not one positive number per dimension of ``x``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2]], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.expand(x, [2, 2])])[0].tolist()
    ///     [[1.0, 2.0, 1.0, 2.0], [1.0, 2.0, 1.0, 2.0]]
    "nn.expand(x, expand_times, name=None)" => |net, a| net.expand(&a.var("x")?, a.ints("expand_times")?);

    /// Repeats a tensor along each dimension until it has the shape of ``target_tensor``.
    ///
    /// Args:
    ///     x (Variable): any element type, 1 to 6 dimensions.
    ///     target_tensor (Variable): as many dimensions as ``x``; its sizes are multiples of those of ``x``. Its values
    ///         are not used.
    ///
    /// Returns:
    ///     Variable: the shape of ``target_tensor``, the element type of ``x``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: a size of ``target_tensor`` is no multiple of that of ``x``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1], [2]], "float32"))
    ///     >>> target = fluid.layers.zeros([2, 3], "float32")
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.expand_as(x, target)])[0].tolist()
    ///     [[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]
    "nn.expand_as(x, target_tensor, name=None)" => |net, a| net.expand_as(&a.var("x")?, &a.var("target_tensor")?);

    /// Returns the sizes of a tensor when the program runs.
    ///
    /// ``x.shape`` holds the sizes known when the program is built, with -1 for the others.
    ///
    /// Args:
    ///     input (Variable): any tensor, or SelectedRows.
    ///
    /// Returns:
    ///     Variable: int32, one element per dimension.
    ///
    /// Example:
    ///     >>> x = fluid.data("x", [None, 3])
    ///     >>> sizes = fluid.layers.shape(x)
    ///     >>> fluid.Executor().run(feed={"x": np.zeros([5, 3], "float32")}, fetch_list=[sizes])[0].tolist()
    ///     [5, 3]
    "nn.shape(input)" => |net, a| net.shape_of(&a.var("input")?);

    /// Returns the number of elements of a tensor when the program runs.
    ///
    /// Args:
    ///     input (Variable): any element type and shape.
    ///
    /// Returns:
    ///     Variable: int64 ``[1]``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.zeros([2, 3], "float32")
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.size(x)])[0].tolist()
    ///     [6]
    "nn.size(input)" => |net, a| net.size_of(&a.var("input")?);

    /// Reverses the order of the elements along one dimension or several.
    ///
    /// Args:
    ///     x (Variable): any element type and shape.
    ///     axis (int or list): the dimensions; negative ones count from the end.
    ///
    /// Returns:
    ///     Variable: the shape and element type of ``x``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``x`` has no such dimension.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.reverse(x, axis=0)])[0].tolist()
    ///     [[3.0, 4.0], [1.0, 2.0]]
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.reverse(x, axis=[0, 1])])[0].tolist()
    ///     [[4.0, 3.0], [2.0, 1.0]]
    "tensor.reverse(x, axis)" => |net, a| net.reverse(&a.var("x")?, &a.i32s("axis")?);

    /// Reverses the order of the elements along one dimension or several; the same as ``reverse`` under its later name.
    ///
    /// Args:
    ///     input (Variable): any element type and shape.
    ///     dims (int or list): the dimensions; negative ones count from the end.
    ///
    /// Returns:
    ///     Variable: the shape and element type of ``input``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``input`` has no such dimension.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.flip(x, [1])])[0].tolist()
    ///     [[2.0, 1.0], [4.0, 3.0]]
    "nn.flip(input, dims, name=None)" => |net, a| net.flip(&a.var("input")?, &a.i32s("dims")?);

    /// Shifts elements along dimensions; those that leave at one end enter at the other.
    ///
    /// Args:
    ///     input (Variable): any element type and shape.
    ///     shifts (int or list): the distance along each of ``dims``; negative ones go towards the beginning.
    ///     dims (int or list): the dimensions; negative ones count from the end; ``None``: the flattened tensor is
    ///         shifted.
    ///
    /// Returns:
    ///     Variable: the shape and element type of ``input``.
    ///
    /// Raises:
    ///     ValueError: ``shifts`` and ``dims`` differ in length.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2, 3], [4, 5, 6]], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.roll(x, shifts=1, dims=1)])[0].tolist()
    ///     [[3.0, 1.0, 2.0], [6.0, 4.0, 5.0]]
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.roll(x, shifts=1)])[0].tolist()
    ///     [[6.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    "nn.roll(input, shifts, dims=None)"
        => |net, a| net.roll(&a.var("input")?, &a.i64s("shifts")?, a.opt("dims", Args::i64s)?.as_deref());

    /// Adds elements of one value before and after the tensor along each dimension.
    ///
    /// The gradient of the added elements is dropped.
    ///
    /// Args:
    ///     x (Variable): any element type and shape.
    ///     paddings (list): ``[before_0, after_0, before_1, after_1, ...]``: two numbers per dimension of ``x``.
    ///     pad_value (float): the value of the added elements.
    ///
    /// Returns:
    ///     Variable: dimension ``i`` has the size ``before_i + x.shape[i] + after_i``.
    ///
    /// Raises:
    ///     ValueError: there are not two numbers per dimension.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2]], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.pad(x, [0, 1, 1, 0], pad_value=9.0)])[0].tolist()
    ///     [[9.0, 1.0, 2.0], [9.0, 9.0, 9.0]]
    "nn.pad(x, paddings, pad_value=0.0, name=None)"
        => |net, a| net.pad(&a.var("x")?, &a.i32s("paddings")?, a.f32("pad_value")?);

    /// Pads ``y`` with ``pad_value`` at the end of each dimension until it has the shape of ``x``.
    ///
    /// Args:
    ///     x (Variable): gives the shape; its values are not used.
    ///     y (Variable): as many dimensions as ``x``, none of them larger.
    ///     pad_value (float): the value of the added elements.
    ///
    /// Returns:
    ///     Variable: the shape of ``x``, the element type of ``y``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``y`` is larger than ``x`` along a dimension.
    ///
    /// Example:
    ///     >>> x = fluid.layers.zeros([2, 3], "float32")
    ///     >>> y = fluid.layers.assign(np.array([[1, 2]], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.pad_constant_like(x, y, pad_value=-1.0)])[0].tolist()
    ///     [[1.0, 2.0, -1.0], [-1.0, -1.0, -1.0]]
    "nn.pad_constant_like(x, y, pad_value=0.0, name=None)"
        => |net, a| net.pad_constant_like(&a.var("x")?, &a.var("y")?, a.f32("pad_value")?);

    /// Returns the number of dimensions of a tensor.
    ///
    /// Args:
    ///     input (Variable): any element type and shape.
    ///
    /// Returns:
    ///     Variable: int32, a constant of one element.
    ///
    /// Example:
    ///     >>> x = fluid.data("x", [None, 3, 32])
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.rank(x)])[0].tolist()
    ///     [3]
    "nn.rank(input)" => |net, a| net.rank_of(&a.var("input")?);
}
