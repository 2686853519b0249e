//! Errors of connections and their texts.

use std::io;
use std::time::Duration;

use oarlock_ir::{Error, Kind};

/// An error about a peer.
pub(super) fn network(what: impl Into<String>) -> Error {
    Error::new(Kind::Network, what)
}

/// A reading or writing that failed.
pub(super) fn broken(doing: &str, peer: &str, cause: &io::Error) -> Error {
    network(format!("the connection to {peer} broke while {doing}: {cause}"))
        .help("look at the log of that process: it has probably ended")
}

/// A frame that ended in the middle.
pub(super) fn truncated(peer: &str, got: u64, want: u64) -> Error {
    network(format!("{peer} closed the connection in the middle of a frame: {got} of {want} bytes came"))
        .help("look at the log of that process: it has probably ended")
}

/// A peer that does not take what we send.
pub(super) fn stuck(peer: &str, sent: u64, all: u64) -> Error {
    network(format!("{peer} did not take a frame before the deadline: {sent} of {all} bytes were taken"))
        .help("it is overloaded, stopped or out of reach; the connection is closed")
}

/// A peer that is silent in the handshake.
pub(super) fn silent(peer: &str, waited: Duration) -> Error {
    network(format!("{peer} did not complete the handshake within {:.1} s", waited.as_secs_f64()))
        .help("make sure that this port belongs to this job, and that both ends use TLS or neither does")
}

/// A peer that left in the handshake.
pub(super) fn truncated_handshake(peer: &str) -> Error {
    network(format!("{peer} closed the connection before the handshake was complete"))
        .help("look at the log of that process, and make sure that this port belongs to this job")
}

/// A peer with which no encryption was agreed.
#[cfg(feature = "tls")]
pub(super) fn insecure(peer: &str, cause: &io::Error) -> Error {
    network(format!("no TLS connection with {peer}: {cause}"))
        .help("both ends need TLS, certificates of one authority, and a server's must be made out to the host of its endpoint")
}

/// Bytes that are no frame of ours.
pub(super) fn unknown_protocol(peer: &str, first: &[u8]) -> Error {
    let kind = match first {
        [b'G', b'E', ..] | [b'P', b'O' | b'U', ..] | [b'H', b'E' | b'T', ..] => "it speaks HTTP",
        // Record types of TLS: an alert, a handshake.
        [0x15 | 0x16, 3, ..] => "it speaks TLS, and this end does not",
        _ => "it is not Oarlock",
    };
    network(format!("{peer} does not speak Oarlock's protocol: {kind}"))
        .note(format!("expected a frame that starts with \"OARL\", got {}", shown(first)))
        .help("check the port, and that both ends use TLS or neither does; the connection is closed")
}

/// A peer with another version of the protocol.
pub(super) fn version(peer: &str, ours: u16, theirs: u16) -> Error {
    network(format!("{peer} speaks version {theirs} of the protocol, this process speaks version {ours}"))
        .help("install the same Oarlock on every machine of the job")
}

/// A frame that is damaged or makes no sense.
pub(super) fn damaged(peer: &str, what: impl std::fmt::Display) -> Error {
    network(format!("a damaged frame came from {peer}: {what}"))
        .help("the connection is closed; if it happens again, suspect the network or the memory of one of the machines")
}

/// A frame above a limit.
pub(super) fn too_large(peer: &str, what: &str, got: u64, limit: u64) -> Error {
    network(format!("a frame from {peer} announces {got} {what}, at most {limit} are taken")).help(
        "raise OARLOCK_MAX_FRAME on every machine of the job if it is meant to be that large; the connection is closed",
    )
}

/// Bytes as text where they are text.
fn shown(bytes: &[u8]) -> String {
    format!("\"{}\"", bytes.escape_ascii())
}
