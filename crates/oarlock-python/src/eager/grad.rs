//! Backward passes, hooks and gradients that Python functions compute.

use std::sync::Arc;

use oarlock::eager::{BackwardOptions, CustomGradient, EagerTensor, Hook, LeafGradient};
use oarlock::{Error, Kind};
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::tensor::{VarBase, tensor_arg};

pub(super) fn options(retain_graph: bool, create_graph: bool, accumulate: bool) -> BackwardOptions {
    let leaves = if accumulate { LeafGradient::Accumulate } else { LeafGradient::Overwrite };
    BackwardOptions { retain_graph: retain_graph || create_graph, create_graph, leaves }
}

/// The tensors behind those of Python.
pub(crate) fn tensors(list: &[VarBase]) -> Vec<EagerTensor> {
    list.iter().map(|v| v.tensor.clone()).collect()
}

pub(super) fn with_grads(
    roots: &[VarBase],
    grads: Option<Vec<Option<VarBase>>>,
) -> Vec<(EagerTensor, Option<EagerTensor>)> {
    let mut grads = grads.unwrap_or_default().into_iter();
    roots.iter().map(|r| (r.tensor.clone(), grads.next().flatten().map(|g| g.tensor))).collect()
}

/// The gradient of a Python function.
pub(super) struct PythonGradient(pub(super) Py<PyAny>);

fn raised(name: &str, e: PyErr) -> Error {
    Error::new(Kind::Argument, format!("{name} failed")).because(e)
}

impl CustomGradient for PythonGradient {
    fn backward(&self, grads: Vec<Option<EagerTensor>>) -> oarlock::Result<Vec<Option<EagerTensor>>> {
        Python::attach(|py| {
            let grads = PyList::new(py, grads.into_iter().map(|g| g.map(VarBase::of)))?;
            let found = self.0.bind(py).call1((grads,))?;
            found.try_iter()?.map(|g| Ok(tensor_arg(&g?))).collect::<PyResult<Vec<_>>>()
        })
        .map_err(|e| raised("the gradient of a Python function", e))
    }
}

/// A hook of a tensor, to be removed again.
#[pyclass(frozen)]
pub(crate) struct HookHandle {
    tensor: EagerTensor,
    hook: Mutex<Option<Hook>>,
}

#[pymethods]
impl HookHandle {
    /// Removes the hook; false if it was removed before.
    fn remove(&self) -> bool {
        match self.hook.lock().take() {
            Some(hook) => {
                self.tensor.remove_hook(&hook);
                true
            }
            None => false,
        }
    }
}

/// Makes `hook` a hook of a tensor.
pub(super) fn register_hook(tensor: &EagerTensor, hook: Py<PyAny>) -> HookHandle {
    let call: Hook = Arc::new(move |grad: &EagerTensor| {
        Python::attach(|py| {
            let found = hook.bind(py).call1((VarBase::of(grad.clone()),))?;
            Ok(tensor_arg(&found))
        })
        .map_err(|e| raised("a hook of a tensor", e))
    });
    tensor.register_hook(call.clone());
    HookHandle { tensor: tensor.clone(), hook: Mutex::new(Some(call)) }
}
