//! Runs the benchmarks so that their figures can be compared: one at a time, and ahead of whatever else the machine does.

use std::fs::{File, OpenOptions};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::{files, process};

const EXAMPLES: &str = "crates/oarlock/examples";

/// Runs its arguments in this new session with a high share of the processor, until they end or standard input closes.
///
/// Linux shares the processor between sessions first, so `nice` alone does not put a benchmark before a build started
/// elsewhere. Raising the share needs privilege; without it the benchmark runs all the same. A new session gets no
/// Ctrl-C from the terminal; that is why it watches its standard input, which closes when xtask goes away.
const ALONE: &str = r#"
{ echo -12 > /proc/self/autogroup; } 2> /dev/null || echo "note: not allowed to raise the priority" >&2
exec 3<&0
"$@" 3<&- < /dev/null & job=$!
{ read -r _ <&3; kill "$job"; } 2> /dev/null & watch=$!
wait "$job"; code=$?
kill "$watch" 2> /dev/null
exit "$code"
"#;

pub(crate) fn run(wanted: &[String]) -> Result<()> {
    let known = benches()?;
    if let Some(unknown) = wanted.iter().find(|name| !known.contains(name)) {
        bail!("no benchmark `{unknown}`; known: {}", known.join(", "));
    }
    if known.is_empty() {
        bail!("there are no benchmarks: none of {EXAMPLES} is called bench_*.rs");
    }
    let names = if wanted.is_empty() { &known[..] } else { wanted };
    println!("benchmarks: {}", known.join(", "));
    let mut build = process::cargo();
    build.args(["build", "--release", "-p", "oarlock"]);
    process::run(build.args(names.iter().flat_map(|name| ["--example".to_string(), format!("bench_{name}")])))?;
    for name in names {
        run_alone(name)?;
    }
    Ok(())
}

fn benches() -> Result<Vec<String>> {
    let stems: Vec<String> = files::list(Path::new(EXAMPLES))?.iter().map(|path| files::stem(path)).collect();
    Ok(stems.iter().filter_map(|stem| stem.strip_prefix("bench_")).map(str::to_string).collect())
}

fn run_alone(name: &str) -> Result<()> {
    let _lock = lock()?;
    println!("== {name}");
    let mut bench = process::cargo();
    bench.args(["run", "-q", "--release", "-p", "oarlock", "--example", &format!("bench_{name}")]);
    if !process::exists("setsid") {
        println!("note: without `setsid`, what else runs on this machine blurs the figures");
        return process::run(&mut bench);
    }
    let mut alone = Command::new("setsid");
    alone.args(["-w", "sh", "-c", ALONE, "sh"]).arg(bench.get_program()).args(bench.get_args());
    let mut child = alone.stdin(Stdio::piped()).spawn().context("cannot start setsid")?;
    // Taken out of the child, because waiting for it would close it.
    let _stdin = child.stdin.take();
    let status = child.wait().context("cannot wait for the benchmark")?;
    if !status.success() {
        bail!("benchmark `{name}` failed ({status})");
    }
    Ok(())
}

/// Waits until no other benchmark of this project runs on this machine. The lock is let go when the file is closed.
fn lock() -> Result<File> {
    let path = std::env::temp_dir().join("oarlock-bench.lock");
    // Another user's lock file cannot be written, but it can be opened and locked.
    let file = OpenOptions::new().create(true).append(true).open(&path).or_else(|_| File::open(&path));
    let file = file.with_context(|| format!("cannot open the lock {}", path.display()))?;
    if file.try_lock().is_err() {
        println!("waiting for another benchmark to end ({})", path.display());
        file.lock().with_context(|| format!("cannot lock {}", path.display()))?;
    }
    Ok(file)
}
