//! Turning a fresh connection into an encrypted one, if this build can.

use std::time::Instant;

use oarlock_ir::Result;

use super::handshake::Outcome;
use super::options::TlsFiles;
use super::receive::Receiver;
use super::send::Sender;

type Secured = std::result::Result<(), Outcome>;

/// Encrypts a connection that was made to `host`.
pub(super) fn connect(
    files: &TlsFiles,
    host: &str,
    send: &mut Sender,
    recv: &mut Receiver,
    deadline: Instant,
) -> Secured {
    #[cfg(feature = "tls")]
    return super::tls::encrypt(super::tls::client(files, host), send, recv, deadline);
    #[cfg(not(feature = "tls"))]
    not_built((host, send, recv, deadline, files)).map_err(Outcome::Refused)
}

/// Encrypts a connection that was accepted.
pub(super) fn accept(files: &TlsFiles, send: &mut Sender, recv: &mut Receiver, deadline: Instant) -> Secured {
    #[cfg(feature = "tls")]
    return super::tls::encrypt(super::tls::server(files), send, recv, deadline);
    #[cfg(not(feature = "tls"))]
    not_built((send, recv, deadline, files)).map_err(Outcome::Refused)
}

/// Fails if the files cannot be used, or this build cannot use any: better when a server starts than when its first peer comes.
pub(super) fn check(files: &TlsFiles) -> Result<()> {
    #[cfg(feature = "tls")]
    return super::tls::server(files).map(drop);
    #[cfg(not(feature = "tls"))]
    not_built(files)
}

#[cfg(any(test, not(feature = "tls")))]
fn not_built<T>(_unused: T) -> Result<()> {
    use oarlock_ir::{Error, Kind};
    Err(Error::new(Kind::Unsupported, "TLS is asked for, and this Oarlock was built without it")
        .help("build with the feature `tls`, or unset the variables OARLOCK_TLS_..."))
}

#[cfg(test)]
mod tests {
    // Builds with TLS say it, too: a run of all tests has one set of features. `tls_that_was_not_built_is_refused` tells who asks.
    #[test]
    fn a_build_without_tls_says_so() {
        let report = super::not_built(()).unwrap_err();
        assert_eq!(report.report().what, "TLS is asked for, and this Oarlock was built without it");
        assert!(report.to_string().contains("build with the feature `tls`"), "{report}");
    }
}
