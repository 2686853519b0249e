//! All-reduce of two processes on this machine, from 4 KB to 64 MB, through shared memory and through loopback sockets.
//! Peers: `OARLOCK_PEER_TORCH` names a Python interpreter whose torch has gloo; `mpicc` and `mpirun` are used if they are installed.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a benchmark prints and looks at the clock")]

mod bench;

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use oarlock::Result;
use oarlock::dist::collective::{Backend, Group, GroupOptions, Reduce};

/// Bytes, and how often they are exchanged in a window.
const SIZES: [(usize, usize); 4] = [(4 << 10, 2000), (1 << 20, 200), (16 << 20, 20), (64 << 20, 8)];
const WINDOWS: usize = 5;

/// Tell the second process who it is.
const ENDPOINTS: &str = "OARLOCK_BENCH_ENDPOINTS";
const TCP: &str = "OARLOCK_BENCH_TCP";

/// Seconds of one exchange, by size: those of all windows.
type Times = Vec<Vec<f64>>;

fn main() -> Result<()> {
    if let Ok(endpoints) = std::env::var(ENDPOINTS) {
        let endpoints = endpoints.split(',').map(str::to_string).collect();
        return measure(1, endpoints, std::env::var(TCP).is_ok()).map(drop);
    }
    show("shared memory", &run(false)?);
    if let Some(times) = gloo() {
        show("gloo", &times);
    }
    show("shared memory", &run(false)?);
    match mpi() {
        Some(times) => show("OpenMPI", &times),
        None => println!("skipped: OpenMPI (mpicc or mpirun is not installed, or failed)"),
    }
    show("shared memory", &run(false)?);
    show("TCP", &run(true)?);
    Ok(())
}

/// Two processes: this one and another.
fn run(tcp: bool) -> Result<Times> {
    let held: Vec<_> = (0..2).filter_map(|_| std::net::TcpListener::bind("127.0.0.1:0").ok()).collect();
    let endpoints: Vec<String> = held.iter().filter_map(|l| Some(l.local_addr().ok()?.to_string())).collect();
    drop(held);
    let mut other = Command::new(std::env::current_exe().unwrap_or_default());
    other.env(ENDPOINTS, endpoints.join(","));
    if tcp {
        other.env(TCP, "1");
    }
    let _other = Other(other.spawn().map_err(|e| oarlock::Error::internal(e.to_string()))?);
    measure(0, endpoints, tcp)
}

struct Other(Child);

impl Drop for Other {
    fn drop(&mut self) {
        let until = Instant::now() + Duration::from_secs(5);
        while matches!(self.0.try_wait(), Ok(None)) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        // One that has ended cannot be killed, and need not be.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn measure(rank: usize, endpoints: Vec<String>, tcp: bool) -> Result<Times> {
    let mut options = GroupOptions::new(rank, endpoints);
    options.backend = if tcp { Backend::Tcp } else { Backend::Auto };
    options.net = oarlock::dist::wire::NetOptions { checksum: false, ..options.net };
    let group = Group::join(options)?;
    let mut times = Vec::new();
    for (bytes, count) in SIZES {
        let mut data = vec![1.0_f32; bytes / 4];
        let mut windows = Vec::new();
        for window in 0..=WINDOWS {
            data.fill(1.0);
            group.barrier()?;
            let start = Instant::now();
            for _ in 0..count {
                group.all_reduce(&mut data, Reduce::Sum)?;
            }
            // One window goes first unmeasured.
            if window > 0 {
                windows.push(start.elapsed().as_secs_f64() / count as f64);
            }
        }
        times.push(windows);
    }
    Ok(times)
}

fn show(who: &str, times: &Times) {
    for ((bytes, _), windows) in SIZES.iter().zip(times) {
        let mut sorted = windows.clone();
        sorted.sort_by(f64::total_cmp);
        let [low, middle, high] = [sorted[0], sorted[sorted.len() / 2], sorted[sorted.len() - 1]];
        let rate = |seconds: f64| *bytes as f64 / seconds / 1e9;
        println!(
            "{who:>14} {:>6} KB: {:>9.1} us [{:.1}-{:.1}], {:>6.2} GB/s",
            bytes >> 10,
            middle * 1e6,
            low * 1e6,
            high * 1e6,
            rate(middle)
        );
    }
}

fn gloo() -> Option<Times> {
    let peer = bench::Peer::find("gloo", "OARLOCK_PEER_TORCH", "allreduce_gloo.py")?;
    lines(&peer.output(&[])?)
}

/// Compiles and runs the same loop on MPI.
fn mpi() -> Option<Times> {
    let source = format!("{}/../../benches/peers/allreduce_mpi.c", env!("CARGO_MANIFEST_DIR"));
    let program = std::env::temp_dir().join(format!("oarlock-allreduce-mpi-{}", std::process::id()));
    let compiled = Command::new("mpicc").args(["-O2", "-o"]).arg(&program).arg(source).status().ok()?.success();
    let output = compiled.then(|| {
        let mut run = Command::new("mpirun");
        run.args(["--allow-run-as-root", "--oversubscribe", "-n", "2"]).arg(&program).output()
    });
    // It was only made for this.
    let _ = std::fs::remove_file(&program);
    lines(&String::from_utf8_lossy(&output?.ok()?.stdout))
}

/// `TIMES bytes seconds seconds ...`, a line per size.
fn lines(text: &str) -> Option<Times> {
    let line = |line: &str| -> Vec<f64> { line.split_whitespace().skip(1).filter_map(|w| w.parse().ok()).collect() };
    let times: Times = text.lines().filter_map(|l| l.strip_prefix("TIMES ")).map(line).collect();
    (times.len() == SIZES.len() && times.iter().all(|windows| !windows.is_empty())).then_some(times)
}
