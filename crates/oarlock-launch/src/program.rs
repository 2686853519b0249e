//! The program that each process of a job runs.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::process::Command;

use oarlock_ir::{Error, Kind, Result};

/// A program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    name: OsString,
    args: Vec<OsString>,
}

impl Program {
    /// A Python script is run by `python`, unbuffered; anything else is run as it is: a path, or the name of a command.
    pub fn find(name: OsString, args: Vec<OsString>, python: &str) -> Result<Program> {
        let path = Path::new(&name);
        let script = path.extension().is_some_and(|ext| ext == "py");
        let is_path = script || path.components().count() > 1;
        if is_path && !path.is_file() {
            let here = std::env::current_dir().map_or_else(|_| "here".into(), |dir| format!("in {}", dir.display()));
            let what = format!("there is no file {} {here}", path.display());
            return Err(Error::new(Kind::Argument, what).help("give the path of a script or program"));
        }
        Ok(match script {
            true => {
                Program { name: python.into(), args: [OsString::from("-u"), name].into_iter().chain(args).collect() }
            }
            false => Program { name, args },
        })
    }

    /// The program and its arguments, one after the other.
    pub(super) fn words(&self) -> impl Iterator<Item = &OsString> {
        std::iter::once(&self.name).chain(&self.args)
    }

    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.name);
        command.args(&self.args);
        command
    }

    /// Why it could not be started.
    pub(super) fn not_started(&self, e: &io::Error) -> Error {
        let name = self.name.to_string_lossy();
        let help = match e.kind() {
            ErrorKind::NotFound => "check the name; `--python` names the interpreter of scripts",
            ErrorKind::PermissionDenied => "make it executable with `chmod +x`, or put its interpreter in front",
            _ => "try to run it by itself",
        };
        Error::new(Kind::Io, format!("{name} cannot be started: {e}")).help(help)
    }
}

/// As one would type it.
impl std::fmt::Display for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.name.to_string_lossy())?;
        self.args.iter().try_for_each(|arg| write!(f, " {}", arg.to_string_lossy()))
    }
}

#[test]
fn scripts_are_given_to_python() {
    let find = |name: &str| Program::find(name.into(), vec!["--x".into()], "python3");
    assert_eq!(find("sh").unwrap().to_string(), "sh --x");
    let e = find("no/such.py").unwrap_err().to_string();
    assert!(e.contains("there is no file no/such.py in /"), "{e}");
    assert!(find("./nothing").is_err());
}
