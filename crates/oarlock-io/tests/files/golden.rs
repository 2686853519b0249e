//! Files of Fluid 1.8, both ways: what is read and written again is the same, byte for byte.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use oarlock_io::{
    InferenceModel, Local, ModelFiles, Pickled, encode_vars, find_model, load_program, load_vars, persistables,
    read_pickle, read_state, save_program, save_vars, write_pickle, write_rows, write_tensor,
};
use oarlock_ir::{Name, Program, VarKind};
use oarlock_tensor::Tensor;

use super::common::{TempDir, Values, golden, names, nets, program, read, tensors};

/// All files below a directory.
fn files(dir: &Path, found: &mut Vec<PathBuf>) {
    for name in names(dir) {
        let path = dir.join(name);
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

/// Two values per server that a distributed save wrote into one file.
fn has_repeats(path: &Path) -> bool {
    path.to_string_lossy().contains("dist_mnist_mlp/final/fc_0.w_0_beta")
}

#[test]
fn every_tensor_file_is_written_back_identically() {
    let mut all = Vec::new();
    for net in names(&golden()) {
        for dir in ["init", "final", "infer_sep"] {
            let dir = golden().join(&net).join(dir);
            if dir.is_dir() {
                files(&dir, &mut all);
            }
        }
    }
    files(&golden().join("ops/files/persist_sep"), &mut all);
    files(&golden().join("ops/files/infer_sep"), &mut all);
    all.extend(["t_f32", "t_i64", "t_lod1"].map(|f| golden().join("ops/files").join(f)));
    all.retain(|path| !path.ends_with("__model__"));
    assert!(all.len() > 30, "{} files", all.len());
    for path in all {
        let bytes = read(&path);
        let (tensor, used) = oarlock_io::decode_tensor(&bytes, "t").unwrap();
        assert!(used == bytes.len() || has_repeats(&path), "{}", path.display());
        let mut again = Vec::new();
        write_tensor(&tensor, &mut again).unwrap();
        assert_eq!(again, bytes[..used], "{}", path.display());
    }
}

#[test]
fn selected_rows_are_written_back_identically() {
    let bytes = read(golden().join("ops/files/t_selected_rows"));
    let (rows, used) = oarlock_io::decode_rows(&bytes, "t").unwrap();
    assert_eq!((rows.height, &rows.rows[..], used), (6, &[3, 1, 3][..], bytes.len()));
    let mut again = Vec::new();
    write_rows(&rows, &mut again).unwrap();
    assert_eq!(again, bytes);
}

#[test]
fn every_program_is_written_back_identically() {
    let mut all = Vec::new();
    files(&golden(), &mut all);
    let is_program = |p: &PathBuf| {
        let name = p.file_name().unwrap().to_string_lossy();
        name == "__model__" || name.ends_with(".program") || name.ends_with(".pdmodel")
    };
    all.retain(is_program);
    assert!(all.len() >= 8, "{} programs", all.len());
    for path in all {
        assert!(program(&path).to_bytes() == read(&path), "{}", path.display());
    }
}

#[test]
fn pickles_are_written_back_identically() {
    let mut all = Vec::new();
    files(&golden(), &mut all);
    all.retain(|p| p.extension().is_some_and(|e| e == "pdparams" || e == "pdopt"));
    assert!(all.len() >= 4, "{} pickles", all.len());
    for path in all {
        let bytes = read(&path);
        let arrays: Vec<(Name, Tensor)> = read_pickle(&bytes, "p")
            .unwrap()
            .into_iter()
            .map(|(name, item)| match item {
                Pickled::Array(tensor) => (name.into(), tensor),
                other => panic!("{name} is {other:?}"),
            })
            .collect();
        let items: Vec<(Name, &Tensor)> = arrays.iter().map(|(n, t)| (n.clone(), t)).collect();
        let mut again = Vec::new();
        write_pickle(&items, &mut again).unwrap();
        assert!(again == bytes, "{}", path.display());
    }
}

#[test]
fn saving_all_variables_gives_the_same_files() {
    for net in nets() {
        let dir = golden().join(net);
        let main = program(dir.join("main.program"));
        let vars = persistables(&main);
        let values = Values::default();
        load_vars(&Local::at(dir.join("final")), None, &vars, &values).unwrap();
        let out = TempDir::new();
        save_vars(&out.store(), None, &vars, &values).unwrap();
        for name in names(&dir.join("final")) {
            assert_eq!(read(out.path().join(&name)), read(dir.join("final").join(&name)), "{net} {name}");
        }
        let combined = dir.join("final_comb");
        if combined.is_dir() {
            assert_eq!(encode_vars(&vars, &values).unwrap(), read(combined.join("__params__")), "{net}");
            let again = Values::default();
            load_vars(&Local::at(&combined), Some("__params__"), &vars, &again).unwrap();
            assert_eq!(encode_vars(&vars, &again).unwrap(), read(combined.join("__params__")), "{net}");
        }
    }
}

#[test]
fn a_distributed_save_loads() {
    let dir = golden().join("dist_mnist_mlp");
    if !dir.is_dir() {
        return oarlock_testkit::skip("OARLOCK_GOLDEN is not set: no distributed saves here");
    }
    let main = program(golden().join("mnist_mlp/main.program"));
    let vars: Vec<_> = persistables(&main).into_iter().filter(|v| v.name != "learning_rate_0").collect();
    load_vars(&Local::at(dir.join("final")), None, &vars, &Values::default()).unwrap();
}

/// Marks the parameters, which programs of 1.x do not.
fn mark_parameters(program: &mut Program, params: &[u8]) {
    for (name, _) in read_pickle(params, "p").unwrap() {
        program.find_var_mut(0, &name).unwrap().meta.is_parameter = true;
    }
}

#[test]
fn saving_a_program_gives_the_same_files() {
    for net in nets() {
        let dir = golden().join(net).join("save");
        if !dir.is_dir() {
            continue;
        }
        let params = read(dir.join("model.pdparams"));
        let mut main = program(dir.join("model.pdmodel"));
        mark_parameters(&mut main, &params);
        let values = Values::default();
        load_program(&Local::at(&dir), "model.pdopt", &main, None, &values).unwrap();
        let out = TempDir::new();
        save_program(&out.store(), "model", &main, &values).unwrap();
        // Order among variables is that of the program, which a file does not keep: compare what is read.
        for file in ["model.pdparams", "model.pdopt"] {
            let sorted = |bytes: &[u8]| {
                let mut items = read_pickle(bytes, file).unwrap();
                items.sort_by(|a, b| a.0.cmp(&b.0));
                items
            };
            assert_eq!(sorted(&read(out.path().join(file))), sorted(&read(dir.join(file))), "{net} {file}");
        }
        assert_eq!(read(out.path().join("model.pdmodel")), read(dir.join("model.pdmodel")));
        let state = read_state(&Local::at(&dir), "model", None).unwrap();
        let all: BTreeSet<String> = persistables(&main).iter().map(|v| v.name.to_string()).collect();
        assert_eq!(state.keys().cloned().collect::<BTreeSet<_>>(), all);
        let separate = read_state(&Local::at(golden().join(net)), "final", None).unwrap();
        assert_eq!(state, separate, "{net}");
    }
}

/// The name of the variable behind the `scale` that export adds.
fn target(model: &InferenceModel, fetch: &Name) -> Name {
    let ops = &model.program.global().ops;
    let scale = ops.iter().find(|op| op.outputs.args().any(|out| out == fetch)).unwrap();
    scale.inputs.get("X")[0].clone()
}

/// Gives the outputs of a model the names that ours have: the number at the end of Fluid's is not stable.
fn rename_outputs(model: &mut InferenceModel, to: &[Name]) {
    let from = std::mem::replace(&mut model.fetches, to.to_vec());
    let block = model.program.global_mut();
    for (from, to) in from.iter().zip(to) {
        let mut var = block.vars.shift_remove(from).unwrap();
        var.name = to.clone();
        block.set_var(var);
        for op in &mut block.ops {
            op.inputs.rename(from, to);
            op.outputs.rename(from, to);
        }
    }
}

#[test]
fn exported_models_equal_those_of_fluid() {
    for net in nets() {
        let dir = golden().join(net);
        let store = Local::at(dir.join("infer_sep"));
        let mut theirs = InferenceModel::load(&store, &ModelFiles::separate(), &Values::default()).unwrap();
        let feeds: Vec<String> = theirs.feeds.iter().map(|n| n.to_string()).collect();
        let feeds: Vec<&str> = feeds.iter().map(String::as_str).collect();
        let targets: Vec<Name> = theirs.fetches.iter().map(|f| target(&theirs, f)).collect();
        let targets: Vec<&str> = targets.iter().map(Name::as_str).collect();
        for source in ["main.program", "test.program"] {
            let ours = InferenceModel::export(&program(dir.join(source)), &feeds, &targets).unwrap();
            rename_outputs(&mut theirs, &ours.fetches);
            assert_eq!(oarlock_ir::diff(&theirs.program, &ours.program, &[]), None, "{net} from {source}");
            assert_eq!((&ours.feeds, &ours.fetches), (&theirs.feeds, &theirs.fetches));
            let out = TempDir::new();
            let files = ModelFiles::combined("__params__");
            ours.save(&out.store(), &files, &tensors(&dir.join("infer_sep"))).unwrap();
            let params = out.path().join("__params__");
            assert_eq!(read(params), read(dir.join("infer_comb/__params__")), "{net}");
        }
    }
}

#[test]
fn models_are_found_and_loaded_in_every_layout() {
    for net in nets() {
        let dir = golden().join(net);
        let mut loaded = Vec::new();
        for layout in ["infer_sep", "infer_comb"] {
            let (store, files) = find_model(dir.join(layout)).unwrap();
            let expected =
                if layout == "infer_sep" { ModelFiles::separate() } else { ModelFiles::combined("__params__") };
            assert_eq!(files, expected, "{net}");
            let values = Values::default();
            let model = InferenceModel::load(&*store, &files, &values).unwrap();
            assert!(!model.feeds.is_empty() && model.fetches.len() == 1, "{net}");
            loaded.push(encode_vars(&persistables(&model.program), &values).unwrap());
        }
        assert_eq!(loaded[0], loaded[1], "{net}");
    }
}

#[test]
fn models_of_newer_releases_load() {
    let expected = ["emb_w", "fc_0.b_0", "fc_0.w_0", "fc_1.b_0", "fc_1.w_0"];
    let mut loaded = Vec::new();
    for (release, kind) in [("2.6.2", ModelFiles::prefix("model")), ("3.3.1", ModelFiles::json("model"))] {
        let dir = golden().join(format!("compat_{release}"));
        for path in [dir.clone(), dir.join("model"), dir.join("model.pdiparams")] {
            let (store, files) = find_model(&path).unwrap();
            assert_eq!(files, kind);
            let values = Values::default();
            let model = InferenceModel::load(&*store, &files, &values).unwrap();
            assert_eq!(model.feeds, ["x", "ids"]);
            let vars = persistables(&model.program);
            assert_eq!(vars.iter().map(|v| v.name.as_str()).collect::<BTreeSet<_>>(), BTreeSet::from(expected));
            loaded.push(expected.map(|name| (values.tensor(name).dims().to_vec(), vars.len())));
            oarlock_ir::verify(&model.program, None).unwrap();
        }
    }
    assert!(loaded.windows(2).all(|w| w[0] == w[1]));
}

#[test]
fn a_3x_model_is_the_same_network() {
    let (store, files) = find_model(golden().join("compat_3.3.1")).unwrap();
    let model = InferenceModel::load(&*store, &files, &Values::default()).unwrap();
    let types: Vec<&str> = model.program.global().ops.iter().map(|op| op.op_type.as_str()).collect();
    assert_eq!(
        types,
        [
            "feed",
            "feed",
            "lookup_table_v2",
            "reduce_sum",
            "matmul",
            "elementwise_add",
            "relu",
            "concat",
            "matmul",
            "elementwise_add",
            "softmax",
            "fetch"
        ]
    );
    let concat = model.program.global().ops.iter().find(|op| op.op_type == "concat").unwrap();
    assert_eq!(concat.inputs.get("X").len(), 2);
    assert_eq!(concat.attrs.get("axis"), Some(&oarlock_ir::Attr::Int(1)));
    let lists =
        model.program.global().vars.values().filter(|v| matches!(v.kind, VarKind::FeedList | VarKind::FetchList));
    assert_eq!(lists.count(), 2);
}

#[test]
fn the_files_of_operators_hold_what_their_list_says() {
    let dir = golden().join("ops/files");
    let list: oarlock_testkit::Json = oarlock_testkit::json::from_slice(&read(dir.join("files.json"))).unwrap();
    // As f32, since the list's decimals are not read to the last bit of an f64.
    let numbers = |entry: &oarlock_testkit::Json| -> Vec<f32> {
        entry["values"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap() as f32).collect()
    };
    for file in ["t_f32", "t_i64", "t_lod1", "combine2"] {
        let bytes = read(dir.join(file));
        let mut at = 0;
        for entry in list[file].as_array().unwrap() {
            let (tensor, used) = oarlock_io::decode_tensor(&bytes[at..], file).unwrap();
            at += used;
            assert_eq!(tensor.to_f64().iter().map(|v| *v as f32).collect::<Vec<_>>(), numbers(entry), "{file}");
            let lod: Vec<Vec<usize>> = oarlock_testkit::json::from_value(entry["lod"].clone()).unwrap_or_default();
            assert_eq!(tensor.lod().levels(), lod, "{file}");
        }
        assert_eq!(at, bytes.len(), "{file}");
    }
    let order: Vec<&str> =
        list["persist_combined_order"].as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect();
    let main = program(dir.join("fluid_save/model.pdmodel"));
    let mut vars: Vec<&str> = persistables(&main).iter().map(|v| v.name.as_str()).collect();
    vars.sort_unstable();
    assert_eq!(vars, order);
    load_vars(&Local::at(&dir), Some("persist_combined"), &persistables(&main), &Values::default()).unwrap();
}
