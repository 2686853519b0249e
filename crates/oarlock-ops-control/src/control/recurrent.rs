//! `recurrent`: runs a block for each row of its inputs; states go from step to step.
//!
//! Inside the block an input is one row of it, under the same name; an output is one row of the output outside.

use std::collections::HashSet;

use oarlock_ir::{
    Attr, BlockRef, EMPTY, Error, GRAD, Grad, GradOp, In, Infer, Io, Kernel, Kind, Name, OpDef, Out, Prepare, Result,
    Shape, Traits, fail, grad_name, kernel, sig,
};
use oarlock_tensor::{Dims, Tensor, Value};

use crate::control::block_steps::{self, StepSlots, Steps, Total};

pub(crate) const OPS: &[&dyn OpDef] = &[&Recurrent, &RECURRENT_GRAD];

struct Recurrent;

impl OpDef for Recurrent {
    sig! {
        "recurrent": "runs `sub_block` for each row of `inputs`; `states` of one step are `ex_states` of the next";
        in* "inputs": "[steps, ...]; all with the same number of steps";
        in*? "initial_states": "`ex_states` of the first step";
        in*? "parameters": "variables that are the same in every step";
        out* "outputs": "[steps, ...], a row from each step";
        out "step_scopes": "what the gradient needs of each step";
        attr "sub_block": "the block to run";
        attr "ex_states": "the block's names of the states of the step before";
        attr "states": "the block's names of the states, in the same order";
        attr "has_states" = false, "there are states";
        attr "reverse" = false, "from the last row to the first";
        attr "is_train" = true, "there will be a gradient";
        hints ["skip_eager_deletion_vars"];
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let block = cx.attrs().block("sub_block")?;
        let steps = cx.input("inputs")?.shape.first().copied();
        for (i, name) in cx.op().outputs.get("outputs").iter().enumerate().filter(|(_, n)| **n != EMPTY) {
            if let (Some(var), Some(steps)) = (cx.program().blocks().get(block).and_then(|b| b.var(name)), steps) {
                let ty = var.ty();
                let dims: Vec<_> = std::iter::once(steps).chain(ty.shape.iter().copied()).collect();
                cx.set_nth("outputs", i, ty.with_shape(Shape(dims)));
            }
        }
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let mut forward = Forward::new(p)?;
        let keep = p.attrs().bool("is_train")? && block_steps::is_read(p, "step_scopes")?;
        if !keep {
            return kernel(move |io| forward.run(io, &mut |run| run()));
        }
        let slots = StepSlots { own: p.locals(forward.block), ..StepSlots::default() };
        let var = p.output("step_scopes")?.0;
        kernel(move |io| {
            Steps::record(io, var, &slots, |steps| forward.run(io, &mut |run| steps.keep(io.frame(), run)))
        })
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let reads = ["inputs", "initial_states", "parameters", "outputs", "outputs@GRAD", "step_scopes"];
        let writes = ["inputs@GRAD", "initial_states@GRAD", "parameters@GRAD"];
        let mut op = g.make_keeping("recurrent_grad", &reads, &writes);
        // Step scopes have no gradient; Fluid names the steps themselves here.
        op.inputs.set("step_scopes@GRAD", g.arguments("step_scopes"));
        op.attrs.set("sub_block", Attr::Block(g.grad_block()?));
        g.push(op)
    }
}

/// A sequence outside, and the variable that is one row of it inside.
struct Rows {
    outer: usize,
    inner: usize,
}

/// Pairs sequences with their rows inside, which have the same names.
fn rows(p: &Prepare<'_>, block: BlockRef, names: &[Name], outer: Vec<Option<usize>>) -> Result<Vec<Rows>> {
    let mut found = Vec::new();
    for (name, outer) in names.iter().zip(outer) {
        let Some(outer) = outer else { continue };
        let inner = p.in_block(block, name)?;
        if inner == outer {
            fail!(Kind::Verify, "block {} must declare a row of `{name}` under that name", block.0);
        }
        found.push(Rows { outer, inner });
    }
    Ok(found)
}

/// A state: what the first step starts with, what a step starts with, and what it ends with.
struct State {
    initial: In,
    before: usize,
    after: usize,
    carried: Value,
}

struct Forward {
    block: BlockRef,
    reverse: bool,
    inputs: Vec<Rows>,
    outputs: Vec<Rows>,
    states: Vec<State>,
}

