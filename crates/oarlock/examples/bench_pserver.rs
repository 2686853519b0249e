//! One parameter server and one trainer on this machine, with a table of rows that live on the server only: how many rows are looked
//! up and updated per second of the server's processor time, how much memory a row takes, and how that grows with the table; then
//! how many gigabytes of dense parameters travel there and back.
//!
//! Arguments are numbers of rows (10^6 and 10^7 if there are none; 10^8 needs 12 GB of memory).
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a benchmark prints and looks at the clock")]

#[path = "bench/mod.rs"]
mod bench;

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use oarlock::prelude::*;
use oarlock::ps::client::Client;
use oarlock::transpile::{Arguments, Config, DistributeTranspiler, Trainers};

/// Ids of a step: what 1000 samples of 26 slots look up.
const IDS: usize = 26_000;
const WIDTH: usize = 10;
const STEPS: usize = 200;
/// Elements of the dense parameter: 64 MB.
const DENSE: usize = 4000;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [role, what, rows, endpoint] = &args[..]
        && role == "server"
    {
        return serve(what, rows.parse().expect("a number, given by this program"), endpoint);
    }
    let sizes: Vec<usize> = args.iter().filter_map(|a| a.parse().ok()).collect();
    let sizes = if sizes.is_empty() { vec![1_000_000, 10_000_000] } else { sizes };
    println!("a table of width {WIDTH} with Adagrad, {IDS} ids per step, one server");
    sizes.into_iter().try_for_each(table)?;
    dense()
}

/// Looks up and updates rows of a table of this size.
fn table(rows: usize) -> Result<()> {
    let cluster = Cluster::start("table", rows)?;
    let mut next = 0;
    while next < rows {
        let end = (next + 4 * IDS).min(rows);
        cluster.step(&[("ids", &ids((next..end).map(scatter)))])?;
        next = end;
    }
    let mut random = 1u64;
    let batches: Vec<Tensor> = (0..20).map(|_| ids((0..IDS).map(|_| scatter(below(&mut random, rows))))).collect();
    let (cpu, start) = (cluster.cpu(), Instant::now());
    for step in 0..STEPS {
        cluster.step(&[("ids", &batches[step % batches.len()])])?;
    }
    let (seconds, busy) = (start.elapsed().as_secs_f64(), cluster.cpu() - cpu);
    let done = (STEPS * IDS) as f64;
    println!(
        "  {rows:>11} rows: {:.2} M rows/s looked up and updated, {:.2} M per second of the server's processor time, {:.0} MB",
        done / seconds / 1e6,
        done / busy / 1e6,
        cluster.memory(),
    );
    cluster.end()
}

/// Sends the gradient of a large parameter and fetches the parameter.
fn dense() -> Result<()> {
    let cluster = Cluster::start("dense", DENSE)?;
    let x = Tensor::zeros(DType::F32, oarlock_tensor::Dims::from([1, DENSE]));
    cluster.step(&[("x", &x)])?;
    let (steps, start) = (20, Instant::now());
    for _ in 0..steps {
        cluster.step(&[("x", &x)])?;
    }
    let bytes = 2.0 * (DENSE * DENSE * 4 * steps) as f64;
    println!("  dense push and pull of 64 MB: {:.2} GB/s", bytes / start.elapsed().as_secs_f64() / 1e9);
    cluster.end()
}

/// Ids do not come in the order of the table.
fn scatter(id: usize) -> i64 {
    (id as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) as i64
}

fn below(state: &mut u64, limit: usize) -> usize {
    // A step of Knuth's generator; its upper bits.
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    ((u128::from(*state) * limit as u128) >> 64) as usize
}

fn ids(of: impl Iterator<Item = i64>) -> Tensor {
    let of: Vec<i64> = of.collect();
    Tensor::from_slice([of.len(), 1], &of).expect("as many ids as there are")
}

/// A server in a process of its own, and a trainer here.
struct Cluster {
    server: Child,
    exe: Executor,
    scope: Scope,
    program: Program,
}

