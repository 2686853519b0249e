//! Values that do not fit are refused, with a message that says what, where and what to do; and nothing is half loaded.

use oarlock_io::{
    InferenceModel, Local, ModelFiles, Store, encode_vars, export_safetensors, import_safetensors, load_program,
    load_vars, load_vars_from_bytes, parameters, persistables, read_state, read_tensor_file, read_tensor_part,
    save_program, save_vars, set_state, write_tensor_file,
};
use oarlock_ir::{Dim, Error, Kind, Program, Shape, VarDType};
use oarlock_tensor::{DType, Dims, SelectedRows, Tensor, Value};

use super::common::{TempDir, Values, names, read, small_program, small_values};

/// Without the paths, which differ from run to run.
fn text(e: &Error, dir: &TempDir) -> String {
    e.to_string().replace(&dir.path().display().to_string(), "DIR")
}

fn changed(change: impl FnOnce(&mut oarlock_ir::Var)) -> Program {
    let mut program = small_program();
    change(program.find_var_mut(0, "w").unwrap());
    program
}

#[test]
fn another_shape_or_type_is_refused_and_nothing_is_set() {
    let dir = TempDir::new();
    let program = small_program();
    for combined in [None, Some("all")] {
        save_vars(&dir.store(), combined, &persistables(&program), &small_values(1.0)).unwrap();
    }
    let wider = changed(|w| w.shape = Shape(vec![Dim::Is(3), Dim::Is(4)]));
    let longs = changed(|w| w.dtype = VarDType::Is(DType::I64));
    let values = Values::default();
    let load = |combined, program| load_vars(&dir.store(), combined, &persistables(program), &values).unwrap_err();
    assert_eq!(
        text(&load(None, &wider), &dir),
        "error[shape]: variable `w`: the program expects f32[3, 4], found f32[3, 2]\n  \
         found in DIR/w at byte 0\n  while loading variable `w`\n  \
         help: load what was saved from this program, or change the program to fit"
    );
    assert_eq!(
        text(&load(Some("all"), &longs), &dir),
        "error[dtype]: variable `w`: the program expects i64[3, 2], found f32[3, 2]\n  \
         found in DIR/all at byte 60\n  while loading variable `w`, number 3 of 3\n  \
         help: load what was saved from this program, or change the program to fit"
    );
    assert!(values.is_empty());
}

#[test]
fn a_missing_variable_is_named() {
    let dir = TempDir::new();
    let program = small_program();
    save_vars(&dir.store(), None, &parameters(&program), &small_values(1.0)).unwrap();
    let values = small_values(5.0);
    let e = load_vars(&dir.store(), None, &persistables(&program), &values).unwrap_err();
    assert_eq!(
        text(&e, &dir),
        "error[missing]: variable `lr` is not in DIR: there is no file of that name\n  \
         help: load what was saved from this program; if all variables are in one file, give its name (`filename`)"
    );
    assert_eq!(values.tensor("w").to_f64(), [5.0; 6]);
    // A server loads its part of a complete save: more files than variables are fine.
    load_vars(&dir.store(), None, &parameters(&program)[..1], &values).unwrap();
    assert_eq!(values.tensor("w").to_f64(), [1.0; 6]);
}

#[test]
fn another_programs_combined_file_is_refused_by_its_names() {
    let dir = TempDir::new();
    let program = small_program();
    save_vars(&dir.store(), Some("all"), &persistables(&program), &small_values(1.0)).unwrap();
    let mut other = small_program();
    let block = other.global_mut();
    let mut var = block.vars.shift_remove("lr").unwrap();
    var.name = "rate".into();
    block.set_var(var);
    let e = load_vars(&dir.store(), Some("all"), &persistables(&other), &Values::default()).unwrap_err();
    assert_eq!(
        text(&e, &dir),
        "error[missing]: DIR/all holds the variables of another program\n  \
         the program has, but the file has not: `rate`\n  the file has, but the program has not: `lr`\n  \
         help: load it into the program it was saved from, or choose the variables to load"
    );
}