/// Something that runs and keeps one step.
type Keep<'k> = &'k mut dyn FnMut(&mut dyn FnMut() -> Result<()>) -> Result<()>;

impl Forward {
    fn new(p: &Prepare<'_>) -> Result<Forward> {
        let block = p.block("sub_block")?;
        let inputs = p.inputs_by_position("inputs")?.into_iter().map(|i| i.map(|i| i.0)).collect();
        let outputs = p.outputs("outputs")?.into_iter().map(|o| o.map(|o| o.0)).collect();
        let mut states = Vec::new();
        for (before, after, initial) in state_names(p)? {
            let (before, after) = (p.in_block(block, before)?, p.in_block(block, after)?);
            states.push(State { initial, before, after, carried: Value::Empty });
        }
        Ok(Forward {
            block,
            reverse: p.attrs().bool("reverse")?,
            inputs: rows(p, block, p.op().inputs.get("inputs"), inputs)?,
            outputs: rows(p, block, p.op().outputs.get("outputs"), outputs)?,
            states,
        })
    }

    fn run(&mut self, io: &Io<'_>, keep: Keep<'_>) -> Result<()> {
        let steps = count_steps(io, &self.inputs)?;
        for step in 0..steps {
            let row = if self.reverse { steps - 1 - step } else { step };
            keep(&mut || self.step(io, step == 0, row, steps))?;
        }
        Ok(())
    }

    fn step(&mut self, io: &Io<'_>, first: bool, row: usize, steps: usize) -> Result<()> {
        let (inputs, states) = (&self.inputs, &mut self.states);
        io.run_block_with(self.block, || {
            for r in inputs {
                take_row(&*io.dense(In(r.outer))?, row, &mut *io.out(Out(r.inner))?);
            }
            states.iter_mut().try_for_each(|s| s.enter(io, first))
        })?;
        for r in &self.outputs {
            put_row(&*io.dense(In(r.inner))?, row, steps, first, &mut *io.out(Out(r.outer))?)?;
        }
        self.states.iter_mut().try_for_each(|s| s.leave(io))
    }
}

impl State {
    fn enter(&mut self, io: &Io<'_>, first: bool) -> Result<()> {
        if first {
            io.out(Out(self.before))?.copy_from(&*io.dense(self.initial)?);
        } else {
            std::mem::swap(&mut *io.write(Out(self.before))?, &mut self.carried);
        }
        Ok(())
    }

    fn leave(&mut self, io: &Io<'_>) -> Result<()> {
        self.carried.dense_mut().copy_from(&*io.dense(In(self.after))?);
        Ok(())
    }
}

/// The states of a step before, of a step, and of the first step.
fn state_names<'p>(p: &Prepare<'p>) -> Result<Vec<(&'p str, &'p str, In)>> {
    if !p.attrs().bool("has_states")? {
        return Ok(Vec::new());
    }
    let (before, after, initial) =
        (p.attrs().strs("ex_states")?, p.attrs().strs("states")?, p.inputs("initial_states")?);
    if before.len() != after.len() || before.len() != initial.len() {
        fail!(
            Kind::Argument,
            "`{}` needs as many `ex_states` ({}) as `states` ({}) and `initial_states` ({})",
            p.op().op_type,
            before.len(),
            after.len(),
            initial.len()
        );
    }
    let pairs = before.iter().zip(after).zip(initial);
    Ok(pairs.map(|((b, a), i)| (b.as_str(), a.as_str(), i)).collect())
}

fn count_steps(io: &Io<'_>, inputs: &[Rows]) -> Result<usize> {
    let mut steps = None;
    for r in inputs {
        let found = io.dense(In(r.outer))?.rows();
        if steps.is_some_and(|s| s != found) {
            let what = format!("has {found} steps, but the inputs before it have {}", steps.unwrap_or_default());
            return Err(io.error(Kind::Shape, In(r.outer), what));
        }
        steps = Some(found);
    }
    match steps {
        Some(0) | None => Err(io
            .op_error(Kind::Shape, "has no step to run: its inputs have no rows")
            .help("feed sequences of at least one step")),
        Some(steps) => Ok(steps),
    }
}

