//! `cudnn_lstm`: a long short-term memory of several layers over sequences of one length.
//!
//! The weights are one list of numbers. For each layer, and in it for each direction: the matrices from the layer's input to the
//! input, forget, candidate and output gates, then those from its hidden state, each a row per element of the state. Behind all
//! matrices, in the same order: the biases that go with the input, then those that go with the hidden state.

use oarlock_ir::{AttrView, Dim, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Traits, VarKind};
use oarlock_ir::{by_float, fail, kernel};
use oarlock_ir::{sig, slots};
use oarlock_ops_support::checks::expect_dims;
use oarlock_tensor::gemm::{GemmElem, Mat, gemm};
use oarlock_tensor::rng::{Uniform, fill_uniform};
use oarlock_tensor::simd::{self, Math};
use oarlock_tensor::{Dims, Element, Pool, Tensor};

use crate::recurrent::lstm_cell::{Activations, CandidateAt, First, Lstm, LstmCell, StateGrads, States};
use crate::recurrent::steps::{Steps, maybe_dense};

pub(crate) const OPS: &[&dyn OpDef] = &[&CudnnLstm, &CUDNN_LSTM_GRAD];

struct CudnnLstm;

impl OpDef for CudnnLstm {
    sig! {
        "cudnn_lstm":
            "for each layer, with (i, f, g, o) = x[t] Wx' + bx + h[t-1] Wh' + bh: c[t] = sigmoid(f) c[t-1] + sigmoid(i) tanh(g), \
             h[t] = sigmoid(o) tanh(c[t]); h is the input of the next layer, with dropout in between";
        in "Input": "steps x batch x columns";
        in "InitH": "hidden states before the first step: layers (times directions) x batch x hidden";
        in "InitC": "cells before the first step, like `InitH`";
        in "W":
            "all weights, then all biases; per layer and direction first those of the input, gates in the order i, f, g, o";
        in? "Cache": "state of other systems; not read";
        out "Out": "hidden states of the last layer: steps x batch x hidden (times directions)";
        out "last_h": "hidden states after the last step, like `InitH`";
        out "last_c": "cells after the last step, like `InitH`";
        attr "hidden_size" = 100, "width of a state";
        attr "num_layers" = 1, "how many layers";
        attr "is_bidirec" = false, "each layer runs in both directions, side by side";
        attr "dropout_prob" = 0.0f32,
            "share of a layer's output that the next layer does not see; the rest is scaled up";
        attr "seed" = -1, "chooses what is dropped, together with the weights and the input";
        hints ["input_size", "max_len"];
        traits Traits::NONE.maybe_empty(&["Cache"]);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (input, first, w) = (cx.float("Input")?, cx.float("InitH")?, cx.float("W")?);
        let net = Layers::read(&cx.attrs())?;
        let [steps, batch, columns] = input.shape[..] else {
            return Err(cx.shape_error(format!("needs steps x batch x columns, but has {}", cx.describe("Input"))));
        };
        let numbers = columns.known().map_or(Dim::Any, |n| Dim::Is(net.weights(n)));
        if !oarlock_ir::product(&w.shape[..]).fits(numbers) {
            return Err(cx.shape_error(format!("needs {numbers} weights, but has {}", cx.describe("W"))));
        }
        cx.set("Out", input.with_shape(vec![steps, batch, Dim::Is(net.hidden * net.directions)]));
        cx.set("last_h", first.clone());
        cx.set("last_c", first);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let inputs = Inputs::new(p)?;
        let (out, last_h, last_c) = (p.output("Out")?, p.output("last_h")?, p.output("last_c")?);
        by_float!(p.float("Input")?, T => {
            let mut memory = Memory::<T>::default();
            kernel(move |io| {
                let (x, first) = (io.dense(inputs.x)?, io.dense(inputs.h)?);
                let sizes = inputs.forward(io, &x, &mut memory)?;
                let net = &inputs.net;
                let dtype = <T as Element>::DTYPE;
                let width = net.hidden * net.directions;
                let mut to = io.out_sized(out, dtype, Dims::from([sizes.steps, sizes.batch, width]))?;
                io.data_mut::<T>(out, &mut to)?.copy_from_slice(memory.output());
                let (mut h, mut c) = (io.out_sized(last_h, dtype, *first.dims())?, io.out_sized(last_c, dtype, *first.dims())?);
                memory.last(&sizes, io.data_mut::<T>(last_h, &mut h)?, |pass| &pass.hidden);
                memory.last(&sizes, io.data_mut::<T>(last_c, &mut c)?, |pass| &pass.cells);
                Ok(())
            })
        })
    }
}

