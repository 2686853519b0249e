//! The manifest of a save: sizes, checksums and variables of its files.
//!
//! The list is JSON inside a tensor of bytes: Fluid's `load_program_state` reads every file of a directory as a tensor, and
//! must not stumble over this one.

use std::collections::BTreeMap;

use oarlock_ir::{Error, Kind, Name, Result};
use oarlock_tensor::{DType, Tensor};
use serde_json::{Map, Value as Json, json};

use crate::format::tensor_stream::{decode_tensor, encode_tensor};

/// The name of the file that lists the others.
pub const MANIFEST: &str = "oarlock.manifest";

/// The version of the list's format.
const FORMAT: u64 = 1;

/// The entry of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seal {
    /// Bytes.
    pub size: u64,
    /// The CRC-32 of all bytes (the polynomial of zlib).
    pub crc32: u32,
    /// For a file of several variables: which, in order.
    pub variables: Vec<Name>,
    /// Where the file is while it is not in its place: in an object store, between the two steps of a save.
    pub at: Option<String>,
}

/// The files that were saved, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manifest {
    /// The entry of each file.
    pub files: BTreeMap<String, Seal>,
}

impl Manifest {
    /// The file of the list.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let text = self.to_json();
        let mut tensor = Tensor::zeros(DType::U8, [text.len()]);
        tensor.bytes_mut().copy_from_slice(text.as_bytes());
        let mut bytes = Vec::with_capacity(text.len() + 64);
        encode_tensor(&tensor, &mut bytes);
        bytes
    }

    /// Reads the file of the list; `origin` names it in messages.
    pub fn from_bytes(bytes: &[u8], origin: &str) -> Result<Manifest> {
        match decode_tensor(bytes, origin) {
            Ok((tensor, len)) if len == bytes.len() => Manifest::from_json(tensor.bytes(), origin),
            Ok((_, len)) => Err(bad(origin, format!("not a list of files: it should end at byte {len}"))),
            Err(e) => Err(bad(origin, format!("not a list of files: {}", e.report().what))),
        }
    }

    fn to_json(&self) -> String {
        let files: Map<String, Json> = self.files.iter().map(|(name, seal)| (name.clone(), seal_json(seal))).collect();
        let mut text = format!("{:#}", json!({"format": FORMAT, "files": files}));
        text.push('\n');
        text
    }

    fn from_json(text: &[u8], origin: &str) -> Result<Manifest> {
        let bad = |what: String| bad(origin, what);
        let all: Json = serde_json::from_slice(text).map_err(|e| bad(format!("not a list of files: {e}")))?;
        match all["format"].as_u64() {
            Some(FORMAT) => {}
            Some(other) => return Err(bad(format!("format {other} is unknown; this version writes {FORMAT}"))),
            None => return Err(bad("it does not say its format".into())),
        }
        let Some(files) = all["files"].as_object() else { return Err(bad("it lists no files".into())) };
        let mut manifest = Manifest::default();
        for (name, seal) in files {
            let seal = read_seal(seal).ok_or_else(|| bad(format!("the entry of `{name}` is malformed")))?;
            manifest.files.insert(name.clone(), seal);
        }
        Ok(manifest)
    }
}

fn bad(origin: &str, what: String) -> Error {
    Error::new(Kind::Format, format!("{origin}: {what}"))
        .help("delete this file to load the others without checking them")
}

fn seal_json(seal: &Seal) -> Json {
    let mut entry = json!({"size": seal.size, "crc32": format!("{:08x}", seal.crc32)});
    if !seal.variables.is_empty() {
        entry["variables"] = seal.variables.iter().map(|n| n.as_str()).collect();
    }
    if let Some(at) = &seal.at {
        entry["at"] = at.as_str().into();
    }
    entry
}

fn read_seal(entry: &Json) -> Option<Seal> {
    let crc32 = u32::from_str_radix(entry["crc32"].as_str()?, 16).ok()?;
    let variables = match &entry["variables"] {
        Json::Null => Vec::new(),
        Json::Array(names) => names.iter().map(|n| n.as_str().map(Name::from)).collect::<Option<_>>()?,
        _ => return None,
    };
    let at = match &entry["at"] {
        Json::Null => None,
        at => Some(at.as_str()?.to_string()),
    };
    Some(Seal { size: entry["size"].as_u64()?, crc32, variables, at })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_read_as_it_was_written() {
        let mut manifest = Manifest::default();
        let seal = Seal { size: 28, crc32: 0xbeef, variables: vec!["a".into(), "b\"".into()], at: None };
        manifest.files.insert("__params__".into(), seal.clone());
        manifest.files.insert("w/1".into(), Seal { variables: vec![], at: Some(".oarlock-1/w/1".into()), ..seal });
        let bytes = manifest.to_bytes();
        assert_eq!(Manifest::from_bytes(&bytes, "m").unwrap(), manifest);
        for n in 0..bytes.len() {
            assert!(Manifest::from_bytes(&bytes[..n], "m").is_err(), "truncated at {n}");
        }
    }

    #[test]
    fn a_newer_format_is_refused() {
        let e = Manifest::from_json(br#"{"format": 2}"#, "dir/list").unwrap_err();
        assert_eq!(
            e.to_string(),
            "error[format]: dir/list: format 2 is unknown; this version writes 1\n  \
             help: delete this file to load the others without checking them"
        );
    }
}
