//! Sequences: rows grouped by LoD.

use oarlock_ir::{Kind, Op, Result, VarType, fail};
use oarlock_tensor::DType;

use crate::declare::{Args, declare, refs};
use crate::layer::known;
use crate::options::options;
use crate::{Act, IntOrVar, Net, Param, VarRef};

options! {
    /// `sequence_conv(input, num_filters, filter_size=3, filter_stride=1, padding=True, padding_start=None, bias_attr=None,
    /// param_attr=None, act=None, name=None)`
    SequenceConv::filters(
        /// Outputs per step.
        num_filters: usize,
    ) {
        /// Steps that a filter sees.
        filter_size: usize = 3,
        /// Steps of the filter; only 1 is possible.
        filter_stride: i32 = 1,
        /// Where the filter begins, relative to a step; `None` puts it in the middle.
        padding_start: Option<i32> = None,
        /// The bias.
        bias_attr(into): Param = Param::default(),
        /// The weight.
        param_attr(into): Param = Param::default(),
        /// Activation.
        act(into): Act = Act::none(),
    }
}

options! {
    /// `im2sequence(input, filter_size=1, stride=1, padding=0, input_image_size=None, out_stride=1, name=None)`
    Im2Sequence::filter(
        /// Height and width of a window.
        filter_size: [i32; 2],
    ) {
        /// Steps of the window, down and across.
        stride: [i32; 2] = [1, 1],
        /// Zeros around an image: up, left, down, right.
        padding: [i32; 4] = [0; 4],
        /// Height and width of each image as it was.
        input_image_size: Option<VarRef> = None,
        /// How much smaller images became, down and across.
        out_stride: [i32; 2] = [1, 1],
    }
}

impl Net {
    /// `sequence_pool(input, pool_type, is_test=False, pad_value=0.0)`: one row per sequence; `pool_type` is `average`, `sum`,
    /// `sqrt`, `max`, `last` or `first`, and an empty sequence gives `pad_value`.
    #[track_caller]
    pub fn sequence_pool(&mut self, input: &VarRef, pool_type: &str, is_test: bool, pad_value: f32) -> Result<VarRef> {
        let kinds = ["average", "sum", "sqrt", "max", "last", "first"];
        let kind = pool_type.to_lowercase();
        if !kinds.contains(&kind.as_str()) {
            fail!(Kind::Argument, "pool_type of `sequence_pool` must be {}, not {pool_type:?}", kinds.join(", "));
        }
        let mut layer = self.layer("sequence_pool");
        let dtype = layer.dtype(input)?;
        let out = layer.temp(dtype);
        let max_index = if kind == "max" { layer.temp_without_gradient(dtype) } else { layer.temp(dtype) };
        let op = Op::new("sequence_pool")
            .input("X", [input])
            .output("Out", [&out])
            .output("MaxIndex", [&max_index])
            .attr("pooltype", kind.to_uppercase())
            .attr("is_test", is_test)
            .attr("pad_value", pad_value);
        layer.append_op(op)?;
        Ok(out)
    }

    /// `sequence_first_step(input)`: the first row of each sequence.
    #[track_caller]
    pub fn sequence_first_step(&mut self, input: &VarRef) -> Result<VarRef> {
        self.sequence_pool(input, "first", false, 0.0)
    }

    /// `sequence_last_step(input)`: the last row of each sequence.
    #[track_caller]
    pub fn sequence_last_step(&mut self, input: &VarRef) -> Result<VarRef> {
        self.sequence_pool(input, "last", false, 0.0)
    }

    /// `sequence_softmax(input)`: a softmax over each sequence of numbers.
    #[track_caller]
    pub fn sequence_softmax(&mut self, input: &VarRef) -> Result<VarRef> {
        self.unary(input, Op::new("sequence_softmax"))
    }

    /// `sequence_expand(x, y, ref_level=-1)`: sequences of `x` repeated as often as the level of `y` says.
    #[track_caller]
    pub fn sequence_expand(&mut self, x: &VarRef, y: &VarRef, ref_level: i32) -> Result<VarRef> {
        self.unary(x, Op::new("sequence_expand").input("Y", [y]).attr("ref_level", ref_level))
    }

    /// `sequence_expand_as(x, y)`: rows of `x` repeated as often as the sequences of `y` are long.
    #[track_caller]
    pub fn sequence_expand_as(&mut self, x: &VarRef, y: &VarRef) -> Result<VarRef> {
        self.unary(x, Op::new("sequence_expand_as").input("Y", [y]))
    }

    /// `sequence_concat(input)`: the first sequences of all inputs joined, then the second ones, ...
    #[track_caller]
    pub fn sequence_concat(&mut self, input: &[&VarRef]) -> Result<VarRef> {
        let dtype = self.first_dtype("sequence_concat", input)?;
        self.layer("sequence_concat").out(dtype, Op::new("sequence_concat").input("X", input.iter().copied()))
    }

