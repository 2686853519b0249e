//! `DistributeTranspiler` for Python, and files of variables that servers keep.

use std::collections::BTreeMap;
use std::sync::Arc;

use oarlock::fleet::{self, JobSaves};
use oarlock::io::{self, InferenceModel, ParamFiles, Position};
use oarlock::ir::Var;
use oarlock::ps::checkpoint::JobCheckpoints;
use oarlock::ps::client::{Client, ClientOptions, Stale, wait_for_servers};
use oarlock::ps::saving::{self, Saver};
use oarlock::transpile::placement::{self, Dispatcher, SplitMethod};
use oarlock::transpile::{Arguments, CollectiveMode, Config, DistributeTranspiler, Mode, Trainers, VarLocations};
use oarlock::{Error, Kind};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::IntoPy;
use crate::files::written_model;
use crate::program::Program;
use crate::runtime::Runtime;
use crate::scope::Scope;

/// Where a worker stood: epoch, step, notes.
type Stood = (u64, u64, BTreeMap<String, String>);

/// Turns a program for one machine into those of trainers and servers.
#[pyclass]
pub(crate) struct Transpiler {
    pub(crate) inner: DistributeTranspiler,
}

#[pymethods]
impl Transpiler {
    /// With the fields of `DistributeTranspilerConfig`.
    #[new]
    fn new(config: &Bound<'_, PyDict>) -> PyResult<Transpiler> {
        Ok(Transpiler { inner: DistributeTranspiler::new(config_of(config)?) })
    }

    /// The script sets these learning rates between runs: trainers send them to the servers.
    fn set_by_trainers(&mut self, rates: Vec<String>) {
        self.inner.set_by_trainers(rates.iter().map(|name| name.as_str().into()));
    }

    /// Sorts and places a program. The startup program becomes the trainer's; for collective workers both programs do.
    #[expect(clippy::too_many_arguments, reason = "they are those of Fluid's transpile")]
    fn transpile(
        &mut self,
        trainer_id: usize,
        program: &Program,
        startup_program: &Program,
        pservers: &str,
        trainers: &Bound<'_, PyAny>,
        sync_mode: bool,
        current_endpoint: &str,
        slice_var_up: Option<bool>,
        split_method: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let trainers = match trainers.extract::<usize>() {
            Ok(count) => Trainers::Count(count),
            Err(_) => Trainers::Endpoints(trainers.extract()?),
        };
        let split_method = if split_method.is_none() { None } else { Some(split_method_of(split_method)?) };
        let (mut main, mut startup) = ((*program.get()).clone(), (*startup_program.get()).clone());
        let arguments = Arguments {
            registry: &crate::builder::registry(),
            trainer_id,
            program: &mut main,
            startup_program: &mut startup,
            pservers,
            trainers,
            sync_mode,
            current_endpoint,
            slice_var_up,
            split_method,
        };
        self.inner.transpile(arguments).py()?;
        startup_program.exchange(&mut startup);
        if self.inner.config().mode != Mode::Pserver {
            program.exchange(&mut main);
        }
        Ok(())
    }

    /// Rewrites `program`, which was transpiled, to the trainer's.
    fn become_trainer(&self, program: &Program) -> PyResult<()> {
        program.exchange(&mut self.inner.get_trainer_program().py()?);
        Ok(())
    }

    /// The program of a server.
    fn pserver_program(&self, endpoint: &str) -> PyResult<Program> {
        Ok(Program::of(self.inner.get_pserver_program(endpoint).py()?))
    }

    /// The startup program of a server.
    fn startup_program(&self, endpoint: &str) -> PyResult<Program> {
        Ok(Program::of(self.inner.get_startup_program(endpoint).py()?))
    }

    /// The program for one machine, as it was.
    fn program(&self) -> PyResult<Program> {
        Ok(Program::of(self.inner.program().py()?.clone()))
    }

    /// Which trainer this is.
    fn trainer_id(&self) -> PyResult<usize> {
        self.inner.trainer_id().py()
    }