#[test]
fn combined_files_are_read_to_their_end_exactly() {
    let program = small_program();
    let vars = persistables(&program);
    let bytes = encode_vars(&vars, &small_values(2.0)).unwrap();
    let values = Values::default();
    load_vars_from_bytes(&bytes, &vars, &values).unwrap();
    assert_eq!(values.tensor("lr").to_f64(), [2.0]);
    let e = load_vars_from_bytes(&bytes, &vars[..2], &Values::default()).unwrap_err();
    assert_eq!(
        e.to_string(),
        "error[shape]: variable `w`: the program expects f32[3, 2], found f32[1]\n  \
         found in the given bytes at byte 32\n  while loading variable `w`, number 2 of 2\n  \
         help: load what was saved from this program, or change the program to fit"
    );
    let longer = [&bytes[..], &[0; 3]].concat();
    let e = load_vars_from_bytes(&longer, &vars, &Values::default()).unwrap_err();
    assert_eq!(
        e.to_string(),
        "error[format]: the given bytes: 3 bytes are left over after the last variable, `w` (at byte 110)\n  \
         help: the file holds more variables: load it into the program it was saved from"
    );
    for n in 0..bytes.len() {
        let e = load_vars_from_bytes(&bytes[..n], &vars, &Values::default()).unwrap_err();
        assert_eq!(e.kind(), Kind::Format, "truncated at {n}");
    }
}

#[test]
fn a_combined_file_is_no_variable() {
    let dir = TempDir::new();
    let program = small_program();
    let bytes = encode_vars(&persistables(&program), &small_values(2.0)).unwrap();
    std::fs::write(dir.path().join("b"), bytes).unwrap();
    let b = program.global().var("b").unwrap();
    let e = load_vars(&dir.store(), None, &[b], &Values::default()).unwrap_err();
    assert_eq!(
        text(&e, &dir),
        "error[format]: DIR/b: 78 bytes are left over after the variable (at byte 32)\n  while loading variable `b`\n  \
         help: a combined file holds several variables; to load it as such, give its name (`filename`)"
    );
}

#[test]
fn flipped_bytes_are_found_and_nothing_is_set() {
    let program = small_program();
    for combined in [None, Some("all")] {
        let dir = TempDir::new();
        save_vars(&dir.store(), combined, &persistables(&program), &small_values(1.0)).unwrap();
        for name in names(dir.path()).iter().filter(|n| *n != oarlock_io::MANIFEST) {
            let path = dir.path().join(name);
            let good = read(&path);
            for at in 0..good.len() {
                let mut flipped = good.clone();
                flipped[at] ^= 1 << (at % 8);
                std::fs::write(&path, flipped).unwrap();
                let values = Values::default();
                let e = load_vars(&dir.store(), combined, &persistables(&program), &values).unwrap_err();
                assert!(e.report().what.contains("is not what was saved: its checksum is"), "byte {at}: {e}");
                assert!(values.is_empty());
            }
            std::fs::write(&path, &good[1..]).unwrap();
            let e = load_vars(&dir.store(), combined, &persistables(&program), &Values::default()).unwrap_err();
            let (found, saved) = (good.len() - 1, good.len());
            assert_eq!(
                e.report().what.replace(&dir.path().display().to_string(), "DIR"),
                format!("DIR/{name} is not what was saved: it has {found} bytes, but {saved} were saved")
            );
            std::fs::write(&path, good).unwrap();
        }
        load_vars(&dir.store(), combined, &persistables(&program), &Values::default()).unwrap();
    }
}

fn loaded_b(dir: &TempDir, program: &Program) -> Vec<f64> {
    let values = Values::default();
    load_vars(&dir.store(), None, &persistables(program), &values).unwrap();
    values.tensor("b").to_f64()
}

#[test]
fn without_a_manifest_files_load_unchecked() {
    let dir = TempDir::new();
    let program = small_program();
    save_vars(&dir.store(), None, &persistables(&program), &small_values(1.0)).unwrap();
    std::fs::remove_file(dir.path().join(oarlock_io::MANIFEST)).unwrap();
    assert_eq!(loaded_b(&dir, &program), [1.0; 2]);
}

#[test]
fn a_variable_without_value_is_not_saved() {
    let dir = TempDir::new();
    let program = small_program();
    let e = save_vars(&dir.store(), None, &persistables(&program), &Values::default()).unwrap_err();
    assert_eq!(
        e.to_string(),
        "error[missing]: variable `w` has no value to save\n  help: run the startup program or load values first"
    );
    assert!(dir.names().is_empty());
}

#[test]
fn names_cannot_lead_out_of_the_folder() {
    let dir = TempDir::new();
    let store = Local::at(dir.path().join("inner"));
    for name in ["../w", "/etc/w", "a//b", ".oarlock-committed/w", "oarlock.manifest", "a/.."] {
        let mut program = small_program();
        let mut var = program.global().var("w").unwrap().clone();
        var.name = name.into();
        program.global_mut().set_var(var);
        let values = small_values(1.0);
        *oarlock_ir::Vars::find_or_create(&values, name).write() = Value::Dense(values.tensor("w"));
        let e = save_vars(&store, None, &persistables(&program), &values).unwrap_err();
        assert_eq!(e.kind(), Kind::Argument, "{name}: {e}");
    }
    assert_eq!(dir.names(), ["inner"]);
    assert!(names(&dir.path().join("inner")).is_empty());
}

