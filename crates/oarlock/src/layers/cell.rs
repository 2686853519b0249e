//! Cells, which are steps of recurrent networks, and `rnn`, which runs one over time.

use oarlock_ir::{Error, Kind, Op, Result, fail};
use oarlock_tensor::DType;

use crate::layer::{Part, known};
use crate::options::options;
use crate::{IntOrVar, Net, ParamAttr, VarRef};

use super::{Elementwise, MatMul, StaticRnn};

/// `RNNCell`: a step of a recurrent network. Its implementations can be run by [`Net::rnn`] and by decoders.
pub trait RnnCell {
    /// Builds a step: from inputs and states to outputs and as many new states.
    fn call(&mut self, net: &mut Net, inputs: &[VarRef], states: &[VarRef]) -> Result<(Vec<VarRef>, Vec<VarRef>)>;

    /// The sizes of every state, without the batch.
    fn state_shapes(&self) -> Vec<Vec<i32>>;

    /// `get_initial_states(batch_ref, shape=None, dtype='float32', init_value=0, batch_dim_idx=0)`: zeros for as many rows as
    /// dimension `batch_dim` of `batch_ref` has.
    #[track_caller]
    fn initial_states(&self, net: &mut Net, batch_ref: &VarRef, batch_dim: i32) -> Result<Vec<VarRef>> {
        let zeros = |sizes: Vec<i32>| {
            let shape = [vec![-1], sizes].concat();
            net.fill_constant_batch_size_like(batch_ref, &shape, DType::F32, 0.0, (batch_dim, 0))
        };
        self.state_shapes().into_iter().map(zeros).collect()
    }
}

options! {
    /// The arguments of `GRUCell(hidden_size, param_attr=None, bias_attr=None, gate_activation=None, activation=None, dtype='float32',
    /// name='GRUCell')` and `LSTMCell(..., forget_bias=1.0, ...)`.
    Cell::size(
        /// Width of the hidden state.
        hidden_size: usize,
    ) {
        /// The weights; a GRU adds `_gate` and `_candidate` to a name.
        param_attr: ParamAttr = ParamAttr::new(),
        /// The biases, named likewise.
        bias_attr: ParamAttr = ParamAttr::new(),
        /// Operator that activates gates.
        gate_activation(into): String = "sigmoid".to_string(),
        /// Operator that activates what enters the state, and an LSTM's cell.
        activation(into): String = "tanh".to_string(),
        /// Added to the forget gate of an LSTM.
        forget_bias: f32 = 1.0,
        /// Element type.
        dtype: DType = DType::F32,
        /// Starts the names of parameters, instead of the cell's type.
        name: Option<String> = None,
    }
}

impl Cell {
    /// The prefix of the parameters' names. Fluid numbers the name alone, too.
    fn prefix(&self, net: &mut Net, cell: &str, unit: &str) -> String {
        let name = self.name.as_deref().unwrap_or(cell);
        net.names.generate(name);
        net.names.generate(&format!("{name}/{unit}"))
    }

    /// Weights for the input beside the hidden state, and their biases: for each a count of gates and an end of its name.
    fn parameters<const N: usize>(
        &self,
        net: &mut Net,
        prefix: &str,
        input: &VarRef,
        gates: [(usize, &str); N],
    ) -> Result<[Affine; N]> {
        let shape = net.shape(input)?;
        let columns: usize = known(&shape[shape.rank().saturating_sub(1)..], "a cell", input)?.iter().product();
        let named = |attr: &ParamAttr, end: &str| {
            let mut attr = attr.clone();
            attr.name = attr.name.map(|name| name + end);
            attr
        };
        let mut layer = net.named(prefix).layer("cell");
        let mut weights = Vec::new();
        for (count, end) in gates {
            let sizes = [columns + self.hidden_size, count * self.hidden_size];
            weights.push(layer.parameter(&named(&self.param_attr, end), Part::Weight, &sizes, self.dtype, None)?);
        }
        let mut biases = Vec::new();
        for (count, end) in gates {
            let sizes = [count * self.hidden_size];
            biases.push(layer.parameter(&named(&self.bias_attr, end), Part::Bias, &sizes, self.dtype, None)?);
        }
        let pairs: Vec<Affine> = weights.into_iter().zip(biases).map(|(w, b)| Affine { w, b }).collect();
        pairs.try_into().map_err(|_| Error::internal("one pair per entry"))
    }