    /// Which trainer this is, how many there are, the servers, and after how many steps GEO exchanges.
    fn place(&self) -> PyResult<(usize, usize, Vec<String>, usize)> {
        let servers = self.inner.placement().py()?.servers().to_vec();
        let push_nums = self.inner.config().geo_sgd_need_push_nums;
        Ok((self.inner.trainer_id().py()?, self.inner.trainers().py()?, servers, push_nums))
    }

    /// Where parameters live, to be read.
    fn placement(&self) -> PyResult<String> {
        Ok(self.inner.placement().py()?.to_string())
    }

    /// Waits until the servers answer, if config and caller wish it.
    fn wait(&self, py: Python<'_>, runtime: &Runtime, wait_port: bool) -> PyResult<()> {
        let servers = self.inner.wait_for(wait_port).py()?;
        runtime.compute(py, || wait_for_servers(servers, &ClientOptions::of(&runtime.inner)))
    }

    /// Saves variables of the program for one machine as that would: what servers keep is fetched from them, the rest is in
    /// the scope.
    #[expect(clippy::too_many_arguments, reason = "values are passed on one by one")]
    fn save_vars(
        &self,
        py: Python<'_>,
        runtime: &Runtime,
        dirname: &str,
        filename: Option<String>,
        program: &Program,
        names: Vec<String>,
        scope: &Scope,
    ) -> PyResult<()> {
        let program = program.get();
        let (kept, trainer) = (self.inner.away().py()?, self.inner.trainer_id().py()?);
        runtime.compute(py, || {
            let vars: Vec<&Var> =
                names.iter().filter_map(|name| program.vars().find(|v| v.name.as_str() == name)).collect();
            let client = Client::of(&runtime.inner);
            let saver = Saver { away: &kept, client: &client, trainer, scope: &scope.inner };
            saver.save_vars(&*io::open_store(dirname)?, filename.as_deref(), &vars)
        })
    }

    /// Saves a network that predicts, with the parameters that servers keep.
    #[expect(clippy::too_many_arguments, reason = "values are passed on one by one")]
    fn save_model(
        &self,
        py: Python<'_>,
        runtime: &Runtime,
        dirname: &str,
        program: &Program,
        model_filename: Option<String>,
        params_filename: Option<String>,
        scope: &Scope,
    ) -> PyResult<()> {
        let (program, kept, trainer) = (program.get(), self.inner.away().py()?, self.inner.trainer_id().py()?);
        let params = params_filename.map_or(ParamFiles::Separate, ParamFiles::Combined);
        let files = written_model(model_filename, params)?;
        runtime.compute(py, || {
            let client = Client::of(&runtime.inner);
            let saver = Saver { away: &kept, client: &client, trainer, scope: &scope.inner };
            saver.save_model(&*io::open_store(dirname)?, &files, &InferenceModel::of((*program).clone())?)
        })
    }

    /// Saves a checkpoint of the whole job; every worker calls it. Returns when training may go on.
    #[expect(clippy::too_many_arguments, reason = "values are passed on one by one")]
    fn save_checkpoint(
        &self,
        py: Python<'_>,
        runtime: &Runtime,
        scope: &Scope,
        dir: &str,
        epoch: u64,
        step: u64,
        notes: BTreeMap<String, String>,
        keep: usize,
    ) -> PyResult<()> {
        let saves = JobSaves { transpiler: &self.inner, dir, keep };
        runtime.compute(py, || saves.save(&runtime.inner, &scope.inner, &Position { epoch, step, notes }))
    }

    /// Restores a worker from the newest checkpoint: epoch, step and notes, or nothing.
    fn restore_worker(&self, py: Python<'_>, runtime: &Runtime, scope: &Scope, dir: &str) -> PyResult<Option<Stood>> {
        let saves = JobSaves { transpiler: &self.inner, dir, keep: 1 };
        let position = runtime.compute(py, || saves.restore(&runtime.inner, &scope.inner))?;
        Ok(position.map(|p| (p.epoch, p.step, p.notes)))
    }

    /// Takes stale rows away from the tables of all servers; returns how many. Every worker calls it.
    fn shrink(
        &self,
        py: Python<'_>,
        runtime: &Runtime,
        calls: Option<u32>,
        steps: Option<u32>,
        count: Option<u32>,
        score: Option<f32>,
    ) -> PyResult<u64> {
        runtime.compute(py, || fleet::evict(&runtime.inner, &self.inner, Stale { calls, steps, count, score }))
    }

