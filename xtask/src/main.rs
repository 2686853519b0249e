//! The project's chores, run as `cargo xtask <command>`: one module per command.
//!
//! This crate reads the repository's files and starts its tools. It knows nothing of tensors or programs, and depends
//! on none of the project's crates, so that it builds in seconds and still runs when they do not compile.

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "a command-line tool talks to its user")]
#![allow(clippy::disallowed_methods, reason = "chores read the environment and measure how long they take")]

mod bench;
mod check;
mod codegen;
mod codegen_layers;
mod codegen_requests;
mod files;
mod fuzz;
mod integration;
mod licences;
mod new;
mod new_pass;
mod new_request;
mod process;
mod soak;
mod test;
mod tidy;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

/// A command: its name, its arguments, what it does, and how.
type Task = (&'static str, &'static str, &'static str, fn(&[String]) -> Result<()>);

const TASKS: [Task; 10] = [
    ("check", "", "formatting, lints, tidy, generated files, licences: what a change must pass", |_| check::run()),
    ("test", "[ARGS...]", "every test, Rust and Python; ARGS go to `cargo test`, then only Rust's run", test::run),
    ("bench", "[NAME...]", "all or the named benchmarks (crates/oarlock/examples/bench_NAME.rs)", bench::run),
    ("codegen", "[--check]", "writes the operator and fusion tables and docs/ops.md, or only compares", codegen::run),
    (
        "new",
        "KIND ARGS...",
        "writes the skeleton of a new `op FAMILY NAME`, `fusion NAME`, `pass NAME` or `request NAME`, with a failing test",
        new::run,
    ),
    ("tidy", "", "crate arrows, places of unsafe code, unfinished code, file sizes, the map", |_| tidy::run()),
    ("licences", "", "the licence and the source of every dependency against deny.toml", |_| licences::run()),
    (
        "fuzz",
        "[SECONDS]",
        "attacks every parser of files with damaged ones, a minute each if not said otherwise",
        fuzz::run,
    ),
    ("integration", "[NAME...]", "all or the named checks with other people's programs, unchanged", integration::run),
    ("soak", "[ARGS...]", "the Rust tests in release mode with OARLOCK_SOAK=1: longer runs, more cases", soak::run),
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("error: {e:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(args: &[String]) -> Result<()> {
    let (name, rest) = args.split_first().map_or(("help", args), |(name, rest)| (name.as_str(), rest));
    if ["-h", "--help", "help"].contains(&name) || rest.first().is_some_and(|arg| arg == "--help") {
        print!("{}", help());
        return Ok(());
    }
    let Some((_, takes, _, run)) = TASKS.iter().find(|task| task.0 == name) else {
        bail!("unknown command `{name}`; known: {}", TASKS.map(|task| task.0).join(", "));
    };
    if takes.is_empty() && !rest.is_empty() {
        bail!("unexpected argument `{}`: `{name}` takes none", rest[0]);
    }
    enter_root()?;
    run(rest)
}

/// Every path in this crate is relative to the root of the repository, wherever the command was given.
///
/// The root is asked for at run time: two checkouts that share a target directory share this program too.
fn enter_root() -> Result<()> {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").context("start this program as `cargo xtask`")?;
    let root = PathBuf::from(manifest).join("..");
    std::env::set_current_dir(&root).with_context(|| format!("cannot enter {}", root.display()))
}

fn help() -> String {
    let mut text = String::from("Usage: cargo xtask <command> [args]\n\n");
    for (name, args, help, _) in TASKS {
        text += &format!("  {:<18}  {help}\n", format!("{name} {args}"));
    }
    text
}

#[test]
fn an_unknown_command_lists_the_known_ones() {
    let error = dispatch(&["chekc".to_string()]).unwrap_err().to_string();
    assert_eq!(
        error,
        "unknown command `chekc`; known: check, test, bench, codegen, new, tidy, licences, fuzz, integration, soak"
    );
}
