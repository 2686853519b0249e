//! Starting other programs: shown before they run, named when they fail.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, Result, bail};

/// The cargo that runs this program, so that the toolchain is the same.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")))
}

/// The features of the wheel that Python's tests install. Object stores, which take minutes to build, are not among them.
const FEATURES: [&str; 3] = ["mpi", "parquet", "tls"];

/// Arguments for cargo: the whole workspace, with the features of that wheel. A crate that is asked for with other features is
/// built again, and so is all that uses it: `half` differs with Parquet, and every crate of ours above `half`. So tests,
/// documentation and wheel ask for the same.
pub(crate) fn whole() -> Vec<String> {
    let features = FEATURES.map(|name| format!("oarlock-python/{name}")).join(",");
    ["--workspace", "--no-default-features", "--features", &features].map(str::to_string).into()
}

/// The arguments that pip passes to maturin for a wheel that uses what the tests have built.
pub(crate) fn wheel() -> String {
    format!("build-args=--profile dev --features {}", FEATURES.join(","))
}

/// Whether `program --version` can be started and succeeds.
pub(crate) fn exists(program: &str) -> bool {
    let quiet = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}

/// Runs `command` with this terminal; an exit code other than zero is an error.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let shown = show(command);
    println!("$ {shown}");
    ended_well(command.status().with_context(|| format!("cannot start `{shown}`"))?, &shown)
}

/// Runs `command` and returns what it printed; its errors go to this terminal.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let shown = show(command);
    let out = command.stderr(Stdio::inherit()).output().with_context(|| format!("cannot start `{shown}`"))?;
    ended_well(out.status, &shown)?;
    String::from_utf8(out.stdout).with_context(|| format!("`{shown}` printed something that is not UTF-8"))
}

/// Runs `command` and passes on its standard output line by line while it runs.
pub(crate) fn lines(command: &mut Command, mut each: impl FnMut(&str)) -> Result<ExitStatus> {
    let shown = show(command);
    println!("$ {shown}");
    let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot start `{shown}`"))?;
    let stdout = child.stdout.take().context("the child's output was not piped")?;
    for line in BufReader::new(stdout).split(b'\n') {
        // A test may print any bytes; they must not end the run.
        each(&String::from_utf8_lossy(&line.with_context(|| format!("cannot read the output of `{shown}`"))?));
    }
    child.wait().with_context(|| format!("cannot wait for `{shown}`"))
}

fn ended_well(status: ExitStatus, shown: &str) -> Result<()> {
    if !status.success() {
        bail!("`{shown}` failed ({status})");
    }
    Ok(())
}

fn show(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