/// Copies one row.
fn take_row(from: &Tensor, row: usize, to: &mut Tensor) {
    to.resize(from.dtype(), Dims::new(from.dims().get(1..).unwrap_or(&[])));
    let bytes = to.bytes().len();
    to.bytes_mut().copy_from_slice(&from.bytes()[row * bytes..(row + 1) * bytes]);
}

/// Puts one row in its place; the first one gives the sizes.
fn put_row(from: &Tensor, row: usize, rows: usize, first: bool, to: &mut Tensor) -> Result<()> {
    if first {
        let dims: Vec<usize> = std::iter::once(rows).chain(from.dims().iter().copied()).collect();
        let dims = Dims::try_new(&dims).map_err(|e| Error::new(Kind::Shape, e.to_string()))?;
        to.resize(from.dtype(), dims);
    }
    if from.dims()[..] != to.dims()[1..] || from.dtype() != to.dtype() {
        fail!(
            Kind::Shape,
            "a step gives {}{}, but another one {}{}",
            from.dtype(),
            from.dims(),
            to.dtype(),
            Dims::new(&to.dims()[1..])
        );
    }
    let bytes = from.bytes().len();
    to.bytes_mut()[row * bytes..(row + 1) * bytes].copy_from_slice(from.bytes());
    Ok(())
}

const RECURRENT_GRAD: GradOp = GradOp::of(
    &Recurrent,
    "recurrent_grad(inputs, initial_states, parameters, outputs?, outputs@GRAD?, step_scopes, \
     step_scopes@GRAD?) -> inputs@GRAD, initial_states@GRAD, parameters@GRAD",
)
.doc("runs the gradients of the block for each step, last step first")
.traits(Traits::NONE.maybe_empty(&["outputs@GRAD"]))
.kernel(|p| {
    let mut backward = Backward::new(p)?;
    let steps = p.input("step_scopes")?;
    kernel(move |io| Steps::replay(io, steps, |steps| backward.run(io, steps)))
});

struct Backward {
    block: BlockRef,
    reverse: bool,
    given: Vec<Given>,
    states: Vec<StateGrad>,
    params: Vec<ParamGrad>,
    inputs: Vec<InputGrad>,
}

/// The gradient of an output. The block may know one row of it by the name of the whole, so the whole is put aside meanwhile.
struct Given {
    outer: Option<usize>,
    inner: usize,
    aside: Value,
}

/// The gradient of a state, which goes from step to step.
struct StateGrad {
    of: In,
    before: Option<usize>,
    after: Option<usize>,
    outer: Option<Out>,
    carried: Value,
}

struct ParamGrad {
    of: In,
    inner: Option<usize>,
    outer: Out,
    total: Total,
}

struct InputGrad {
    of: In,
    inner: Option<usize>,
    outer: Out,
    whole: Tensor,
}

impl Backward {
    fn new(p: &Prepare<'_>) -> Result<Backward> {
        let block = p.block("sub_block")?;
        let written = block_steps::written_slots(p, block);
        let grad_of = |name: &str| p.maybe_in_block(block, &grad_name(name));
        let made = |name: &str| grad_of(name).filter(|s| written.contains(s));
        let outer = p.inputs_by_position("outputs@GRAD")?;
        let mut given = Vec::new();
        for (i, name) in p.op().inputs.get("outputs").iter().enumerate() {
            let outer = outer.get(i).copied().flatten().map(|i| i.0);
            given.extend(grad_of(name).map(|inner| Given { outer, inner, aside: Value::Empty }));
        }
        let initial = p.outputs("initial_states@GRAD")?;
        let mut states = Vec::new();
        for (i, (before, after, of)) in state_names(p)?.into_iter().enumerate() {
            let outer = initial.get(i).copied().flatten();
            states.push(StateGrad { of, before: made(before), after: grad_of(after), outer, carried: Value::Empty });
        }
        let params = wanted(p, "parameters")?.into_iter();
        let inputs = wanted(p, "inputs")?.into_iter();
        Ok(Backward {
            block,
            reverse: p.attrs().bool("reverse")?,
            given,
            states,
            params: params
                .map(|(name, of, outer)| ParamGrad { of, inner: made(name), outer, total: Total::default() })
                .collect(),
            inputs: inputs
                .map(|(name, of, outer)| InputGrad { of, inner: made(name), outer, whole: Tensor::new() })
                .collect(),
        })
    }

