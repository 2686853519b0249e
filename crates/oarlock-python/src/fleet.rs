//! Fleet for Python: values in, values out; `oarlock::fleet` decides.

use std::collections::BTreeMap;

use oarlock::fleet::{self, Exchange, Extra, Fold, Place, Role, Strategy, Switches, WorkerGroup};
use oarlock::ps::client::{self, Client};
use oarlock::ps::communicator::Communicator;
use oarlock::transpile::CollectiveMode;
use parking_lot::Mutex;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::error::IntoPy;
use crate::program::Program;
use crate::runtime::Runtime;
use crate::scope::Scope;
use crate::tensor::{LoDTensor, tensor_of};
use crate::transpiler::{Transpiler, config_of};

/// Adds the functions to the module.
pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<TrainerGroup>()?;
    m.add_function(wrap_pyfunction!(find_place, m)?)?;
    m.add_function(wrap_pyfunction!(check_place, m)?)?;
    m.add_function(wrap_pyfunction!(strategy_of, m)?)?;
    m.add_function(wrap_pyfunction!(strategy_config, m)?)?;
    m.add_function(wrap_pyfunction!(start_communicator, m)?)?;
    m.add_function(wrap_pyfunction!(stop_communicator, m)?)?;
    m.add_function(wrap_pyfunction!(has_communicator, m)?)?;
    m.add_function(wrap_pyfunction!(find_fleet_place, m)?)?;
    m.add_function(wrap_pyfunction!(fleet_plan, m)?)?;
    m.add_function(wrap_pyfunction!(check_started, m)?)?;
    m.add_function(wrap_pyfunction!(worker_collective, m)?)?;
    m.add_function(wrap_pyfunction!(crate::transpiler::has_checkpoint, m)?)?;
    m.add_function(wrap_pyfunction!(crate::transpiler::clear_checkpoints, m)?)?;
    m.add_function(wrap_pyfunction!(area_under_curve, m)?)?;
    m.add_function(wrap_pyfunction!(split_files, m)?)
}

/// A process among others: is it a server, its number, the number of workers, the servers.
type PlaceRow = (bool, usize, usize, Vec<String>);

/// Who this process is: `how` is `cloud` (variables of the launcher), `mpi`, or empty for either.
#[pyfunction]
fn find_place(how: &str, vars: BTreeMap<String, String>) -> PyResult<PlaceRow> {
    let place = match how {
        "cloud" => Place::from_cloud(&vars),
        "mpi" => Place::from_mpi(&vars),
        _ => Place::found(&vars),
    };
    let place = place.py()?;
    Ok((place.role == Role::Server, place.index, place.workers, place.servers))
}

/// Are the numbers that a script gives possible?
#[pyfunction]
fn check_place(is_server: bool, index: usize, workers: usize, servers: Vec<String>) -> PyResult<()> {
    let role = if is_server { Role::Server } else { Role::Worker };
    Place { role, index, workers, servers, worker_endpoints: Vec::new() }.check().py()
}

