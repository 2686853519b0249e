//! Which gradient operators a call needs, worked out once per variant and set of inputs that need gradients.

use std::collections::HashMap;
use std::sync::Arc;

use oarlock_ir::{EMPTY, Error, GRAD, Name, Op, Result, Slots};

use super::eager_engine::{EagerEngine, bit};
use super::variant::OpHandle;

/// The gradient operators of a call, over registers.
pub(crate) struct GradPlan {
    pub(crate) calls: Vec<GradCall>,
    pub(crate) registers: usize,
    /// Inputs and outputs of the call that gradient operators read.
    pub(crate) saved: Vec<Source>,
    /// Gradients of outputs that gradient operators read.
    pub(crate) out_grads: Vec<OutGrad>,
    /// Inputs of the call, and the register that holds the gradient of each at the end.
    pub(crate) results: Vec<(usize, usize)>,
}

/// An input or output of the call that goes into a register.
pub(crate) struct Source {
    pub(crate) register: usize,
    pub(crate) of: Of,
    /// Gradient operators read its sizes alone.
    pub(crate) only_sizes: bool,
}

/// An argument of the call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Of {
    Input(usize),
    Output(usize),
}

/// The gradient of an output that goes into a register.
pub(crate) struct OutGrad {
    pub(crate) register: usize,
    pub(crate) output: usize,
    /// Every operator that reads it can do without: then missing does not mean zeros.
    pub(crate) optional: bool,
}

/// One gradient operator.
pub(crate) struct GradCall {
    pub(crate) op: Arc<OpHandle>,
    pub(crate) inputs: Vec<Option<usize>>,
    pub(crate) input_counts: Vec<u16>,
    pub(crate) outputs: Vec<Option<usize>>,
    pub(crate) output_counts: Vec<u16>,
}

/// Collects registers while the operators are read in order.
#[derive(Default)]
struct Builder {
    /// The register that holds each name at this point.
    latest: HashMap<Name, usize>,
    registers: usize,
    saved: Vec<Source>,
    out_grads: Vec<OutGrad>,
    /// By output: the input it overwrites, whose name it has.
    overwrites: Vec<Option<usize>>,
}

impl GradPlan {
    /// Is the gradient of this name, which is that of an input, wanted?
    pub(crate) fn is_wanted(grad: &str, wanted: u128) -> bool {
        let input = grad.strip_suffix(GRAD).and_then(|name| position(name, 'i'));
        input.is_some_and(|at| wanted & bit(at) != 0)
    }

    /// Of the operators that `OpDef::grad` made for `forward`; `None` if there are none. `overwrites` says by output which input
    /// it overwrites.
    pub(crate) fn new(
        engine: &EagerEngine,
        forward: &Op,
        overwrites: &[Option<usize>],
        ops: Vec<Op>,
    ) -> Result<Option<GradPlan>> {
        let mut builder = Builder { overwrites: overwrites.to_vec(), ..Builder::default() };
        let mut calls = Vec::new();
        // Of an operator that is itself a gradient, some gradients may not be wanted; then nothing is left to compute.
        for op in ops.into_iter().filter(|op| op.outputs.args().next().is_some()) {
            calls.push(builder.call(engine, op)?);
        }
        if calls.is_empty() {
            return Ok(None);
        }
        let inputs = forward.inputs.args().filter_map(|name| position(name, 'i'));
        let result = |at: usize| Some((at, *builder.latest.get(format!("i{at}{GRAD}").as_str())?));
        let results = inputs.filter_map(result).collect();
        let Builder { registers, saved, out_grads, .. } = builder;
        Ok(Some(GradPlan { calls, registers, saved, out_grads, results }))
    }
}

impl Builder {
    fn call(&mut self, engine: &EagerEngine, op: Op) -> Result<GradCall> {
        let handle = engine.op(&op.op_type, op.attrs)?;
        let (mut inputs, mut input_counts) = (Vec::new(), Vec::new());
        let shape_only = engine.registry().traits(&op.op_type).shape_only;
        for slot in &handle.sig().inputs {
            let args = op.inputs.get(slot.name);
            input_counts.push(args.len() as u16);
            for name in args {
                inputs.push(self.read(name, slot.optional, shape_only.contains(&slot.name))?);
            }
        }
        let (mut outputs, mut output_counts) = (Vec::new(), Vec::new());
        for slot in &handle.sig().outputs {
            let args = op.outputs.get(slot.name);
            output_counts.push(args.len() as u16);
            outputs.extend(args.iter().map(|name| (*name != EMPTY).then(|| self.write(name))));
        }
        unknown_slots(&handle, &op.inputs, &op.outputs)?;
        Ok(GradCall { op: handle, inputs, input_counts, outputs, output_counts })
    }

    fn new_register(&mut self, name: &Name) -> usize {
        self.latest.insert(name.clone(), self.registers);
        self.registers += 1;
        self.registers - 1
    }

    fn write(&mut self, name: &Name) -> usize {
        self.new_register(name)
    }

    /// The register that a name means; `None` if nothing can be there.
    fn read(&mut self, name: &Name, optional: bool, only_sizes: bool) -> Result<Option<usize>> {
        if *name == EMPTY {
            return Ok(None);
        }
        if let Some(&register) = self.latest.get(name) {
            self.saved.iter_mut().filter(|s| s.register == register).for_each(|s| s.only_sizes &= only_sizes);
            self.out_grads.iter_mut().filter(|g| g.register == register).for_each(|g| g.optional &= optional);
            return Ok(Some(register));
        }
        if let Some(base) = name.strip_suffix(GRAD) {
            let over = || position(base, 'i').and_then(|at| self.overwrites.iter().position(|o| *o == Some(at)));
            let Some(output) = position(base, 'o').or_else(over) else { return Ok(None) };
            let register = self.new_register(name);
            self.out_grads.push(OutGrad { register, output, optional });
            return Ok(Some(register));
        }
        let of = position(name, 'i').map(Of::Input).or_else(|| position(name, 'o').map(Of::Output));
        let of =
            of.ok_or_else(|| Error::internal(format!("a gradient operator reads `{name}`, which nothing wrote")))?;
        let register = self.new_register(name);
        self.saved.push(Source { register, of, only_sizes });
        Ok(Some(register))
    }
}

/// The number behind a letter.
fn position(name: &str, letter: char) -> Option<usize> {
    name.strip_prefix(letter)?.parse().ok()
}

fn unknown_slots(handle: &OpHandle, inputs: &Slots, outputs: &Slots) -> Result<()> {
    let sig = handle.sig();
    let known = |slots: &[oarlock_ir::SlotSig], name: &Name| slots.iter().any(|s| *name == s.name);
    let wrong = inputs
        .iter()
        .find(|(name, args)| !args.is_empty() && !known(&sig.inputs, name))
        .or_else(|| outputs.iter().find(|(name, args)| !args.is_empty() && !known(&sig.outputs, name)));
    match wrong {
        Some((name, _)) => Err(Error::internal(format!("`{}` has no slot `{name}`", sig.op_type))),
        None => Ok(()),
    }
}
