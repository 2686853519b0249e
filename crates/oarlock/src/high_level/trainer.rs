//! The trainer: builds, starts, recovers, loops.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use oarlock_exec::Scope;
use oarlock_io::{InferenceModel, ModelFiles, Position, Store, load_vars, parameters, persistables, save_vars};
use oarlock_ir::{Error, Kind, Program, Result, clone_for_test};
use oarlock_tensor::{Tensor, rng};

use super::recovery::{CheckpointConfig, Recovery};
use crate::optimizer::Minimize;
use crate::{Executor, Net, Options, VarRef};

/// The feeds of one step, by name.
pub type Batch = Vec<(String, Tensor)>;

/// Events of training. Epochs and steps count from 0.
#[derive(Debug)]
pub enum Event<'a> {
    /// An epoch begins.
    BeginEpoch {
        /// Which.
        epoch: u64,
    },
    /// A step begins. Without metrics nothing is copied out of it.
    BeginStep {
        /// Which epoch.
        epoch: u64,
        /// Which step of it.
        step: u64,
        /// Set it to false to go without metrics.
        fetch_metrics: &'a mut bool,
    },
    /// A step is done.
    EndStep {
        /// Which epoch.
        epoch: u64,
        /// Which step of it.
        step: u64,
        /// The values that the building function returned: the loss first.
        metrics: &'a [Tensor],
    },
    /// An epoch is done.
    EndEpoch {
        /// Which.
        epoch: u64,
    },
}

/// How a trainer works.
pub struct TrainerSetup<'a> {
    /// Threads and checks.
    pub options: Options,
    /// Parameters and optimizer state to start from, one file per variable.
    pub params: Option<&'a dyn Store>,
    /// Where to save what a killed run goes on from.
    pub checkpoints: Option<CheckpointConfig>,
}

/// Trains a network.
pub struct Trainer {
    main: Program,
    test: Program,
    outputs: Vec<VarRef>,
    executor: Executor,
    scope: Scope,
    recovery: Option<Recovery>,
    /// Where to go on.
    resume: Option<Position>,
}

impl Trainer {
    /// Builds a network and gets ready to train it.
    ///
    /// `build` returns the loss and whatever else is to be watched; `optimizer` minimizes the loss. If there is a checkpoint,
    /// the trainer goes on from it.
    pub fn new(
        build: impl FnOnce(&mut Net) -> Result<Vec<VarRef>>,
        mut optimizer: impl Minimize,
        setup: TrainerSetup<'_>,
    ) -> Result<Trainer> {
        let mut net = Net::new();
        let outputs = build(&mut net)?;
        let Some(loss) = outputs.first() else {
            return Err(Error::new(Kind::Argument, "the building function returned no loss"));
        };
        let test = clone_for_test(&net.main)?;
        optimizer.minimize(&mut net, loss)?;
        let (executor, scope) = (setup.options.executor(), Scope::new());
        let Net { main, startup, .. } = net;
        executor.run(&startup, &[], &[], &scope)?;
        if let Some(params) = setup.params {
            load_vars(params, None, &persistables(&main), &scope)?;
        }
        let recovery = setup.checkpoints.map(Recovery::new).transpose()?;
        let seed = first_seed(&main);
        let resume = match &recovery {
            Some(recovery) => recovery.restore(&main, &scope, &executor, seed)?,
            None => None,
        };
        Ok(Trainer { main, test, outputs, executor, scope, recovery, resume })
    }

    /// The variables of the network.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// The training program.
    pub fn program(&self) -> &Program {
        &self.main
    }