/// The strategy that a config alone means.
#[pyfunction]
fn strategy_of(config: &Bound<'_, PyDict>) -> PyResult<&'static str> {
    Ok(Strategy::of(&config_of(config)?).name())
}

fn strategy(name: &str) -> PyResult<Strategy> {
    Strategy::parse(name).ok_or_else(|| PyValueError::new_err(format!("there is no strategy {name:?}")))
}

/// Sets what a strategy means in the fields of a `DistributeTranspilerConfig`.
#[pyfunction]
fn strategy_config(name: &str, config: &Bound<'_, PyDict>) -> PyResult<()> {
    let means = strategy(name)?.config(config_of(config)?);
    config.set_item("sync_mode", means.sync_mode)?;
    config.set_item("runtime_split_send_recv", means.runtime_split_send_recv)?;
    config.set_item("half_async", means.half_async)?;
    config.set_item("completely_not_async", means.completely_not_async)?;
    config.set_item("geo_sgd_mode", means.geo_sgd_mode)
}

/// Starts the communicator of a worker, with knobs by their names.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "values are passed on one by one")]
fn start_communicator(
    py: Python<'_>,
    runtime: &Runtime,
    name: &str,
    transpiler: &Transpiler,
    program: &Program,
    scope: &Scope,
    knobs: BTreeMap<String, String>,
    cpu_num: usize,
) -> PyResult<()> {
    let options = fleet::communicator_options(strategy(name)?, &transpiler.inner, &knobs, cpu_num).py()?;
    let program = program.get();
    runtime.compute(py, || fleet::start_communicator(&runtime.inner, &program, &scope.inner, options).map(drop))
}

/// Sends what waits and stops the communicator, if there is one.
#[pyfunction]
fn stop_communicator(py: Python<'_>, runtime: &Runtime) -> PyResult<()> {
    runtime.compute(py, || fleet::stop_communicator(&runtime.inner))
}

/// Does a communicator exchange for this process?
#[pyfunction]
fn has_communicator(runtime: &Runtime) -> bool {
    Communicator::of(&runtime.inner).is_some_and(|communicator| communicator.is_running())
}

/// The files of a worker.
#[pyfunction]
fn split_files(files: Vec<String>, index: usize, workers: usize) -> Vec<String> {
    fleet::split_files(&files, index, workers)
}

/// Who this process is for Fleet 2.0: as [`find_place`], with the endpoints of the workers.
#[pyfunction]
fn find_fleet_place(vars: BTreeMap<String, String>, is_collective: bool) -> PyResult<(PlaceRow, Vec<String>)> {
    let place = Place::from_launcher(&vars, is_collective).py()?;
    Ok(((place.role == Role::Server, place.index, place.workers, place.servers), place.worker_endpoints))
}

/// How to train: who exchanges (`local`, a strategy, or a collective mode), after how many steps, what the optimizer becomes,
/// and what goes around it.
type PlanRow = (&'static str, usize, Option<&'static str>, Vec<&'static str>);

/// Returns the plan that follows from the fields of a strategy.
#[pyfunction]
fn fleet_plan(
    a_sync: bool,
    k_steps: i64,
    extras: Vec<String>,
    servers: usize,
    workers: usize,
    rule: String,
) -> PyResult<PlanRow> {
    let extra = |name: &String| Extra::parse(name).ok_or_else(|| PyValueError::new_err(format!("no switch {name:?}")));
    let extras = extras.iter().map(extra).collect::<PyResult<_>>()?;
    let plan = fleet::plan(&Switches { a_sync, k_steps, extras, servers, workers, rule }).py()?;
    let (exchange, steps) = match plan.exchange {
        Exchange::Local => ("local", 0),
        Exchange::Servers(strategy, steps) => (strategy.name(), steps),
        Exchange::Workers(CollectiveMode::LocalSgd) => ("local_sgd", 0),
        Exchange::Workers(_) => ("grad_allreduce", 0),
    };
    Ok((exchange, steps, plan.becomes.map(Extra::name), plan.around.iter().map(|e| e.name()).collect()))
}

/// Raises if the startup program has not run.
#[pyfunction]
fn check_started(startup: &Program, scope: &Scope) -> PyResult<()> {
    fleet::check_started(&startup.get(), &scope.inner).py()
}

/// A collective of workers on an array: `how` is `gather`, `barrier`, `sum`, `max` or `min`. Gathered arrays are those of all workers,
/// otherwise there is one.
#[pyfunction]
fn worker_collective(
    py: Python<'_>,
    runtime: &Runtime,
    worker: usize,
    workers: usize,
    servers: Vec<String>,
    how: &str,
    value: &Bound<'_, PyAny>,
) -> PyResult<Vec<LoDTensor>> {
    let group = WorkerGroup { worker, workers, servers };
    let value = tensor_of(value, None)?;
    let results = runtime.compute(py, || match how {
        "gather" => group.all_gather(&runtime.inner, &value),
        "barrier" => group.barrier(&runtime.inner).map(|()| Vec::new()),
        fold => Ok(vec![group.all_reduce(&runtime.inner, &value, Fold::parse(fold)?)?]),
    })?;
    Ok(results.into_iter().map(LoDTensor::own).collect())
}

/// The area under the ROC curve, from counts.
#[pyfunction]
fn area_under_curve(positive: Vec<f64>, negative: Vec<f64>) -> f64 {
    oarlock::metrics::area_under_curve(&positive, &negative)
}

/// The workers of a job, which exchange values at the servers.
#[pyclass(frozen)]
pub(crate) struct TrainerGroup {
    pub(crate) inner: Mutex<client::TrainerGroup>,
    pub(crate) runtime: Py<Runtime>,
}

#[pymethods]
impl TrainerGroup {
    /// Worker `index` of `workers`.
    #[new]
    fn new(
        py: Python<'_>,
        runtime: Py<Runtime>,
        servers: Vec<String>,
        index: usize,
        workers: usize,
    ) -> PyResult<TrainerGroup> {
        let client = Client::of(&runtime.borrow(py).inner);
        let inner = client::TrainerGroup::new(client, servers, index, workers).py()?;
        Ok(TrainerGroup { inner: Mutex::new(inner), runtime })
    }

    /// The bytes of all workers, in their order, once all have given theirs.
    fn gather<'py>(&self, py: Python<'py>, mine: &[u8]) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let all = self.runtime.borrow(py).compute(py, || self.inner.lock().all_gather(mine))?;
        Ok(all.iter().map(|bytes| PyBytes::new(py, bytes)).collect())
    }
}
