//! The `oarlock` binary; see the library of this package.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    oarlock_cli::main(std::env::args_os()).into()
}
