//! Reading and listing the repository's files, with errors that name the path.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Directories that hold what is built or fetched, not what is written: anywhere, and at the root.
const NOT_OURS: [&str; 3] = [".git", ".venv", "__pycache__"];
const NOT_OURS_AT_ROOT: [&str; 2] = ["dist", "target"];

pub(crate) fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// The entries of `dir`, sorted; none when it does not exist.
pub(crate) fn list(dir: &Path) -> Result<Vec<PathBuf>> {
    if !dir.exists() {
        return Ok(Vec::new());
    }
    let cannot = || format!("cannot list {}", dir.display());
    let mut paths = Vec::new();
    for entry in fs::read_dir(dir).with_context(cannot)? {
        paths.push(entry.with_context(cannot)?.path());
    }
    paths.sort();
    Ok(paths)
}

/// Every file of the repository, as a path from its root, without build output. Links are not followed.
pub(crate) fn walk() -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut dirs = vec![PathBuf::from(".")];
    while let Some(dir) = dirs.pop() {
        for path in list(&dir)? {
            let path = path.strip_prefix(".").unwrap_or(&path).to_path_buf();
            if path.is_symlink() || is_built(&path) {
                continue;
            }
            if path.is_dir() {
                dirs.push(path);
            } else {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

fn is_built(path: &Path) -> bool {
    let anywhere = path.file_name().is_some_and(|name| NOT_OURS.iter().any(|not| name == *not));
    // What `maturin develop` leaves beside the Python sources.
    let library = path.extension().is_some_and(|ext| ext == "so");
    anywhere || library || NOT_OURS_AT_ROOT.iter().any(|not| path == Path::new(not))
}

/// The file's name without its extension.
pub(crate) fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}
