//! The `oarlock` command as a function: the binary and the Python package are the same command. It parses arguments and
//! prints; what it does is in the libraries.
#![forbid(unsafe_code)]

mod ckpt;
mod data;
mod inspect;
mod params;
mod predict;
mod table;

use std::ffi::OsString;
use std::io::{self, ErrorKind, Write};

use clap::{Parser, Subcommand};

/// Fluid-style training: data, models and clusters from the command line.
#[derive(Parser)]
#[command(name = "oarlock", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make, describe and convert data sets.
    #[command(subcommand)]
    Data(data::Data),
    /// Show what a path holds: a model, checkpoints, variables, and whether its files are as they were saved.
    Inspect(inspect::Inspect),
    /// List, verify, compare and delete checkpoints.
    #[command(subcommand)]
    Ckpt(ckpt::Ckpt),
    /// Compute what a saved model predicts.
    Predict(predict::Predict),
    /// Exchange parameters with other frameworks as `safetensors`.
    #[command(subcommand)]
    Params(params::Params),
}

impl Command {
    fn run(self) -> oarlock::Result<String> {
        match self {
            Command::Data(command) => command.run(),
            Command::Inspect(command) => command.run(),
            Command::Ckpt(command) => command.run(),
            Command::Predict(command) => command.run(),
            Command::Params(command) => command.run(),
        }
    }
}

/// Runs the command with its arguments, of which the first is its own name; returns the exit code.
pub fn main(args: impl IntoIterator<Item = OsString>) -> u8 {
    let command = match Cli::try_parse_from(args) {
        Ok(cli) => cli.command,
        Err(usage) => return shown(usage.print(), if usage.use_stderr() { 2 } else { 0 }),
    };
    match command.run() {
        Ok(text) => shown(io::stdout().write_all(text.as_bytes()), 0),
        Err(error) => {
            eprintln!("{error}");
            1
        }
    }
}

/// The exit code of a command whose output was printed like this.
fn shown(printed: io::Result<()>, code: u8) -> u8 {
    match printed {
        // Who reads the output may have seen enough; `head` does.
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            eprintln!("cannot print the result: {e}");
            1
        }
        _ => code,
    }
}

#[test]
fn the_command_line_is_consistent() {
    use clap::CommandFactory;
    Cli::command().debug_assert();
}

#[test]
fn exit_codes_tell_usage_and_failure_apart() {
    let code = |words: &str| main(words.split(' ').map(OsString::from));
    assert_eq!(code("oarlock --version"), 0);
    assert_eq!(code("oarlock data"), 2);
    assert_eq!(code("oarlock data stat no-such-file"), 1);
}
