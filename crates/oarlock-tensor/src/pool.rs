//! The compute threads of a process.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// A pool of compute threads, started when the first parallel kernel runs. A pool of one thread runs everything inline.
///
/// Kernels split their work by shape alone, never by the number of threads, so results do not depend on it.
#[derive(Debug)]
pub struct Pool {
    threads: usize,
    started: OnceLock<Option<(u32, rayon::ThreadPool)>>,
}

impl Pool {
    /// A pool of `threads` threads, at least one.
    pub fn new(threads: usize) -> Pool {
        Pool { threads: threads.max(1), started: OnceLock::new() }
    }

    /// How many threads work at once.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Runs `task` for every index below `tasks`, on any thread, and returns when all are done.
    pub fn run(&self, tasks: usize, task: impl Fn(usize) + Sync) {
        let next = AtomicUsize::new(0);
        self.together(tasks, || {
            let i = next.fetch_add(1, Ordering::Relaxed);
            (i < tasks).then(|| task(i)).is_some()
        });
    }

    /// Runs `task` on pieces of `data` of `piece` elements each (the last may be shorter), giving it the piece's index.
    pub fn pieces<T: Send>(&self, data: &mut [T], piece: usize, task: impl Fn(usize, &mut [T]) + Sync) {
        let piece = piece.max(1);
        let tasks = data.len().div_ceil(piece);
        self.each(tasks, data.chunks_mut(piece).enumerate(), |(i, part)| task(i, part));
    }

    /// Runs `task` on everything an iterator yields, which is about `tasks` items.
    pub fn each<W: Send>(&self, tasks: usize, items: impl Iterator<Item = W> + Send, task: impl Fn(W) + Sync) {
        if self.threads == 1 {
            return items.for_each(task);
        }
        let items = Mutex::new(items);
        // The lock is held while an item is taken, not while it is worked on, so no panic can poison it.
        let take = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
        self.together(tasks, || take().map(&task).is_some());
    }

    /// Runs `task` on every item at the same time, each on a thread of its own, so that they may wait for each other. False, and
    /// nothing is run, if there are more items than threads or the system refuses threads.
    pub fn at_once<W: Send>(&self, items: &mut [W], task: impl Fn(usize, &mut W) + Sync) -> bool {
        let task = &task;
        match items {
            [] => true,
            [only] => {
                task(0, only);
                true
            }
            [first, others @ ..] if others.len() < self.threads => {
                let Some(pool) = self.pool() else { return false };
                pool.in_place_scope(|s| {
                    others.iter_mut().enumerate().for_each(|(i, item)| s.spawn(move |_| task(i + 1, item)));
                    task(0, first);
                });
                true
            }
            _ => false,
        }
    }

    /// Lets all threads, the calling one included, take work until `take_one` finds no more. Threads that come late
    /// find less, so unequal pieces and busy cores even out.
    fn together(&self, tasks: usize, take_one: impl Fn() -> bool + Sync) {
        let work = || while take_one() {};
        // Asking for the pool costs a system call: not for a single task.
        match if tasks > 1 { self.pool() } else { None } {
            Some(pool) => pool.in_place_scope(|s| {
                (1..self.threads.min(tasks)).for_each(|_| s.spawn(|_| work()));
                work();
            }),
            None => work(),
        }
    }

    fn pool(&self) -> Option<&rayon::ThreadPool> {
        if self.threads == 1 {
            return None;
        }
        let started = self.started.get_or_init(|| {
            // The calling thread works too, so one thread fewer is started. If the system refuses threads, all runs inline.
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(self.threads - 1)
                .thread_name(|i| format!("oarlock-compute-{i}"))
                .build();
            pool.ok().map(|p| (std::process::id(), p))
        });
        // Threads do not survive a fork: a child that inherited this pool works inline.
        started.as_ref().filter(|(pid, _)| *pid == std::process::id()).map(|(_, p)| p)
    }
}

#[test]
fn every_task_runs_once() {
    for threads in [1, 2, 3] {
        let pool = Pool::new(threads);
        let count = AtomicUsize::new(0);
        pool.run(100, |_| {
            count.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(count.into_inner(), 100);
        let mut data = vec![0; 10];
        pool.pieces(&mut data, 3, |i, part| part.fill(i));
        assert_eq!(data, [0, 0, 0, 1, 1, 1, 2, 2, 2, 3]);
    }
}

#[test]
fn tasks_that_run_at_once_can_wait_for_each_other() {
    let pool = Pool::new(3);
    let barrier = std::sync::Barrier::new(3);
    let mut items = [0; 3];
    assert!(pool.at_once(&mut items, |i, item| {
        barrier.wait();
        *item = i + 1;
    }));
    assert_eq!(items, [1, 2, 3]);
    assert!(!pool.at_once(&mut [0; 4], |_, _| unreachable!("there are fewer threads")));
}
