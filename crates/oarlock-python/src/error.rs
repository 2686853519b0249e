//! Errors as exceptions: each kind of mistake is the Python class a user would expect, with our text.

use std::error::Error as _;

use oarlock::Kind;
use pyo3::create_exception;
use pyo3::exceptions::{
    PyConnectionError, PyFileNotFoundError, PyIndexError, PyKeyboardInterrupt, PyNotImplementedError, PyOSError,
    PyRuntimeError, PyTimeoutError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};

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

/// Mistakes that are found below Python. Scripts written for Fluid catch `EnforceNotMet` for them, users of Python the usual class:
/// each is both.
struct Both {
    argument: Py<PyType>,
    kind: Py<PyType>,
    range: Py<PyType>,
    unsupported: Py<PyType>,
}

static BOTH: PyOnceLock<Both> = PyOnceLock::new();

/// Adds the exception classes to the module.
pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = m.py();
    let both = |name: &str, base: Bound<'_, PyType>, doc: &str| -> PyResult<Py<PyType>> {
        let fields = PyDict::new(py);
        fields.set_item("__module__", "oarlock.fluid.core")?;
        fields.set_item("__doc__", doc)?;
        let made = py.get_type::<PyType>().call1((name, (py.get_type::<EnforceNotMet>(), base), fields))?;
        m.add(name, &made)?;
        Ok(made.cast_into::<PyType>()?.unbind())
    };
    let classes = Both {
        argument: both("InvalidArgument", py.get_type::<PyValueError>(), "A value that cannot be used.")?,
        kind: both("InvalidType", py.get_type::<PyTypeError>(), "A type or an element type that cannot be used.")?,
        range: both("OutOfRange", py.get_type::<PyIndexError>(), "An index beyond the end.")?,
        unsupported: both(
            "Unsupported",
            py.get_type::<PyNotImplementedError>(),
            "Something this version does not do.",
        )?,
    };
    // Only a second import of the module finds them set, and those are as good.
    let _ = BOTH.set(py, classes);
    m.add("EnforceNotMet", py.get_type::<EnforceNotMet>())?;
    m.add("EOFException", py.get_type::<EOFException>())
}

/// An error of one of the classes that are two.
fn of_both(class: impl FnOnce(&Both) -> &Py<PyType>, text: String) -> PyErr {
    Python::attach(|py| match BOTH.get(py) {
        Some(both) => PyErr::from_type(class(both).bind(py).clone(), text),
        None => EnforceNotMet::new_err(text),
    })
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
        Kind::Argument | Kind::Lod | Kind::Missing | Kind::Shape | Kind::Unknown => {
            of_both(|both| &both.argument, text)
        }
        Kind::DType | Kind::Type => of_both(|both| &both.kind, text),
        Kind::Range => of_both(|both| &both.range, text),
        Kind::EndOfData => EOFException::new_err(text),
        Kind::Interrupted => PyKeyboardInterrupt::new_err(text),
        Kind::Io if text.contains("No such file") => PyFileNotFoundError::new_err(text),
        Kind::Io => PyOSError::new_err(text),
        Kind::Network => PyConnectionError::new_err(text),
        Kind::Timeout => PyTimeoutError::new_err(text),
        Kind::Unsupported => of_both(|both| &both.unsupported, text),
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
