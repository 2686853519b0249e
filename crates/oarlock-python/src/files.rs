//! Files: parameters and models, between scopes and directories.

use oarlock::fleet;
use oarlock::io::{self, InferenceModel, ModelFiles, ParamFiles};
use oarlock::ir::Var;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::IntoPy;
use crate::program::Program;
use crate::runtime::Runtime;
use crate::scope::Scope;
use crate::tensor::{array_of, tensor_of};

/// Adds the functions to the module.
pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(save_vars, m)?)?;
    m.add_function(wrap_pyfunction!(load_vars, m)?)?;
    m.add_function(wrap_pyfunction!(export_model, m)?)?;
    m.add_function(wrap_pyfunction!(save_model, m)?)?;
    m.add_function(wrap_pyfunction!(save_program_only, m)?)?;
    m.add_function(wrap_pyfunction!(load_model, m)?)?;
    m.add_function(wrap_pyfunction!(save_program, m)?)?;
    m.add_function(wrap_pyfunction!(load_program, m)?)?;
    m.add_function(wrap_pyfunction!(read_state, m)?)?;
    m.add_function(wrap_pyfunction!(set_state, m)?)
}

/// Variables of a program by name, in the order given.
fn pick<'p>(program: &'p oarlock::Program, names: &[String]) -> Vec<&'p Var> {
    names.iter().filter_map(|name| program.vars().find(|v| v.name.as_str() == name)).collect()
}

/// Saves variables: one file each, or all in one.
#[pyfunction]
fn save_vars(
    py: Python<'_>,
    dirname: &str,
    filename: Option<String>,
    program: &Program,
    names: Vec<String>,
    scope: &Scope,
) -> PyResult<()> {
    let program = program.get();
    let work = || io::save_vars(&*io::open_store(dirname)?, filename.as_deref(), &pick(&program, &names), &scope.inner);
    py.detach(work).py()
}

/// Loads variables: all, or none if something is wrong.
#[pyfunction]
fn load_vars(
    py: Python<'_>,
    dirname: &str,
    filename: Option<String>,
    program: &Program,
    names: Vec<String>,
    scope: &Scope,
) -> PyResult<()> {
    let program = program.get();
    let work = || io::load_vars(&*io::open_store(dirname)?, filename.as_deref(), &pick(&program, &names), &scope.inner);
    py.detach(work).py()
}

/// The network that computes targets from feeds, with its `feed` and `fetch` operators.
#[pyfunction]
fn export_model(program: &Program, feeds: Vec<String>, targets: Vec<String>) -> PyResult<Program> {
    let feeds: Vec<&str> = feeds.iter().map(String::as_str).collect();
    let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
    Ok(Program::of(InferenceModel::export(&program.get(), &feeds, &targets).py()?.program))
}

/// Saves a network with `feed` and `fetch` operators, and its parameters unless `program_only`.
#[pyfunction]
fn save_model(
    py: Python<'_>,
    dirname: &str,
    program: &Program,
    model_filename: Option<String>,
    params_filename: Option<String>,
    program_only: bool,
    scope: &Scope,
) -> PyResult<()> {
    let program = program.get();
    let params = match params_filename {
        _ if program_only => ParamFiles::Nowhere,
        Some(file) => ParamFiles::Combined(file),
        None => ParamFiles::Separate,
    };
    let files = written_model(model_filename, params)?;
    let work = || InferenceModel::of((*program).clone())?.save(&*io::open_store(dirname)?, &files, &scope.inner);
    py.detach(work).py()
}

/// The files of a model that is going to be written.
pub(crate) fn written_model(model: Option<String>, params: ParamFiles) -> PyResult<ModelFiles> {
    let files = ModelFiles::named(model.unwrap_or_else(|| "__model__".into()), params);
    Ok(ModelFiles { tables: oarlock::model_tables_from_env().py()?, ..files })
}

