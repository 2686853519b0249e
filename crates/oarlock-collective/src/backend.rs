//! The carrier of values between ranks: the user's choice.

use std::fmt;

use oarlock_ir::{Error, Kind, Result};

use crate::group::GroupOptions;

/// The carrier of values between ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Backend {
    /// Memory that the processes of one machine share, TCP between machines.
    #[default]
    Auto,
    /// TCP, also on one machine.
    Tcp,
    /// The installed MPI; the processes must have been started by its `mpirun`.
    Mpi,
}

/// Can values be exchanged over MPI in this build?
const HAS_MPI: bool = cfg!(feature = "mpi");

impl Backend {
    /// Parses a name; a backend that this build does not have is an error with the reason.
    pub fn parse(name: &str) -> Result<Backend> {
        let lacks = |what: &str| {
            Err(Error::new(Kind::Unsupported, format!("the backend {name} needs an Oarlock that was built {what}")))
        };
        let help = "leave it out: workers exchange values through shared memory and TCP";
        match name.trim() {
            "auto" | "" => Ok(Backend::Auto),
            "tcp" => Ok(Backend::Tcp),
            "mpi" if HAS_MPI => Ok(Backend::Mpi),
            "mpi" => lacks("with MPI").map_err(|e: Error| {
                e.help(format!("build it with the feature `mpi`, which is on by default, or {help}"))
            }),
            "nccl" => lacks("for GPUs").map_err(|e: Error| e.help(help)),
            _ => {
                Err(Error::new(Kind::Argument, format!("there is no backend {name:?}")).help("it is auto, tcp or mpi"))
            }
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Backend::Auto => "auto",
            Backend::Tcp => "tcp",
            Backend::Mpi => "mpi",
        })
    }
}

impl GroupOptions {
    /// Do processes of one machine exchange values through memory? Over MPI only where the user asks for machines first.
    pub(crate) fn uses_memory(&self) -> bool {
        match self.backend {
            Backend::Auto => true,
            Backend::Tcp => false,
            Backend::Mpi => self.hierarchical,
        }
    }
}

#[test]
fn names_of_backends_are_parsed() {
    for backend in [Backend::Auto, Backend::Tcp, Backend::Mpi] {
        match Backend::parse(&backend.to_string()) {
            Ok(found) => assert_eq!(found, backend),
            Err(e) => {
                assert!(backend == Backend::Mpi && e.to_string().contains("build it with the feature `mpi`"), "{e}")
            }
        }
    }
    assert!(Backend::parse("nccl").unwrap_err().to_string().contains("was built for GPUs"));
    assert!(Backend::parse("gloo").unwrap_err().to_string().contains("auto, tcp or mpi"));
}
