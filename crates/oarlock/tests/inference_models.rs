//! Saved inference models, of Fluid 1.8 and of newer releases: loaded, run, compared with what they computed there.

use std::path::{Path, PathBuf};

use oarlock::Predictor;
use oarlock::prelude::*;
use oarlock_io::{InferenceModel, Local, ModelFiles, find_model};
use oarlock_tensor::Lod;
use oarlock_testkit::{Npz, Tolerance, assert_close, golden_dir, skip};

use crate::allocations::count_allocations;
use crate::golden_runs::executor;

/// The feeds: arrays, some with the offsets of sequences beside them.
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
        let model = InferenceModel::load(&*folder, &files, &scope).unwrap_or_else(|e| panic!("{e}"));
        let dir = path.parent().expect("a directory");
        let feeds = feeds(&dir.join("infer_in.npz"));
        match predict(&model, &scope, &feeds) {
            Ok(out) => {
                let expected = oarlock_testkit::read_npy(dir.join("infer_out.npy"));
                assert_close(&path.display().to_string(), &out, &expected, Tolerance::new(1e-6, 1e-6));
                again(&model, &scope, &feeds, &out);
                by_predictor(&path, &feeds, &out);
            }
            Err(e) if e.kind() == oarlock_ir::Kind::Unknown => {
                skip(&format!("{}: {}", path.display(), e.report().what))
            }
            Err(e) => panic!("{}: {e}", path.display()),
        }
    }
}

/// A predictor packs weights and keeps its memory; the result is the executor's to the last bits of a sum.
fn by_predictor(path: &Path, feeds: &[(String, Tensor)], expected: &Tensor) {
    let mut predictor = Predictor::load(path, &ONE_THREAD).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let feeds: Vec<(&str, &Tensor)> = feeds.iter().map(|(n, t)| (n.as_str(), t)).collect();
    for _ in 0..2 {
        let out = predictor.predict(&feeds).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert_close(&format!("{} predicted", path.display()), &out[0], expected, Tolerance::new(1e-6, 1e-6));
    }
}

const ONE_THREAD: Options = Options { threads: 1, check_nan_inf: false };

/// A model of two layers, saved in a directory of its own.
struct Saved(PathBuf);

impl Saved {
    fn new(name: &str) -> Saved {
        let dir = std::env::temp_dir().join(format!("oarlock-predict-{}-{name}", std::process::id()));
        let mut net = Net::new();
        net.seed(5);
        let x = net.checked_data("x", &[-1, 30], DType::F32, 0).expect("an input");
        let hidden = net.fc(&x, Fc::size(50).act("relu")).expect("a layer");
        let y = net.fc(&hidden, Fc::size(2).act("softmax")).expect("a layer");
        let scope = Scope::new();
        executor(1, true).run(&net.startup, &[], &[], &scope).expect("first values");
        let model = InferenceModel::export(&net.main, &["x"], &[y.name()]).expect("an export");
        model.save(&Local::at(&dir), &ModelFiles::separate(), &scope).expect("a save");
        Saved(dir)
    }
}

