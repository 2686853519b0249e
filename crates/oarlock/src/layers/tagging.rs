//! Sequences of tags: conditional random fields, alignment without labels per step, and their measures.

use oarlock_ir::{Kind, Op, Result, fail};
use oarlock_tensor::DType;

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
