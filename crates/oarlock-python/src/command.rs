//! The `oarlock` command and its other names, for the scripts that the wheel installs.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command with its arguments, of which the first is its own name; returns the exit code.
#[pyfunction]
pub(crate) fn command(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| oarlock_cli::main(args))
}

/// Runs `oarlock launch` under another name; returns the exit code.
#[pyfunction]
pub(crate) fn launcher(py: Python<'_>, name: &str, args: Vec<OsString>) -> u8 {
    py.detach(|| oarlock_cli::launcher(name, args))
}

/// Refuses misspelt variables `OARLOCK_...` of the environment, and warns of others that nothing reads.
#[pyfunction]
pub(crate) fn check_environment() -> PyResult<()> {
    crate::error::IntoPy::py(oarlock::check_environment())
}
