//! Decoders, which choose their own next input, and `dynamic_decode`, which runs one until every row has finished.

use oarlock_ir::{Dim, Error, Kind, Result, fail};
use oarlock_tensor::{DType, Tensor};

use crate::options::options;
use crate::{IntOrVar, Net, VarRef};

use super::cell::RnnCell;
use super::{Compare, Elementwise, Reduce, Reshape, While};

/// `Decoder`: what [`Net::dynamic_decode`] runs.
pub trait Decoder {
    /// Builds what comes before the first step, from the caller's initial states.
    fn initialize(&mut self, net: &mut Net, inits: &[VarRef]) -> Result<DecodeStart>;

    /// Builds a step; `time` is its number, an i64 `[1]`.
    fn step(&mut self, net: &mut Net, time: &VarRef, inputs: &[VarRef], states: &[VarRef]) -> Result<DecodeStep>;

    /// Builds what comes after the last step: from the outputs of all steps, `[time, batch, ...]`, the last states and the number of
    /// steps of each row to the outputs and states that are returned.
    fn finalize(
        &mut self,
        _net: &mut Net,
        outputs: Vec<VarRef>,
        states: Vec<VarRef>,
        _lengths: &VarRef,
    ) -> Result<Finished> {
        Ok((outputs, states))
    }
}

/// Outputs and states.
pub type Finished = (Vec<VarRef>, Vec<VarRef>);

/// Before the first step.
#[derive(Debug, Clone)]
pub struct DecodeStart {
    /// The first inputs.
    pub inputs: Vec<VarRef>,
    /// The first states.
    pub states: Vec<VarRef>,
    /// A bool per row: is there nothing to decode?
    pub finished: VarRef,
}

/// The results of a step.
#[derive(Debug, Clone)]
pub struct DecodeStep {
    /// Values collected over all steps.
    pub outputs: Vec<VarRef>,
    /// The next states, as many as before.
    pub states: Vec<VarRef>,
    /// The next inputs, as many as before.
    pub inputs: Vec<VarRef>,
    /// A bool per row: was this its last step?
    pub finished: VarRef,
}

/// The results of decoding.
#[derive(Debug, Clone)]
pub struct Decoded {
    /// The outputs of all steps.
    pub outputs: Vec<VarRef>,
    /// The states after the last.
    pub states: Vec<VarRef>,
    /// How many steps each row took, i64.
    pub lengths: VarRef,
}

options! {
    /// `dynamic_decode(decoder, inits=None, max_step_num=None, output_time_major=False, impute_finished=False, is_test=False,
    /// return_length=False)`
    Decode::new() {
        /// Initial states for the decoder.
        inits: Vec<VarRef> = Vec::new(),
        /// Number of the last step, counted from 0, if not all rows have finished before.
        max_step_num: Option<i64> = None,
        /// Outputs are `[time, batch, ...]`, not `[batch, time, ...]`.
        output_time_major: bool = false,
        /// Rows that have finished keep their states.
        impute_finished: bool = false,
        /// Keeps nothing for a gradient.
        is_test: bool = false,
    }
}

/// Values that a loop carries from step to step: arrays with the values of all steps, or variables that are overwritten.
struct Carried {
    inputs: Vec<VarRef>,
    states: Vec<VarRef>,
}

/// The variables of the loop itself.
struct Loop {
    time: VarRef,
    going: VarRef,
    last: Option<VarRef>,
    finished: VarRef,
    lengths: VarRef,
}

impl Net {
    /// Runs a decoder step by step until every row has finished.
    #[track_caller]
    pub fn dynamic_decode(&mut self, decoder: &mut dyn Decoder, options: Decode) -> Result<Decoded> {
        self.located(|net| net.decode(decoder, &options))
    }

