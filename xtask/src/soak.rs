//! The checks that take too long for every change: the same tests, optimised, with more cases and longer runs; the tests of object
//! stores, which take minutes to build and a server to talk to; and servers and trainers that are killed at random, 200 times.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::{process, test};

/// Tests that can run longer do so when this variable is set.
const SOAK: &str = "OARLOCK_SOAK";

/// How many servers and trainers the tests of durability kill.
const KILLS: &str = "OARLOCK_TEST_KILLS";

/// Where the tests find an S3 server.
const SERVER: &str = "OARLOCK_MOTO";

pub(crate) fn run(args: &[String]) -> Result<()> {
    let mut command = process::cargo();
    command.env(SOAK, "1").args(["test", "--release"]);
    let mut parts = vec![test::rust(command, args)?];
    if args.is_empty() {
        parts.push(storage()?);
        parts.push(test::python("python/tests/jobs/test_durability.py", &[(KILLS, "200")])?);
    }
    test::report(&parts);
    Ok(())
}

/// The tests of the feature `storage`. Without a server they are skipped and counted.
fn storage() -> Result<test::Part> {
    let mut command = process::cargo();
    command.arg("test");
    if let Some(server) = server() {
        command.env(SERVER, server);
    }
    let args = ["-p", "oarlock-io", "--features", "storage", "--test", "main", "storage"];
    test::rust(command, &args.map(str::to_string))
}

/// Installs the server into a virtual environment of its own; `None` where that is not possible.
fn server() -> Option<String> {
    let venv = Path::new("target/moto");
    let (python, server) = (venv.join("bin/python"), venv.join("bin/moto_server"));
    if !server.exists() {
        process::run(Command::new("python3").args(["-m", "venv"]).arg(venv)).ok()?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "moto[server]"];
        process::run(Command::new(python).args(pip)).ok()?;
    }
    Some(std::env::current_dir().ok()?.join(server).display().to_string())
}
