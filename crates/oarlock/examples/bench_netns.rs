//! All-reduce of 2, 4 and 8 workers, each with a network of its own behind a link of limited bandwidth, next to what the cost model of
//! docs/collectives.md gives. Needs root and Linux's `ip`, `tc`, `unshare` and `nsenter` (Debian: iproute2, util-linux).
//!
//! Every worker is in a network namespace that exists as long as a process of this benchmark does: whatever ends it, no device, address
//! or rule is left behind, and those of the machine are not touched.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a benchmark prints and looks at the clock")]

#[path = "bench/mod.rs"]
mod bench;

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bench::models::{join, perceptron};
use oarlock::collective::{Backend, Group, GroupOptions, Groups, Reduce};
use oarlock::prelude::*;

const RANKS: [usize; 3] = [2, 4, 8];

/// Bytes, and how often they are exchanged in a window.
const SIZES: [(usize, usize); 4] = [(4 << 10, 100), (64 << 10, 20), (1 << 20, 4), (8 << 20, 1)];
const WINDOWS: usize = 5;

/// The links: bits per second each way, and, where the system can do so, how long a packet is under way.
const MBIT: usize = 100;
const DELAY_US: usize = 200;

/// The bytes that pass a link at once before the limit counts, where no delay is available.
const BURST: usize = 16 << 10;

/// Of the bits of a link, those that are not headers of packets.
const USED: f64 = 1448.0 / 1514.0;

/// Up to here the engine doubles; then it makes a ring.
const SHORT: usize = 32 << 10;

/// Tells a worker who it is: rank and endpoints.
const WORKER: &str = "OARLOCK_BENCH_WORKER";

/// A step of training whose exchange is to go on beside the backward pass: rows, and gradients that are exchanged together, in MiB.
const ROWS: usize = 1000;
const FUSE_MB: [f64; 3] = [4.0, 0.5, 0.1];
const STEPS: usize = 8;

/// Seconds of one exchange, by size.
type Times = Vec<f64>;

fn main() -> Result<()> {
    if let Ok(worker) = std::env::var(WORKER) {
        let (rank, endpoints) = worker.split_once(' ').unwrap_or_default();
        let (rank, endpoints) =
            (rank.parse().unwrap_or(0), endpoints.split(',').map(str::to_string).collect::<Vec<_>>());
        let mut times = measure(rank, endpoints.clone())?;
        if endpoints.len() == 2 {
            times.extend(steps(rank, &endpoints)?);
        }
        println!("TIMES {}", times.iter().map(f64::to_string).collect::<Vec<_>>().join(" "));
        return Ok(());
    }
    let most = RANKS[RANKS.len() - 1];
    // Without limits: what the machine itself costs.
    let free = match Networks::new(2, false).and_then(|net| net.run(2)) {
        Ok(times) => times,
        Err(why) => {
            println!("skipped: no networks to measure in ({why})");
            return Ok(());
        }
    };
    let free = &free[..SIZES.len()];
    let latency = free[0] - SIZES[0].0 as f64 / (SIZES[3].0 as f64 / free[3]);
    println!(
        "two workers without limits: {:.1} us at 4 KB, {:.2} GB/s",
        free[0] * 1e6,
        SIZES[3].0 as f64 / free[3] / 1e9
    );
    let net = Networks::new(most, true).map_err(Error::internal)?;
    let delay = if net.delays { DELAY_US as f64 * 1e-6 } else { 0.0 };
    println!(
        "links of {MBIT} Mbit/s each way, {:.0} us: all-reduce in ms, model and measured",
        (latency + delay) * 1e6
    );
    println!("{:>8} {}", "", RANKS.map(|n| format!("{n:>12} workers")).join(" "));
    let measured: Vec<Times> =
        RANKS.iter().map(|n| net.run(*n)).collect::<std::result::Result<_, _>>().map_err(Error::internal)?;
    for (i, (bytes, _)) in SIZES.iter().enumerate() {
        let cell = |(n, times): (&usize, &Times)| {
            let model = model(*n, SIZES[i], latency + delay, if net.delays { 0 } else { BURST });
            format!("{:>9.2} {:>9.2}", model * 1e3, times[i] * 1e3)
        };
        let cells: Vec<String> = RANKS.iter().zip(&measured).map(cell).collect();
        println!("{:>5} KB {}", bytes >> 10, cells.join("  "));
    }
    show_overlap(&measured[0][SIZES.len()..]);
    Ok(())
}

