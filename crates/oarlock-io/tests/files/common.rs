//! Fixtures of these tests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use oarlock_io::{
    Checkpoints, InferenceModel, Local, ModelFiles, Position, decode_tensor, load_program, load_vars, open_store,
    persistables, save_program, save_vars,
};
use oarlock_ir::{Program, Result, SharedVar, Vars};
use oarlock_tensor::{Tensor, Value};
use oarlock_testkit::golden_dir;

/// A directory that is deleted at the end.
pub(crate) struct TempDir(PathBuf);

impl TempDir {
    pub(crate) fn new() -> TempDir {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        // In memory where possible: these tests wait for the disk thousands of times.
        let memory = PathBuf::from("/dev/shm");
        let root = if memory.is_dir() { memory } else { std::env::temp_dir() };
        let path = root.join(format!("oarlock-io-test-{}-{n}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        TempDir(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn store(&self) -> Local {
        Local::at(&self.0)
    }

    /// The names in it, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        names(&self.0)
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// A command that runs one test of this program again, in a process of its own with an order in a variable.
pub(crate) fn own_process(test: &str, variable: &str, order: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(variable, order);
    command
}

/// The standard error of such a process that sees no other variable of the environment.
pub(crate) fn error_without_environment(test: &str, variable: &str, order: &str) -> String {
    let out = own_process(test, variable, order).env_clear().env(variable, order).output().unwrap();
    String::from_utf8_lossy(&out.stderr).into_owned()
}

pub(crate) fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

/// Variables by name.
#[derive(Default)]
pub(crate) struct Values(Mutex<BTreeMap<String, SharedVar>>);

impl Values {
    pub(crate) fn of<N: Into<String>>(items: impl IntoIterator<Item = (N, Value)>) -> Values {
        let values = Values::default();
        for (name, value) in items {
            *values.find_or_create(&name.into()).write() = value;
        }
        values
    }

    pub(crate) fn tensor(&self, name: &str) -> Tensor {
        let var = self.find(name).unwrap_or_else(|| panic!("no variable {name}"));
        var.read().dense().unwrap().clone()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().unwrap().is_empty()
    }
}

impl Vars for Values {
    fn find(&self, name: &str) -> Option<SharedVar> {
        self.0.lock().unwrap().get(name).cloned()
    }

    fn find_or_create(&self, name: &str) -> SharedVar {
        self.0.lock().unwrap().entry(name.into()).or_default().clone()
    }
}

/// The full set of golden data, or the part of it that is kept here.
pub(crate) fn golden() -> PathBuf {
    golden_dir().unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden"))
}

/// The nets whose golden data is there.
pub(crate) fn nets() -> Vec<&'static str> {
    const NETS: [&str; 7] =
        ["fit_a_line", "fit_a_line_decay", "mnist_mlp", "lenet_bn", "ctr_dnn_sgd", "ctr_dnn_adam", "ctr_dnn_lod_sgd"];
    let nets: Vec<&str> = NETS.into_iter().filter(|net| golden().join(net).is_dir()).collect();
    assert!(!nets.is_empty(), "golden data");
    nets
}

pub(crate) fn read(path: impl AsRef<Path>) -> Vec<u8> {
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.as_ref().display()))
}

pub(crate) fn program(path: impl AsRef<Path>) -> Program {
    Program::from_bytes(&read(path)).unwrap()
}

/// A directory of one tensor per file.
pub(crate) fn tensors(dir: &Path) -> Values {
    Values::of(names(dir).into_iter().filter(|n| n != "__model__").map(|name| {
        let bytes = read(dir.join(&name));
        let (tensor, _) = decode_tensor(&bytes, &name).unwrap();
        (name, Value::Dense(tensor))
    }))
}

/// A program of two parameters and an optimizer's state.
pub(crate) fn small_program() -> Program {
    let text = "
        block 0 {
            var x: f32[?, 3]
            var w: f32[3, 2] persistable
            var b: f32[2] persistable
            var lr: f32[1] persistable
            var t: f32[?, 2]
            var y: f32[?, 2]
            t = mul(X: x, Y: w)
            y = elementwise_add(X: t, Y: b)
        }";
    let mut program = Program::from_text(text).unwrap();
    for name in ["w", "b"] {
        program.find_var_mut(0, name).unwrap().meta.is_parameter = true;
    }
    program
}

/// Values of that program, all elements `v`.
pub(crate) fn small_values(v: f32) -> Values {
    let tensor = |dims: &[usize]| {
        let dims = oarlock_tensor::Dims::new(dims);
        Value::Dense(Tensor::from_slice(dims, &vec![v; dims.numel()]).unwrap())
    };
    Values::of([("w", tensor(&[3, 2])), ("b", tensor(&[2])), ("lr", tensor(&[1]))])
}

/// Every form of a save.
pub(crate) const FORMS: [&str; 5] = ["separate", "combined", "model", "program", "checkpoint"];

/// Saves at a URL in a form, all elements being `v`.
pub(crate) fn save_as(form: &str, url: &str, v: f32) -> Result<()> {
    let (program, values, store) = (small_program(), small_values(v), open_store(url)?);
    match form {
        "separate" => save_vars(&*store, None, &persistables(&program), &values),
        "combined" => save_vars(&*store, Some("all"), &persistables(&program), &values),
        "model" => InferenceModel::export(&program, &["x"], &["y"])?.save(&*store, &ModelFiles::separate(), &values),
        "program" => save_program(&*store, "m", &program, &values),
        _ => Checkpoints::new(store).save(&program, &values, &Position::default(), 1).map(drop),
    }
}

/// Loads what was saved at a URL in a form; all elements must be the same, and are returned.
pub(crate) fn load_as(form: &str, url: &str) -> f64 {
    let (program, store, values) = (small_program(), open_store(url).unwrap(), Values::default());
    match form {
        "separate" => load_vars(&*store, None, &persistables(&program), &values).unwrap(),
        "combined" => load_vars(&*store, Some("all"), &persistables(&program), &values).unwrap(),
        "model" => drop(InferenceModel::load(&*store, &ModelFiles::separate(), &values).unwrap()),
        "program" => load_program(&*store, "m", &program, None, &values).unwrap(),
        _ => {
            let all = Checkpoints::new(store);
            let latest = all.latest().unwrap().expect("a checkpoint");
            all.load(latest, &program, &values).unwrap();
        }
    }
    let loaded = ["w", "b", "lr"].into_iter().filter(|n| values.find(n).is_some());
    let all: Vec<f64> = loaded.flat_map(|n| values.tensor(n).to_f64()).collect();
    assert!(all.windows(2).all(|w| w[0] == w[1]), "{form}: a mixture: {all:?}");
    all[0]
}
