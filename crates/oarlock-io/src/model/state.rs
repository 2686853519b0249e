//! A program with its parameters and its optimizer's state in three files: `fluid.save` and `fluid.load`.

use std::collections::{BTreeMap, BTreeSet};

use oarlock_ir::{Error, Kind, Name, Program, Result, Var, VarKind, VarType, Vars};
use oarlock_tensor::{DType, Tensor, Value};

use crate::format::pickle::{Pickled, check_pickle, read_pickle, write_pickle};
use crate::model::table_files::is_saved;
use crate::model::vars::{Held, check, hold, is_persistable, parameters, read_vars, select, set_all, set_vars};
use crate::store::{Staging, Store, View};

const PARAMS: &str = ".pdparams";
const OPTIMIZER: &str = ".pdopt";
const MODEL: &str = ".pdmodel";

/// Saves a program, its parameters and what its optimizer keeps as `prefix.pdmodel`, `.pdparams` and `.pdopt`.
pub fn save_program(store: &dyn Store, prefix: &str, program: &Program, values: &dyn Vars) -> Result<()> {
    let params = hold(&parameters(program), values)?;
    let optimizer = hold(&optimizer_vars(program), values)?;
    let mut staging = store.begin()?;
    stage_pickle(&mut *staging, &format!("{prefix}{PARAMS}"), &params)?;
    stage_pickle(&mut *staging, &format!("{prefix}{OPTIMIZER}"), &optimizer)?;
    let model = program.to_bytes();
    staging.file(&format!("{prefix}{MODEL}"), &[], &mut |out| out.write_all(&model))?;
    staging.commit()
}

/// The variables of the optimizer: everything persistable that is neither a parameter nor an input.
fn optimizer_vars(program: &Program) -> Vec<&Var> {
    select(program, |v| is_persistable(v) && !v.meta.is_parameter && !v.need_check_feed)
}

fn stage_pickle(staging: &mut dyn Staging, file: &str, held: &[Held]) -> Result<()> {
    let mut items = Vec::with_capacity(held.len());
    for (name, value) in held {
        let Value::Dense(tensor) = &**value else {
            let what = format!("variable `{name}` is {}, but {file} holds tensors only", value.kind());
            return Err(
                Error::new(Kind::Unsupported, what).help("save it with save_persistables, one file per variable")
            );
        };
        check_pickle(name, tensor)?;
        items.push((name.clone(), tensor));
    }
    staging.file(file, &[], &mut |out| write_pickle(&items, out))
}

/// Loads what [`save_program`] wrote into the variables of a program: all of them, or none.
///
/// As in Fluid, `name` may carry one of the three suffixes; and if there is no such save, it may be a directory of one
/// file per variable, or a combined file of the variables in `combined`.
pub fn load_program(
    store: &dyn Store,
    name: &str,
    program: &Program,
    combined: Option<&[&Var]>,
    values: &dyn Vars,
) -> Result<()> {
    let view = store.view()?;
    let prefix = without_suffix(name);
    if !view.has(&format!("{prefix}{PARAMS}")) {
        let loaded = read_other_form(store, &*view, name, program, combined)?;
        return set_vars(values, &select(program, |_| true), loaded);
    }
    let mut loaded = read_listed(&*view, &format!("{prefix}{PARAMS}"), &parameters(program))?;
    let optimizer = optimizer_vars(program);
    if !optimizer.is_empty() {
        loaded.extend(read_listed(&*view, &format!("{prefix}{OPTIMIZER}"), &optimizer)?);
    }
    set_all(values, loaded)?;
    Ok(())
}

fn without_suffix(name: &str) -> &str {
    [PARAMS, OPTIMIZER, MODEL].iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name)
}

/// Reads the program of a save.
pub fn read_program(store: &dyn Store, prefix: &str) -> Result<Program> {
    let file = store.view()?.open(&format!("{}{MODEL}", without_suffix(prefix)))?;
    let origin = file.origin().to_string();
    Program::from_bytes(&file.bytes()?).map_err(|e| e.note(format!("in {origin}")))
}

/// Reads the given variables from a pickle that must hold them all.
fn read_listed(view: &dyn View, file: &str, vars: &[&Var]) -> Result<Vec<(Name, Value)>> {
    let (origin, mut found) = read_pickle_file(view, file)?;
    let mut loaded = Vec::with_capacity(vars.len());
    for var in vars {
        let Some(tensor) = found.remove(var.name.as_str()) else {
            let what = format!("variable `{}` is not in {origin}", var.name);
            return Err(Error::new(Kind::Missing, what).help("load what was saved from this program"));
        };
        let value = Value::Dense(tensor);
        check(var, &value).map_err(|e| e.note(format!("found in {origin}")))?;
        loaded.push((var.name.clone(), value));
    }
    Ok(loaded)
}

