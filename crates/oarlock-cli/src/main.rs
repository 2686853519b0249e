//! The `oarlock` command. It parses arguments and prints; what it does is in the libraries.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "the results of a command go there")]

mod data;

use std::process::ExitCode;

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
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Data(command) => command.run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

#[test]
fn the_command_line_is_consistent() {
    use clap::CommandFactory;
    Cli::command().debug_assert();
}
