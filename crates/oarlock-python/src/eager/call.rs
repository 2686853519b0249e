//! Calls of operators and layers on eager tensors.

use std::sync::Arc;

use oarlock::declare;
use oarlock::eager::{self, Args as CallArgs, EagerTensor, LayerCalls, Made, Target};
use oarlock::ir::{Attrs, Program as IrProgram, SlotSig};
use oarlock::tensor::Value;
use oarlock::{Error, Kind};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use super::grad::{self, PythonGradient, options, tensors, with_grads};
use super::tensor::{VarBase, tensor_arg};
use super::{engine, start};
use crate::args::{PyArgs, attr_value, initializer_of};
use crate::builder::{Builder, Context};
use crate::error::IntoPy;
use crate::program::Program;
use crate::runtime::Runtime;
use crate::tensor::owned_tensor_of;

/// From this number of elements on, an operator runs without the interpreter's lock.
const DETACH: usize = 1 << 14;

/// Tensors by name.
type Named = Vec<(String, VarBase)>;

/// The tracer of eager mode: runs operators and layers, and records them.
#[pyclass(frozen, subclass)]
pub(crate) struct Eager {
    layers: LayerCalls,
}

#[pymethods]
impl Eager {
    #[new]
    fn new(runtime: &Runtime) -> Eager {
        start(runtime);
        Eager { layers: LayerCalls::default() }
    }

    /// Are operators recorded for gradients?
    #[getter]
    fn _has_grad(&self) -> PyResult<bool> {
        Ok(engine()?.records())
    }

    #[setter(_has_grad)]
    fn set_has_grad(&self, records: bool) -> PyResult<()> {
        engine()?.set_records(records);
        Ok(())
    }

    /// Looks for nan and infinity in what every operator writes.
    fn check_nan_inf(&self, check: bool) -> PyResult<()> {
        engine()?.set_check_nan_inf(check);
        Ok(())
    }

    /// Records the time of every operator from now on.
    fn start_profile(&self) -> PyResult<()> {
        engine()?.start_profile();
        Ok(())
    }

    /// Ends the recording; returns the table and the trace for a browser.
    fn stop_profile(&self) -> PyResult<Option<(String, String)>> {
        Ok(engine()?.stop_profile().map(|p| (p.to_string(), p.chrome_trace())))
    }