    /// A convolution along sequences.
    #[track_caller]
    pub fn sequence_conv(&mut self, input: &VarRef, options: SequenceConv) -> Result<VarRef> {
        let mut layer = self.layer("sequence_conv");
        let (shape, dtype) = (layer.shape(input)?, layer.dtype(input)?);
        if shape.rank() < 2 {
            fail!(Kind::Shape, "`sequence_conv` needs rows, but `{input}` has shape {shape}");
        }
        let width = known(&shape[1..2], "`sequence_conv`", input)?[0];
        let size = options.filter_size;
        let w = layer.weight(&options.param_attr, &[size * width, options.num_filters], dtype)?;
        let start = options.padding_start.unwrap_or(-((size / 2) as i32));
        let op = Op::new("sequence_conv")
            .input("X", [input])
            .input("Filter", [&w])
            .attr("contextStride", options.filter_stride)
            .attr("contextStart", start)
            .attr("contextLength", size as i32);
        let out = layer.out(dtype, op)?;
        let out = layer.bias(&out, &options.bias_attr, 1, None)?;
        layer.activate(out, &options.act)
    }

    /// `sequence_pad(x, pad_value, maxlen=None)`: sequences as rows of one length, the longest where `None`, and their lengths.
    #[track_caller]
    pub fn sequence_pad(&mut self, x: &VarRef, pad_value: &VarRef, maxlen: Option<i32>) -> Result<(VarRef, VarRef)> {
        let mut layer = self.layer("sequence_pad");
        let dtype = layer.dtype(x)?;
        let (out, length) = (layer.temp(dtype), layer.temp_without_gradient(DType::I64));
        layer.stop_gradient(pad_value)?;
        let op = Op::new("sequence_pad").input("X", [x]).input("PadValue", [pad_value]);
        let op = op.output("Out", [&out]).output("Length", [&length]);
        layer.append_op(op.attr("padded_length", maxlen.unwrap_or(-1)))?;
        Ok((out, length))
    }

    /// `sequence_unpad(x, length)`: the way back.
    #[track_caller]
    pub fn sequence_unpad(&mut self, x: &VarRef, length: &VarRef) -> Result<VarRef> {
        self.stop_gradient(length)?;
        self.unary(x, Op::new("sequence_unpad").input("Length", [length]))
    }

    /// `sequence_reverse(x)`: each sequence backwards.
    #[track_caller]
    pub fn sequence_reverse(&mut self, x: &VarRef) -> Result<VarRef> {
        let dtype = self.dtype(x)?;
        self.layer("sequence_reverse").out_slot("Y", dtype, Op::new("sequence_reverse").input("X", [x]))
    }

    /// `sequence_slice(input, offset, length)`: a part of each sequence.
    #[track_caller]
    pub fn sequence_slice(&mut self, input: &VarRef, offset: &VarRef, length: &VarRef) -> Result<VarRef> {
        self.stop_gradient(offset)?;
        self.stop_gradient(length)?;
        self.unary(input, Op::new("sequence_slice").input("Offset", [offset]).input("Length", [length]))
    }

    /// `sequence_mask(x, maxlen=None, dtype='int64')`: for each length `n`, `n` ones and then zeros.
    #[track_caller]
    pub fn sequence_mask(&mut self, x: &VarRef, maxlen: Option<IntOrVar>, dtype: DType) -> Result<VarRef> {
        let mut layer = self.layer("sequence_mask");
        let op = Op::new("sequence_mask").input("X", [x]).attr("out_dtype", dtype.proto());
        let op = match &maxlen {
            Some(IntOrVar::Int(maxlen)) => op.attr("maxlen", *maxlen as i32),
            Some(IntOrVar::Var(maxlen)) => op.input("MaxLenTensor", [maxlen]),
            None => op,
        };
        let out = layer.out_slot("Y", dtype, op)?;
        layer.stop_gradient(&out)?;
        Ok(out)
    }

    /// `sequence_enumerate(input, win_size, pad_value=0)`: each id with those that follow it.
    #[track_caller]
    pub fn sequence_enumerate(&mut self, input: &VarRef, win_size: i32, pad_value: i32) -> Result<VarRef> {
        let mut layer = self.layer("sequence_enumerate");
        let dtype = layer.dtype(input)?;
        let out = layer.temp_without_gradient(dtype);
        let op = Op::new("sequence_enumerate").input("X", [input]).output("Out", [&out]);
        layer.append_op(op.attr("win_size", win_size).attr("pad_value", pad_value))?;
        Ok(out)
    }

    /// `sequence_reshape(input, new_dim)`: rows of another width.
    #[track_caller]
    pub fn sequence_reshape(&mut self, input: &VarRef, new_dim: i32) -> Result<VarRef> {
        self.unary(input, Op::new("sequence_reshape").attr("new_dim", new_dim))
    }

    /// `sequence_scatter(input, index, updates)`: numbers added to row `i` at the columns of sequence `i`.
    #[track_caller]
    pub fn sequence_scatter(&mut self, input: &VarRef, index: &VarRef, updates: &VarRef) -> Result<VarRef> {
        self.unary(input, Op::new("sequence_scatter").input("Ids", [index]).input("Updates", [updates]))
    }

    /// `lod_reset(x, y)`: the LoD of `y`, or what `y` holds.
    #[track_caller]
    pub fn lod_reset_by(&mut self, x: &VarRef, y: &VarRef) -> Result<VarRef> {
        self.unary(x, Op::new("lod_reset").input("Y", [y]))
    }

    /// `lod_reset(x, target_lod=...)`: these offsets.
    #[track_caller]
    pub fn lod_reset(&mut self, x: &VarRef, target_lod: &[i32]) -> Result<VarRef> {
        self.unary(x, Op::new("lod_reset").attr("target_lod", target_lod.to_vec()))
    }

