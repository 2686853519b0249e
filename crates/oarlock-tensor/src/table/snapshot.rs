//! Snapshots: the table as it was at one moment, read while updates go on.
//!
//! A snapshot fence falls between calls, never inside one. After it the first change of a row keeps the row as it was, by
//! id (copy-on-write). Without an open snapshot that costs one comparison. The tables of several servers make a consistent
//! snapshot if their fences fall at the same step; this module does not know of other tables.

use super::HashedTable;
use super::arena::{Header, id_of};
use super::saved::Saved;
use super::shard::{Shard, ShardSnapshot};
use crate::Result;

impl HashedTable {
    /// Sets a fence between batches: from now on rows are kept as they are now when they change, until the snapshot is read.
    pub fn begin_snapshot(&self, epoch: u64) -> Result<()> {
        let mut fence = self.fence.write();
        if let Some(open) = fence.snapshot {
            return Err(self.spec.error(format!("snapshot {epoch} cannot begin before snapshot {open} ends")));
        }
        fence.snapshot = Some(epoch);
        self.each_shard(|shard| {
            shard.snapshot = Some(ShardSnapshot { lsn: shard.history.lsn(), saved: Some(Saved::new(self.row_words)) });
        });
        Ok(())
    }

    /// The epoch of the open snapshot.
    pub fn snapshot(&self) -> Option<u64> {
        self.fence.read().snapshot
    }

    /// Shows every row of a shard as it was at the fence: id, header, weights, states side by side; returns the shard's sequence
    /// number at the fence. The shard is locked meanwhile; afterwards it keeps nothing for the snapshot, which can be read once.
    pub fn snapshot_shard(&self, shard: usize, mut visit: impl FnMut(i64, Header, &[f32], &[f32])) -> Result<u64> {
        let number = shard;
        let mut shard = self.shard(shard)?;
        let Some(snapshot) = shard.snapshot.as_mut() else {
            return Err(self.spec.error("there is no snapshot to read; begin one first"));
        };
        let (lsn, Some(saved)) = (snapshot.lsn, snapshot.saved.take()) else {
            return Err(self.spec.error(format!("the snapshot of shard {number} was read already")));
        };
        let unchanged = shard.rows().filter(|row| saved.get(id_of(row)).is_none());
        let changed = saved.iter().filter_map(|(_, row)| row);
        unchanged.chain(changed).for_each(|row| self.show(row, &mut visit));
        Ok(lsn)
    }

    /// Ends the snapshot, whether it was read or not.
    pub fn end_snapshot(&self) {
        let mut fence = self.fence.write();
        if fence.snapshot.take().is_some() {
            self.each_shard(|shard| shard.snapshot = None);
        }
    }

    pub(super) fn each_shard(&self, f: impl Fn(&mut Shard)) {
        self.shards.iter().for_each(|shard| f(&mut shard.0.lock()));
    }
}
