//! Every operator of Fluid 1.8 is defined, or unsupported with a reason.

use std::collections::BTreeSet;

use oarlock_ir::Registry;
use oarlock_testkit::{Json, golden_dir, json};

/// Operators of other crates: files are `oarlock-io`'s.
const ELSEWHERE: [&str; 4] = ["load", "load_combine", "save", "save_combine"];

/// The names of Fluid's operators: of the specification beside the full golden data, else of the list kept here.
fn names() -> BTreeSet<String> {
    let spec = golden_dir().and_then(|dir| std::fs::read_to_string(dir.parent()?.join("spec/ops.json")).ok());
    match spec {
        Some(text) => {
            let spec: Json = json::from_str(&text).expect("JSON");
            spec["ops"].as_object().expect("operators by name").keys().cloned().collect()
        }
        None => include_str!("fluid_ops.txt").split_whitespace().map(String::from).collect(),
    }
}

#[test]
fn every_fluid_operator_is_defined_or_unsupported() {
    let defined: BTreeSet<&str> = oarlock_ops::ops().map(|op| op.sig().op_type).collect();
    let unsupported: Vec<&str> = oarlock_ops::unsupported().map(|(op, _)| op).collect();
    let known = |op: &str| defined.contains(op) || unsupported.contains(&op) || ELSEWHERE.contains(&op);
    let missing: Vec<String> = names().into_iter().filter(|op| !known(op)).collect();
    assert!(missing.is_empty(), "neither defined nor in unsupported.rs: {missing:?}");
    let both: Vec<&&str> = unsupported.iter().filter(|op| defined.contains(**op)).collect();
    assert!(both.is_empty(), "defined, so delete them from unsupported.rs: {both:?}");
    let once: BTreeSet<&str> = unsupported.iter().copied().collect();
    assert_eq!(once.len(), unsupported.len(), "an operator is listed twice in unsupported.rs");
}

#[test]
fn error_about_an_unsupported_operator_gives_the_reason() {
    let registry = Registry::new(oarlock_ops::ops(), []).with_unsupported(oarlock_ops::unsupported());
    let Err(e) = registry.entry("py_func") else { panic!("it is unsupported") };
    assert_eq!(
        e.to_string(),
        "error[unsupported]: operator `py_func` is not supported: it calls Python, so only the Python package has it\n  \
         help: docs/ops.md lists the operators of this version"
    );
}