/// Prints the part of an exchange that is hidden behind the backward pass.
fn show_overlap(times: &[f64]) {
    let [alone, exchange, with @ ..] = times else { return };
    println!("a step of 273-400-400-400-2 with {ROWS} rows on each of 2 workers, ms");
    println!("  {:.1} without exchange, {:.1} for the exchange alone", alone * 1e3, exchange * 1e3);
    for (mb, step) in FUSE_MB.iter().zip(with) {
        let hidden = (alone + exchange - step) / alone.min(*exchange) * 100.0;
        println!("  {:.1} with it, {mb} MiB together: {hidden:.0} % of what could overlap does", step * 1e3);
    }
}

/// Seconds that the formulas give: `a` seconds for a message, and what the links let through.
fn model(n: usize, (bytes, count): (usize, usize), a: f64, burst: usize) -> f64 {
    let rate = MBIT as f64 * 1e6 / 8.0 * USED;
    // A burst passes once in a window.
    let over = |sent: f64| (sent - burst as f64 / count as f64).max(0.0) / rate;
    if bytes <= SHORT {
        let steps = f64::from(n.ilog2());
        return steps * a + over(steps * bytes as f64);
    }
    2.0 * (n - 1) as f64 * a + over(2.0 * (n - 1) as f64 / n as f64 * bytes as f64)
}

/// The work of each rank.
fn measure(rank: usize, endpoints: Vec<String>) -> Result<Times> {
    let mut options = GroupOptions::new(rank, endpoints);
    (options.backend, options.deadline) = (Backend::Tcp, Duration::from_secs(60));
    let group = Group::join(options)?;
    let mut times = Vec::new();
    for (bytes, count) in SIZES {
        let mut data = vec![1.0_f32; bytes / 4];
        let mut windows = Vec::new();
        for _ in 0..=WINDOWS {
            data.fill(1.0);
            // Lets links that have a little in hand have it again.
            std::thread::sleep(Duration::from_millis(20));
            group.barrier()?;
            let start = Instant::now();
            for _ in 0..count {
                group.all_reduce(&mut data, Reduce::Sum)?;
            }
            windows.push(start.elapsed().as_secs_f64() / count as f64);
        }
        // One window goes first and does not count.
        windows.remove(0);
        windows.sort_by(f64::total_cmp);
        times.push(windows[WINDOWS / 2]);
    }
    Ok(times)
}

/// Seconds of a step without exchange, of the exchange alone, and of a step with it for each of [`FUSE_MB`].
fn steps(rank: usize, endpoints: &[String]) -> Result<Times> {
    let mut times = vec![step(rank, endpoints, None)?];
    let mut options = GroupOptions::new(rank, endpoints.to_vec());
    options.backend = Backend::Tcp;
    let group = Group::join(options)?;
    let mut gradients = vec![0.0_f32; 273 * 400 + 2 * 400 * 400 + 400 * 2 + 3 * 400 + 2];
    group.barrier()?;
    let start = Instant::now();
    for _ in 0..STEPS {
        group.all_reduce(&mut gradients, Reduce::Sum)?;
    }
    times.push(start.elapsed().as_secs_f64() / STEPS as f64);
    group.leave();
    for mb in FUSE_MB {
        times.push(step(rank, endpoints, Some(mb))?);
    }
    Ok(times)
}

/// Seconds of a step; with the other worker if gradients are exchanged.
fn step(rank: usize, endpoints: &[String], fuse_mb: Option<f64>) -> Result<f64> {
    let mut net = Net::new();
    let (loss, batch) = perceptron(&mut net, ROWS)?;
    optimizer::sgd(0.001).minimize(&mut net, &loss)?;
    let (exe, scope) = (Options { threads: 1, check_nan_inf: false }.executor(), Scope::new());
    if let Some(mb) = fuse_mb {
        join(&mut net, rank, &endpoints.join(","))?;
        let mut options = GroupOptions::new(rank, Vec::new());
        (options.backend, options.fuse_bytes) = (Backend::Tcp, (mb * 1024.0 * 1024.0) as usize);
        Groups::of(exe.runtime()).set_options(options);
    }
    exe.run(&net.startup, &[], &[], &scope)?;
    let feed: Vec<(&str, &Tensor)> = batch.iter().map(|(name, t)| (*name, t)).collect();
    let run = |_| exe.run(&net.main, &feed, &[], &scope).map(drop);
    (0..2).try_for_each(run)?;
    let start = Instant::now();
    (0..STEPS).try_for_each(run)?;
    let seconds = start.elapsed().as_secs_f64() / STEPS as f64;
    Groups::of(exe.runtime()).leave();
    Ok(seconds)
}