    fn decode(&mut self, decoder: &mut dyn Decoder, options: &Decode) -> Result<Decoded> {
        let start = decoder.initialize(self, &options.inits)?;
        self.stop_gradient(&start.finished)?;
        let state = self.decode_loop(&start.finished, options)?;
        let lists = [&start.inputs, &start.states];
        let [inputs, states] = lists.map(|vars| match options.is_test {
            true => Ok(vars.clone()),
            false => vars.iter().map(|var| self.array_write(var, &state.time)).collect(),
        });
        let carried = Carried { inputs: inputs?, states: states? };
        let mut collected = Vec::new();
        let body = While::new(self, &state.going)?.is_test(options.is_test);
        body.block(self, |net| {
            collected = net.decode_step(decoder, options, &state, &carried)?;
            Ok(())
        })?;
        let stacked = |array| Ok(self.tensor_array_to_tensor(array, 0, true)?.0);
        let outputs = collected.iter().map(stacked).collect::<Result<Vec<_>>>()?;
        let states = match options.is_test {
            true => carried.states,
            false => carried.states.iter().map(|array| self.array_read(array, &state.time)).collect::<Result<_>>()?,
        };
        let (outputs, states) = decoder.finalize(self, outputs, states, &state.lengths)?;
        let outputs = self.with_time_first(&outputs, options.output_time_major)?;
        Ok(Decoded { outputs, states, lengths: state.lengths })
    }

    /// Makes the counters of a loop.
    fn decode_loop(&mut self, finished: &VarRef, options: &Decode) -> Result<Loop> {
        let time = self.fill_constant([1], DType::I64, 0.0)?;
        let all = self.reduce_all(finished, Reduce::all())?;
        let going = self.logical_not(&all, Compare::new())?;
        let last = options.max_step_num.map(|n| self.fill_constant([1], DType::I64, n as f64)).transpose()?;
        let zeros = self.zeros_like(finished)?;
        let lengths = self.cast(&zeros, DType::I64)?;
        self.stop_gradient(&lengths)?;
        Ok(Loop { time, going, last, finished: finished.clone(), lengths })
    }

    /// Builds a step inside the loop; returns the arrays that collect its outputs.
    fn decode_step(
        &mut self,
        decoder: &mut dyn Decoder,
        options: &Decode,
        state: &Loop,
        carried: &Carried,
    ) -> Result<Vec<VarRef>> {
        let [inputs, states] = [&carried.inputs, &carried.states].map(|vars| match options.is_test {
            true => Ok(vars.clone()),
            false => vars.iter().map(|array| self.array_read(array, &state.time)).collect::<Result<Vec<_>>>(),
        });
        let (inputs, states) = (inputs?, states?);
        let mut step = decoder.step(self, &state.time, &inputs, &states)?;
        for (what, old, new) in [("inputs", &inputs, &step.inputs), ("states", &states, &step.states)] {
            if old.len() != new.len() {
                fail!(
                    Kind::Argument,
                    "a decoder got {} {what} and returns {}; it must return as many",
                    old.len(),
                    new.len()
                );
            }
        }
        let finished = self.logical_or(&step.finished, &state.finished, Compare::new())?;
        let lengths = self.longer(state)?;
        if options.impute_finished {
            let kept = |(old, new)| self.kept_where(&state.finished, old, new);
            step.states = states.iter().zip(&step.states).map(kept).collect::<Result<_>>()?;
        }
        let arrays = self.collected(&step.outputs, &state.time)?;
        self.increment(&state.time, 1.0)?;
        let next = step.inputs.iter().zip(&carried.inputs).chain(step.states.iter().zip(&carried.states));
        for (value, place) in next {
            match options.is_test {
                true => self.assign_into(value, place)?,
                false => self.array_write_into(value, &state.time, place)?,
            }
        }
        self.assign_into(&finished, &state.finished)?;
        self.assign_into(&lengths, &state.lengths)?;
        self.decide(state)?;
        Ok(arrays)
    }

    /// The lengths with this step.
    fn longer(&mut self, state: &Loop) -> Result<VarRef> {
        let going = self.logical_not(&state.finished, Compare::new())?;
        let one = self.cast(&going, DType::I64)?;
        let lengths = self.elementwise_add(&state.lengths, &one, Elementwise::new())?;
        self.stop_gradient(&lengths)?;
        Ok(lengths)
    }

    /// Arrays around the loop, with the outputs of this step.
    fn collected(&mut self, outputs: &[VarRef], time: &VarRef) -> Result<Vec<VarRef>> {
        let mut arrays = Vec::new();
        for out in outputs {
            let dtype = self.dtype(out)?;
            arrays.push(self.in_parent(|net| net.create_array(dtype)));
        }
        outputs.iter().zip(&arrays).try_for_each(|(out, array)| self.array_write_into(out, time, array))?;
        Ok(arrays)
    }

    /// Is there another step?
    fn decide(&mut self, state: &Loop) -> Result<()> {
        let all = self.reduce_all(&state.finished, Reduce::all())?;
        let Some(last) = &state.last else {
            return self.logical_not(&all, Compare::into_var(&state.going)).map(drop);
        };
        let some = self.logical_not(&all, Compare::new())?;
        let in_time = self.less_equal(&state.time, last, Compare::new())?;
        self.logical_and(&some, &in_time, Compare::into_var(&state.going)).map(drop)
    }

