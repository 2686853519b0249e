//! Sequences of tags: conditional random fields, alignment without labels per step, and their measures.

use oarlock_ir::{Error, Kind, Op, Result, fail};
use oarlock_tensor::DType;

use crate::declare::{Args, Made, declare};
use crate::layer::known;
use crate::options::options;
use crate::{Net, Param, VarRef};

options! {
    /// `chunk_eval(input, label, chunk_scheme, num_chunk_types, excluded_chunk_types=None, seq_length=None)`
    ChunkEval::scheme(
        /// `IOB`, `IOE`, `IOBES` or `plain`.
        chunk_scheme(into): String,
        /// How many types of chunks there are.
        num_chunk_types: i32,
    ) {
        /// Types that do not count.
        excluded_chunk_types(into): Vec<i32> = Vec::new(),
        /// Steps of each sequence of a padded input.
        seq_length: Option<VarRef> = None,
    }
}

/// The results of [`Net::chunk_eval`].
#[derive(Debug, Clone)]
pub struct ChunkVars {
    /// Precision of the batch.
    pub precision: VarRef,
    /// Recall of the batch.
    pub recall: VarRef,
    /// Their harmonic mean.
    pub f1_score: VarRef,
    /// Chunks found, true chunks, and those among both: what [`ChunkEvaluator`](crate::metrics::ChunkEvaluator) adds up.
    pub counts: [VarRef; 3],
}

impl Net {
    /// `linear_chain_crf(input, label, param_attr=None, length=None)`: the cost of tag sequences; `length` holds the steps of each
    /// sequence of a padded input.
    #[track_caller]
    pub fn linear_chain_crf(
        &mut self,
        input: &VarRef,
        label: &VarRef,
        param_attr: impl Into<Param>,
        length: Option<&VarRef>,
    ) -> Result<VarRef> {
        let mut layer = self.layer("linear_chain_crf");
        let (shape, dtype) = (layer.shape(input)?, layer.dtype(input)?);
        let at = if length.is_some() { 2 } else { 1 };
        let tags = known(shape.get(at..at + 1).unwrap_or_default(), "`linear_chain_crf`", input)?;
        let &[tags] = &tags[..] else {
            fail!(Kind::Shape, "`linear_chain_crf` needs scores of tags, but `{input}` has shape {shape}");
        };
        let transition = layer.weight(&param_attr.into(), &[tags + 2, tags], dtype)?;
        let outs = [(); 4].map(|()| layer.temp(dtype));
        let mut op = Op::new("linear_chain_crf").input("Emission", [input]).input("Transition", [&transition]);
        op = op.input("Label", [label]);
        if let Some(length) = length {
            op = op.input("Length", [length]);
        }
        let [alpha, emission, transitions, cost] = &outs;
        let op = op.output("Alpha", [alpha]).output("EmissionExps", [emission]);
        layer.append_op(op.output("TransitionExps", [transitions]).output("LogLikelihood", [cost]))?;
        Ok(cost.clone())
    }

    /// `crf_decoding(input, param_attr, label=None, length=None)`: the best tags by the transitions that
    /// [`linear_chain_crf`](Net::linear_chain_crf) made under the name `transition`; with a label whether they are right.
    #[track_caller]
    pub fn crf_decoding(
        &mut self,
        input: &VarRef,
        transition: &str,
        label: Option<&VarRef>,
        length: Option<&VarRef>,
    ) -> Result<VarRef> {
        let mut layer = self.layer("crf_decoding");
        let transition = layer.find(transition)?;
        let mut op = Op::new("crf_decoding").input("Emission", [input]).input("Transition", [&transition]);
        if let Some(label) = label {
            op = op.input("Label", [label]);
        }
        if let Some(length) = length {
            op = op.input("Length", [length]);
        }
        layer.out_slot("ViterbiPath", DType::I64, op)
    }

    /// `warpctc(input, label, blank=0, norm_by_times=False, input_length=None, label_length=None)`: the cost of labels without an
    /// alignment; `lengths` are those of a padded input and its labels.
    #[track_caller]
    pub fn warpctc(
        &mut self,
        input: &VarRef,
        label: &VarRef,
        blank: i32,
        norm_by_times: bool,
        lengths: Option<(&VarRef, &VarRef)>,
    ) -> Result<VarRef> {
        let mut layer = self.layer("warpctc");
        let dtype = layer.dtype(input)?;
        let (loss, grad) = (layer.temp(dtype), layer.temp(dtype));
        let mut op = Op::new("warpctc").input("Logits", [input]).input("Label", [label]);
        if let Some((steps, labels)) = lengths {
            op = op.input("LogitsLength", [steps]).input("LabelLength", [labels]);
        }
        let op = op.output("WarpCTCGrad", [&grad]).output("Loss", [&loss]);
        layer.append_op(op.attr("blank", blank).attr("norm_by_times", norm_by_times))?;
        Ok(loss)
    }

