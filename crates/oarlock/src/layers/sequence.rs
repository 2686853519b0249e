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
    /// Images as sequences of windows.
    ///
    /// Args:
    ///     input (Variable): images: batch, channels, height, width.
    ///     filter_size (int or list): height and width of a window.
    ///     stride (int or list): steps of the window, down and across.
    ///     padding (int or list): zeros around the image: one number, two for the axes, or up, left, down, right.
    ///     input_image_size (Variable): height and width of each image as it was.
    ///     out_stride (int or list): how much smaller images became, down and across.
    "nn.im2sequence(input, filter_size=1, stride=1, padding=0, input_image_size=None, out_stride=1, name=None)"
        => |net, a| net.im2sequence(&a.var("input")?, Im2Sequence::filter(a.pair("filter_size")?)
        .stride(a.pair("stride")?).padding(around(a, "padding")?).input_image_size(a.opt_var("input_image_size")?)
        .out_stride(a.pair("out_stride")?));

    /// One row per sequence.
    ///
    /// Args:
    ///     input (Variable): sequences, LoD level 1 or more.
    ///     pool_type (str): ``average``, ``sum``, ``sqrt`` (sum divided by the root of the length), ``max``, ``last`` or.
    ///     ``first``.
    ///     is_test (bool): compute as in prediction, not as in training.
    ///     pad_value (float): the result of an empty sequence.
    ///
    /// Example:
    ///     >>> words = fluid.data("words", [None, 1], "int64", lod_level=1)
    ///     >>> rows = fluid.layers.embedding(words, [1000, 8])
    ///     >>> fluid.layers.sequence_pool(rows, "sum").shape
    ///     (-1, 8)
    "sequence_lod.sequence_pool(input, pool_type, is_test=False, pad_value=0.0)"
        => |net, a| net.sequence_pool(&a.var("input")?, &a.str("pool_type")?, a.bool("is_test")?,
        a.f32("pad_value")?);

    /// The first row of each sequence.
    ///
    /// Args:
    ///     input (Variable): the input.
    "sequence_lod.sequence_first_step(input)" => |net, a| net.sequence_first_step(&a.var("input")?);

    /// The last row of each sequence.
    ///
    /// Args:
    ///     input (Variable): the input.
    "sequence_lod.sequence_last_step(input)" => |net, a| net.sequence_last_step(&a.var("input")?);

    /// The softmax over the elements of each sequence; ``input`` has one column.
    ///
    /// Args:
    ///     input (Variable): one number per row, with LoD.
    "sequence_lod.sequence_softmax(input, use_cudnn=False, name=None)"
        => |net, a| net.sequence_softmax(&a.var("input")?);

    /// Repeats each sequence (or row) of ``x`` as often as level ``ref_level`` of ``y`` says.
    ///
    /// Args:
    ///     x (Variable): with one level of LoD or none.
    ///     y (Variable): of which only the LoD counts.
    ///     ref_level (int): the level of Y's LoD; -1 for the innermost.
    "sequence_lod.sequence_expand(x, y, ref_level=-1, name=None)"
        => |net, a| net.sequence_expand(&a.var("x")?, &a.var("y")?, a.i32("ref_level")?);

    /// Repeats row ``i`` of ``x`` as often as sequence ``i`` of ``y`` has elements.
    ///
    /// Args:
    ///     x (Variable): a row per sequence of `Y`.
    ///     y (Variable): of which only the LoD counts.
    "sequence_lod.sequence_expand_as(x, y, name=None)" => |net, a| net.sequence_expand_as(&a.var("x")?, &a.var("y")?);

    /// Joins the first sequences of all inputs, then the second ones, and so on.
    ///
    /// Args:
    ///     input (Variable or list): with LoD; as many sequences each, rows of one width.
    "sequence_lod.sequence_concat(input, name=None)" => |net, a| net.sequence_concat(&refs(&a.vars("input")?));

    /// A convolution along sequences with windows of ``filter_size`` rows, ``[rows, num_filters]``.
    ///
    /// Args:
    ///     input (Variable): matrix with LoD.
    ///     num_filters (int): outputs per step.
    ///     filter_size (int): steps that a filter sees.
    ///     filter_stride (int): steps of the filter; only 1 is possible.
    ///     padding (bool): accepted; sequences are always padded with zeros.
    ///     padding_start (int): where the filter begins, relative to a step; `None` puts it in the middle.
    ///     bias_attr (ParamAttr): the bias.
    ///     param_attr (ParamAttr): the weight.
    ///     act (str): activation.
    "sequence_lod.sequence_conv(input, num_filters, filter_size=3, filter_stride=1, padding=True, \
     padding_start=None, bias_attr=None, param_attr=None, act=None, name=None)"
        => |net, a| net.sequence_conv(&a.var("input")?, SequenceConv::filters(a.usize("num_filters")?)
        .filter_size(a.usize("filter_size")?).filter_stride(a.i32("filter_stride")?)
        .padding_start(a.opt("padding_start", Args::i32)?).bias_attr(a.param("bias_attr")?).param_attr(a.param("param_attr")?)
        .act(a.act("act")?));

    /// Sequences padded with ``pad_value`` to one length (``maxlen``, or that of the longest), and their lengths, int64.
    ///
    /// Args:
    ///     x (Variable): with LoD.
    ///     pad_value (Variable): one number, or one row.
    ///     maxlen (int): the length of the result; ``None``: that of the longest sequence.
    "sequence_lod.sequence_pad(x, pad_value, maxlen=None, name=None)"
        => |net, a| net.sequence_pad(&a.var("x")?, &a.var("pad_value")?, a.opt("maxlen", Args::i32)?);

    /// Sequences of the lengths ``length`` from a padded tensor: the inverse of `sequence_pad`.
    ///
    /// Args:
    ///     x (Variable): sequences by rows by anything.
    ///     length (Variable): i32 or i64, one per sequence.
    "sequence_lod.sequence_unpad(x, length, name=None)" => |net, a| net.sequence_unpad(&a.var("x")?, &a.var("length")?);

    /// Reverses the rows of each sequence.
    ///
    /// Args:
    ///     x (Variable): with LoD.
    "sequence_lod.sequence_reverse(x, name=None)" => |net, a| net.sequence_reverse(&a.var("x")?);

    /// A part of each sequence: ``length`` rows from ``offset`` on, both with one number per sequence.
    ///
    /// Args:
    ///     input (Variable): with LoD.
    ///     offset (Variable): i32 or i64, one per sequence.
    ///     length (Variable): i32 or i64, one per sequence.
    "sequence_lod.sequence_slice(input, offset, length, name=None)"
        => |net, a| net.sequence_slice(&a.var("input")?, &a.var("offset")?, &a.var("length")?);

    /// For each length ``n`` a row of ``n`` ones followed by zeros, up to ``maxlen`` columns (the largest length where
    /// ``None``).
    ///
    /// Args:
    ///     x (Variable): lengths, i32 or i64.
    ///     maxlen (int or Variable): size of the last dimension; -1 for the greatest length.
    ///     dtype (str): the element type.
    ///
    /// Example:
    ///     >>> lengths = fluid.layers.assign(np.array([1, 3], "int64"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.sequence_mask(lengths)])[0].tolist()
    ///     [[1, 0, 0], [1, 1, 1]]
    "sequence_lod.sequence_mask(x, maxlen=None, dtype='int64', name=None)"
        => |net, a| net.sequence_mask(&a.var("x")?, a.opt("maxlen", Args::int_or_var)?, a.dtype("dtype")?);

    /// For each id, the ``win_size`` ids from it on; positions beyond the end of the sequence are ``pad_value``.
    ///
    /// Args:
    ///     input (Variable): ids, one per row, with LoD.
    ///     win_size (int): how many ids a window has (must be set).
    ///     pad_value (int): what stands beyond the end of a sequence.
    "sequence_lod.sequence_enumerate(input, win_size, pad_value=0, name=None)"
        => |net, a| net.sequence_enumerate(&a.var("input")?, a.i32("win_size")?, a.i32("pad_value")?);

    /// The elements of each sequence in rows of ``new_dim`` columns.
    ///
    /// Args:
    ///     input (Variable): matrix with LoD.
    ///     new_dim (int): width of a row; must divide the numbers of every sequence (must be set).
    "sequence_lod.sequence_reshape(input, new_dim)"
        => |net, a| net.sequence_reshape(&a.var("input")?, a.i32("new_dim")?);

    /// ``input`` with the elements of sequence ``i`` of ``updates`` added to row ``i``, at the columns in ``index``.
    ///
    /// Args:
    ///     input (Variable): a row per sequence.
    ///     index (Variable): int64 positions, sequences as long as those of ``updates``.
    ///     updates (Variable): one number per id.
    "sequence_lod.sequence_scatter(input, index, updates, name=None)"
        => |net, a| net.sequence_scatter(&a.var("input")?, &a.var("index")?, &a.var("updates")?);

    /// ``x`` with the LoD of ``y``, or with the offsets ``target_lod``.
    ///
    /// Args:
    ///     x (Variable): any tensor.
    ///     y (Variable): the second operand.
    ///     target_lod (int or list): offsets of sequences, from 0 to the number of rows.
    "sequence_lod.lod_reset(x, y=None, target_lod=None)" => |net, a| match a.opt_var("y")? {
        Some(y) => net.lod_reset_by(&a.var("x")?, &y),
        None => net.lod_reset(&a.var("x")?, &a.i32s("target_lod")?),
    };

    /// ``x`` with ``level`` as an additional, innermost LoD level.
    ///
    /// Args:
    ///     x (Variable): the input.
    ///     level (int or list): lengths of the new innermost sequences.
    "sequence_lod.lod_append(x, level)" => |net, a| net.lod_append(&a.var("x")?, &a.i32s("level")?);

    /// Embeddings whose first two columns are shows and clicks: as logarithms, or removed without ``use_cvm``.
    ///
    /// Args:
    ///     input (Variable): the input.
    ///     cvm (Variable): shows and clicks, ``[batch, 2]``.
    ///     use_cvm (bool): keep the first two columns as logarithms; otherwise remove them.
    "nn.continuous_value_model(input, cvm, use_cvm=True)"
        => |net, a| net.continuous_value_model(&a.var("input")?, &a.var("cvm")?, a.bool("use_cvm")?);

    /// A convolution along sequences in which each step sees ``future_context_size`` later steps, column by column.
    ///
    /// Args:
    ///     input (Variable): a matrix with LoD, or sequences x steps x columns.
    ///     future_context_size (int): the number of steps after the current one.
    ///     param_attr (ParamAttr): name, initializer and regularizer of the weight.
    ///     act (str): an activation applied to the result, such as ``relu`` or ``softmax``.
    "nn.row_conv(input, future_context_size, param_attr=None, act=None)"
        => |net, a| net.row_conv(&a.var("input")?, a.usize("future_context_size")?, a.param("param_attr")?,
        a.act("act")?);

    /// `alpha * input + beta * position`.
    ///
    /// Args:
    ///     input (Variable): sequences x positions x D, or positions x D with LoD; D even.
    ///     alpha (float): factor of `X`.
    ///     beta (float): factor of the encoding.
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
