//! The contents of a path: a model, checkpoints, variables; with sizes and the state of every file. For people who look at files.

use oarlock_ir::{Error, Kind, Name, Program, Result};
use oarlock_tensor::Tensor;

use crate::checkpoint::{Checkpoint, Checkpoints};
use crate::format::pickle::{Pickled, read_pickle};
use crate::format::safetensors::decode_safetensors;
use crate::format::tensor_stream::{decode_rows, decode_tensor};
use crate::model::inference::{InferenceModel, ParamFiles, find_model};
use crate::model::table_files::{is_in_parts, table_list, table_of_list};
use crate::model::vars::persistables;
use crate::store::{View, open_around, open_store};

/// The contents of a path.
#[derive(Debug)]
pub struct Inspection {
    /// The kind of contents, in words.
    pub what: String,
    /// The network, if it is a model.
    pub model: Option<InferenceModel>,
    /// The checkpoints, if it is a folder of them.
    pub checkpoints: Vec<Checkpoint>,
    /// The variables and where they are.
    pub variables: Vec<VariableInfo>,
    /// The files and whether they are as they were saved.
    pub files: Vec<FileInfo>,
}

/// A variable that a path holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariableInfo {
    /// Its name.
    pub name: Name,
    /// Its element type and sizes.
    pub ty: String,
    /// Bytes of its elements, if they are known.
    pub bytes: Option<usize>,
    /// The file that holds it.
    pub file: String,
}

/// A file that a path holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileInfo {
    /// Its name in the folder.
    pub name: String,
    /// Bytes.
    pub bytes: u64,
    /// Whether it is as it was saved.
    pub state: FileState,
}

/// Whether a file is as it was saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileState {
    /// Size and checksum are as noted.
    Good,
    /// Nothing was noted when it was saved: another system wrote it.
    Unchecked,
    /// It is not what was saved.
    Damaged(String),
}

/// Looks at a path: a model (a directory, a prefix or a file of it), a directory of variables or of checkpoints, or a
/// file of one or several variables.
pub fn inspect(location: &str) -> Result<Inspection> {
    if let Ok(view) = open_store(location)?.view() {
        return inspect_folder(location, &*view);
    }
    match find_model(location) {
        Ok((store, files)) => inspect_model(&*store.view()?, &files.model, &files.params),
        Err(no_model) => {
            let (store, name) = open_around(location)?;
            let view = store.view()?;
            if view.has(&name) { inspect_file(location, &*view, &name) } else { Err(no_model) }
        }
    }
}

fn inspect_folder(location: &str, view: &dyn View) -> Result<Inspection> {
    let checkpoints = Checkpoints::new(open_store(location)?).list()?;
    if !checkpoints.is_empty() {
        let what = "a folder of checkpoints".to_string();
        return Ok(Inspection { what, model: None, checkpoints, variables: Vec::new(), files: Vec::new() });
    }
    if let Ok((_, files)) = find_model(location) {
        return inspect_model(view, &files.model, &files.params);
    }
    let files = file_infos(view, |_| true)?;
    let mut variables = Vec::new();
    for file in &files {
        variables.extend(variables_of(view, &file.name)?);
    }
    let what = format!("{} variables in a directory", variables.len());
    Ok(Inspection { what, model: None, checkpoints, variables, files })
}

fn inspect_model(view: &dyn View, file: &str, params: &ParamFiles) -> Result<Inspection> {
    let model = InferenceModel::read(view, file)?;
    let mut variables: Vec<VariableInfo> = declared(&model.program, params);
    let mut names: Vec<String> = variables.iter().map(|v| v.file.clone()).collect();
    for variable in &mut variables {
        if is_in_parts(view, &variable.name)?
            && let (Some(list), Some(info)) = (table_list(view, &variable.name)?, table_info(view, &variable.name)?)
        {
            names.extend(list.parts.into_iter().map(|(part, _)| part));
            names.push(format!("{}.parts", variable.name));
            *variable = info;
        } else if let Some(actual) = of_its_file(view, variable)? {
            *variable = actual;
        }
    }
    let files = file_infos(view, |name| name == file || names.iter().any(|n| n == name))?;
    let what = format!("an inference model of {} operators", model.program.global().ops.len());
    Ok(Inspection { what, model: Some(model), checkpoints: Vec::new(), variables, files })
}