/// The arrays of a pickle by name.
fn read_pickle_file(view: &dyn View, file: &str) -> Result<(String, BTreeMap<String, Tensor>)> {
    let file = view.open(file)?;
    let origin = file.origin().to_string();
    let items = read_pickle(&file.bytes()?, &origin)?;
    let arrays = items.into_iter().filter_map(|(name, item)| match item {
        Pickled::Array(tensor) => Some((name, tensor)),
        // Eager models add a dictionary of their own names for parameters.
        _ => None,
    });
    Ok((origin, arrays.collect()))
}

/// A directory of one file per variable, or a combined file.
fn read_other_form(
    store: &dyn Store,
    view: &dyn View,
    name: &str,
    program: &Program,
    combined: Option<&[&Var]>,
) -> Result<Vec<(Name, Value)>> {
    if view.has(name) {
        return read_vars(view, Some(name), combined.ok_or_else(|| needs_list(view, name))?);
    }
    if store.folders()?.iter().any(|folder| folder == name) {
        let folder = store.folder(name)?;
        let view = folder.view()?;
        return read_vars(&*view, None, &select(program, |v| is_saved(&*view, &v.name)));
    }
    let what = format!("in {} there is neither {name}{PARAMS} nor {name}", view.describe());
    Err(Error::new(Kind::Missing, what).help("check the path: it is the one given to save, without a suffix"))
}

fn needs_list(view: &dyn View, name: &str) -> Error {
    let what = format!("{name} in {} is one file of many variables, but a file does not say which", view.describe());
    Error::new(Kind::Argument, what).help("pass the list of variables (`var_list`)")
}

/// Reads what was saved under a name, whatever the program: by [`save_program`], as one file per variable, or as a
/// combined file of the variables in `combined`.
pub fn read_state(store: &dyn Store, name: &str, combined: Option<&[&Var]>) -> Result<BTreeMap<String, Tensor>> {
    let view = store.view()?;
    let prefix = without_suffix(name);
    if view.has(&format!("{prefix}{PARAMS}")) {
        let (_, mut state) = read_pickle_file(&*view, &format!("{prefix}{PARAMS}"))?;
        if view.has(&format!("{prefix}{OPTIMIZER}")) {
            state.extend(read_pickle_file(&*view, &format!("{prefix}{OPTIMIZER}"))?.1);
        }
        return Ok(state);
    }
    let loaded = if view.has(name) {
        read_vars(&*view, Some(name), combined.ok_or_else(|| needs_list(&*view, name))?)?
    } else {
        let folder = store.folder(name)?;
        let view = folder.view()?;
        let all: Vec<Var> = view.files()?.iter().map(|file| any_tensor(file)).collect();
        let all: Vec<&Var> = all.iter().collect();
        read_vars(&*view, None, combined.unwrap_or(&all))?
    };
    Ok(loaded.into_iter().filter_map(|(n, v)| Some((n.to_string(), tensor_of(v)?))).collect())
}

/// A variable that takes any tensor.
fn any_tensor(name: &str) -> Var {
    let mut var = Var::new(name, VarType::tensor(DType::F32, vec![]).with_kind(VarKind::Tensor));
    var.dtype = oarlock_ir::VarDType::Other(-1);
    var
}

fn tensor_of(value: Value) -> Option<Tensor> {
    match value {
        Value::Dense(tensor) => Some(tensor),
        _ => None,
    }
}

/// Sets the persistable variables of a program for which `state` has a value, all or none. Every one must have a value
/// already, of the same type and sizes. Returns the names in `state` that the program does not know.
pub fn set_state(program: &Program, state: BTreeMap<String, Tensor>, values: &dyn Vars) -> Result<Vec<String>> {
    let known: BTreeSet<Name> = select(program, is_persistable).iter().map(|v| v.name.clone()).collect();
    for name in &known {
        let old = values.find(name).unwrap_or_default();
        let old = old.read();
        let old = old.dense().map_err(|_| {
            Error::new(Kind::Missing, format!("variable `{name}` has no value yet"))
                .help("run the startup program first")
        })?;
        if let Some(new) = state.get(name.as_str()) {
            same_type(name, old, new)?;
        }
    }
    let (set, unused): (Vec<_>, Vec<_>) = state.into_iter().partition(|(name, _)| known.contains(name.as_str()));
    set_all(values, set.into_iter().map(|(name, tensor)| (name.into(), tensor.into())).collect())?;
    Ok(unused.into_iter().map(|(name, _)| name).collect())
}

fn same_type(name: &Name, old: &Tensor, new: &Tensor) -> Result<()> {
    let kind = match (old.dtype() == new.dtype(), old.dims() == new.dims()) {
        (true, true) => return Ok(()),
        (false, _) => Kind::DType,
        _ => Kind::Shape,
    };
    let text = |t: &Tensor| format!("{}{}", t.dtype(), t.dims());
    let what = format!("variable `{name}`: the program has {}, the given state has {}", text(old), text(new));
    Err(Error::new(kind, what).help("take the state from the same program, or leave this variable out"))
}