/// The layers, as attributes say.
#[derive(Clone, Copy)]
struct Layers {
    hidden: usize,
    layers: usize,
    directions: usize,
    /// Share of what is dropped between layers.
    dropout: f32,
    seed: i64,
}

/// Where the weights of one layer and direction are.
struct Places {
    columns: usize,
    of_input: usize,
    of_hidden: usize,
    biases: usize,
}

impl Layers {
    fn read(attrs: &AttrView<'_>) -> Result<Layers> {
        let (hidden, layers) = (attrs.count("hidden_size")?, attrs.count("num_layers")?);
        if hidden == 0 || layers == 0 {
            fail!(Kind::Argument, "`hidden_size` and `num_layers` of `cudnn_lstm` must be above 0");
        }
        let prob = attrs.f32("dropout_prob")?;
        if !(0.0..1.0).contains(&prob) {
            fail!(
                Kind::Argument,
                "attribute `dropout_prob` of `cudnn_lstm` is {prob}; it must be at least 0 and below 1"
            );
        }
        let directions = if attrs.bool("is_bidirec")? { 2 } else { 1 };
        let dropout = if attrs.flag("is_test") { 0.0 } else { prob };
        Ok(Layers { hidden, layers, directions, dropout, seed: attrs.int("seed")? })
    }

    /// Columns of the input of a layer.
    fn columns(&self, layer: usize, input: usize) -> usize {
        if layer == 0 { input } else { self.hidden * self.directions }
    }

    /// Numbers in the matrices of one direction of a layer.
    fn matrices(&self, layer: usize, input: usize) -> usize {
        4 * self.hidden * (self.columns(layer, input) + self.hidden)
    }

    /// Numbers in all weights.
    fn weights(&self, input: usize) -> usize {
        let matrices: usize = (0..self.layers).map(|l| self.matrices(l, input)).sum();
        self.directions * (matrices + self.layers * 8 * self.hidden)
    }

    fn places(&self, layer: usize, direction: usize, input: usize) -> Places {
        let all = |layers: usize| (0..layers).map(|l| self.directions * self.matrices(l, input)).sum::<usize>();
        let of_input = all(layer) + direction * self.matrices(layer, input);
        let columns = self.columns(layer, input);
        let biases = all(self.layers) + (layer * self.directions + direction) * 8 * self.hidden;
        Places { columns, of_input, of_hidden: of_input + 4 * self.hidden * columns, biases }
    }
}

/// The weights of one layer and direction.
struct Weights<'a, T> {
    /// From the input to gates.
    of_input: Mat<'a, T>,
    /// From hidden states to gates.
    of_hidden: Mat<'a, T>,
    biases: &'a [T],
}

impl<'a, T: Math> Weights<'a, T> {
    fn new(w: &'a [T], at: &Places, hidden: usize) -> Weights<'a, T> {
        Weights {
            of_input: Mat::new(&w[at.of_input..at.of_hidden], 4 * hidden, at.columns).t(),
            of_hidden: Mat::new(&w[at.of_hidden..][..4 * hidden * hidden], 4 * hidden, hidden).t(),
            biases: &w[at.biases..][..8 * hidden],
        }
    }
}

/// The sizes of a run.
struct Sizes {
    steps: usize,
    batch: usize,
    columns: usize,
    hidden: usize,
}

impl Sizes {
    fn rows(&self) -> usize {
        self.steps * self.batch
    }

    /// Numbers in one state of the whole batch.
    fn state(&self) -> usize {
        self.batch * self.hidden
    }
}

/// The results of one direction of one layer, in the order of its steps.
#[derive(Default)]
struct Pass<T> {
    gates: Vec<T>,
    cells: Vec<T>,
    active: Vec<T>,
    hidden: Vec<T>,
}

/// The results of all layers.
#[derive(Default)]
struct Memory<T> {
    /// Of each direction.
    steps: [Steps; 2],
    /// Per layer and direction.
    passes: Vec<Pass<T>>,
    /// The input of each layer, and at the end the output of the last.
    inputs: Vec<Vec<T>>,
    /// The factors of dropout behind each layer but the last.
    masks: Vec<Vec<T>>,
    sums: Vec<T>,
}

impl<T: Math> Memory<T> {
    fn output(&self) -> &[T] {
        self.inputs.last().map_or(&[], |v| v)
    }

