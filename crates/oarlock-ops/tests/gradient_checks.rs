//! Every gradient is compared with numeric differentiation.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use oarlock_ir::{Entry, Grad, Kind, Op, Program, Registry};

/// Operators whose gradient cannot be compared with differences of their outputs, and why.
const NOT_BY_DIFFERENCES: [(&str, &str); 13] = [
    ("array_to_lod_tensor", "reads an array; programs with it are compared with golden ones"),
    ("conditional_block", "runs a block; control flow is tested on whole programs"),
    ("cvm", "its gradient is the show and click counts, not a derivative"),
    ("increment", "its gradient undoes the step; it is no derivative"),
    ("lod_tensor_to_array", "writes an array; programs with it are compared with golden ones"),
    ("read_from_array", "reads an array; programs with it are compared with golden ones"),
    ("recurrent", "runs a block; control flow is tested on whole programs"),
    ("spectral_norm", "its gradient is what Fluid trains with, which is not the derivative"),
    ("select_input", "one of its inputs has no value; control flow is tested on whole programs"),
    ("select_output", "one of its outputs has no value; control flow is tested on whole programs"),
    ("tensor_array_to_tensor", "reads an array; programs with it are compared with golden ones"),
    ("while", "runs a block; control flow is tested on whole programs"),
    ("write_to_array", "writes an array; programs with it are compared with golden ones"),
];

/// Does an operator define a gradient?
fn has_gradient(entry: &Entry) -> bool {
    let (program, op) = (Program::new(), Op::new(entry.sig.op_type));
    let mut g = Grad::new(&program, &op, &|_| false, None);
    match entry.grad(&mut g) {
        Ok(()) => !g.into_ops().is_empty(),
        // Without its variables an operator may fail otherwise.
        Err(e) => e.kind() != Kind::NoGradient,
    }
}

/// The text of every operator's file, by the file's name.
fn operator_files() -> HashMap<String, String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the directory of crates");
    let entries = |dir: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
        entries.map(|entry| entry.expect("an entry").path()).collect()
    };
    let name = |path: &Path| path.file_stem().expect("a name").to_string_lossy().into_owned();
    let families = entries(crates).into_iter().filter(|path| name(path).starts_with("oarlock-ops-"));
    let dirs = families.flat_map(|path| entries(&path.join("src"))).filter(|path| path.is_dir());
    let files = dirs.flat_map(|dir| entries(&dir));
    files.map(|path| (name(&path), fs::read_to_string(&path).expect("a file"))).collect()
}

/// Every operator with a gradient compares it with differences, in its own file.
#[test]
fn every_gradient_is_checked_by_differences() {
    let texts = operator_files();
    let text_of = |op_type: &str| texts.get(op_type).or_else(|| texts.get(&format!("{op_type}_")));
    let mut unchecked = Vec::new();
    let registry = Registry::new(oarlock_ops::ops(), []);
    for op_type in registry.types() {
        let entry = registry.entry(op_type).expect("a known operator");
        // A file is named after its first operator; the others are its gradients.
        let Some(text) = text_of(op_type) else { continue };
        let checked = [".grad(&[", "::check_values(", "check_gradients("].iter().any(|call| text.contains(call));
        let excused = NOT_BY_DIFFERENCES.iter().any(|(t, _)| *t == op_type);
        if has_gradient(entry) && !checked && !excused {
            unchecked.push(op_type);
        }
        assert!(!(excused && checked), "`{op_type}` is checked by differences and needs no excuse");
    }
    assert!(unchecked.is_empty(), "no check of the gradients of {}", unchecked.join(", "));
}
