//! `oarlock inspect`, `ckpt`, `predict` and `params` as users call them, on files of this and of other systems.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use oarlock::Scope;
use oarlock::io::{
    Checkpoints, InferenceModel, ModelFiles, ParamFiles, Position, find_model, open_store, read_npz, write_npz,
};
use oarlock::ir::Program;
use oarlock::tensor::{Dims, Tensor};
use serde_json::Value as Json;

/// A directory of its own for a test.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("files-{name}-{}", std::process::id()));
        fs::remove_dir_all(&dir).ok();
        fs::create_dir_all(&dir).unwrap();
        Place(dir)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_string()
    }

    /// Runs the command here; returns its exit code, what it printed and what it complained of.
    fn run(&self, words: &[&str]) -> (i32, String, String) {
        let out = Command::new(env!("CARGO_BIN_EXE_oarlock")).current_dir(&self.0).args(words).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (out.status.code().unwrap(), text(&out.stdout), text(&out.stderr))
    }

    fn prints(&self, words: &[&str]) -> String {
        let (code, text, complaint) = self.run(words);
        assert_eq!((code, complaint.as_str()), (0, ""), "{words:?}");
        text
    }

    fn json(&self, words: &[&str]) -> Json {
        serde_json::from_str(&self.prints(&[words, &["--json"]].concat())).unwrap()
    }

    /// Returns the error output of a command that must fail with exit code 1.
    fn fails(&self, words: &[&str]) -> String {
        let (code, text, complaint) = self.run(words);
        assert_eq!((code, text.as_str()), (1, ""), "{words:?}: {complaint}");
        assert!(complaint.starts_with("error[") && !complaint.contains("panicked"), "{complaint}");
        complaint
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

fn golden(name: &str) -> String {
    format!("{}/../oarlock-io/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A model of Fluid 1.8, saved again: with a manifest.
fn save_model(place: &Place, name: &str, params: ParamFiles) {
    let (store, files) = find_model(golden("fit_a_line/infer_sep")).unwrap();
    let scope = Scope::new();
    let model = InferenceModel::load(&*store, &files, &scope).unwrap();
    let files = ModelFiles::named("__model__", params);
    model.save(&*open_store(&place.path(name)).unwrap(), &files, &scope).unwrap();
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[test]
fn models_are_shown() {
    let place = Place::new("inspect");
    save_model(&place, "model", ParamFiles::Separate);
    let text = place.prints(&["inspect", "model"]);
    for line in ["feeds\n  x: f32[?, 13]\n", "fc_0.w_0  f32[13, 1]", "__model__", "good"] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(!text.contains("block 0"));
    assert!(place.prints(&["inspect", "model", "--program"]).contains("block 0"));
    let plan = place.prints(&["inspect", "model", "--plan"]);
    assert!(
        plan.contains("pass drop_ports:\n- ") && plan.contains("\nfeed x -> ") && plan.contains("\nfetch "),
        "{plan}"
    );
    assert_eq!(place.json(&["inspect", "model", "--plan"])["plan"].as_str().map(|p| plan.ends_with(p)), Some(true));
    let json = place.json(&["inspect", "model", "--program"]);
    assert_eq!(json["feeds"], serde_json::json!(["x"]));
    assert_eq!(json["files"].as_array().unwrap().len(), 3);
    assert!(json["files"].as_array().unwrap().iter().all(|f| f["state"] == "good"), "{json}");
    assert!(json["program"].as_str().unwrap().contains("block 0"));
    // Models that carry no manifest: of Fluid 1.8, of 2.6 and of 3.x, and files of single variables.
    for path in ["fit_a_line/infer_sep", "fit_a_line/infer_comb", "compat_2.6.2/model", "compat_3.3.1/model"] {
        let json = place.json(&["inspect", &golden(path)]);
        assert!(json["what"].as_str().unwrap().contains("inference model"), "{path}: {json}");
        assert!(json["files"].as_array().unwrap().iter().all(|f| f["state"] == "unchecked"), "{path}: {json}");
    }
    assert!(place.prints(&["inspect", &golden("fit_a_line/final")]).contains("fc_0.w_0"));
}

#[test]
fn damage_is_shown() {
    let place = Place::new("damage");
    save_model(&place, "model", ParamFiles::Separate);
    flip(&place.0.join("model/fc_0.w_0"), 40);
    let text = place.prints(&["inspect", "model"]);
    assert!(text.contains("DAMAGED") && text.contains("its checksum is"), "{text}");
    let json = place.json(&["inspect", "model"]);
    let states: Vec<&str> = json["files"].as_array().unwrap().iter().map(|f| f["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["good", "good", "damaged"], "{json}");
    let input = golden("fit_a_line/infer_in.npz");
    assert!(place.fails(&["predict", "model", "--input", &input]).contains("fc_0.w_0 is not what was saved"));
    assert!(place.fails(&["params", "export", "model", "w.safetensors"]).contains("fc_0.w_0 is not what was saved"));
    assert!(!place.0.join("w.safetensors").exists());
}

#[test]
fn what_cannot_be_inspected_is_named() {
    let place = Place::new("nothing");
    assert!(place.fails(&["inspect", "nothing"]).contains("nothing"));
    fs::write(place.0.join("text"), "no tensor").unwrap();
    assert!(place.fails(&["inspect", "text"]).contains("text"));
    fs::create_dir(place.0.join("empty")).unwrap();
    assert_eq!(place.prints(&["inspect", "empty"]), "empty: 0 variables in a directory\n");
    let complaint = place.fails(&["inspect", "empty", "--plan"]);
    assert!(complaint.contains("empty is 0 variables in a directory, which has no network to plan"), "{complaint}");
    let (code, _, complaint) = place.run(&["inspect"]);
    assert!(code == 2 && complaint.contains("Usage"), "{complaint}");
}

/// Three checkpoints whose weights are 0, 1 and 2.
fn save_checkpoints(place: &Place) {
    let text = "block 0 {\nvar w: f32[2, 3] persistable\nvar b: f32[3] persistable\n}";
    let (program, scope) = (Program::from_text(text).unwrap(), Scope::new());
    let checkpoints = Checkpoints::new(open_store(&place.path("run")).unwrap());
    for step in 0..3u64 {
        scope.set("w", Tensor::from_slice(Dims::from([2, 3]), &[step as f32; 6]).unwrap());
        scope.set("b", Tensor::from_slice(Dims::from([3]), &[7.0f32; 3]).unwrap());
        let position = Position { epoch: 1, step, ..Position::default() };
        checkpoints.save(&program, &scope, &position, 3).unwrap();
    }
}

#[test]
fn checkpoints_are_listed_compared_and_deleted() {
    let place = Place::new("ckpt");
    save_checkpoints(&place);
    let text = place.prints(&["ckpt", "list", "run"]);
    assert_eq!(text.lines().count(), 4, "{text}");
    let json = place.json(&["ckpt", "list", "run"]);
    let numbers: Vec<u64> = json.as_array().unwrap().iter().map(|c| c["number"].as_u64().unwrap()).collect();
    assert_eq!((numbers, &json[2]["step"]), (vec![0, 1, 2], &Json::from(2)));
    assert_eq!(json[0]["variables"], serde_json::json!(["b", "w"]));
    let text = place.prints(&["ckpt", "diff", "run/checkpoint_0", "run/checkpoint_2"]);
    assert!(text.contains("w         6 elements differ, by at most 2"), "{text}");
    let json = place.json(&["ckpt", "diff", "run/checkpoint_0", "run/checkpoint_2"]);
    assert_eq!(json.as_array().unwrap().len(), 1);
    assert_eq!((&json[0]["variable"], &json[0]["count"], &json[0]["largest"]), (&"w".into(), &6.into(), &2.0.into()));
    let same = place.prints(&["ckpt", "diff", "run/checkpoint_1", "run/checkpoint_1"]);
    assert_eq!(same, "both hold the same values\n");
    assert_eq!(place.json(&["ckpt", "prune", "run", "--keep", "2"]), serde_json::json!({"deleted": [0]}));
    assert_eq!(place.prints(&["ckpt", "prune", "run", "--keep", "2"]), "nothing to delete\n");
    assert_eq!(place.prints(&["ckpt", "prune", "run"]), "deleted checkpoint 1\n");
    assert_eq!(place.prints(&["ckpt", "verify", "run"]), "checkpoint 2: good\n");
    assert!(place.prints(&["inspect", "run"]).contains("number"));
}

#[test]
fn damaged_checkpoints_are_found() {
    let place = Place::new("verify");
    save_checkpoints(&place);
    assert_eq!(place.prints(&["ckpt", "verify", "run", "--number", "1"]), "checkpoint 1: good\n");
    let files = fs::read_dir(place.0.join("run/checkpoint_1")).unwrap().map(|e| e.unwrap().path());
    let largest = files.filter(|p| !p.ends_with(oarlock::io::MANIFEST)).max_by_key(|p| p.metadata().unwrap().len());
    flip(&largest.unwrap(), 20);
    let complaint = place.fails(&["ckpt", "verify", "run"]);
    assert!(complaint.contains("is not what was saved") && complaint.contains("in checkpoint 1"), "{complaint}");
    let (code, text, _) = place.run(&["ckpt", "verify", "run", "--json"]);
    let json: Json = serde_json::from_str(&text).unwrap();
    let good: Vec<bool> = json.as_array().unwrap().iter().map(|c| c["good"].as_bool().unwrap()).collect();
    assert_eq!((code, good), (1, vec![true, false, true]));
    assert!(place.fails(&["ckpt", "verify", "run", "--number", "9"]).contains('9'));
    assert!(place.fails(&["ckpt", "list", "no-such"]).contains("there is no directory no-such"));
    place.fails(&["ckpt", "diff", "run/checkpoint_0", "run/checkpoint_9"]);
    assert_eq!(place.json(&["ckpt", "list", "."]), serde_json::json!([]));
}

#[test]
fn predictions_are_printed_and_saved() {
    let place = Place::new("predict");
    let (model, input) = (golden("fit_a_line/infer_comb"), golden("fit_a_line/infer_in.npz"));
    let text = place.prints(&["predict", &model, "--input", &input]);
    assert!(text.lines().next().unwrap().contains(": f32["), "{text}");
    let json = place.json(&["predict", &model, "--input", &input]);
    let (name, answer) = json.as_object().unwrap().iter().next().unwrap();
    assert_eq!((&answer["dtype"], &answer["shape"][1]), (&"float32".into(), &1.into()), "{json}");
    assert_eq!(place.prints(&["predict", &model, "--input", &input, "--output", "y.npz", "--threads", "2"]), "");
    let saved = read_npz(&fs::read(place.0.join("y.npz")).unwrap(), "y.npz").unwrap();
    let values: Vec<f64> = answer["values"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
    // Numbers in JSON may lose their last digit when they are read.
    assert!(saved[name].to_f64().iter().zip(&values).all(|(a, b)| (a - b).abs() < 1e-12), "{json}");
    // Fluid 1.8's prediction from the same input.
    let expected = fs::read(golden("fit_a_line/infer_out.npy")).unwrap();
    let expected = expected[expected.len() - 4 * values.len()..].as_chunks::<4>().0;
    for (ours, theirs) in values.iter().zip(expected) {
        assert!((ours - f64::from(f32::from_le_bytes(*theirs))).abs() < 1e-5, "{ours}");
    }
}

#[test]
fn inputs_that_do_not_fit_are_named() {
    let place = Place::new("inputs");
    let model = golden("fit_a_line/infer_sep");
    let write = |name: &str, arrays: &[(&str, Tensor)]| {
        let arrays: Vec<_> = arrays.iter().map(|(name, t)| ((*name).into(), t)).collect();
        let mut bytes = Vec::new();
        write_npz(&arrays, &mut bytes).unwrap();
        fs::write(place.0.join(name), bytes).unwrap();
    };
    let rows = |n: usize| Tensor::from_slice(Dims::from([2, n]), &vec![0.5f32; 2 * n]).unwrap();
    write("other.npz", &[("z", rows(13))]);
    let complaint = place.fails(&["predict", &model, "--input", "other.npz"]);
    assert!(complaint.contains("`x`") || complaint.contains("`z`"), "{complaint}");
    write("narrow.npz", &[("x", rows(12))]);
    assert!(place.fails(&["predict", &model, "--input", "narrow.npz"]).contains("12"));
    fs::write(place.0.join("bad.npz"), b"PK no zip").unwrap();
    assert!(place.fails(&["predict", &model, "--input", "bad.npz"]).contains("bad.npz"));
    assert!(place.fails(&["predict", &model, "--input", "none.npz"]).contains("cannot read none.npz"));
    write("good.npz", &[("x", rows(13))]);
    assert!(place.fails(&["predict", "no-model", "--input", "good.npz"]).contains("no-model"));
    place.prints(&["predict", &model, "--input", "good.npz"]);
    assert!(
        place.fails(&["predict", &model, "--input", "good.npz", "--output", "no/where.npz"]).contains("cannot write")
    );
}

#[test]
fn parameters_go_out_and_come_back() {
    let place = Place::new("params");
    for (name, params) in [("separate", ParamFiles::Separate), ("combined", ParamFiles::Combined("__params__".into()))]
    {
        save_model(&place, name, params);
        let before = place.json(&["inspect", name]);
        let wrote = place.prints(&["params", "export", name, "w.safetensors"]);
        assert_eq!(wrote, "wrote 2 variables to w.safetensors\n");
        let input = golden("fit_a_line/infer_in.npz");
        let predicted = place.prints(&["predict", name, "--input", &input]);
        assert_eq!(place.json(&["params", "import", "w.safetensors", name])["replaced"], 2);
        assert_eq!(place.prints(&["predict", name, "--input", &input]), predicted);
        assert_eq!(place.json(&["inspect", name])["variables"], before["variables"]);
        assert!(place.prints(&["inspect", name]).contains("good"));
    }
    let complaint =
        place.fails(&["predict", &golden("fit_a_line/save/model"), "--input", &golden("fit_a_line/infer_in.npz")]);
    assert!(complaint.contains("a program for training"), "{complaint}");
    // What `fluid.save` wrote, and a directory of variables.
    assert_eq!(place.json(&["params", "export", &golden("fit_a_line/save/model"), "s.safetensors"])["written"], 3);
    let wrote = place.prints(&["params", "export", &golden("fit_a_line/final"), "d.safetensors"]);
    assert!(wrote.starts_with("wrote 3 variables"), "{wrote}");
}

#[test]
fn parameters_that_do_not_fit_leave_the_model_alone() {
    let place = Place::new("misfit");
    save_model(&place, "model", ParamFiles::Separate);
    let before = fs::read(place.0.join("model/fc_0.w_0")).unwrap();
    place.prints(&["params", "export", &golden("compat_2.6.2/model"), "other.safetensors"]);
    let complaint = place.fails(&["params", "import", "other.safetensors", "model"]);
    assert!(complaint.contains("fc_0"), "{complaint}");
    fs::write(place.0.join("bad.safetensors"), [8, 0, 0, 0, 0, 0, 0, 0, b'{']).unwrap();
    assert!(place.fails(&["params", "import", "bad.safetensors", "model"]).contains("bad.safetensors"));
    assert!(place.fails(&["params", "import", "none.safetensors", "model"]).contains("none.safetensors"));
    assert!(place.fails(&["params", "export", "none", "x.safetensors"]).contains("none"));
    assert_eq!(fs::read(place.0.join("model/fc_0.w_0")).unwrap(), before);
}