/// The part of a variable, declared larger than its file, that the file really holds: the rows of a table that has few of its ids. In a
/// file of several variables it cannot be told.
fn of_its_file(view: &dyn View, variable: &VariableInfo) -> Result<Option<VariableInfo>> {
    if !view.has(&variable.file) {
        return Ok(None);
    }
    let room = view.open(&variable.file)?.len();
    if variable.bytes.is_some_and(|n| n as u64 <= room) {
        return Ok(None);
    }
    let unknown = VariableInfo { bytes: None, ..variable.clone() };
    let found = variables_of(view, &variable.file)?.into_iter().find(|v| v.name == variable.name);
    Ok(Some(found.unwrap_or(unknown)))
}

/// The variables of a network, as it declares them.
fn declared(program: &Program, params: &ParamFiles) -> Vec<VariableInfo> {
    let info = |v: &oarlock_ir::Var| VariableInfo {
        name: v.name.clone(),
        ty: v.ty().to_string(),
        bytes: v.shape.numel().and_then(|n| n.checked_mul(v.ty().dtype.size())),
        file: match params {
            ParamFiles::Combined(file) => file.clone(),
            ParamFiles::Separate | ParamFiles::Nowhere => v.name.to_string(),
        },
    };
    persistables(program).into_iter().map(info).collect()
}

fn inspect_file(location: &str, view: &dyn View, name: &str) -> Result<Inspection> {
    let variables = variables_of(view, name)?;
    if variables.is_empty() {
        let what = format!("{location} is no model, and no file of variables");
        return Err(Error::new(Kind::Format, what).help(
            "name a model, a directory of variables or checkpoints, a parameter file, `.pdparams` or `.safetensors`",
        ));
    }
    let files = file_infos(view, |file| file == name)?;
    let what = format!("{} variables in a file", variables.len());
    Ok(Inspection { what, model: None, checkpoints: Vec::new(), variables, files })
}

/// The variables in a file; none if it holds something else.
fn variables_of(view: &dyn View, file: &str) -> Result<Vec<VariableInfo>> {
    if let Some(name) = table_of_list(file) {
        return Ok(table_info(view, name)?.into_iter().collect());
    }
    let source = view.open(file)?;
    let names = source.seal().map(|seal| seal.variables.clone()).unwrap_or_default();
    // A damaged file is listed as such; what it holds is not asked.
    let Ok(bytes) = source.bytes() else { return Ok(Vec::new()) };
    let info = |name: &str, tensor: &Tensor| VariableInfo {
        name: name.into(),
        ty: format!("{}{}", tensor.dtype(), tensor.dims()),
        bytes: Some(tensor.bytes().len()),
        file: file.into(),
    };
    let tensors: Vec<VariableInfo> = if file.ends_with(".safetensors") {
        decode_safetensors(&bytes, file)?.iter().map(|(name, tensor)| info(name, tensor)).collect()
    } else if [".pdparams", ".pdopt"].iter().any(|suffix| file.ends_with(suffix)) {
        let arrays = read_pickle(&bytes, file)?;
        let array = |(name, item): &(String, Pickled)| match item {
            Pickled::Array(tensor) => Some(info(name, tensor)),
            _ => None,
        };
        arrays.iter().filter_map(array).collect()
    } else if let Some(rows) = only_rows(&bytes, file) {
        // Parts are listed.
        let part = file.rsplit_once(".part-").is_some_and(|(table, _)| view.has(&format!("{table}.parts")));
        if part || is_in_parts(view, file)? { Vec::new() } else { vec![rows] }
    } else {
        let tensors = split_tensors(&bytes, file);
        let own = [Name::from(file)];
        let names = if names.len() == tensors.len() { &names[..] } else { &own[..] };
        let name = |i: usize| names.get(i).map_or_else(|| format!("(number {i})"), ToString::to_string);
        tensors.iter().enumerate().map(|(i, tensor)| info(&name(i), tensor)).collect()
    };
    Ok(tensors)
}

