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
    /// Computes the cost of tag sequences in a linear chain conditional random field: the negative logarithm of their
    /// probability.
    ///
    /// The score of a sequence is the sum of the ``input`` of its tags and of the transitions between neighbouring
    /// tags. The transitions are a parameter ``[tags + 2, tags]``: row 0 holds the scores of starts, row 1 those of
    /// ends, row ``2 + i`` those of each tag after tag ``i``. ``crf_decoding`` with the same ``param_attr`` finds the
    /// best tags.
    ///
    /// Args:
    ///     input (Variable): float32 or float64: scores of the tags, ``[rows, tags]`` with LoD, or
    ///         ``[batch, steps, tags]`` with ``length``.
    ///     label (Variable): int64: the true tags, ``[rows, 1]`` with LoD, or ``[batch, steps]`` with ``length``.
    ///     param_attr (ParamAttr): name, initializer, regularizer and learning rate of the transitions; give it a name
    ///         for ``crf_decoding``.
    ///     length (Variable): int64, ``[batch]``: the steps of each sequence of a padded input; ``None``: the input has
    ///         LoD.
    ///
    /// Returns:
    ///     Variable: ``[sequences, 1]``; ``mean`` of it is the loss.
    ///
    /// Raises:
    ///     IndexError: a label is no tag (when the program runs).
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2], [3, 1], [0, 1]], "float32"))
    ///     >>> x = fluid.layers.lod_reset(x, target_lod=[0, 2, 3])
    ///     >>> tags = fluid.layers.assign(np.array([[0], [1], [1]], "int64"))
    ///     >>> tags = fluid.layers.lod_reset(tags, target_lod=[0, 2, 3])
    ///     >>> attr = fluid.ParamAttr("crf", initializer=fluid.initializer.Constant(0.0))
    ///     >>> cost = fluid.layers.linear_chain_crf(x, tags, param_attr=attr)
    ///     >>> exe = fluid.Executor()
    ///     >>> _ = exe.run(fluid.default_startup_program())
    ///     >>> print(exe.run(fetch_list=[cost])[0].round(4))
    ///     [[3.4402]
    ///      [0.3133]]
    "nn.linear_chain_crf(input, label, param_attr=None, length=None)"
        => |net, a| net.linear_chain_crf(&a.var("input")?, &a.var("label")?, a.param("param_attr")?,
        a.opt_var("length")?.as_ref());

    /// Finds the most likely tags of sequences (Viterbi) by the transitions that ``linear_chain_crf`` has trained.
    ///
    /// With ``label`` it tells which of the tags are right instead. No gradient flows through it.
    ///
    /// Args:
    ///     input (Variable): float32 or float64: scores of the tags, ``[rows, tags]`` with LoD, or
    ///         ``[batch, steps, tags]`` with ``length``.
    ///     param_attr (ParamAttr): names the transitions, as in ``linear_chain_crf``.
    ///     label (Variable): int64: the true tags, ``[rows, 1]`` with LoD, or ``[batch, steps]`` with ``length``;
    ///         ``None``: return the tags.
    ///     length (Variable): int64, ``[batch]``: the steps of each sequence of a padded input; ``None``: the input has
    ///         LoD.
    ///
    /// Returns:
    ///     Variable: int64, ``[rows, 1]`` with the LoD of ``input``, or ``[batch, steps]``: the tags; with ``label`` 1
    ///         where the tag is right, otherwise 0.
    ///
    /// Raises:
    ///     ValueError: ``param_attr`` has no name.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2], [3, 1], [0, 1]], "float32"))
    ///     >>> x = fluid.layers.lod_reset(x, target_lod=[0, 2, 3])
    ///     >>> tags = fluid.layers.assign(np.array([[0], [1], [1]], "int64"))
    ///     >>> tags = fluid.layers.lod_reset(tags, target_lod=[0, 2, 3])
    ///     >>> attr = fluid.ParamAttr("crf", initializer=fluid.initializer.Constant(0.0))
    ///     >>> cost = fluid.layers.linear_chain_crf(x, tags, param_attr=attr)
    ///     >>> best = fluid.layers.crf_decoding(x, param_attr=attr)
    ///     >>> exe = fluid.Executor()
    ///     >>> _ = exe.run(fluid.default_startup_program())
    ///     >>> np.array(exe.run(fetch_list=[best], return_numpy=False)[0]).ravel().tolist()
    ///     [1, 0, 1]
    "nn.crf_decoding(input, param_attr, label=None, length=None)" => |net, a| {
        let Some(transition) = a.param_attr("param_attr")?.name else {
        let what = "`crf_decoding` takes as `param_attr` the name of the transitions that `linear_chain_crf` learns";
        return Err(Error::new(Kind::Argument, what));
    };
        net.crf_decoding(&a.var("input")?, &transition, a.opt_var("label")?.as_ref(), a.opt_var("length")?.as_ref())
    };

    /// Computes the CTC loss: the negative logarithm of the probability of all alignments that give the label.
    ///
    /// An alignment has one class per step; its classes without repetitions and blanks are the label. ``softmax`` is
    /// applied to the input here. A label that is too long for its input has the loss 0 and no gradient.
    ///
    /// Args:
    ///     input (Variable): float32: arguments of the softmax, ``[rows, classes]`` with LoD, or
    ///         ``[steps, batch, classes]`` with ``input_length``.
    ///     label (Variable): int32: ``[labels of all sequences, 1]`` with LoD, or ``[batch, labels]`` with
    ///         ``label_length``.
    ///     blank (int): the class that stands for no symbol, in ``[0, classes)``.
    ///     norm_by_times (bool): divide the gradient by the number of steps.
    ///     input_length (Variable): int64, ``[batch]``: the steps of each sequence; ``None``: the input has LoD. Give
    ///         both lengths or none.
    ///     label_length (Variable): int64, ``[batch]``: the number of labels of each sequence; ``None``: the label has
    ///         LoD.
    ///
    /// Returns:
    ///     Variable: ``[sequences, 1]``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``blank`` is no class, or the input has neither LoD nor lengths.
    ///
    /// Example:
    ///     >>> logits = fluid.layers.assign(np.array([[1, 2, 0], [3, 1, 0], [0, 1, 2]], "float32"))
    ///     >>> logits = fluid.layers.lod_reset(logits, target_lod=[0, 3])
    ///     >>> label = fluid.layers.assign(np.array([[1], [2]], "int32"))
    ///     >>> label = fluid.layers.lod_reset(label, target_lod=[0, 2])
    ///     >>> print(fluid.Executor().run(fetch_list=[fluid.layers.warpctc(logits, label, blank=0)])[0].round(4))
    ///     [[0.7686]]
    "loss.warpctc(input, label, blank=0, norm_by_times=False, input_length=None, label_length=None)" => |net, a| {
        let lengths = (a.opt_var("input_length")?, a.opt_var("label_length")?);
        let both = lengths.0.as_ref().zip(lengths.1.as_ref());
        net.warpctc(&a.var("input")?, &a.var("label")?, a.i32("blank")?, a.bool("norm_by_times")?, both)
    };

    /// Decodes the most likely class of each step: repetitions and blanks are removed.
    ///
    /// Args:
    ///     input (Variable): float32 or float64: probabilities, ``[rows, classes]`` with LoD, or
    ///         ``[batch, steps, classes]`` with ``input_length``.
    ///     blank (int): the class that stands for no symbol.
    ///     input_length (Variable): int64, ``[batch, 1]``: the steps of each sequence of a padded input; ``None``: the
    ///         input has LoD.
    ///     padding_value (int): fills the rows of a padded result.
    ///
    /// Returns:
    ///     Variable or tuple: int64 ``[symbols, 1]`` with LoD, or one -1 if no symbol is left; with ``input_length``
    ///         the tuple (out, length): ``[batch, steps]`` and ``[batch, 1]``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[[0.6, 0.1, 0.3], [0.3, 0.4, 0.3], [0.1, 0.1, 0.8]]], "float32"))
    ///     >>> steps = fluid.layers.assign(np.array([[3]], "int64"))
    ///     >>> out, length = fluid.layers.ctc_greedy_decoder(x, blank=0, input_length=steps)
    ///     >>> [a.tolist() for a in fluid.Executor().run(fetch_list=[out, length])]
    ///     [[[1, 2, 0]], [[2]]]
    "nn.ctc_greedy_decoder(input, blank, input_length=None, padding_value=0, name=None)"
        => |net, a| match a.opt_var("input_length")? {
        None => net.ctc_greedy_decoder(&a.var("input")?, a.i32("blank")?).map(Made::from),
        Some(length) => {
            net.ctc_greedy_decoder_padded(&a.var("input")?, a.i32("blank")?, &length, a.i32("padding_value")?).map(Made::from)
        }
    };

    /// Computes the edit distance of pairs of sequences: the fewest insertions, deletions and replacements that turn
    /// one into the other.
    ///
    /// No gradient flows through it.
    ///
    /// Args:
    ///     input (Variable): int64: the hypotheses, ``[rows, 1]`` with LoD, or ``[batch, steps]`` with
    ///         ``input_length``.
    ///     label (Variable): int64: the references, in the same form.
    ///     normalized (bool): divide each distance by the length of the reference.
    ///     ignored_tokens (list or int): symbols that are removed from both before they are compared; ``None``: none.
    ///     input_length (Variable): int64, ``[batch]``: the steps of each hypothesis; ``None``: the input has LoD. Give
    ///         both lengths or none.
    ///     label_length (Variable): int64, ``[batch]``: the steps of each reference; ``None``: the label has LoD.
    ///
    /// Returns:
    ///     tuple: (distance, sequences): float32 ``[batch, 1]``, and int64 ``[1]``, the number of pairs.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: the input has neither LoD nor lengths (when the program runs).
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2, 3]], "int64"))
    ///     >>> y = fluid.layers.assign(np.array([[1, 3, 0]], "int64"))
    ///     >>> x_length = fluid.layers.assign(np.array([3], "int64"))
    ///     >>> y_length = fluid.layers.assign(np.array([2], "int64"))
    ///     >>> distance, number = fluid.layers.edit_distance(
    ///     ...     x, y, normalized=False, input_length=x_length, label_length=y_length)
    ///     >>> [a.tolist() for a in fluid.Executor().run(fetch_list=[distance, number])]
    ///     [[[1.0]], [1]]
    "loss.edit_distance(input, label, normalized=True, ignored_tokens=None, input_length=None, label_length=None)"
        => |net, a| {
        let lengths = (a.opt_var("input_length")?, a.opt_var("label_length")?);
        let both = lengths.0.as_ref().zip(lengths.1.as_ref());
        let ignored = a.opt("ignored_tokens", Args::i32s)?.unwrap_or_default();
        net.edit_distance(&a.var("input")?, &a.var("label")?, a.bool("normalized")?, &ignored, both)
    };

    /// Computes precision, recall and F1 of chunks, such as named entities, that are marked by tags.
    ///
    /// A tag is ``type * tags_of_the_scheme + position``. Schemes and the positions of their tags: ``IOB`` (B 0, I 1),
    /// ``IOE`` (I 0, E 1), ``IOBES`` (B 0, I 1, E 2, S 3), ``plain`` (one tag). The tag
    /// ``num_chunk_types * tags_of_the_scheme`` marks no chunk. A predicted chunk is correct if begin, end and type
    /// are. ``fluid.metrics.ChunkEvaluator`` adds up batches.
    ///
    /// Args:
    ///     input (Variable): int64: predicted tags, ``[rows, 1]`` with LoD, or ``[batch, steps]`` with ``seq_length``.
    ///     label (Variable): int64: the true tags, in the same form.
    ///     chunk_scheme (str): ``IOB``, ``IOE``, ``IOBES`` or ``plain``.
    ///     num_chunk_types (int): the number of chunk types.
    ///     excluded_chunk_types (list or int): types that do not count; ``None``: none.
    ///     seq_length (Variable): int64, ``[batch]``: the steps of each sequence of a padded input; ``None``: the input
    ///         has LoD.
    ///
    /// Returns:
    ///     tuple: (precision, recall, f1, predicted, labelled, correct): three float32 ``[1]`` and three int64 ``[1]``,
    ///         the numbers of chunks.
    ///
    /// Raises:
    ///     ValueError: ``chunk_scheme`` is unknown.
    ///
    /// Example:
    ///     >>> predicted = fluid.layers.assign(np.array([[0], [1], [2], [4]], "int64"))
    ///     >>> predicted = fluid.layers.lod_reset(predicted, target_lod=[0, 4])
    ///     >>> label = fluid.layers.assign(np.array([[0], [1], [4], [2]], "int64"))
    ///     >>> label = fluid.layers.lod_reset(label, target_lod=[0, 4])
    ///     >>> found = fluid.layers.chunk_eval(predicted, label, chunk_scheme="IOB", num_chunk_types=2)
    ///     >>> [a.tolist() for a in fluid.Executor().run(fetch_list=list(found))]
    ///     [[0.5], [0.5], [0.5], [2], [2], [1]]
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