    fn gate(&self, net: &mut Net, x: &VarRef) -> Result<VarRef> {
        net.unary(x, Op::new(self.gate_activation.as_str()))
    }

    fn activate(&self, net: &mut Net, x: &VarRef) -> Result<VarRef> {
        net.unary(x, Op::new(self.activation.as_str()))
    }
}

/// A weight and a bias.
#[derive(Debug, Clone)]
struct Affine {
    w: VarRef,
    b: VarRef,
}

impl Affine {
    /// `[x, h] * W + b`
    fn of(&self, net: &mut Net, x: &VarRef, h: &VarRef) -> Result<VarRef> {
        let joined = net.concat(&[x, h], 1)?;
        let product = net.matmul(&joined, &self.w, MatMul::new())?;
        net.elementwise_add(&product, &self.b, Elementwise::new())
    }
}

/// The parts of a split.
fn parts<const N: usize>(split: Vec<VarRef>) -> Result<[VarRef; N]> {
    split.try_into().map_err(|_| Error::internal("a split has as many parts as it was asked for"))
}

/// The one input, and as many states as a cell keeps.
fn expect<'v, const N: usize>(
    cell: &str,
    inputs: &'v [VarRef],
    states: &'v [VarRef],
) -> Result<(&'v VarRef, &'v [VarRef; N])> {
    match (inputs, states.try_into()) {
        ([input], Ok(states)) => Ok((input, states)),
        _ => fail!(Kind::Argument, "`{cell}` takes 1 input and {N} states, not {} and {}", inputs.len(), states.len()),
    }
}

/// `GRUCell`: `u, r = gate([x, h] W + b)`, `c = act([x, r h] W' + b')`, `h' = u h + (1 - u) c`. Its parameters are made when it is
/// first called, and shared by all calls.
#[derive(Debug)]
pub struct GruCell {
    options: Cell,
    prefix: String,
    parameters: Option<[Affine; 2]>,
}

impl GruCell {
    /// Without parameters yet.
    pub fn new(net: &mut Net, options: Cell) -> GruCell {
        let prefix = options.prefix(net, "GRUCell", "BasicGRUUnit");
        GruCell { options, prefix, parameters: None }
    }
}

impl RnnCell for GruCell {
    fn call(&mut self, net: &mut Net, inputs: &[VarRef], states: &[VarRef]) -> Result<(Vec<VarRef>, Vec<VarRef>)> {
        let (x, [h]) = expect("GRUCell", inputs, states)?;
        let [gate, candidate] = match &self.parameters {
            Some(made) => made,
            None => {
                let both = [(2, "_gate"), (1, "_candidate")];
                self.parameters.insert(self.options.parameters(net, &self.prefix, x, both)?)
            }
        };
        let gates = gate.of(net, x, h)?;
        let gates = self.options.gate(net, &gates)?;
        let [r, u] = parts(net.split(&gates, 2, 1)?)?;
        let reset = net.times(&r, h)?;
        let candidate = candidate.of(net, x, &reset)?;
        let c = self.options.activate(net, &candidate)?;
        let kept = net.times(&u, h)?;
        let rest = net.rsub(1.0, &u)?;
        let new = net.times(&rest, &c)?;
        let h = net.add(&kept, &new)?;
        Ok((vec![h.clone()], vec![h]))
    }

