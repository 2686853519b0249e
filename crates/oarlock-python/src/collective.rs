//! Collective workers for Python: their ranks, the values they exchange, and the steps of a rank without data.

use std::collections::BTreeMap;

use oarlock::collective::{Group, Groups};
use oarlock::eager::{all_reduce_tensors, broadcast_tensors};
use oarlock::{Error, Kind, fleet};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::eager::{self, VarBase};
use crate::error::IntoPy;
use crate::runtime::Runtime;

/// Adds the functions to the module.
pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(collective_rank, m)?)?;
    m.add_class::<RankGroup>()
}

/// The rank of this process, and the endpoints of all ranks.
#[pyfunction]
fn collective_rank(vars: BTreeMap<String, String>) -> PyResult<(usize, Vec<String>)> {
    fleet::collective_rank(&vars).py()
}

/// The ranks of a job, seen from one of them.
#[pyclass(frozen)]
pub(crate) struct RankGroup {
    runtime: Py<Runtime>,
}

#[pymethods]
impl RankGroup {
    /// Joins them, unless this process has already.
    #[new]
    fn new(py: Python<'_>, runtime: Py<Runtime>, rank: usize, endpoints: Vec<String>) -> PyResult<RankGroup> {
        let inner = runtime.get().inner.clone();
        runtime.get().compute(py, || Groups::of(&inner).join_early(&inner, rank, endpoints))?;
        Ok(RankGroup { runtime })
    }

    /// The bytes of all workers, in their order, once all have given theirs.
    fn gather<'py>(&self, py: Python<'py>, mine: &[u8]) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let all = self.with(py, |group| group.gather(mine))?;
        Ok(all.iter().map(|bytes| PyBytes::new(py, bytes)).collect())
    }

    /// Numbers of all workers, added up.
    fn sum(&self, py: Python<'_>, mut numbers: Vec<f64>) -> PyResult<Vec<f64>> {
        self.with(py, |group| group.all_reduce(&mut numbers, oarlock::collective::Reduce::Sum))?;
        Ok(numbers)
    }

    /// Replaces eager tensors by their sums over all workers.
    fn sum_tensors(&self, py: Python<'_>, tensors: Vec<VarBase>) -> PyResult<()> {
        let (engine, tensors) = (eager::engine()?, eager::tensors(&tensors));
        self.with(py, |group| all_reduce_tensors(engine, group, &tensors))
    }

    /// Gives eager tensors the values they have at one worker.
    fn broadcast_tensors(&self, py: Python<'_>, tensors: Vec<VarBase>, root: usize) -> PyResult<()> {
        let (engine, tensors) = (eager::engine()?, eager::tensors(&tensors));
        self.with(py, |group| broadcast_tensors(engine, group, &tensors, root))
    }

    /// How values travel, for people.
    fn route(&self, py: Python<'_>) -> PyResult<&'static str> {
        self.with(py, |group| Ok(group.route()))
    }
}

impl RankGroup {
    pub(crate) fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Group) -> oarlock::Result<T> + Send,
    ) -> PyResult<T> {
        let runtime = self.runtime.get();
        let left = || Error::new(Kind::Argument, "this process has left the other workers");
        runtime.compute(py, || Groups::of(&runtime.inner).with_group(work)?.ok_or_else(left))
    }
}