    /// `old` where `finished` is true, else `new`.
    fn kept_where(&mut self, finished: &VarRef, old: &VarRef, new: &VarRef) -> Result<VarRef> {
        let dtype = self.dtype(old)?;
        if dtype == DType::Bool {
            let (old, new) = (self.cast(old, DType::F32)?, self.cast(new, DType::F32)?);
            let mask = self.mask(finished, DType::F32)?;
            let kept = self.blended(&old, &new, &mask)?;
            return self.cast(&kept, DType::Bool);
        }
        let mask = self.mask(finished, dtype)?;
        self.blended(old, new, &mask)
    }

    fn mask(&mut self, finished: &VarRef, dtype: DType) -> Result<VarRef> {
        let mask = self.cast(finished, dtype)?;
        self.stop_gradient(&mask)?;
        Ok(mask)
    }
}

/// Builds one variable of another: an embedding, an output layer.
type Build<'a> = Box<dyn FnMut(&mut Net, &VarRef) -> Result<VarRef> + 'a>;

/// The score of what must not be chosen.
const NEVER: f32 = -1e9;

/// `BeamSearchDecoder(cell, start_token, end_token, beam_size, embedding_fn=None, output_fn=None)`: keeps the best branches of every
/// row. Its output is the ids `[time, batch, beams]`; its states are those of the cell, `[batch, beams, ...]`, then log
/// probabilities, whether a branch has finished, and its length.
pub struct BeamSearchDecoder<'a> {
    cell: &'a mut dyn RnnCell,
    start_token: i64,
    end_token: i64,
    beam_size: usize,
    embedding_fn: Option<Build<'a>>,
    output_fn: Option<Build<'a>>,
    /// The batch's size and the end token, once it was initialized.
    known: Option<(VarRef, VarRef)>,
}

/// The number of states of a beam besides those of the cell.
const BEAM_STATES: usize = 3;