    fn state_shapes(&self) -> Vec<Vec<i32>> {
        vec![vec![self.options.hidden_size as i32]]
    }
}

/// `LSTMCell`: `i, j, f, o = [x, h] W + b`, `c' = c gate(f + forget_bias) + gate(i) act(j)`, `h' = act(c') gate(o)`. The states are
/// the hidden state and the cell.
#[derive(Debug)]
pub struct LstmCell {
    options: Cell,
    prefix: String,
    forget_bias: VarRef,
    parameters: Option<[Affine; 1]>,
}

impl LstmCell {
    /// Without parameters yet.
    #[track_caller]
    pub fn new(net: &mut Net, options: Cell) -> Result<LstmCell> {
        let prefix = options.prefix(net, "LSTMCell", "BasicLSTMUnit");
        let forget_bias = net.fill_constant([1], options.dtype, options.forget_bias.into())?;
        net.var_mut(&forget_bias)?.meta.stop_gradient = false;
        Ok(LstmCell { options, prefix, forget_bias, parameters: None })
    }
}

impl RnnCell for LstmCell {
    fn call(&mut self, net: &mut Net, inputs: &[VarRef], states: &[VarRef]) -> Result<(Vec<VarRef>, Vec<VarRef>)> {
        let (x, [h, c]) = expect("LSTMCell", inputs, states)?;
        let [gates] = match &self.parameters {
            Some(made) => made,
            None => self.parameters.insert(self.options.parameters(net, &self.prefix, x, [(4, "")])?),
        };
        let gates = gates.of(net, x, h)?;
        let [i, j, f, o] = parts(net.split(&gates, 4, -1)?)?;
        let plain = Elementwise::new;
        let f = net.elementwise_add(&f, &self.forget_bias, plain())?;
        let f = self.options.gate(net, &f)?;
        let kept = net.elementwise_mul(c, &f, plain())?;
        let (i, j) = (self.options.gate(net, &i)?, self.options.activate(net, &j)?);
        let new = net.elementwise_mul(&i, &j, plain())?;
        let c = net.elementwise_add(&kept, &new, plain())?;
        let (out, o) = (self.options.activate(net, &c)?, self.options.gate(net, &o)?);
        let h = net.times(&out, &o)?;
        Ok((vec![h.clone()], vec![h, c]))
    }

    fn state_shapes(&self) -> Vec<Vec<i32>> {
        vec![vec![self.options.hidden_size as i32]; 2]
    }
}

options! {
    /// `rnn(cell, inputs, initial_states=None, sequence_length=None, time_major=False, is_reverse=False)`
    Rnn::new() {
        /// The states before the first step; without them the cell's own, zeros.
        initial_states: Option<Vec<VarRef>> = None,
        /// Steps of each row, `[batch]`; a row that has ended keeps its states.
        sequence_length: Option<VarRef> = None,
        /// Inputs and outputs are `[time, batch, ...]`, not `[batch, time, ...]`.
        time_major: bool = false,
        /// From the last step to the first.
        is_reverse: bool = false,
    }
}

impl Net {
    /// Runs a cell over time. Returns its outputs of all steps and its states after the last.
    #[track_caller]
    pub fn rnn(
        &mut self,
        cell: &mut dyn RnnCell,
        inputs: &[VarRef],
        options: Rnn,
    ) -> Result<(Vec<VarRef>, Vec<VarRef>)> {
        let Some(first) = inputs.first() else {
            fail!(Kind::Argument, "`rnn` needs at least one input");
        };
        self.located(|net| {
            let initial = match &options.initial_states {
                Some(states) => states.clone(),
                None => cell.initial_states(net, first, if options.time_major { 1 } else { 0 })?,
            };
            for state in &initial {
                net.var_mut(state)?.meta.stop_gradient = false;
            }
            let inputs = net.with_time_first(inputs, options.time_major)?;
            let mask = net.step_mask(&options, &inputs, &initial)?;
            let (inputs, mask) = match options.is_reverse {
                false => (inputs, mask),
                true => (net.all_reversed(&inputs)?, mask.map(|m| net.reverse(&m, &[0])).transpose()?),
            };
            let (outputs, states) = net.unrolled(cell, &inputs, &initial, mask.as_ref())?;
            let last = states.iter().map(|state| net.at(state, 0, -1)).collect::<Result<_>>()?;
            let outputs = if options.is_reverse { net.all_reversed(&outputs)? } else { outputs };
            Ok((net.with_time_first(&outputs, options.time_major)?, last))
        })
    }

