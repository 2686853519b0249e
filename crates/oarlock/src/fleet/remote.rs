//! A model that predicts with tables of servers that run.

use std::path::Path;

use oarlock_exec::Scope;
use oarlock_io::{InferenceModel, ModelFiles, Store, find_model, persistables, set_vars};
use oarlock_ir::{Result, Runtime, Var};
use oarlock_ps::client::{ClientOptions, find_tables};
use oarlock_tensor::{DType, Tensor, Value};
use oarlock_transpile as transpile;

use crate::{JobOptions, Options, Predictor};

/// Loads a model whose sparse tables stay on the servers of a job that runs: all of them must be named. A run of its program looks
/// rows up there and changes nothing; a row that was never trained is zero. Everything else is loaded: all of it, or nothing.
pub fn load_with_servers(
    store: &dyn Store,
    files: &ModelFiles,
    servers: &[String],
    runtime: &Runtime,
    scope: &Scope,
) -> Result<InferenceModel> {
    let view = store.view()?;
    let mut model = InferenceModel::read(&*view, &files.model)?;
    let names = transpile::tables_on_servers(&model.program);
    let tables: Vec<&Var> = names.iter().filter_map(|name| model.program.global().var(name)).collect();
    let found = find_tables(runtime, servers, &tables)?;
    let elsewhere = transpile::predict_with_servers(&mut model.program, &found);
    let mut loaded = model.read_params(&*view, &files.params, &elsewhere)?;
    // As a trainer has them: there, and without rows.
    loaded.extend(elsewhere.into_iter().map(|name| (name, Value::Dense(Tensor::zeros(DType::F32, [0])))));
    set_vars(scope, &persistables(&model.program), loaded)?;
    Ok(model)
}

/// A predictor of the model at a path, with tables as [`load_with_servers`] says.
pub fn predict_with_servers(
    path: &Path,
    servers: &[String],
    client: ClientOptions,
    options: &Options,
) -> Result<Predictor> {
    let (store, files) = find_model(path)?;
    let executor = options.executor_in(JobOptions { client, ..JobOptions::default() });
    let scope = Scope::new();
    let model = load_with_servers(&*store, &files, servers, executor.runtime(), &scope)?;
    Predictor::on(&executor, &model, &scope)
}