    /// `lod_append(x, level)`: these offsets as one more level.
    #[track_caller]
    pub fn lod_append(&mut self, x: &VarRef, level: &[i32]) -> Result<VarRef> {
        let dtype = self.dtype(x)?;
        let op = Op::new("lod_reset").input("X", [x]).attr("append", true).attr("target_lod", level.to_vec());
        self.layer("lod_append").out(dtype, op)
    }

    /// `row_conv(input, future_context_size, param_attr=None, act=None)`: each step sees `future_context_size` later steps, column by column.
    #[track_caller]
    pub fn row_conv(
        &mut self,
        input: &VarRef,
        future_context_size: usize,
        param_attr: impl Into<Param>,
        act: impl Into<Act>,
    ) -> Result<VarRef> {
        let mut layer = self.layer("row_conv");
        let (shape, dtype) = (layer.shape(input)?, layer.dtype(input)?);
        let columns: usize =
            known(&shape[shape.rank().saturating_sub(1)..], "the filter of `row_conv`", input)?.iter().product();
        let filter = layer.weight(&param_attr.into(), &[future_context_size + 1, columns], dtype)?;
        let out = layer.out(dtype, Op::new("row_conv").input("X", [input]).input("Filter", [&filter]))?;
        layer.activate(out, &act.into())
    }

    /// Images as sequences of windows.
    #[track_caller]
    pub fn im2sequence(&mut self, input: &VarRef, options: Im2Sequence) -> Result<VarRef> {
        let mut layer = self.layer("im2sequence");
        let dtype = layer.dtype(input)?;
        let op = Op::new("im2sequence")
            .input("X", [input])
            .attr("kernels", options.filter_size.to_vec())
            .attr("strides", options.stride.to_vec())
            .attr("paddings", options.padding.to_vec());
        let op = match &options.input_image_size {
            Some(size) => op.input("Y", [size]).attr("out_stride", options.out_stride.to_vec()),
            None => op,
        };
        layer.out(dtype, op)
    }

    /// `add_position_encoding(input, alpha, beta)`: `alpha * input + beta * position`.
    #[track_caller]
    pub fn add_position_encoding(&mut self, input: &VarRef, alpha: f32, beta: f32) -> Result<VarRef> {
        self.unary(input, Op::new("add_position_encoding").attr("alpha", alpha).attr("beta", beta))
    }

    /// `continuous_value_model(input, cvm, use_cvm=True)`: shows and clicks in front of each row, as logarithms or left out.
    #[track_caller]
    pub fn continuous_value_model(&mut self, input: &VarRef, cvm: &VarRef, use_cvm: bool) -> Result<VarRef> {
        let ty: VarType = self.tensor_type(input)?;
        let mut layer = self.layer("cvm");
        let out = layer.generated(ty);
        let op = Op::new("cvm").input("X", [input]).input("CVM", [cvm]).output("Y", [&out]);
        layer.append_op(op.attr("use_cvm", use_cvm))?;
        Ok(out)
    }
}

