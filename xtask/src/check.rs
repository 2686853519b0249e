//! The checks that a change must pass before it is shared. All parts run, so that one run shows all that is wrong.

use anyhow::{Result, bail};

use crate::{codegen, licences, process, tidy};

type Part = (&'static str, fn() -> Result<()>);

const PARTS: [Part; 5] =
    [("fmt", fmt), ("clippy", clippy), ("tidy", tidy::run), ("codegen", codegen::check), ("licences", licences::run)];

pub(crate) fn run() -> Result<()> {
    let mut failed = Vec::new();
    for (name, part) in PARTS {
        if let Err(e) = part() {
            eprintln!("error: {name}: {e:#}");
            failed.push(name);
        }
    }
    if !failed.is_empty() {
        bail!("check failed: {}", failed.join(", "));
    }
    println!("check passed: {}", PARTS.map(|(name, _)| name).join(", "));
    Ok(())
}

fn fmt() -> Result<()> {
    process::run(process::cargo().args(["fmt", "--all", "--check"]))
}

fn clippy() -> Result<()> {
    process::run(process::cargo().args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    // What is off by default, without what is on.
    let turned = [
        "clippy",
        "-p",
        "oarlock-net",
        "-p",
        "oarlock-collective",
        "--no-default-features",
        "--features",
        "oarlock-net/tls",
        "--all-targets",
    ];
    process::run(process::cargo().args(turned).args(["--", "-D", "warnings"]))
}