    /// Trains for this number of epochs, those of an interrupted run included. `reader` makes the batches of an epoch, the same ones
    /// whenever it is asked for that epoch; `on_event` may end the training. When it is over, its checkpoints are deleted.
    pub fn train<I>(
        &mut self,
        epochs: u64,
        mut reader: impl FnMut(u64) -> I,
        mut on_event: impl FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> Result<()>
    where
        I: IntoIterator<Item = Result<Batch>>,
    {
        let start = self.resume.take().unwrap_or_default();
        for epoch in start.epoch..epochs {
            let done = if epoch == start.epoch { start.step } else { 0 };
            if self.epoch(epoch, done, reader(epoch), &mut on_event)?.is_break() {
                break;
            }
        }
        self.recovery.as_ref().map_or(Ok(()), Recovery::finish)
    }

    /// Trains one epoch after its first `done` steps.
    fn epoch(
        &self,
        epoch: u64,
        done: u64,
        batches: impl IntoIterator<Item = Result<Batch>>,
        on_event: &mut impl FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        if on_event(Event::BeginEpoch { epoch }).is_break() {
            return Ok(ControlFlow::Break(()));
        }
        for (step, batch) in (0..).zip(batches) {
            let batch = batch?;
            if step >= done && self.step((epoch, step), &batch, on_event)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(on_event(Event::EndEpoch { epoch }))
    }

    fn step(
        &self,
        (epoch, step): (u64, u64),
        batch: &Batch,
        on_event: &mut impl FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let mut fetch_metrics = true;
        if on_event(Event::BeginStep { epoch, step, fetch_metrics: &mut fetch_metrics }).is_break() {
            return Ok(ControlFlow::Break(()));
        }
        let fetches = if fetch_metrics { self.output_names() } else { Vec::new() };
        let metrics = self.executor.run_tensors(&self.main, &feeds(batch), &fetches, &self.scope)?;
        let flow = on_event(Event::EndStep { epoch, step, metrics: &metrics });
        if let Some(recovery) = self.recovery.as_ref().filter(|r| r.is_due(epoch, step)) {
            recovery.save((epoch, step), &self.main, &self.scope, &self.executor, BTreeMap::new())?;
        }
        Ok(flow)
    }

    fn output_names(&self) -> Vec<&str> {
        self.outputs.iter().map(|v| v.name().as_str()).collect()
    }

    /// The means, over batches, of what the building function returned, without training.
    pub fn test(&self, batches: impl IntoIterator<Item = Result<Batch>>) -> Result<Vec<f64>> {
        let mut sums = vec![0.0; self.outputs.len()];
        let mut count = 0usize;
        for batch in batches {
            let found = self.executor.run_tensors(&self.test, &feeds(&batch?), &self.output_names(), &self.scope)?;
            for (sum, tensor) in sums.iter_mut().zip(&found) {
                *sum += tensor.to_f64().first().copied().unwrap_or(f64::NAN);
            }
            count += 1;
        }
        Ok(sums.iter().map(|sum| sum / count as f64).collect())
    }

    /// Saves everything a later training goes on from, one file per variable.
    pub fn save_params(&self, store: &dyn Store) -> Result<()> {
        save_vars(store, None, &persistables(&self.main), &self.scope)
    }

    /// Saves the part of the network that computes some of the outputs, by their numbers, from `feeds`.
    pub fn save_inference_model(&self, store: &dyn Store, feeds: &[&str], targets: &[usize]) -> Result<()> {
        let name = |&i: &usize| {
            let what = || format!("there is no output {i}: the building function returned {}", self.outputs.len());
            let found = self.outputs.get(i).map(|v| v.name().as_str());
            found.ok_or_else(|| Error::new(Kind::Argument, what()))
        };
        let targets = targets.iter().map(name).collect::<Result<Vec<&str>>>()?;
        let model = InferenceModel::export(&self.test, feeds, &targets)?;
        model.save(store, &ModelFiles::separate(), &self.scope)
    }

    /// How many parameters it trains.
    pub fn parameter_count(&self) -> usize {
        parameters(&self.main).iter().filter_map(|v| v.shape.numel()).sum()
    }
}

fn feeds(batch: &Batch) -> Vec<(&str, &Tensor)> {
    batch.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect()
}

/// Where the sequence of seeds of a new run starts: at the program's seed if it has one, else anywhere.
fn first_seed(main: &Program) -> u64 {
    match main.random_seed {
        0 => rng::fresh_seed(),
        seed => u64::from(seed as u32),
    }
}
