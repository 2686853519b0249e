//! Variables of a program in files: one file each, or all in one.
//!
//! A load decodes and checks everything before it sets the first variable: whatever is wrong, nothing is half loaded.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::path::Path;

use oarlock_ir::{Error, Kind, Name, Program, Result, SharedVar, Var, VarDType, VarKind, Vars};
use oarlock_tensor::{Dims, Tensor, Value};
use parking_lot::{ArcRwLockReadGuard, RawRwLock};

use crate::format::cursor::ByteCursor;
use crate::format::tensor_stream::{read_part, read_rows, read_tensor, write_rows, write_tensor};
use crate::model::table_files::{as_tensor, is_in_parts, read_one_as, read_rows_as, stage_wholes};
use crate::store::{Local, Staging, Store, StoredFile, View, WriteFile};

/// The parameters of a program: what `save_params` saves.
pub fn parameters(program: &Program) -> Vec<&Var> {
    select(program, |v| v.meta.is_parameter)
}

/// The variables of a program that outlive a run: what `save_persistables` saves.
pub fn persistables(program: &Program) -> Vec<&Var> {
    select(program, is_persistable)
}

/// The variables of a program that a predicate accepts, from all blocks. Those without contents that could be saved
/// are left out, and of several with one name all but the outermost: files know names only.
pub fn select(program: &Program, predicate: impl Fn(&Var) -> bool) -> Vec<&Var> {
    let mut seen = BTreeSet::new();
    program.vars().filter(|v| v.kind != VarKind::Raw && predicate(v) && seen.insert(&v.name)).collect()
}

/// Does the variable outlive a run and hold values? Lists of feeds and fetches, and readers, are persistable in name only.
pub fn is_persistable(var: &Var) -> bool {
    var.holds_values()
}

/// Keeps a value from changing.
pub(crate) type ReadGuard = ArcRwLockReadGuard<RawRwLock, Value>;

/// A value that does not change while it is written.
pub(crate) type Held = (Name, ReadGuard);

/// Saves variables: one file each under their names, or all in the file `combined`.
pub fn save_vars(store: &dyn Store, combined: Option<&str>, vars: &[&Var], values: &dyn Vars) -> Result<()> {
    let held = hold(vars, values)?;
    let mut staging = store.begin()?;
    stage_held(&mut *staging, combined, &held)?;
    stage_over(&mut *staging, store, combined, &held)?;
    staging.commit()
}

/// Where an earlier save had variables in parts, says that they are whole now.
pub(crate) fn stage_over(
    staging: &mut dyn Staging,
    store: &dyn Store,
    combined: Option<&str>,
    held: &[Held],
) -> Result<()> {
    match store.view() {
        Ok(before) if combined.is_none() => stage_wholes(staging, &*before, held.iter().map(|(name, _)| name)),
        _ => Ok(()),
    }
}

/// Adds the files of variables to a save that writes others, too. `before` is what the folder holds, if it exists.
pub fn stage_vars(
    staging: &mut dyn Staging,
    before: Option<&dyn View>,
    combined: Option<&str>,
    vars: &[&Var],
    values: &dyn Vars,
) -> Result<()> {
    stage_held(staging, combined, &hold(vars, values)?)?;
    match before {
        Some(before) if combined.is_none() => stage_wholes(staging, before, vars.iter().map(|var| &var.name)),
        _ => Ok(()),
    }
}

/// Takes hold of the values of variables, all at the same moment. Fails if one has none that can be saved.
pub(crate) fn hold(vars: &[&Var], values: &dyn Vars) -> Result<Vec<Held>> {
    let mut held = Vec::with_capacity(vars.len());
    for var in vars {
        let value = values.find(&var.name).unwrap_or_default().read_arc();
        check_saveable(&var.name, &value)?;
        held.push((var.name.clone(), value));
    }
    Ok(held)
}

/// Refuses values that files do not hold.
pub(crate) fn check_saveable(name: &str, value: &Value) -> Result<()> {
    match value {
        Value::Dense(_) | Value::Rows(_) | Value::Table(_) => Ok(()),
        Value::Empty => Err(Error::new(Kind::Missing, format!("variable `{name}` has no value to save"))
            .help("run the startup program or load values first")),
        other => {
            let what = format!("variable `{name}` is {}, which files do not hold", other.kind());
            Err(Error::new(Kind::Unsupported, what).help("leave it out: only tensors and selected rows can be saved"))
        }
    }
}