#[test]
fn names_with_slashes_make_folders_and_rows_have_files() {
    let dir = TempDir::new();
    let text = "block 0 {\nvar block/w: f32[1] persistable\nvar t: rows f32[9, 2] persistable\n}";
    let program = Program::from_text(text).unwrap();
    let rows = SelectedRows { rows: vec![3, 3], height: 9, value: Tensor::from_slice([2, 2], &[1.0f32; 4]).unwrap() };
    let values = Values::of([("block/w", Value::from(Tensor::scalar(7.0f32))), ("t", Value::Rows(rows.clone()))]);
    save_vars(&dir.store(), None, &persistables(&program), &values).unwrap();
    assert_eq!(dir.store().view().unwrap().files().unwrap(), ["block/w", "t"]);
    let again = Values::default();
    load_vars(&dir.store(), None, &persistables(&program), &again).unwrap();
    assert_eq!(again.tensor("block/w").to_f64(), [7.0]);
    assert_eq!(oarlock_ir::Vars::find(&again, "t").unwrap().read().rows().unwrap(), &rows);
    let e = save_vars(&dir.store(), Some("all"), &persistables(&program), &values).unwrap_err();
    assert_eq!(e.kind(), Kind::Unsupported);
}

#[test]
fn a_program_and_its_state_come_back() {
    let dir = TempDir::new();
    let program = small_program();
    save_program(&dir.store(), "model", &program, &small_values(3.0)).unwrap();
    assert_eq!(dir.names(), ["model.pdmodel", "model.pdopt", "model.pdparams", "oarlock.manifest"]);
    let values = Values::default();
    load_program(&dir.store(), "model", &program, None, &values).unwrap();
    assert_eq!(values.tensor("lr").to_f64(), [3.0]);
    let wider = changed(|w| w.shape = Shape(vec![Dim::Is(3), Dim::Is(4)]));
    let e = load_program(&dir.store(), "model", &wider, None, &Values::default()).unwrap_err();
    assert_eq!(
        text(&e, &dir),
        "error[shape]: variable `w`: the program expects f32[3, 4], found f32[3, 2]\n  found in DIR/model.pdparams\n  \
         help: load what was saved from this program, or change the program to fit"
    );
    let e = load_program(&dir.store(), "nothing", &program, None, &Values::default()).unwrap_err();
    assert_eq!(
        text(&e, &dir),
        "error[missing]: in DIR there is neither nothing.pdparams nor nothing\n  \
         help: check the path: it is the one given to save, without a suffix"
    );
}

#[test]
fn a_program_also_loads_from_directories_and_combined_files() {
    let dir = TempDir::new();
    let program = small_program();
    let vars = persistables(&program);
    save_vars(&Local::at(dir.path().join("sep")), None, &parameters(&program), &small_values(3.0)).unwrap();
    save_vars(&dir.store(), Some("all"), &vars, &small_values(4.0)).unwrap();
    let values = small_values(0.0);
    load_program(&dir.store(), "sep", &program, None, &values).unwrap();
    assert_eq!((values.tensor("w").to_f64()[0], values.tensor("lr").to_f64()[0]), (3.0, 0.0));
    load_program(&dir.store(), "all", &program, Some(&vars), &values).unwrap();
    assert_eq!(values.tensor("lr").to_f64(), [4.0]);
    let e = load_program(&dir.store(), "all", &program, None, &values).unwrap_err();
    assert_eq!(
        text(&e, &dir),
        "error[argument]: all in DIR is one file of many variables, but a file does not say which\n  \
         help: pass the list of variables (`var_list`)"
    );
    assert_eq!(read_state(&dir.store(), "sep", None).unwrap().len(), 2);
    assert_eq!(read_state(&dir.store(), "all", Some(&vars)).unwrap().len(), 3);
}

