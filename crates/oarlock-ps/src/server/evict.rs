//! Eviction of stale rows from hashed tables.

use oarlock_ir::Result;
use oarlock_net::codec::{Reader, Writer};
use parking_lot::Mutex;

use oarlock_tensor::table::{Evict, HashedTable};

use crate::request::evict::Stale;

/// The number of calls that are remembered; no row is older than these.
const REMEMBERED: usize = 4096;

/// The calls to evict rows of a table: its updates so far at each of them.
#[derive(Default)]
pub(crate) struct Calls(Mutex<Vec<u32>>);

impl Calls {
    /// Writes them to a snapshot of the server's log.
    pub(crate) fn save(&self, to: &mut Writer) {
        to.list(&self.0.lock(), |to, updates| {
            to.u32(*updates);
        });
    }

    /// Reads those that were written.
    pub(crate) fn load(&self, from: &mut Reader<'_>) -> Result<()> {
        *self.0.lock() = from.list(Reader::u32)?;
        Ok(())
    }

    /// Evicts stale rows after `updates` updates of the table; returns how many. Reading rows does not keep them.
    pub(crate) fn evict(&self, table: &HashedTable, updates: u32, stale: Stale) -> u64 {
        let mut calls = self.0.lock();
        if calls.len() == REMEMBERED {
            calls.remove(0);
        }
        calls.push(updates);
        // A row that was updated after a call is younger than it.
        let by_call = stale.calls.and_then(|n| calls.iter().rev().nth(n as usize)).map(|at| at.saturating_add(1));
        let by_step = stale.steps.and_then(|n| updates.checked_sub(n)).map(|at| at.saturating_add(1));
        let old = by_call.max(by_step);
        let by_count = stale.count.map(Evict::CountBelow);
        let by_score = stale.score.map(Evict::ScoreBelow);
        let which = [old.map(Evict::UnseenSince), by_count, by_score];
        which.into_iter().flatten().map(|which| table.evict(which)).sum()
    }
}

/// A call: which trainer's, of which process, and its number.
type Call = (u32, u64, u64);

/// The last call that was served, and the number of evicted rows.
#[derive(Default)]
pub(crate) struct LastEviction(Mutex<Option<(Call, u64)>>);

impl LastEviction {
    /// Does `work` unless this call was served already; returns the result of that time.
    pub(crate) fn once(&self, call: Call, work: impl FnOnce() -> Result<u64>) -> Result<u64> {
        let mut last = self.0.lock();
        match *last {
            Some((served, evicted)) if served == call => Ok(evicted),
            _ => {
                let evicted = work()?;
                *last = Some((call, evicted));
                Ok(evicted)
            }
        }
    }

    /// Writes it to a snapshot of the server's log.
    pub(crate) fn save(&self, to: &mut Writer) {
        let last = *self.0.lock();
        to.bool(last.is_some());
        let ((trainer, incarnation, number), evicted) = last.unwrap_or_default();
        to.u32(trainer).u64(incarnation).u64(number).u64(evicted);
    }

    /// Reads one that was written.
    pub(crate) fn load(&self, from: &mut Reader<'_>) -> Result<()> {
        let some = from.bool()?;
        let last = ((from.u32()?, from.u64()?, from.u64()?), from.u64()?);
        *self.0.lock() = some.then_some(last);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use oarlock_tensor::table::{Missing, RowInit, RowPolicy, SHARDS, Shown, Spec};

    use super::*;

    fn table() -> HashedTable {
        let (name, init) = ("t".into(), RowInit::Constant(0.0));
        let RowPolicy { admission, retention } = RowPolicy::parse("show_click_entry:show:click", "").unwrap();
        let (state, seed, max_rows, history) = (vec![], 0, None, 0);
        HashedTable::new(Spec { name, width: 1, state, init, seed, max_rows, admission, retention, history }).unwrap()
    }

    fn ids(table: &HashedTable) -> Vec<i64> {
        let mut ids = Vec::new();
        (0..SHARDS).for_each(|shard| table.for_each_row(shard, |id, _, _, _| ids.push(id)).unwrap());
        ids.sort_unstable();
        ids
    }

    fn update(table: &HashedTable, ids: &[i64], now: u32) {
        table.update(ids, now, |_, weights, _| weights[0] += 1.0).unwrap();
    }

    #[test]
    fn rows_not_updated_since_some_calls_are_evicted() {
        let (table, calls) = (table(), Calls::default());
        let one_day = Stale { calls: Some(1), ..Stale::default() };
        update(&table, &[1, 2], 1);
        assert_eq!(calls.evict(&table, 1, one_day), 0, "the first day");
        update(&table, &[2], 2);
        // Looking at a row keeps it no longer.
        table.read(&[1], &mut [0.0], Missing::Create).unwrap();
        assert_eq!(calls.evict(&table, 2, one_day), 1);
        assert_eq!(ids(&table), [2]);
        assert_eq!(calls.evict(&table, 2, one_day), 1, "nothing was updated since");
        assert!(table.is_empty());
    }

    #[test]
    fn rows_are_evicted_by_steps_count_or_score() {
        let (table, calls) = (table(), Calls::default());
        (1..=4).for_each(|now| update(&table, if now == 1 { &[1, 2] } else { &[2, 3] }, now));
        assert_eq!(calls.evict(&table, 4, Stale { steps: Some(9), ..Stale::default() }), 0);
        assert_eq!(calls.evict(&table, 4, Stale { steps: Some(3), ..Stale::default() }), 1);
        assert_eq!(ids(&table), [2, 3]);
        assert_eq!(calls.evict(&table, 4, Stale { count: Some(4), ..Stale::default() }), 1);
        assert_eq!(ids(&table), [2]);
        table.count_shows(&[2], 4, |_| Shown { show: 2.0, click: 1.0 }).unwrap();
        let low = |score| Stale { score: Some(score), ..Stale::default() };
        assert_eq!((calls.evict(&table, 4, low(1.0)), calls.evict(&table, 4, low(1.2))), (0, 1));
    }

    #[test]
    fn duplicate_eviction_is_served_once() {
        let last = LastEviction::default();
        assert_eq!(last.once((0, 1, 1), || Ok(5)).unwrap(), 5);
        assert_eq!(last.once((0, 1, 1), || panic!("a duplicate")).unwrap(), 5);
        assert_eq!(last.once((0, 1, 2), || Ok(6)).unwrap(), 6);
    }
}
