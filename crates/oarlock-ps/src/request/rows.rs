//! A trainer or a reader fetches all rows of a table, some shards at a time: a table can be saved without room for all of it.
//!
//! Reply: `rows` (20) with the shard to continue with, and the rows.

use oarlock_ir::{Error, Kind, Result};
use oarlock_net::Incoming;
use oarlock_net::codec::Reader;
use oarlock_tensor::table::SHARDS;
use oarlock_tensor::{SelectedRows, Value};

use crate::client::Client;
use crate::protocol::{Message, Sender, ValueReader, message, request};
use crate::server::Call;
use crate::server::read::size;

request! { kind: 20, sender: Sender::Anyone, profile: "serve rows" }

message! {
    /// The rows that are asked for.
    pub(crate) struct Rows {
        /// The table, or a state of its optimizer.
        pub(crate) name: String,
        /// The first shard.
        pub(crate) from: u32,
        /// No further shard is added to this number of bytes.
        pub(crate) enough: u64,
    }
}

fn apply(call: &mut Call<'_>) -> Result<()> {
    let asked = Rows::read(call.frame)?;
    let mut rows = Value::Empty;
    // No more is copied than a frame can carry: every reader could fill the memory otherwise.
    let enough = asked.enough.min(call.shared.options.net.max_frame / 2);
    let next = call.shared.updates.tables.copy_from(&asked.name, asked.from as usize, enough, &mut rows)?;
    call.shared.check_size(size(&rows))?;
    call.reply.set(REQUEST.kind, &(next as u32));
    call.reply.set_vars(vec![(asked.name, rows)]);
    Ok(())
}

/// About the bytes of rows of one reply.
const REPLY_BYTES: usize = 32 << 20;

impl Client {
    /// Fetches the rows that a server has of `name`, shard by shard.
    pub(crate) fn fetch_rows(
        &self,
        trainer: u32,
        server: &str,
        name: &str,
        take: &mut dyn FnMut(&SelectedRows) -> Result<()>,
    ) -> Result<()> {
        let enough = self.options.tables.part_bytes.min(REPLY_BYTES) as u64;
        let (about, mut from) = (|| format!("rows of `{name}`"), 0);
        while from < SHARDS {
            let message = Rows { name: name.to_string(), from: from as u32, enough };
            let (next, rows) = self.ask(trainer, server, &REQUEST, &message, &about, read_rows)?;
            if next <= from {
                let what = format!("server {server} sent no rows of `{name}` from shard {from} on");
                return Err(Error::new(Kind::Format, what));
            }
            take(&rows)?;
            from = next;
        }
        Ok(())
    }
}

fn read_rows(reply: &Incoming) -> Result<(usize, SelectedRows)> {
    let mut meta = Reader::new(reply.meta(), "rows of a table");
    let next = meta.u32()? as usize;
    let mut values = ValueReader::new(reply, &mut meta)?;
    let mut value = Value::Empty;
    if values.next(&mut meta)?.is_some() {
        values.value(&mut meta, &mut value)?;
    }
    match value {
        Value::Rows(rows) => Ok((next, rows)),
        other => Err(Error::new(Kind::Format, format!("a server sent {} as rows of a table", other.kind()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::samples::{Sample, rows, with_values};
    use crate::server::Policy;
    use crate::server::testing::{TABLE, TestServer};

    pub(super) fn samples() -> Vec<Sample> {
        let asked = Rows { name: "emb".into(), from: 9, enough: 1 << 20 };
        let found = [("emb".to_string(), rows())];
        vec![
            Sample::of("rows", REQUEST.kind, &asked),
            with_values("rows found", REQUEST.kind, 12_u32.to_meta(), &found, (&[], &[]), |f| read_rows(f).map(drop)),
        ]
    }

    #[test]
    fn all_rows_of_a_table_are_fetched_shard_by_shard() {
        let server = TestServer::start(1, Policy::Fail);
        let client = server.join(0);
        let ids: Vec<i64> = (0..100).collect();
        let looked_up = server.look_up(&client, 0, &ids, false);
        let (mut found, mut elements, mut replies) = (Vec::new(), 0, 0);
        let mut take = |next: usize, rows: SelectedRows| {
            found.extend(rows.rows);
            elements += rows.value.numel();
            replies += 1;
            next
        };
        let (about, mut from) = (|| "rows".to_string(), 0);
        while from < SHARDS {
            let asked = Rows { name: TABLE.into(), from: from as u32, enough: 1 };
            let (next, rows) = client.ask(0, server.endpoint(), &REQUEST, &asked, &about, read_rows).unwrap();
            from = take(next, rows);
        }
        found.sort_unstable();
        assert_eq!((found, elements), (ids, looked_up.len()));
        assert!(replies > 1, "some shards at a time");
        let unknown = client.fetch_rows(0, server.endpoint(), "unknown", &mut |_| Ok(())).unwrap_err();
        assert!(unknown.to_string().contains("unknown"), "{unknown}");
    }
}
