//! Rollback of a step: the rows that the updates of a step change are kept as they were before it (pre-images), until the
//! step is committed or taken back.

use std::sync::atomic::Ordering;

use super::arena::floats;
use super::visit::Absent;
use super::{HashedTable, SHARDS};
use crate::Result;

impl HashedTable {
    /// Begins a step; a step that is open is committed.
    pub fn begin_step(&self) {
        let mut fence = self.fence.write();
        fence.steps += 1;
        // Shards learn of it when they are next used: most steps touch few rows.
        self.step.store(fence.steps, Ordering::Relaxed);
    }

    /// Copies weights as they were before the open step; as they are, if none is open. Ids that had no row read as the row
    /// started or would start; nothing is made or counted.
    pub fn read_before_step(&self, ids: &[i64], out: &mut [f32]) -> Result<()> {
        let width = self.spec.width;
        self.same("weights", ids.len() * width, out.len())?;
        let _batch = self.fence.read();
        self.grouped(ids, |batch| {
            self.visit(batch, 0..SHARDS, Absent::Leave, |shard, e, _| {
                let to = &mut out[e.at as usize * width..][..width];
                match shard.before_step(e.id) {
                    Some(row) => to.copy_from_slice(&floats(row)[..width]),
                    None => self.initial.weights(e.id, to),
                }
            })
        })?;
        Ok(())
    }

    /// Ends the step: what it did stays.
    pub fn commit_step(&self) {
        let _alone = self.fence.write();
        self.step.store(0, Ordering::Relaxed);
    }

    /// Ends the step: all rows, their headers too, are what they were before it; those it made are gone, those it evicted are
    /// back. How often ids were seen that wait for admission is not taken back.
    pub fn rollback_step(&self) {
        let _alone = self.fence.write();
        let step = self.step.swap(0, Ordering::Relaxed);
        self.each_shard(|shard| {
            let (made, removed) = shard.roll_back(step, &self.blocks);
            self.rows.fetch_add(made, Ordering::Relaxed);
            self.rows.fetch_sub(removed, Ordering::Relaxed);
            // Of the rows that are made again, each was evicted.
            let _ = self.evicted.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| Some(n.saturating_sub(made)));
        });
    }
}
