//! The reply to a request, while it is filled in. A connection has one and reuses its memory from request to request.

use std::sync::Arc;
use std::time::Duration;

use oarlock_ir::{Error, Result};
use oarlock_net::codec::Writer;
use oarlock_net::{Conn, Floats, Outgoing, now};

use crate::protocol::error::encode_error;
use crate::protocol::{Message, Named, Rounded, ValueWriter, reply};

/// How long a reply may take to be sent.
const SEND_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Default)]
pub(crate) struct Reply {
    kind: u16,
    meta: Writer,
    /// How the elements of variables and rows are sent.
    pub(crate) floats: Floats,
    vars: Vec<Named>,
    /// How many of `vars` are sent; none if the message has no variables at all.
    var_count: Option<usize>,
    /// The variables are not worth their memory once they are sent.
    once: bool,
    rows: Vec<Vec<f32>>,
    /// How many of `rows` are sent.
    table_count: usize,
    /// How many rows each of the tables has at this server, 0 for one that is not hashed: trainers, which know all servers, see
    /// whether these are too many. None if the message does not tell.
    row_counts: Option<Vec<u64>>,
    parts: Vec<Arc<Vec<u8>>>,
}

impl Reply {
    /// Forgets the last reply; an empty one is `done`.
    pub(super) fn begin(&mut self) {
        self.kind = reply::DONE;
        self.meta.clear();
        self.floats = Floats::F32;
        self.var_count = None;
        if std::mem::take(&mut self.once) {
            self.vars = Vec::new();
        }
        self.table_count = 0;
        self.row_counts = None;
        self.parts.clear();
    }

    /// Sets the message, or the head of one.
    pub(crate) fn set(&mut self, kind: u16, message: &impl Message) {
        self.kind = kind;
        message.encode(&mut self.meta);
    }

    /// Room for `count` variables, which keeps its memory.
    pub(crate) fn vars(&mut self, count: usize) -> &mut [Named] {
        self.var_count = Some(count);
        self.vars.resize_with(count.max(self.vars.len()), Named::default);
        &mut self.vars[..count]
    }

    /// Sends these variables, and then drops them.
    pub(crate) fn set_vars(&mut self, vars: Vec<Named>) {
        self.var_count = Some(vars.len());
        self.vars = vars;
        self.once = true;
    }

    /// Room for the rows of `count` tables, which keeps its memory.
    pub(crate) fn rows(&mut self, count: usize) -> &mut [Vec<f32>] {
        self.table_count = count;
        self.rows.resize_with(count.max(self.rows.len()), Vec::new);
        &mut self.rows[..count]
    }

    /// How many rows each of the tables has at this server.
    pub(crate) fn set_row_counts(&mut self, counts: Vec<u64>) {
        self.row_counts = Some(counts);
    }

    /// Bytes, a section each.
    pub(crate) fn set_parts(&mut self, parts: Vec<Arc<Vec<u8>>>) {
        self.parts = parts;
    }

    pub(super) fn send(&mut self, conn: &mut Conn, id: u64) -> Result<()> {
        let mut rounded_rows: Vec<Vec<u16>> = vec![Vec::new(); self.table_count];
        let vars = &self.vars[..self.var_count.unwrap_or(0)];
        let rounded = Rounded::of(self.floats, vars.iter().map(|(_, value)| value));
        let mut values = ValueWriter::default();
        if self.var_count.is_some() {
            values.write(&mut self.meta, vars.iter().map(|(name, value)| (name.as_str(), value)), &rounded)?;
        }
        if let Some(counts) = &self.row_counts {
            counts.encode(&mut self.meta);
        }
        for (rows, room) in self.rows.iter().zip(&mut rounded_rows) {
            values.add_section(self.floats.encode(rows, room));
        }
        self.parts.iter().for_each(|part| values.add_section(part));
        let out = Outgoing { kind: self.kind, id, meta: self.meta.as_bytes(), sections: values.sections() };
        conn.send(&out, now() + SEND_TIMEOUT)
    }

    /// Sends an error instead.
    pub(super) fn send_error(&mut self, conn: &mut Conn, id: u64, error: &Error) -> Result<()> {
        let mut meta = Writer::new();
        encode_error(error, &mut meta);
        let out = Outgoing { kind: reply::FAILED, id, meta: meta.as_bytes(), sections: &[] };
        conn.send(&out, now() + SEND_TIMEOUT)
    }
}