    /// Copies the last of all states of each layer and direction.
    fn last(&self, sizes: &Sizes, to: &mut [T], of: impl Fn(&Pass<T>) -> &Vec<T>) {
        for (to, pass) in to.chunks_exact_mut(sizes.state().max(1)).zip(&self.passes) {
            let states = of(pass);
            to.copy_from_slice(&states[states.len() - sizes.state()..]);
        }
    }
}

/// The inputs of both operators.
#[derive(Clone, Copy)]
struct Inputs {
    x: In,
    h: In,
    c: In,
    w: In,
    net: Layers,
}

impl Inputs {
    fn new(p: &Prepare<'_>) -> Result<Inputs> {
        let net = Layers::read(&p.attrs())?;
        Ok(Inputs { x: p.input("Input")?, h: p.input("InitH")?, c: p.input("InitC")?, w: p.input("W")?, net })
    }

    fn sizes(&self, io: &Io<'_>, x: &Tensor, h: &Tensor, c: &Tensor, w: &Tensor) -> Result<Sizes> {
        let [steps, batch, columns] = x.dims()[..] else {
            return Err(io.error(Kind::Shape, self.x, format_args!("is {}, not steps x batch x columns", x.dims())));
        };
        if steps == 0 {
            return Err(io.error(Kind::Shape, self.x, format_args!("is {}, which has no steps", x.dims())));
        }
        let states = [self.net.layers * self.net.directions, batch, self.net.hidden];
        expect_dims(io, self.h, h, &states, "layers and directions, batch, hidden")?;
        expect_dims(io, self.c, c, &states, "layers and directions, batch, hidden")?;
        let numbers = self.net.weights(columns);
        if w.numel() != numbers {
            return Err(io.error(
                Kind::Shape,
                self.w,
                format_args!("is {}, but {numbers} weights are needed", w.dims()),
            ));
        }
        Ok(Sizes { steps, batch, columns, hidden: self.net.hidden })
    }

    /// Runs all layers.
    fn forward<T: Math + GemmElem + Uniform>(&self, io: &Io<'_>, x: &Tensor, memory: &mut Memory<T>) -> Result<Sizes> {
        let (h, c, w) = (io.dense(self.h)?, io.dense(self.c)?, io.dense(self.w)?);
        let sizes = self.sizes(io, x, &h, &c, &w)?;
        let (x, h, c) = (io.data::<T>(self.x, x)?, io.data::<T>(self.h, &h)?, io.data::<T>(self.c, &c)?);
        let weights = io.data::<T>(self.w, &w)?;
        let net = &self.net;
        for (direction, steps) in memory.steps.iter_mut().enumerate().take(net.directions) {
            steps.arrange_dense(sizes.batch, sizes.steps, direction == 1);
        }
        memory.passes.resize_with(net.layers * net.directions, Pass::default);
        memory.inputs.resize_with(net.layers + 1, Vec::new);
        memory.masks.resize_with(net.layers - 1, Vec::new);
        memory.inputs[0].clear();
        memory.inputs[0].extend_from_slice(x);
        for layer in 0..net.layers {
            let width = net.hidden * net.directions;
            let mut output = std::mem::take(&mut memory.inputs[layer + 1]);
            output.resize(sizes.rows() * width, T::ZERO);
            for direction in 0..net.directions {
                let n = layer * net.directions + direction;
                let state = n * sizes.state()..(n + 1) * sizes.state();
                let first = First { hidden: Some(&h[state.clone()]), cells: Some(&c[state]) };
                let of = Weights::new(weights, &net.places(layer, direction, sizes.columns), net.hidden);
                run_pass(io.pool(), memory, (layer, direction, n), &of, first, &sizes);
                put_columns(
                    &mut output,
                    &memory.passes[n].hidden,
                    &memory.steps[direction],
                    (width, direction * net.hidden),
                );
            }
            if net.dropout > 0.0 && layer + 1 < net.layers {
                let mask = &mut memory.masks[layer];
                mask.resize(output.len(), T::ZERO);
                drop_some(mask, net.dropout, self.stream::<T>(x, weights).wrapping_add(layer as u64));
                simd::mul_assign(&mut output, mask);
            }
            memory.inputs[layer + 1] = output;
        }
        Ok(sizes)
    }

