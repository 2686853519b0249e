//! Inference models: the part of a network that leads from what is fed to what is wanted, with its parameters.

mod export;
mod newer;
mod pir;
mod tables;

use std::path::Path;

use oarlock_ir::{Attr, Error, Kind, Name, Op, Program, Result, Vars};
use oarlock_tensor::Value;

use tables::store_tables;
pub use tables::{ModelTables, TakeRows, declare_rows};

use crate::model::table_files::is_saved;
use crate::model::vars::{hold, persistables, read_vars, read_vars_from_bytes, set_vars, stage_held, stage_over};
use crate::store::{Store, View, open_around, open_store};

/// The types of the operators by which values enter and leave a saved network, and of the variables that hold them.
const FEED: &str = "feed";
const FETCH: &str = "fetch";

/// A network for inference.
#[derive(Debug, Clone)]
pub struct InferenceModel {
    /// The network, with its `feed` and `fetch` operators.
    pub program: Program,
    /// The variables that are fed, in order.
    pub feeds: Vec<Name>,
    /// The variables that are computed, in order.
    pub fetches: Vec<Name>,
}

/// Where the parameters of a model are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParamFiles {
    /// One file each, under their names.
    Separate,
    /// All in this file.
    Combined(String),
    /// Nowhere: only the network is saved.
    Nowhere,
}

/// How a network is written.
#[derive(Clone, Copy)]
enum Form {
    /// A `ProgramDesc`, as 1.x and 2.x write it.
    Desc,
    /// As 3.x writes it.
    Json,
}

/// The files of a model in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFiles {
    /// The network. A name that ends in `.json` means the form that 3.x writes; it is only read.
    pub model: String,
    /// The parameters.
    pub params: ParamFiles,
    /// How hashed tables among the parameters are stored.
    pub tables: ModelTables,
}

impl ModelFiles {
    /// A network in the file `model`, with its parameters.
    pub fn named(model: impl Into<String>, params: ParamFiles) -> ModelFiles {
        ModelFiles { model: model.into(), params, tables: ModelTables::Auto }
    }

    /// The usual names of 1.x: the network in `__model__`, parameters in one file each.
    pub fn separate() -> ModelFiles {
        ModelFiles::named("__model__", ParamFiles::Separate)
    }

    /// The network in `__model__`, all parameters in one file.
    pub fn combined(params: &str) -> ModelFiles {
        ModelFiles { params: ParamFiles::Combined(params.into()), ..ModelFiles::separate() }
    }

    /// The usual names of 2.x: `prefix.pdmodel` and `prefix.pdiparams`.
    pub fn prefix(prefix: &str) -> ModelFiles {
        ModelFiles::named(format!("{prefix}.pdmodel"), ParamFiles::Combined(format!("{prefix}.pdiparams")))
    }

    /// The usual names of 3.x: `prefix.json` and `prefix.pdiparams`.
    pub fn json(prefix: &str) -> ModelFiles {
        ModelFiles { model: format!("{prefix}.json"), ..ModelFiles::prefix(prefix) }
    }
}

impl InferenceModel {
    /// Takes a program that has `feed` and `fetch` operators.
    pub fn of(program: Program) -> Result<InferenceModel> {
        let by_col = |op_type: &str, arg: fn(&Op) -> Option<&Name>| {
            let mut found = Vec::new();
            for (i, op) in program.global().ops.iter().enumerate().filter(|(_, op)| op.op_type == op_type) {
                let col = match op.attrs.get("col") {
                    Some(Attr::Int(col)) => *col,
                    _ => 0,
                };
                let name = arg(op).ok_or_else(|| {
                    Error::new(Kind::Format, format!("a `{op_type}` operator has no argument")).at(|| op.place(0, i))
                })?;
                found.push((col, name.clone()));
            }
            found.sort_by_key(|(col, _)| *col);
            match found.windows(2).find(|w| w[0].0 == w[1].0) {
                Some(w) => {
                    let what = format!("`{}` and `{}` both have `{op_type}` column {}", w[0].1, w[1].1, w[0].0);
                    Err(Error::new(Kind::Format, what))
                }
                None => Ok(found.into_iter().map(|(_, name)| name).collect::<Vec<Name>>()),
            }
        };
        let feeds = by_col(FEED, |op| op.outputs.get("Out").first())?;
        let fetches = by_col(FETCH, |op| op.inputs.get("X").first())?;
        Ok(InferenceModel { program, feeds, fetches })
    }

    /// Saves the network and its parameters.
    pub fn save(&self, store: &dyn Store, files: &ModelFiles, values: &dyn Vars) -> Result<()> {
        let held = match files.params {
            ParamFiles::Nowhere => Vec::new(),
            _ => hold(&persistables(&self.program), values)?,
        };
        let mut program = self.program.clone();
        let held = store_tables(&mut program, held, files.tables)?;
        let model = program.to_bytes();
        let mut staging = store.begin()?;
        staging.file(&files.model, &[], &mut |out| out.write_all(&model))?;
        match &files.params {
            ParamFiles::Separate => {
                stage_held(&mut *staging, None, &held)?;
                stage_over(&mut *staging, store, None, &held)?;
            }
            ParamFiles::Combined(file) => stage_held(&mut *staging, Some(file), &held)?,
            ParamFiles::Nowhere => {}
        }
        staging.commit()
    }

    /// Reads a network, without its parameters.
    pub fn read(view: &dyn View, model: &str) -> Result<InferenceModel> {
        let file = view.open(model)?;
        let origin = file.origin().to_string();
        let bytes = file.bytes()?;
        let form = if model.ends_with(".json") { Form::Json } else { Form::Desc };
        InferenceModel::decode(&bytes, form).map_err(|e| e.note(format!("in {origin}")))
    }

