//! Replicas of one run: threads that compute the same program on different samples, and add up numbers on the way.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::error::{Error, Kind, Result};

/// How long a replica waits for the others. They do the same work on as many samples, so only a stuck machine needs longer.
const PATIENCE: Duration = Duration::from_secs(300);

/// Which replica of a run a thread computes.
pub struct Replica {
    number: usize,
    sums: Arc<ReplicaSums>,
}

/// The all-reduce of the replicas of a run: sums of numbers that all of them add to.
#[derive(Default)]
pub struct ReplicaSums {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    count: usize,
    /// How many sums are complete. A fast replica may add the next numbers while others still read these, so there are two
    /// tables, used in turn; no replica can be two sums ahead.
    sums: u64,
    tables: [Vec<Vec<f64>>; 2],
    arrived: Vec<usize>,
    /// One of them failed: the others do not wait for it.
    broken: bool,
}

impl ReplicaSums {
    /// Begins a run of `count` replicas.
    pub fn begin(&self, count: usize) {
        let mut state = self.state.lock();
        state.count = count;
        state.tables.iter_mut().for_each(|table| table.resize_with(count, Vec::new));
        state.arrived.clear();
        state.broken = false;
    }

    /// Wakes all replicas that wait: one has failed.
    pub fn give_up(&self) {
        self.state.lock().broken = true;
        self.changed.notify_all();
    }
}

impl Replica {
    /// Replica `number` of those that share `sums`.
    pub fn new(number: usize, sums: Arc<ReplicaSums>) -> Replica {
        Replica { number, sums }
    }

    /// Replaces values by their sums over all replicas. Numbers are added in the order of replicas, so the order of their arrival
    /// does not matter. Waits for all.
    pub fn sum(&self, values: &mut [f64]) -> Result<()> {
        let mut state = self.sums.state.lock();
        let turn = state.sums;
        let table = (turn % 2) as usize;
        let mine = &mut state.tables[table][self.number];
        mine.clear();
        mine.extend_from_slice(values);
        state.arrived.push(self.number);
        if state.arrived.len() == state.count {
            state.arrived.clear();
            state.sums += 1;
            self.sums.changed.notify_all();
        }
        while state.sums == turn && !state.broken {
            if self.sums.changed.wait_for(&mut state, PATIENCE).timed_out() {
                return Err(late(&state));
            }
        }
        if state.sums == turn {
            return Err(Error::new(Kind::Interrupted, "another replica of this run failed"));
        }
        for (i, value) in values.iter_mut().enumerate() {
            *value = state.tables[table].iter().map(|part| part.get(i).copied().unwrap_or(0.0)).sum();
        }
        Ok(())
    }
}

#[cold]
fn late(state: &State) -> Error {
    let missing: Vec<String> = (0..state.count).filter(|r| !state.arrived.contains(r)).map(|r| r.to_string()).collect();
    let what = format!("replica {} did not reach a sum within {} s", missing.join(", "), PATIENCE.as_secs());
    Error::new(Kind::Timeout, what).help("use fewer replicas (CPU_NUM) than there are cores")
}

#[test]
fn sums_do_not_depend_on_the_order_of_arrival() {
    let sums = Arc::new(ReplicaSums::default());
    sums.begin(3);
    let add = |number: usize| {
        let replica = Replica::new(number, sums.clone());
        let mut sums = Vec::new();
        for turn in 0..50 {
            // Added in another order, the small ones would be lost.
            let mut values = [[1e16, -1e16, 1.0][number], turn as f64];
            replica.sum(&mut values).unwrap();
            sums.push(values);
        }
        sums
    };
    let all: Vec<_> = std::thread::scope(|s| {
        let threads: Vec<_> = (0..3).map(|number| s.spawn(move || add(number))).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    let expected: Vec<[f64; 2]> = (0..50).map(|turn| [1.0, 3.0 * turn as f64]).collect();
    assert!(all.iter().all(|sums| *sums == expected));
}

#[test]
fn replicas_do_not_wait_for_one_that_failed() {
    let sums = Arc::new(ReplicaSums::default());
    sums.begin(2);
    let waiting = Replica::new(0, sums.clone());
    std::thread::scope(|s| {
        let thread = s.spawn(move || waiting.sum(&mut [1.0]));
        sums.give_up();
        assert_eq!(thread.join().unwrap().unwrap_err().kind(), Kind::Interrupted);
    });
}
