//! A trainer or a reader looks up rows of tables. The ids of each table are a section.
//!
//! Reply: `values` (6) with the rows in the order of the ids, a section for each table, and with the number of rows that each table
//! has at this server.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use oarlock_ir::Result;
use oarlock_net::Floats;

use crate::client::{Client, FoundRows, RowRequest, about_names};
use crate::protocol::{Message, Sender, ValueWriter, message, reply, request};
use crate::server::Call;
use crate::server::read::ids_of;

request! { kind: 5, sender: Sender::Anyone, profile: "serve lookup", replay: replay }

message! {
    /// The message before the ids.
    pub(crate) struct Lookup {
        /// As [`Pull::after_step`](super::pull::Pull).
        pub(crate) after_step: u64,
        /// Rows that do not exist are zero and are not made: evaluation changes nothing.
        pub(crate) read_only: bool,
        /// The form of the rows in the reply.
        pub(crate) floats: Floats,
        /// The tables; section k holds the ids for the k-th.
        pub(crate) tables: Vec<String>,
    }
}

/// Makes again the rows that a lookup made.
fn replay(call: &mut Call<'_>) -> Result<()> {
    let lookup = Lookup::read(call.frame)?;
    let mut rows = Vec::new();
    for (at, table) in lookup.tables.iter().enumerate() {
        call.shared.read_rows(table, ids_of(call.frame, at)?, &lookup, &mut rows)?;
    }
    Ok(())
}

fn apply(call: &mut Call<'_>) -> Result<()> {
    let (shared, frame) = (call.shared, call.frame);
    shared.lookups.fetch_add(1, Ordering::Relaxed);
    let lookup = Lookup::read(frame)?;
    let (mut bytes, mut made) = (0, false);
    for (at, (table, rows)) in lookup.tables.iter().zip(call.reply.rows(lookup.tables.len())).enumerate() {
        made |= shared.read_rows(table, ids_of(frame, at)?, &lookup, rows)?;
        bytes += 4 * rows.len() as u64;
        shared.check_size(bytes)?;
    }
    if made {
        call.log()?;
    }
    shared.note_fetch(call.hello, true);
    call.reply.set(reply::VALUES, &());
    call.reply.floats = lookup.floats;
    call.reply.set_row_counts(shared.row_counts(&lookup.tables));
    Ok(())
}

impl Client {
    /// Fetches rows of tables now: those of each request.
    pub(crate) fn look_up(&self, trainer: u32, asked: &[RowRequest<'_>]) -> Result<Vec<FoundRows>> {
        let (read_only, floats) = (self.identity.lock().read_only, self.options.floats);
        let mut by_server: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (k, request) in asked.iter().enumerate() {
            by_server.entry(request.server).or_default().push(k);
        }
        let mut requests = Vec::new();
        for (server, of) in &by_server {
            let tables = of.iter().map(|k| asked[*k].table.to_string()).collect();
            let meta = Lookup { after_step: self.as_of(), read_only, floats, tables }.to_meta();
            let ids = of.iter().map(|k| bytemuck::cast_slice(asked[*k].ids)).collect();
            requests.push((*server, meta, ValueWriter::of_sections(ids)));
        }
        let about = || about_names("rows of table ", asked.iter().map(|request| request.table), self.done());
        let of_request: Vec<&Vec<usize>> = by_server.values().collect();
        let mut found: Vec<FoundRows> = asked.iter().map(|_| FoundRows::default()).collect();
        self.ask_all(trainer, &REQUEST, &requests, &about, |server, reply| {
            let row_counts = Vec::<u64>::read(reply)?;
            for (at, k) in of_request[server].iter().enumerate() {
                found[*k] = FoundRows::new(reply, at, floats, row_counts.get(at).copied().unwrap_or(0))?;
            }
            Ok(())
        })?;
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::samples::{IDS, Sample, names};
    use crate::server::Policy;
    use crate::server::testing::TestServer;

    fn decode(frame: &oarlock_net::Incoming) -> Result<()> {
        let lookup = Lookup::read(frame)?;
        (0..lookup.tables.len()).try_for_each(|at| ids_of(frame, at).map(drop))
    }

    fn decode_found(frame: &oarlock_net::Incoming) -> Result<()> {
        let row_counts = Vec::<u64>::read(frame)?;
        (0..row_counts.len()).try_for_each(|at| FoundRows::new(frame, at, Floats::F32, 1).map(drop))
    }

    pub(super) fn samples() -> Vec<Sample> {
        let lookup = Lookup { after_step: 3, read_only: true, floats: Floats::F16, tables: names() };
        let found: &[u8] = bytemuck::cast_slice(&[0.25_f32, 0.5]);
        vec![
            Sample::with_sections("lookup", REQUEST.kind, lookup.to_meta(), &[IDS, &[]], decode),
            Sample::with_sections("looked up", reply::VALUES, vec![9_u64].to_meta(), &[found], decode_found),
        ]
    }

    #[test]
    fn lookup_makes_missing_rows_unless_it_is_read_only() {
        let server = TestServer::start(1, Policy::Fail);
        let client = server.join(0);
        let found = server.look_up(&client, 0, &[3, 8], true);
        assert!(!found.is_empty() && found.iter().all(|v| *v == 0.0), "{found:?}");
        assert_eq!(server.rows(), 0);
        let made = server.look_up(&client, 0, &[3, 8], false);
        assert_eq!((made.len(), server.rows()), (found.len(), 2));
        assert_eq!(
            server.look_up(&client, 0, &[8, 3], true),
            [&made[made.len() / 2..], &made[..made.len() / 2]].concat()
        );
        assert_eq!(server.shared().lookups.load(Ordering::Relaxed), 3);
    }
}
