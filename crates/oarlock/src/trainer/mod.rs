//! Training straight from files: `train_from_dataset` and `infer_from_dataset`.
//!
//! A data set gives each thread a source of batches, the executor gives it a [`HogwildThread`](oarlock_exec::HogwildThread), and a thread joins
//! them; the calling thread watches and tells. Nothing here knows what the program does: whether it updates parameters or asks a
//! server for them is written in the program.

mod batches;
mod show;
mod text;
mod work;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use oarlock_exec::Scope;
use oarlock_io::data::{Dataset, Pass};
use oarlock_ir::{Error, Kind, Program, Result, Role, Runtime, clone_for_test};
use oarlock_ps::PsState;
use oarlock_ps::communicator::Communicator;
use oarlock_tensor::Value;
use oarlock_transpile::ops::is_exchange;

use crate::Executor;

use show::Display;
pub use show::Show;
use work::{Event, Job, Wants};

/// How often the calling thread looks at what the others do: Ctrl-C is noticed within this time.
const GLANCE: Duration = Duration::from_millis(50);

/// How to train on a data set.
#[derive(Debug, Clone)]
pub struct TrainOptions {
    /// Threads that train at once. One gives the same result in every run; several share the parameters as
    /// [`HogwildThread`](oarlock_exec::HogwildThread) tells, and the order of their updates is that of the moment.
    pub threads: usize,
    /// Variables to print, with what to call them.
    pub fetches: Vec<(String, String)>,
    /// The number of batches of the first thread from one print to the next; the first batch is printed.
    pub print_period: usize,
    /// Tell at the end where the time went, operator by operator.
    pub debug: bool,
    /// Variables that are handed to [`Observer::fetched`] from time to time.
    pub handler: Option<Handler>,
    /// How progress is shown.
    pub show: Show,
}

/// Variables for a handler, and how often it gets them.
#[derive(Debug, Clone)]
pub struct Handler {
    /// Names of variables.
    pub names: Vec<String>,
    /// The time from one to the next.
    pub every: Duration,
}

impl TrainOptions {
    /// With this number of threads, nothing fetched and progress shown as fits standard error.
    pub fn threads(threads: usize) -> TrainOptions {
        TrainOptions {
            threads,
            fetches: Vec::new(),
            print_period: 100,
            debug: false,
            handler: None,
            show: Show::Fitting,
        }
    }

    /// Prints a variable from time to time.
    #[must_use]
    pub fn fetch(mut self, name: &str, label: &str) -> TrainOptions {
        self.fetches.push((name.into(), label.into()));
        self
    }
}

/// Receives the events of a pass while it runs, on the thread that started it. An error ends the pass.
pub trait Observer {
    /// A line to print.
    fn line(&mut self, text: &str) -> Result<()>;

    /// The values of a [`Handler`]'s variables after some batch, in their order.
    fn fetched(&mut self, values: Vec<Value>) -> Result<()> {
        drop(values);
        Ok(())
    }
}

/// An observer that prints lines to standard output.
#[derive(Debug, Clone, Copy, Default)]
pub struct Printer;

impl Observer for Printer {
    fn line(&mut self, text: &str) -> Result<()> {
        use std::io::Write;
        let printed = writeln!(std::io::stdout(), "{text}");
        printed.map_err(|e| Error::new(Kind::Io, format!("cannot print: {e}")))
    }
}

/// The counts of a pass. `Display` prints them in a line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// Samples trained on.
    pub samples: u64,
    /// Batches they came in.
    pub batches: u64,
    /// Bad lines that were left out.
    pub skipped: u64,
    /// Threads that trained: fewer than asked for, if there were fewer files.
    pub threads: usize,
    /// How long it took.
    pub time: Duration,
}

impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seconds = self.time.as_secs_f64();
        let rate = self.samples as f64 / seconds.max(1e-9);
        write!(f, "{} samples in {seconds:.1} s, {rate:.0} samples/s", self.samples)?;
        match self.skipped {
            0 => Ok(()),
            n => write!(f, "; {n} bad lines skipped"),
        }
    }
}

