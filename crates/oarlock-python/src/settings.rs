//! The table of options, for the Python side of the checks.

use oarlock::settings::{Class, PLACES, Value};
use pyo3::prelude::*;
use pyo3::types::PyList;

fn to_py<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::None => py.None().into_bound(py),
        Value::Bool(v) => v.into_pyobject(py)?.to_owned().into_any(),
        Value::Int(v) => v.into_pyobject(py)?.into_any(),
        Value::Float(v) => v.into_pyobject(py)?.into_any(),
        Value::Text(v) => v.into_pyobject(py)?.into_any(),
        Value::Empty => PyList::empty(py).into_any(),
    })
}

/// A row: place, name, default, class, text, and the only value it is about, as a list of at most one.
type Row<'py> = (&'static str, &'static str, Bound<'py, PyAny>, &'static str, &'static str, Vec<Bound<'py, PyAny>>);

/// Every option of a script.
#[pyfunction]
pub(crate) fn settings(py: Python<'_>) -> PyResult<Vec<Row<'_>>> {
    let mut rows = Vec::new();
    for place in PLACES {
        for s in place.settings {
            let (class, text) = match s.class {
                Class::Honoured(text) => ("honoured", text),
                Class::Accepted(text) => ("accepted", text),
                Class::Refused(text) => ("refused", text),
                Class::Renamed(text) => ("renamed", text),
            };
            let only = s.only.iter().map(|v| to_py(py, v)).collect::<PyResult<_>>()?;
            rows.push((place.name, s.name, to_py(py, &s.default)?, class, text, only));
        }
    }
    Ok(rows)
}
