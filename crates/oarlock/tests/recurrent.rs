//! Cells, `rnn` and decoders: the programs that Fluid 1.8 built for them, what it computed with them, and their errors.

use oarlock::ir::Dim;
use oarlock::prelude::*;

use crate::fluid::{assert_same, program_archive, read};
use crate::programs::Build;
use crate::train::replay_net;

const WORDS: usize = 7;
const STEPS: i64 = 4;

fn ids(net: &mut Net, name: &str) -> Result<VarRef> {
    net.checked_data(name, &[-1, STEPS], DType::I64, 0)
}

fn lengths(net: &mut Net) -> Result<VarRef> {
    net.checked_data("src_len", &[-1], DType::I64, 0)
}

fn embedded(net: &mut Net, ids: &VarRef) -> Result<VarRef> {
    net.embedding_v2(ids, Embedding::size(WORDS, 4).param_attr(ParamAttr::name("emb")))
}

fn projected(net: &mut Net, hidden: &VarRef) -> Result<VarRef> {
    let rows = net.shape(hidden)?.rank() - 1;
    let options = Fc::size(WORDS).num_flatten_dims(rows).param_attr(ParamAttr::name("out_w")).bias_attr(false);
    net.fc(hidden, options)
}

fn errors(net: &mut Net, logits: &VarRef, labels: &VarRef) -> Result<VarRef> {
    let labels = net.unsqueeze(labels, &[2])?;
    net.softmax_with_cross_entropy(logits, &labels, CrossEntropy::new())
}

/// The states of an encoder after its last step.
fn encoded(net: &mut Net, cell: &mut dyn RnnCell) -> Result<Vec<VarRef>> {
    let (src, lengths) = (ids(net, "src")?, lengths(net)?);
    let input = embedded(net, &src)?;
    Ok(net.rnn(cell, &[input], Rnn::new().sequence_length(Some(lengths)))?.1)
}

/// Takes the inputs of all steps from a variable, as training does.
struct Forced {
    cell: GruCell,
    inputs: VarRef,
    padded: VarRef,
    lengths: VarRef,
}

impl Forced {
    /// Declares what `TrainingHelper` and `BasicDecoder` declare.
    fn new(net: &mut Net, inputs: VarRef, lengths: VarRef) -> Result<Forced> {
        let padded = net.pad(&inputs, &[0, 0, 0, 1, 0, 0], 0.0)?;
        let cell = GruCell::new(net, Cell::size(5));
        Ok(Forced { cell, inputs, padded, lengths })
    }
}

impl Decoder for Forced {
    fn initialize(&mut self, net: &mut Net, inits: &[VarRef]) -> Result<DecodeStart> {
        let zero = net.fill_constant([1], DType::I64, 0.0)?;
        let finished = net.equal(&self.lengths, &zero, Compare::new())?;
        Ok(DecodeStart { inputs: vec![net.at(&self.inputs, 1, 0)?], states: inits.to_vec(), finished })
    }

    fn step(&mut self, net: &mut Net, time: &VarRef, inputs: &[VarRef], states: &[VarRef]) -> Result<DecodeStep> {
        let (outputs, states) = self.cell.call(net, inputs, states)?;
        let logits = projected(net, &outputs[0])?;
        let chosen = net.argmax(&logits, -1)?;
        net.stop_gradient(&chosen)?;
        let time = net.cast(time, DType::I32)?;
        let lengths = net.cast(&self.lengths, DType::I32)?;
        let next = net.add(&time, 1.0)?;
        let finished = net.less_equal(&lengths, &next, Compare::new())?;
        let after = net.add(&next, 1.0)?;
        let input = net.slice(&self.padded, &[1], vec![IntOrVar::from(&next)], vec![IntOrVar::from(&after)])?;
        let inputs = vec![net.squeeze(&input, &[1])?];
        Ok(DecodeStep { outputs: vec![logits, chosen], states, inputs, finished })
    }
}