/// Adds the files of variables to a save.
pub(crate) fn stage_held(staging: &mut dyn Staging, combined: Option<&str>, held: &[Held]) -> Result<()> {
    match combined {
        Some(file) => stage_combined(staging, file, held),
        None => held.iter().try_for_each(|(name, value)| staging.file(name, &[], &mut |out| write_value(value, out))),
    }
}

fn stage_combined(staging: &mut dyn Staging, file: &str, held: &[Held]) -> Result<()> {
    let mut sorted: Vec<&Held> = held.iter().collect();
    sorted.sort_by(|a, b| a.0.cmp(&b.0));
    if let Some((name, _)) = sorted.iter().find(|(_, value)| !matches!(**value, Value::Dense(_))) {
        let what = format!("variable `{name}` is selected rows, which a combined file does not hold");
        return Err(Error::new(Kind::Unsupported, what).help("save one file per variable"));
    }
    let names: Vec<Name> = sorted.iter().map(|(name, _)| name.clone()).collect();
    staging.file(file, &names, &mut |out| sorted.iter().try_for_each(|(_, value)| write_value(value, out)))
}

pub(crate) fn write_value(value: &Value, out: &mut dyn Write) -> std::io::Result<()> {
    match value {
        Value::Dense(tensor) => write_tensor(tensor, out),
        Value::Rows(rows) => write_rows(rows, out),
        Value::Table(table) => write_rows(&table.to_rows().map_err(std::io::Error::other)?, out),
        // `hold` and `check_saveable` let nothing else pass.
        _ => Ok(()),
    }
}

/// The bytes of a combined file: what saving without a directory returns.
pub fn encode_vars(vars: &[&Var], values: &dyn Vars) -> Result<Vec<u8>> {
    let mut held = hold(vars, values)?;
    held.sort_by(|a, b| a.0.cmp(&b.0));
    let mut bytes = Vec::new();
    for (_, value) in &held {
        write_value(value, &mut bytes).map_err(|e| Error::internal(format!("writing to memory failed: {e}")))?;
    }
    Ok(bytes)
}

/// Loads variables from one file each, or all from the file `combined`. Either all are set, or none.
pub fn load_vars(store: &dyn Store, combined: Option<&str>, vars: &[&Var], values: &dyn Vars) -> Result<()> {
    set_vars(values, vars, read_vars(&*store.view()?, combined, vars)?)
}

/// Loads variables from the bytes of a combined file.
pub fn load_vars_from_bytes(bytes: &[u8], vars: &[&Var], values: &dyn Vars) -> Result<()> {
    set_all(values, read_vars_from_bytes(bytes, vars)?)
}

/// Reads variables from the bytes of a combined file, without setting any.
pub(crate) fn read_vars_from_bytes(bytes: &[u8], vars: &[&Var]) -> Result<Vec<(Name, Value)>> {
    read_combined(&mut ByteCursor::new(bytes, "the given bytes"), &sorted(vars))
}

/// Sets variables that were read and checked. Rows of a table go into the table, if there is one.
pub fn set_all(values: &dyn Vars, loaded: Vec<(Name, Value)>) -> Result<()> {
    let names: Vec<Name> = loaded.iter().map(|(name, _)| name.clone()).collect();
    let vars: Vec<(SharedVar, Value)> = loaded.into_iter().map(|(n, v)| (values.find_or_create(&n), v)).collect();
    for ((var, value), name) in vars.into_iter().zip(&names) {
        var.write().load(value).map_err(|e| Error::new(Kind::Argument, format!("variable `{name}`: {e}")))?;
    }
    values.loaded(&names);
    Ok(())
}

/// Sets variables of a program that were read and checked. One that is declared as a tensor and was saved as a hashed table becomes a
/// tensor, if its ids are rows of that, and unless it is a hashed table here, too.
pub fn set_vars(values: &dyn Vars, vars: &[&Var], loaded: Vec<(Name, Value)>) -> Result<()> {
    let tensor = |name: &Name| vars.iter().find(|var| var.name == *name && var.kind == VarKind::Tensor);
    let is_table = |name: &Name| values.find(name).is_some_and(|var| matches!(&*var.read(), Value::Table(_)));
    let tensor = |name: &Name| tensor(name).filter(|_| !is_table(name));
    let settle = |(name, value): (Name, Value)| match (value, tensor(&name)) {
        (Value::Rows(rows), Some(var)) => Ok((name, as_tensor(var, rows)?)),
        (value, _) => Ok((name, value)),
    };
    let settled = loaded.into_iter().map(settle).collect::<Result<Vec<_>>>()?;
    set_all(values, settled)
}