impl Drop for Saved {
    fn drop(&mut self) {
        // Only scratch files; what cannot be deleted is left to the system.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn rows(n: usize, seed: usize) -> Tensor {
    let data: Vec<f32> = (0..n * 30).map(|i| ((i * 7 + seed) % 31) as f32 / 31.0 - 0.5).collect();
    Tensor::from_slice([n, 30], &data).expect("sizes that fit")
}

#[test]
fn a_warm_predictor_allocates_nothing() {
    let saved = Saved::new("warm");
    let mut predictor = Predictor::load(&saved.0, &ONE_THREAD).expect("a model");
    let text = predictor.program().to_text();
    assert!(text.contains("packed_fc(") && text.contains("fc_0.w_0@PACKED"), "{text}");
    let batches = [rows(1, 0), rows(64, 1), rows(7, 2)];
    let mut sum = 0.0;
    let mut round = |predictor: &mut Predictor| {
        for batch in &batches {
            predictor.input("x").expect("an input").copy_from(batch);
            predictor.run().expect("a prediction");
            sum += predictor.output_at(0).expect("an output").data::<f32>().expect("f32")[0];
        }
    };
    round(&mut predictor);
    round(&mut predictor);
    assert_eq!(count_allocations(|| round(&mut predictor)), 0);
    assert!(sum > 0.0);
}

#[test]
fn clones_share_weights_and_predict_the_same_bits() {
    let saved = Saved::new("clones");
    let mut first = Predictor::load(&saved.0, &ONE_THREAD).expect("a model");
    let x = rows(9, 3);
    let expected = first.predict(&[("x", &x)]).expect("a prediction");
    let clones: Vec<Predictor> = (0..3).map(|_| first.try_clone().expect("a clone")).collect();
    let threads = clones.into_iter().map(|mut clone| {
        let x = x.clone();
        std::thread::spawn(move || {
            for _ in 0..50 {
                clone.predict(&[("x", &rows(4, 8))]).expect("a prediction");
            }
            clone.predict(&[("x", &x)]).expect("a prediction")
        })
    });
    for thread in threads.collect::<Vec<_>>() {
        let found = thread.join().expect("a thread that ends well");
        assert_close("a clone", &found[0], &expected[0], Tolerance::EXACT);
    }
}

#[test]
fn a_predictor_names_what_is_wrong() {
    let saved = Saved::new("wrong");
    let mut predictor = Predictor::load(&saved.0, &ONE_THREAD).expect("a model");
    let e = predictor.output_at(0).expect_err("nothing ran yet");
    assert!(e.report().what.contains("has no value yet"), "{e}");
    let e = predictor.predict(&[("xx", &rows(1, 0))]).expect_err("no such input");
    assert_eq!(e.to_string(), "error[unknown]: the model has no input `xx`\n  help: did you mean `x`?");
    let e = predictor.predict(&[]).expect_err("an input is missing");
    assert_eq!(e.to_string(), "error[missing]: input `x` is not given\n  help: the model needs `x`");
    let e = predictor.run().expect_err("no input was ever filled");
    assert_eq!(e.to_string(), "error[missing]: input `x` is not given\n  help: the model needs `x`");
    predictor.unfilled_input_at(0).resize(DType::F32, [1, 30].into());
    assert!(predictor.run().is_err(), "sizes are no values");
    predictor.input("x").expect("an input").copy_from(&rows(1, 0));
    predictor.run().expect("a run");
    assert!(predictor.try_clone().expect("a clone").run().is_err(), "a clone has inputs of its own");
    let e = predictor.predict(&[("x", &Tensor::zeros(DType::F32, [2, 29]))]).expect_err("too narrow");
    assert!(e.report().what.contains("`x` is declared f32[?, 30], but a tensor of f32[2, 29] is fed"), "{e}");
    let missing = saved.0.join("nowhere");
    let e = Predictor::load(&missing, &ONE_THREAD).err().expect("no model");
    assert!(e.report().what.contains("there is no model at"), "{e}");
}

#[test]
fn startup_after_a_load_warns() {
    let saved = Saved::new("startup");
    let mut net = Net::new();
    let x = net.checked_data("x", &[-1, 30], DType::F32, 0).expect("an input");
    net.fc(&x, Fc::size(50).act("relu")).expect("a layer");
    let (exe, scope, heard) = (executor(1, true), Scope::new(), std::sync::Arc::new(std::sync::Mutex::new(Vec::new())));
    let sink = heard.clone();
    exe.on_warning(move |text| sink.lock().expect("no panic").push(text.to_string()));
    exe.run(&net.startup, &[], &[], &scope).expect("first values");
    oarlock_io::load_vars(&Local::at(&saved.0), None, &oarlock_io::parameters(&net.main), &scope).expect("a load");
    assert!(heard.lock().expect("no panic").is_empty());
    exe.run(&net.startup, &[], &[], &scope).expect("first values again");
    exe.run(&net.startup, &[], &[], &scope).expect("and again");
    let expected = "the program initialised variables that had been loaded, and what was loaded is lost: \
                    `fc_0.b_0`, `fc_0.w_0`. Run the startup program first and load afterwards";
    assert_eq!(*heard.lock().expect("no panic"), [expected]);
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