    /// Which random numbers to take. They follow from what is computed with, so that the gradient, which computes all again, finds
    /// the same ones, and every step of a training others.
    fn stream<T: Math>(&self, x: &[T], weights: &[T]) -> u64 {
        let mix = |hash: u64, v: &T| (hash ^ v.f64().to_bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        x.iter().chain(weights).fold(self.net.seed as u64, mix)
    }
}

/// Fills `mask` with 0 for what is dropped and a factor for what stays.
fn drop_some<T: Math + Uniform>(mask: &mut [T], share: f32, seed: u64) {
    fill_uniform(mask, seed % 2_147_483_646 + 1, T::ZERO, T::ONE, 0);
    let (share, factor) = (T::of(share.into()), T::of(1.0 / (1.0 - f64::from(share))));
    mask.iter_mut().for_each(|m| *m = if *m < share { T::ZERO } else { factor });
}

/// Runs one direction of one layer.
fn run_pass<T: Math + GemmElem>(
    pool: &Pool,
    memory: &mut Memory<T>,
    (layer, direction, n): (usize, usize, usize),
    weights: &Weights<'_, T>,
    first: First<'_, T>,
    sizes: &Sizes,
) {
    let (rows, d) = (sizes.rows(), sizes.hidden);
    let Pass { gates, cells, active, hidden } = &mut memory.passes[n];
    memory.sums.resize(rows * 4 * d, T::ZERO);
    gates.resize(rows * 4 * d, T::ZERO);
    [&mut *cells, &mut *active, &mut *hidden].into_iter().for_each(|v| v.resize(rows * d, T::ZERO));
    let input = Mat::new(&memory.inputs[layer], rows, weights.of_input.rows());
    gemm(pool, &mut memory.sums, input, weights.of_input, T::ONE, T::ZERO);
    let (of_input, of_hidden) = weights.biases.split_at(4 * d);
    simd::add_bias(&mut memory.sums, of_input);
    let steps = &memory.steps[direction];
    steps.gather(gates, &memory.sums, 4 * d, Some(of_hidden));
    let lstm = Lstm { cell: cell(d), weight: weights.of_hidden, steps, first };
    lstm.forward(pool, States { gates, cells, active, hidden });
}

fn cell<'a, T: Math>(width: usize) -> LstmCell<'a, T> {
    LstmCell { width, order: CandidateAt::Third, act: Activations::USUAL, peepholes: None, clip: T::ZERO }
}

/// Puts rows in the order of steps where they belong, as columns of wider rows.
fn put_columns<T: Math>(to: &mut [T], from: &[T], steps: &Steps, (width, left): (usize, usize)) {
    let d = from.len() / steps.rows().max(1);
    for (row, from) in steps.places().zip(from.chunks_exact(d.max(1))) {
        to[row * width + left..][..d].copy_from_slice(from);
    }
}

/// The way back.
fn take_columns<T: Math>(to: &mut [T], from: &[T], steps: &Steps, (width, left): (usize, usize)) {
    let d = to.len() / steps.rows().max(1);
    for (row, to) in steps.places().zip(to.chunks_exact_mut(d.max(1))) {
        to.copy_from_slice(&from[row * width + left..][..d]);
    }
}

const CUDNN_LSTM_GRAD: GradOp = GradOp::of(
    &CudnnLstm,
    "cudnn_lstm_grad(Input, InitH, InitC, W, Cache, Out?, Out@GRAD?, last_h@GRAD?, last_c@GRAD?) -> Input@GRAD, \
     InitH@GRAD, InitC@GRAD, W@GRAD",
)
.doc("gradients of `cudnn_lstm`, which is computed again first")
.traits(Traits::NONE.maybe_empty(&["Cache"]).shape_only(&["Out"]))
.infer(|cx| {
    for slot in ["Input", "InitH", "InitC", "W"] {
        let ty = cx.input(slot)?.with_kind(VarKind::Tensor);
        cx.set(&format!("{slot}@GRAD"), ty);
    }
    Ok(())
})
.kernel(|p| {
    let grad = Grads::new(p)?;
    by_float!(p.float("Input")?, T => {
        let (mut memory, mut back) = (Memory::<T>::default(), Back::<T>::default());
        kernel(move |io| grad.run(io, &mut memory, &mut back))
    })
});

slots! {
    #[derive(Clone, Copy)]
    struct Grads(p) {
        inputs: Inputs = Inputs::new(p)?,
        dout: maybe_input "Out@GRAD",
        dlast_h: maybe_input "last_h@GRAD",
        dlast_c: maybe_input "last_c@GRAD",
        dx: maybe_output "Input@GRAD",
        dh: maybe_output "InitH@GRAD",
        dc: maybe_output "InitC@GRAD",
        dw: maybe_output "W@GRAD",
    }
}

/// Gradients as they are computed.
#[derive(Default)]
struct Back<T> {
    /// Of the output of the layer at hand.
    doutput: Vec<T>,
    /// Of its input.
    dinput: Vec<T>,
    dhidden: Vec<T>,
    dgates: Vec<T>,
    dsums: Vec<T>,
    /// The hidden states before each step.
    before: Vec<T>,
    dh: Vec<T>,
    dc: Vec<T>,
    dw: Vec<T>,
}

impl Grads {
    fn run<T: Math + GemmElem + Uniform>(&self, io: &Io<'_>, memory: &mut Memory<T>, back: &mut Back<T>) -> Result<()> {
        let (x, h, c, w) =
            (io.dense(self.inputs.x)?, io.dense(self.inputs.h)?, io.dense(self.inputs.c)?, io.dense(self.inputs.w)?);
        let sizes = self.inputs.forward(io, &x, memory)?;
        let net = &self.inputs.net;
        let width = net.hidden * net.directions;
        for (to, from, len) in [
            (&mut back.doutput, self.dout, sizes.rows() * width),
            (&mut back.dh, self.dlast_h, h.numel()),
            (&mut back.dc, self.dlast_c, c.numel()),
        ] {
            to.clear();
            match maybe_dense(io, from)? {
                Some((slot, t)) if t.numel() == len => to.extend_from_slice(io.data::<T>(slot, &t)?),
                Some((slot, t)) => {
                    return Err(io.error(Kind::Shape, slot, format_args!("is {}, but needs {len} numbers", t.dims())));
                }
                None => to.resize(len, T::ZERO),
            }
        }
        let (weights, first) = (io.data::<T>(self.inputs.w, &w)?, io.data::<T>(self.inputs.h, &h)?);
        let first_cells = io.data::<T>(self.inputs.c, &c)?;
        back.dw.clear();
        back.dw.resize(w.numel(), T::ZERO);
        for layer in (0..net.layers).rev() {
            if let Some(mask) = memory.masks.get(layer).filter(|_| net.dropout > 0.0) {
                simd::mul_assign(&mut back.doutput, mask);
            }
            back.dinput.clear();
            back.dinput.resize(sizes.rows() * net.columns(layer, sizes.columns), T::ZERO);
            for direction in 0..net.directions {
                let n = layer * net.directions + direction;
                let state = n * sizes.state()..(n + 1) * sizes.state();
                let first = First { hidden: Some(&first[state.clone()]), cells: Some(&first_cells[state]) };
                let at = net.places(layer, direction, sizes.columns);
                back.pass(io.pool(), memory, net, (layer, direction), weights, &at, first, &sizes);
            }
            std::mem::swap(&mut back.doutput, &mut back.dinput);
        }
        // What was the gradient of an input became that of an output below it; at the end it is that of the whole input.
        for (out, from, like) in
            [(self.dx, &back.doutput, &x), (self.dh, &back.dh, &h), (self.dc, &back.dc, &c), (self.dw, &back.dw, &w)]
        {
            let Some(out) = out else { continue };
            let mut to = io.out_sized(out, T::DTYPE, *like.dims())?;
            io.data_mut::<T>(out, &mut to)?.copy_from_slice(from);
        }
        Ok(())
    }
}

impl<T: Math + GemmElem> Back<T> {
    /// The gradients of one direction of one layer.
    #[expect(clippy::too_many_arguments, reason = "a layer, its weights and where it keeps what it computed")]
    fn pass(
        &mut self,
        pool: &Pool,
        memory: &Memory<T>,
        net: &Layers,
        (layer, direction): (usize, usize),
        weights: &[T],
        at: &Places,
        first: First<'_, T>,
        sizes: &Sizes,
    ) {
        let (rows, d, n) = (sizes.rows(), sizes.hidden, layer * net.directions + direction);
        let (pass, steps) = (&memory.passes[n], &memory.steps[direction]);
        let of = Weights::new(weights, at, d);
        let state = n * sizes.state()..(n + 1) * sizes.state();
        self.dhidden.resize(rows * d, T::ZERO);
        take_columns(&mut self.dhidden, &self.doutput, steps, (net.hidden * net.directions, direction * d));
        simd::add_assign(&mut self.dhidden[(rows * d) - sizes.state()..], &self.dh[state.clone()]);
        self.dgates.resize(rows * 4 * d, T::ZERO);
        let lstm = Lstm { cell: cell(d), weight: of.of_hidden, steps, first };
        let grads = StateGrads {
            gates: &pass.gates,
            cells: &pass.cells,
            active: &pass.active,
            dhidden: &mut self.dhidden,
            dgates: &mut self.dgates,
            dcells: &mut self.dc[state.clone()],
            dfirst: Some(&mut self.dh[state]),
            dpeepholes: None,
        };
        lstm.backward(pool, grads);
        self.before.clear();
        self.before.extend_from_slice(first.hidden.unwrap_or(&[]));
        self.before.extend_from_slice(&pass.hidden[..rows * d - sizes.state()]);
        self.dsums.resize(rows * 4 * d, T::ZERO);
        steps.scatter(&mut self.dsums, &self.dgates, 4 * d);
        let (dgates, dsums) = (Mat::new(&self.dgates, rows, 4 * d), Mat::new(&self.dsums, rows, 4 * d));
        let input = Mat::new(&memory.inputs[layer], rows, at.columns);
        gemm(pool, &mut self.dw[at.of_input..at.of_hidden], dsums.t(), input, T::ONE, T::ZERO);
        let dhidden = &mut self.dw[at.of_hidden..][..4 * d * d];
        gemm(pool, dhidden, dgates.t(), Mat::new(&self.before, rows, d), T::ONE, T::ZERO);
        let (dof_input, dof_hidden) = self.dw[at.biases..][..8 * d].split_at_mut(4 * d);
        simd::column_sums(dof_input, &self.dsums);
        dof_hidden.copy_from_slice(dof_input);
        gemm(pool, &mut self.dinput, dsums, of.of_input.t(), T::ONE, T::ONE);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, noise, tensor};

