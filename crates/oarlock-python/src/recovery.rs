//! Checkpoints of a training that can go on where it was interrupted.

use std::collections::BTreeMap;

use oarlock::high_level::{CheckpointConfig, Recovery as Core};
use pyo3::prelude::*;

use crate::error::IntoPy;
use crate::executor::Executor;
use crate::program::Program;
use crate::scope::Scope;

/// Where a run goes on: epochs done, steps done of the present one, and what was noted.
type Place = (u64, u64, BTreeMap<String, String>);

/// The checkpoints of one run.
#[pyclass(frozen)]
pub(crate) struct Recovery(Core);

#[pymethods]
impl Recovery {
    /// Looks after the checkpoints of a directory.
    #[new]
    fn new(dir: &str, max_num: usize, epoch_interval: u64, step_interval: u64) -> PyResult<Recovery> {
        Core::new(CheckpointConfig { dir: dir.into(), max_num, epoch_interval, step_interval }).map(Recovery).py()
    }

    /// Restores everything to where the newest checkpoint was saved; None if there is none.
    fn restore(
        &self,
        py: Python<'_>,
        program: &Program,
        scope: &Scope,
        executor: &Executor,
        first_seed: u64,
    ) -> PyResult<Option<Place>> {
        let program = program.get();
        let found = py.detach(|| self.0.restore(&program, &scope.inner, executor.inner(), first_seed)).py()?;
        Ok(found.map(|position| (position.epoch, position.step, position.notes)))
    }

    /// Is a checkpoint due after this step of this epoch? Both count from 0.
    fn is_due(&self, epoch: u64, step: u64) -> bool {
        self.0.is_due(epoch, step)
    }

    /// Saves a checkpoint after a step.
    #[expect(clippy::too_many_arguments, reason = "what a run is made of")]
    fn save(
        &self,
        py: Python<'_>,
        epoch: u64,
        step: u64,
        program: &Program,
        scope: &Scope,
        executor: &Executor,
        notes: BTreeMap<String, String>,
    ) -> PyResult<()> {
        let program = program.get();
        py.detach(|| self.0.save((epoch, step), &program, &scope.inner, executor.inner(), notes)).py()
    }

    /// Deletes all checkpoints: the run is over.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.finish()).py()
    }
}