fn decode_training(net: &mut Net) -> Result<VarRef> {
    let (trg, labels) = (ids(net, "trg")?, ids(net, "lab")?);
    let attrs = Cell::size(5).param_attr(ParamAttr::name("g")).bias_attr(ParamAttr::name("gb"));
    let mut encoder = GruCell::new(net, attrs);
    let last = encoded(net, &mut encoder)?;
    let lengths = net.find("src_len")?;
    let input = embedded(net, &trg)?;
    let mut decoder = Forced::new(net, input, lengths.clone())?;
    let decoded = net.dynamic_decode(&mut decoder, Decode::new().inits(last).impute_finished(true))?;
    let labels = net.slice(&labels, &[1], [0], [STEPS])?;
    let errors = errors(net, &decoded.outputs[0], &labels)?;
    let mask = net.sequence_mask(&lengths, Some(STEPS.into()), DType::F32)?;
    let mask = net.unsqueeze(&mask, &[2])?;
    let errors = net.times(&errors, &mask)?;
    net.mean(&errors)
}

fn beams(net: &mut Net, cell: &mut dyn RnnCell, last: Vec<VarRef>, is_test: bool) -> Result<()> {
    let mut decoder = BeamSearchDecoder::new(cell, 0, 1, 3).embedding_fn(embedded).output_fn(projected);
    net.dynamic_decode(&mut decoder, Decode::new().inits(last).max_step_num(Some(5)).is_test(is_test)).map(drop)
}

/// A program, and what was fetched from it.
const CASES: [(&str, &[&str], Build); 5] = [
    ("rnn_gru", &["mean_0.tmp_0"], |net| {
        let (trg, labels) = (ids(net, "trg")?, ids(net, "lab")?);
        let mut encoder = GruCell::new(net, Cell::size(5).name(Some("enc".into())));
        let last = encoded(net, &mut encoder)?;
        let mut decoder = GruCell::new(net, Cell::size(5));
        let input = embedded(net, &trg)?;
        let (out, _) = net.rnn(&mut decoder, &[input], Rnn::new().initial_states(Some(last)))?;
        let logits = projected(net, &out[0])?;
        let errors = errors(net, &logits, &labels)?;
        let loss = net.mean(&errors)?;
        optimizer::sgd(0.5).minimize(net, &loss).map(drop)
    }),
    ("rnn_lstm", &["mean_0.tmp_0"], |net| {
        let (src, lengths) = (ids(net, "src")?, lengths(net)?);
        let (trg, labels) = (ids(net, "trg")?, ids(net, "lab")?);
        let input = embedded(net, &src)?;
        let input = net.transpose(&input, &[1, 0, 2])?;
        let mut encoder = LstmCell::new(net, Cell::size(5))?;
        let options = Rnn::new().sequence_length(Some(lengths)).time_major(true).is_reverse(true);
        let (_, last) = net.rnn(&mut encoder, &[input], options)?;
        let (w, b) = (ParamAttr::name("w"), ParamAttr::name("b"));
        let mut decoder = LstmCell::new(net, Cell::size(5).param_attr(w).bias_attr(b).forget_bias(0.5))?;
        let input = embedded(net, &trg)?;
        let meaning = net.unsqueeze(&last[0], &[1])?;
        let meaning = net.expand(&meaning, [1, STEPS, 1])?;
        let input = net.concat(&[&input, &meaning], 2)?;
        let (out, _) = net.rnn(&mut decoder, &[input], Rnn::new().is_reverse(true))?;
        let logits = projected(net, &out[0])?;
        let errors = errors(net, &logits, &labels)?;
        let loss = net.mean(&errors)?;
        optimizer::adam(0.05).minimize(net, &loss).map(drop)
    }),
    ("decode_training", &["mean_0.tmp_0", "transpose_4.tmp_0", "cast_0.tmp_0"], |net| {
        let loss = decode_training(net)?;
        optimizer::sgd(0.5).minimize(net, &loss).map(drop)
    }),
    ("decode_beam", &["transpose_3.tmp_0", "array_read_8.tmp_0", "cast_0.tmp_0"], |net| {
        let (mut decoder, mut encoder) = (LstmCell::new(net, Cell::size(5))?, LstmCell::new(net, Cell::size(5))?);
        let last = encoded(net, &mut encoder)?;
        beams(net, &mut decoder, last, false)
    }),
    ("decode_beam_test", &["transpose_3.tmp_0", "expand_3.tmp_1", "cast_0.tmp_0"], |net| {
        let (mut decoder, mut encoder) = (GruCell::new(net, Cell::size(5)), GruCell::new(net, Cell::size(5)));
        let last = encoded(net, &mut encoder)?;
        beams(net, &mut decoder, last, true)
    }),
];