impl<'a> BeamSearchDecoder<'a> {
    /// With a cell whose inputs are ids and whose outputs are logits, unless there are functions.
    pub fn new(cell: &'a mut dyn RnnCell, start_token: i64, end_token: i64, beam_size: usize) -> BeamSearchDecoder<'a> {
        BeamSearchDecoder { cell, start_token, end_token, beam_size, embedding_fn: None, output_fn: None, known: None }
    }

    /// Makes the cell's input of ids `[batch, beams]`.
    #[must_use]
    pub fn embedding_fn(mut self, build: impl FnMut(&mut Net, &VarRef) -> Result<VarRef> + 'a) -> Self {
        self.embedding_fn = Some(Box::new(build));
        self
    }

    /// Makes logits of the cell's output `[batch, beams, ...]`.
    #[must_use]
    pub fn output_fn(mut self, build: impl FnMut(&mut Net, &VarRef) -> Result<VarRef> + 'a) -> Self {
        self.output_fn = Some(Box::new(build));
        self
    }

    /// `tile_beam_merge_with_batch(x, beam_size)`: every row of `x` repeated for every branch, `[batch * beams, ...]`; what a cell
    /// reads besides inputs and states needs it.
    #[track_caller]
    pub fn tile_beam_merge_with_batch(net: &mut Net, x: &VarRef, beam_size: usize) -> Result<VarRef> {
        net.located(|net| {
            let tiled = net.for_each_branch(x, beam_size)?;
            let rank = net.shape(&tiled)?.rank() as i32;
            let turned = net.transpose(&tiled, &(2..rank).chain([0, 1]).collect::<Vec<_>>())?;
            // 0 keeps a size, known or not.
            let merged = [vec![0; rank as usize - 2], vec![-1]].concat();
            let merged = net.reshape(&turned, Reshape::shape(merged))?;
            net.transpose(&merged, &[rank - 2].into_iter().chain(0..rank - 2).collect::<Vec<_>>())
        })
    }

    fn embedded(&mut self, net: &mut Net, ids: &VarRef) -> Result<VarRef> {
        match &mut self.embedding_fn {
            Some(build) => build(net, ids),
            None => Ok(ids.clone()),
        }
    }

    /// `[batch, beams, ...]` as `[batch * beams, ...]`
    fn merged(&self, net: &mut Net, x: &VarRef) -> Result<VarRef> {
        let rest = net.shape(x)?.iter().skip(2).map(size).collect::<Vec<_>>();
        net.reshape(x, Reshape::shape([vec![-1], rest].concat()))
    }

    /// `[batch * beams, ...]` as `[batch, beams, ...]`
    fn split(&self, net: &mut Net, x: &VarRef) -> Result<VarRef> {
        let rest = net.shape(x)?.iter().skip(1).map(size).collect::<Vec<_>>();
        net.reshape(x, Reshape::shape([vec![-1, self.beam_size as i64], rest].concat()))
    }

    /// The values of the branches that were chosen; `from` numbers the branches of each row.
    fn chosen(&self, net: &mut Net, x: &VarRef, from: &VarRef, batch: &VarRef) -> Result<VarRef> {
        let batch = net.cast(batch, DType::I64)?;
        net.stop_gradient(&batch)?;
        let rows = net.range(0.0, &batch, 1.0, DType::I64)?;
        let rows = net.unsqueeze(&rows, &[1])?;
        let rows = net.expand(&rows, [1, self.beam_size as i64])?;
        let places = net.stack(&[&rows, from], 2)?;
        net.stop_gradient(&places)?;
        net.gather_nd(x, &places)
    }

    /// The log probabilities of the step; a branch that has finished can only go on with the end token.
    fn step_scores(&self, net: &mut Net, logits: &VarRef, finished: &VarRef, words: usize) -> Result<VarRef> {
        let mut only_end = vec![NEVER; words];
        if let Some(end) = only_end.get_mut(self.end_token as usize) {
            *end = 0.0;
        }
        let only_end = net.numbers([words], &only_end)?;
        let probabilities = net.softmax(logits, -1)?;
        let scores = net.log(&probabilities)?;
        let finished = net.cast(finished, DType::F32)?;
        let spread = net.unsqueeze(&finished, &[2])?;
        let spread = net.expand(&spread, [1, 1, words as i64])?;
        let ended = net.elementwise_mul(&spread, &only_end, Elementwise::new())?;
        let minus = net.sub(&finished, 1.0)?;
        let going = net.elementwise_mul(&scores, &minus, Elementwise::new().axis(0))?;
        net.sub(&ended, &going)
    }

    /// Chooses the best branches.
    fn search(
        &self,
        net: &mut Net,
        logits: &VarRef,
        cell_states: &[VarRef],
        [log_probs, finished, lengths]: [&VarRef; BEAM_STATES],
    ) -> Result<DecodeStep> {
        let Some((batch, end)) = &self.known else {
            fail!(Kind::Argument, "a beam search must be initialized before its first step");
        };
        let shape = net.shape(logits)?;
        let Some(words) = shape.last().and_then(|d| d.known()) else {
            fail!(
                Kind::Shape,
                "a beam search needs a known number of words, but the logits `{logits}` have shape {shape}"
            );
        };
        if usize::try_from(self.end_token).map_or(true, |end| end >= words) {
            fail!(Kind::Argument, "the end token {} is none of {words} words", self.end_token);
        }
        let count = net.fill_constant([1], DType::I64, words as f64)?;
        let scores = self.step_scores(net, logits, finished, words)?;
        let scores = net.elementwise_add(&scores, log_probs, Elementwise::new().axis(0))?;
        let flat = || Reshape::shape([-1, (self.beam_size * words) as i64]);
        let candidates = net.reshape(&scores, flat())?;
        let (best, places) = net.topk(&candidates, self.beam_size as i32)?;
        let parents = net.elementwise_floordiv(&places, &count, Elementwise::new())?;
        let tokens = net.elementwise_mod(&places, &count, Elementwise::new())?;
        let all = net.reshape(&scores, flat())?;
        let log_probs = self.chosen(net, &all, &places, batch)?;
        let mut states =
            cell_states.iter().map(|x| self.chosen(net, x, &parents, batch)).collect::<Result<Vec<_>>>()?;
        let finished = self.chosen(net, finished, &parents, batch)?;
        let lengths = self.chosen(net, lengths, &parents, batch)?;
        let going = net.logical_not(&finished, Compare::new())?;
        let one = net.cast(&going, DType::I64)?;
        let lengths = net.add(&lengths, &one)?;
        let ended = net.equal(&tokens, end, Compare::new())?;
        let finished = net.logical_or(&finished, &ended, Compare::new())?;
        states.extend([log_probs, finished.clone(), lengths]);
        Ok(DecodeStep { outputs: vec![best, tokens, parents], states, inputs: Vec::new(), finished })
    }
}

impl Decoder for BeamSearchDecoder<'_> {
    fn initialize(&mut self, net: &mut Net, inits: &[VarRef]) -> Result<DecodeStart> {
        let Some(state) = inits.first() else {
            fail!(Kind::Argument, "a beam search needs the initial states of its cell");
        };
        let beams = self.beam_size;
        let sizes = net.shape_of(state)?;
        let batch = net.at(&sizes, 0, 0)?;
        let start = net.fill_constant([1], DType::I64, self.start_token as f64)?;
        let end = net.fill_constant([1], DType::I64, self.end_token as f64)?;
        let mut states = inits.iter().map(|x| net.for_each_branch(x, beams)).collect::<Result<Vec<_>>>()?;
        let rows = net.expand(&start, vec![IntOrVar::from(&batch)])?;
        let rows = net.unsqueeze(&rows, &[1])?;
        let ids = net.expand(&rows, [1, beams as i64])?;
        // All branches are alike at first: only one of them may be chosen.
        let first: Vec<f32> = (0..beams).map(|b| if b == 0 { 0.0 } else { NEVER }).collect();
        let first = net.numbers([1, beams], &first)?;
        let log_probs = net.expand(&first, vec![IntOrVar::from(&batch), 1.into()])?;
        let finished = net.batch_filled(state, &[-1, beams as i32], DType::Bool, 0.0, (0, 0), true)?;
        let lengths = net.zeros_like(&ids)?;
        states.extend([log_probs, finished.clone(), lengths]);
        self.known = Some((batch, end));
        Ok(DecodeStart { inputs: vec![self.embedded(net, &ids)?], states, finished })
    }