    /// `ctc_greedy_decoder(input, blank)`: the best class of each step, without repetitions and blanks.
    #[track_caller]
    pub fn ctc_greedy_decoder(&mut self, input: &VarRef, blank: i32) -> Result<VarRef> {
        let mut layer = self.layer("ctc_greedy_decoder");
        let (_, best) = layer.topk(input, 1)?;
        let op = Op::new("ctc_align").input("Input", [&best]).attr("merge_repeated", true).attr("blank", blank);
        layer.out_slot("Output", DType::I64, op)
    }

    /// `ctc_greedy_decoder(input, blank, input_length, padding_value=0)`: the same for padded sequences; also the new lengths.
    #[track_caller]
    pub fn ctc_greedy_decoder_padded(
        &mut self,
        input: &VarRef,
        blank: i32,
        input_length: &VarRef,
        padding_value: i32,
    ) -> Result<(VarRef, VarRef)> {
        let mut layer = self.layer("ctc_greedy_decoder");
        let (_, best) = layer.topk(input, 1)?;
        let (out, length) = (layer.temp(DType::I64), layer.temp(DType::I64));
        let best = layer.squeeze(&best, &[2])?;
        let op = Op::new("ctc_align").input("Input", [&best]).input("InputLength", [input_length]);
        let op = op.output("Output", [&out]).output("OutputLength", [&length]).attr("merge_repeated", true);
        layer.append_op(op.attr("blank", blank).attr("padding_value", padding_value))?;
        Ok((out, length))
    }

    /// `edit_distance(input, label, normalized=True, ignored_tokens=None, input_length=None, label_length=None)`: the distance of
    /// each pair of sequences, and how many pairs there are.
    #[track_caller]
    pub fn edit_distance(
        &mut self,
        input: &VarRef,
        label: &VarRef,
        normalized: bool,
        ignored_tokens: &[i32],
        lengths: Option<(&VarRef, &VarRef)>,
    ) -> Result<(VarRef, VarRef)> {
        let mut layer = self.layer("edit_distance");
        let (mut hyps, mut refs) = (input.clone(), label.clone());
        if !ignored_tokens.is_empty() {
            let erased = [layer.temp(DType::I64), layer.temp(DType::I64)];
            for (from, to) in [&hyps, &refs].into_iter().zip(&erased) {
                let op = Op::new("sequence_erase").input("X", [from]).output("Out", [to]);
                layer.append_op(op.attr("tokens", ignored_tokens.to_vec()))?;
            }
            [hyps, refs] = erased;
        }
        let (out, number) = (layer.temp(DType::I64), layer.temp(DType::I64));
        let mut op = Op::new("edit_distance").input("Hyps", [&hyps]).input("Refs", [&refs]);
        if let Some((input_length, label_length)) = lengths {
            op = op.input("HypsLength", [input_length]).input("RefsLength", [label_length]);
        }
        let op = op.output("Out", [&out]).output("SequenceNum", [&number]);
        layer.append_op(op.attr("normalized", normalized))?;
        Ok((out, number))
    }

    /// Precision, recall and F1 of the chunks that tags mark.
    #[track_caller]
    pub fn chunk_eval(&mut self, input: &VarRef, label: &VarRef, options: ChunkEval) -> Result<ChunkVars> {
        let mut layer = self.layer("chunk_eval");
        let [precision, recall, f1_score] = [(); 3].map(|()| layer.temp(DType::F32));
        let counts = [(); 3].map(|()| layer.temp(DType::I64));
        let mut op = Op::new("chunk_eval").input("Inference", [input]).input("Label", [label]);
        if let Some(length) = &options.seq_length {
            op = op.input("SeqLength", [length]);
        }
        let op = op
            .output("Precision", [&precision])
            .output("Recall", [&recall])
            .output("F1-Score", [&f1_score])
            .output("NumInferChunks", [&counts[0]])
            .output("NumLabelChunks", [&counts[1]])
            .output("NumCorrectChunks", [&counts[2]])
            .attr("num_chunk_types", options.num_chunk_types)
            .attr("chunk_scheme", options.chunk_scheme.as_str())
            .attr("excluded_chunk_types", options.excluded_chunk_types);
        layer.append_op(op)?;
        Ok(ChunkVars { precision, recall, f1_score, counts })
    }
}