    /// Runs an operator. `outputs` gives for each wanted slot a list: a tensor to write into, or None for a new one. Returns the
    /// tensors of these slots, list by list.
    #[pyo3(signature = (op_type, inputs, outputs, attrs))]
    fn call<'py>(
        &self,
        py: Python<'py>,
        op_type: &str,
        inputs: &Bound<'py, PyDict>,
        outputs: &Bound<'py, PyDict>,
        attrs: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let engine = engine()?;
        let handle = engine.op(op_type, attrs_of(op_type, attrs)?).py()?;
        let sig = handle.sig();
        let (inputs, input_counts) = by_slot(op_type, "input", &sig.inputs, inputs, |item| match item.is_none() {
            true => Ok(None),
            false => tensor_arg(item).map(Some).ok_or_else(|| wrong_input(op_type, item)),
        })?;
        let (targets, output_counts) =
            by_slot(op_type, "output", &sig.outputs, outputs, |item| match item.is_none() {
                true => Ok(Target::New),
                false => tensor_arg(item).map(Target::Into).ok_or_else(|| wrong_input(op_type, item)),
            })?;
        let args =
            CallArgs { inputs: &inputs, input_counts: &input_counts, outputs: &targets, output_counts: &output_counts };
        let elements = |t: &EagerTensor| t.dims().map_or(0, |d| d.numel());
        let large = inputs.iter().flatten().any(|t| elements(t) >= DETACH);
        let made = if large { py.detach(|| engine.call(&handle, args)) } else { engine.call(&handle, args) };
        let mut made = made.py()?.into_iter();
        let results = PyDict::new(py);
        for (slot, n) in sig.outputs.iter().zip(&output_counts).filter(|(_, n)| **n > 0) {
            let list = PyList::empty(py);
            for tensor in made.by_ref().take(usize::from(*n)) {
                list.append(tensor.map(VarBase::of))?;
            }
            results.set_item(slot.name, list)?;
        }
        Ok(results)
    }

    /// Calls a layer of `fluid.layers` with its arguments by name.
    fn layer<'py>(
        &self,
        py: Python<'py>,
        builder: &Builder,
        at: Context<'py>,
        name: &str,
        args: Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Some(layer) = declare::find(name) else {
            return Err(PyTypeError::new_err(format!("there is no layer `{name}`")));
        };
        let mut tensors = Vec::new();
        let args = PyArgs::with_tensors(name, args, &mut tensors)?;
        let engine = engine()?;
        let made = builder.within(&at, |net| self.layers.call(engine, net, layer, &args, &tensors).py())?;
        wrap(py, made)
    }

    /// Computes gradients of roots and leaves them in the tensors they depend on.
    #[pyo3(signature = (roots, grads = None, retain_graph = false, accumulate = true))]
    fn backward(
        &self,
        py: Python<'_>,
        roots: Vec<VarBase>,
        grads: Option<Vec<Option<VarBase>>>,
        retain_graph: bool,
        accumulate: bool,
    ) -> PyResult<()> {
        let (engine, roots) = (engine()?, with_grads(&roots, grads));
        py.detach(|| engine.backward(&roots, options(retain_graph, false, accumulate))).py()
    }

    /// The gradients of outputs with respect to inputs; None where one does not depend on the other.
    #[pyo3(signature = (outputs, inputs, grads, stops, create_graph, retain_graph))]
    #[allow(clippy::too_many_arguments, reason = "those of fluid.dygraph.grad")]
    fn grad(
        &self,
        py: Python<'_>,
        outputs: Vec<VarBase>,
        inputs: Vec<VarBase>,
        grads: Option<Vec<Option<VarBase>>>,
        stops: Vec<VarBase>,
        create_graph: bool,
        retain_graph: bool,
    ) -> PyResult<Vec<Option<VarBase>>> {
        let (engine, outputs) = (engine()?, with_grads(&outputs, grads));
        let (inputs, stops) = (tensors(&inputs), tensors(&stops));
        let how = options(retain_graph, create_graph, true);
        let found = py.detach(|| engine.grad(&outputs, &inputs, &stops, how)).py()?;
        Ok(found.into_iter().map(|g| g.map(VarBase::of)).collect())
    }

    /// Tensors of arrays that a Python function computed from `inputs`; `backward` computes gradients of `inputs` from those of
    /// the results.
    fn custom(
        &self,
        name: &str,
        inputs: Vec<VarBase>,
        values: Vec<Bound<'_, PyAny>>,
        backward: Py<PyAny>,
    ) -> PyResult<Vec<VarBase>> {
        let mut held = Vec::new();
        for value in &values {
            held.push(match tensor_arg(value) {
                Some(t) => {
                    t.with_value(|v| v.try_clone()).py()?.map_err(|e| Error::new(Kind::Argument, e.to_string())).py()?
                }
                None => Value::Dense(owned_tensor_of(value)?),
            });
        }
        let made = engine()?.record_custom(name, &tensors(&inputs), held, Arc::new(PythonGradient(backward)));
        Ok(made.into_iter().map(VarBase::of).collect())
    }

    /// Calls a function and makes a program of the operators it calls. `named` gives for its result a list of (name, tensor):
    /// inputs and outputs. Returns the result, the program, and the other tensors it needs by name.
    fn trace<'py>(
        &self,
        work: &Bound<'py, PyAny>,
        named: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyAny>, Program, Named)> {
        let because = |e: PyErr| Error::new(Kind::Argument, "the traced function failed").because(e);
        let names =
            |result: &Bound<'py, PyAny>| -> PyResult<Vec<(String, VarBase)>> { named.call1((result,))?.extract() };
        let mut failed = None;
        let traced = engine()?.trace(
            || work.call0().map_err(because),
            |result| {
                let list = names(result).unwrap_or_else(|e| {
                    failed = Some(e);
                    Vec::new()
                });
                list.into_iter().map(|(name, v)| (name.as_str().into(), v.tensor)).collect()
            },
        );
        if let Some(e) = failed {
            return Err(e);
        }
        let (result, traced) = traced.py()?;
        let values = traced.values.into_iter().map(|(name, t)| (name.to_string(), VarBase::of(t))).collect();
        Ok((result, Program::of(traced.program), values))
    }

    /// A program that is called like one operator.
    fn program_function(
        &self,
        program: &Program,
        inputs: Vec<String>,
        parameters: Vec<String>,
        fetches: Vec<String>,
    ) -> PyResult<ProgramFunction> {
        fn texts(list: &[String]) -> Vec<&str> {
            list.iter().map(String::as_str).collect()
        }
        let program = program.get().as_ref().clone();
        let made =
            eager::ProgramFunction::new(engine()?, program, &texts(&inputs), &texts(&parameters), &texts(&fetches));
        Ok(ProgramFunction(Arc::new(made)))
    }

    /// The first value of a parameter.
    fn initial_value(
        &self,
        builder: &Builder,
        at: Context<'_>,
        shape: Vec<i64>,
        dtype: &Bound<'_, PyAny>,
        initializer: &Bound<'_, PyAny>,
    ) -> PyResult<VarBase> {
        use oarlock::ir::{Shape, Var, VarType};
        let first = initializer_of(initializer)?;
        let dtype = crate::args::dtype_of(dtype).ok_or_else(|| PyTypeError::new_err("not an element type"))?;
        // An array says the sizes itself, as in Fluid 1.8.
        let shape = match &first {
            oarlock::Initializer::Value(array) => Shape::from(array.dims()),
            _ => Shape::from_i64(&shape),
        };
        if shape.known().is_none() {
            return Err(PyValueError::new_err(format!("a parameter needs sizes that are known, not {shape}")));
        }
        let var = Var::new("p", VarType::tensor(dtype, shape));
        let engine = engine()?;
        let tensor = builder.within(&at, |net| {
            let mut program = IrProgram::new();
            program.global_mut().set_var(var.clone());
            let op = first.op(&var, net.startup.random_seed).py()?;
            oarlock::ir::append_op(&mut program, 0, op, engine.registry()).py()?;
            Ok(eager::run_program_once(engine, &program, &["p"]).py()?.remove(0))
        })?;
        Ok(VarBase::of(tensor))
    }
}

