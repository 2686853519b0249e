//! The cost of the wire on loopback, between two processes: round trips per second, gigabytes per second, CPU seconds per gigabyte.
//!
//! `cargo run --release -p oarlock-net --example bench_wire [-- SECONDS]`; SECONDS per line, 2 if not given.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a benchmark prints and looks at the clock")]

use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use oarlock_net::{Conn, Incoming, Listener, NetOptions, Outgoing, Received};

type Failure = Box<dyn std::error::Error>;

/// The server answers with what came.
const ECHO: u16 = 1;
/// The server answers with its CPU time, in milliseconds, as the id.
const PUSH: u16 = 2;

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("serve") => serve(args.get(1).ok_or("serve ENDPOINT")?),
        Some(seconds) => measure(Duration::from_secs_f64(seconds.parse()?)),
        None => measure(Duration::from_secs(2)),
    }
}

fn measure(time: Duration) -> Result<(), Failure> {
    println!("{:28}{:>12}{:>10}{:>14}", "", "frames/s", "GB/s", "CPU-s per GB");
    for (what, kind, bytes, checksum) in [
        ("echo 100 B", ECHO, 100, true),
        ("echo 256 KB", ECHO, 256 << 10, true),
        ("push 4 MB", PUSH, 4 << 20, true),
        ("push 4 MB, no checksum", PUSH, 4 << 20, false),
        ("push 64 MB", PUSH, 64 << 20, true),
        ("push 64 MB, no checksum", PUSH, 64 << 20, false),
    ] {
        let options = NetOptions { checksum, ..NetOptions::default() };
        // The port of a listener that is closed again: good enough for a benchmark.
        let endpoint = Listener::bind("127.0.0.1:0", &options)?.endpoint().to_owned();
        let mut server = start_server(&endpoint)?;
        let outcome = one(what, kind, &vec![1; bytes], time, Conn::connect(&endpoint, &options, soon())?);
        server.wait()?;
        outcome?;
    }
    Ok(())
}

/// Sends frames for some time and prints a line.
fn one(what: &str, kind: u16, data: &[u8], time: Duration, mut conn: Conn) -> Result<(), Failure> {
    let mut reply = Incoming::new();
    let mut exchange = |id| -> Result<u64, Failure> {
        conn.send(&Outgoing { kind, id, meta: &[], sections: &[data] }, soon())?;
        match conn.recv(&mut reply, soon())? {
            Received::Frame => Ok(reply.id()),
            other => Err(format!("no reply: {other:?}").into()),
        }
    };
    let server_before = exchange(0)?;
    let (start, own_before) = (Instant::now(), cpu_milliseconds()?);
    let (mut frames, mut server_after) = (0, 0);
    while start.elapsed() < time {
        frames += 1;
        server_after = exchange(frames)?;
    }
    let seconds = start.elapsed().as_secs_f64();
    let gigabytes = frames as f64 * data.len() as f64 * 1e-9;
    let cpu = match kind {
        PUSH => format!(
            "{:.3}",
            (cpu_milliseconds()? - own_before + server_after - server_before) as f64 * 1e-3 / gigabytes
        ),
        _ => "-".to_owned(),
    };
    println!("{what:28}{:12.0}{:10.2}{cpu:>14}", frames as f64 / seconds, gigabytes / seconds);
    Ok(())
}

fn start_server(endpoint: &str) -> Result<Child, Failure> {
    Ok(Command::new(std::env::current_exe()?).args(["serve", endpoint]).stdin(Stdio::null()).spawn()?)
}

/// Answers one client until it leaves.
fn serve(endpoint: &str) -> Result<(), Failure> {
    let listener = Listener::bind(endpoint, &NetOptions::default())?;
    let mut conn = listener.accept(&AtomicBool::new(false))?.ok_or("stopped")?;
    let mut frame = Incoming::new();
    while conn.recv(&mut frame, soon())? == Received::Frame {
        let section = frame.section(0).unwrap_or_default();
        match frame.kind() {
            ECHO => conn.send(&Outgoing { kind: ECHO, id: frame.id(), meta: &[], sections: &[section] }, soon())?,
            _ => conn.send(&Outgoing { kind: PUSH, id: cpu_milliseconds()?, meta: &[], sections: &[] }, soon())?,
        }
    }
    Ok(())
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

/// CPU time of this process, in user and system, to 10 ms.
fn cpu_milliseconds() -> Result<u64, Failure> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    match fields[..] {
        // Fields 14 and 15 of the whole line, in hundredths of a second.
        [_, _, _, _, _, _, _, _, _, _, _, user, system, ..] => Ok((user.parse::<u64>()? + system.parse::<u64>()?) * 10),
        _ => Err("/proc/self/stat has too few fields".into()),
    }
}
