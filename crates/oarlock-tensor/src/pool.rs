//! The compute threads of a process.

use std::sync::OnceLock;

/// A pool of compute threads, started when the first parallel kernel runs. A pool of one thread runs everything inline.
///
/// Kernels split their work by shape alone, never by the number of threads, so results do not depend on it.
#[derive(Debug)]
pub struct Pool {
    threads: usize,
    started: OnceLock<Option<(u32, rayon::ThreadPool)>>,
}

impl Pool {
    /// A pool of so many threads, at least one.
    pub fn new(threads: usize) -> Pool {
        Pool { threads: threads.max(1), started: OnceLock::new() }
    }

    /// How many threads work at once.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Runs `task` for every index below `tasks`, on any thread, and returns when all are done.
    pub fn run(&self, tasks: usize, task: impl Fn(usize) + Sync) {
        match self.pool() {
            Some(pool) if tasks > 1 => pool.in_place_scope(|s| {
                let task = &task;
                for i in 1..tasks {
                    s.spawn(move |_| task(i));
                }
                task(0);
            }),
            _ => (0..tasks).for_each(task),
        }
    }

    /// Runs `task` on pieces of `data` of `piece` elements each (the last may be shorter), giving it the piece's index.
    pub fn pieces<T: Send>(&self, data: &mut [T], piece: usize, task: impl Fn(usize, &mut [T]) + Sync) {
        let pool = self.pool();
        match pool {
            Some(pool) if data.len() > piece => pool.in_place_scope(|s| {
                let task = &task;
                for (i, part) in data.chunks_mut(piece.max(1)).enumerate() {
                    s.spawn(move |_| task(i, part));
                }
            }),
            _ => data.chunks_mut(piece.max(1)).enumerate().for_each(|(i, part)| task(i, part)),
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
    use std::sync::atomic::{AtomicUsize, Ordering};
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