    fn run(&mut self, io: &Io<'_>, steps: &mut Steps) -> Result<()> {
        for p in &mut self.params {
            p.total.reset();
        }
        self.exchange_given(io)?;
        let n = steps.len();
        let none = HashSet::new();
        let walked = (0..n).rev().try_for_each(|step| {
            let row = if self.reverse { n - 1 - step } else { step };
            steps.within(io.frame(), step, &none, || self.step(io, row, n, step + 1 == n))
        });
        self.exchange_given(io)?;
        walked?;
        self.finish(io, n == 0)
    }

    /// Puts the gradients of outputs aside, or back.
    fn exchange_given(&mut self, io: &Io<'_>) -> Result<()> {
        for g in &mut self.given {
            if let Some(outer) = g.outer {
                std::mem::swap(&mut *io.write(Out(outer))?, &mut g.aside);
            }
        }
        Ok(())
    }

    fn step(&mut self, io: &Io<'_>, row: usize, rows: usize, last: bool) -> Result<()> {
        let (given, states) = (&self.given, &mut self.states);
        io.run_block_with(self.block, || {
            given.iter().try_for_each(|g| g.hand_in(io, row, rows))?;
            states.iter_mut().try_for_each(|s| s.enter(io, last))
        })?;
        self.states.iter_mut().try_for_each(|s| s.leave(io))?;
        for p in &mut self.params {
            if let Some(inner) = p.inner {
                p.total.add(&mut *io.write(Out(inner))?)?;
            }
        }
        for i in &mut self.inputs {
            if let Some(inner) = i.inner {
                put_row(&*io.dense(In(inner))?, row, rows, last, &mut i.whole)?;
            }
        }
        Ok(())
    }

    fn finish(&mut self, io: &Io<'_>, empty: bool) -> Result<()> {
        for s in &mut self.states {
            let Some(outer) = s.outer else { continue };
            let mut outer = io.write(outer)?;
            if s.before.is_some() && !empty {
                std::mem::swap(&mut *outer, &mut s.carried);
            } else {
                block_steps::zeros_like(&mut outer, &*io.value(s.of)?);
            }
        }
        for p in &mut self.params {
            p.total.give(&mut *io.write(p.outer)?, &*io.value(p.of)?);
        }
        for i in &mut self.inputs {
            if i.inner.is_some() && !empty {
                std::mem::swap(&mut *io.out(i.outer)?, &mut i.whole);
            } else {
                block_steps::zeros_like(&mut *io.write(i.outer)?, &*io.value(i.of)?);
            }
        }
        Ok(())
    }
}

/// The variables of an input slot whose gradients are wanted: name, place, place of the gradient.
fn wanted<'p>(p: &Prepare<'p>, slot: &str) -> Result<Vec<(&'p Name, In, Out)>> {
    let (names, of) = (p.op().inputs.get(slot), p.inputs_by_position(slot)?);
    let outer = p.outputs(&format!("{slot}{GRAD}"))?;
    let all = names.iter().zip(of).zip(outer);
    Ok(all.filter_map(|((name, of), outer)| Some((name, of?, outer?))).collect())
}

impl Given {
    /// Without a gradient from outside the block finds nothing, and takes that as zero.
    fn hand_in(&self, io: &Io<'_>, row: usize, rows: usize) -> Result<()> {
        let mut inner = io.write(Out(self.inner))?;
        match &self.aside {
            Value::Dense(t) if t.rows() == rows => take_row(t, row, inner.dense_mut()),
            Value::Dense(t) => {
                return Err(io.op_error(Kind::Shape, format!("gets a gradient of {} rows for {rows} steps", t.rows())));
            }
            _ => *inner = Value::Empty,
        }
        Ok(())
    }
}

impl StateGrad {
    /// The last step's state goes nowhere: the block finds no gradient of it.
    fn enter(&mut self, io: &Io<'_>, last: bool) -> Result<()> {
        let Some(after) = self.after else { return Ok(()) };
        let mut after = io.write(Out(after))?;
        if last {
            *after = Value::Empty;
        } else {
            std::mem::swap(&mut *after, &mut self.carried);
        }
        Ok(())
    }

    fn leave(&mut self, io: &Io<'_>) -> Result<()> {
        match self.before {
            Some(before) => std::mem::swap(&mut *io.write(Out(before))?, &mut self.carried),
            None => self.carried = Value::Empty,
        }
        Ok(())
    }
}
