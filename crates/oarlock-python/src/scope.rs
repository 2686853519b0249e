//! Scopes: named values that outlive runs.

use oarlock::ir::SharedVar;
use oarlock::tensor::Value;
use pyo3::prelude::*;

use crate::shared;
use crate::tensor::{LoDTensor, LoDTensorArray, SelectedRows};

/// A scope. Copies of the handle are one scope.
#[pyclass(frozen)]
pub(crate) struct Scope {
    pub(crate) inner: oarlock::Scope,
}

#[pymethods]
impl Scope {
    #[new]
    fn new() -> Scope {
        Scope { inner: oarlock::Scope::new() }
    }

    /// A scope inside this one.
    fn new_scope(&self) -> Scope {
        Scope { inner: self.inner.child() }
    }

    /// The variable of this name, made if there is none.
    fn var(&self, name: &str) -> Variable {
        Variable(self.inner.var(name))
    }

    /// The variable of this name, here or in a scope around, or None.
    fn find_var(&self, name: &str) -> Option<Variable> {
        self.inner.find(name).map(Variable)
    }

    /// Forgets variables.
    fn erase(&self, names: Vec<String>) {
        for name in names {
            self.inner.erase(&name);
        }
    }

    /// The names of its variables.
    fn local_var_names(&self) -> Vec<String> {
        self.inner.names().iter().map(|n| n.to_string()).collect()
    }

    /// Scopes inside are dropped when their handles are.
    fn drop_kids(&self) {}
}

/// A variable of a scope.
#[pyclass(frozen)]
pub(crate) struct Variable(SharedVar);

#[pymethods]
impl Variable {
    /// Its tensor, to read and to set; an empty variable becomes a tensor.
    fn get_tensor(&self) -> LoDTensor {
        LoDTensor::at(self.0.clone())
    }

    /// Its rows, to read and to set.
    fn get_selected_rows(&self, py: Python<'_>) -> PyResult<SelectedRows> {
        SelectedRows::at(py, &self.0)
    }

    /// Its tensors, to read and to set.
    fn get_lod_tensor_array(&self, py: Python<'_>) -> PyResult<LoDTensorArray> {
        LoDTensorArray::at(py, &self.0)
    }

    /// Has it a value?
    fn is_initialized(&self, py: Python<'_>) -> PyResult<bool> {
        shared::read(py, &self.0, |value| Ok(!matches!(value, Value::Empty)))
    }

    /// The kind of value it holds.
    fn kind(&self, py: Python<'_>) -> PyResult<&'static str> {
        shared::read(py, &self.0, |value| Ok(value.kind()))
    }
}
