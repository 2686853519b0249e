//! A trainer lets a server evict stale rows from its hashed tables.
//!
//! Reply: `evict` (17) with the number of evicted rows.

use oarlock_ir::Result;

use crate::client::Client;
use crate::protocol::{Message, Sender, message, request};
use crate::server::Call;

request! { kind: 17, sender: Sender::ActiveTrainer, replay: apply }

message! {
    /// The rows to evict: each for which one of these holds.
    #[derive(Copy, Default)]
    pub struct Stale {
        /// Not updated in this number of calls before this one. With one call a day these are days.
        pub calls: Option<u32>,
        /// Not updated in this number of the latest updates of its table.
        pub steps: Option<u32>,
        /// Updated less often than this.
        pub count: Option<u32>,
        /// With a score below this, in tables whose rows count shows and clicks.
        pub score: Option<f32>,
    }
}

message! {
    /// The request, and the reply.
    pub(crate) struct Evict {
        /// Counts the calls of this process from 1: a duplicate is not served again.
        pub(crate) number: u64,
        pub(crate) stale: Stale,
        /// The number of evicted rows: in the reply.
        pub(crate) evicted: u64,
    }
}

fn apply(call: &mut Call<'_>) -> Result<()> {
    let mut evict = Evict::read(call.frame)?;
    let of = (call.hello.trainer, call.hello.incarnation, evict.number);
    let shared = call.shared;
    evict.evicted = shared.last_eviction.once(of, || {
        // A snapshot has both the record and what it does, or neither.
        let _whole = shared.fence.read();
        call.log()?;
        Ok(shared.updates.tables.evict(evict.stale))
    })?;
    call.reply.set(REQUEST.kind, &evict);
    Ok(())
}

impl Client {
    /// Evicts stale rows from the hashed tables of all servers; returns how many. One trainer of a job calls this, while no other
    /// is in a step if the result is to be the same every time.
    pub fn evict(&self, trainer: u32, servers: &[String], stale: Stale) -> Result<u64> {
        let mut number = self.evictions.lock();
        *number += 1;
        let message = Evict { number: *number, stale, evicted: 0 };
        let about = || "the eviction of rows".to_string();
        let mut evicted = 0;
        for server in servers {
            evicted += self.ask(trainer, server, &REQUEST, &message, &about, Evict::read)?.evicted;
        }
        self.servers_changed();
        Ok(evicted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::samples::Sample;
    use crate::server::Policy;
    use crate::server::testing::TestServer;

    pub(super) fn samples() -> Vec<Sample> {
        let stale = Stale { calls: Some(2), steps: None, count: Some(3), score: Some(0.5) };
        vec![Sample::of("evict", REQUEST.kind, &Evict { number: 1, stale, evicted: 4 })]
    }

    #[test]
    fn stale_rows_are_evicted_once_even_if_the_request_is_sent_again() {
        let server = TestServer::start(1, Policy::Fail);
        let client = server.join(0);
        server.look_up(&client, 0, &[3, 8, 9], false);
        assert_eq!(server.rows(), 3);
        let never_updated = Stale { count: Some(1), ..Stale::default() };
        assert_eq!(client.evict(0, &server.list(), never_updated).unwrap(), 3);
        assert_eq!(server.rows(), 0);
        server.look_up(&client, 0, &[3], false);
        let again = Evict { number: 1, stale: never_updated, evicted: 0 };
        let about = || "a duplicate".to_string();
        let reply = client.ask(0, server.endpoint(), &REQUEST, &again, &about, Evict::read).unwrap();
        assert_eq!((reply.evicted, server.rows()), (3, 1));
    }
}
