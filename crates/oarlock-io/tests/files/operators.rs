//! The operators that read and write files, run in programs.

use std::sync::Arc;

use oarlock_exec::{ExecOptions, Executor, Scope};
use oarlock_ir::{Program, Registry, Result};
use oarlock_tensor::{Lod, SelectedRows, Tensor, Value, f16};

use super::common::{TempDir, golden, read};

/// Runs operators over `w: f32[4, 2]`, `b: f32[2]`, `i: i64[4, 1]`, `h: f16[2]` and the rows `t: f32[6, 2]`.
fn run(ops: &str, scope: &Scope) -> Result<()> {
    let text = format!(
        "block 0 {{
            var w: f32[4, 2] persistable
            var part: f32[2, 2] persistable
            var b: f32[2] persistable
            var i: i64[4, 1] persistable
            var h: f16[2] persistable
            var l: f32[?, 2] lod 1 persistable
            var t: rows f32[6, 2] persistable
            {ops}
        }}"
    );
    let registry = Arc::new(Registry::new(oarlock_io::ops(), []));
    let options = ExecOptions { registry, threads: 1, fuse: false, without_fusions: Vec::new(), check_nan_inf: false };
    Executor::new(options).run(&Program::from_text(&text).unwrap(), &[], &[], scope).map(drop)
}

fn values() -> Scope {
    let scope = Scope::new();
    scope.set("w", Tensor::from_slice([4, 2], &[0.0f32, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]).unwrap());
    scope.set("b", Tensor::from_slice([2], &[0.5f32, 1.0 / 3.0]).unwrap());
    scope
}

#[test]
fn saved_variables_are_loaded_by_operators() {
    let dir = TempDir::new();
    let at = |name: &str| format!("file_path: \"{}/deep/{name}\"", dir.path().display());
    run(&format!("save(X: w) {{{}}}\nsave_combine(X: [w, b]) {{{}}}", at("w"), at("all")), &values()).unwrap();
    let scope = Scope::new();
    let load = format!("w = load() {{{}}}\npart = load() {{{}, seek: 2L, shape: [2L, 2L]}}", at("w"), at("w"));
    run(&load, &scope).unwrap();
    assert_eq!(scope.tensor("w"), values().tensor("w"));
    assert_eq!(scope.tensor("part").unwrap().to_f64(), [2.0, 3.0, 4.0, 5.0]);
    let scope = Scope::new();
    run(&format!("Out: [w, b] = load_combine() {{{}}}", at("all")), &scope).unwrap();
    assert_eq!((scope.tensor("w"), scope.tensor("b")), (values().tensor("w"), values().tensor("b")));
    let e = run(&format!("Out: [w] = load_combine() {{{}}}", at("all")), &scope).unwrap_err();
    assert!(e.report().what.contains("32 bytes are left over after the last variable, `w`"), "{e}");
    let e = run(&format!("i = load() {{{}}}", at("w")), &scope).unwrap_err();
    assert!(e.report().what.starts_with("variable `i`: the program expects i64[4, 1], found f32[4, 2]"), "{e}");
}

#[test]
fn files_of_fluid_are_loaded() {
    let files = golden().join("ops/files");
    let scope = Scope::new();
    let at = |name: &str| format!("file_path: \"{}/{name}\"", files.display());
    let ops = format!(
        "l = load() {{{}}}\nt = load() {{{}}}\ni = load() {{{}}}",
        at("t_lod1"),
        at("t_selected_rows"),
        at("t_i64")
    );
    run(&ops, &scope).unwrap();
    assert_eq!(scope.tensor("l").unwrap().lod(), &Lod::new(vec![vec![0, 2, 5]]));
    assert_eq!(scope.tensor("i").unwrap().to_f64(), [4.0, 5.0, 9.0, 2.0]);
    let rows = scope.find("t").unwrap();
    let dir = TempDir::new();
    let path = dir.path().join("t");
    assert_eq!(rows.read().rows().unwrap().rows, [3, 1, 3]);
    run(&format!("save(X: t) {{file_path: \"{}\"}}", path.display()), &scope).unwrap();
    assert_eq!(read(path), read(files.join("t_selected_rows")));
}

#[test]
fn halves_are_converted_on_the_way() {
    let dir = TempDir::new();
    let (half, full) = (dir.path().join("half"), dir.path().join("full"));
    let ops = format!(
        "save(X: b) {{file_path: \"{}\", save_as_fp16: true}}\nsave(X: b) {{file_path: \"{}\"}}",
        half.display(),
        full.display()
    );
    run(&ops, &values()).unwrap();
    let expected = [f16::from_f32(0.5), f16::from_f32(1.0 / 3.0)];
    for (path, convert) in [(&half, "false"), (&full, "true")] {
        let scope = Scope::new();
        run(&format!("h = load() {{file_path: \"{}\", load_as_fp16: {convert}}}", path.display()), &scope).unwrap();
        assert_eq!(scope.tensor("h").unwrap().data::<f16>().unwrap(), expected);
    }
}

#[test]
fn a_value_that_cannot_be_saved_is_an_error() {
    let dir = TempDir::new();
    let path = dir.path().join("w");
    let save = format!("save(X: w) {{file_path: \"{}\", overwrite: false}}", path.display());
    let e = run(&save, &Scope::new()).unwrap_err();
    assert!(e.report().what.contains("`w`"), "{e}");
    run(&save, &values()).unwrap();
    let e = run(&save, &values()).unwrap_err();
    assert_eq!(e.report().help.as_deref(), Some("choose another file, or set `overwrite`"));
    let e = run("save_combine(X: [w]) {file_path: \"x\", save_to_memory: true}", &values()).unwrap_err();
    assert_eq!(e.report().what, "`save_combine` works on files, not on memory (`save_to_memory`)");
    let scope = values();
    let rows = SelectedRows { rows: vec![0], height: 6, value: Tensor::from_slice([1, 2], &[1.0f32, 2.0]).unwrap() };
    scope.set("t", Value::Rows(rows));
    run(&format!("save(X: t) {{file_path: \"{}\"}}", path.display()), &scope).unwrap();
}
