//! Checks with other people's programs, unchanged: what users bring along must run. One file per check in `integration/`.
//!
//! A check takes what it needs from a directory that an environment variable names, because the repository holds nothing that
//! others wrote. Without it the check is skipped, counted, and says how to get it.

mod fluid_tests;
mod paddlerec;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::test::{self, Part, Tally};

/// A check with one project.
struct Check {
    name: &'static str,
    /// The environment variable that names its directory.
    from: &'static str,
    /// How to get what has to be there.
    get: &'static str,
    run: fn(&Place) -> Result<Tally>,
}

const CHECKS: [Check; 2] = [paddlerec::CHECK, fluid_tests::CHECK];

/// The interpreter of a real Fluid 1.8.5, to compare with.
const PEER: &str = "OARLOCK_PEER_FLUID";

/// Where a check runs.
struct Place {
    /// The path that the environment variable of the check names.
    source: PathBuf,
    /// A directory of its own for copies and logs.
    scratch: PathBuf,
    /// The interpreter that has this project installed.
    python: PathBuf,
    /// The interpreter of the real Fluid, if there is one.
    peer: Option<PathBuf>,
}

pub(crate) fn run(args: &[String]) -> Result<()> {
    let known = CHECKS.iter().map(|c| c.name).collect::<Vec<_>>().join(", ");
    if let Some(unknown) = args.iter().find(|a| !CHECKS.iter().any(|c| c.name == *a)) {
        bail!("there is no check `{unknown}`; known: {known}");
    }
    let mut python = None;
    let mut parts = Vec::new();
    for check in CHECKS.iter().filter(|c| args.is_empty() || args.iter().any(|a| a == c.name)) {
        let start = Instant::now();
        let tally = match std::env::var_os(check.from) {
            None => {
                println!("skipped: {}: {} is not set: {}", check.name, check.from, check.get);
                Tally { skipped: 1, ..Tally::default() }
            }
            Some(source) => {
                let python: &PathBuf = match &mut python {
                    Some(found) => found,
                    none => none.insert(test::install_python()?),
                };
                (check.run)(&place(check, Path::new(&source), python)?)?
            }
        };
        parts.push(Part::new(check.name, tally, start.elapsed()));
    }
    test::report(&parts);
    Ok(())
}

fn place(check: &Check, source: &Path, python: &Path) -> Result<Place> {
    let source = source.canonicalize().with_context(|| format!("{} names {}", check.from, source.display()))?;
    let scratch = std::env::current_dir()?.join("target/integration").join(check.name);
    if scratch.exists() {
        std::fs::remove_dir_all(&scratch).with_context(|| format!("cannot empty {}", scratch.display()))?;
    }
    std::fs::create_dir_all(&scratch)?;
    Ok(Place { source, scratch, python: python.to_path_buf(), peer: std::env::var_os(PEER).map(PathBuf::from) })
}

/// How a program ended.
struct Ended {
    well: bool,
    time: Duration,
    /// The output, errors included.
    said: String,
}

/// Runs a command for at most `limit`, with everything it starts, and keeps what it writes in a file.
fn run_to_log(command: &Command, limit: Duration, log: &Path) -> Result<Ended> {
    let file = std::fs::File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
    let mut limited = Command::new("timeout");
    limited.args(["--kill-after=10", &limit.as_secs().to_string()]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    if let Some(dir) = command.get_current_dir() {
        limited.current_dir(dir);
    }
    let start = Instant::now();
    let status = limited.stdin(std::process::Stdio::null()).stdout(file.try_clone()?).stderr(file).status();
    let status = status.context("cannot start `timeout`, which ends programs that hang")?;
    let said = String::from_utf8_lossy(&std::fs::read(log)?).into_owned();
    Ok(Ended { well: status.success(), time: start.elapsed(), said })
}

#[test]
fn an_unknown_check_lists_the_known_ones() {
    let error = run(&["paddelrec".to_string()]).unwrap_err().to_string();
    assert_eq!(error, "there is no check `paddelrec`; known: paddlerec, fluid-tests");
}
