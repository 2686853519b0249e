//! A cluster of processes on this machine: this program, started anew for each role.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use oarlock::data::{QueueDataset, Source};
use oarlock::prelude::*;
use oarlock::ps::PsState;
use oarlock::ps::client::Client;
use oarlock::ps::communicator::{Communicator, CommunicatorMode, CommunicatorOptions};
use oarlock::trainer::{Printer, Show, TrainOptions, train_from_dataset};
use oarlock::transpile::{Arguments, Config, DistributeTranspiler, Trainers};

use super::networks::Network;
use crate::bench::{Rates, peak_mb};

/// The first pass warms up and is not timed.
pub(crate) const PASSES: usize = 4;
pub(crate) const TRAINERS: usize = 2;
pub(crate) const SERVERS: usize = 2;

/// A training run: model, mode and seed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run<'a> {
    pub(crate) network: Network,
    pub(crate) mode: &'a str,
    pub(crate) optimizer: &'a str,
    pub(crate) seed: usize,
}

/// The result of a run.
pub(crate) struct Outcome {
    pub(crate) rates: Rates,
    /// Of the last pass.
    pub(crate) auc: f64,
    /// Memory and processor time of each process.
    pub(crate) used: String,
}

impl Outcome {
    /// Seconds of processor time that all trainers and all servers took.
    pub(crate) fn seconds(&self) -> [f64; 2] {
        let of = |role: &str| {
            let part = self.used.split(';').find_map(|part| part.trim().strip_prefix(role)).unwrap_or_default();
            part.split(',')
                .filter_map(|used| used.trim().strip_suffix(" s")?.rsplit(' ').next()?.parse::<f64>().ok())
                .sum()
        };
        ["trainers:", "servers:"].map(of)
    }
}

/// A trainer's report of a pass.
struct Pass {
    begin: f64,
    end: f64,
    samples: f64,
    auc: f64,
}

impl Run<'_> {
    /// Runs a cluster to its end; also returns how many samples were trained in all.
    pub(crate) fn run(&self, data: &Path) -> (Outcome, f64) {
        let held: Vec<TcpListener> = (0..SERVERS).filter_map(|_| TcpListener::bind("127.0.0.1:0").ok()).collect();
        let ports: Vec<String> = held.iter().filter_map(|l| Some(l.local_addr().ok()?.to_string())).collect();
        drop(held);
        let (ports, data) = (ports.join(","), data.to_string_lossy());
        let servers: Vec<Child> = (0..SERVERS).map(|i| self.start("server", i, &ports, &data)).collect();
        let trainers: Vec<Child> = (0..TRAINERS).map(|i| self.start("trainer", i, &ports, &data)).collect();
        let (trained, served) = (said(trainers), said(servers));
        let passes: Vec<Vec<Pass>> = trained.iter().map(|text| text.lines().filter_map(parse).collect()).collect();
        let mut rates = Vec::new();
        for pass in 1..PASSES {
            let of: Vec<&Pass> = passes.iter().filter_map(|p| p.get(pass)).collect();
            let begin = of.iter().map(|p| p.begin).fold(f64::INFINITY, f64::min);
            let end = of.iter().map(|p| p.end).fold(0.0, f64::max);
            rates.push(of.iter().map(|p| p.samples).sum::<f64>() / (end - begin));
        }
        let auc = passes.iter().filter_map(|p| p.last()).map(|p| p.auc).sum::<f64>() / TRAINERS as f64;
        let used = format!("trainers: {}; servers: {}", used_by(&trained), used_by(&served));
        let samples = passes.iter().flatten().map(|pass| pass.samples).sum();
        (Outcome { rates: Rates::of(rates), auc, used }, samples)
    }

    fn start(&self, role: &str, index: usize, ports: &str, data: &str) -> Child {
        let exe = std::env::current_exe().expect("this program's own path");
        let (index, seed) = (index.to_string(), self.seed.to_string());
        Command::new(exe)
            .args([role, self.network.name(), self.mode, self.optimizer, &seed, &index, ports, data])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("this program starts")
    }

    /// The part of one process, as [`Run::start`] named it.
    pub(crate) fn play(&self, role: &str, index: usize, ports: &str, data: &Path) -> Result<()> {
        match role {
            "server" => self.serve(index, ports)?,
            _ => self.train(index, ports, data)?,
        }
        say_used();
        Ok(())
    }

    fn transpile(&self, ports: &str, trainer: usize) -> Result<Part> {
        let built = self.network.build(self.optimizer, self.seed as i32)?;
        let sync = self.mode == "sync";
        let config = Config {
            sync_mode: sync,
            runtime_split_send_recv: !sync,
            half_async: self.mode == "half_async",
            geo_sgd_mode: self.mode == "geo",
            ..Config::fluid()
        };
        let mut transpiler = DistributeTranspiler::new(config);
        let (mut main, mut startup) = (built.net.main.clone(), built.net.startup.clone());
        transpiler.transpile(Arguments {
            registry: &oarlock::registry(),
            trainer_id: trainer,
            program: &mut main,
            startup_program: &mut startup,
            pservers: ports,
            trainers: Trainers::Count(TRAINERS),
            sync_mode: sync,
            current_endpoint: "",
            slice_var_up: None,
            split_method: None,
        })?;
        Ok(Part { transpiler, startup, counts: built.counts })
    }

    fn serve(&self, index: usize, ports: &str) -> Result<()> {
        let part = self.transpile(ports, 0)?;
        let endpoint = ports.split(',').nth(index).unwrap_or_default();
        let (program, startup) = part.transpiler.get_pserver_programs(endpoint)?;
        let (exe, scope) = (Options { threads: 1, check_nan_inf: false }.executor(), Scope::new());
        exe.run(&startup, &[], &[], &scope)?;
        exe.run(&program, &[], &[], &scope).map(drop)
    }

    fn train(&self, index: usize, ports: &str, data: &Path) -> Result<()> {
        let part = self.transpile(ports, index)?;
        let program = part.transpiler.get_trainer_program()?;
        let (exe, scope) = (Options { threads: 1, check_nan_inf: false }.executor(), Scope::new());
        exe.run(&part.startup, &[], &[], &scope)?;
        let client = Client::of(exe.runtime());
        let communicator = self.communicate(index, &part, &program, &exe, &scope, client.clone())?;
        let set = dataset(self.network, data, |file| file % TRAINERS == index)?;
        let options = TrainOptions { show: Show::Nothing, ..TrainOptions::threads(1) };
        for _ in 0..PASSES {
            Part::forget(&part.counts, &scope);
            let begin = now();
            let pass = train_from_dataset(&exe, &program, &set, &scope, &options, &mut Printer)?;
            println!("pass {begin} {} {} {}", now(), pass.samples, Part::auc(&part.counts, &scope));
        }
        if let Some(communicator) = communicator {
            communicator.stop()?;
        }
        client.leave()
    }

    fn communicate(
        &self,
        trainer: usize,
        part: &Part,
        program: &Program,
        exe: &Executor,
        scope: &Scope,
        client: Arc<Client>,
    ) -> Result<Option<Arc<Communicator>>> {
        let mode = match self.mode {
            "async" => CommunicatorMode::Async,
            "half_async" => CommunicatorMode::HalfAsync,
            "geo" => CommunicatorMode::Geo { push_nums: self.network.push_nums(), vars: part.transpiler.geo_vars()? },
            _ => return Ok(None),
        };
        let options = CommunicatorOptions { mode, trainer, trainers: TRAINERS, ..CommunicatorOptions::default() };
        let communicator = Arc::new(Communicator::new(program, scope, client, options));
        PsState::of(exe.runtime()).set_communicator(Some(communicator.clone()));
        communicator.start()?;
        Ok(Some(communicator))
    }
}

