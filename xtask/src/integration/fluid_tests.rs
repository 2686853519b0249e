//! Fluid's own unit tests, through `tools/fluid_tests`: its operator tests with a stand-in for their base class, and its framework
//! tests. Methods that `tools/fluid_tests/known.txt` lists with a reason are skipped.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::{Check, Place, run_to_log};
use crate::process;
use crate::test::Tally;

pub(super) const CHECK: Check = Check {
    name: "fluid-tests",
    from: "OARLOCK_FLUID_TESTS",
    get: "clone the public repository PaddlePaddle/Paddle at tag v1.8.5, and name its directory python/paddle/fluid/tests/unittests",
    run,
};

/// All files together; each has a limit of its own.
const LIMIT: Duration = Duration::from_secs(4 * 3600);

fn run(place: &Place) -> Result<Tally> {
    if !place.source.join("op_test.py").exists() {
        bail!("{} does not hold Fluid's unit tests: there is no op_test.py", place.source.display());
    }
    // Tests write files beside themselves.
    let tests = place.scratch.join("unittests");
    process::run(Command::new("cp").arg("-R").arg(&place.source).arg(&tests))?;
    let packages = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "six", "scipy"];
    process::run(Command::new(&place.python).args(packages))?;
    let mut command = Command::new(&place.python);
    command.arg(Path::new("tools/fluid_tests/run.py").canonicalize()?).arg(&tests).args(["ops", "framework"]);
    let ended = run_to_log(&command, LIMIT, &place.scratch.join("fluid-tests.log"))?;
    println!("{}", ended.said);
    tally(&ended.said).context("the run of Fluid's tests did not end with its counts")
}

/// The counts of the last line.
fn tally(said: &str) -> Option<Tally> {
    let line = said.lines().rev().find_map(|line| line.strip_prefix("methods: "))?;
    let count = |what: &str| {
        let words: Vec<&str> = line.split([' ', ',', ';']).filter(|w| !w.is_empty()).collect();
        let at = words.iter().position(|w| *w == what)?;
        words.get(at.checked_sub(1)?)?.parse().ok()
    };
    Some(Tally { passed: count("passed")?, failed: count("failed")?, skipped: count("skipped")? + count("known")? })
}

#[test]
fn counts_are_those_of_the_last_line() {
    let said = "test_a.py 1 passed\nmethods: 12 passed, 3 failed, 4 skipped, 5 known; files: 1 passed, 2 failed\n";
    let found = tally(said).unwrap();
    assert_eq!((found.passed, found.failed, found.skipped), (12, 3, 9));
}