    fn lstm(layers: usize, both: bool, weights: usize) -> Check {
        let states = [layers * if both { 2 } else { 1 }, 2, 2];
        check("cudnn_lstm")
            .input("Input", noise([3, 2, 3], 1))
            .input("InitH", noise(states, 2))
            .input("InitC", noise(states, 3))
            .input("W", noise([weights], 4))
            .attr("hidden_size", 2)
            .attr("num_layers", layers as i32)
            .attr("is_bidirec", both)
            .any_output("Out")
            .any_output("last_h")
            .any_output("last_c")
    }

    #[test]
    fn gradients() {
        // Per direction: 4 * 2 rows of input and hidden columns, and 16 biases.
        lstm(1, false, 8 * 5 + 16).grad(&["Input", "InitH", "InitC", "W"]).run();
        lstm(2, false, 8 * 5 + 8 * 4 + 32).grad(&["Input", "W"]).run();
        lstm(2, true, 2 * (8 * 5 + 8 * 6 + 32)).grad(&["Input", "InitH", "InitC", "W"]).run();
    }

    #[test]
    fn the_gradient_sees_the_same_dropout() {
        // Differences of weights would change what is dropped, so only the first states are moved.
        let some = lstm(2, false, 8 * 5 + 8 * 4 + 32).attr("dropout_prob", 0.5f32).attr("seed", 3);
        some.grad(&["InitH", "InitC"]).run();
        let test = lstm(2, false, 8 * 5 + 8 * 4 + 32).attr("dropout_prob", 0.5f32).attr("is_test", true);
        test.grad(&["Input"]).run();
    }

