//! What trainers and servers say to each other: one file per request, each with its reply.
//!
//! A message is a frame of [`wire`](oarlock_net): `meta` says what it is about, sections carry tensors as they lie in
//! memory. Nothing in a message is trusted: decoding checks every count and length.

mod come_back;
mod cut;
mod failure;
mod hello;
#[cfg(test)]
pub(crate) mod hostile;
mod leave;
mod lookup;
mod meet;
mod note;
mod pause;
mod pull;
mod push;
#[cfg(test)]
mod recorded;
mod rows;
mod save_table;
mod shrink;
mod tables;
mod trade;
mod values;

pub(crate) use come_back::ComeBack;
pub(crate) use cut::Cut;
pub(crate) use failure::{decode_failure, encode_failure};
pub(crate) use hello::{Hello, Purpose, Welcome};
pub(crate) use leave::Leave;
pub(crate) use lookup::{Lookup, decode_held, encode_held};
pub(crate) use meet::{Awaited, Meet, Met};
pub(crate) use note::Notes;
pub(crate) use oarlock_net::codec::damaged;
pub(crate) use pause::{Pause, Paused, Resume, Resumed};
pub(crate) use pull::{Pull, rows_in};
pub(crate) use push::Push;
pub(crate) use rows::RowsOf;
pub(crate) use save_table::SaveTable;
pub(crate) use shrink::Shrink;
pub use shrink::Stale;
pub(crate) use tables::{Served, Tables};
pub(crate) use trade::Trade;
pub(crate) use values::{Named, Rounded, ValueReader, ValueWriter};

/// The kinds of frames.
pub(crate) mod kind {
    /// Who connects, and for what.
    pub(crate) const HELLO: u16 = 1;
    /// The answer to it.
    pub(crate) const WELCOME: u16 = 2;
    /// Gradients.
    pub(crate) const PUSH: u16 = 3;
    /// A question for variables.
    pub(crate) const PULL: u16 = 4;
    /// A question for rows of a table.
    pub(crate) const LOOKUP: u16 = 5;
    /// Variables: the answer to the three above.
    pub(crate) const VALUES: u16 = 6;
    /// A trainer is done.
    pub(crate) const LEAVE: u16 = 7;
    /// Still there. Answered alike.
    pub(crate) const PING: u16 = 8;
    /// A request could not be served, and why.
    pub(crate) const FAILED: u16 = 9;
    /// A request was served, and there is nothing to say.
    pub(crate) const DONE: u16 = 10;
    /// Bytes from trainer to trainer. Answered alike.
    pub(crate) const TRADE: u16 = 11;
    /// A trainer's part of a meeting. Answered alike, with the parts of all.
    pub(crate) const MEET: u16 = 12;
    /// The answer to it while others are missing.
    pub(crate) const AWAITED: u16 = 13;
    /// A server is to save what it keeps.
    pub(crate) const CUT: u16 = 14;
    /// Where a trainer stands. Answered with the notes of all.
    pub(crate) const NOTE: u16 = 15;
    /// A server is to save its rows of one table.
    pub(crate) const SAVE_TABLE: u16 = 16;
    /// Rows that are stale leave a server's tables. Answered alike.
    pub(crate) const SHRINK: u16 = 17;
    /// From when on a trainer that came back takes part. Answered alike.
    pub(crate) const COME_BACK: u16 = 18;
    /// What a server can be asked for rows of. Answered alike.
    pub(crate) const TABLES: u16 = 19;
    /// A question for all rows of a table, some at a time.
    pub(crate) const ROWS: u16 = 20;
    /// A trainer has no data for now: it waits for the others elsewhere.
    pub(crate) const PAUSE: u16 = 21;
    /// What trainers waited for is there.
    pub(crate) const RESUME: u16 = 22;

    /// What a server's profile calls the requests that are its work.
    pub(crate) fn name(kind: u16) -> Option<&'static str> {
        match kind {
            PUSH => Some("serve push"),
            PULL => Some("serve pull"),
            LOOKUP => Some("serve lookup"),
            ROWS => Some("serve rows"),
            CUT => Some("serve checkpoint"),
            MEET => Some("serve barrier"),
            TRADE => Some("serve exchange"),
            _ => None,
        }
    }
}
