//! CTR-DNN on two parameter servers and two trainers, all processes on this machine, in every mode: samples per second of both
//! trainers together, memory and processor time of each role, and the AUC of the last pass over the training files.
//!
//! `OARLOCK_PEER_FLUID` names a Python interpreter that has Fluid 1.8; it then does the same in the same run.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a benchmark prints and looks at the clock")]

#[path = "bench/mod.rs"]
mod bench;

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bench::peak_mb;
use oarlock::data::{Batch, BatchSource, CriteoOptions, Format, QueueDataset, Source, criteo_slots, write_criteo};
use oarlock::dist::client::Client;
use oarlock::dist::communicator::{Communicator, CommunicatorMode, CommunicatorOptions};
use oarlock::dist::transpile::{Arguments, Config, DistributeTranspiler, Trainers};
use oarlock::prelude::*;

const SAMPLES: u64 = 200_000;
const FILES: u64 = 4;
const PASSES: usize = 4;
const BATCH: usize = 1000;
const TRAINERS: usize = 2;
const SERVERS: usize = 2;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["server", mode, optimizer, ports, index] => serve(mode, optimizer, ports, number(index)),
        ["trainer", mode, optimizer, ports, index, dir] => train(mode, optimizer, ports, number(index), Path::new(dir)),
        _ => compare(&args),
    }
}

fn number(text: &str) -> usize {
    text.parse().expect("a number, given by this program")
}

/// Runs every mode, or those that are named.
fn compare(modes: &[String]) -> Result<()> {
    let dir = std::env::temp_dir().join(format!("oarlock-bench-ps-{}", std::process::id()));
    let data = std::env::var_os("OARLOCK_BENCH_DATA").map_or_else(|| dir.join("data"), PathBuf::from);
    if !data.exists() {
        write_criteo(&data, CriteoOptions { samples: SAMPLES, files: FILES, seed: 1 })?;
    }
    println!("CTR-DNN, {SERVERS} servers and {TRAINERS} trainers, batch {BATCH}");
    for (mode, optimizer) in
        [("sync", "sgd"), ("half_async", "sgd"), ("async", "sgd"), ("geo", "sgd"), ("sync", "adam"), ("async", "adam")]
    {
        if modes.is_empty() || modes.iter().any(|m| m == mode) {
            println!("  {mode:<11} {optimizer:<5} {}", run_cluster(mode, optimizer, &data)?);
        }
    }
    std::fs::remove_dir_all(&dir).ok();
    Ok(())
}

/// What the trainers of a run say: (pass, begin, end, samples, AUC so far).
struct Pass {
    begin: f64,
    end: f64,
    samples: f64,
    auc: f64,
}

