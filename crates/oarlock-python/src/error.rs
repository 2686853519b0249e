//! Errors as exceptions: each kind of mistake is the Python class a user would expect, with our text.

use std::error::Error as _;

use oarlock::Kind;
use pyo3::create_exception;
use pyo3::exceptions::{
    PyConnectionError, PyFileNotFoundError, PyIndexError, PyKeyboardInterrupt, PyNotImplementedError, PyOSError,
    PyRuntimeError, PyTimeoutError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;

// The module is the one that users import them from; tracebacks show it.
create_exception!(
    oarlock.fluid.core,
    EnforceNotMet,
    PyRuntimeError,
    "An operator or a program refused what it was given."
);
create_exception!(
    oarlock.fluid.core,
    EOFException,
    PyRuntimeError,
    "A reader has no more data: the usual end of a pass."
);

/// Adds the exception classes to the module.
pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("EnforceNotMet", m.py().get_type::<EnforceNotMet>())?;
    m.add("EOFException", m.py().get_type::<EOFException>())
}

/// Turns one of our errors into an exception. An exception that a function of the user raised comes back as it was, with its
/// traceback and a note of the operator that called the function.
pub(crate) fn raise(e: oarlock::Error) -> PyErr {
    let text = e.to_string();
    if let Some(raised) = e.source().and_then(|cause| cause.downcast_ref::<PyErr>()) {
        return Python::attach(|py| {
            let raised = raised.clone_ref(py);
            // Notes came with Python 3.11; the exception matters more than the note.
            let _ = raised.value(py).call_method1("add_note", (text,));
            raised
        });
    }
    match e.kind() {
        Kind::Argument => PyValueError::new_err(text),
        Kind::DType | Kind::Type => PyTypeError::new_err(text),
        Kind::Range => PyIndexError::new_err(text),
        Kind::EndOfData => EOFException::new_err(text),
        Kind::Interrupted => PyKeyboardInterrupt::new_err(text),
        Kind::Io if text.contains("No such file") => PyFileNotFoundError::new_err(text),
        Kind::Io => PyOSError::new_err(text),
        Kind::Network => PyConnectionError::new_err(text),
        Kind::Timeout => PyTimeoutError::new_err(text),
        Kind::Unsupported => PyNotImplementedError::new_err(text),
        _ => EnforceNotMet::new_err(text),
    }
}

/// `result.py()?`: the result with its error as an exception.
pub(crate) trait IntoPy<T> {
    /// The same as a Python result.
    fn py(self) -> PyResult<T>;
}

impl<T> IntoPy<T> for oarlock::Result<T> {
    fn py(self) -> PyResult<T> {
        self.map_err(raise)
    }
}