/// Trains on every sample of a data set once. Set the stop flag of the executor's runtime to end it.
pub fn train_from_dataset(
    exe: &Executor,
    program: &Program,
    dataset: &dyn Dataset,
    scope: &Scope,
    options: &TrainOptions,
    observer: &mut dyn Observer,
) -> Result<Summary> {
    if options.threads == 0 {
        return Err(Error::new(Kind::Argument, "training needs at least one thread"));
    }
    let start = now();
    let stop = Arc::<AtomicBool>::default();
    let pass = dataset.begin(options.threads, stop.clone())?;
    if options.debug {
        exe.start_profile();
    }
    let done = Trainer { exe, program, dataset, scope, options, start }.run(pass, &stop, observer);
    let profile = if options.debug { exe.stop_profile() } else { None };
    let summary = done?;
    if let Some(profile) = profile {
        observer.line(&profile.to_string())?;
    }
    Ok(summary)
}

/// Runs every sample of a data set through a program and learns nothing from it: gradients, updates and learning-rate schedules
/// are left out by their role, and what behaves differently in training has `is_test` set.
pub fn infer_from_dataset(
    exe: &Executor,
    program: &Program,
    dataset: &dyn Dataset,
    scope: &Scope,
    options: &TrainOptions,
    observer: &mut dyn Observer,
) -> Result<Summary> {
    train_from_dataset(exe, &clone_for_test(program)?, dataset, scope, options, observer)
}

/// A barrier of the threads of a pass, for a program that expects one thread to wait for the other trainers; it ends with the pass.
struct ThreadBarrier<'a>(Option<&'a Runtime>);

impl<'a> ThreadBarrier<'a> {
    fn provide(runtime: &'a Runtime, program: &Program, scope: &Scope, threads: usize) -> ThreadBarrier<'a> {
        let communicator = Communicator::for_threads(runtime, program, scope, threads);
        ThreadBarrier(communicator.map(|communicator| {
            PsState::of(runtime).set_communicator(Some(Arc::new(communicator)));
            runtime
        }))
    }
}

impl Drop for ThreadBarrier<'_> {
    fn drop(&mut self) {
        if let Some(runtime) = self.0 {
            PsState::of(runtime).set_communicator(None);
        }
    }
}

/// The arguments of a pass.
struct Trainer<'a> {
    exe: &'a Executor,
    program: &'a Program,
    dataset: &'a dyn Dataset,
    scope: &'a Scope,
    options: &'a TrainOptions,
    start: Instant,
}

impl Trainer<'_> {
    fn run(&self, mut pass: Pass, stop: &AtomicBool, observer: &mut dyn Observer) -> Result<Summary> {
        let sources = std::mem::take(&mut pass.sources);
        let threads = sources.len();
        let display = Display::new(self.options.show, threads, pass.samples);
        let wants = Wants::new(self.program, self.options, display.is_bar());
        let fed = self.fed();
        let names: Vec<&str> = fed.iter().map(|(_, name)| *name).collect();
        let fetches: Vec<&str> = wants.names.iter().map(String::as_str).collect();
        self.check_threads(threads)?;
        let hogwild = self.exe.hogwild_threads(self.program, &names, &fetches, self.scope, threads)?;
        // Its threads wait for each other at the end of a step, but not for one that has no more data.
        let _barrier = ThreadBarrier::provide(self.exe.runtime(), self.program, self.scope, threads);
        let communicator = Communicator::of(self.exe.runtime());
        let communicator = communicator.as_deref();
        if let Some(communicator) = communicator {
            communicator.set_threads(threads);
        }
        let (events, heard) = mpsc::channel();
        let job = Job {
            fed,
            exe: self.exe,
            program: self.program,
            scope: self.scope,
            wants: &wants,
            events,
            stop,
            watcher: thread::current(),
            speaker: OnceLock::new(),
            counts: Counts::default(),
        };
        let watch = Watch { trainer: self, pass: &pass, counts: &job.counts, heard };
        thread::scope(|s| {
            let hands = hogwild.into_iter().zip(sources).enumerate();
            let job = &job;
            let work = |(i, (thread, source))| {
                s.spawn(move || {
                    let done = job.run(i, thread, source);
                    let gone = communicator.map_or(Ok(()), Communicator::thread_done);
                    if let Some(client) = PsState::of(job.exe.runtime()).client() {
                        client.thread_done();
                    }
                    done.and(gone)
                })
            };
            let running: Vec<_> = hands.map(work).collect();
            let told = watch.until(|| running.iter().all(|t| t.is_finished()), display, &wants, observer);
            stop.store(true, Ordering::Relaxed);
            let ends = running
                .into_iter()
                .map(|t| t.join().unwrap_or_else(|_| Err(Error::internal("a Hogwild thread panicked"))));
            first_failure(ends.collect(), told)
        })?;
        if let Some(communicator) = communicator {
            communicator.set_threads(1);
        }
        Ok(Summary {
            samples: job.counts.samples.into_inner(),
            batches: job.counts.batches.into_inner(),
            skipped: pass.progress.skipped(),
            threads,
            time: now() - self.start,
        })
    }

    /// Ranks make their exchanges in one order, which several threads would not keep.
    fn check_threads(&self, threads: usize) -> Result<()> {
        if threads == 1 || !self.program.blocks().iter().flat_map(|block| &block.ops).any(is_exchange) {
            return Ok(());
        }
        let what = format!(
            "a program that exchanges gradients with other ranks trains with one thread, but the data set has {threads}"
        );
        Err(Error::new(Kind::Argument, what).help("start more workers instead, or call set_thread(1)"))
    }

    /// Which tensors of a batch are fed, and as what. What the program does not declare, such as the label of a program that
    /// only predicts, is read over; what it misses, it names itself.
    fn fed(&self) -> Vec<(usize, &str)> {
        let used = self.dataset.slots().iter().filter(|s| s.is_used()).map(|s| s.name()).enumerate();
        used.filter(|(_, name)| self.program.global().var(name).is_some()).collect()
    }
}

