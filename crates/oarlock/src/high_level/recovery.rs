//! Going on where a run was interrupted.
//!
//! Everything that a run needs for that is here: its variables, how far it was in its data, and where its random numbers stand.
//! Nothing here knows how batches are made; who makes them passes over those that are done.

use std::collections::BTreeMap;

use crate::Executor;
use oarlock_exec::Scope;
use oarlock_io::{Checkpoints, Position, open_store};
use oarlock_ir::{Error, Kind, Program, Result};
use tracing::{info, warn};

/// The note of a checkpoint that tells where the sequence of seeds stands.
const SEEDS: &str = "seeds";

/// Where and when to save checkpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointConfig {
    /// The folder of the checkpoints: a path, or a URL such as `s3://bucket/run`.
    pub dir: String,
    /// How many to keep; the oldest are deleted once a newer one is complete.
    pub max_num: usize,
    /// The number of epochs from one save to the next; the first epoch is saved.
    pub epoch_interval: u64,
    /// The number of steps between saves in those epochs; the first step is saved.
    pub step_interval: u64,
}

impl CheckpointConfig {
    /// Three checkpoints in a folder, every tenth step of every epoch.
    pub fn new(dir: impl Into<String>) -> CheckpointConfig {
        CheckpointConfig { dir: dir.into(), max_num: 3, epoch_interval: 1, step_interval: 10 }
    }

    fn check(&self) -> Result<()> {
        let fields = [
            ("max_num", self.max_num as u64),
            ("epoch_interval", self.epoch_interval),
            ("step_interval", self.step_interval),
        ];
        match fields.iter().find(|(_, value)| *value == 0) {
            Some((field, _)) => {
                Err(Error::new(Kind::Argument, format!("`{field}` of a checkpoint config must be at least 1")))
            }
            None => Ok(()),
        }
    }
}

/// The line that says where a run goes on.
pub(crate) fn resumed(number: u64, dir: &str, position: &Position) -> String {
    let Position { epoch, step, .. } = position;
    format!("resuming from checkpoint {number} in {dir}: epoch {epoch}, after {step} steps of it")
}

/// The checkpoints of one run.
pub struct Recovery {
    checkpoints: Checkpoints,
    config: CheckpointConfig,
}

impl Recovery {
    /// Looks after the checkpoints of a folder.
    pub fn new(config: CheckpointConfig) -> Result<Recovery> {
        config.check()?;
        Ok(Recovery { checkpoints: Checkpoints::new(open_store(&config.dir)?), config })
    }

    /// Restores everything to where the newest checkpoint was saved; `None` if there is none. The sequence of seeds then
    /// stands where it stood, or starts at `first_seed`. A damaged checkpoint is passed over, with a
    /// warning.
    pub fn restore(
        &self,
        program: &Program,
        scope: &Scope,
        executor: &Executor,
        first_seed: u64,
    ) -> Result<Option<Position>> {
        executor.runtime().set_seeds(Some(first_seed));
        let found = self.checkpoints.latest_intact(&mut |line| warn!("{line}"))?;
        let Some(number) = found else { return Ok(None) };
        let position = self.checkpoints.load(number, program, scope)?;
        let seeds = position.notes.get(SEEDS).and_then(|text| text.parse().ok()).ok_or_else(|| {
            let what =
                format!("checkpoint {number} in {} does not say where its random numbers stood", self.config.dir);
            Error::new(Kind::Format, what).help("it was not saved by a trainer; delete it, or choose another folder")
        })?;
        executor.runtime().set_seeds(Some(seeds));
        info!(step = position.step, "{}", resumed(number, &self.config.dir, &position));
        Ok(Some(position))
    }

    /// Is a checkpoint due after this step of this epoch? Both count from 0.
    pub fn is_due(&self, epoch: u64, step: u64) -> bool {
        epoch.is_multiple_of(self.config.epoch_interval) && step.is_multiple_of(self.config.step_interval)
    }

    /// Saves a checkpoint after a step. `notes` are handed back by [`Recovery::restore`].
    pub fn save(
        &self,
        (epoch, step): (u64, u64),
        program: &Program,
        scope: &Scope,
        executor: &Executor,
        mut notes: BTreeMap<String, String>,
    ) -> Result<()> {
        if let Some(state) = executor.runtime().seeds() {
            notes.insert(SEEDS.into(), state.to_string());
        }
        let position = Position { epoch, step: step + 1, notes };
        self.checkpoints.save(program, scope, &position, self.config.max_num)?;
        Ok(())
    }

    /// Deletes all checkpoints: the run is over, and the next one starts from the beginning.
    pub fn finish(&self) -> Result<()> {
        self.checkpoints.clear()
    }
}