declare! {
    /// The cost of tag sequences; `length` holds the steps of each sequence of a padded input.
    ///
    /// Args:
    ///     input (Variable): the input.
    ///     label (Variable): i64, the tag of each row.
    ///     param_attr (ParamAttr): name, initializer and regularizer of the weight.
    ///     length (Variable): ``[batch]``, int64: for padded input without LoD.
    "nn.linear_chain_crf(input, label, param_attr=None, length=None)"
        => |net, a| net.linear_chain_crf(&a.var("input")?, &a.var("label")?, a.param("param_attr")?,
        a.opt_var("length")?.as_ref());

    /// The most likely tags (Viterbi) by the transitions that `linear_chain_crf` made, which has the same ``param_attr``.
    /// With a label: 1 where the tag is right, else 0.
    ///
    /// Args:
    ///     input (Variable): the input.
    ///     param_attr (ParamAttr): name, initializer and regularizer of the weight.
    ///     label (Variable): the true classes.
    ///     length (Variable): ``[batch]``, int64: for padded input without LoD.
    "nn.crf_decoding(input, param_attr, label=None, length=None)" => |net, a| {
        let Some(transition) = a.param_attr("param_attr")?.name else {
        let what = "`crf_decoding` takes as `param_attr` the name of the transitions that `linear_chain_crf` learns";
        return Err(Error::new(Kind::Argument, what));
    };
        net.crf_decoding(&a.var("input")?, &transition, a.opt_var("label")?.as_ref(), a.opt_var("length")?.as_ref())
    };

    /// The CTC loss, ``[sequences, 1]``. ``input_length`` and ``label_length`` are needed for padded inputs.
    ///
    /// Args:
    ///     input (Variable): the input.
    ///     label (Variable): i32 or i64: [rows, 1] with LoD, or [batch, labels] with `LabelLength`.
    ///     blank (int): the class that says nothing.
    ///     norm_by_times (bool): divide the gradient by the number of steps.
    ///     input_length (Variable): ``[batch]`` or ``[batch, 1]``, int64: for padded input without LoD.
    ///     label_length (Variable): the same for ``label``.
    "loss.warpctc(input, label, blank=0, norm_by_times=False, input_length=None, label_length=None)" => |net, a| {
        let lengths = (a.opt_var("input_length")?, a.opt_var("label_length")?);
        let both = lengths.0.as_ref().zip(lengths.1.as_ref());
        net.warpctc(&a.var("input")?, &a.var("label")?, a.i32("blank")?, a.bool("norm_by_times")?, both)
    };

    /// The most likely class of each step, without repetitions and blanks.
    ///
    /// Args:
    ///     input (Variable): the input.
    ///     blank (int): the class that stands for no symbol.
    ///     input_length (Variable): ``[batch]`` or ``[batch, 1]``, int64: for padded input without LoD.
    ///     padding_value (int): fills the result behind a sequence.
    "nn.ctc_greedy_decoder(input, blank, input_length=None, padding_value=0, name=None)"
        => |net, a| match a.opt_var("input_length")? {
        None => net.ctc_greedy_decoder(&a.var("input")?, a.i32("blank")?).map(Made::from),
        Some(length) => {
            net.ctc_greedy_decoder_padded(&a.var("input")?, a.i32("blank")?, &length, a.i32("padding_value")?).map(Made::from)
        }
    };

    /// The edit distance of each pair of sequences, and the number of pairs.
    ///
    /// Args:
    ///     input (Variable): the input.
    ///     label (Variable): the true classes.
    ///     normalized (bool): divide by the length of the reference.
    ///     ignored_tokens (int or list): symbols that are removed first.
    ///     input_length (Variable): ``[batch]`` or ``[batch, 1]``, int64: for padded input without LoD.
    ///     label_length (Variable): the same for ``label``.
    "loss.edit_distance(input, label, normalized=True, ignored_tokens=None, input_length=None, label_length=None)"
        => |net, a| {
        let lengths = (a.opt_var("input_length")?, a.opt_var("label_length")?);
        let both = lengths.0.as_ref().zip(lengths.1.as_ref());
        let ignored = a.opt("ignored_tokens", Args::i32s)?.unwrap_or_default();
        net.edit_distance(&a.var("input")?, &a.var("label")?, a.bool("normalized")?, &ignored, both)
    };

    /// Precision, recall and F1 of the chunks that tags mark.
    ///
    /// Args:
    ///     input (Variable): the input.
    ///     label (Variable): i64, the true tags.
    ///     chunk_scheme (str): `IOB`, `IOE`, `IOBES` or `plain`.
    ///     num_chunk_types (int): how many types of chunks there are.
    ///     excluded_chunk_types (int or list): types that do not count.
    ///     seq_length (Variable): steps of each sequence of a padded input.
    "nn.chunk_eval(input, label, chunk_scheme, num_chunk_types, excluded_chunk_types=None, seq_length=None)"
        => |net, a| net.chunk_eval(&a.var("input")?, &a.var("label")?,
        ChunkEval::scheme(a.str("chunk_scheme")?, a.i32("num_chunk_types")?)
        .excluded_chunk_types(a.opt("excluded_chunk_types", Args::i32s)?.unwrap_or_default())
        .seq_length(a.opt_var("seq_length")?)).map(|made| {
        let [infer, label, correct] = made.counts;
        let all = [made.precision, made.recall, made.f1_score, infer, label, correct];
        Made::Tuple(all.into_iter().map(Made::from).collect())
    });
}
