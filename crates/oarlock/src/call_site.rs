//! The user's line that made an operator.

use std::fmt;
use std::panic::Location;

/// A place in the user's source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallSite {
    /// The file, as the compiler or the interpreter names it.
    pub file: String,
    /// The line.
    pub line: u32,
    /// The function, where it is known.
    pub function: Option<String>,
}

impl CallSite {
    /// The text of `op_callstack` in saved programs.
    pub(crate) fn callstack(&self) -> Vec<String> {
        let function = self.function.as_ref().map_or(String::new(), |f| format!(", in {f}"));
        vec![format!("  File \"{}\", line {}{function}", self.file, self.line)]
    }
}

impl From<&Location<'_>> for CallSite {
    fn from(at: &Location<'_>) -> CallSite {
        CallSite { file: at.file().into(), line: at.line(), function: None }
    }
}

impl fmt::Display for CallSite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        match &self.function {
            Some(function) => write!(f, " in {function}"),
            None => Ok(()),
        }
    }
}
