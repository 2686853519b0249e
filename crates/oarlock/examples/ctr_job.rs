//! A whole job on this machine: makes click logs, trains CTR-DNN with two parameter servers and two workers, measures it on clicks that
//! not seen in training, saves the model and predicts with it.
//!
//! `cargo run --release -p oarlock --example ctr_job -- [samples]`
//!
//! Started by hand it launches itself four times; each copy finds in its environment what it is (see docs/launch.md), so the same program
//! runs under `oarlock launch`, on one host or many.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "an example prints for its user")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use oarlock::JobOptions;
use oarlock::data::{CriteoOptions, Format, QueueDataset, Source, criteo_slots, write_criteo};
use oarlock::fleet::{self, Fold, JobProcess, Place, Strategy};
use oarlock::io::{Local, ModelFiles};
use oarlock::launch::{self, Ask, Cluster, Launch};
use oarlock::metrics::area_under_curve;
use oarlock::prelude::*;
use oarlock::trainer::{Observer, Printer, Summary, TrainOptions, infer_from_dataset, train_from_dataset};
use oarlock::transpile::Config;

const SAMPLES: u64 = 400_000;
const HELD_OUT: u64 = 40_000;
const FILES: u64 = 4;
const PASSES: usize = 2;
const BATCH: usize = 500;
const IDS: usize = 1_000_001;

type Outcome<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    oarlock::init_logging()?;
    match Cluster::from_env()? {
        None => whole_job(),
        Some(_) => one_process(),
    }
}