/// Reads variables and checks them against what the program says, without setting any.
pub fn read_vars(view: &dyn View, combined: Option<&str>, vars: &[&Var]) -> Result<Vec<(Name, Value)>> {
    match combined {
        Some(file) => read_combined_file(view.open(file)?, &sorted(vars)),
        None => vars.iter().map(|var| read_one(view, var)).collect(),
    }
}

fn read_one(view: &dyn View, var: &Var) -> Result<(Name, Value)> {
    if is_in_parts(view, &var.name)? {
        return Ok((var.name.clone(), read_rows_as(view, var)?));
    }
    if !view.has(&var.name) {
        let what = format!("variable `{}` is not in {}: there is no file of that name", var.name, view.describe());
        return Err(Error::new(Kind::Missing, what).help(
            "load what was saved from this program; if all variables are in one file, give its name (`filename`)",
        ));
    }
    match read_var(view.open(&var.name)?, var) {
        // Servers save hashed tables as rows. No file is both.
        Err(e) if var.kind == VarKind::Tensor => read_one_as(view, var).unwrap_or(Err(e)),
        read => read,
    }
    .map(|value| (var.name.clone(), value))
}

/// Reads a file of one variable.
pub(crate) fn read_var(file: StoredFile, var: &Var) -> Result<Value> {
    let value = file.decode(|r| {
        let value = read_value(r, var)?;
        repeats_or_nothing(r, &value)?;
        Ok(value)
    });
    value.map_err(|e| e.note(format!("while loading variable `{}`", var.name)))
}

/// Checks the end of a file behind its only tensor: nothing may follow, or the single element again. A distributed save of Fluid's
/// writes a value of shape `[1]` once for every server that has it.
fn repeats_or_nothing<R: Read>(r: &mut ByteCursor<'_, R>, value: &Value) -> Result<()> {
    if r.left() == 0 {
        return Ok(());
    }
    let (at, left) = (r.at(), r.left());
    if let Value::Dense(tensor) = value
        && tensor.numel() == 1
    {
        let rest = r.take(left, "what follows")?;
        let one = tensor.bytes();
        if rest.len().is_multiple_of(one.len()) && rest.chunks(one.len()).all(|c| c == one) {
            return Ok(());
        }
    }
    let what = format!("{}: {left} bytes are left over after the variable (at byte {at})", r.origin());
    Err(Error::new(Kind::Format, what)
        .help("a combined file holds several variables; to load it as such, give its name (`filename`)"))
}

fn sorted<'a>(vars: &[&'a Var]) -> Vec<&'a Var> {
    let mut sorted = vars.to_vec();
    sorted.sort_by(|a, b| a.name.cmp(&b.name));
    sorted.dedup_by(|a, b| a.name == b.name);
    sorted
}

/// Reads a file of several variables, which are in this order.
pub(crate) fn read_combined_file(file: StoredFile, vars: &[&Var]) -> Result<Vec<(Name, Value)>> {
    if let Some(seal) = file.seal().filter(|seal| !seal.variables.is_empty()) {
        same_names(file.origin(), &seal.variables, vars)?;
    }
    file.decode(|r| read_combined(r, vars))
}

/// A combined file holds no names. Where they were noted, variables of another program cannot pass for this one's.
fn same_names(origin: &str, saved: &[Name], vars: &[&Var]) -> Result<()> {
    let wanted: Vec<&Name> = vars.iter().map(|v| &v.name).collect();
    if saved.iter().eq(wanted.iter().copied()) {
        return Ok(());
    }
    let mut error = Error::new(Kind::Missing, format!("{origin} holds the variables of another program"));
    let list = |names: Vec<&Name>| names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
    let missing: Vec<&Name> = wanted.iter().copied().filter(|n| !saved.contains(n)).collect();
    let extra: Vec<&Name> = saved.iter().filter(|n| !wanted.contains(n)).collect();
    if !missing.is_empty() {
        error = error.note(format!("the program has, but the file has not: {}", list(missing)));
    }
    if !extra.is_empty() {
        error = error.note(format!("the file has, but the program has not: {}", list(extra)));
    }
    Err(error.help("load it into the program it was saved from, or choose the variables to load"))
}

