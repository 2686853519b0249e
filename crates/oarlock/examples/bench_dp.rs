//! Data parallel training on one machine: replicas on two threads, and two processes that exchange gradients, against one thread; of
//! a perceptron and of LeNet. Two runs that have nothing to do with each other, each on half a batch, show what the machine has to
//! give.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a benchmark prints and looks at the clock")]

#[path = "bench/mod.rs"]
mod bench;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use bench::models::{Model, join, lenet, perceptron};
use bench::{Rates, peak_mb};
use oarlock::prelude::*;
use oarlock::replicas::{Feeds, Replicas};

/// How much faster two threads, and two processes, must be than one.
const GOAL: f64 = 1.8;
const GOAL_PROCESSES: f64 = 1.7;
const WINDOWS: usize = 9;

/// Tell a process which worker of which job it is: rank, endpoints, model.
const WORKER: &str = "OARLOCK_BENCH_WORKER";

fn main() -> Result<()> {
    if let Ok(worker) = std::env::var(WORKER) {
        return work(&worker);
    }
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    if cores < 2 {
        println!("skipped: two threads need two cores, but there is one");
        return Ok(());
    }
    MODELS.iter().try_for_each(compare)?;
    println!("  peak {:.0} MB", peak_mb());
    Ok(())
}

/// A model and its data.
struct Training {
    name: &'static str,
    batch: usize,
    /// Steps of a window.
    steps: usize,
    build: fn(&mut Net, usize) -> Result<Model>,
}

const MODELS: [Training; 2] = [
    Training { name: "perceptron 273-400-400-400-2", batch: 2000, steps: 4, build: perceptron },
    Training { name: "LeNet with batch norm", batch: 256, steps: 6, build: lenet },
];

/// Trains a model in every way in turn, so that other load on the machine affects all.
fn compare(training: &Training) -> Result<()> {
    let Training { name, batch, steps, build } = *training;
    let (one, two) = (Job::new(build, batch, 1)?, Job::new(build, batch, 2)?);
    let halves = [Job::new(build, batch / 2, 1)?, Job::new(build, batch / 2, 1)?];
    let mut pair = Pair::start(training)?;
    let [mut alone, mut together, mut joined, mut apart] = [const { Vec::new() }; 4].map(Rates::of);
    for _ in 0..WINDOWS {
        alone = alone.join(one.measure(batch, steps)?);
        together = together.join(two.measure(batch, steps)?);
        joined = joined.join(pair.measure(batch * steps)?);
        apart = apart.join(at_once(&halves, batch / 2, steps)?);
    }
    println!("{name}, batch {batch} (samples/s)");
    println!("  {:<12} {}", "1 thread", alone.show());
    println!("  {:<12} {}", "2 threads", together.show());
    println!("  {:<12} {}", "2 processes", joined.show());
    println!("  {:<12} {}", "2 runs apart", apart.show());
    // Of windows that followed each other, and so met the same machine.
    let times = |of: &Rates| Rates::of(alone.all().iter().zip(of.all()).map(|(a, b)| b / a).collect()).median();
    println!("  2 threads {:.2}x (goal {GOAL}x)", times(&together));
    println!("  2 processes {:.2}x (goal {GOAL_PROCESSES}x); runs apart {:.2}x", times(&joined), times(&apart));
    Ok(())
}

/// Both jobs at the same time, on a thread each: samples per second of both.
fn at_once(jobs: &[Job; 2], samples: usize, steps: usize) -> Result<Rates> {
    let rates: Vec<Result<Rates>> = std::thread::scope(|s| {
        let threads = jobs.each_ref().map(|job| s.spawn(move || job.measure(samples, steps)));
        threads.into_iter().map(|t| t.join().expect("no panic")).collect()
    });
    let rates = rates.into_iter().map(|r| r.map(|r| r.median())).sum::<Result<f64>>()?;
    Ok(Rates::of(vec![rates]))
}

/// Two processes that train together, each on half of the batch; a line of input makes each run a window of steps.
struct Pair(Vec<(Child, ChildStdin, BufReader<ChildStdout>)>);

