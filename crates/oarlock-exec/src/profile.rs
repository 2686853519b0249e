//! Where the time of runs goes.

use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use oarlock_ir::{Name, Op};
use parking_lot::Mutex;

/// Collects times while runs go on.
pub(crate) struct Recorder {
    start: Instant,
    events: Mutex<Vec<Event>>,
}

struct Event {
    op_type: Name,
    /// The first output, to tell operators of one type apart.
    output: Name,
    from: Duration,
    took: Duration,
    thread: u64,
}

#[expect(clippy::disallowed_methods, reason = "measuring time is what a profiler is for")]
fn now() -> Instant {
    Instant::now()
}

impl Recorder {
    pub(crate) fn new() -> Recorder {
        Recorder { start: now(), events: Mutex::default() }
    }

    /// Runs `work` and records how long it took.
    pub(crate) fn time<T>(&self, op: &Op, work: impl FnOnce() -> T) -> T {
        let (from, result) = (now(), work());
        let output = op.outputs.args().next().cloned().unwrap_or_else(|| "".into());
        self.record(op.op_type.clone(), output, from);
        result
    }

    /// Something ends that began at `from`.
    fn record(&self, op_type: Name, output: Name, from: Instant) {
        let event = Event { op_type, output, from: from - self.start, took: now() - from, thread: thread_number() };
        self.events.lock().push(event);
    }

    pub(crate) fn finish(self) -> Profile {
        Profile { wall: now() - self.start, events: self.events.into_inner() }
    }
}

/// The profile of an executor, into which others of its runtime record, too: a server's work is done by many. They find it in their
/// runtime.
#[derive(Clone)]
pub struct SharedProfile(pub(crate) Arc<Recorder>);

impl SharedProfile {
    /// Does something that is no operator, and records how long it took, under this name.
    pub fn time<T>(&self, name: &str, work: impl FnOnce() -> T) -> T {
        let (from, result) = (now(), work());
        self.0.record(name.into(), "".into(), from);
        result
    }
}

/// A small number for the calling thread, for the trace's rows.
fn thread_number() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local!(static MINE: u64 = NEXT.fetch_add(1, Ordering::Relaxed));
    MINE.with(|n| *n)
}

/// Time per operator of the runs between `start_profile` and `stop_profile`.
pub struct Profile {
    wall: Duration,
    events: Vec<Event>,
}

/// The time one type of operator took.
#[derive(Debug, Clone, PartialEq)]
pub struct OpTime {
    /// The operator's type.
    pub op_type: Name,
    /// How often it ran.
    pub calls: usize,
    /// In all.
    pub total: Duration,
    /// The quickest call.
    pub min: Duration,
    /// The slowest call.
    pub max: Duration,
}

impl Profile {
    /// Time per operator type, the largest first.
    pub fn by_type(&self) -> Vec<OpTime> {
        let mut found: HashMap<&Name, OpTime> = HashMap::new();
        for e in &self.events {
            let t = found.entry(&e.op_type).or_insert_with(|| OpTime {
                op_type: e.op_type.clone(),
                calls: 0,
                total: Duration::ZERO,
                min: e.took,
                max: e.took,
            });
            t.calls += 1;
            t.total += e.took;
            t.min = t.min.min(e.took);
            t.max = t.max.max(e.took);
        }
        let mut times: Vec<OpTime> = found.into_values().collect();
        times.sort_by(|a, b| b.total.cmp(&a.total).then(a.op_type.cmp(&b.op_type)));
        times
    }

    /// Time from start to stop.
    pub fn wall(&self) -> Duration {
        self.wall
    }

    /// The runs as a Chrome trace (`chrome://tracing`, Perfetto): JSON, one event per operator.
    pub fn chrome_trace(&self) -> String {
        let mut out = String::from("{\"traceEvents\":[");
        for (i, e) in self.events.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            // Writing to a String cannot fail.
            let _ = write!(
                out,
                "{comma}\n{{\"ph\":\"X\",\"pid\":1,\"tid\":{},\"name\":{},\"ts\":{:.3},\"dur\":{:.3},\"args\":{{\"out\":{}}}}}",
                e.thread,
                json_string(&e.op_type),
                e.from.as_secs_f64() * 1e6,
                e.took.as_secs_f64() * 1e6,
                json_string(&e.output),
            );
        }
        out.push_str("\n],\"displayTimeUnit\":\"ms\"}\n");
        out
    }
}

fn json_string(s: &str) -> String {
    let mut out = String::from("\"");
    for c in s.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c if (c as u32) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |d: Duration| d.as_secs_f64() * 1e3;
        let us = |d: Duration| d.as_secs_f64() * 1e6;
        let times = self.by_type();
        let all: Duration = times.iter().map(|t| t.total).sum();
        writeln!(
            f,
            "{:<32} {:>9} {:>12} {:>12} {:>12} {:>12} {:>6}",
            "operator", "calls", "total ms", "mean us", "min us", "max us", "share"
        )?;
        for t in &times {
            let share = if all.is_zero() { 0.0 } else { 100.0 * t.total.as_secs_f64() / all.as_secs_f64() };
            writeln!(
                f,
                "{:<32} {:>9} {:>12.3} {:>12.3} {:>12.3} {:>12.3} {:>5.1}%",
                t.op_type,
                t.calls,
                ms(t.total),
                us(t.total) / t.calls as f64,
                us(t.min),
                us(t.max),
                share
            )?;
        }
        write!(f, "operators {:.3} ms of {:.3} ms", ms(all), ms(self.wall))
    }
}