/// Sizes that Fluid knows while it builds and we only when we run, because they come from a variable, become Fluid's.
fn as_sure(found: &Program, expected: &Program) -> Program {
    let mut found = found.clone();
    for (ours, theirs) in found.blocks_mut().iter_mut().zip(expected.blocks()) {
        for (name, var) in &mut ours.vars {
            let Some(theirs) = theirs.var(name).filter(|t| t.shape.rank() == var.shape.rank()) else { continue };
            for (size, known) in var.shape.0.iter_mut().zip(theirs.shape.iter()) {
                if *size == Dim::Any {
                    *size = *known;
                }
            }
        }
    }
    found
}

#[test]
fn programs_and_values_are_those_of_fluid() {
    for (name, fetches, build) in CASES {
        let npz = program_archive(name);
        let mut net = Net::new();
        net.seed(7);
        build(&mut net).unwrap_or_else(|e| panic!("{name}: {e}"));
        for (what, found) in [("main", &net.main), ("startup", &net.startup)] {
            let Some(expected) = npz.get(&format!("program/{what}")) else { continue };
            let expected = read(name, expected.bytes());
            assert_same(&format!("{name}: {what}"), &as_sure(found, &expected), &expected, net.registry());
        }
        replay_net(name, &net, fetches, &npz);
    }
}

/// Of the program that trains a decoder only the forward pass: Fluid leads gradients also through numbers that have none.
#[test]
fn the_loop_is_that_of_fluid() {
    let mut net = Net::new();
    net.seed(7);
    decode_training(&mut net).unwrap_or_else(|e| panic!("{e}"));
    let npz = program_archive("decode_training");
    let expected = read("decode_training", npz.array("program/forward").bytes());
    assert_same("decode_training", &net.main, &expected, net.registry());
}

/// A cell that loses its state.
struct Forgetful;

impl RnnCell for Forgetful {
    fn call(&mut self, _net: &mut Net, inputs: &[VarRef], _states: &[VarRef]) -> Result<(Vec<VarRef>, Vec<VarRef>)> {
        Ok((inputs.to_vec(), Vec::new()))
    }

    fn state_shapes(&self) -> Vec<Vec<i32>> {
        vec![vec![2]]
    }
}

#[test]
fn mistakes_are_named() {
    let mut net = Net::new();
    let x = net.checked_data("x", &[-1, 3, 4], DType::F32, 0).expect("data");
    let text = |e: Error| e.to_string().lines().next().unwrap_or_default().to_string();
    let e = net.rnn(&mut Forgetful, std::slice::from_ref(&x), Rnn::new()).expect_err("a state is lost");
    assert_eq!(text(e), "error[argument]: a cell with 1 states returns 0 new ones");
    let mut cell = GruCell::new(&mut net, Cell::size(2));
    let e = net.rnn(&mut cell, &[x.clone(), x.clone()], Rnn::new()).expect_err("a GRU has one input");
    assert_eq!(text(e), "error[argument]: `GRUCell` takes 1 input and 1 states, not 2 and 1");
    let mut beam = BeamSearchDecoder::new(&mut cell, 0, 9, 2);
    let e = net.dynamic_decode(&mut beam, Decode::new()).expect_err("there is no state");
    assert_eq!(text(e), "error[argument]: a beam search needs the initial states of its cell");
}
