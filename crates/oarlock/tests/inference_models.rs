//! Saved inference models, of the predecessor and of newer releases: loaded, run, compared with what they computed there.

use std::path::Path;

use oarlock_exec::Scope;
use oarlock_io::{InferenceModel, Local, ModelFiles, find_model};
use oarlock_tensor::{Lod, Tensor};
use oarlock_testkit::{Npz, Tolerance, assert_close, golden_dir, skip};

use crate::golden_runs::executor;

/// What is fed: arrays, some with the offsets of sequences beside them.
fn feeds(path: &Path) -> Vec<(String, Tensor)> {
    let arrays = Npz::read(path);
    let names = arrays.names().filter(|n| !n.ends_with(".lod0"));
    let feed = |name: &str| {
        let mut tensor = arrays.array(name).clone();
        if let Some(offsets) = arrays.get(&format!("{name}.lod0")) {
            tensor.set_lod(Lod::new(vec![offsets.to_f64().iter().map(|&n| n as usize).collect()]));
        }
        (name.to_string(), tensor)
    };
    names.map(feed).collect()
}

/// Runs a model on what is fed; returns its only output.
fn predict(model: &InferenceModel, scope: &Scope, feeds: &[(String, Tensor)]) -> oarlock_ir::Result<Tensor> {
    let feeds: Vec<(&str, &Tensor)> = feeds.iter().map(|(n, t)| (n.as_str(), t)).collect();
    let fetches: Vec<&str> = model.fetches.iter().map(|n| n.as_str()).collect();
    let mut out = executor(1, true).run_tensors(&model.program, &feeds, &fetches, scope)?;
    assert_eq!(out.len(), 1);
    Ok(out.remove(0))
}

#[test]
fn saved_models_predict_what_they_did_where_they_were_saved() {
    let Some(golden) = golden_dir() else { return skip("OARLOCK_GOLDEN is not set: no saved models here") };
    let nets =
        ["fit_a_line", "fit_a_line_decay", "mnist_mlp", "lenet_bn", "ctr_dnn_sgd", "ctr_dnn_adam", "ctr_dnn_lod_sgd"];
    let models = nets.iter().flat_map(|net| [format!("{net}/infer_sep"), format!("{net}/infer_comb")]);
    let newer = ["compat_2.6.2/model", "compat_3.3.1/model"].map(String::from);
    for path in models.chain(newer) {
        let path = golden.join(path);
        let scope = Scope::new();
        let (folder, files) = find_model(&path).unwrap_or_else(|e| panic!("{e}"));
        let model = InferenceModel::load(&folder, &files, &scope).unwrap_or_else(|e| panic!("{e}"));
        let dir = path.parent().expect("a directory");
        let feeds = feeds(&dir.join("infer_in.npz"));
        match predict(&model, &scope, &feeds) {
            Ok(out) => {
                let expected = oarlock_testkit::read_npy(dir.join("infer_out.npy"));
                assert_close(&path.display().to_string(), &out, &expected, Tolerance::new(1e-6, 1e-6));
                again(&model, &scope, &feeds, &out);
            }
            Err(e) if e.kind() == oarlock_ir::Kind::Unknown => {
                skip(&format!("{}: {}", path.display(), e.report().what))
            }
            Err(e) => panic!("{}: {e}", path.display()),
        }
    }
}

/// A model that is exported again and saved in the newer layout predicts the same bits.
fn again(model: &InferenceModel, scope: &Scope, feeds: &[(String, Tensor)], expected: &Tensor) {
    let dir = std::env::temp_dir().join(format!("oarlock-models-{}", std::process::id()));
    let (names, targets): (Vec<&str>, Vec<&str>) =
        (model.feeds.iter().map(|n| n.as_str()).collect(), model.fetches.iter().map(|n| n.as_str()).collect());
    let export = InferenceModel::export(&model.program, &names, &targets).expect("an export");
    let files = ModelFiles::prefix("again");
    export.save(&Local::at(&dir), &files, scope).expect("a save");
    let fresh = Scope::new();
    let loaded = InferenceModel::load(&Local::at(&dir), &files, &fresh).expect("a load");
    let out = predict(&loaded, &fresh, feeds).expect("a prediction");
    std::fs::remove_dir_all(&dir).expect("the directory");
    assert_close("saved again", &out, expected, Tolerance::EXACT);
}