    /// Waits until the checkpoint under way is complete.
    fn finish_checkpoint(&self, py: Python<'_>, runtime: &Runtime) -> PyResult<()> {
        runtime.compute(py, || fleet::finish_checkpoint(&runtime.inner))
    }

    /// Loads the parts of the server at `endpoint` from files of whole variables; returns the names of those that were not
    /// saved and keep their values.
    fn load_parts(
        &self,
        py: Python<'_>,
        endpoint: &str,
        dirname: &str,
        filename: Option<String>,
        names: Option<Vec<String>>,
        scope: &Scope,
    ) -> PyResult<Vec<String>> {
        let kept = self.inner.var_locations().py()?;
        let servers = self.inner.placement().py()?.servers();
        let server = servers.iter().position(|s| s == endpoint).ok_or_else(|| {
            PyValueError::new_err(format!("{endpoint} is not one of the servers: {}", servers.join(", ")))
        })?;
        let asked =
            |kept: &&VarLocations| names.as_ref().is_none_or(|names| names.iter().any(|n| *kept.var.name == **n));
        let wanted: Vec<VarLocations> = kept.iter().filter(asked).cloned().collect();
        let load = || {
            let store = io::open_store(dirname)?;
            if let Some(checkpoint) = fleet::newest_checkpoint(dirname)? {
                return checkpoint.load(&wanted, server, servers.len(), &scope.inner).map(|()| Vec::new());
            }
            saving::load_parts(&*store, filename.as_deref(), &kept, server, names.as_deref(), &scope.inner)
        };
        py.detach(load).py()
    }
}

/// A block of a variable, as a dispatcher of the user's sees it.
#[pyclass(frozen, get_all)]
pub(crate) struct VarBlock {
    /// Its name.
    name: String,
    /// Its sizes.
    shape: Vec<usize>,
}

/// The fields of `DistributeTranspilerConfig`; those that are not given keep Fluid's defaults.
pub(crate) fn config_of(fields: &Bound<'_, PyDict>) -> PyResult<Config> {
    let mut config = Config::fluid();
    for (name, value) in fields.iter() {
        match name.extract::<String>()?.as_str() {
            "slice_var_up" => config.slice_var_up = value.extract()?,
            "split_method" if value.is_none() => {}
            "split_method" => config.split_method = split_method_of(&value)?,
            "min_block_size" => config.min_block_size = value.extract()?,
            "enable_dc_asgd" => config.enable_dc_asgd = value.extract()?,
            "mode" => config.mode = mode_of(&value)?,
            "print_log" => config.print_log = value.extract()?,
            "wait_port" => config.wait_port = value.extract()?,
            "sync_mode" => config.sync_mode = value.extract()?,
            "runtime_split_send_recv" => config.runtime_split_send_recv = value.extract()?,
            "half_async" => config.half_async = value.extract()?,
            "completely_not_async" => config.completely_not_async = value.extract()?,
            "max_staleness" => config.max_staleness = value.extract()?,
            "geo_sgd_mode" => config.geo_sgd_mode = value.extract()?,
            "geo_sgd_need_push_nums" => config.geo_sgd_need_push_nums = value.extract()?,
            "nccl_comm_num" => config.nccl_comm_num = value.extract()?,
            "use_hierarchical_allreduce" => config.use_hierarchical_allreduce = value.extract()?,
            "hierarchical_allreduce_inter_nranks" => config.hierarchical_allreduce_inter_nranks = value.extract()?,
            "fuse_grad_size_in_MB" => config.fuse_grad_size_in_mb = value.extract()?,
            "local_sgd_k_steps" => config.local_sgd_k_steps = value.extract()?,
            "local_sgd_begin_step" => config.local_sgd_begin_step = value.extract()?,
            "collective_mode" if value.is_none() => {}
            "collective_mode" => config.collective_mode = Some(collective_mode_of(&value)?),
            other => return Err(PyValueError::new_err(format!("DistributeTranspilerConfig has no field {other}"))),
        }
    }
    Ok(config)
}

