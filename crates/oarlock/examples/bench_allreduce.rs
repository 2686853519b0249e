//! All-reduce of two processes on this machine, from 4 KB to 64 MB, through shared memory, through loopback sockets, and with MPI as the
//! carrier of messages.
//! Peers: `OARLOCK_PEER_TORCH` names a Python interpreter whose torch has gloo; `mpicc` and `mpirun` are used if they are installed.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a benchmark prints and looks at the clock")]

mod bench;

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use oarlock::Result;
use oarlock::collective::{Backend, Group, GroupOptions, Reduce};

/// Bytes, and how often they are exchanged in a window.
const SIZES: [(usize, usize); 4] = [(4 << 10, 2000), (1 << 20, 200), (16 << 20, 20), (64 << 20, 8)];
const WINDOWS: usize = 5;

/// Tell the second process who it is.
const ENDPOINTS: &str = "OARLOCK_BENCH_ENDPOINTS";
const BACKEND: &str = "OARLOCK_BENCH_BACKEND";

/// Seconds of one exchange, by size: those of all windows.
type Times = Vec<Vec<f64>>;

fn main() -> Result<()> {
    if let Ok(endpoints) = std::env::var(ENDPOINTS) {
        let endpoints = endpoints.split(',').map(str::to_string).collect();
        let backend = Backend::parse(&std::env::var(BACKEND).unwrap_or_default())?;
        // Both are started by mpirun, or this is the second.
        let rank = std::env::var("OMPI_COMM_WORLD_RANK").map_or(1, |rank| rank.parse().unwrap_or(0));
        let times = measure(rank, endpoints, backend)?;
        if rank == 0 {
            print_times(&times);
        }
        return Ok(());
    }
    show("shared memory", &run(Backend::Auto)?);
    if let Some(times) = gloo() {
        show("gloo", &times);
    }
    show("shared memory", &run(Backend::Auto)?);
    match mpi() {
        Some(times) => show("OpenMPI", &times),
        None => println!("skipped: OpenMPI (mpicc or mpirun is not installed, or failed)"),
    }
    show("shared memory", &run(Backend::Auto)?);
    show("TCP", &run(Backend::Tcp)?);
    match run_over_mpi() {
        Some(times) => show("over OpenMPI", &times),
        None => println!("skipped: over OpenMPI (mpirun is not installed, or failed)"),
    }
    Ok(())
}

/// Two processes: this one and another.
fn run(backend: Backend) -> Result<Times> {
    let endpoints = endpoints();
    let mut other = Command::new(std::env::current_exe().unwrap_or_default());
    other.env(ENDPOINTS, endpoints.join(",")).env(BACKEND, backend.to_string());
    let _other = Other(other.spawn().map_err(|e| oarlock::Error::internal(e.to_string()))?);
    measure(0, endpoints, backend)
}

/// Two processes that mpirun starts, and whose messages it carries.
fn run_over_mpi() -> Option<Times> {
    let mut command = Command::new("mpirun");
    command.args(["--allow-run-as-root", "--oversubscribe", "-n", "2"]).arg(std::env::current_exe().ok()?);
    let output = command.env(ENDPOINTS, endpoints().join(",")).env(BACKEND, "mpi").output().ok()?;
    lines(&String::from_utf8_lossy(&output.stdout))
}

fn endpoints() -> Vec<String> {
    let held: Vec<_> = (0..2).filter_map(|_| std::net::TcpListener::bind("127.0.0.1:0").ok()).collect();
    held.iter().filter_map(|l| Some(l.local_addr().ok()?.to_string())).collect()
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

fn measure(rank: usize, endpoints: Vec<String>, backend: Backend) -> Result<Times> {
    let mut options = GroupOptions::new(rank, endpoints);
    options.backend = backend;
    options.net = oarlock::net::NetOptions { checksum: false, ..options.net };
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

fn print_times(times: &Times) {
    for ((bytes, _), windows) in SIZES.iter().zip(times) {
        println!("TIMES {bytes} {}", windows.iter().map(f64::to_string).collect::<Vec<_>>().join(" "));
    }
}

/// `TIMES bytes seconds seconds ...`, a line per size.
fn lines(text: &str) -> Option<Times> {
    let line = |line: &str| -> Vec<f64> { line.split_whitespace().skip(1).filter_map(|w| w.parse().ok()).collect() };
    let times: Times = text.lines().filter_map(|l| l.strip_prefix("TIMES ")).map(line).collect();
    (times.len() == SIZES.len() && times.iter().all(|windows| !windows.is_empty())).then_some(times)
}
