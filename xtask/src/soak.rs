//! What takes too long for every change: the same tests, optimised, with more cases and longer runs.

use anyhow::Result;

use crate::{process, test};

/// Tests that can run longer do so when this variable is set.
const SOAK: &str = "OARLOCK_SOAK";

pub(crate) fn run(args: &[String]) -> Result<()> {
    let mut command = process::cargo();
    command.env(SOAK, "1").args(["test", "--release"]);
    test::report(&[test::rust(command, args)?]);
    Ok(())
}
