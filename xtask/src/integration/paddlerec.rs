//! PaddleRec, the collection of recommendation models for Fluid 1.8: every model with its sample data and its own
//! configuration, and some in the local parameter-server mode.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::{Check, Ended, Place, run_to_log};
use crate::process;
use crate::test::Tally;

pub(super) const CHECK: Check = Check {
    name: "paddlerec",
    from: "OARLOCK_PADDLEREC",
    get: "clone the public repository PaddlePaddle/PaddleRec at tag v1.8.5, and name the directory that holds its run.py",
    run,
};

/// A model that runs longer hangs.
const LIMIT: Duration = Duration::from_secs(900);

/// Models that fail in Fluid 1.8.5 itself, and what it says.
const BROKEN: [(&str, &str); 5] = [
    ("contentunderstanding/textcnn_pretrain", "cannot unpack non-iterable NoneType object"),
    ("demo/movie_recommand/rank", "No module named 'model'"),
    ("demo/movie_recommand/recall", "No module named 'model'"),
    ("rank/pnn", "module 'paddle' has no attribute 'norm'"),
    ("recall/fasttext", "No such file or directory: 'models/recall/fasttext/data/dict/word_ngrams_id.txt'"),
];

/// Models that also train with parameter servers, and how.
const CLUSTERS: [(&str, &[&str]); 4] = [
    ("rank/dnn", &["sync", "async", "half_async", "geo"]),
    ("rank/deepfm", &["sync", "async"]),
    ("rank/logistic_regression", &["sync", "async"]),
    ("multitask/mmoe", &["sync", "async"]),
];

/// Writes a configuration for a local cluster: arguments are the model's, the new one and the strategy.
const CLUSTER_CONFIG: &str = include_str!("paddlerec_cluster.py");

/// One way to run one model.
struct Case {
    model: String,
    /// The strategy of a cluster, or nothing for the configuration as it is.
    strategy: Option<&'static str>,
}

impl Case {
    fn name(&self) -> String {
        match self.strategy {
            Some(strategy) => format!("{} ({strategy} servers)", self.model),
            None => self.model.clone(),
        }
    }

    /// The log of a run by `who`.
    fn log(&self, who: &str) -> String {
        let name = self.name().replace(['/', ' ', '(', ')'], "-");
        format!("{}.{who}.log", name.trim_end_matches('-'))
    }
}

fn run(place: &Place) -> Result<Tally> {
    let ours = copy(place, "ours")?;
    let theirs = place.peer.as_ref().map(|_| copy(place, "fluid")).transpose()?;
    let packages = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "pyyaml", "six"];
    process::run(Command::new(&place.python).args(packages))?;
    let mut tally = Tally::default();
    for case in cases(&ours)? {
        let name = case.name();
        if let Some((_, why)) = BROKEN.iter().find(|(model, _)| *model == case.model) {
            println!("skipped: {name}: it fails in Fluid 1.8.5, too: {why}");
            tally.skipped += 1;
            continue;
        }
        let here = start(place, &ours, &case, &place.python, &["-m", "oarlock.paddle"])?;
        let mut line = format!("{name:<50} {:<6} {}", if passed(&here) { "passed" } else { "FAILED" }, summary(&here));
        if let (Some(root), Some(python)) = (&theirs, &place.peer) {
            let there = start(place, root, &case, python, &[])?;
            line += &format!("; Fluid {} {}", if passed(&there) { "passed" } else { "failed" }, summary(&there));
        }
        println!("{line}");
        if passed(&here) {
            tally.passed += 1;
        } else {
            println!("  see {}", place.scratch.join(case.log("ours")).display());
            tally.failed += 1;
        }
    }
    Ok(tally)
}

/// Runs write into the directory, so each interpreter has its own copy. The package is the directory itself, by the name `paddlerec`.
fn copy(place: &Place, who: &str) -> Result<PathBuf> {
    if !place.source.join("run.py").exists() {
        bail!("{} does not hold PaddleRec: there is no run.py", place.source.display());
    }
    let root = place.scratch.join(who).join("paddlerec");
    std::fs::create_dir_all(root.parent().context("a parent")?)?;
    process::run(Command::new("cp").arg("-R").arg(&place.source).arg(&root))?;
    Ok(root)
}

