//! Lets servers forget rows of their tables.

use oarlock_ir::Result;

use super::{Client, Request};
use crate::message::{Shrink, Stale, kind};
use oarlock_net::codec::{Reader, Writer};

impl Client {
    /// Takes rows that are stale away from the hashed tables of all servers; returns how many. One trainer of a job does this,
    /// while no other is in a step if the result is to be the same every time.
    pub fn shrink(&self, trainer: u32, servers: &[String], stale: Stale) -> Result<u64> {
        let mut number = self.shrinks.lock();
        *number += 1;
        let mut meta = Writer::new();
        Shrink { number: *number, stale, gone: 0 }.encode(&mut meta);
        let about = || "tables to shrink".to_string();
        let request = Request { kind: kind::SHRINK, meta: meta.as_bytes(), sections: &[], about: &about };
        let mut gone = 0;
        for server in servers {
            gone += self.ask_one(trainer, server, &request, |reply| {
                Ok(Shrink::decode(&mut Reader::new(reply.meta(), "a message"))?.gone)
            })?;
        }
        self.servers_changed();
        Ok(gone)
    }
}
