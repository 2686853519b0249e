//! Variables of a program in files of the `safetensors` format, by name.

use std::collections::BTreeMap;

use oarlock_ir::{Error, Kind, Name, Result, Var, Vars};
use oarlock_tensor::{Tensor, Value};

use super::vars::{check, hold, set_all};
use crate::format::safetensors::{read_tensors, write_safetensors};
use crate::store::{Store, View};

/// Saves variables into one file.
pub fn export_safetensors(store: &dyn Store, file: &str, vars: &[&Var], values: &dyn Vars) -> Result<()> {
    let held = hold(vars, values)?;
    let mut items = Vec::with_capacity(held.len());
    for (name, value) in &held {
        match &**value {
            Value::Dense(tensor) if tensor.lod().is_empty() => items.push((name.clone(), tensor)),
            _ => {
                let what = format!("variable `{name}` is not a plain tensor, which is all that safetensors holds");
                return Err(Error::new(Kind::Unsupported, what).help("leave it out, or use save_vars"));
            }
        }
    }
    let names: Vec<Name> = items.iter().map(|(name, _)| name.clone()).collect();
    let mut staging = store.begin()?;
    staging.file(file, &names, &mut |out| write_safetensors(&items, out))?;
    staging.commit()
}

/// Loads variables from a file that must hold them all, with the types and sizes the program says: all are set, or
/// none. Returns the names of tensors that no variable has.
pub fn import_safetensors(store: &dyn Store, file: &str, vars: &[&Var], values: &dyn Vars) -> Result<Vec<String>> {
    let view = store.view()?;
    let mut found = read_safetensors(&*view, file)?;
    let origin = format!("{file} in {}", view.describe());
    let mut loaded = Vec::with_capacity(vars.len());
    for var in vars {
        let Some(tensor) = found.remove(var.name.as_str()) else {
            let what = format!("variable `{}` is not in {origin}", var.name);
            return Err(
                Error::new(Kind::Missing, what).help("rename the tensors to the program's names, or load fewer")
            );
        };
        let value = Value::Dense(tensor);
        check(var, &value).map_err(|e| e.note(format!("found in {origin}")))?;
        loaded.push((var.name.clone(), value));
    }
    set_all(values, loaded)?;
    Ok(found.into_keys().collect())
}

/// Reads all tensors of a file.
pub fn read_safetensors(view: &dyn View, file: &str) -> Result<BTreeMap<String, Tensor>> {
    #[expect(clippy::redundant_closure, reason = "a function of one lifetime is not general enough")]
    view.open(file)?.decode(|r| read_tensors(r))
}
