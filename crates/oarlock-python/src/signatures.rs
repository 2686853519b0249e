//! Signatures of operators, and the operators of a gradient, for scripts that read them: `OpProtoHolder`, `fluid.op.Operator`,
//! `get_grad_op_desc`.

use std::collections::HashSet;

use oarlock::ir::{self, Attr, AttrSig, Grad, Op, SlotSig};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::builder::registry;
use crate::error::IntoPy;
use crate::program::{Program, attr_to_py};

/// Name, documentation, takes several variables, may be left out.
type Slot = (&'static str, &'static str, bool, bool);

/// Slots by name with their variables.
type Arguments = Vec<(String, Vec<String>)>;

/// Type, inputs, outputs and attributes of an operator.
type OpParts<'py> = (String, Arguments, Arguments, Bound<'py, PyDict>);

/// Adds the functions to the module.
pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(op_types, m)?)?;
    m.add_function(wrap_pyfunction!(op_signature, m)?)?;
    m.add_function(wrap_pyfunction!(has_gradient, m)?)?;
    m.add_function(wrap_pyfunction!(gradient_ops, m)?)
}

/// The types of all operators, sorted.
#[pyfunction]
fn op_types() -> Vec<&'static str> {
    registry().types()
}

/// The signature of an operator: `doc`, `inputs`, `outputs`, `attrs` (name, documentation, kind or None, default or None), `hints`,
/// whether an output may overwrite an input, and the inputs of which only sizes are read.
#[pyfunction]
fn op_signature<'py>(py: Python<'py>, op_type: &str) -> PyResult<Bound<'py, PyDict>> {
    let registry = registry();
    let entry = registry.entry(op_type).py()?;
    let slots = |slots: &[SlotSig]| slots.iter().map(|s| (s.name, s.doc, s.many, s.optional)).collect::<Vec<Slot>>();
    let attr = |attr: &AttrSig| {
        let default = attr.default.as_ref().map(|value| attr_to_py(py, value)).transpose()?;
        Ok((attr.name, attr.doc, attr.default.as_ref().map(kind), default))
    };
    let dict = PyDict::new(py);
    dict.set_item("doc", entry.sig.doc)?;
    dict.set_item("inputs", slots(&entry.sig.inputs))?;
    dict.set_item("outputs", slots(&entry.sig.outputs))?;
    dict.set_item("attrs", entry.sig.attrs.iter().map(attr).collect::<PyResult<Vec<_>>>()?)?;
    dict.set_item("hints", entry.sig.hints.clone())?;
    dict.set_item("in_place", !entry.traits.in_place.is_empty())?;
    dict.set_item("shape_only", entry.traits.shape_only)?;
    Ok(dict)
}

/// Tells whether a gradient flows through an operator of this type.
#[pyfunction]
fn has_gradient(op_type: &str) -> bool {
    let registry = registry();
    let Some(entry) = registry.get(op_type) else { return false };
    let mut op = Op::new(op_type);
    for slot in &entry.sig.inputs {
        op.inputs.set(slot.name, vec![slot.name.into()]);
    }
    for slot in &entry.sig.outputs {
        op.outputs.set(slot.name, vec![slot.name.into()]);
    }
    let program = ir::Program::new();
    let mut grad = Grad::new(&program, &op, &|_| false, Some(0));
    entry.grad(&mut grad).is_ok() && !grad.into_ops().is_empty()
}

/// The operators that compute the gradient of an operator, as type, inputs, outputs and attributes. `no_grad` names gradients that
/// are not needed; `grad_block` is the block of gradients of the operator's own block.
#[pyfunction]
#[pyo3(signature = (program, block, index, no_grad, grad_block = None))]
fn gradient_ops<'py>(
    py: Python<'py>,
    program: &Program,
    block: usize,
    index: usize,
    no_grad: HashSet<String>,
    grad_block: Option<usize>,
) -> PyResult<Vec<OpParts<'py>>> {
    let (program, registry) = (program.get(), registry());
    let found = program.blocks().get(block).and_then(|b| b.ops.get(index));
    let op = found.ok_or_else(|| PyIndexError::new_err(format!("block {block} has no operator {index}")))?;
    let entry = registry.entry(&op.op_type).py()?;
    let unwanted = |name: &str| no_grad.contains(name);
    let mut grad = Grad::new(&program, op, &unwanted, grad_block);
    entry.grad(&mut grad).py()?;
    grad.into_ops().iter().map(|op| shown(py, op)).collect()
}

fn shown<'py>(py: Python<'py>, op: &Op) -> PyResult<(String, Arguments, Arguments, Bound<'py, PyDict>)> {
    let arguments = |slots: &ir::Slots| -> Arguments {
        slots.iter().map(|(slot, args)| (slot.to_string(), args.iter().map(|n| n.to_string()).collect())).collect()
    };
    let attrs = PyDict::new(py);
    for (name, value) in op.attrs.iter() {
        attrs.set_item(name.as_str(), attr_to_py(py, value)?)?;
    }
    Ok((op.op_type.to_string(), arguments(&op.inputs), arguments(&op.outputs), attrs))
}

/// The number of a kind of attribute in saved programs.
fn kind(attr: &Attr) -> i32 {
    match attr {
        Attr::Int(_) => 0,
        Attr::Float(_) | Attr::Float64(_) => 1,
        Attr::String(_) | Attr::Var(_) | Attr::Opaque(_) => 2,
        Attr::Ints(_) => 3,
        Attr::Floats(_) | Attr::Float64s(_) => 4,
        Attr::Strings(_) | Attr::Vars(_) => 5,
        Attr::Bool(_) => 6,
        Attr::Bools(_) => 7,
        Attr::Block(_) => 8,
        Attr::Long(_) => 9,
        Attr::Blocks(_) => 10,
        Attr::Longs(_) => 11,
    }
}