fn run_cluster(mode: &str, optimizer: &str, data: &Path) -> Result<String> {
    let held: Vec<TcpListener> = (0..SERVERS).filter_map(|_| TcpListener::bind("127.0.0.1:0").ok()).collect();
    let ports: Vec<String> = held.iter().filter_map(|l| Some(l.local_addr().ok()?.to_string())).collect();
    drop(held);
    let ports = ports.join(",");
    let start = |args: &[&str]| -> Child {
        let exe = std::env::current_exe().expect("this program's own path");
        Command::new(exe).args(args).stdout(Stdio::piped()).spawn().expect("this program starts")
    };
    let servers: Vec<Child> =
        (0..SERVERS).map(|i| start(&["server", mode, optimizer, &ports, &i.to_string()])).collect();
    let data = data.to_string_lossy();
    let trainers: Vec<Child> =
        (0..TRAINERS).map(|i| start(&["trainer", mode, optimizer, &ports, &i.to_string(), &data])).collect();
    let said = |children: Vec<Child>| -> Vec<String> {
        let outputs = children.into_iter().filter_map(|c| c.wait_with_output().ok());
        outputs.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).collect()
    };
    let (trained, served) = (said(trainers), said(servers));
    let passes: Vec<Vec<Pass>> = trained.iter().map(|text| text.lines().filter_map(parse).collect()).collect();
    let mut rates = Vec::new();
    for pass in 1..PASSES {
        let of: Vec<&Pass> = passes.iter().filter_map(|p| p.get(pass)).collect();
        let begin = of.iter().map(|p| p.begin).fold(f64::INFINITY, f64::min);
        let end = of.iter().map(|p| p.end).fold(0.0, f64::max);
        rates.push(of.iter().map(|p| p.samples).sum::<f64>() / (end - begin));
    }
    rates.sort_by(f64::total_cmp);
    let auc = passes.iter().filter_map(|p| p.last()).map(|p| p.auc).sum::<f64>() / TRAINERS as f64;
    let used = |texts: &[String]| -> String {
        let lines = texts.iter().filter_map(|t| t.lines().find_map(|l| l.strip_prefix("used ")));
        lines.collect::<Vec<_>>().join(", ")
    };
    Ok(format!(
        "{:>8.0} samples/s [{:.0}-{:.0}]  AUC {auc:.4}  trainers: {}; servers: {}",
        rates[rates.len() / 2],
        rates[0],
        rates[rates.len() - 1],
        used(&trained),
        used(&served)
    ))
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

/// A network, cut for a cluster.
struct Role {
    transpiler: DistributeTranspiler,
    startup: Program,
    auc: String,
}

