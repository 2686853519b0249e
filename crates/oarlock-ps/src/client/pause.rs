//! Pauses: before a trainer waits for the others outside of a step, every server hears that it has no data; afterwards, from which step
//! on all that waited take part again.
//!
//! The meeting is held at one server, which says which step that is. Every trainer tells it to all servers before its next push, for all that
//! were there: so no server makes a step without one of them.

use std::sync::atomic::Ordering;

use oarlock_ir::Result;

use super::Client;
use crate::message::{Met, Pause, Resume, Resumed, ValueWriter, kind};
use oarlock_net::codec::{Reader, Writer};

impl Client {
    /// Tells all servers that this trainer has no data from its next step on.
    pub(super) fn pause(&self, trainer: u32, servers: &[String], number: u64) -> Result<()> {
        let about = || "its pause".to_string();
        self.tell_all(trainer, servers, kind::PAUSE, |meta| Pause { number }.encode(meta), &about).map(drop)
    }

    /// Takes part again, with all that met.
    pub(super) fn take_part(&self, trainer: u32, servers: &[String], met: Met) -> Result<()> {
        let resume = Resume { from: met.done + 1, of: met.paused };
        let about = || "the end of its pause".to_string();
        let taken = self.tell_all(trainer, servers, kind::RESUME, |meta| resume.encode(meta), &about)?;
        let done = if taken { met.done } else { self.come_back(trainer, servers)? };
        self.goes_on_after(done);
        Ok(())
    }

    /// This trainer makes the step after so many next. The others may have made some without it: what it knows of parameters is old.
    pub(super) fn goes_on_after(&self, done: u64) {
        self.away.store(false, Ordering::Release);
        if self.done.swap(done, Ordering::AcqRel) != done {
            self.servers_changed();
            self.behind.store(true, Ordering::Release);
        }
    }

    /// Must parameters be fetched anew, because steps were made without this trainer? Asked once: whoever asks fetches them.
    pub(crate) fn take_behind(&self) -> bool {
        self.behind.load(Ordering::Acquire) && self.behind.swap(false, Ordering::AcqRel)
    }

    /// They could not be fetched.
    pub(crate) fn still_behind(&self) {
        self.behind.store(true, Ordering::Release);
    }

    /// Tells all servers the same; is it what each of them goes by?
    fn tell_all(
        &self,
        trainer: u32,
        servers: &[String],
        kind: u16,
        encode: impl Fn(&mut Writer),
        about: &dyn Fn() -> String,
    ) -> Result<bool> {
        let request = |server| {
            let mut meta = Writer::new();
            encode(&mut meta);
            (server, kind, meta, ValueWriter::default())
        };
        let requests: Vec<_> = servers.iter().map(String::as_str).map(request).collect();
        let mut all = true;
        self.ask_all(trainer, &requests, about, |_, reply| {
            all &= Resumed::decode(&mut Reader::new(reply.meta(), "a message"))?.taken;
            Ok(())
        })?;
        Ok(all)
    }
}
