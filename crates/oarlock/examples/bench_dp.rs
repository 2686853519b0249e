//! Data parallel training on one machine: replicas on threads against one thread, of a perceptron and of LeNet. Two runs that have
//! nothing to do with each other, each on half a batch, show what the machine has to give.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a benchmark prints and looks at the clock")]

#[path = "bench/mod.rs"]
mod bench;

use bench::{Rates, peak_mb};
use oarlock::prelude::*;
use oarlock::replicas::{Feeds, Replicas};

/// How much faster two threads must be than one.
const GOAL: f64 = 1.8;
const WINDOWS: usize = 9;

fn main() -> Result<()> {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    if cores < 2 {
        println!("skipped: two threads need two cores, but there is one");
        return Ok(());
    }
    compare("perceptron 273-400-400-400-2, batch 2000", 2000, 4, perceptron)?;
    compare("LeNet with batch norm, batch 256", 256, 6, lenet)?;
    println!("  peak {:.0} MB", peak_mb());
    Ok(())
}

/// A model and a batch for it.
type Build = fn(&mut Net, usize) -> Result<(VarRef, Vec<(&'static str, Tensor)>)>;

/// Trains a model on one thread and on two in turn, so that whatever else the machine does meets both.
fn compare(what: &str, batch: usize, steps: usize, build: Build) -> Result<()> {
    let (one, two) = (Job::new(build, batch, 1)?, Job::new(build, batch, 2)?);
    let halves = [Job::new(build, batch / 2, 1)?, Job::new(build, batch / 2, 1)?];
    let [mut alone, mut together, mut apart] = [const { Vec::new() }; 3].map(Rates::of);
    for _ in 0..WINDOWS {
        alone = alone.join(one.measure(batch, steps)?);
        together = together.join(two.measure(batch, steps)?);
        apart = apart.join(at_once(&halves, batch / 2, steps)?);
    }
    println!("{what} (samples/s)");
    println!("  {:<12} {}", "1 thread", alone.show());
    println!("  {:<12} {}", "2 threads", together.show());
    println!("  {:<12} {}", "2 runs apart", apart.show());
    // Of windows that followed each other, and so met the same machine.
    let times = |of: &Rates| Rates::of(alone.all().iter().zip(of.all()).map(|(a, b)| b / a).collect()).median();
    println!("  {:.2}x (goal {GOAL}x; runs apart {:.2}x)", times(&together), times(&apart));
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
    fn new(build: Build, batch: usize, threads: usize) -> Result<Job> {
        let mut net = Net::new();
        net.seed(1);
        let (loss, batch) = build(&mut net, batch)?;
        optimizer::adam(0.001).minimize(&mut net, &loss)?;
        let exe = Options { threads, check_nan_inf: false }.executor();
        let scope = Scope::new();
        exe.run(&net.startup, &[], &[], &scope)?;
        Ok(Job { net, exe, scope, loss, batch, threads })
    }

    fn measure(&self, samples: usize, steps: usize) -> Result<Rates> {
        let feed: Vec<(&str, &Tensor)> = self.batch.iter().map(|(n, t)| (*n, t)).collect();
        let step = || match self.threads {
            1 => self.exe.run(&self.net.main, &feed, &[self.loss.name()], &self.scope).map(drop),
            n => {
                let how = Replicas::new(n);
                self.exe
                    .run_replicas(&self.net.main, &how, Feeds::Split(&feed), &[self.loss.name()], &self.scope)
                    .map(drop)
            }
        };
        step()?;
        let mut failed = Ok(());
        let rates = Rates::measure(1, samples * steps, || {
            (0..steps).for_each(|_| failed = failed.clone().and(step()));
        });
        failed.map(|()| rates)
    }
}

fn perceptron(net: &mut Net, batch: usize) -> Result<(VarRef, Vec<(&'static str, Tensor)>)> {
    let x = net.data("x", Data::shape([273]))?;
    let label = net.data("label", Data::shape([1]).dtype(DType::I64))?;
    let mut hidden = x;
    for _ in 0..3 {
        hidden = net.fc(&hidden, Fc::size(400).act("relu"))?;
    }
    let loss = classified(net, &hidden, 2, &label)?;
    Ok((loss, vec![("x", pixels(&[batch, 273])), ("label", labels(batch, 2))]))
}

fn lenet(net: &mut Net, batch: usize) -> Result<(VarRef, Vec<(&'static str, Tensor)>)> {
    let img = net.data("img", Data::shape([1, 28, 28]))?;
    let label = net.data("label", Data::shape([1]).dtype(DType::I64))?;
    let c = net.conv2d(&img, Conv::new(6, 5).padding(2).bias_attr(false))?;
    let c = net.batch_norm(&c, BatchNorm::new().act("relu"))?;
    let c = net.pool2d(&c, Pool::size(2).pool_stride(2))?;
    let c = net.conv2d(&c, Conv::new(16, 5))?;
    let c = net.batch_norm(&c, BatchNorm::new().act("relu"))?;
    let c = net.pool2d(&c, Pool::size(2).avg().pool_stride(2))?;
    let hidden = net.fc(&c, Fc::size(60).act("relu"))?;
    let loss = classified(net, &hidden, 10, &label)?;
    Ok((loss, vec![("img", pixels(&[batch, 1, 28, 28])), ("label", labels(batch, 10))]))
}

fn classified(net: &mut Net, hidden: &VarRef, classes: usize, label: &VarRef) -> Result<VarRef> {
    let logits = net.fc(hidden, Fc::size(classes))?;
    let cost = net.softmax_with_cross_entropy(&logits, label, CrossEntropy::new())?;
    net.mean(&cost)
}

fn pixels(dims: &[usize]) -> Tensor {
    let data: Vec<f32> = (0..dims.iter().product()).map(|i| (i * 7919 % 1000) as f32 / 1000.0).collect();
    Tensor::from_slice(oarlock::tensor::Dims::new(dims), &data).expect("as many pixels")
}

fn labels(batch: usize, classes: usize) -> Tensor {
    let data: Vec<i64> = (0..batch as i64).map(|i| i % classes as i64).collect();
    Tensor::from_slice([batch, 1], &data).expect("as many labels")
}
