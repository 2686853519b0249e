//! Readers and records: queues that Python fills for programs that read, and files of records.

use std::fs::File;
use std::io::BufWriter;

use oarlock::data::recordio::{Compressor, RecordWriter as Writer, encode_sample};
use oarlock::io::{ReaderVar, TensorQueue as Queue, TensorReader};
use parking_lot::Mutex;
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;

use crate::error::IntoPy;
use crate::scope::Scope;
use crate::tensor::{owned_tensor_of, tensor_of};

/// Adds classes and functions to the module.
pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<TensorQueue>()?;
    m.add_class::<RecordWriter>()?;
    m.add_function(wrap_pyfunction!(reset_reader, m)?)
}

/// A queue of batches between a Python thread and a program's `read`.
#[pyclass(frozen)]
pub(crate) struct TensorQueue(Queue);

#[pymethods]
impl TensorQueue {
    #[new]
    fn new(capacity: usize) -> TensorQueue {
        TensorQueue(Queue::new(capacity))
    }

    /// Becomes the value of a variable.
    fn put_into(&self, scope: &Scope, name: &str) {
        scope.inner.set(name, self.0.clone().into_value());
    }

    /// Opens it for a pass.
    fn start(&self) {
        self.0.start();
    }

    /// Appends a batch, waiting for room; false if its reader is closed.
    fn push(&self, py: Python<'_>, batch: Vec<Bound<'_, PyAny>>) -> PyResult<bool> {
        let tensors = batch.iter().map(owned_tensor_of).collect::<PyResult<Vec<_>>>()?;
        Ok(py.detach(|| self.0.push(tensors)))
    }

    /// There will be no more batches, because of an exception: the run that misses one raises it.
    fn fail(&self, exception: Bound<'_, PyAny>) {
        let why = oarlock::Error::new(oarlock::Kind::Argument, "the generator of a reader raised an exception");
        self.0.fail(why.because(PyErr::from_value(exception)));
    }

    /// There will be no more batches in this pass.
    fn close(&self) {
        self.0.close();
    }

    /// Ends the pass at once.
    fn reset(&self, py: Python<'_>) {
        py.detach(|| self.0.reset());
    }
}

/// Brings the reader of a variable back to its beginning.
#[pyfunction]
fn reset_reader(py: Python<'_>, scope: &Scope, name: &str) -> PyResult<()> {
    let missing =
        || PyKeyError::new_err(format!("there is no reader `{name}` in this scope: run the startup program first"));
    let var = scope.inner.find(name).ok_or_else(missing)?;
    let reader = ReaderVar::of(&var.read()).cloned().ok_or_else(missing)?;
    py.detach(move || { reader }.reset()).py()
}

/// Writes a file of records.
#[pyclass(frozen)]
pub(crate) struct RecordWriter(Mutex<Option<Writer<BufWriter<File>>>>);

#[pymethods]
impl RecordWriter {
    /// A new file; chunks hold at most this number of records.
    #[new]
    fn new(path: &str, snappy: bool, records_per_chunk: u32) -> PyResult<RecordWriter> {
        let compressor = if snappy { Compressor::Snappy } else { Compressor::None };
        let writer = Writer::new(BufWriter::new(File::create(path)?), compressor, records_per_chunk);
        Ok(RecordWriter(Mutex::new(Some(writer))))
    }

    /// Appends a record of tensors.
    fn write(&self, tensors: Vec<Bound<'_, PyAny>>) -> PyResult<()> {
        let tensors = tensors.iter().map(|t| tensor_of(t, None)).collect::<PyResult<Vec<_>>>()?;
        let record = encode_sample(&tensors);
        match &mut *self.0.lock() {
            Some(writer) => writer.write(&record).py(),
            None => Err(PyValueError::new_err("the file is closed")),
        }
    }

    /// Writes what is left.
    fn close(&self) -> PyResult<()> {
        let writer = self.0.lock().take();
        writer.map_or(Ok(()), |w| w.finish().map(drop).py())
    }
}