fn role(mode: &str, optimizer: &str, ports: &str, trainer: usize) -> Result<Role> {
    let mut net = Net::new();
    net.seed(1);
    let (loss, auc) = build(&mut net)?;
    match optimizer {
        "sgd" => optimizer::sgd(0.1).minimize(&mut net, &loss)?,
        _ => optimizer::adam(1e-4).lazy_mode(true).minimize(&mut net, &loss)?,
    };
    let sync = mode == "sync";
    let config = Config {
        sync_mode: sync,
        runtime_split_send_recv: !sync,
        half_async: mode == "half_async",
        geo_sgd_mode: mode == "geo",
        ..Config::fluid()
    };
    let mut transpiler = DistributeTranspiler::new(config);
    let (mut main, mut startup) = (net.main.clone(), net.startup.clone());
    transpiler.transpile(Arguments {
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
    Ok(Role { transpiler, startup, auc })
}

fn serve(mode: &str, optimizer: &str, ports: &str, index: usize) -> Result<()> {
    let role = role(mode, optimizer, ports, 0)?;
    let endpoint = ports.split(',').nth(index).unwrap_or_default();
    let (program, startup) = role.transpiler.get_pserver_programs(endpoint)?;
    let (exe, scope) = (Options { threads: 1, check_nan_inf: false }.executor(), Scope::new());
    exe.run(&startup, &[], &[], &scope)?;
    exe.run(&program, &[], &[], &scope)?;
    say_used();
    Ok(())
}

fn train(mode: &str, optimizer: &str, ports: &str, index: usize, data: &Path) -> Result<()> {
    let role = role(mode, optimizer, ports, index)?;
    let program = role.transpiler.get_trainer_program()?;
    let (exe, scope) = (Options { threads: 1, check_nan_inf: false }.executor(), Scope::new());
    exe.run(&role.startup, &[], &[], &scope)?;
    let client = Client::of(exe.runtime());
    let communicator = communicate(mode, index, &role, &program, &exe, &scope, client.clone())?;
    let slots = criteo_slots()?;
    let names: Vec<String> = slots.iter().map(|s| s.name().to_string()).collect();
    let files: Vec<String> = (0..FILES as usize)
        .filter(|f| f % TRAINERS == index)
        .map(|f| data.join(format!("part-{f:05}")).to_string_lossy().into_owned())
        .collect();
    let set = QueueDataset { source: Source::files(files), format: Format::strict(slots), batch_size: BATCH, queue: 4 };
    let (mut batch, mut fetched) = (Batch::new(), Vec::new());
    for pass in 0..PASSES {
        if pass == PASSES - 1 {
            forget_auc(&program, &scope);
        }
        let (begin, mut samples) = (now(), 0);
        let mut readers = set.start(1, Arc::default())?.take_readers();
        for reader in &mut readers {
            while reader.next(&mut batch)? {
                let feeds: Vec<(&str, &Tensor)> = names.iter().map(String::as_str).zip(batch.tensors()).collect();
                exe.run_into(&program, &feeds, &[&role.auc], &scope, &mut fetched)?;
                samples += batch.rows();
            }
        }
        let auc = fetched.first().and_then(|v| v.dense().ok()).map_or(0.0, |t| t.to_f64()[0]);
        println!("pass {begin} {} {samples} {auc}", now());
    }
    if let Some(communicator) = communicator {
        communicator.stop()?;
    }
    client.leave()?;
    say_used();
    Ok(())
}

fn communicate(
    mode: &str,
    trainer: usize,
    role: &Role,
    program: &Program,
    exe: &Executor,
    scope: &Scope,
    client: Arc<Client>,
) -> Result<Option<Arc<Communicator>>> {
    let form = match mode {
        "async" => CommunicatorMode::Async,
        "geo" => CommunicatorMode::Geo { push_nums: 100, vars: role.transpiler.geo_vars()? },
        _ => return Ok(None),
    };
    let options = CommunicatorOptions { mode: form, trainer, trainers: TRAINERS, ..CommunicatorOptions::default() };
    let communicator = Arc::new(Communicator::new(program, scope, client, options));
    exe.runtime().provide(communicator.clone());
    let between = communicator.clone();
    exe.runtime().set_between_runs(Some(Arc::new(move || between.settle())));
    communicator.start()?;
    Ok(Some(communicator))
}

/// Counts for the AUC start anew.
fn forget_auc(program: &Program, scope: &Scope) {
    for op in program.global().ops.iter().filter(|op| op.op_type == "auc") {
        for name in ["StatPos", "StatNeg"].iter().flat_map(|slot| op.inputs.get(slot)) {
            if let Some(var) = scope.find(name)
                && let Ok(counts) = var.write().dense_mut().data_mut::<i64>()
            {
                counts.fill(0);
            }
        }
    }
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |d: Duration| d.as_secs_f64())
}

fn build(net: &mut Net) -> Result<(VarRef, String)> {
    let label = net.checked_data("label", &[-1, 1], DType::I64, 0)?;
    let mut features = vec![net.checked_data("dense", &[-1, 13], DType::F32, 0)?];
    for i in 1..=26 {
        let ids = net.checked_data(&format!("C{i}"), &[-1, 1], DType::I64, 0)?;
        let first = ParamAttr::name("SparseFeatFactors").initializer(Initializer::uniform(-0.05, 0.05));
        features.push(net.embedding(&ids, Embedding::size(1_000_001, 10).is_sparse(true).param_attr(first))?);
    }
    let mut x = net.concat(&features.iter().collect::<Vec<_>>(), 1)?;
    for width in [273.0f64, 400.0, 400.0] {
        let first = ParamAttr::new().initializer(Initializer::normal(0.0, 1.0 / width.sqrt()));
        x = net.fc(&x, Fc::size(400).act("relu").param_attr(first))?;
    }
    let last = ParamAttr::new().initializer(Initializer::normal(0.0, 0.05));
    let predicted = net.fc(&x, Fc::size(2).act("softmax").param_attr(last))?;
    let cost = net.cross_entropy(&predicted, &label, CrossEntropy::new())?;
    let loss = net.mean(&cost)?;
    let auc = net.auc(&predicted, &label, Auc::new().num_thresholds(4096).slide_steps(20))?;
    Ok((loss, auc.auc.name().to_string()))
}
