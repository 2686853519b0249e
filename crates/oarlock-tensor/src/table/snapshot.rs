//! What a table can say about its past: consistent cuts, and rounds that can be taken back.

use std::sync::atomic::Ordering;

use super::arena::{Header, floats, id_of};
use super::saved::Saved;
use super::shard::{Cut, Shard};
use super::visit::Absent;
use super::{HashedTable, SHARDS};
use crate::Result;

/// Consistent cuts: the table as it was at a moment, read while updates go on.
impl HashedTable {
    /// Sets a fence between batches: from now on rows are kept as they are now when they change, until the cut is read.
    pub fn begin_cut(&self, epoch: u64) -> Result<()> {
        let mut fences = self.fences.write();
        if let Some(open) = fences.cut {
            return Err(self.spec.error(format!("cut {epoch} cannot begin before cut {open} ends")));
        }
        fences.cut = Some(epoch);
        self.each_shard(|shard| {
            shard.cut = Some(Cut { lsn: shard.history.lsn(), saved: Some(Saved::new(self.row_words)) });
        });
        Ok(())
    }

    /// The epoch of the open cut.
    pub fn cut(&self) -> Option<u64> {
        self.fences.read().cut
    }

    /// Shows every row of a shard as it was at the fence: id, header, weights, states side by side; returns the shard's sequence
    /// number at the fence. The shard is locked meanwhile; afterwards it keeps nothing for the cut, which can be read once.
    pub fn cut_shard(&self, shard: usize, mut visit: impl FnMut(i64, Header, &[f32], &[f32])) -> Result<u64> {
        let number = shard;
        let mut shard = self.shard(shard)?;
        let Some(cut) = shard.cut.as_mut() else {
            return Err(self.spec.error("there is no cut to read; begin one first"));
        };
        let (lsn, Some(saved)) = (cut.lsn, cut.saved.take()) else {
            return Err(self.spec.error(format!("the cut of shard {number} was read already")));
        };
        let unchanged = shard.rows().filter(|row| saved.get(id_of(row)).is_none());
        let changed = saved.iter().filter_map(|(_, row)| row);
        unchanged.chain(changed).for_each(|row| self.show(row, &mut visit));
        Ok(lsn)
    }

    /// Ends the cut, whether it was read or not.
    pub fn end_cut(&self) {
        let mut fences = self.fences.write();
        if fences.cut.take().is_some() {
            self.each_shard(|shard| shard.cut = None);
        }
    }
}

/// Rounds that can be taken back: the rows that a round changed are kept as they were before it.
impl HashedTable {
    /// Begins a round; a round that is open is committed.
    pub fn begin_round(&self) {
        let mut fences = self.fences.write();
        fences.rounds += 1;
        // Shards learn of it when they are next used: most rounds touch few rows.
        self.round.store(fences.rounds, Ordering::Relaxed);
    }

    /// Copies weights as they were before the open round; as they are, if none is open. Ids that had no row read as the row
    /// started or would start; nothing is made or counted.
    pub fn read_before_round(&self, ids: &[i64], out: &mut [f32]) -> Result<()> {
        let width = self.spec.width;
        self.same("weights", ids.len() * width, out.len())?;
        let _batch = self.fences.read();
        self.grouped(ids, |batch| {
            self.visit(batch, 0..SHARDS, Absent::Leave, |shard, e, _| {
                let to = &mut out[e.at as usize * width..][..width];
                match shard.before_round(e.id) {
                    Some(row) => to.copy_from_slice(&floats(row)[..width]),
                    None => self.initial.weights(e.id, to),
                }
            })
        })?;
        Ok(())
    }

    /// Ends the round: what it did stays.
    pub fn commit_round(&self) {
        let _alone = self.fences.write();
        self.round.store(0, Ordering::Relaxed);
    }

    /// Ends the round: all rows, their headers too, are what they were before it; those it made are gone, those it evicted are
    /// back. How often ids were seen that wait for admission is not taken back.
    pub fn rollback_round(&self) {
        let _alone = self.fences.write();
        let round = self.round.swap(0, Ordering::Relaxed);
        self.each_shard(|shard| {
            let (made, removed) = shard.roll_back(round, &self.blocks);
            self.rows.fetch_add(made, Ordering::Relaxed);
            self.rows.fetch_sub(removed, Ordering::Relaxed);
            // Of the rows that are made again, each was evicted.
            let _ = self.evicted.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| Some(n.saturating_sub(made)));
        });
    }

    fn each_shard(&self, f: impl Fn(&mut Shard)) {
        self.shards.iter().for_each(|shard| f(&mut shard.0.lock()));
    }
}
