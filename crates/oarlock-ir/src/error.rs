//! Errors that say what, where, and what to do.

use std::fmt;
use std::sync::Arc;

use crate::Name;

/// The kind of a mistake; the Python side maps each to an exception class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Sizes that do not fit each other.
    Shape,
    /// An element type that does not fit.
    DType,
    /// Sequences that do not fit.
    Lod,
    /// A variable that was neither fed, nor computed, nor found in the scope.
    Missing,
    /// An unknown operator, attribute, slot or variable.
    Unknown,
    /// An attribute, argument or option with a value that cannot be.
    Argument,
    /// An argument of a type that the layer does not take.
    Type,
    /// An id, label or index outside its range.
    Range,
    /// An operator without a gradient on the way to the loss.
    NoGradient,
    /// Not a number, or infinite.
    Nan,
    /// Bytes or text that are not what they should be.
    Format,
    /// A program that breaks the rules every program must keep.
    Verify,
    /// A reader ran out of data; the usual end of a pass.
    EndOfData,
    /// The run was interrupted from outside.
    Interrupted,
    /// Reading or writing failed.
    Io,
    /// A peer that cannot be reached, is not who it should be, or does not answer.
    Network,
    /// Something that was waited for did not happen in time.
    Timeout,
    /// Something Oarlock does not do, by decision.
    Unsupported,
    /// A mistake of ours.
    Internal,
}

impl Kind {
    /// The word in `error[word]`.
    pub const fn word(self) -> &'static str {
        match self {
            Kind::Shape => "shape",
            Kind::DType => "dtype",
            Kind::Lod => "lod",
            Kind::Missing => "missing",
            Kind::Unknown => "unknown",
            Kind::Argument => "argument",
            Kind::Type => "type",
            Kind::Range => "range",
            Kind::NoGradient => "no-gradient",
            Kind::Nan => "nan",
            Kind::Format => "format",
            Kind::Verify => "verify",
            Kind::EndOfData => "end-of-data",
            Kind::Interrupted => "interrupted",
            Kind::Io => "io",
            Kind::Network => "network",
            Kind::Timeout => "timeout",
            Kind::Unsupported => "unsupported",
            Kind::Internal => "internal",
        }
    }
}

/// Where in a program something happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The block's index.
    pub block: usize,
    /// The operator's index in the block.
    pub op: usize,
    /// The operator's type.
    pub op_type: Name,
    /// The user's line that made the operator, where known.
    pub site: Option<Name>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(site) = &self.site {
            write!(f, "{site} ")?;
        }
        write!(f, "(`{}`, block {}, op {})", self.op_type, self.block, self.op)
    }
}

/// An error: the problem, its place, its cause, and advice.
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    report: Report,
    cause: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

/// The parts of an [`Error`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The kind of mistake.
    pub kind: Kind,
    /// The problem, in one line.
    pub what: String,
    /// Where it happened.
    pub place: Option<Place>,
    /// Facts that help to understand it, a line each.
    pub notes: Vec<String>,
    /// Advice.
    pub help: Option<String>,
}

impl Error {
    /// An error of a kind, saying what happened.
    pub fn new(kind: Kind, what: impl Into<String>) -> Error {
        let report = Report { kind, what: what.into(), place: None, notes: Vec::new(), help: None };
        Error(Box::new(Inner { report, cause: None }))
    }

    /// A mistake of ours; asks to report it.
    pub fn internal(what: impl Into<String>) -> Error {
        Error::new(Kind::Internal, what)
            .help("this is a bug in Oarlock, not in your program; please report it with this text")
    }

    /// Adds a line that helps to understand it.
    pub fn note(mut self, note: impl Into<String>) -> Error {
        self.0.report.notes.push(note.into());
        self
    }

    /// Says what to do.
    pub fn help(mut self, help: impl Into<String>) -> Error {
        self.0.report.help = Some(help.into());
        self
    }

    /// Says where it happened, unless that is known already: the innermost place is the right one.
    pub fn at(mut self, place: impl FnOnce() -> Place) -> Error {
        if self.0.report.place.is_none() {
            self.0.report.place = Some(place());
        }
        self
    }

    /// The kind of mistake.
    pub fn kind(&self) -> Kind {
        self.0.report.kind
    }

    /// The parts.
    pub fn report(&self) -> &Report {
        &self.0.report
    }

    /// Keeps the error of another system that led to this one; [`source`](std::error::Error::source) finds it.
    pub fn because(mut self, cause: impl std::error::Error + Send + Sync + 'static) -> Error {
        self.0.cause = Some(Arc::new(cause));
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let r = &self.0.report;
        write!(f, "error[{}]: {}", r.kind.word(), r.what)?;
        if let Some(place) = &r.place {
            write!(f, "\n  at {place}")?;
        }
        for note in &r.notes {
            write!(f, "\n  {note}")?;
        }
        if let Some(help) = &r.help {
            write!(f, "\n  help: {help}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.cause.as_deref().map(|cause| cause as _)
    }
}

/// Result of building, changing, planning or running a program.
pub type Result<T> = std::result::Result<T, Error>;

/// `fail!(Kind::Shape, "text {}", x)`: returns an [`Error`].
#[macro_export]
macro_rules! fail {
    ($kind:expr, $($text:tt)*) => {
        return Err($crate::Error::new($kind, format!($($text)*)))
    };
}