/// Data, processes, and a prediction at the end.
fn whole_job() -> Outcome<()> {
    let samples = match std::env::args().nth(1) {
        Some(n) => n.parse().map_err(|_| format!("the number of samples must be a number, not {n:?}"))?,
        None => SAMPLES,
    };
    let (start, dir) = (Instant::now(), Scratch::new()?);
    write_criteo(&dir.0.join("train"), CriteoOptions { samples, files: FILES, seed: 1 })?;
    let held_out = write_criteo(&dir.0.join("test"), CriteoOptions { samples: HELD_OUT, files: FILES, seed: 2 })?;
    println!(
        "{samples} clicks and non-clicks to train on, {HELD_OUT} held out; best possible AUC {:.4}",
        held_out.best_auc
    );
    let exe = std::env::current_exe()?;
    let job = Launch {
        program: launch::Program::find(exe.into_os_string(), vec![dir.0.clone().into_os_string()], "")?,
        plan: launch::plan(&Ask { server_num: Some(2), worker_num: Some(2), ..Ask::default() })?,
        log_dir: Some(PathBuf::from("target/ctr_job/log")),
        max_restart: 0,
        ready: Duration::from_secs(60),
        progress: true,
        job: None,
        elastic: false,
        settings: Vec::new(),
        server_logs: launch::ServerLogs::default(),
    };
    let code = launch::run(&job)?;
    if code != 0 {
        return Err(format!("the job failed with exit code {code}").into());
    }
    predict(&dir.0)?;
    println!("all in {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// A directory that goes away with the job.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> std::io::Result<Scratch> {
        let dir = std::env::temp_dir().join(format!("oarlock-ctr-job-{}", std::process::id()));
        std::fs::create_dir_all(&dir)?;
        Ok(Scratch(dir))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // It is in the directory for such files: whatever stays is cleaned up there.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A server or a worker, as the environment says.
fn one_process() -> Outcome<()> {
    let dir = PathBuf::from(std::env::args().nth(1).ok_or("give the directory of the data")?);
    let mut net = Net::new();
    net.seed(2024);
    let model = build(&mut net)?;
    optimizer::adam(1e-3).lazy_mode(true).minimize(&mut net, &model.loss)?;
    let place = Place::from_cloud(&std::env::vars().collect())?;
    let process = JobProcess::new(place, &net, Strategy::Async, Config::fluid())?;
    let (exe, scope) =
        (Options { threads: 1, ..Options::from_env()? }.executor_in(JobOptions::from_env()?), Scope::new());
    match process.place().role {
        fleet::Role::Server => {
            process.init_server(&exe, &scope, None)?;
            process.run_server(&exe, &scope)?;
        }
        fleet::Role::Worker => work(&process, &model, &exe, &scope, &dir)?,
    }
    Ok(())
}

fn work(process: &JobProcess, model: &Model, exe: &Executor, scope: &Scope, dir: &Path) -> Outcome<()> {
    let train = share(process, &dir.join("train"))?;
    process.init_worker(exe, scope)?;
    for pass in 0..PASSES {
        let done = run(exe, process.program(), &train, scope, train_from_dataset)?;
        println!("pass {pass}: {done}");
    }
    process.finish_training(exe, scope)?;
    run(exe, process.program(), &share(process, &dir.join("test"))?, scope, infer_from_dataset)?;
    // What both workers counted together is what one process would have counted.
    let [positive, negative] = [&model.counts[0], &model.counts[1]].map(|name| -> Outcome<Vec<f64>> {
        let counted = scope.tensor(name).ok_or("the counts of the AUC are in the scope")?;
        Ok(process.worker_group().all_reduce(exe.runtime(), &counted, Fold::Sum)?.to_f64())
    });
    let auc = area_under_curve(&positive?, &negative?);
    if process.place().index == 0 {
        println!("AUC on held-out clicks, of both workers: {auc:.4}");
        let feeds: Vec<&str> = model.feeds.iter().map(String::as_str).collect();
        process.save_inference_model(
            exe,
            scope,
            (&Local::at(dir.join("model")), &ModelFiles::separate()),
            &feeds,
            &[&model.predicted],
        )?;
        println!("saved the model");
    }
    process.stop_worker(exe)?;
    Ok(())
}

type Pass =
    fn(&Executor, &Program, &dyn oarlock::data::Dataset, &Scope, &TrainOptions, &mut dyn Observer) -> Result<Summary>;

fn run(exe: &Executor, program: &Program, set: &QueueDataset, scope: &Scope, pass: Pass) -> Result<Summary> {
    pass(exe, program, set, scope, &TrainOptions::threads(1), &mut Printer)
}

/// The files of this worker.
fn share(process: &JobProcess, dir: &Path) -> Outcome<QueueDataset> {
    let files: Vec<String> =
        (0..FILES).map(|f| dir.join(format!("part-{f:05}")).to_string_lossy().into_owned()).collect();
    let mine = fleet::split_files(&files, process.place().index, process.place().workers);
    Ok(QueueDataset {
        source: Source::files(mine),
        format: Format::strict(criteo_slots()?),
        batch_size: BATCH,
        queue: 4,
    })
}

struct Model {
    loss: VarRef,
    predicted: String,
    feeds: Vec<String>,
    /// Where positive and negative examples are counted.
    counts: [String; 2],
}

fn build(net: &mut Net) -> Result<Model> {
    let label = net.checked_data("label", &[-1, 1], DType::I64, 0)?;
    let mut features = vec![net.checked_data("dense", &[-1, 13], DType::F32, 0)?];
    let mut feeds = vec!["dense".to_string()];
    for i in 1..=26 {
        let ids = net.checked_data(&format!("C{i}"), &[-1, 1], DType::I64, 0)?;
        feeds.push(ids.name().to_string());
        let table = ParamAttr::name("ids").initializer(Initializer::uniform(-0.05, 0.05));
        features.push(net.embedding(&ids, Embedding::size(IDS, 8).is_sparse(true).param_attr(table))?);
    }
    let mut x = net.concat(&features.iter().collect::<Vec<_>>(), 1)?;
    for size in [128, 64] {
        x = net.fc(&x, Fc::size(size).act("relu"))?;
    }
    let predicted = net.fc(&x, Fc::size(2).act("softmax"))?;
    let cost = net.cross_entropy(&predicted, &label, CrossEntropy::new())?;
    let auc = net.auc(&predicted, &label, Auc::new())?;
    let counts = [&auc.stats[2], &auc.stats[3]].map(|v| v.name().to_string());
    Ok(Model { loss: net.mean(&cost)?, predicted: predicted.name().to_string(), feeds, counts })
}

/// Asks the saved model about a few users.
fn predict(dir: &Path) -> Outcome<()> {
    let mut predictor = oarlock::Predictor::load(&dir.join("model"), &Options::from_env()?)?;
    let dense = Tensor::zeros(DType::F32, [3, 13]);
    let ids = Tensor::from_slice([3, 1], &[1_i64, 20, 300])?;
    let names: Vec<String> = predictor.inputs().iter().map(ToString::to_string).collect();
    let inputs: Vec<(&str, &Tensor)> =
        names.iter().map(|n| (n.as_str(), if n == "dense" { &dense } else { &ids })).collect();
    let predicted = predictor.predict(&inputs)?[0].to_f64();
    let chances: Vec<String> = predicted.chunks(2).map(|p| format!("{:.3}", p[1])).collect();
    println!("the saved model predicts clicks of three users with {}", chances.join(", "));
    Ok(())
}
