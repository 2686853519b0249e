//! Parameters in the `safetensors` format: a JSON header and raw elements, as other frameworks exchange them.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use oarlock_ir::{Name, Result};
use oarlock_tensor::{DType, Dims, Tensor};
use serde_json::{Map, Value as Json, json};

use super::cursor::ByteCursor;
use super::dtype_names;

/// No header is longer: the limit of the format.
const MAX_HEADER: usize = 100_000_000;

/// The header's entry that is no tensor.
const METADATA: &str = "__metadata__";

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
    json!({"dtype": dtype_names::safetensors(tensor.dtype()), "shape": &tensor.dims()[..], "data_offsets": [begin, end]})
}

/// Reads all tensors from bytes; `origin` names them in messages.
pub fn decode_safetensors(bytes: &[u8], origin: &str) -> Result<BTreeMap<String, Tensor>> {
    read_tensors(&mut ByteCursor::new(bytes, origin))
}

/// Where a tensor is, after the header.
struct Place {
    name: String,
    dtype: DType,
    dims: Dims,
    begin: usize,
    end: usize,
}

pub(crate) fn read_tensors<R: Read>(r: &mut ByteCursor<'_, R>) -> Result<BTreeMap<String, Tensor>> {
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
    let dtype = dtype_names::of_safetensors(entry["dtype"].as_str()?)?;
    let number = |n: &Json| n.as_u64().and_then(|n| usize::try_from(n).ok());
    let sizes: Vec<usize> = entry["shape"].as_array()?.iter().map(number).collect::<Option<_>>()?;
    let [begin, end] = &entry["data_offsets"].as_array()?[..] else { return None };
    let (begin, end) = (number(begin)?, number(end)?);
    let bytes = sizes.iter().try_fold(dtype.size(), |n, &d| n.checked_mul(d))?;
    let dims = Dims::try_new(&sizes).ok()?;
    (end.checked_sub(begin) == Some(bytes)).then(|| Place { name: name.into(), dtype, dims, begin, end })
}

/// Tensors follow each other without gaps, and fill the file: nothing is read twice or hidden.
fn check_places<R: Read>(r: &ByteCursor<'_, R>, places: &[Place]) -> Result<()> {
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
    fn gaps_overlaps_and_truncations_are_errors() {
        let bytes = sample();
        for n in 0..bytes.len() {
            assert!(decode_safetensors(&bytes[..n], "t").is_err(), "truncated at {n}");
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let gap = text.replace("[8,11]", "[9,12]");
        let e = decode_safetensors(gap.as_bytes(), "t").unwrap_err();
        assert!(e.report().what.contains("`a` starts at 9, but 8 is next"), "{e}");
    }
}
