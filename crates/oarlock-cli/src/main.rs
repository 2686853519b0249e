//! The `oarlock` command. It parses arguments and prints; what it does is in the libraries.
#![forbid(unsafe_code)]

mod data;

use std::io::{self, ErrorKind, Write};
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
    let printed = match done {
        Ok(text) => io::stdout().write_all(text.as_bytes()),
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    match printed {
        // Who reads the output may have seen enough; `head` does.
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            eprintln!("cannot print the result: {e}");
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}

#[test]
fn the_command_line_is_consistent() {
    use clap::CommandFactory;
    Cli::command().debug_assert();
}