/// The variable whose gradient the program starts from, by the role of the operator that computes it.
fn loss_of(program: &Program) -> Option<&str> {
    let op = program.global().ops.iter().find(|op| op.role() == Role::FORWARD.and(Role::LOSS))?;
    op.outputs.args().next().map(|n| n.as_str())
}

/// The error that ended the pass: a thread's own failure comes before the request to stop, and before an error of the observer.
fn first_failure(done: Vec<Result<()>>, told: Result<()>) -> Result<()> {
    let mut failures: Vec<Error> = done.into_iter().filter_map(Result::err).chain(told.err()).collect();
    failures.sort_by_key(|e| e.kind() == Kind::Interrupted);
    failures.into_iter().next().map_or(Ok(()), Err)
}

/// The counts of all threads so far.
#[derive(Debug, Default)]
struct Counts {
    samples: AtomicU64,
    batches: AtomicU64,
}

/// The work of the calling thread while the others train.
struct Watch<'a> {
    trainer: &'a Trainer<'a>,
    pass: &'a Pass,
    counts: &'a Counts,
    heard: mpsc::Receiver<Event>,
}

impl Watch<'_> {
    fn until(
        self,
        all_done: impl Fn() -> bool,
        mut display: Display,
        wants: &Wants,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let Trainer { exe, options, start, .. } = self.trainer;
        let mut next_handler = options.handler.as_ref().map(|h| *start + h.every);
        let mut status = String::new();
        loop {
            // Asked before events are taken, so that none is left when all are done.
            let done = all_done();
            while let Ok(event) = self.heard.try_recv() {
                match event {
                    Event::Print { batch, values } => {
                        let text = text::line(batch, &options.fetches, &values);
                        display.aside(|| observer.line(&text))?;
                    }
                    Event::Status(values) => status = text::status(wants.status_labels(options), &values),
                    Event::Handed(values) => display.aside(|| observer.fetched(values))?,
                }
            }
            let (samples, time) = (self.counts.samples.load(Ordering::Relaxed), now() - *start);
            display.update(samples, time, self.pass.progress.fraction(), &status);
            if done {
                display.finish(samples, time);
                return Ok(());
            }
            if exe.runtime().stopping() {
                return Err(Error::new(Kind::Interrupted, "training was interrupted"));
            }
            if let (Some(at), Some(handler)) = (&mut next_handler, &options.handler)
                && now() >= *at
            {
                *at += handler.every;
                wants.ask();
            }
            thread::park_timeout(GLANCE);
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "rates and periods are measured here; what is computed does not depend on them"
)]
fn now() -> Instant {
    Instant::now()
}