/// Every model, then those of clusters.
fn cases(root: &Path) -> Result<Vec<Case>> {
    let mut models = Vec::new();
    find(&root.join("models"), "", &mut models)?;
    models.sort();
    let alone = models.iter().map(|model| Case { model: model.clone(), strategy: None });
    let mut cases: Vec<Case> = alone.collect();
    for (model, strategies) in CLUSTERS {
        cases.extend(strategies.iter().map(|&s| Case { model: model.to_string(), strategy: Some(s) }));
    }
    Ok(cases)
}

/// The directories below `dir` that hold a configuration, by their names from there on.
fn find(dir: &Path, name: &str, found: &mut Vec<String>) -> Result<()> {
    if dir.join("config.yaml").exists() {
        found.push(name.to_string());
    }
    for entry in std::fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            let part = entry.file_name().to_string_lossy().into_owned();
            let below = if name.is_empty() { part } else { format!("{name}/{part}") };
            find(&entry.path(), &below, found)?;
        }
    }
    Ok(())
}

fn start(place: &Place, root: &Path, case: &Case, python: &Path, with: &[&str]) -> Result<Ended> {
    let who = if with.is_empty() { "fluid" } else { "ours" };
    let mut config = format!("models/{}/config.yaml", case.model);
    if let Some(strategy) = case.strategy {
        let new = format!("models/{}/cluster_{strategy}.yaml", case.model);
        let mut write = Command::new(&place.python);
        process::output(write.current_dir(root).args(["-c", CLUSTER_CONFIG, &config, &new, strategy]))?;
        config = new;
        let _ = std::fs::remove_dir_all(root.join("logs"));
    }
    let mut command = Command::new(python);
    command.args(with).args(["-m", "paddlerec.run", "-m", &config]).current_dir(root);
    command.env("PYTHONPATH", root.parent().context("a parent")?);
    // Data sets are read through a program that PaddleRec calls `python`.
    let bin = python.parent().context("an interpreter is in a directory")?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::iter::once(bin.to_path_buf()).chain(std::env::split_paths(&path));
    command.env("PATH", std::env::join_paths(path)?);
    let mut ended = run_to_log(&command, LIMIT, &place.scratch.join(case.log(who)))?;
    if case.strategy.is_some() {
        ended.well &= workers_finished(&root.join("logs"))?;
    }
    Ok(ended)
}

/// PaddleRec does not look how its workers ended; their last line tells.
fn workers_finished(logs: &Path) -> Result<bool> {
    let mut workers = 0;
    for entry in std::fs::read_dir(logs).with_context(|| format!("cannot read {}", logs.display()))? {
        let path = entry?.path();
        if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("worker.")) {
            workers += 1;
            if !String::from_utf8_lossy(&std::fs::read(&path)?).contains(FINISHED) {
                return Ok(false);
            }
        }
    }
    Ok(workers > 0)
}

/// The last line of a PaddleRec run.
const FINISHED: &str = "PaddleRec Finish";

fn passed(ended: &Ended) -> bool {
    ended.well && (ended.said.contains(FINISHED) || ended.said.contains("all workers already completed"))
}

/// How long it took, and the last figures it printed.
fn summary(ended: &Ended) -> String {
    let figures = ended.said.lines().rev().find_map(|line| line.split_once("global metrics: "));
    let figures = figures.map_or("", |(_, figures)| figures);
    format!("{:5.1} s {figures}", ended.time.as_secs_f64()).trim_end().to_string()
}

#[test]
fn figures_are_those_of_the_last_pass() {
    let said = "epoch 0 done, global metrics: AUC=[0.4]\nepoch 1 done, global metrics: AUC=[0.6], loss=[1.]\nPaddleRec Finish\n";
    let ended = Ended { well: true, time: Duration::from_millis(1500), said: said.to_string() };
    assert!(passed(&ended));
    assert_eq!(summary(&ended), "  1.5 s AUC=[0.6], loss=[1.]");
}