declare! {
    /// Cuts images into windows, which become the rows of a sequence per image.
    ///
    /// A row holds all channels of a window. The windows of an image follow each other from left to right and from top
    /// to bottom. Networks that read lines of text from images use it before a recurrent layer.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[batch, channels, height, width]``.
    ///     filter_size (int, list or tuple): the window: ``[vertical, horizontal]``, or one number for both.
    ///     stride (int, list or tuple): the steps of the window: ``[vertical, horizontal]``, or one number for both.
    ///     padding (int, list or tuple): zeros around the image: one number, ``[vertical, horizontal]`` or
    ///         ``[top, left, bottom, right]``.
    ///     input_image_size (Variable): ``[batch, 2]``: height and width of each image before it was made smaller by
    ///         ``out_stride``; windows beyond them are left out. ``None``: all windows.
    ///     out_stride (int, list or tuple): by how much images were made smaller: ``[vertical, horizontal]``, or one
    ///         number for both; only with ``input_image_size``.
    ///
    /// Returns:
    ///     Variable: ``[windows of all images, channels * window height * window width]``, with a LoD of one sequence
    ///         per image.
    ///
    /// Example:
    ///     >>> image = fluid.layers.assign(np.arange(9, dtype="float32").reshape(1, 1, 3, 3))
    ///     >>> out = fluid.layers.im2sequence(image, filter_size=2)
    ///     >>> tensor = fluid.Executor().run(fetch_list=[out], return_numpy=False)[0]
    ///     >>> np.array(tensor).tolist(), tensor.lod()
    ///     ([[0.0, 1.0, 3.0, 4.0], [1.0, 2.0, 4.0, 5.0], [3.0, 4.0, 6.0, 7.0], [4.0, 5.0, 7.0, 8.0]], [[0, 4]])
    "nn.im2sequence(input, filter_size=1, stride=1, padding=0, input_image_size=None, out_stride=1, name=None)"
        => |net, a| net.im2sequence(&a.var("input")?, Im2Sequence::filter(a.pair("filter_size")?)
        .stride(a.pair("stride")?).padding(around(a, "padding")?).input_image_size(a.opt_var("input_image_size")?)
        .out_stride(a.pair("out_stride")?));

    /// Reduces each sequence to one row.
    ///
    /// Sequences of different lengths are stored one after the other in the rows of a tensor, and its LoD tells where
    /// each begins. With several levels of LoD the innermost sequences are reduced, and the outer levels stay.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[rows, ...]`` with LoD.
    ///     pool_type (str): ``average``; ``sum``; ``sqrt``: the sum divided by the square root of the length; ``max``:
    ///         column by column; ``last`` or ``first``: that row.
    ///     is_test (bool): the program only predicts; the result is the same.
    ///     pad_value (float): the elements of the result of an empty sequence.
    ///
    /// Returns:
    ///     Variable: ``[sequences, ...]``.
    ///
    /// Raises:
    ///     ValueError: ``pool_type`` is unknown.
    ///     fluid.core.EnforceNotMet: the input has no LoD (when the program runs).
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1], [2], [3], [4], [5]], "float32"))
    ///     >>> x = fluid.layers.lod_reset(x, target_lod=[0, 2, 5])
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.sequence_pool(x, "sum")])[0].tolist()
    ///     [[3.0], [12.0]]
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.sequence_pool(x, "max")])[0].tolist()
    ///     [[2.0], [5.0]]
    ///     >>> words = fluid.data("words", [None, 1], "int64", lod_level=1)
    ///     >>> sentences = fluid.layers.sequence_pool(fluid.layers.embedding(words, [1000, 8]), "average")
    ///     >>> sentences.shape
    ///     (-1, 8)
    "sequence_lod.sequence_pool(input, pool_type, is_test=False, pad_value=0.0)"
        => |net, a| net.sequence_pool(&a.var("input")?, &a.str("pool_type")?, a.bool("is_test")?,
        a.f32("pad_value")?);

    /// Takes the first row of each sequence.
    ///
    /// It is ``sequence_pool`` with ``first``.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[rows, ...]`` with LoD.
    ///
    /// Returns:
    ///     Variable: ``[sequences, ...]``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: the input has no LoD (when the program runs).
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1], [2], [3], [4], [5]], "float32"))
    ///     >>> x = fluid.layers.lod_reset(x, target_lod=[0, 2, 5])
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.sequence_first_step(x)])[0].tolist()
    ///     [[1.0], [3.0]]
    "sequence_lod.sequence_first_step(input)" => |net, a| net.sequence_first_step(&a.var("input")?);

    /// Takes the last row of each sequence.
    ///
    /// It is ``sequence_pool`` with ``last``; the usual way to use the last state of a recurrent layer.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[rows, ...]`` with LoD.
    ///
    /// Returns:
    ///     Variable: ``[sequences, ...]``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: the input has no LoD (when the program runs).
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1], [2], [3], [4], [5]], "float32"))
    ///     >>> x = fluid.layers.lod_reset(x, target_lod=[0, 2, 5])
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.sequence_last_step(x)])[0].tolist()
    ///     [[2.0], [5.0]]
    "sequence_lod.sequence_last_step(input)" => |net, a| net.sequence_last_step(&a.var("input")?);

    /// Computes the softmax over the rows of each sequence: ``exp(x) / sum(exp(x))``.
    ///
    /// Attention over the words of a sentence uses it: the weights of each sequence sum to 1.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[rows, 1]`` or ``[rows]`` with LoD.
    ///
    /// Returns:
    ///     Variable: the shape and LoD of ``input``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: a row has more than one number, or the input has no LoD (when the program runs).
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1], [2], [3], [4], [5]], "float32"))
    ///     >>> x = fluid.layers.lod_reset(x, target_lod=[0, 2, 5])
    ///     >>> weights = fluid.layers.sequence_softmax(x)
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.sequence_pool(weights, "sum")])[0].tolist()
    ///     [[1.0], [1.0]]
    "sequence_lod.sequence_softmax(input, use_cudnn=False, name=None)"
        => |net, a| net.sequence_softmax(&a.var("input")?);

    /// Repeats each sequence of ``x`` as often as the sequences of ``y`` at a level of its LoD are long.
    ///
    /// Sequence ``i`` of ``x`` (its row ``i`` if it has no LoD) is repeated ``n`` times, where ``n`` is the length of
    /// sequence ``i`` of level ``ref_level`` of ``y``; 0 removes it. A vector per sentence becomes one per word this
    /// way.
    ///
    /// Args:
    ///     x (Variable): any element type, ``[rows, ...]``; no LoD or one level.
    ///     y (Variable): only its LoD is used.
    ///     ref_level (int): the level of the LoD of ``y``; -1: the innermost one.
    ///
    /// Returns:
    ///     Variable: the repeated rows of ``x``. If ``x`` has LoD, its repeated sequences are sequences again;
    ///         otherwise the result has none.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1], [2]], "float32"))
    ///     >>> y = fluid.layers.lod_reset(fluid.layers.zeros([5, 1], "float32"), target_lod=[0, 2, 5])
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.sequence_expand(x, y)])[0].tolist()
    ///     [[1.0], [1.0], [2.0], [2.0], [2.0]]
    "sequence_lod.sequence_expand(x, y, ref_level=-1, name=None)"
        => |net, a| net.sequence_expand(&a.var("x")?, &a.var("y")?, a.i32("ref_level")?);

    /// Repeats row ``i`` of ``x`` as often as sequence ``i`` of ``y`` has rows.
    ///
    /// Args:
    ///     x (Variable): any element type, ``[sequences, ...]``: a row per sequence of ``y``.
    ///     y (Variable): only its LoD, of one level, is used.
    ///
    /// Returns:
    ///     Variable: as many rows as ``y``, with the LoD of ``y``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``x`` does not have a row per sequence of ``y`` (when the program runs).
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1], [2]], "float32"))
    ///     >>> y = fluid.layers.lod_reset(fluid.layers.zeros([5, 1], "float32"), target_lod=[0, 2, 5])
    ///     >>> out = fluid.layers.sequence_expand_as(x, y)
    ///     >>> tensor = fluid.Executor().run(fetch_list=[out], return_numpy=False)[0]
    ///     >>> np.array(tensor).tolist(), tensor.lod()
    ///     ([[1.0], [1.0], [2.0], [2.0], [2.0]], [[0, 2, 5]])
    "sequence_lod.sequence_expand_as(x, y, name=None)" => |net, a| net.sequence_expand_as(&a.var("x")?, &a.var("y")?);

    /// Joins sequences: sequence ``i`` of the result is that of the first input, followed by that of the second, and so
    /// on.
    ///
    /// Args:
    ///     input (list of Variable): tensors with LoD, with equal numbers of sequences and rows of one shape.
    ///
    /// Returns:
    ///     Variable: all rows; the lengths of the sequences are the sums of those of the inputs.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: the inputs differ in the number of sequences, or in the shape of a row (when the
    ///         program runs).
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1], [2], [3], [4], [5]], "float32"))
    ///     >>> x = fluid.layers.lod_reset(x, target_lod=[0, 2, 5])
    ///     >>> y = fluid.layers.assign(np.array([[10], [20]], "float32"))
    ///     >>> y = fluid.layers.lod_reset(y, target_lod=[0, 1, 2])
    ///     >>> out = fluid.layers.sequence_concat([x, y])
    ///     >>> tensor = fluid.Executor().run(fetch_list=[out], return_numpy=False)[0]
    ///     >>> np.array(tensor).ravel().tolist(), tensor.lod()
    ///     ([1.0, 2.0, 10.0, 3.0, 4.0, 5.0, 20.0], [[0, 3, 7]])
    "sequence_lod.sequence_concat(input, name=None)" => |net, a| net.sequence_concat(&refs(&a.vars("input")?));

    /// Convolves sequences: each row of the result is a product of the rows around it with a trained weight, plus a
    /// bias.
    ///
    /// Rows beyond the ends of a sequence count as zeros. The weight is a parameter
    /// ``[filter_size * width, num_filters]``.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[rows, width]`` with LoD.
    ///     num_filters (int): the columns of the result.
    ///     filter_size (int): the number of rows that a position sees.
    ///     filter_stride (int): only 1.
    ///     padding (bool): accepted; sequences are always padded with zeros, as in Fluid.
    ///     padding_start (int): the first row that a position sees, relative to itself; ``None``:
    ///         ``-(filter_size // 2)``, so that the window is around the position.
    ///     bias_attr (ParamAttr): name, initializer, regularizer and learning rate of the bias; ``None``: zeros;
    ///         ``False``: no bias.
    ///     param_attr (ParamAttr): the same of the weight; ``None``: Xavier's initializer.
    ///
    /// Returns:
    ///     Variable: ``[rows, num_filters]`` with the LoD of ``input``.
    ///
    /// Raises:
    ///     NotImplementedError: ``filter_stride`` is not 1.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1], [2], [3], [4], [5]], "float32"))
    ///     >>> x = fluid.layers.lod_reset(x, target_lod=[0, 2, 5])
    ///     >>> ones = fluid.initializer.Constant(1.0)
    ///     >>> out = fluid.layers.sequence_conv(x, 1, filter_size=3, param_attr=ones, bias_attr=False)
    ///     >>> exe = fluid.Executor()
    ///     >>> _ = exe.run(fluid.default_startup_program())
    ///     >>> np.array(exe.run(fetch_list=[out], return_numpy=False)[0]).ravel().tolist()
    ///     [3.0, 3.0, 7.0, 12.0, 9.0]
    "sequence_lod.sequence_conv(input, num_filters, filter_size=3, filter_stride=1, padding=True, \
     padding_start=None, bias_attr=None, param_attr=None, act=None, name=None)"
        => |net, a| net.sequence_conv(&a.var("input")?, SequenceConv::filters(a.usize("num_filters")?)
        .filter_size(a.usize("filter_size")?).filter_stride(a.i32("filter_stride")?)
        .padding_start(a.opt("padding_start", Args::i32)?).bias_attr(a.param("bias_attr")?).param_attr(a.param("param_attr")?)
        .act(a.act("act")?));

    /// Pads sequences to one length and makes a dense tensor of them.
    ///
    /// ``sequence_unpad`` is the inverse.
    ///
    /// Args:
    ///     x (Variable): any element type, ``[rows, ...]`` with LoD.
    ///     pad_value (Variable): the element type of ``x``: one number, or one row.
    ///     maxlen (int): the length of the padded sequences; ``None``: that of the longest one.
    ///
    /// Returns:
    ///     tuple: (out, length): ``[sequences, maxlen, ...]`` without LoD, and int64 ``[sequences]``, the lengths
    ///         before.
    ///
    /// Raises:
    ///     IndexError: a sequence is longer than ``maxlen`` (when the program runs).
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1], [2], [3], [4], [5]], "float32"))
    ///     >>> x = fluid.layers.lod_reset(x, target_lod=[0, 2, 5])
    ///     >>> out, length = fluid.layers.sequence_pad(x, fluid.layers.assign(np.array([0], "float32")))
    ///     >>> [a.tolist() for a in fluid.Executor().run(fetch_list=[out, length])]
    ///     [[[[1.0], [2.0], [0.0]], [[3.0], [4.0], [5.0]]], [2, 3]]
    "sequence_lod.sequence_pad(x, pad_value, maxlen=None, name=None)"
        => |net, a| net.sequence_pad(&a.var("x")?, &a.var("pad_value")?, a.opt("maxlen", Args::i32)?);

    /// Removes the padding of sequences: the inverse of ``sequence_pad``.
    ///
    /// Args:
    ///     x (Variable): any element type, ``[sequences, maxlen, ...]``.
    ///     length (Variable): int64, ``[sequences]``: the number of rows to keep of each sequence.
    ///
    /// Returns:
    ///     Variable: ``[sum of the lengths, ...]`` with a LoD of these lengths.
    ///
    /// Raises:
    ///     IndexError: a length is larger than ``maxlen`` (when the program runs).
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2, 0], [3, 0, 0]], "float32"))
    ///     >>> length = fluid.layers.assign(np.array([2, 1], "int64"))
    ///     >>> out = fluid.layers.sequence_unpad(x, length)
    ///     >>> tensor = fluid.Executor().run(fetch_list=[out], return_numpy=False)[0]
    ///     >>> np.array(tensor).tolist(), tensor.lod()
    ///     ([[1.0], [2.0], [3.0]], [[0, 2, 3]])
    "sequence_lod.sequence_unpad(x, length, name=None)" => |net, a| net.sequence_unpad(&a.var("x")?, &a.var("length")?);

    /// Reverses the rows of each sequence.
    ///
    /// The sequences keep their order. It feeds the backward half of a bidirectional recurrent layer.
    ///
    /// Args:
    ///     x (Variable): any element type, ``[rows, ...]`` with LoD.
    ///
    /// Returns:
    ///     Variable: the shape and LoD of ``x``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: the input has no LoD (when the program runs).
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1], [2], [3], [4], [5]], "float32"))
    ///     >>> x = fluid.layers.lod_reset(x, target_lod=[0, 2, 5])
    ///     >>> out = fluid.layers.sequence_reverse(x)
    ///     >>> np.array(fluid.Executor().run(fetch_list=[out], return_numpy=False)[0]).ravel().tolist()
    ///     [2.0, 1.0, 5.0, 4.0, 3.0]
    "sequence_lod.sequence_reverse(x, name=None)" => |net, a| net.sequence_reverse(&a.var("x")?);

    /// Takes a part of each sequence: ``length[i]`` rows from row ``offset[i]`` on.
    ///
    /// Args:
    ///     input (Variable): any element type, ``[rows, ...]`` with LoD.
    ///     offset (Variable): int32 or int64, ``[sequences, 1]``: the first row, counted from 0 in the sequence.
    ///     length (Variable): int32 or int64, ``[sequences, 1]``: the number of rows.
    ///
    /// Returns:
    ///     Variable: ``[sum of the lengths, ...]`` with a LoD of these lengths.
    ///
    /// Raises:
    ///     IndexError: a part reaches beyond the end of its sequence (when the program runs).
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1], [2], [3], [4], [5]], "float32"))
    ///     >>> x = fluid.layers.lod_reset(x, target_lod=[0, 2, 5])
    ///     >>> offset = fluid.layers.assign(np.array([[0], [1]], "int64"))
    ///     >>> length = fluid.layers.assign(np.array([[1], [2]], "int64"))
    ///     >>> out = fluid.layers.sequence_slice(x, offset, length)
    ///     >>> tensor = fluid.Executor().run(fetch_list=[out], return_numpy=False)[0]
    ///     >>> np.array(tensor).tolist(), tensor.lod()
    ///     ([[1.0], [4.0], [5.0]], [[0, 1, 3]])
    "sequence_lod.sequence_slice(input, offset, length, name=None)"
        => |net, a| net.sequence_slice(&a.var("input")?, &a.var("offset")?, &a.var("length")?);

    /// Makes a mask of lengths: ``out[..., j] = 1`` where ``j < x[...]``, otherwise 0.
    ///
    /// Multiply padded sequences by it to remove what stands behind their ends.
    ///
    /// Args:
    ///     x (Variable): int32 or int64, any shape: lengths.
    ///     maxlen (int or Variable): the size of the last dimension; ``None`` or -1: the largest length.
    ///     dtype (dtype): the element type of the result.
    ///
    /// Returns:
    ///     Variable: ``[*x.shape, maxlen]``, of ``dtype``.
    ///
    /// Example:
    ///     >>> lengths = fluid.layers.assign(np.array([1, 3], "int64"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.sequence_mask(lengths)])[0].tolist()
    ///     [[1, 0, 0], [1, 1, 1]]
    ///     >>> out = fluid.layers.sequence_mask(lengths, maxlen=4, dtype="float32")
    ///     >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
    ///     [[1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 0.0]]
    "sequence_lod.sequence_mask(x, maxlen=None, dtype='int64', name=None)"
        => |net, a| net.sequence_mask(&a.var("x")?, a.opt("maxlen", Args::int_or_var)?, a.dtype("dtype")?);

    /// Makes n-grams: for each id the ``win_size`` ids from it on, within its sequence.
    ///
    /// Args:
    ///     input (Variable): int32 or int64, ``[rows, 1]`` with LoD.
    ///     win_size (int): the number of ids in a window.
    ///     pad_value (int): stands for ids beyond the end of the sequence.
    ///
    /// Returns:
    ///     Variable: ``[rows, win_size]`` with the LoD of ``input``.
    ///
    /// Raises:
    ///     TypeError: the ids are no integers.
    ///
    /// Example:
    ///     >>> ids = fluid.layers.assign(np.array([[1], [2], [3], [4], [5]], "int64"))
    ///     >>> ids = fluid.layers.lod_reset(ids, target_lod=[0, 3, 5])
    ///     >>> out = fluid.layers.sequence_enumerate(ids, win_size=2)
    ///     >>> np.array(fluid.Executor().run(fetch_list=[out], return_numpy=False)[0]).tolist()
    ///     [[1, 2], [2, 3], [3, 0], [4, 5], [5, 0]]
    "sequence_lod.sequence_enumerate(input, win_size, pad_value=0, name=None)"
        => |net, a| net.sequence_enumerate(&a.var("input")?, a.i32("win_size")?, a.i32("pad_value")?);

    /// Gives the rows of each sequence another width; the lengths of the sequences change accordingly.
    ///
    /// Args:
    ///     input (Variable): any element type, ``[rows, width]`` with LoD.
    ///     new_dim (int): the new width; it divides the number of elements of every sequence.
    ///
    /// Returns:
    ///     Variable: ``[rows * width / new_dim, new_dim]`` with LoD.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: a sequence does not fill rows of ``new_dim`` (when the program runs).
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4], [5, 6], [7, 8]], "float32"))
    ///     >>> x = fluid.layers.lod_reset(x, target_lod=[0, 2, 4])
    ///     >>> out = fluid.layers.sequence_reshape(x, new_dim=4)
    ///     >>> tensor = fluid.Executor().run(fetch_list=[out], return_numpy=False)[0]
    ///     >>> np.array(tensor).tolist(), tensor.lod()
    ///     ([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]], [[0, 1, 2]])
    "sequence_lod.sequence_reshape(input, new_dim)"
        => |net, a| net.sequence_reshape(&a.var("input")?, a.i32("new_dim")?);

    /// Adds the elements of sequence ``i`` of ``updates`` to row ``i`` of ``input``, at the columns in ``index``.
    ///
    /// Args:
    ///     input (Variable): float32, float64, int32 or int64, ``[sequences, columns]``; it does not change itself.
    ///     index (Variable): int32 or int64, ``[n, 1]`` with LoD: a column for each update.
    ///     updates (Variable): the element type of ``input``, ``[n, 1]`` with the LoD of ``index``.
    ///
    /// Returns:
    ///     Variable: the shape and element type of ``input``.
    ///
    /// Raises:
    ///     IndexError: an index is no column (when the program runs).
    ///
    /// Example:
    ///     >>> x = fluid.layers.ones([2, 4], "float32")
    ///     >>> index = fluid.layers.assign(np.array([[0], [1], [3]], "int64"))
    ///     >>> index = fluid.layers.lod_reset(index, target_lod=[0, 2, 3])
    ///     >>> updates = fluid.layers.assign(np.array([[1], [2], [3]], "float32"))
    ///     >>> updates = fluid.layers.lod_reset(updates, target_lod=[0, 2, 3])
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.sequence_scatter(x, index, updates)])[0].tolist()
    ///     [[2.0, 3.0, 1.0, 1.0], [1.0, 1.0, 1.0, 4.0]]
    "sequence_lod.sequence_scatter(input, index, updates, name=None)"
        => |net, a| net.sequence_scatter(&a.var("input")?, &a.var("index")?, &a.var("updates")?);

    /// Gives a tensor another LoD; its elements do not change.
    ///
    /// The LoD divides the rows of a tensor into sequences. Usually it comes with what is fed
    /// (``fluid.create_lod_tensor``).
    ///
    /// Args:
    ///     x (Variable): any element type, ``[rows, ...]``.
    ///     y (Variable): the result gets its LoD; if it has none, it holds the offsets: int32 ``[sequences + 1]``.
    ///         ``None``: ``target_lod`` counts.
    ///     target_lod (list or tuple): the offsets of the sequences, from 0 to the number of rows: ``[0, 2, 5]`` are
    ///         two sequences of 2 and 3 rows.
    ///
    /// Returns:
    ///     Variable: ``x`` with one level of LoD.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: the offsets do not end at the number of rows.
    ///     TypeError: neither ``y`` nor ``target_lod`` is given.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1], [2], [3], [4], [5]], "float32"))
    ///     >>> y = fluid.layers.lod_reset(x, target_lod=[0, 2, 5])
    ///     >>> fluid.Executor().run(fetch_list=[y], return_numpy=False)[0].lod()
    ///     [[0, 2, 5]]
    "sequence_lod.lod_reset(x, y=None, target_lod=None)" => |net, a| match a.opt_var("y")? {
        Some(y) => net.lod_reset_by(&a.var("x")?, &y),
        None => net.lod_reset(&a.var("x")?, &a.i32s("target_lod")?),
    };

    /// Adds an innermost level to the LoD of a tensor; its elements do not change.
    ///
    /// Args:
    ///     x (Variable): any element type, ``[rows, ...]``.
    ///     level (list or tuple): the offsets of the new level, from 0 to the number of rows.
    ///
    /// Returns:
    ///     Variable: ``x`` with one more level of LoD.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1], [2], [3], [4], [5]], "float32"))
    ///     >>> x = fluid.layers.lod_reset(x, target_lod=[0, 2, 5])
    ///     >>> y = fluid.layers.lod_append(x, [0, 1, 2, 3, 4, 5])
    ///     >>> fluid.Executor().run(fetch_list=[y], return_numpy=False)[0].lod()
    ///     [[0, 2, 5], [0, 1, 2, 3, 4, 5]]
    "sequence_lod.lod_append(x, level)" => |net, a| net.lod_append(&a.var("x")?, &a.i32s("level")?);

    /// Turns the counts of shows and clicks in the first two columns of embeddings into features, or removes them.
    ///
    /// With ``use_cvm`` column 0 becomes ``log(show + 1)`` and column 1 ``log(click + 1) - log(show + 1)``; other
    /// columns stay. The gradient of the two columns is taken from ``cvm``, the counts of the batch.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[rows, width]``, usually of ``sequence_pool`` over an embedding; its
    ///         first two columns are shows and clicks.
    ///     cvm (Variable): float32 or float64, ``[batch, 2]``: shows and clicks of each sample.
    ///     use_cvm (bool): keep the two columns; otherwise they are removed.
    ///
    /// Returns:
    ///     Variable: ``[rows, width]``, or ``[rows, width - 2]`` without ``use_cvm``.
    ///
    /// Example:
    ///     >>> embedding = fluid.layers.assign(np.array([[3, 1, 7]], "float32"))
    ///     >>> cvm = fluid.layers.assign(np.array([[3, 1]], "float32"))
    ///     >>> out = fluid.layers.continuous_value_model(embedding, cvm)
    ///     >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
    ///     [[ 1.3863 -0.6931  7.    ]]
    "nn.continuous_value_model(input, cvm, use_cvm=True)"
        => |net, a| net.continuous_value_model(&a.var("input")?, &a.var("cvm")?, a.bool("use_cvm")?);

    /// Convolves sequences with later steps, column by column: ``out[t] = x[t] * w[0] + ... + x[t + n] * w[n]``.
    ///
    /// Steps beyond the end of a sequence count as zeros. The weight is a parameter
    /// ``[future_context_size + 1, width]``. Speech recognition uses it instead of a backward recurrent layer.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[rows, width]`` with LoD, or ``[batch, steps, width]``.
    ///     future_context_size (int): ``n``, the number of later steps.
    ///     param_attr (ParamAttr): name, initializer, regularizer and learning rate of the weight; ``None``: Xavier's
    ///         initializer.
    ///
    /// Returns:
    ///     Variable: the shape and LoD of ``input``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1], [2], [3], [4], [5]], "float32"))
    ///     >>> x = fluid.layers.lod_reset(x, target_lod=[0, 2, 5])
    ///     >>> out = fluid.layers.row_conv(x, 1, param_attr=fluid.initializer.Constant(1.0))
    ///     >>> exe = fluid.Executor()
    ///     >>> _ = exe.run(fluid.default_startup_program())
    ///     >>> np.array(exe.run(fetch_list=[out], return_numpy=False)[0]).ravel().tolist()
    ///     [3.0, 2.0, 7.0, 9.0, 5.0]
    "nn.row_conv(input, future_context_size, param_attr=None, act=None)"
        => |net, a| net.row_conv(&a.var("input")?, a.usize("future_context_size")?, a.param("param_attr")?,
        a.act("act")?);

    /// Adds sines and cosines of the position: ``alpha * input + beta * encoding``.
    ///
    /// With ``h = width / 2`` the first ``h`` columns of the encoding at position ``p`` are
    /// ``sin(p / 10000 ** (k / (h - 1)))`` for ``k = 0, 1, ...``, the others are the cosines.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[batch, positions, width]``, or ``[rows, width]`` with LoD; the
    ///         width is even.
    ///     alpha (float): factor of the input.
    ///     beta (float): factor of the encoding.
    ///
    /// Returns:
    ///     Variable: the shape and LoD of ``input``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: the width is odd.
    ///
    /// Example:
    ///     >>> x = fluid.layers.zeros([1, 2, 4], "float32")
    ///     >>> out = fluid.layers.add_position_encoding(x, alpha=1.0, beta=1.0)
    ///     >>> print(fluid.Executor().run(fetch_list=[out])[0].round(3))
    ///     [[[0.    0.    1.    1.   ]
    ///       [0.841 0.    0.54  1.   ]]]
    "nn.add_position_encoding(input, alpha, beta, name=None)"
        => |net, a| net.add_position_encoding(&a.var("input")?, a.f32("alpha")?, a.f32("beta")?);
}

/// Paddings above, left, below and right: one number, two for the axes, or all four.
fn around(a: &Args, name: &str) -> Result<[i32; 4]> {
    match a.i32s(name)?[..] {
        [all] => Ok([all; 4]),
        [y, x] => Ok([y, x, y, x]),
        _ => a.array(name),
    }
}
