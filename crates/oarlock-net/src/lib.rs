//! The wire of a cluster: frames over TCP, between processes that know each other.
//!
//! A [`Conn`] carries frames in both directions. A frame has a kind and an id, a small `meta` (see [`codec`]) and payload sections,
//! which are written from where they lie and received into memory that is used again. Blocking sockets and threads: measured
//! against the alternatives, nothing moves a gradient cheaper.
//!
//! Every wait has a deadline, every length is checked before memory is taken for it, every error names the peer. Proxies in the
//! environment are ignored: cluster traffic goes straight to its peer. docs/wire.md gives the layout and the settings.
//!
//! Must not know what the kinds mean, nor anything of parameters, tables and steps.

#![forbid(unsafe_code)]

pub mod codec;
mod conn;
mod connect;
mod endpoint;
mod fault;
mod floats;
mod frame;
mod handshake;
#[cfg(test)]
mod hostile;
mod listen;
pub mod logging;
mod options;
mod receive;
mod seal;
mod secure;
mod send;
mod settings;
mod stream;
#[doc(hidden)]
pub mod testing;
#[cfg(test)]
mod tests;
mod threads;
#[cfg(feature = "tls")]
mod tls;

pub use conn::{Closer, Conn};
pub use connect::{Failure, UNKNOWN_NAME, is_bound};
pub use floats::Floats;
pub use frame::{ALIGN, FrameParts, Incoming, MAX_META, MAX_SECTIONS, Outgoing, VERSION};
pub use listen::Listener;
pub use options::{NetOptions, READS, TlsFiles};
pub use receive::{Received, Receiver};
pub use seal::{file_name, fingerprint, nonce, same_seal, seal};
pub use send::Sender;
pub use settings::{Get, env_var, flag, millis};
pub use threads::spawn;

/// The time; deadlines are compared with it.
#[expect(
    clippy::disallowed_methods,
    reason = "deadlines of sockets are real time; what must be replayed lies above the wire"
)]
pub fn now() -> std::time::Instant {
    std::time::Instant::now()
}
