//! Programs of what was called: every operator that runs while a trace is on is appended to a program.
//!
//! Tensors that no traced operator computed are inputs, if the caller says so, or constants and parameters, which keep their names.

use std::collections::HashMap;
use std::sync::Arc;

use oarlock_ir::{EMPTY, Name, Op, Program, Registry, Result, SlotSig, Var, append_op};
use oarlock_tensor::Value;

use super::args::{Args, Results};
use super::tensor::EagerTensor;
use super::variant::OpHandle;

/// The calls of a trace under way.
#[derive(Default)]
pub(crate) struct Calls(Vec<TracedCall>);

struct TracedCall {
    op: Arc<OpHandle>,
    inputs: Vec<Option<EagerTensor>>,
    input_counts: Vec<u16>,
    outputs: Vec<Option<EagerTensor>>,
    output_counts: Vec<u16>,
}

/// A program of the calls, and the values it needs besides its inputs.
pub struct Traced {
    /// The program; inputs and outputs have the names given.
    pub program: Program,
    /// Parameters and constants by the names they have in the program.
    pub values: Vec<(Name, EagerTensor)>,
}

impl Calls {
    pub(crate) fn push(&mut self, op: &Arc<OpHandle>, args: Args<'_>, results: &Results) {
        self.0.push(TracedCall {
            op: op.clone(),
            inputs: args.inputs.to_vec(),
            input_counts: args.input_counts.to_vec(),
            outputs: results.to_vec(),
            output_counts: args.output_counts.to_vec(),
        });
    }

    /// The program of the calls, in which these tensors have these names.
    pub(crate) fn into_program(self, named: &[(Name, EagerTensor)], registry: &Registry) -> Result<Traced> {
        let mut names = Names { of: HashMap::new(), next: 0 };
        let mut program = Program::new();
        for (name, tensor) in named {
            names.of.insert(tensor.id(), name.clone());
            if tensor.is_leaf() || tensor.has_value() {
                program.global_mut().set_var(Var::new(name, tensor.var_type()?));
            }
        }
        let mut values: Vec<(Name, EagerTensor)> = Vec::new();
        let computed =
            |id: usize, upto: usize| self.0[..upto].iter().any(|c| c.outputs.iter().flatten().any(|t| t.id() == id));
        for (at, call) in self.0.iter().enumerate() {
            for tensor in call.inputs.iter().flatten() {
                let is_input = named.iter().any(|(_, t)| t.is(tensor));
                let is_known = values.iter().any(|(_, t)| t.is(tensor));
                if !is_input && !is_known && !computed(tensor.id(), at) {
                    let name = names.name(tensor);
                    let mut var = Var::new(&name, tensor.var_type()?);
                    var.persistable = true;
                    var.meta.is_parameter = tensor.persistable();
                    var.meta.stop_gradient = tensor.stop_gradient();
                    program.global_mut().set_var(var);
                    values.push((name, tensor.clone()));
                }
            }
            append(&mut program, call, &mut names, registry)?;
        }
        Ok(Traced { program, values })
    }
}

/// Names of tensors in the program.
struct Names {
    of: HashMap<usize, Name>,
    next: usize,
}

impl Names {
    /// A tensor keeps the name it has; one without becomes `traced_N`.
    fn name(&mut self, tensor: &EagerTensor) -> Name {
        if let Some(name) = self.of.get(&tensor.id()) {
            return name.clone();
        }
        let name = tensor.name().unwrap_or_else(|| {
            self.next += 1;
            format!("traced_{}", self.next - 1).into()
        });
        self.of.insert(tensor.id(), name.clone());
        name
    }
}

fn append(program: &mut Program, call: &TracedCall, names: &mut Names, registry: &Registry) -> Result<()> {
    let mut op = Op::new(call.op.op_type());
    op.attrs = call.op.attrs().clone();
    let mut fill = |slots: &[SlotSig], tensors: &[Option<EagerTensor>], counts: &[u16]| {
        let mut rest = tensors.iter();
        let mut filled = Vec::new();
        for (slot, n) in slots.iter().zip(counts).filter(|(_, n)| **n > 0) {
            let name = |t: &Option<EagerTensor>| t.as_ref().map_or_else(|| EMPTY.into(), |t| names.name(t));
            let args: Vec<Name> = rest.by_ref().take(usize::from(*n)).map(name).collect();
            filled.push((slot.name, args));
        }
        filled
    };
    let sig = call.op.sig();
    let inputs = fill(&sig.inputs, &call.inputs, &call.input_counts);
    let outputs = fill(&sig.outputs, &call.outputs, &call.output_counts);
    for (name, tensor) in outputs.iter().flat_map(|(_, args)| args).zip(&call.outputs) {
        if let Some(tensor) = tensor
            && program.find_var(0, name).is_none()
        {
            let ty =
                tensor.with_value(|v| if let Value::Empty = v { None } else { Some(super::tensor::var_type(v)) })?;
            if let Some(ty) = ty {
                program.global_mut().set_var(Var::new(name, ty?));
            }
        }
    }
    inputs.into_iter().for_each(|(slot, args)| op.inputs.set(slot, args));
    outputs.into_iter().for_each(|(slot, args)| op.outputs.set(slot, args));
    append_op(program, 0, op, registry)
}
