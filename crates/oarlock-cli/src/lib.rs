//! The `oarlock` command as a function: the binary and the Python package are the same command. It parses arguments and
//! prints; what it does is in the libraries.
#![forbid(unsafe_code)]

mod ckpt;
mod data;
mod inspect;
mod job_ckpt;
mod launch;
mod params;
mod predict;
mod table;

use std::ffi::OsString;
use std::io::{self, ErrorKind, Write};

use clap::error::{ContextKind, ContextValue};
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
    /// Run a script or program as the servers and workers of a job.
    Launch(launch::Launch),
    /// Check whether a job could be launched: addresses, ports, memory, versions.
    Doctor(launch::Doctor),
}

impl Command {
    /// Does it; returns what to print, and the exit code.
    fn run(self) -> oarlock::Result<(String, u8)> {
        let text = match self {
            Command::Data(command) => command.run(),
            Command::Inspect(command) => command.run(),
            Command::Ckpt(command) => return command.run(),
            Command::Predict(command) => command.run(),
            Command::Params(command) => command.run(),
            Command::Launch(command) => return Ok((String::new(), command.run()?)),
            Command::Doctor(command) => return command.run().map(|(text, good)| (text, u8::from(!good))),
        };
        Ok((text?, 0))
    }
}

/// Runs the command with its arguments, of which the first is its own name; returns the exit code.
pub fn main(args: impl IntoIterator<Item = OsString>) -> u8 {
    let command = match Cli::try_parse_from(args) {
        Ok(cli) => cli.command,
        Err(usage) => return wrong_usage(&usage),
    };
    match command.run() {
        Ok((text, code)) => shown(io::stdout().write_all(text.as_bytes()), code),
        Err(error) => {
            eprintln!("{error}");
            1
        }
    }
}

/// Says what is wrong with the arguments, or prints the help that was asked for.
fn wrong_usage(usage: &clap::Error) -> u8 {
    let code = if usage.use_stderr() { 2 } else { 0 };
    if let Some(ContextValue::String(flag)) = usage.get(ContextKind::InvalidArg)
        && let Some(why) = launch::refused(flag)
    {
        eprintln!("error: {flag}: {why}");
        return code;
    }
    shown(usage.print(), code)
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
fn flags_may_be_written_with_underscores() {
    use clap::CommandFactory;
    let cli = Cli::command();
    for command in ["launch", "doctor"] {
        let command = cli.find_subcommand(command).unwrap();
        for arg in command.get_arguments() {
            let name = arg.get_long().unwrap_or_default();
            let aliases = arg.get_all_aliases().unwrap_or_default();
            assert!(!name.contains('-') || aliases.contains(&name.replace('-', "_").as_str()), "--{name}");
        }
    }
}

#[test]
fn exit_codes_tell_usage_and_failure_apart() {
    let code = |words: &str| main(words.split(' ').map(OsString::from));
    assert_eq!(code("oarlock --version"), 0);
    assert_eq!(code("oarlock data"), 2);
    assert_eq!(code("oarlock data stat no-such-file"), 1);
    assert_eq!(code("oarlock launch --heter_worker_num 2 x.py"), 2);
}