fn mode_of(value: &Bound<'_, PyAny>) -> PyResult<Mode> {
    match value.extract::<String>()?.as_str() {
        "pserver" => Ok(Mode::Pserver),
        "nccl2" => Ok(Mode::Nccl2),
        "collective" => Ok(Mode::Collective),
        other => Err(PyValueError::new_err(format!("mode is pserver, nccl2 or collective, not {other:?}"))),
    }
}

fn collective_mode_of(value: &Bound<'_, PyAny>) -> PyResult<CollectiveMode> {
    match value.extract::<String>()?.as_str() {
        "grad_allreduce" => Ok(CollectiveMode::GradAllreduce),
        "local_sgd" => Ok(CollectiveMode::LocalSgd),
        "single_process_multi_thread" => Ok(CollectiveMode::SingleProcessMultiThread),
        other => {
            let known = "grad_allreduce, local_sgd or single_process_multi_thread";
            Err(PyValueError::new_err(format!("collective_mode is {known}, not {other:?}")))
        }
    }
}

/// A class that deals out blocks: one of ours says which in `_method`, any other is asked.
fn split_method_of(class: &Bound<'_, PyAny>) -> PyResult<SplitMethod> {
    // Of its own, and not of a class that it is derived from.
    let own = class.getattr_opt("__dict__")?.and_then(|fields| fields.get_item("_method").ok());
    let known: Option<String> = own.and_then(|name| name.extract().ok());
    match known.as_deref() {
        Some("RoundRobin") => return Ok(SplitMethod::RoundRobin),
        Some("HashName") => return Ok(SplitMethod::HashName),
        _ => {}
    }
    if !class.is_callable() {
        let what = format!("split_method must be a class that deals blocks out to servers, not {}", class.repr()?);
        let help = "use fluid.transpiler.RoundRobin or HashName, or derive a class from fluid.transpiler.PSDispatcher";
        return Err(PyTypeError::new_err(format!("{what}\n  help: {help}")));
    }
    let class = Arc::new(class.clone().unbind());
    Ok(SplitMethod::Custom(Arc::new(move |servers| {
        Box::new(Custom { class: class.clone(), servers: servers.to_vec(), made: None })
    })))
}

/// A dispatcher of the user's.
struct Custom {
    class: Arc<Py<PyAny>>,
    servers: Vec<String>,
    made: Option<Py<PyAny>>,
}

impl Dispatcher for Custom {
    fn dispatch(&mut self, blocks: &[placement::VarBlock]) -> oarlock::Result<Vec<usize>> {
        let failed = |e: PyErr| Error::new(Kind::Argument, "the split_method raised an exception").because(e);
        let answers = Python::attach(|py| self.ask(py, blocks)).map_err(failed)?;
        let index = |endpoint: &String| {
            self.servers.iter().position(|s| s == endpoint).ok_or_else(|| {
                let what = format!("the split_method placed a block on {endpoint}, which is not a server");
                Error::new(Kind::Argument, what).help(format!("return endpoints out of {}", self.servers.join(", ")))
            })
        };
        answers.iter().map(index).collect()
    }
}

impl Custom {
    fn ask(&mut self, py: Python<'_>, blocks: &[placement::VarBlock]) -> PyResult<Vec<String>> {
        let made = match self.made.take() {
            Some(made) => made,
            None => self.class.call1(py, (self.servers.clone(),))?,
        };
        let blocks: Vec<VarBlock> =
            blocks.iter().map(|b| VarBlock { name: b.name().to_string(), shape: b.dims.clone() }).collect();
        let answers = made.call_method1(py, "dispatch", (blocks,))?.extract(py);
        self.made = Some(made);
        answers
    }
}

/// Is there a complete checkpoint of a job in this folder?
#[pyfunction]
pub(crate) fn has_checkpoint(dir: &str) -> PyResult<bool> {
    Ok(JobCheckpoints::at(dir).and_then(|saved| saved.latest_intact(&mut |_| {})).py()?.is_some())
}

/// Deletes all checkpoints of a job: it is over, and the next one starts from the beginning.
#[pyfunction]
pub(crate) fn clear_checkpoints(dir: &str) -> PyResult<()> {
    JobCheckpoints::at(dir).and_then(|saved| saved.clear()).py()
}
