//! The reply to a request that failed: the server's error becomes the trainer's.

use oarlock_ir::{Error, Kind, Result};
use oarlock_net::codec::{Reader, Writer};

/// The kinds that are sent, by their numbers; every other kind arrives as [`Kind::Unsupported`].
const KINDS: [Kind; 11] = [
    Kind::Unsupported,
    Kind::Shape,
    Kind::DType,
    Kind::Missing,
    Kind::Unknown,
    Kind::Argument,
    Kind::Range,
    Kind::Nan,
    Kind::Format,
    Kind::Timeout,
    Kind::Network,
];

pub(crate) fn encode_error(error: &Error, meta: &mut Writer) {
    let report = error.report();
    let kind = KINDS.iter().position(|k| *k == report.kind).unwrap_or(0);
    meta.u8(kind as u8);
    meta.str(&report.what);
    meta.list(&report.notes, |meta, note| {
        meta.str(note);
    });
    meta.str(report.help.as_deref().unwrap_or(""));
}

/// Reads a server's error, and adds the server's endpoint as a note.
pub(crate) fn decode_error(meta: &mut Reader<'_>, server: &str) -> Result<Error> {
    let kind = KINDS.get(meta.u8()? as usize).copied().unwrap_or(Kind::Unsupported);
    let mut error = Error::new(kind, meta.str()?);
    for note in meta.list(|meta| meta.str())? {
        error = error.note(note);
    }
    let help = meta.str()?;
    if !help.is_empty() {
        error = error.help(help);
    }
    Ok(error.note(format!("said by server {server}")))
}