/// Networks of workers, joined by a bridge in one of its own.
struct Networks {
    /// Processes that keep the namespaces; the first has the bridge. They end when their input does.
    holders: Vec<Child>,
    /// Do packets take time on the links?
    delays: bool,
}

impl Networks {
    fn new(count: usize, limited: bool) -> std::result::Result<Networks, String> {
        let mut net = Networks { holders: Vec::new(), delays: false };
        for _ in 0..=count {
            let mut holder = Command::new("unshare");
            // It says when it is in its namespace.
            holder.args(["--net", "sh", "-c", "echo in; exec cat"]).stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = holder.stderr(Stdio::piped()).spawn().map_err(|e| format!("unshare: {e}"))?;
            let mut line = String::new();
            if let Some(output) = &mut child.stdout {
                BufReader::new(output).read_line(&mut line).map_err(|e| e.to_string())?;
            }
            if line.is_empty() {
                let mut why = String::new();
                let _ = child.stderr.as_mut().map(|err| err.read_to_string(&mut why));
                let _ = child.wait();
                return Err(why.trim().to_string());
            }
            net.holders.push(child);
        }
        net.within(0, "ip link add br0 type bridge")?;
        net.within(0, "ip link set br0 up")?;
        for i in 1..=count {
            net.within(0, &format!("ip link add v{i} type veth peer name eth0 netns {}", net.holders[i].id()))?;
            net.within(0, &format!("ip link set v{i} master br0 up"))?;
            net.within(i, "ip link set lo up")?;
            net.within(i, &format!("ip address add 10.77.0.{i}/24 dev eth0"))?;
            net.within(i, "ip link set eth0 up")?;
            if limited {
                net.delays = net.limit(i)?;
            }
        }
        Ok(net)
    }

    /// Limits what leaves a worker; true if packets are delayed, too, which not every kernel can do.
    fn limit(&self, i: usize) -> std::result::Result<bool, String> {
        let delayed = format!("tc qdisc add dev eth0 root netem rate {MBIT}mbit delay {DELAY_US}us limit 100000");
        if self.within(i, &delayed).is_ok() {
            return Ok(true);
        }
        self.within(i, &format!("tc qdisc add dev eth0 root tbf rate {MBIT}mbit burst {BURST} latency 400ms"))?;
        Ok(false)
    }

    fn enter(&self, i: usize) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--net", "--target", &self.holders[i].id().to_string()]);
        command
    }

    fn within(&self, i: usize, words: &str) -> std::result::Result<(), String> {
        let output = self.enter(i).args(words.split(' ')).output().map_err(|e| format!("nsenter: {e}"))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(format!("{words}: {}", String::from_utf8_lossy(&output.stderr).trim())),
        }
    }

    /// As many workers at once; what the first of them measured.
    fn run(&self, count: usize) -> std::result::Result<Times, String> {
        let endpoints: Vec<String> = (1..=count).map(|i| format!("10.77.0.{i}:7000")).collect();
        let start = |rank: usize| {
            let mut worker = self.enter(rank + 1);
            worker.arg(std::env::current_exe().unwrap_or_default()).stdout(Stdio::piped());
            worker.env(WORKER, format!("{rank} {}", endpoints.join(","))).spawn().map_err(|e| e.to_string())
        };
        let workers: Vec<Child> = (0..count).map(start).collect::<std::result::Result<_, _>>()?;
        // One that ends early is noticed by the others; each has deadlines.
        let outputs: Vec<_> = workers.into_iter().map(|worker| worker.wait_with_output()).collect();
        let text = outputs.into_iter().flatten().next().map(|o| String::from_utf8_lossy(&o.stdout).into_owned());
        let text = text.unwrap_or_default();
        let line = text.strip_prefix("TIMES ").ok_or("a worker failed")?;
        Ok(line.split_whitespace().filter_map(|word| word.parse().ok()).collect())
    }
}

impl Drop for Networks {
    fn drop(&mut self) {
        for mut holder in self.holders.drain(..) {
            drop(holder.stdin.take());
            let _ = holder.wait();
        }
    }
}
