//! The state of a server in a snapshot of its log, as far as no variable and no table has it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use oarlock_ir::Result;
use oarlock_net::codec::{Reader, Writer};

use super::super::{Applied, Shared, State};

/// The version of the bytes.
const VERSION: u32 = 1;

impl Shared {
    /// Writes the state, while it is locked and no push is being applied.
    pub(super) fn save_state(&self, state: &State) -> Vec<u8> {
        let mut to = Writer::new();
        to.u32(VERSION);
        state.step_barrier.save(&mut to);
        state.staleness.save(&mut to);
        state.all_gather.save(&mut to);
        state.step_all_gather.save(&mut to);
        state.all_to_all.save(&mut to);
        let notifications: Vec<_> = state.notifications.iter().collect();
        to.list(&notifications, |to, (trainer, bytes)| {
            to.u32(**trainer).bytes(bytes);
        });
        self.save_applied(&mut to);
        for counter in [&self.pushes, &self.duplicates, &self.lookups] {
            to.u64(counter.load(Ordering::Relaxed));
        }
        self.last_eviction.save(&mut to);
        self.changed_rows.save(&mut to);
        self.updates.save(&mut to);
        to.into_bytes()
    }

    fn save_applied(&self, to: &mut Writer) {
        let applied = self.applied.lock();
        let mut streams: Vec<_> =
            applied.iter().map(|(of, applied)| (*of, applied.last.load(Ordering::Acquire))).collect();
        streams.sort_unstable();
        to.list(&streams, |to, ((trainer, incarnation, stream), last)| {
            to.u32(*trainer).u64(*incarnation).u32(*stream).u64(*last);
        });
    }

    /// Reads the state that was written.
    pub(super) fn load_state(&self, bytes: &[u8]) -> Result<()> {
        let mut from = Reader::new(bytes, "the saved state of a server");
        let version = from.u32()?;
        if version != VERSION {
            return Err(crate::protocol::damaged(format!("version {version} of a server's saved state")));
        }
        let mut state = self.state.lock();
        state.step_barrier.load(&mut from)?;
        state.staleness.load(&mut from)?;
        state.all_gather.load(&mut from)?;
        state.step_all_gather.load(&mut from)?;
        state.all_to_all.load(&mut from)?;
        let notifications = from.list(|from| Ok((from.u32()?, Arc::new(from.bytes()?.to_vec()))))?;
        state.notifications = notifications.into_iter().collect();
        let streams = from.list(|from| Ok(((from.u32()?, from.u64()?, from.u32()?), from.u64()?)))?;
        *self.applied.lock() = streams.into_iter().map(|(of, last)| (of, Arc::new(Applied::after(last)))).collect();
        for counter in [&self.pushes, &self.duplicates, &self.lookups] {
            counter.store(from.u64()?, Ordering::Relaxed);
        }
        self.last_eviction.load(&mut from)?;
        self.changed_rows.load(&mut from)?;
        self.updates.load(&mut from)?;
        self.pre_images.begin_after(state.step_barrier.done());
        from.finish()
    }
}
