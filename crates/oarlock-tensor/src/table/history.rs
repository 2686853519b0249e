//! Which rows of a shard changed lately.

/// Numbers the changes of a shard and remembers the ids of the latest ones.
pub(super) struct History {
    /// Changes so far: the log sequence number.
    lsn: u64,
    limit: usize,
    /// The id of change `n` is at `n % limit`.
    ring: Vec<i64>,
}

/// Rows that changed since some moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changed {
    /// These, ascending, each once. A row that is gone was evicted.
    Rows(Vec<i64>),
    /// More than the table remembers: any of them.
    Everything,
}

impl History {
    pub(super) fn new(limit: usize) -> History {
        History { lsn: 0, limit, ring: Vec::new() }
    }

    pub(super) fn lsn(&self) -> u64 {
        self.lsn
    }

    /// Row `id` changes.
    #[inline]
    pub(super) fn push(&mut self, id: i64) {
        if self.ring.len() < self.limit {
            self.ring.push(id);
        } else if self.limit > 0 {
            self.ring[(self.lsn % self.limit as u64) as usize] = id;
        }
        self.lsn += 1;
    }

    /// The changes after the sequence number was `lsn`.
    pub(super) fn since(&self, lsn: u64) -> Changed {
        // A number from the future is one of another life of the table.
        match self.lsn.checked_sub(lsn) {
            Some(changes) if changes <= self.ring.len() as u64 => {
                let mut ids: Vec<i64> = (lsn..self.lsn).map(|n| self.ring[(n % self.limit as u64) as usize]).collect();
                ids.sort_unstable();
                ids.dedup();
                Changed::Rows(ids)
            }
            _ => Changed::Everything,
        }
    }

    /// Bytes allocated.
    pub(super) fn bytes(&self) -> usize {
        self.ring.capacity() * size_of::<i64>()
    }
}

#[test]
fn a_ring_remembers_its_latest_changes() {
    let mut h = History::new(3);
    assert_eq!(h.since(0), Changed::Rows(vec![]));
    [5, 4, 5].into_iter().for_each(|id| h.push(id));
    assert_eq!(h.since(0), Changed::Rows(vec![4, 5]));
    h.push(9);
    assert_eq!((h.since(0), h.since(1)), (Changed::Everything, Changed::Rows(vec![4, 5, 9])));
    assert_eq!((h.since(4), h.since(5)), (Changed::Rows(vec![]), Changed::Everything));
    let mut none = History::new(0);
    none.push(1);
    assert_eq!((none.since(0), none.since(1)), (Changed::Everything, Changed::Rows(vec![])));
}
