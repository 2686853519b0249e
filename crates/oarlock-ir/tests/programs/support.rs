//! Where programs come from.

use std::fs;
use std::path::{Path, PathBuf};

/// The directory of the programs beside this test.
pub(crate) fn committed_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// A program beside this test.
pub(crate) fn committed(name: &str) -> Vec<u8> {
    let path = committed_dir().join(name);
    fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The directory named by `OARLOCK_GOLDEN`, if any; `what` is skipped otherwise.
#[expect(clippy::disallowed_methods, reason = "where the large set of programs is, is a setting of the test run")]
pub(crate) fn golden_dir(what: &str) -> Option<PathBuf> {
    let dir = std::env::var_os("OARLOCK_GOLDEN").map(PathBuf::from);
    if dir.is_none() {
        eprintln!("skipped: OARLOCK_GOLDEN is not set ({what})");
    }
    dir
}

/// Every program beside this test and in the directory named by `OARLOCK_GOLDEN`, with its name.
pub(crate) fn every_program() -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    collect(&committed_dir(), &mut found);
    if let Some(dir) = golden_dir("the large set of programs") {
        collect(&dir, &mut found);
    }
    found
}

fn collect(dir: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    let entries = fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let mut paths: Vec<PathBuf> = entries.map(|e| e.expect("an entry").path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            collect(&path, found);
        } else if is_program(&path) {
            found.push((path.display().to_string(), fs::read(&path).expect("a readable file")));
        } else if path.extension().is_some_and(|e| e == "npz") && dir.ends_with("programs") {
            collect_npz(&path, found);
        }
    }
}

fn is_program(path: &Path) -> bool {
    let endings = ["program", "pdmodel", "main", "startup", "test", "infer", "pserver"];
    path.ends_with("__model__") || path.extension().is_some_and(|e| endings.iter().any(|x| e == *x))
}

/// The arrays `program/*` of an uncompressed numpy archive: each is the bytes of a program.
fn collect_npz(path: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    let bytes = fs::read(path).expect("a readable file");
    for name in ["program/main.npy", "program/startup.npy"] {
        let array = stored_member(&bytes, name).unwrap_or_else(|| panic!("{}: no {name}", path.display()));
        let header = u16::from_le_bytes([array[8], array[9]]) as usize;
        found.push((format!("{}:{name}", path.display()), array[10 + header..].to_vec()));
    }
}

/// A member of a zip archive that is stored without compression, found through the central directory.
fn stored_member<'a>(zip: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let u16_at = |at: usize| u16::from_le_bytes([zip[at], zip[at + 1]]) as usize;
    let u32_at = |at: usize| u32::from_le_bytes([zip[at], zip[at + 1], zip[at + 2], zip[at + 3]]) as usize;
    let end = zip.windows(4).rposition(|w| w == b"PK\x05\x06")?;
    let mut at = u32_at(end + 16);
    while zip[at..].starts_with(b"PK\x01\x02") {
        let (name_len, extra_len, comment_len) = (u16_at(at + 28), u16_at(at + 30), u16_at(at + 32));
        if &zip[at + 46..at + 46 + name_len] == name.as_bytes() {
            assert_eq!(u16_at(at + 10), 0, "{name} is compressed");
            let (size, local) = (u32_at(at + 24), u32_at(at + 42));
            let data = local + 30 + u16_at(local + 26) + u16_at(local + 28);
            return Some(&zip[data..data + size]);
        }
        at += 46 + name_len + extra_len + comment_len;
    }
    None
}