impl Cluster {
    #[expect(clippy::zombie_processes, reason = "`end` waits for it")]
    fn start(what: &str, rows: usize) -> Result<Cluster> {
        let held = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let endpoint = held.local_addr().expect("an address").to_string();
        drop(held);
        let exe = std::env::current_exe().expect("this program's own path");
        let server = Command::new(exe)
            .args(["server", what, &rows.to_string(), &endpoint])
            .stderr(Stdio::null())
            .spawn()
            .expect("this program starts");
        let (transpiler, startup) = transpile(what, rows, &endpoint)?;
        let program = transpiler.get_trainer_program()?;
        let (exe, scope) = (Options { threads: 1, check_nan_inf: false }.executor(), Scope::new());
        exe.run(&startup, &[], &[], &scope)?;
        Ok(Cluster { server, exe, scope, program })
    }

    fn step(&self, feeds: &[(&str, &Tensor)]) -> Result<()> {
        self.exe.run(&self.program, feeds, &[], &self.scope).map(drop)
    }

    /// Processor time of the server so far, in seconds.
    fn cpu(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.server.id())).unwrap_or_default();
        let fields: Vec<f64> =
            stat.rsplit(") ").next().unwrap_or("").split(' ').filter_map(|f| f.parse().ok()).collect();
        // User and system time in hundredths of a second, behind the state, which is no number.
        (fields.get(10).unwrap_or(&0.0) + fields.get(11).unwrap_or(&0.0)) / 100.0
    }

    /// Memory of the server in MB.
    fn memory(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.server.id())).unwrap_or_default();
        let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:")).unwrap_or("0 kB");
        line.trim().trim_end_matches(" kB").trim().parse::<f64>().unwrap_or(0.0) / 1024.0
    }

    fn end(mut self) -> Result<()> {
        Client::of(self.exe.runtime()).leave()?;
        // It ends by itself when its only trainer has left.
        self.server.wait().map(drop).map_err(|e| oarlock::Error::new(oarlock::Kind::Io, e.to_string()))
    }
}

fn transpile(what: &str, rows: usize, endpoint: &str) -> Result<(DistributeTranspiler, Program)> {
    let mut net = Net::new();
    net.seed(1);
    let out = match what {
        "table" => {
            let ids = net.checked_data("ids", &[-1, 1], DType::I64, 0)?;
            let first = ParamAttr::name("rows").initializer(Initializer::uniform(-0.05, 0.05));
            let table = Embedding::size(rows, WIDTH).is_sparse(true).is_distributed(true);
            net.embedding(&ids, table.param_attr(first))?
        }
        _ => {
            let x = net.checked_data("x", &[-1, rows as i64], DType::F32, 0)?;
            net.fc(&x, Fc::size(rows))?
        }
    };
    let loss = net.mean(&out)?;
    match what {
        "table" => optimizer::adagrad(0.1).minimize(&mut net, &loss)?,
        _ => optimizer::sgd(0.1).minimize(&mut net, &loss)?,
    };
    let config = Config { sync_mode: false, ..Config::fluid() };
    let mut transpiler = DistributeTranspiler::new(config);
    let (mut main, mut startup) = (net.main.clone(), net.startup.clone());
    transpiler.transpile(Arguments {
        registry: &oarlock::registry(),
        trainer_id: 0,
        program: &mut main,
        startup_program: &mut startup,
        pservers: endpoint,
        trainers: Trainers::Count(1),
        sync_mode: false,
        current_endpoint: "",
        slice_var_up: None,
        split_method: None,
    })?;
    Ok((transpiler, startup))
}

fn serve(what: &str, rows: usize, endpoint: &str) -> Result<()> {
    let (transpiler, _) = transpile(what, rows, endpoint)?;
    let (program, startup) = transpiler.get_pserver_programs(endpoint)?;
    let (exe, scope) = (Options { threads: 1, check_nan_inf: false }.executor(), Scope::new());
    exe.run(&startup, &[], &[], &scope)?;
    exe.run(&program, &[], &[], &scope).map(drop)
}
