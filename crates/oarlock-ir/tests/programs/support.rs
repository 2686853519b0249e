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

/// The arrays `program/*` of a numpy archive: each is the bytes of a program.
fn collect_npz(path: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    let arrays = oarlock_testkit::Npz::read(path);
    for name in ["program/main", "program/startup"] {
        found.push((format!("{}:{name}", path.display()), arrays.array(name).bytes().to_vec()));
    }
}