    #[test]
    fn gates_are_input_forget_candidate_output() {
        // One step of width 1: the input goes to the candidate only; the forget gate is shut by its bias, the others are half open.
        let w = [0.0, 0.0, 1.0, 0.0, 9.0, 9.0, 9.0, 9.0, 0.0, -60.0, 0.0, 0.0, 0.0, -60.0, 0.0, 0.0];
        let half = 0.5 * 1f32.tanh();
        check("cudnn_lstm")
            .input("Input", tensor([1, 1, 1], &[1.0]))
            .input("InitH", tensor([1, 1, 1], &[0.0]))
            .input("InitC", tensor([1, 1, 1], &[5.0]))
            .input("W", tensor([16], &w))
            .attr("hidden_size", 1)
            .output("Out", tensor([1, 1, 1], &[0.5 * half.tanh()]))
            .output("last_h", tensor([1, 1, 1], &[0.5 * half.tanh()]))
            .output("last_c", tensor([1, 1, 1], &[half]))
            .run();
    }

    /// The hidden states of all layers, straight from the definition: states 0 before the first step.
    fn by_definition(x: &[f32], w: &[f32], (steps, columns, d, layers): (usize, usize, usize, usize)) -> Vec<f32> {
        let (sigmoid, mut at, mut input) = (|v: f32| 1.0 / (1.0 + (-v).exp()), 0, x.to_vec());
        let matrices: usize = (0..layers).map(|l| 4 * d * (if l == 0 { columns } else { 2 * d } + d) * 2).sum();
        for layer in 0..layers {
            let k = if layer == 0 { columns } else { 2 * d };
            let mut output = vec![0.0; steps * 2 * d];
            for direction in 0..2 {
                let (wx, wh) = (&w[at..][..4 * d * k], &w[at + 4 * d * k..][..4 * d * d]);
                let bias = &w[matrices + (2 * layer + direction) * 8 * d..][..8 * d];
                at += 4 * d * (k + d);
                let (mut h, mut c) = (vec![0.0; d], vec![0.0; d]);
                for t in 0..steps {
                    let t = if direction == 0 { t } else { steps - 1 - t };
                    let dot = |row: &[f32], v: &[f32]| row.iter().zip(v).map(|(a, b)| a * b).sum::<f32>();
                    let gate = |g: usize, j: usize| {
                        let row = g * d + j;
                        let sum = dot(&wx[row * k..][..k], &input[t * k..][..k]) + dot(&wh[row * d..][..d], &h);
                        sum + bias[row] + bias[4 * d + row]
                    };
                    c = (0..d)
                        .map(|j| sigmoid(gate(1, j)) * c[j] + sigmoid(gate(0, j)) * gate(2, j).tanh())
                        .collect::<Vec<f32>>();
                    h = (0..d).map(|j| sigmoid(gate(3, j)) * c[j].tanh()).collect();
                    output[t * 2 * d + direction * d..][..d].copy_from_slice(&h);
                }
            }
            input = output;
        }
        input
    }

    #[test]
    fn two_layers_in_both_directions_by_definition() {
        let (x, w) = (noise([3, 1, 3], 1), noise([2 * (8 * 5 + 8 * 6 + 32)], 4));
        let data = |t: &oarlock_tensor::Tensor| t.data::<f32>().expect("f32").to_vec();
        let expected = by_definition(&data(&x), &data(&w), (3, 3, 2, 2));
        check("cudnn_lstm")
            .input("Input", x)
            .input("InitH", tensor([4, 1, 2], &[0.0; 8]))
            .input("InitC", tensor([4, 1, 2], &[0.0; 8]))
            .input("W", w)
            .attr("hidden_size", 2)
            .attr("num_layers", 2)
            .attr("is_bidirec", true)
            .output("Out", tensor([3, 1, 4], &expected))
            .any_output("last_h")
            .any_output("last_c")
            .run();
    }

    #[test]
    fn mistakes_are_named() {
        let e = lstm(1, false, 50).error();
        assert!(e.contains("`cudnn_lstm` needs 56 weights, but has `W` = W.0 f32[50]"), "{e}");
        let e = lstm(1, false, 56).attr("dropout_prob", 1.0f32).error();
        assert!(e.contains("must be at least 0 and below 1"), "{e}");
    }
}
