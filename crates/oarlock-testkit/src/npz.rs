//! Arrays in numpy's files, read by `oarlock-io`; a file that cannot be read fails the test.

use std::collections::BTreeMap;
use std::path::Path;

use oarlock_tensor::Tensor;

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
        Npz { arrays: read(path.as_ref(), oarlock_io::read_npz) }
    }

    /// Only the arrays whose names start with `prefix`, which is removed.
    pub fn only(self, prefix: &str) -> Npz {
        let stripped = |(n, t): (String, Tensor)| n.strip_prefix(prefix).map(|n| (n.to_string(), t));
        Npz { arrays: self.arrays.into_iter().filter_map(stripped).collect() }
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
    read(path.as_ref(), oarlock_io::read_npy)
}

fn read<T>(path: &Path, decode: fn(&[u8], &str) -> oarlock_ir::Result<T>) -> T {
    let origin = path.display().to_string();
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{origin}: {e}"));
    decode(&bytes, &origin).unwrap_or_else(|e| panic!("{e}"))
}
