//! The `oarlock` command, for the script that the wheel installs.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command with its arguments, of which the first is its own name; returns the exit code.
#[pyfunction]
pub(crate) fn command(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| oarlock_cli::main(args))
}
