//! Sequences: rows grouped by LoD.

use oarlock_ir::{Kind, Op, Result, VarType, fail};
use oarlock_tensor::DType;

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
