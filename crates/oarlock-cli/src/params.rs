//! `oarlock params`: parameters to and from the `safetensors` format.

use clap::{Args, Subcommand};
use oarlock::io::{
    InferenceModel, ParamFiles, export_safetensors, find_model, import_safetensors, open_around, persistables,
    read_state, save_vars,
};
use oarlock::ir::{Var, VarType};
use oarlock::{Error, Kind, Result, Scope};
use serde_json::json;

#[derive(Subcommand)]
pub(crate) enum Params {
    /// Write the parameters of a model, or of a directory or `fluid.save` of variables, into one `.safetensors` file.
    Export(Export),
    /// Replace the parameters of a model by those of a `.safetensors` file, which must have them all.
    Import(Import),
}

#[derive(Args)]
pub(crate) struct Export {
    /// The model or the variables.
    from: String,
    /// The file to write.
    to: String,
    /// Print JSON for machines.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(crate) struct Import {
    /// The file to read.
    from: String,
    /// The model whose parameters are replaced.
    model: String,
    /// Print JSON for machines.
    #[arg(long)]
    json: bool,
}

impl Params {
    pub(crate) fn run(self) -> Result<String> {
        match self {
            Params::Export(export) => export.run(),
            Params::Import(import) => import.run(),
        }
    }
}

impl Export {
    fn run(self) -> Result<String> {
        let scope = Scope::new();
        let vars = match find_model(&self.from) {
            Ok((store, files)) => {
                let model = InferenceModel::load(&*store, &files, &scope)?;
                persistables(&model.program).into_iter().cloned().collect()
            }
            Err(no_model) => load_state(&self.from, &scope).map_err(|e| e.note(no_model.report().what.clone()))?,
        };
        let (store, file) = open_around(&self.to)?;
        export_safetensors(&*store, &file, &vars.iter().collect::<Vec<&Var>>(), &scope)?;
        Ok(match self.json {
            true => format!("{}\n", json!({"written": vars.len()})),
            false => format!("wrote {} variables to {}\n", vars.len(), self.to),
        })
    }
}

/// Loads variables without a program; returns what they are.
fn load_state(location: &str, scope: &Scope) -> Result<Vec<Var>> {
    let (store, name) = open_around(location)?;
    let mut vars = Vec::new();
    for (name, tensor) in read_state(&*store, &name, None)? {
        vars.push(Var::new(name.as_str(), VarType::tensor(tensor.dtype(), oarlock::ir::Shape::from(tensor.dims()))));
        scope.set(&name, tensor);
    }
    Ok(vars)
}

impl Import {
    fn run(self) -> Result<String> {
        let (store, files) = find_model(&self.model)?;
        let model = InferenceModel::read(&*store.view()?, &files.model)?;
        let vars = persistables(&model.program);
        let scope = Scope::new();
        let (folder, file) = open_around(&self.from)?;
        let unused = import_safetensors(&*folder, &file, &vars, &scope)?;
        let combined = match &files.params {
            ParamFiles::Combined(file) => Some(file.as_str()),
            ParamFiles::Separate => None,
            ParamFiles::Nowhere => {
                return Err(Error::new(Kind::Argument, format!("{} has no parameters", self.model)));
            }
        };
        save_vars(&*store, combined, &vars, &scope)?;
        if self.json {
            return Ok(format!("{}\n", json!({"replaced": vars.len(), "unused": unused})));
        }
        let mut text = format!("replaced {} parameters of {}\n", vars.len(), self.model);
        if !unused.is_empty() {
            text += &format!("not used: {}\n", unused.join(", "));
        }
        Ok(text)
    }
}
