//! Runs every test and says at the end what passed, what failed and what could not run here.
//!
//! A test that cannot run (no MPI, no second machine) prints a line `skipped: reason` and returns; it is counted as
//! skipped, not as passed.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::process;

/// How many of what was tried ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// The tests of one language, or a check.
pub(crate) struct Part {
    name: &'static str,
    tally: Tally,
    time: Duration,
}

impl Part {
    pub(crate) fn new(name: &'static str, tally: Tally, time: Duration) -> Part {
        Part { name, tally, time }
    }
}

pub(crate) fn run(args: &[String]) -> Result<()> {
    let mut command = process::cargo();
    command.arg("test");
    let mut parts = vec![rust(command, args)?];
    if args.is_empty() {
        parts.push(python("python/tests", &[])?);
    }
    report(&parts);
    Ok(())
}

/// Prints how long each part took and, as the last line, the sum of all. Ends the process when something failed, because
/// an error would be printed after that line.
pub(crate) fn report(parts: &[Part]) {
    let mut sum = Tally::default();
    println!();
    for Part { name, tally, time } in parts {
        println!("{name:<10} {:>5.1} min  {tally}", time.as_secs_f64() / 60.0);
        sum.passed += tally.passed;
        sum.failed += tally.failed;
        sum.skipped += tally.skipped;
    }
    println!("{sum}");
    if sum.failed > 0 {
        std::process::exit(1);
    }
}

/// Runs `command`, some form of `cargo test`, on the workspace or on what `args` select.
pub(crate) fn rust(mut command: Command, args: &[String]) -> Result<Part> {
    let start = Instant::now();
    command.args(cargo_args(args));
    let mut reader = CargoTest::default();
    let status = process::lines(&mut command, |line| {
        if reader.shows(line) {
            println!("{line}");
        }
    })?;
    Ok(Part { name: "rust", tally: settle(reader.tally, status), time: start.elapsed() })
}

/// Installs the package into a virtual environment of its own, as a user would, and returns the interpreter. The extension module
/// is built in the profile and with the features of the Rust tests, so that nothing is compiled twice.
pub(crate) fn install_python() -> Result<PathBuf> {
    let venv = Path::new("target/python");
    let python = std::env::current_dir()?.join(venv).join("bin/python");
    if !python.exists() {
        process::run(Command::new("python3").args(["-m", "venv"]).arg(venv))
            .context("Python's tests need python3 (3.9 or newer) with venv: on Debian, apt-get install python3-venv")?;
    }
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", ".[test]"]);
    process::run(pip.args(["--config-settings", &process::wheel()]))?;
    Ok(python)
}

/// Runs the tests of the installed package.
pub(crate) fn python(tests: &str, environment: &[(&str, &str)]) -> Result<Part> {
    let start = Instant::now();
    let mut tally = Tally::default();
    let python = install_python()?;
    // From elsewhere, so that the installed package is tested and not the source tree.
    let tests = std::env::current_dir()?.join(tests);
    let mut pytest = Command::new(&python);
    pytest.envs(environment.iter().copied()).current_dir("target/python");
    pytest.args(["-m", "pytest", "--quiet", "-rs", "-p", "no:cacheprovider"]);
    // Tests of jobs wait for processes most of the time, so more files run at once than there are cores.
    pytest.args(["-n", "3", "--dist", "loadfile"]).arg(tests);
    let status = process::lines(&mut pytest, |line| {
        println!("{line}");
        tally = pytest_summary(line).unwrap_or(tally);
    })?;
    Ok(Part { name: "python", tally: settle(tally, status), time: start.elapsed() })
}

/// A run that broke off (it did not compile, a process died) fails even when no test was named.
fn settle(mut tally: Tally, status: ExitStatus) -> Tally {
    if !status.success() {
        tally.failed = tally.failed.max(1);
    }
    tally
}

/// The arguments after `cargo test`. `--show-output` makes the test runner print what passing tests print, for the skips.
fn cargo_args(args: &[String]) -> Vec<String> {
    let split = args.iter().position(|arg| arg == "--").unwrap_or(args.len());
    let (ours, runners) = args.split_at(split);
    let names_package = |arg: &String| arg.starts_with("-p") || arg.starts_with("--package");
    let mut all = vec!["--no-fail-fast".to_string()];
    if !ours.iter().any(names_package) {
        if ours.is_empty() {
            // The extension module has no tests, so this does not build it: maturin does, without linking to one interpreter's library.
            all.extend(process::whole());
        } else {
            // Tests by name are looked for in every crate, also where none are.
            all.extend(["--workspace", "--exclude", "oarlock-python"].map(str::to_string));
        }
    }
    all.extend_from_slice(ours);
    all.extend(["--", "--show-output"].map(str::to_string));
    all.extend_from_slice(runners.get(1..).unwrap_or_default());
    all
}

