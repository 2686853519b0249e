//! Attacks every parser with damaged files and messages for longer than the tests do: no panic, little memory.

use anyhow::{Context, Result, bail};

use crate::process;

/// How long the tests attack each parser when this variable is set, in seconds.
const SECONDS: &str = "OARLOCK_FUZZ_SECONDS";

pub(crate) fn run(args: &[String]) -> Result<()> {
    let seconds = match args {
        [] => 60.0,
        [given] => given.parse::<f64>().with_context(|| format!("`{given}` is not a number of seconds"))?,
        _ => bail!("unexpected argument `{}`: `fuzz` takes a number of seconds", args[1]),
    };
    // Not in release: overflows that pass unnoticed there end a test here.
    for test in [
        &["-p", "oarlock-io", "--features", "parquet", "--test", "main", "files::hostile::mutated"][..],
        &["-p", "oarlock-net", "--lib", "hostile::mutated"],
        &["-p", "oarlock-ps", "--lib", "hostile::mutated"],
    ] {
        let mut command = process::cargo();
        command.env(SECONDS, seconds.to_string()).arg("test").args(test);
        process::run(command.args(["--", "--nocapture"]))?;
    }
    Ok(())
}