impl Pair {
    fn start(training: &Training) -> Result<Pair> {
        let held: Vec<_> = (0..2).filter_map(|_| std::net::TcpListener::bind("127.0.0.1:0").ok()).collect();
        let endpoints: Vec<String> = held.iter().filter_map(|l| Some(l.local_addr().ok()?.to_string())).collect();
        drop(held);
        let mut pair = Pair(Vec::new());
        for rank in 0..2 {
            let mut command = Command::new(std::env::current_exe().unwrap_or_default());
            command.env(WORKER, format!("{rank} {} {}", endpoints.join(","), training.name));
            let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(broken)?;
            let (input, output) = child.stdin.take().zip(child.stdout.take()).ok_or_else(|| broken("no pipe"))?;
            pair.0.push((child, input, BufReader::new(output)));
        }
        // The first window warms up.
        pair.measure(1)?;
        Ok(pair)
    }

    fn measure(&mut self, samples: usize) -> Result<Rates> {
        let mut failed = Ok(());
        let rates = Rates::measure(1, samples, || failed = self.window());
        failed.map(|()| rates)
    }

    fn window(&mut self) -> Result<()> {
        self.0.iter_mut().try_for_each(|(_, input, _)| writeln!(input).map_err(broken))?;
        self.0.iter_mut().try_for_each(|(_, _, output)| match output.read_line(&mut String::new()).map_err(broken)? {
            0 => Err(broken("a worker ended")),
            _ => Ok(()),
        })
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        for (mut child, input, _) in self.0.drain(..) {
            // Without input it ends; one that does not is stopped by the end of the other.
            drop(input);
            let _ = child.wait();
        }
    }
}

fn broken(why: impl ToString) -> Error {
    Error::internal(why.to_string())
}

/// The work of each of the two processes.
fn work(worker: &str) -> Result<()> {
    let mut words = worker.splitn(3, ' ');
    let mut word = || words.next().unwrap_or_default();
    let (rank, endpoints, name) = (word().parse().unwrap_or(0), word().to_string(), word());
    let training = MODELS.iter().find(|training| training.name == name).ok_or_else(|| broken("no such model"))?;
    let job = Job::with(training.build, training.batch / 2, 1, |net| join(net, rank, &endpoints))?;
    for _ in std::io::stdin().lines() {
        for _ in 0..training.steps {
            job.step()?;
        }
        println!("done");
    }
    Ok(())
}

struct Job {
    net: Net,
    exe: Executor,
    scope: Scope,
    loss: VarRef,
    batch: Vec<(&'static str, Tensor)>,
    /// Replicas, and threads for what they do together.
    threads: usize,
}

impl Job {
    fn new(build: fn(&mut Net, usize) -> Result<Model>, batch: usize, threads: usize) -> Result<Job> {
        Job::with(build, batch, threads, |_| Ok(()))
    }

    /// `change` changes the programs before they run.
    fn with(
        build: fn(&mut Net, usize) -> Result<Model>,
        batch: usize,
        threads: usize,
        change: impl FnOnce(&mut Net) -> Result<()>,
    ) -> Result<Job> {
        let mut net = Net::new();
        net.seed(1);
        let (loss, batch) = build(&mut net, batch)?;
        optimizer::adam(0.001).minimize(&mut net, &loss)?;
        change(&mut net)?;
        let exe = Options { threads, check_nan_inf: false }.executor();
        let scope = Scope::new();
        exe.run(&net.startup, &[], &[], &scope)?;
        Ok(Job { net, exe, scope, loss, batch, threads })
    }

    fn step(&self) -> Result<()> {
        let feed: Vec<(&str, &Tensor)> = self.batch.iter().map(|(n, t)| (*n, t)).collect();
        let fetch: [&str; 1] = [self.loss.name()];
        match self.threads {
            1 => self.exe.run(&self.net.main, &feed, &fetch, &self.scope).map(drop),
            n => {
                let how = Replicas::new(n);
                self.exe.run_replicas(&self.net.main, &how, Feeds::Split(&feed), &fetch, &self.scope).map(drop)
            }
        }
    }

    fn measure(&self, samples: usize, steps: usize) -> Result<Rates> {
        self.step()?;
        let mut failed = Ok(());
        let rates = Rates::measure(1, samples * steps, || {
            (0..steps).for_each(|_| failed = failed.clone().and(self.step()));
        });
        failed.map(|()| rates)
    }
}
