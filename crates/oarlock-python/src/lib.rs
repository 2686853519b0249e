//! The Python module `oarlock._core`: values are converted and calls passed on. What is decided, is decided below.
//!
//! Python owns the default programs, the names and the scope; a [`builder::Builder`] lends them to a layer for one call.
//! No thread waits for a lock while it holds the interpreter, and no lock is held while the interpreter is waited for, but for
//! `py_func`: programs are shared by reference count and replaced when they change, and `shared` tells how variables are read.
#![deny(unsafe_op_in_unsafe_fn)]

mod args;
mod builder;
mod collective;
mod command;
mod control;
mod dataset;
mod eager;
mod error;
mod executor;
mod files;
mod fleet;
mod optimizer;
mod predictor;
mod program;
mod py_func;
mod readers;
mod recovery;
mod runtime;
mod scope;
mod settings;
mod shared;
mod signatures;
mod tensor;
mod transpiler;

use pyo3::prelude::*;

#[pymodule]
fn _core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    error::register(m)?;
    error::IntoPy::py(oarlock::init_logging())?;
    m.add_function(wrap_pyfunction!(command::check_environment, m)?)?;
    m.add_function(wrap_pyfunction!(command::command, m)?)?;
    m.add_function(wrap_pyfunction!(command::launcher, m)?)?;
    m.add_class::<args::VarHandle>()?;
    m.add_class::<builder::Builder>()?;
    m.add_class::<dataset::Dataset>()?;
    m.add_class::<dataset::Pass>()?;
    m.add_class::<executor::Executor>()?;
    m.add_class::<optimizer::Optimizer>()?;
    m.add_function(wrap_pyfunction!(optimizer::moving_average, m)?)?;
    m.add_class::<predictor::Predictor>()?;
    m.add_class::<predictor::ZeroCopyTensor>()?;
    m.add_class::<program::Program>()?;
    m.add_class::<recovery::Recovery>()?;
    m.add_class::<runtime::Runtime>()?;
    m.add_class::<scope::Scope>()?;
    m.add_class::<transpiler::Transpiler>()?;
    m.add_class::<transpiler::VarBlock>()?;
    m.add_class::<scope::Variable>()?;
    m.add_class::<tensor::LoDTensor>()?;
    m.add_class::<tensor::LoDTensorArray>()?;
    m.add_class::<tensor::SelectedRows>()?;
    m.add_function(wrap_pyfunction!(executor::watch_signals, m)?)?;
    m.add_function(wrap_pyfunction!(py_func::keep_function, m)?)?;
    m.add_function(wrap_pyfunction!(settings::settings, m)?)?;
    collective::register(m)?;
    control::register(m)?;
    eager::register(m)?;
    files::register(m)?;
    fleet::register(m)?;
    readers::register(m)?;
    signatures::register(m)?;
    Ok(())
}
