//! The work of one Hogwild thread: take a batch, run the program on it, report the values that were asked for.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread::Thread;

use oarlock_exec::{HogwildThread, Scope};
use oarlock_io::data::{Batch, BatchSource};
use oarlock_ir::{Program, Result};
use oarlock_tensor::{Tensor, Value};

use super::batches::Batches;
use super::{Counts, TrainOptions, loss_of};
use crate::Executor;

/// An event that a thread reports to the thread that watches.
pub(crate) enum Event {
    /// Fetched values to print, and after which batch they were.
    Print { batch: u64, values: Vec<Value> },
    /// Values to show beside the bar.
    Status(Vec<Value>),
    /// Values for the handler.
    Handed(Vec<Value>),
}

/// The fetched variables, and when: first those that are printed, then those of a handler, then the loss for the bar.
pub(crate) struct Wants {
    pub(crate) names: Vec<String>,
    printed: usize,
    handed: usize,
    print_period: u64,
    /// Is there a bar to show values beside?
    status: bool,
    loss: Option<String>,
    /// Is the handler due?
    due: AtomicBool,
}

/// The number of batches between two updates of the values on a bar.
const STATUS_PERIOD: u64 = 20;

impl Wants {
    pub(crate) fn new(program: &Program, options: &TrainOptions, bar: bool) -> Wants {
        let mut names: Vec<String> = options.fetches.iter().map(|(name, _)| name.clone()).collect();
        let printed = names.len();
        names.extend(options.handler.iter().flat_map(|h| h.names.clone()));
        let handed = names.len() - printed;
        // Without fetches the bar shows the loss.
        let loss = loss_of(program).filter(|_| bar && printed == 0).map(str::to_string);
        names.extend(loss.clone());
        Wants {
            names,
            printed,
            handed,
            print_period: options.print_period.max(1) as u64,
            status: bar,
            loss,
            due: AtomicBool::new(false),
        }
    }

    /// The handler wants the values of the next batch.
    pub(crate) fn ask(&self) {
        self.due.store(true, Ordering::Relaxed);
    }

    /// The names of the values of [`Event::Status`].
    pub(crate) fn status_labels<'a>(&'a self, options: &'a TrainOptions) -> Vec<&'a str> {
        let fetched = options.fetches.iter().map(|(_, label)| label.as_str());
        fetched.chain(self.loss.iter().map(|_| "loss")).collect()
    }

    /// Splits what was fetched into events. All of it was fetched for one of them.
    fn events(&self, batch: u64, handed: bool, mut values: Vec<Value>, send: impl Fn(Event)) {
        let tail = values.split_off(self.printed + self.handed);
        let handler = values.split_off(self.printed);
        if handed {
            send(Event::Handed(handler));
        }
        if self.status {
            let copies = values.iter().chain(&tail).filter_map(|v| v.try_clone().ok());
            send(Event::Status(copies.collect()));
        }
        if self.printed > 0 && batch.is_multiple_of(self.print_period) {
            send(Event::Print { batch, values });
        }
    }
}

/// The state that the threads of a pass share.
pub(crate) struct Job<'a> {
    /// Which tensors of a batch are fed, and as what.
    pub(crate) fed: Vec<(usize, &'a str)>,
    pub(crate) exe: &'a Executor,
    pub(crate) program: &'a Program,
    pub(crate) scope: &'a Scope,
    pub(crate) wants: &'a Wants,
    pub(crate) events: Sender<Event>,
    /// Ends the pass: no thread takes another batch.
    pub(crate) stop: &'a AtomicBool,
    pub(crate) watcher: Thread,
    /// Whose batches are counted and shown.
    pub(crate) speaker: OnceLock<usize>,
    pub(crate) counts: Counts,
}

/// Wakes the thread that watches when a Hogwild thread ends, even if it panics.
struct Wake<'a>(&'a Thread);

impl Drop for Wake<'_> {
    fn drop(&mut self) {
        self.0.unpark();
    }
}

impl Job<'_> {
    /// Works until there are no more batches. A thread that fails stops the others.
    pub(crate) fn run(&self, index: usize, thread: HogwildThread, source: Box<dyn BatchSource>) -> Result<()> {
        let _wake = Wake(&self.watcher);
        let done = self.work(index, thread, source);
        if done.is_err() {
            self.stop.store(true, Ordering::Relaxed);
        }
        done
    }

    /// One thread reports for all: the one that got the first batch.
    fn speaks(&self, index: usize) -> bool {
        *self.speaker.get_or_init(|| index) == index
    }

    fn work(&self, index: usize, mut thread: HogwildThread, source: Box<dyn BatchSource>) -> Result<()> {
        let batches = Batches::new(source, &self.fed, self.exe.runtime());
        let mut batch = Batch::new();
        let mut count = 0;
        while !self.stop.load(Ordering::Relaxed) && batches.next(&mut batch)? {
            let feeds: Vec<(&str, &Tensor)> =
                self.fed.iter().map(|(at, name)| (*name, &batch.tensors()[*at])).collect();
            let speaks = self.speaks(index);
            let handed = speaks && self.wants.due.swap(false, Ordering::Relaxed);
            let print = self.wants.printed > 0 && count % self.wants.print_period == 0;
            let status = self.wants.status && count % STATUS_PERIOD == 0;
            if speaks && (handed || print || status) {
                let mut values = Vec::new();
                self.exe.step(self.program, self.scope, || thread.run(&feeds, Some(&mut values)))?;
                // If the receiver is gone, the pass has ended.
                self.wants.events(count, handed, values, |event| drop(self.events.send(event)));
                self.watcher.unpark();
            } else {
                self.exe.step(self.program, self.scope, || thread.run(&feeds, None))?;
            }
            count += 1;
            self.counts.samples.fetch_add(batch.rows() as u64, Ordering::Relaxed);
            self.counts.batches.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }
}
