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
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

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
        oarlock::init_logging()?;
        oarlock::check_environment()?;
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

/// Run a script or program as the servers and workers of a job; the same as `oarlock launch`.
#[derive(Parser)]
#[command(version, args_override_self = true)]
struct Launcher {
    #[command(flatten)]
    launch: launch::Launch,
}

/// Runs the command with its arguments, of which the first is its own name; returns the exit code.
pub fn main(args: impl IntoIterator<Item = OsString>) -> u8 {
    match Cli::try_parse_from(args) {
        Ok(cli) => run(cli.command),
        Err(usage) => wrong_usage(&usage),
    }
}

/// Runs `oarlock launch` under another name, such as `fleetrun`, which its help and its version show.
pub fn launcher(name: &str, args: impl IntoIterator<Item = OsString>) -> u8 {
    let args = std::iter::once(name.into()).chain(args);
    match launcher_called(name).try_get_matches_from(args).and_then(|found| Launcher::from_arg_matches(&found)) {
        Ok(launcher) => run(Command::Launch(launcher.launch)),
        Err(usage) => wrong_usage(&usage),
    }
}

fn launcher_called(name: &str) -> clap::Command {
    Launcher::command().display_name(name).bin_name(name)
}

fn run(command: Command) -> u8 {
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
    Cli::command().debug_assert();
    launcher_called("fleetrun").debug_assert();
}

#[test]
fn a_launcher_speaks_of_itself() {
    let says =
        |flag| launcher_called("fleetrun").try_get_matches_from(["fleetrun", flag]).expect_err("help").to_string();
    assert_eq!(says("--version"), format!("fleetrun {}\n", env!("CARGO_PKG_VERSION")));
    assert!(says("--help").contains("Usage: fleetrun [OPTIONS] <PROGRAM>..."), "{}", says("--help"));
    assert_eq!(launcher("fleetrun", ["--heter_worker_num", "2", "x.py"].map(OsString::from)), 2);
}

#[test]
fn flags_may_be_written_with_underscores() {
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
