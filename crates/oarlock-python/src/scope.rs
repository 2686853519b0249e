//! Scopes: named values that outlive runs.

use oarlock::ir::SharedVar;
use oarlock::tensor::{Element, Tensor, Value};
use pyo3::exceptions::PyTypeError;
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

    /// Sets it to a whole number.
    fn set_int(&self, py: Python<'_>, value: i32) -> PyResult<()> {
        self.set_number(py, Tensor::scalar(value))
    }

    /// Sets it to a number.
    fn set_float(&self, py: Python<'_>, value: f32) -> PyResult<()> {
        self.set_number(py, Tensor::scalar(value))
    }

    /// The whole number that it holds.
    fn get_int(&self, py: Python<'_>) -> PyResult<i32> {
        self.number(py)
    }

    /// The number that it holds.
    fn get_float(&self, py: Python<'_>) -> PyResult<f32> {
        self.number(py)
    }

    /// Does it hold one whole number?
    fn is_int(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.number::<i32>(py).is_ok())
    }

    /// Does it hold one number?
    fn is_float(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.number::<f32>(py).is_ok())
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

impl Variable {
    fn set_number(&self, py: Python<'_>, new: Tensor) -> PyResult<()> {
        shared::change(py, &self.0, |value| {
            *value.dense_mut() = new;
            Ok(())
        })
    }

    fn number<T: Element + Copy>(&self, py: Python<'_>) -> PyResult<T> {
        shared::read(py, &self.0, |value| {
            let found = value.dense().ok().and_then(|t| t.data::<T>().ok()).filter(|data| data.len() == 1);
            found.map(|data| data[0]).ok_or_else(|| {
                PyTypeError::new_err(format!("the variable is {}, not one number of type {}", value.kind(), T::DTYPE))
            })
        })
    }
}