/// A table in parts; none if its list says that it is whole.
fn table_info(view: &dyn View, name: &str) -> Result<Option<VariableInfo>> {
    let Some(list) = table_list(view, name)? else { return Ok(None) };
    let Some(width) = list.width else { return Ok(None) };
    let rows: usize = list.parts.iter().filter_map(|(_, rows)| *rows).sum();
    Ok(Some(VariableInfo {
        name: name.into(),
        ty: rows_type(rows, width),
        bytes: Some(4 * rows * width),
        file: format!("{} parts", list.parts.len()),
    }))
}

/// The rows of a hashed table, if a file holds them and nothing else.
fn only_rows(bytes: &[u8], file: &str) -> Option<VariableInfo> {
    let (rows, _) = decode_rows(bytes, file).ok().filter(|(_, len)| *len == bytes.len())?;
    let width = rows.value.dims().matrix(1).1;
    let ty = rows_type(rows.rows.len(), width);
    Some(VariableInfo { name: file.into(), ty, bytes: Some(rows.value.bytes().len()), file: file.into() })
}

fn rows_type(rows: usize, width: usize) -> String {
    format!("hashed table of {rows} rows, f32[{width}] each")
}

/// The tensors that follow each other in a file; none if it holds anything else.
fn split_tensors(bytes: &[u8], origin: &str) -> Vec<Tensor> {
    let (mut tensors, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        match decode_tensor(&bytes[at..], origin) {
            Ok((tensor, len)) => {
                tensors.push(tensor);
                at += len;
            }
            Err(_) => return Vec::new(),
        }
    }
    tensors
}

fn file_infos(view: &dyn View, wanted: impl Fn(&str) -> bool) -> Result<Vec<FileInfo>> {
    let mut infos = Vec::new();
    for name in view.files()?.into_iter().filter(|name| wanted(name)) {
        let source = view.open(&name)?;
        let (bytes, sealed) = (source.len(), source.seal().is_some());
        let state = match source.verify() {
            Err(e) => FileState::Damaged(e.report().what.clone()),
            Ok(()) if sealed => FileState::Good,
            Ok(()) => FileState::Unchecked,
        };
        infos.push(FileInfo { name, bytes, state });
    }
    Ok(infos)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tensor_stream::write_rows;
    use oarlock_tensor::{DType, SelectedRows};

    #[test]
    fn a_table_has_the_size_of_its_rows_and_not_of_all_its_ids() {
        let dir = std::env::temp_dir().join(format!("oarlock-inspect-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a directory");
        let rows = SelectedRows { rows: vec![7, 1 << 39], height: 1 << 40, value: Tensor::zeros(DType::F32, [2, 16]) };
        let mut bytes = Vec::new();
        write_rows(&rows, &mut bytes).expect("bytes");
        std::fs::write(dir.join("emb"), bytes).expect("a file");
        let store = open_store(&dir.to_string_lossy()).expect("a store");
        let view = store.view().expect("a view");
        let declared = |file: &str, bytes| VariableInfo {
            name: "emb".into(),
            ty: "f32[1099511627776, 16]".into(),
            bytes: Some(bytes),
            file: file.into(),
        };
        let found = of_its_file(&*view, &declared("emb", 16 << 42)).expect("a look").expect("another size");
        assert_eq!((found.ty.as_str(), found.bytes), ("hashed table of 2 rows, f32[16] each", Some(128)));
        assert_eq!(of_its_file(&*view, &declared("emb", 64)).expect("a look"), None);
        assert_eq!(of_its_file(&*view, &declared("nowhere", 16 << 42)).expect("a look"), None);
        std::fs::remove_dir_all(dir).expect("no directory");
    }
}
