use std::collections::BTreeMap;
use std::path::Path;

use oarlock_tensor::{DType, Dims, Tensor};

/// The arrays of an `.npz` file by name, compressed or not.
pub struct Npz {
    arrays: BTreeMap<String, Tensor>,
}

impl Npz {
    /// Reads a file.
    ///
    /// # Panics
    /// If it cannot be read or is not what `numpy.savez` writes.
    pub fn read(path: impl AsRef<Path>) -> Npz {
        let path = path.as_ref();
        let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        Npz { arrays: entries(&bytes).into_iter().map(|(n, b)| (n, npy(&b))).collect() }
    }

    /// Only the arrays whose names start with `prefix`, which is cut off.
    pub fn only(self, prefix: &str) -> Npz {
        let cut = |(n, t): (String, Tensor)| n.strip_prefix(prefix).map(|n| (n.to_string(), t));
        Npz { arrays: self.arrays.into_iter().filter_map(cut).collect() }
    }

    /// The names of the arrays, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.arrays.keys().map(String::as_str)
    }

    /// An array, if it is there.
    pub fn get(&self, name: &str) -> Option<&Tensor> {
        self.arrays.get(name)
    }

    /// An array that must be there.
    ///
    /// # Panics
    /// If it is not.
    pub fn array(&self, name: &str) -> &Tensor {
        self.get(name).unwrap_or_else(|| panic!("no array `{name}`; there are {:?}", self.arrays.keys()))
    }
}

/// Reads an `.npy` file.
///
/// # Panics
/// If it cannot be read or is not what `numpy.save` writes.
pub fn read_npy(path: impl AsRef<Path>) -> Tensor {
    let path = path.as_ref();
    npy(&std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
}

fn u16_at(b: &[u8], at: usize) -> usize {
    u16::from_le_bytes([b[at], b[at + 1]]) as usize
}

fn u32_at(b: &[u8], at: usize) -> usize {
    u32::from_le_bytes(b[at..at + 4].try_into().expect("four bytes")) as usize
}

/// Names and contents of a zip archive, by its central directory.
fn entries(zip: &[u8]) -> Vec<(String, Vec<u8>)> {
    let end = zip.windows(4).rposition(|w| w == b"PK\x05\x06").expect("a zip archive");
    let (count, mut at) = (u16_at(zip, end + 10), u32_at(zip, end + 16));
    let mut found = Vec::new();
    for _ in 0..count {
        let deflated = u16_at(zip, at + 10) == 8;
        let (size, name_len) = (u32_at(zip, at + 20), u16_at(zip, at + 28));
        let local = u32_at(zip, at + 42);
        let name = String::from_utf8_lossy(&zip[at + 46..at + 46 + name_len]).into_owned();
        let data = local + 30 + u16_at(zip, local + 26) + u16_at(zip, local + 28);
        let stored = &zip[data..data + size];
        let contents = if deflated { inflate(stored) } else { stored.to_vec() };
        found.push((name.trim_end_matches(".npy").to_string(), contents));
        at += 46 + name_len + u16_at(zip, at + 30) + u16_at(zip, at + 32);
    }
    found
}

fn inflate(bytes: &[u8]) -> Vec<u8> {
    miniz_oxide::inflate::decompress_to_vec(bytes).expect("deflated bytes")
}

/// An array in numpy's file format.
fn npy(bytes: &[u8]) -> Tensor {
    assert_eq!(&bytes[..6], b"\x93NUMPY", "a .npy array");
    let header_len = u16_at(bytes, 8);
    let header = std::str::from_utf8(&bytes[10..10 + header_len]).expect("an ASCII header");
    assert!(header.contains("'fortran_order': False"), "row-major arrays only: {header}");
    let field =
        |name: &str| header.split(&format!("'{name}': ")).nth(1).unwrap_or_else(|| panic!("{name} in {header}"));
    let descr = field("descr").trim_start_matches('\'').split('\'').next().expect("a dtype");
    let shape = field("shape").trim_start_matches('(').split(')').next().expect("a shape");
    let sizes: Vec<usize> =
        shape.split(',').map(str::trim).filter(|s| !s.is_empty()).map(|s| s.parse().expect("a size")).collect();
    let dtype = match &descr[1..] {
        "b1" => DType::Bool,
        "i1" => DType::I8,
        "u1" => DType::U8,
        "i2" => DType::I16,
        "i4" => DType::I32,
        "i8" => DType::I64,
        "f2" => DType::F16,
        "f4" => DType::F32,
        "f8" => DType::F64,
        other => panic!("dtype {other}"),
    };
    let mut t = Tensor::new();
    t.resize(dtype, Dims::new(&sizes));
    t.bytes_mut().copy_from_slice(&bytes[10 + header_len..]);
    t
}