/// Saves a program as it is, in a file of its own.
#[pyfunction]
fn save_program_only(dirname: &str, file: &str, program: &Program) -> PyResult<()> {
    let bytes = program.get().to_bytes();
    let write = || {
        let mut staging = io::open_store(dirname)?.begin()?;
        staging.file(file, &[], &mut |out| out.write_all(&bytes))?;
        staging.commit()
    };
    write().py()
}

/// The files that a model's names mean.
fn model_files(
    dirname: &str,
    model: Option<String>,
    params: Option<String>,
) -> oarlock::Result<(Box<dyn io::Store>, ModelFiles)> {
    if model.is_none() && params.is_none() {
        return io::find_model(dirname);
    }
    let params = params.map_or(ParamFiles::Separate, ParamFiles::Combined);
    Ok((io::open_store(dirname)?, ModelFiles::named(model.unwrap_or_else(|| "__model__".into()), params)))
}

/// Loads a network and its parameters; returns it with the names of feeds and fetches. Tables on `servers` stay there.
#[pyfunction]
fn load_model(
    py: Python<'_>,
    runtime: &Runtime,
    dirname: &str,
    model_filename: Option<String>,
    params_filename: Option<String>,
    servers: Vec<String>,
    scope: &Scope,
) -> PyResult<(Program, Vec<String>, Vec<String>)> {
    let model = runtime.compute(py, || {
        let (store, files) = model_files(dirname, model_filename, params_filename)?;
        if servers.is_empty() {
            return InferenceModel::load(&*store, &files, &scope.inner);
        }
        fleet::load_with_servers(&*store, &files, &servers, &runtime.inner, &scope.inner)
    })?;
    let names = |list: &[oarlock::ir::Name]| list.iter().map(|n| n.to_string()).collect();
    let (feeds, fetches) = (names(&model.feeds), names(&model.fetches));
    Ok((Program::of(model.program), feeds, fetches))
}

/// `fluid.save`: `prefix.pdmodel`, `.pdparams`, `.pdopt`.
#[pyfunction]
fn save_program(py: Python<'_>, path: &str, program: &Program, scope: &Scope) -> PyResult<()> {
    let program = program.get();
    let work = || {
        let (store, prefix) = io::open_around(path)?;
        io::save_program(&*store, &prefix, &program, &scope.inner)
    };
    py.detach(work).py()
}

/// `fluid.load`.
#[pyfunction]
fn load_program(
    py: Python<'_>,
    path: &str,
    program: &Program,
    combined: Option<Vec<String>>,
    scope: &Scope,
) -> PyResult<()> {
    let program = program.get();
    let work = || {
        let (store, name) = io::open_around(path)?;
        let listed = combined.map(|names| pick(&program, &names));
        io::load_program(&*store, &name, &program, listed.as_deref(), &scope.inner)
    };
    py.detach(work).py()
}

/// `load_program_state`: arrays by name.
#[pyfunction]
fn read_state<'py>(
    py: Python<'py>,
    path: &str,
    program: &Program,
    combined: Option<Vec<String>>,
) -> PyResult<Bound<'py, PyDict>> {
    let program = program.get();
    let (store, name) = io::open_around(path).py()?;
    let listed = combined.map(|names| pick(&program, &names));
    let state = io::read_state(&*store, &name, listed.as_deref()).py()?;
    let dict = PyDict::new(py);
    for (name, tensor) in &state {
        dict.set_item(name, array_of(py, tensor)?)?;
    }
    Ok(dict)
}

/// `set_program_state`: sets variables of a program; returns the names that the program does not use.
#[pyfunction]
fn set_state(program: &Program, state: Bound<'_, PyDict>, scope: &Scope) -> PyResult<Vec<String>> {
    let mut tensors = std::collections::BTreeMap::new();
    for (name, value) in state.iter() {
        tensors.insert(name.extract::<String>()?, tensor_of(&value, None)?);
    }
    io::set_state(&program.get(), tensors, &scope.inner).py()
}