/// The files that `mine` says.
pub(crate) fn dataset(network: Network, data: &Path, mine: impl Fn(usize) -> bool) -> Result<QueueDataset> {
    let mut files: Vec<String> = std::fs::read_dir(data)
        .map(|all| all.flatten().map(|e| e.path().to_string_lossy().into_owned()).collect())
        .unwrap_or_default();
    files.retain(|f| f.contains("part-"));
    files.sort();
    let files: Vec<String> = files.into_iter().enumerate().filter(|(i, _)| mine(*i)).map(|(_, f)| f).collect();
    Ok(QueueDataset { source: Source::files(files), format: network.format()?, batch_size: network.batch(), queue: 4 })
}

/// A network, transpiled for a cluster.
pub(crate) struct Part {
    transpiler: DistributeTranspiler,
    startup: Program,
    counts: Vec<String>,
}

impl Part {
    /// Counts for the AUC start anew.
    pub(crate) fn forget(counts: &[String], scope: &Scope) {
        for name in counts {
            let empty = scope.tensor(name).map(|t| Tensor::zeros(t.dtype(), *t.dims())).unwrap_or_default();
            scope.set(name, empty);
        }
    }

    pub(crate) fn auc(counts: &[String], scope: &Scope) -> f64 {
        let counts: Vec<Vec<f64>> = counts.iter().filter_map(|n| Some(scope.tensor(n)?.to_f64())).collect();
        let [positive, negative] = &counts[..] else { return 0.0 };
        let (mut above, mut pairs) = (0.0, 0.0);
        for (p, n) in positive.iter().zip(negative).rev() {
            pairs += (above + p / 2.0) * n;
            above += p;
        }
        pairs / (above * negative.iter().sum::<f64>()).max(1.0)
    }
}

fn said(children: Vec<Child>) -> Vec<String> {
    let outputs = children.into_iter().filter_map(|c| c.wait_with_output().ok());
    outputs.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).collect()
}

fn used_by(texts: &[String]) -> String {
    let lines = texts.iter().filter_map(|t| t.lines().find_map(|l| l.strip_prefix("used ")));
    lines.collect::<Vec<_>>().join(", ")
}

fn parse(line: &str) -> Option<Pass> {
    let mut numbers = line.strip_prefix("pass ")?.split(' ').map(|n| n.parse::<f64>());
    let mut next = || numbers.next()?.ok();
    Some(Pass { begin: next()?, end: next()?, samples: next()?, auc: next()? })
}

/// Memory and processor time of this process.
fn say_used() {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<f64> = stat.rsplit(") ").next().unwrap_or("").split(' ').filter_map(|f| f.parse().ok()).collect();
    // User and system time in hundredths of a second, behind the state, which is no number.
    let seconds = (fields.get(10).unwrap_or(&0.0) + fields.get(11).unwrap_or(&0.0)) / 100.0;
    println!("used {:.0} MB {seconds:.1} s", peak_mb());
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |d: Duration| d.as_secs_f64())
}