    /// Builds the steps. Returns outputs and states of all of them.
    fn unrolled(
        &mut self,
        cell: &mut dyn RnnCell,
        inputs: &[VarRef],
        initial: &[VarRef],
        mask: Option<&VarRef>,
    ) -> Result<(Vec<VarRef>, Vec<VarRef>)> {
        let mut count = 0;
        let mut all = StaticRnn::new(self).step(self, |net, rnn| {
            let inputs = inputs.iter().map(|x| rnn.step_input(net, x)).collect::<Result<Vec<_>>>()?;
            let states = initial.iter().map(|x| rnn.memory(net, x)).collect::<Result<Vec<_>>>()?;
            let (outputs, mut new) = cell.call(net, &inputs, &states)?;
            if new.len() != states.len() {
                fail!(Kind::Argument, "a cell with {} states returns {} new ones", states.len(), new.len());
            }
            if let Some(mask) = mask {
                let mask = rnn.step_input(net, mask)?;
                let kept = |(new, old)| net.blended(new, old, &mask);
                new = new.iter().zip(&states).map(kept).collect::<Result<_>>()?;
            }
            states.iter().zip(&new).try_for_each(|(old, new)| rnn.update_memory(old, new))?;
            count = outputs.len();
            outputs.iter().chain(&new).try_for_each(|out| rnn.step_output(net, out))
        })?;
        let states = all.split_off(count);
        Ok((all, states))
    }

    /// Ones for the steps that a row has, `[time, batch]`, if rows have lengths.
    fn step_mask(&mut self, options: &Rnn, inputs: &[VarRef], initial: &[VarRef]) -> Result<Option<VarRef>> {
        let (Some(lengths), Some(state)) = (&options.sequence_length, initial.first()) else { return Ok(None) };
        let sizes = self.shape_of(&inputs[0])?;
        let steps = self.at(&sizes, 0, 0)?;
        let dtype = self.dtype(state)?;
        let mask = self.sequence_mask(lengths, Some(IntOrVar::Var(steps)), dtype)?;
        self.transpose(&mask, &[1, 0]).map(Some)
    }

    /// Exchanges batch and time, unless time comes first.
    pub(super) fn with_time_first(&mut self, vars: &[VarRef], time_major: bool) -> Result<Vec<VarRef>> {
        if time_major {
            return Ok(vars.to_vec());
        }
        let mut turned = |x: &VarRef| {
            let rest = 2..self.shape(x)?.rank() as i32;
            self.transpose(x, &[1, 0].into_iter().chain(rest).collect::<Vec<_>>())
        };
        vars.iter().map(&mut turned).collect()
    }

    fn all_reversed(&mut self, vars: &[VarRef]) -> Result<Vec<VarRef>> {
        vars.iter().map(|x| self.reverse(x, &[0])).collect()
    }

    /// `a` where the mask, one number per row, is 1, and `b` where it is 0.
    pub(super) fn blended(&mut self, a: &VarRef, b: &VarRef, mask: &VarRef) -> Result<VarRef> {
        let rows = || Elementwise::new().axis(0);
        let a = self.elementwise_mul(a, mask, rows())?;
        let minus = self.sub(mask, 1.0)?;
        let b = self.elementwise_mul(b, &minus, rows())?;
        self.sub(&a, &b)
    }
}
