//! Whole programs that Fluid 1.8 saved, run step by step against the values it computed: control flow, learning-rate
//! schedules, every optimizer with regularisation and clipping, small networks.
//!
//! `OARLOCK_GOLDEN` names the full set; without it the copies kept here are used. `OARLOCK_PROGRAMS=cond,switch` runs some only.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use oarlock_exec::{ExecOptions, Executor, Scope};
use oarlock_ir::{Program, Registry};
use oarlock_tensor::{Lod, SelectedRows, Tensor, Value};
use oarlock_testkit::{Json, Npz, Tolerance, close, golden_dir, json};

pub(crate) fn directory() -> PathBuf {
    let kept = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/programs");
    golden_dir().map_or_else(kept, |dir| dir.join("ops/programs"))
}

/// The programs of the directory, and what is known of them.
pub(crate) fn index(dir: &Path) -> Json {
    let text = std::fs::read_to_string(dir.join("programs.json")).expect("the list of programs");
    json::from_str(&text).expect("JSON")
}

/// A program and its data.
pub(crate) fn read(dir: &Path, name: &str) -> (Program, Npz) {
    let arrays = Npz::read(dir.join(format!("{name}.npz")));
    (Program::from_bytes(arrays.array("program/main").bytes()).expect("a program"), arrays)
}

#[expect(clippy::disallowed_methods, reason = "a filter for work on some programs")]
fn wanted() -> Option<Vec<String>> {
    Some(std::env::var("OARLOCK_PROGRAMS").ok()?.split(',').map(str::to_string).collect())
}

/// Adam divides by the root of tiny squares, which magnifies rounding; the golden README says how far.
fn tolerance(program: &str) -> Tolerance {
    if program.contains("adam") { Tolerance::new(1e-4, 1e-5) } else { Tolerance::new(1e-5, 1e-6) }
}

#[test]
#[expect(clippy::print_stdout, reason = "the table is the point")]
fn every_golden_program() {
    let dir = directory();
    let index = index(&dir);
    let registry = Arc::new(Registry::new(oarlock_ops::ops(), oarlock_ops::fusions()));
    let wanted = wanted();
    let (mut all, mut failed) = (0, 0);
    for (name, about) in index.as_object().expect("an object") {
        if wanted.as_ref().is_some_and(|w| !w.contains(name)) {
            continue;
        }
        let case = Case::read(&dir, name, about);
        if let Err(missing) = check_ops(&case.program, &registry) {
            oarlock_testkit::skip(&format!("{name} {missing}"));
            continue;
        }
        let run = || case.run(&registry);
        let outcome = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| Err("panicked".into()));
        all += 1;
        failed += usize::from(outcome.is_err());
        let text = outcome.map_or_else(|e| format!("FAILED {e}"), |values| format!("{values} values agree"));
        println!("{name:<28} {:>3} steps  {text}", about["steps"]);
    }
    println!("{} of {all} golden programs pass", all - failed);
    assert_eq!(failed, 0, "golden programs fail");
    assert!(all > 0, "there is no such program");
}

/// One program with its data.
struct Case {
    arrays: Npz,
    program: Program,
    fetches: Vec<String>,
    feeds: usize,
    steps: usize,
    tolerance: Tolerance,
}

impl Case {
    fn read(dir: &Path, name: &str, about: &Json) -> Case {
        let (program, arrays) = read(dir, name);
        let fetches =
            about["fetch"].as_array().expect("a list").iter().map(|f| f.as_str().expect("a name").to_string());
        let count = |key: &str| about[key].as_u64().expect("a number") as usize;
        Case {
            program,
            fetches: fetches.collect(),
            feeds: count("feeds"),
            steps: count("steps"),
            tolerance: tolerance(name),
            arrays,
        }
    }

    /// Runs all steps, twice: nothing of the first time may show in the second. The number of values that agree.
    fn run(&self, registry: &Arc<Registry>) -> Result<usize, String> {
        let executor = Executor::new(ExecOptions {
            registry: registry.clone(),
            threads: 1,
            fuse: true,
            without_fusions: Vec::new(),
            check_nan_inf: false,
        });
        self.run_once(&executor)?;
        self.run_once(&executor).map_err(|e| format!("the second time, {e}"))
    }

    fn run_once(&self, executor: &Executor) -> Result<usize, String> {
        let scope = Scope::new();
        for name in self.names_under("init/") {
            scope.set(&name, self.tensor(&format!("init/{name}")));
        }
        let fetches: Vec<&str> = self.fetches.iter().map(String::as_str).collect();
        let mut agreed = 0;
        for step in 0..self.steps {
            let section = format!("feed{}/", step % self.feeds.max(1));
            let feeds: Vec<(String, Tensor)> =
                self.names_under(&section).map(|n| (n.clone(), self.tensor(&format!("{section}{n}")))).collect();
            let feeds: Vec<(&str, &Tensor)> = feeds.iter().map(|(n, t)| (n.as_str(), t)).collect();
            let found =
                executor.run(&self.program, &feeds, &fetches, &scope).map_err(|e| format!("step {step}: {e}"))?;
            for (i, value) in found.iter().enumerate() {
                let what = || format!("step {step}, {}", fetches[i]);
                self.compare(&format!("step{step}/fetch{i}"), value).map_err(|e| format!("{}: {e}", what()))?;
                agreed += 1;
            }
        }
        for name in self.names_under("final/") {
            let found = scope.find(&name).ok_or_else(|| format!("there is no {name} in the end"))?;
            self.compare(&format!("final/{name}"), &found.read()).map_err(|e| format!("in the end, {name}: {e}"))?;
            agreed += 1;
        }
        Ok(agreed)
    }

    /// The variables of a section; LoD and parts of rows belong to their variable.
    fn names_under(&self, section: &str) -> impl Iterator<Item = String> {
        let parts = [".lod0", ".lod1", ".lod2"];
        let names = self.arrays.names().filter_map(|n| n.strip_prefix(section));
        let names = names.filter(|n| !parts.iter().any(|p| n.ends_with(p)));
        names
            .map(|n| n.trim_end_matches(".rows").trim_end_matches(".value").to_string())
            .collect::<BTreeSet<_>>()
            .into_iter()
    }

    fn tensor(&self, key: &str) -> Tensor {
        let mut t = self.arrays.array(key).clone();
        let mut levels = Vec::new();
        while let Some(level) = self.arrays.get(&format!("{key}.lod{}", levels.len())) {
            levels.push(level.to_f64().into_iter().map(|v| v as usize).collect());
        }
        t.set_lod(Lod::new(levels));
        t
    }

    fn compare(&self, key: &str, found: &Value) -> Result<(), String> {
        match found {
            Value::Dense(t) => close(t, &self.tensor(key), self.tolerance),
            Value::Rows(SelectedRows { rows, value, .. }) => {
                let expected: Vec<i64> =
                    self.arrays.array(&format!("{key}.rows")).to_f64().iter().map(|v| *v as i64).collect();
                if *rows != expected {
                    return Err(format!("has rows {rows:?}, expected {expected:?}"));
                }
                close(value, self.arrays.array(&format!("{key}.value")), self.tolerance)
            }
            other => Err(format!("is {}", other.kind())),
        }
    }
}

/// Does the registry have every operator of a program? Says which are missing.
pub(crate) fn check_ops(program: &Program, registry: &Registry) -> Result<(), String> {
    let ops = program.blocks().iter().flat_map(|b| &b.ops);
    let missing: BTreeSet<&str> = ops.map(|op| op.op_type.as_str()).filter(|t| registry.get(t).is_none()).collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("needs operators that are not defined: {missing:?}")) }
}
