//! Eviction: rows leave a table by a call, or by themselves as [`Retention`] has it. There is one way out.

use std::sync::atomic::Ordering;

use super::arena::{Header, Shown};
use super::visit::Absent;
use super::{HashedTable, SHARDS, shard_of};
use crate::Result;

/// Says of a row with this id, header, weights and states (side by side) whether it should go.
pub type Judge<'a> = dyn Fn(i64, Header, &[f32], &[f32]) -> bool + Sync + 'a;

/// Which rows to take away.
pub enum Evict<'a> {
    /// Those not updated at this step or later. Ids that wait for admission and were not seen since are forgotten, too.
    UnseenSince(u32),
    /// Those updated less often.
    CountBelow(u32),
    /// Those whose score is less: see [`Score`]. Rows that count nothing stay.
    ScoreBelow(f32),
    /// Those of which this says so.
    Where(&'a Judge<'a>),
}

/// Decides whether a row is evicted.
type Gone<'a> = dyn Fn(i64, Header, &[f32], &[f32]) -> bool + 'a;

impl HashedTable {
    /// Takes rows away; returns how many. Their memory serves new rows. Shard after shard: others can work meanwhile.
    pub fn evict(&self, which: Evict<'_>) -> u64 {
        let now = self.clock.load(Ordering::Relaxed);
        let _batch = self.fence.read();
        let of_shard = |shard: usize| match which {
            Evict::UnseenSince(step) => self.remove(shard, Some(step), &|_, header, _, _| header.last < step),
            Evict::CountBelow(count) => self.remove(shard, None, &|_, header, _, _| header.count < count),
            Evict::ScoreBelow(score) => self.remove(shard, None, &|_, header, _, _| {
                let retention = &self.spec.retention;
                retention.score.is_some() && retention.score(shard, header, now) < f64::from(score)
            }),
            Evict::Where(says_so) => self.remove(shard, None, says_so),
        };
        (0..SHARDS).map(of_shard).sum()
    }

    /// Update `now` is made: rows go that are not kept any longer, of the shards whose turn it is. Returns how many.
    pub fn sweep(&self, now: u32) -> u64 {
        self.clock.fetch_max(now, Ordering::Relaxed);
        let retention = &self.spec.retention;
        let _batch = self.fence.read();
        let of_shard = |shard: usize| {
            let old = retention.unseen.and_then(|n| now.checked_sub(n)).map(|old| old.saturating_add(1));
            self.remove(shard, old, &|_, header, _, _| retention.lets_go(shard, header, now))
        };
        retention.shards(now).map(of_shard).sum()
    }

    /// Rows that were evicted so far, and were not brought back.
    pub fn evicted(&self) -> u64 {
        self.evicted.load(Ordering::Relaxed)
    }

    /// The number of the latest update, which is where a table that was loaded goes on.
    pub fn set_clock(&self, now: u32) {
        self.clock.fetch_max(now, Ordering::Relaxed);
    }

    /// Rows were shown and clicked in update `now`, before which this is called: `shown` says how often, by position in `ids`, none of
    /// which is repeated. Absent rows as in [`HashedTable::put`]. Nothing happens if rows do not count.
    pub fn count_shows(&self, ids: &[i64], now: u32, shown: impl Fn(usize) -> Shown) -> Result<()> {
        if self.spec.retention.score.is_none() {
            return Ok(());
        }
        let _batch = self.fence.read();
        self.grouped(ids, |batch| {
            self.make_room(batch)?;
            self.visit(batch, 0..SHARDS, Absent::Make, |shard, e, slot| {
                let Some(slot) = slot else { return };
                let header = self.header(shard.row(slot));
                let count = self.spec.retention.count(shard_of(e.id), header, now, shown(e.at as usize));
                self.set_shown(shard.touch(e.id, slot), count);
            })
        })?;
        Ok(())
    }

    /// Takes rows of a shard away, and forgets ids without a row that were not seen since a step. The caller holds `fence`.
    fn remove(&self, shard: usize, waiting_since: Option<u32>, gone: &Gone<'_>) -> u64 {
        let mut shard = self.enter(shard);
        let removed = shard.remove(|row| {
            let mut goes = false;
            self.show(row, &mut |id, header, weights, state| goes = gone(id, header, weights, state));
            goes
        });
        if let Some(since) = waiting_since {
            shard.forget_waiting(since);
        }
        self.rows.fetch_sub(removed, Ordering::Relaxed);
        self.evicted.fetch_add(removed, Ordering::Relaxed);
        removed
    }
}