/// A program that is called like one operator.
#[pyclass(frozen)]
pub(crate) struct ProgramFunction(Arc<eager::ProgramFunction>);

#[pymethods]
impl ProgramFunction {
    /// Runs the program on tensors: its inputs, then its parameters.
    fn __call__(&self, py: Python<'_>, tensors: Vec<VarBase>) -> PyResult<Vec<VarBase>> {
        let (engine, given) = (engine()?, grad::tensors(&tensors));
        let made = py.detach(|| self.0.call(engine, &given)).py()?;
        Ok(made.into_iter().map(VarBase::of).collect())
    }
}

fn wrong_input(op_type: &str, item: &Bound<'_, PyAny>) -> PyErr {
    let kind = item.get_type().name().map_or_else(|_| "?".into(), |n| n.to_string());
    let help = if kind == "Variable" { ": it belongs to a program, and this is eager mode" } else { "" };
    PyTypeError::new_err(format!("`{op_type}` takes eager tensors, not {kind}{help}"))
}

pub(super) fn attrs_of(op_type: &str, attrs: &Bound<'_, PyDict>) -> PyResult<Attrs> {
    let mut found = Attrs::default();
    for (name, value) in attrs.iter() {
        if value.is_none() {
            continue;
        }
        let name: String = name.extract()?;
        let Some(attr) = attr_value(&value) else {
            let what = format!("`{op_type}`: attribute `{name}` cannot be {}", value.repr()?);
            return Err(PyTypeError::new_err(what));
        };
        found.set(name, attr);
    }
    Ok(found)
}

fn by_slot<T>(
    op_type: &str,
    side: &str,
    slots: &[SlotSig],
    given: &Bound<'_, PyDict>,
    mut convert: impl FnMut(&Bound<'_, PyAny>) -> PyResult<T>,
) -> PyResult<(Vec<T>, Vec<u16>)> {
    let (mut flat, mut counts, mut seen) = (Vec::new(), Vec::new(), 0);
    for slot in slots {
        let Some(value) = given.get_item(slot.name)? else {
            counts.push(0);
            continue;
        };
        seen += 1;
        let before = flat.len();
        if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
            for item in value.try_iter()? {
                flat.push(convert(&item?)?);
            }
        } else {
            flat.push(convert(&value)?);
        }
        counts.push((flat.len() - before) as u16);
    }
    if seen < given.len() {
        let unknown =
            given.keys().iter().find(|k| k.extract::<String>().map_or(true, |k| !slots.iter().any(|s| s.name == k)));
        let name = unknown.map(|k| k.to_string()).unwrap_or_default();
        return Err(PyValueError::new_err(format!("`{op_type}` has no {side} `{name}`")));
    }
    Ok((flat, counts))
}

fn wrap(py: Python<'_>, made: Made) -> PyResult<Bound<'_, PyAny>> {
    let one = |t: EagerTensor| Ok(Bound::new(py, VarBase::of(t))?.into_any());
    match made {
        Made::Nothing => Ok(py.None().into_bound(py)),
        Made::One(t) => one(t),
        Made::List(list) => {
            let items = list.into_iter().map(one).collect::<PyResult<Vec<_>>>()?;
            Ok(PyList::new(py, items)?.into_any())
        }
        Made::Tuple(parts) => {
            let parts = parts.into_iter().map(|m| wrap(py, m)).collect::<PyResult<Vec<_>>>()?;
            Ok(PyTuple::new(py, parts)?.into_any())
        }
    }
}
