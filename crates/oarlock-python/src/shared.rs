//! Values that runs and Python share. No thread waits for one while it holds the interpreter: a run may call a function of the user
//! (`py_func`), which needs the interpreter while the run holds its variables.

use std::time::Duration;

use oarlock::ir::SharedVar;
use oarlock::tensor::Value;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::py_func;

/// As long as a run waits for its variables.
const PATIENCE: Duration = Duration::from_secs(30);

/// Reads a value; one that a run uses is copied as soon as the run ends.
pub(crate) fn read<R>(py: Python<'_>, var: &SharedVar, read: impl FnOnce(&Value) -> PyResult<R>) -> PyResult<R> {
    if let Some(value) = var.try_read() {
        return read(&value);
    }
    refuse_inside_a_run()?;
    let copy = py.detach(|| var.try_read_for(PATIENCE).map(|value| value.try_clone()));
    let copy = copy.ok_or_else(busy)?.map_err(|e| PyRuntimeError::new_err(e.to_string()))?;
    read(&copy)
}

/// Changes a value, after the run that uses it, if one does. `change` must not need the interpreter.
pub(crate) fn change<R: Send>(
    py: Python<'_>,
    var: &SharedVar,
    change: impl FnOnce(&mut Value) -> PyResult<R> + Send,
) -> PyResult<R> {
    if let Some(mut value) = var.try_write() {
        return change(&mut value);
    }
    refuse_inside_a_run()?;
    py.detach(|| change(&mut *var.try_write_for(PATIENCE).ok_or_else(busy)?))
}

/// A function that a run calls would wait for its own run.
fn refuse_inside_a_run() -> PyResult<()> {
    if !py_func::is_calling() {
        return Ok(());
    }
    let what = "a function of py_func cannot reach variables that its run uses: pass them to py_func as inputs";
    Err(PyRuntimeError::new_err(what))
}

fn busy() -> PyErr {
    let seconds = PATIENCE.as_secs();
    PyRuntimeError::new_err(format!("the variable is in use by a run for {seconds} s: wait for the run to end"))
}