/// Reads a combined file to its end.
fn read_combined<R: Read>(r: &mut ByteCursor<'_, R>, vars: &[&Var]) -> Result<Vec<(Name, Value)>> {
    let mut loaded = Vec::with_capacity(vars.len());
    for (i, var) in vars.iter().enumerate() {
        let value = read_value(r, var).map_err(|e| {
            e.note(format!("while loading variable `{}`, number {} of {}", var.name, i + 1, vars.len()))
        })?;
        loaded.push((var.name.clone(), value));
    }
    if r.left() > 0 {
        let last = vars.last().map_or("no variable at all".into(), |v| format!("the last variable, `{}`", v.name));
        let what = format!("{}: {} bytes are left over after {last} (at byte {})", r.origin(), r.left(), r.at());
        return Err(Error::new(Kind::Format, what)
            .help("the file holds more variables: load it into the program it was saved from"));
    }
    Ok(loaded)
}

/// Reads one variable of the kind the program says, and checks it.
fn read_value<R: Read>(r: &mut ByteCursor<'_, R>, var: &Var) -> Result<Value> {
    let at = r.at();
    let value = match var.kind {
        VarKind::SelectedRows => Value::Rows(read_rows(r)?),
        VarKind::Tensor => Value::Dense(read_tensor(r)?),
        other => {
            let what = format!("variable `{}` is of kind {other:?}, which files do not hold", var.name);
            return Err(Error::new(Kind::Unsupported, what));
        }
    };
    check(var, &value).map_err(|e| e.note(format!("found in {} at byte {at}", r.origin())))?;
    Ok(value)
}

/// Is this a value of the variable, as the program declares it?
pub(crate) fn check(var: &Var, value: &Value) -> Result<()> {
    let (tensor, dims) = match value {
        Value::Rows(rows) => (&rows.value, rows.whole_dims()),
        Value::Dense(tensor) => (tensor, *tensor.dims()),
        other => return Err(Error::internal(format!("a file gave {}", other.kind()))),
    };
    let mismatch = |kind| {
        let declared = match var.dtype {
            VarDType::Is(dtype) => format!("{dtype}{}", var.shape),
            VarDType::Other(_) => var.shape.to_string(),
        };
        let found = format!("{}{dims}", tensor.dtype());
        let what = format!("variable `{}`: the program expects {declared}, found {found}", var.name);
        Err(Error::new(kind, what).help("load what was saved from this program, or change the program to fit"))
    };
    if matches!(var.dtype, VarDType::Is(dtype) if dtype != tensor.dtype()) {
        return mismatch(Kind::DType);
    }
    // A variable that was declared without sizes takes any.
    if var.shape.rank() > 0 && !var.shape.fits(&dims) {
        return mismatch(Kind::Shape);
    }
    Ok(())
}

/// Reads a file that holds one tensor and nothing else.
pub fn read_tensor_file(path: &Path) -> Result<Tensor> {
    open_one(path)?.decode(|r| {
        let tensor = read_tensor(r)?;
        nothing_left(r)?;
        Ok(tensor)
    })
}

/// Reads a part of a file that holds one tensor: `dims` many elements after the first `seek`, as a server reads its
/// share of a parameter.
pub fn read_tensor_part(path: &Path, seek: usize, dims: Dims) -> Result<Tensor> {
    open_one(path)?.decode(|r| {
        let tensor = read_part(r, seek, dims)?;
        nothing_left(r)?;
        Ok(tensor)
    })
}

/// Opens a file by its path.
pub(crate) fn open_one(path: &Path) -> Result<StoredFile> {
    let (folder, name) = Local::around(path)?;
    folder.view()?.open(&name)
}

fn nothing_left<R: Read>(r: &ByteCursor<'_, R>) -> Result<()> {
    match r.left() {
        0 => Ok(()),
        left => Err(Error::new(Kind::Format, format!("{}: {left} bytes are left over after the tensor", r.origin()))
            .help("a combined file holds several tensors; load it as such")),
    }
}

/// Writes a file that holds one tensor, replacing an old one at once. The manifest of the folder is kept up to date if
/// there is one, but none is made for a single file.
pub fn write_tensor_file(path: &Path, tensor: &Tensor) -> Result<()> {
    write_one_file(path, &mut |out| write_tensor(tensor, out))
}

/// Replaces one file at once, as [`write_tensor_file`] does.
pub(crate) fn write_one_file(path: &Path, write: &mut WriteFile<'_>) -> Result<()> {
    let (folder, name) = Local::around(path)?;
    if !folder.root().is_dir() || folder.view()?.manifest().is_none() {
        return folder.replace_file(&name, write);
    }
    let mut staging = folder.begin()?;
    staging.file(&name, &[], write)?;
    staging.commit()
}