    fn decode(bytes: &[u8], form: Form) -> Result<InferenceModel> {
        if let Form::Json = form {
            return InferenceModel::of(pir::read_program(bytes)?);
        }
        let mut program = Program::from_bytes(bytes)?;
        newer::use_fluid_ops(&mut program);
        InferenceModel::of(program)
    }

    /// Takes a network and its parameters from the bytes of a model file and of a combined file. The parameters are
    /// checked but not set.
    pub fn from_bytes(model: &[u8], params: &[u8]) -> Result<(InferenceModel, Vec<(Name, Value)>)> {
        let form = if model.starts_with(b"{") { Form::Json } else { Form::Desc };
        let model = InferenceModel::decode(model, form).map_err(|e| e.note("in the given bytes of a model"))?;
        let values = read_vars_from_bytes(params, &persistables(&model.program))?;
        Ok((model, values))
    }

    /// Reads a network and its parameters, checked but not set.
    pub fn read_all(view: &dyn View, files: &ModelFiles) -> Result<(InferenceModel, Vec<(Name, Value)>)> {
        let model = InferenceModel::read(view, &files.model)?;
        let loaded = model.read_params(view, &files.params, &[])?;
        Ok((model, loaded))
    }

    /// Reads the parameters of a network, but for some that it gets from elsewhere; checked but not set.
    pub fn read_params(&self, view: &dyn View, files: &ParamFiles, but: &[Name]) -> Result<Vec<(Name, Value)>> {
        let mut vars = persistables(&self.program);
        match files {
            // A network without parameters may have no file for them.
            _ if vars.is_empty() => Ok(Vec::new()),
            ParamFiles::Separate => {
                vars.retain(|var| !but.contains(&var.name));
                read_vars(view, None, &vars)
            }
            // One file holds all, in one order.
            ParamFiles::Combined(file) => {
                let mut all = read_vars(view, Some(file), &vars)?;
                all.retain(|(name, _)| !but.contains(name));
                Ok(all)
            }
            ParamFiles::Nowhere => Ok(Vec::new()),
        }
    }

    /// Loads a network, and sets its parameters: all, or none.
    pub fn load(store: &dyn Store, files: &ModelFiles, values: &dyn Vars) -> Result<InferenceModel> {
        let (model, loaded) = InferenceModel::read_all(&*store.view()?, files)?;
        set_vars(values, &persistables(&model.program), loaded)?;
        Ok(model)
    }
}

/// Finds the model that a path or URL means: a directory, a prefix, or one of the model's files.
pub fn find_model(location: impl AsRef<Path>) -> Result<(Box<dyn Store>, ModelFiles)> {
    let location = &*location.as_ref().to_string_lossy();
    let folder = open_store(location)?;
    if let Ok(view) = folder.view() {
        let files = find_in_folder(&*view)?;
        return Ok((folder, files));
    }
    let (folder, name) = open_around(location)?;
    let view = folder.view()?;
    let prefix = [".pdmodel", ".pdiparams", ".json"].iter().find_map(|s| name.strip_suffix(s)).unwrap_or(&name);
    if view.has(&format!("{prefix}.pdparams")) && !view.has(&format!("{prefix}.pdiparams")) {
        let what = format!("{location} is a program for training with its parameters, as `fluid.save` writes it");
        return Err(Error::new(Kind::Missing, what).help("save a model to predict with by `save_inference_model`"));
    }
    let candidates = [ModelFiles::prefix(prefix), ModelFiles::json(prefix)];
    if let Some(files) = candidates.into_iter().find(|files| view.has(&files.model)) {
        return Ok((folder, files));
    }
    if view.has(&name) {
        let params = find_params(&*view, &name)?;
        return Ok((folder, ModelFiles::named(name, params)));
    }
    Err(no_model(location))
}

fn find_in_folder(view: &dyn View) -> Result<ModelFiles> {
    let usual = ModelFiles::separate();
    if view.has(&usual.model) {
        let params = find_params(view, &usual.model)?;
        return Ok(ModelFiles { params, ..usual });
    }
    let files = view.files()?;
    let with_suffix = |suffix: &str| files.iter().filter_map(|f| f.strip_suffix(suffix)).collect::<Vec<&str>>();
    let params = with_suffix(".pdiparams");
    match &params[..] {
        [prefix] if view.has(&format!("{prefix}.pdmodel")) => Ok(ModelFiles::prefix(prefix)),
        [prefix] if view.has(&format!("{prefix}.json")) => Ok(ModelFiles::json(prefix)),
        [] | [_] => Err(no_model(&view.describe())),
        many => {
            let what = format!("{} holds several models: {}", view.describe(), many.join(", "));
            Err(Error::new(Kind::Argument, what).help("name one of them: `directory/name`"))
        }
    }
}

/// Parameters are in files of their own if a single one is; else in the one file that convention knows.
fn find_params(view: &dyn View, model: &str) -> Result<ParamFiles> {
    const PARAMS: &str = "__params__";
    let model = InferenceModel::read(view, model)?;
    let separate = persistables(&model.program).iter().any(|v| is_saved(view, &v.name));
    Ok(if !separate && view.has(PARAMS) { ParamFiles::Combined(PARAMS.into()) } else { ParamFiles::Separate })
}

fn no_model(path: &str) -> Error {
    Error::new(Kind::Missing, format!("there is no model at {path}"))
        .help("a model is a directory with `__model__`, or a prefix of `.pdmodel` or `.json` and `.pdiparams` files")
}
