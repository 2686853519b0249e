//! Parameters in the `safetensors` format: a JSON header and raw elements, as other frameworks exchange them.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use oarlock_ir::{Error, Kind, Name, Result, Var, Vars};
use oarlock_tensor::{DType, Dims, Tensor, Value};
use serde_json::{Map, Value as Json, json};

use crate::format::cursor::Reader;
use crate::model::vars::{check, hold, set_all};
use crate::store::{Store, View};

const DTYPES: [(DType, &str); 10] = [
    (DType::Bool, "BOOL"),
    (DType::U8, "U8"),
    (DType::I8, "I8"),
    (DType::I16, "I16"),
    (DType::I32, "I32"),
    (DType::I64, "I64"),
    (DType::F16, "F16"),
    (DType::BF16, "BF16"),
    (DType::F32, "F32"),
    (DType::F64, "F64"),
];

/// No header is longer: the limit of the format.
const MAX_HEADER: usize = 100_000_000;

/// The header's entry that is no tensor.
const METADATA: &str = "__metadata__";

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

/// Writes tensors. Wide elements come first, so that every tensor is aligned.
pub fn write_safetensors(items: &[(Name, &Tensor)], out: &mut dyn Write) -> io::Result<()> {
    let mut sorted: Vec<&(Name, &Tensor)> = items.iter().collect();
    sorted.sort_by(|(a, x), (b, y)| y.dtype().size().cmp(&x.dtype().size()).then_with(|| a.cmp(b)));
    let (mut header, mut at) = (Map::new(), 0);
    for (name, tensor) in &sorted {
        let end = at + tensor.bytes().len();
        header.insert(name.to_string(), entry(tensor, at, end));
        at = end;
    }
    let mut header = Json::Object(header).to_string();
    while !header.len().is_multiple_of(8) {
        header.push(' ');
    }
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(header.as_bytes())?;
    sorted.iter().try_for_each(|(_, tensor)| out.write_all(tensor.bytes()))
}

fn entry(tensor: &Tensor, begin: usize, end: usize) -> Json {
    let dtype = DTYPES.iter().find(|(d, _)| *d == tensor.dtype()).map(|(_, name)| *name);
    json!({"dtype": dtype, "shape": &tensor.dims()[..], "data_offsets": [begin, end]})
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
    view.open(file)?.decode(|r: &mut Reader<'_, _>| read_all(r))
}

/// Reads all tensors from bytes; `origin` names them in messages.
pub fn decode_safetensors(bytes: &[u8], origin: &str) -> Result<BTreeMap<String, Tensor>> {
    read_all(&mut Reader::new(bytes, origin))
}

/// Where a tensor is, after the header.
struct Place {
    name: String,
    dtype: DType,
    dims: Dims,
    begin: usize,
    end: usize,
}

fn read_all<R: Read>(r: &mut Reader<'_, R>) -> Result<BTreeMap<String, Tensor>> {
    let len = r.count(1, "the length of the header")?;
    if len > MAX_HEADER {
        return Err(r.error(format_args!("a header of {len} bytes is too long")));
    }
    let header: Json = serde_json::from_slice(&r.take(len, "the header")?)
        .map_err(|e| r.error(format_args!("the header is not JSON: {e}")))?;
    let Some(header) = header.as_object() else { return Err(r.error("the header is not a list of tensors")) };
    let mut places = Vec::with_capacity(header.len());
    for (name, entry) in header.iter().filter(|(name, _)| *name != METADATA) {
        let place = place(name, entry).ok_or_else(|| r.error(format_args!("the entry of `{name}` is malformed")))?;
        places.push(place);
    }
    places.sort_by_key(|place| (place.begin, place.end));
    check_places(r, &places)?;
    let mut tensors = BTreeMap::new();
    for place in places {
        let mut tensor = Tensor::new();
        tensor.resize(place.dtype, place.dims);
        r.fill(tensor.bytes_mut(), &place.name)?;
        tensors.insert(place.name, tensor);
    }
    Ok(tensors)
}

fn place(name: &str, entry: &Json) -> Option<Place> {
    let (dtype, _) = DTYPES.iter().find(|(_, n)| entry["dtype"] == *n)?;
    let number = |n: &Json| n.as_u64().and_then(|n| usize::try_from(n).ok());
    let sizes: Vec<usize> = entry["shape"].as_array()?.iter().map(number).collect::<Option<_>>()?;
    let [begin, end] = &entry["data_offsets"].as_array()?[..] else { return None };
    let (begin, end) = (number(begin)?, number(end)?);
    let bytes = sizes.iter().try_fold(dtype.size(), |n, &d| n.checked_mul(d))?;
    let dims = Dims::try_new(&sizes).ok()?;
    (end.checked_sub(begin) == Some(bytes)).then(|| Place { name: name.into(), dtype: *dtype, dims, begin, end })
}

/// Tensors follow each other without gaps, and fill the file: nothing is read twice or hidden.
fn check_places<R: Read>(r: &Reader<'_, R>, places: &[Place]) -> Result<()> {
    let mut at = 0;
    for place in places {
        if place.begin != at {
            return Err(r.error(format_args!("`{}` starts at {}, but {at} is next", place.name, place.begin)));
        }
        at = place.end;
    }
    match r.left() {
        left if left == at => Ok(()),
        left => Err(r.error(format_args!("the tensors have {at} bytes, but {left} follow the header"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<u8> {
        let (a, b) =
            (Tensor::from_slice([3], &[1u8, 2, 3]).unwrap(), Tensor::from_slice([2, 1], &[0.5f32, -1.0]).unwrap());
        let mut bytes = Vec::new();
        write_safetensors(&[("a".into(), &a), ("b".into(), &b)], &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn tensors_come_back_aligned() {
        let bytes = sample();
        let header = String::from_utf8_lossy(&bytes[8..]).split_inclusive("}}").next().unwrap().to_string();
        assert_eq!(
            header,
            r#"{"a":{"data_offsets":[8,11],"dtype":"U8","shape":[3]},"b":{"data_offsets":[0,8],"dtype":"F32","shape":[2,1]}}"#
        );
        let tensors = decode_safetensors(&bytes, "t").unwrap();
        assert_eq!(tensors["a"].data::<u8>().unwrap(), [1, 2, 3]);
        assert_eq!(tensors["b"].data::<f32>().unwrap(), [0.5, -1.0]);
    }

    #[test]
    fn gaps_overlaps_and_cuts_are_errors() {
        let bytes = sample();
        for n in 0..bytes.len() {
            assert!(decode_safetensors(&bytes[..n], "t").is_err(), "cut at {n}");
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let gap = text.replace("[8,11]", "[9,12]");
        let e = decode_safetensors(gap.as_bytes(), "t").unwrap_err();
        assert!(e.report().what.contains("`a` starts at 9, but 8 is next"), "{e}");
    }
}