#[test]
fn state_is_set_where_it_fits() {
    let program = small_program();
    let values = small_values(0.0);
    let state = [("w", vec![3, 2]), ("other", vec![1])];
    let state = |w: &[usize]| {
        let mut all: std::collections::BTreeMap<String, Tensor> =
            state.iter().map(|(n, d)| (n.to_string(), Tensor::zeros(DType::F32, Dims::new(d)))).collect();
        all.insert("w".into(), Tensor::from_slice(Dims::new(w), &vec![8.0f32; w.iter().product()]).unwrap());
        all
    };
    assert_eq!(set_state(&program, state(&[3, 2]), &values).unwrap(), ["other"]);
    assert_eq!(values.tensor("w").to_f64(), [8.0; 6]);
    let e = set_state(&program, state(&[2, 3]), &values).unwrap_err();
    assert_eq!(
        e.to_string(),
        "error[shape]: variable `w`: the program has f32[3, 2], the given state has f32[2, 3]\n  \
         help: take the state from the same program, or leave this variable out"
    );
    let e = set_state(&program, state(&[3, 2]), &Values::default()).unwrap_err();
    assert_eq!(e.to_string(), "error[missing]: variable `b` has no value yet\n  help: run the startup program first");
}

#[test]
fn export_checks_feeds_and_targets() {
    let program = small_program();
    let export = |feeds: &[&str], targets: &[&str]| InferenceModel::export(&program, feeds, targets);
    assert_eq!(export(&["x"], &["y"]).unwrap().fetches, ["save_infer_model/scale_0.tmp_0"]);
    let first_line = |e: Error| e.to_string().lines().next().unwrap().to_string();
    for (feeds, targets, expected) in [
        (&["x"][..], &[][..], "error[argument]: an inference model without targets computes nothing"),
        (&["x", "x"], &["y"], "error[argument]: `x` is fed twice"),
        (&["x", "lr"], &["y"], "error[argument]: the targets do not depend on the feed `lr`"),
        (&["x"], &["z"], "error[unknown]: there is no variable `z` in block 0 or around it"),
    ] {
        assert_eq!(first_line(export(feeds, targets).unwrap_err()), expected);
    }
}

#[test]
fn a_model_saves_and_loads_with_and_without_parameters() {
    let dir = TempDir::new();
    let model = InferenceModel::export(&small_program(), &["x"], &["y"]).unwrap();
    let values = small_values(6.0);
    for files in [ModelFiles::separate(), ModelFiles::combined("__params__"), ModelFiles::prefix("m")] {
        model.save(&dir.store(), &files, &values).unwrap();
        let loaded = Values::default();
        let again = InferenceModel::load(&dir.store(), &files, &loaded).unwrap();
        assert_eq!((again.feeds, again.fetches), (model.feeds.clone(), model.fetches.clone()));
        assert_eq!(loaded.tensor("w").to_f64(), [6.0; 6]);
        assert!(oarlock_ir::Vars::find(&loaded, "lr").is_none());
    }
    let only = TempDir::new();
    let files = ModelFiles { params: oarlock_io::ParamFiles::Nowhere, ..ModelFiles::separate() };
    model.save(&only.store(), &files, &Values::default()).unwrap();
    assert_eq!(only.names(), ["__model__", "oarlock.manifest"]);
    InferenceModel::load(&only.store(), &files, &Values::default()).unwrap();
}

#[test]
fn one_tensor_in_one_file() {
    let dir = TempDir::new();
    let tensor = Tensor::from_slice([4, 2], &[0i64, 1, 2, 3, 4, 5, 6, 7]).unwrap();
    let path = dir.path().join("deep/er/t");
    write_tensor_file(&path, &tensor).unwrap();
    assert_eq!(names(path.parent().unwrap()), ["t"]);
    assert_eq!(read_tensor_file(&path).unwrap(), tensor);
    let part = read_tensor_part(&path, 2, Dims::from([2, 2])).unwrap();
    assert_eq!(part.data::<i64>().unwrap(), [2, 3, 4, 5]);
    // Where a manifest lists the file, it stays true.
    let program = small_program();
    save_vars(&dir.store(), None, &persistables(&program), &small_values(1.0)).unwrap();
    write_tensor_file(&dir.path().join("b"), &Tensor::from_slice([2], &[9.0f32, 9.0]).unwrap()).unwrap();
    assert_eq!(loaded_b(&dir, &program), [9.0; 2]);
}

#[test]
fn safetensors_hold_the_parameters() {
    let dir = TempDir::new();
    let program = small_program();
    export_safetensors(&dir.store(), "m.safetensors", &persistables(&program), &small_values(2.5)).unwrap();
    let values = Values::default();
    let unused = import_safetensors(&dir.store(), "m.safetensors", &parameters(&program), &values).unwrap();
    assert_eq!((unused, values.tensor("w").to_f64()), (vec!["lr".to_string()], vec![2.5; 6]));
    let wider = changed(|w| w.shape = Shape(vec![Dim::Is(3), Dim::Is(4)]));
    let e = import_safetensors(&dir.store(), "m.safetensors", &parameters(&wider), &Values::default()).unwrap_err();
    assert_eq!(e.kind(), Kind::Shape);
}