    fn step(&mut self, net: &mut Net, _time: &VarRef, inputs: &[VarRef], states: &[VarRef]) -> Result<DecodeStep> {
        let Some((cell_states, beam)) = states.split_last_chunk::<BEAM_STATES>() else {
            fail!(Kind::Argument, "a beam search has {BEAM_STATES} states beyond those of its cell");
        };
        let inputs = inputs.iter().map(|x| self.merged(net, x)).collect::<Result<Vec<_>>>()?;
        let cell_states = cell_states.iter().map(|x| self.merged(net, x)).collect::<Result<Vec<_>>>()?;
        let (outputs, next) = self.cell.call(net, &inputs, &cell_states)?;
        let [output] = outputs.as_slice() else {
            fail!(Kind::Argument, "a beam search needs one output of its cell, not {}", outputs.len());
        };
        let output = self.split(net, output)?;
        let next = next.iter().map(|x| self.split(net, x)).collect::<Result<Vec<_>>>()?;
        let logits = match &mut self.output_fn {
            Some(build) => build(net, &output)?,
            None => output,
        };
        let mut step = self.search(net, &logits, &next, beam.each_ref())?;
        net.stop_gradient(&step.outputs[1])?;
        let tokens = step.outputs[1].clone();
        step.inputs = vec![self.embedded(net, &tokens)?];
        Ok(step)
    }

    fn finalize(
        &mut self,
        net: &mut Net,
        outputs: Vec<VarRef>,
        states: Vec<VarRef>,
        _lengths: &VarRef,
    ) -> Result<Finished> {
        let [_, tokens, parents] = outputs.as_slice() else {
            fail!(Kind::Argument, "a beam search has three outputs, not {}", outputs.len());
        };
        Ok((vec![net.gather_tree(tokens, parents)?], states))
    }
}

/// A size as `reshape` writes it.
fn size(dim: &Dim) -> i64 {
    dim.known().map_or(-1, |n| n as i64)
}

impl Net {
    /// These numbers in this shape.
    fn numbers<const N: usize>(&mut self, shape: [usize; N], numbers: &[f32]) -> Result<VarRef> {
        let tensor = Tensor::from_slice(shape, numbers).map_err(|e| Error::internal(e.to_string()))?;
        self.assign_value(&tensor)
    }

    /// `x` with a dimension of branches after the batch.
    fn for_each_branch(&mut self, x: &VarRef, beams: usize) -> Result<VarRef> {
        let x = self.unsqueeze(x, &[1])?;
        let mut times = vec![1; self.shape(&x)?.rank()];
        times[1] = beams as i64;
        self.expand(&x, times)
    }
}
