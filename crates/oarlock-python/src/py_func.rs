//! `py_func`: an operator that calls a function of the user.
//!
//! The call takes the interpreter's lock while the run holds variables of the scope. That cannot end in a deadlock because
//! no thread waits for a variable while it holds the interpreter: see `shared`.

use std::cell::Cell;
use std::sync::Arc;

use oarlock::ir::{self, Grad, In, Infer, Io, Kernel, OpDef, Out, Prepare, Traits, grad_name, sig};
use oarlock::tensor::{DType, Tensor, Value};
use oarlock::{Error, Kind};
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::tensor::{LoDTensor, tensor_of};

/// The operators that only the Python package has.
pub(crate) fn ops() -> impl Iterator<Item = &'static dyn OpDef> {
    const OPS: [&dyn OpDef; 1] = [&PyFunc];
    OPS.into_iter()
}

/// Functions by number. Programs hold the numbers, and copies of programs live anywhere, so functions stay for good.
static FUNCTIONS: Mutex<Vec<Arc<Py<PyAny>>>> = Mutex::new(Vec::new());

/// Keeps a function for programs; returns its number.
#[pyfunction]
pub(crate) fn keep_function(function: Py<PyAny>) -> usize {
    let function = Arc::new(function);
    let mut functions = FUNCTIONS.lock();
    functions.push(function);
    functions.len() - 1
}

thread_local! {
    static CALLING: Cell<bool> = const { Cell::new(false) };
}

/// Does a run of this thread call a function of the user just now? Then variables of that run stay locked until it returns.
pub(crate) fn is_calling() -> bool {
    CALLING.get()
}

struct PyFunc;

impl OpDef for PyFunc {
    sig! {
        "py_func": "Out = function(X), a function of Python";
        in*? "X": "the function's arguments; without a value they are None";
        out*? "Out": "what it returns";
        attr "forward_callable_id" = 0, "the function's number in this process";
        attr "backward_callable_id" = -1, "the function that computes the gradient; -1 if none flows";
        attr "backward_skip_vars" = Vec::<String>::new(), "arguments that the gradient's function does not take";
        traits Traits::NONE.side_effect().maybe_empty(&["X"]);
    }

    // The user declares the outputs; what a function returns is known when it returns.
    fn infer(&self, _: &mut Infer<'_>) -> ir::Result<()> {
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> ir::Result<Box<dyn Kernel>> {
        let id = p.attrs().int("forward_callable_id")?;
        let function = usize::try_from(id).ok().and_then(|id| FUNCTIONS.lock().get(id).cloned());
        let Some(function) = function else {
            let what = format!("`py_func` calls function {id}, which this process does not have");
            let help = "functions are not saved with a program: build the network again with layers.py_func";
            return Err(Error::new(Kind::Unknown, what).help(help));
        };
        let declared = p.out_vars("Out").into_iter().map(|v| v.map(|v| v.ty().dtype));
        let outputs = p.outputs("Out")?.into_iter().zip(declared).zip(p.op().outputs.get("Out"));
        let outputs = outputs.map(|((at, dtype), name)| Output { at, dtype, name: name.to_string() }).collect();
        Ok(Box::new(Call { function, inputs: p.inputs_by_position("X")?, outputs }))
    }

    /// The gradient is a `py_func`, too: it takes arguments, results and their gradients, and returns the arguments' gradients.
    fn grad(&self, g: &mut Grad<'_>) -> ir::Result<()> {
        let sig = self.sig();
        let attrs = sig.attrs(g.op());
        let backward = attrs.int("backward_callable_id")?;
        if backward < 0 {
            return Ok(());
        }
        let skipped = attrs.strs("backward_skip_vars")?;
        let (x, out) = (g.arguments("X"), g.arguments("Out"));
        let mut reads: Vec<_> =
            x.iter().chain(&out).filter(|n| !skipped.iter().any(|s| *s == n.as_str())).cloned().collect();
        reads.extend(out.iter().map(|n| grad_name(n)));
        let mut op = ir::Op::new("py_func");
        op.site = g.op().site.clone();
        op.inputs.set("X", reads);
        op.outputs.set("Out", g.input_grads("X"));
        op.attrs.set("forward_callable_id", backward as i32);
        op.attrs.set("backward_callable_id", -1);
        g.push(op)
    }
}

struct Output {
    /// Nowhere if the output is not used.
    at: Option<Out>,
    dtype: Option<DType>,
    name: String,
}

struct Call {
    function: Arc<Py<PyAny>>,
    inputs: Vec<Option<In>>,
    outputs: Vec<Output>,
}

impl Kernel for Call {
    fn run(&mut self, io: &Io<'_>) -> ir::Result<()> {
        let arguments = self.inputs.iter().map(|input| argument(io, *input)).collect::<ir::Result<Vec<_>>>()?;
        let outer = CALLING.replace(true);
        let returned = Python::attach(|py| self.call(py, arguments));
        CALLING.set(outer);
        let failed = |e: PyErr| io.op_error(Kind::Argument, "called a function that raised an exception").because(e);
        let returned = returned.map_err(failed)?;
        for (output, value) in self.outputs.iter().zip(returned) {
            self.put(io, output, value)?;
        }
        Ok(())
    }
}

/// A copy of an input, since a function may keep what it is given.
fn argument(io: &Io<'_>, input: Option<In>) -> ir::Result<Option<Tensor>> {
    let Some(input) = input else { return Ok(None) };
    if matches!(*io.value(input)?, Value::Empty) {
        return Ok(None);
    }
    Ok(Some(io.dense(input)?.clone()))
}

impl Call {
    fn call(&self, py: Python<'_>, arguments: Vec<Option<Tensor>>) -> PyResult<Vec<Option<Tensor>>> {
        let arguments = PyTuple::new(py, arguments.into_iter().map(|a| a.map(LoDTensor::own)))?;
        let result = self.function.call1(py, arguments)?.into_bound(py);
        let results: Vec<Bound<'_, PyAny>> = match (result.cast::<PyTuple>(), result.cast::<PyList>()) {
            (Ok(tuple), _) => tuple.iter().collect(),
            (_, Ok(list)) => list.iter().collect(),
            _ if result.is_none() && self.outputs.is_empty() => Vec::new(),
            _ => vec![result],
        };
        if results.len() != self.outputs.len() {
            let (got, wanted) = (results.len(), self.outputs.len());
            let what = format!("the function of py_func returned {got} values, but {wanted} are declared as `out`");
            return Err(pyo3::exceptions::PyValueError::new_err(what));
        }
        let tensor = |(value, output): (&Bound<'_, PyAny>, &Output)| match value.is_none() {
            true => Ok(None),
            false => tensor_of(value, output.dtype).map(Some),
        };
        results.iter().zip(&self.outputs).map(tensor).collect()
    }

    /// Kernels that read the output trust its declared element type, so it must be that.
    fn put(&self, io: &Io<'_>, output: &Output, value: Option<Tensor>) -> ir::Result<()> {
        let name = &output.name;
        match (output.at, value) {
            (None, _) => Ok(()),
            (Some(_), None) => Err(io.op_error(Kind::Argument, format!("got None for `{name}` from its function"))),
            (Some(at), Some(tensor)) => {
                if let Some(dtype) = output.dtype.filter(|d| *d != tensor.dtype()) {
                    let what = format!("got {} for `{name}` from its function, but that is {dtype}", tensor.dtype());
                    let help = format!("return an array with .astype('{}')", dtype.name());
                    return Err(io.op_error(Kind::DType, what).help(help));
                }
                *io.write(at)? = Value::Dense(tensor);
                Ok(())
            }
        }
    }
}