/// Where in the output of one test program we are.
#[derive(Default, PartialEq)]
enum Section {
    #[default]
    Running,
    Successes,
    Failures,
}

/// Reads the output of `cargo test`, which is that of many test programs one after the other.
#[derive(Default)]
struct CargoTest {
    tally: Tally,
    section: Section,
    /// Tests of the present program that said they were skipped. The runner counts them as passed.
    skips: usize,
    /// Whether the test whose output we read has said so before.
    skip_seen: bool,
}

impl CargoTest {
    /// Takes in one line and says whether to show it. What passing tests print is hidden, except for the skips.
    fn shows(&mut self, line: &str) -> bool {
        if let Some(counts) = line.strip_prefix("test result: ") {
            self.end_program(counts);
            return true;
        }
        match line {
            "successes:" => self.section = Section::Successes,
            "failures:" => self.section = Section::Failures,
            _ => {}
        }
        if line.starts_with("---- ") {
            self.skip_seen = false;
        }
        let skip = line.starts_with("skipped: ") && self.section != Section::Failures;
        if skip && !std::mem::replace(&mut self.skip_seen, self.section == Section::Successes) {
            self.skips += 1;
        }
        skip || self.section != Section::Successes
    }

    /// `counts` is `ok. 3 passed; 0 failed; 0 ignored; …`.
    fn end_program(&mut self, counts: &str) {
        let count = |what| number_before(counts, what);
        self.tally.passed += count("passed;").saturating_sub(self.skips);
        self.tally.failed += count("failed;");
        self.tally.skipped += count("ignored;") + self.skips;
        (self.section, self.skips) = (Section::Running, 0);
    }
}

/// The closing line of pytest, such as `==== 1 failed, 3 passed, 2 skipped in 0.12s ====`; nothing for other lines.
fn pytest_summary(line: &str) -> Option<Tally> {
    let line = line.trim_matches('=').trim();
    if !line.contains(" in ") || !line.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let line = line.replace(',', "");
    let count = |what| number_before(&line, what);
    let failed = count("failed") + count("error") + count("errors");
    Some(Tally { passed: count("passed"), failed, skipped: count("skipped") })
}

/// The number in front of the word `what`, or 0.
fn number_before(text: &str, what: &str) -> usize {
    let words: Vec<&str> = text.split_whitespace().collect();
    let pair = words.windows(2).find(|pair| pair[1] == what);
    pair.and_then(|pair| pair[0].parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "
running 4 tests
test a ... ok
test b ... ok
test c ... FAILED
test d ... ok

successes:

---- a stdout ----
chatter
skipped: no MPI here
skipped: no second machine either

successes:
    a
    b
    d

failures:

---- c stdout ----
skipped: a part of it
assertion failed

failures:
    c

test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

running 3 tests
skipped: printed past the capture
test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s
";

    #[test]
    fn skipped_tests_are_not_passed_tests() {
        let mut reader = CargoTest::default();
        let shown: Vec<&str> = OUTPUT.lines().filter(|line| reader.shows(line)).collect();
        assert_eq!(reader.tally, Tally { passed: 3, failed: 1, skipped: 3 });
        assert!(!shown.contains(&"chatter") && shown.contains(&"skipped: no MPI here"), "{shown:?}");
        assert!(shown.contains(&"assertion failed") && shown.contains(&"running 3 tests"), "{shown:?}");
    }

    #[test]
    fn arguments_reach_cargo_and_the_test_runner() {
        let given = |text: &str| text.split_whitespace().map(str::to_string).collect::<Vec<_>>();
        let whole = process::whole().join(" ");
        for (from, to) in [
            ("", format!("--no-fail-fast {whole} -- --show-output")),
            ("gemm", "--no-fail-fast --workspace --exclude oarlock-python gemm -- --show-output".to_string()),
            ("-- --nocapture", format!("--no-fail-fast {whole} -- --show-output --nocapture")),
            ("-p xtask -- --nocapture", "--no-fail-fast -p xtask -- --show-output --nocapture".to_string()),
        ] {
            assert_eq!(cargo_args(&given(from)), given(&to));
        }
    }

    #[test]
    fn pytest_summaries() {
        let tally = pytest_summary("=== 1 failed, 3 passed, 2 skipped, 1 error in 0.12s ===");
        assert_eq!(tally, Some(Tally { passed: 3, failed: 2, skipped: 2 }));
        assert_eq!(pytest_summary("3 passed in 0.01s"), Some(Tally { passed: 3, failed: 0, skipped: 0 }));
        assert_eq!(pytest_summary("tests/test_a.py ....  [100%]"), None);
    }
}
