//! Predictors, and their inputs and outputs as tensors that are filled and read in place.

use std::sync::Arc;

use oarlock::io::{InferenceModel, ModelFiles, ParamFiles, find_model, open_around};
use oarlock::tensor::{Dims, Lod, Tensor};
use oarlock::{Error, Kind, Options};
use parking_lot::Mutex;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::{IntoPy, raise};
use crate::tensor::{array_of, copy_array};

/// A network held ready to compute. Several threads may call it, one after the other; each should have a clone.
#[pyclass(frozen)]
pub(crate) struct Predictor {
    inner: Arc<Mutex<oarlock::Predictor>>,
}

impl Predictor {
    fn of(inner: oarlock::Predictor) -> Predictor {
        Predictor { inner: Arc::new(Mutex::new(inner)) }
    }

    fn tensor(&self, port: Port) -> ZeroCopyTensor {
        ZeroCopyTensor { predictor: self.inner.clone(), port }
    }
}

#[pymethods]
impl Predictor {
    /// Loads the model at a path: a directory, a prefix, or one of its files.
    #[staticmethod]
    fn load(py: Python<'_>, path: &str, threads: usize) -> PyResult<Predictor> {
        py.detach(|| {
            let (store, files) = find_model(path)?;
            oarlock::Predictor::open(&*store, &files, &options(threads)?)
        })
        .map(Predictor::of)
        .py()
    }

    /// Loads a model from a file of the network and a file of all parameters, in one directory.
    #[staticmethod]
    fn load_files(py: Python<'_>, program: &str, params: &str, threads: usize) -> PyResult<Predictor> {
        py.detach(|| {
            let (store, model) = open_around(program)?;
            let (beside, params) = open_around(params)?;
            if beside.describe() != store.describe() {
                let what = "the files of the network and of its parameters are in different directories";
                return Err(Error::new(Kind::Argument, what).help("put them into one directory"));
            }
            let files = ModelFiles::named(model, ParamFiles::Combined(params));
            oarlock::Predictor::open(&*store, &files, &options(threads)?)
        })
        .map(Predictor::of)
        .py()
    }

    /// Takes a model from the bytes of its two files.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, program: &[u8], params: &[u8], threads: usize) -> PyResult<Predictor> {
        py.detach(|| {
            let (model, values) = InferenceModel::from_bytes(program, params)?;
            oarlock::Predictor::new(&model, values, &options(threads)?)
        })
        .map(Predictor::of)
        .py()
    }

    /// Another one with the same weights, for another thread.
    fn clone(&self) -> PyResult<Predictor> {
        self.inner.lock().try_clone().map(Predictor::of).py()
    }

    /// The names of the inputs.
    fn get_input_names(&self) -> Vec<String> {
        self.inner.lock().inputs().iter().map(ToString::to_string).collect()
    }

    /// The names of the outputs.
    fn get_output_names(&self) -> Vec<String> {
        self.inner.lock().outputs().iter().map(ToString::to_string).collect()
    }

    /// An input.
    fn get_input_tensor(&self, name: &str) -> PyResult<ZeroCopyTensor> {
        let at = self.inner.lock().input_number(name).py()?;
        Ok(self.tensor(Port::Input(at)))
    }

    /// An output.
    fn get_output_tensor(&self, name: &str) -> PyResult<ZeroCopyTensor> {
        let at = self.inner.lock().output_number(name).py()?;
        Ok(self.tensor(Port::Output(at)))
    }

    /// Computes the outputs from what the inputs hold.
    fn zero_copy_run(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.inner.lock().run()).py()
    }

    /// The network as it is computed, as text.
    fn program_text(&self) -> String {
        self.inner.lock().program().to_text()
    }
}

fn options(threads: usize) -> oarlock::Result<Options> {
    Ok(Options { threads: threads.max(1), ..Options::from_env()? })
}

#[derive(Clone, Copy)]
enum Port {
    Input(usize),
    Output(usize),
}

/// An input or an output of a predictor, in the predictor's own memory.
#[pyclass(frozen)]
pub(crate) struct ZeroCopyTensor {
    predictor: Arc<Mutex<oarlock::Predictor>>,
    port: Port,
}

impl ZeroCopyTensor {
    fn read<R>(&self, read: impl FnOnce(&Tensor) -> PyResult<R>) -> PyResult<R> {
        let mut predictor = self.predictor.lock();
        match self.port {
            Port::Input(at) => read(predictor.unfilled_input_at(at)),
            Port::Output(at) => read(predictor.output_at(at).map_err(raise)?),
        }
    }

    fn input(&self) -> PyResult<usize> {
        match self.port {
            Port::Input(at) => Ok(at),
            Port::Output(_) => Err(PyValueError::new_err("an output cannot be set: only inputs can")),
        }
    }

    /// Changes sizes or sequences of an input, which does not fill it.
    fn prepare(&self, change: impl FnOnce(&mut Tensor)) -> PyResult<()> {
        let at = self.input()?;
        change(self.predictor.lock().unfilled_input_at(at));
        Ok(())
    }
}

#[pymethods]
impl ZeroCopyTensor {
    /// Takes the values and sizes of an array. Sequences stay as they were set.
    fn copy_from_cpu(&self, array: &Bound<'_, PyAny>) -> PyResult<()> {
        let at = self.input()?;
        let mut predictor = self.predictor.lock();
        // An array that is refused fills nothing.
        copy_array(array, predictor.unfilled_input_at(at))?;
        predictor.input_at(at);
        Ok(())
    }

    /// A new array of the values.
    fn copy_to_cpu<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.read(|t| array_of(py, t))
    }

    /// Sets the sizes, before values are copied in.
    fn reshape(&self, shape: Vec<usize>) -> PyResult<()> {
        let dims = Dims::try_new(&shape).map_err(|e| PyValueError::new_err(e.to_string()))?;
        self.prepare(|t| {
            let lod = t.lod().clone();
            t.resize(t.dtype(), dims);
            t.set_lod(lod);
        })
    }

    /// Sets sequences by their offsets; they are checked against the rows when the predictor runs.
    fn set_lod(&self, lod: Vec<Vec<usize>>) -> PyResult<()> {
        self.prepare(|t| t.set_lod(Lod::new(lod)))
    }

    /// Sequences by their offsets.
    fn lod(&self) -> PyResult<Vec<Vec<usize>>> {
        self.read(|t| Ok(t.lod().levels().to_vec()))
    }

    /// Its sizes.
    fn shape(&self) -> PyResult<Vec<usize>> {
        self.read(|t| Ok(t.dims().to_vec()))
    }

    /// The name of its element type.
    fn dtype(&self) -> PyResult<&'static str> {
        self.read(|t| Ok(t.dtype().name()))
    }
}
