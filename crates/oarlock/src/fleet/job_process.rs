//! One process of a job with parameter servers, for Rust: what `fleet` is for a Python script.

use std::collections::BTreeMap;

use oarlock_exec::Scope;
use oarlock_io::{InferenceModel, ModelFiles, Position, Store, persistables};
use oarlock_ir::{Program, Result};
use oarlock_ps::client::{Client, ClientOptions, wait_for_servers};
use oarlock_ps::saving::{self, Saver};
use oarlock_transpile::{Arguments, Config, DistributeTranspiler, Trainers};

use super::{
    JobSaves, Place, Role, Strategy, WorkerGroup, communicator_options, newest_checkpoint, start_communicator,
    stop_communicator,
};
use crate::{Executor, Net};

/// A process, its part of the network, and how it trains with the others.
#[derive(Debug)]
pub struct JobProcess {
    place: Place,
    strategy: Strategy,
    transpiler: DistributeTranspiler,
    startup: Program,
    program: Program,
}

impl JobProcess {
    /// The part of `net`, which an optimizer has completed, that belongs at this place. All processes of a job must build the same
    /// network. `config` is about how parameters are partitioned and placed; what the strategy means is set in it.
    pub fn new(place: Place, net: &Net, strategy: Strategy, config: Config) -> Result<JobProcess> {
        place.check()?;
        let mut transpiler = DistributeTranspiler::new(strategy.config(config));
        let (mut main, mut startup) = (net.main.clone(), net.startup.clone());
        transpiler.transpile(Arguments {
            registry: &crate::registry(),
            trainer_id: if place.role == Role::Worker { place.index } else { 0 },
            program: &mut main,
            startup_program: &mut startup,
            pservers: &place.servers.join(","),
            trainers: Trainers::Count(place.workers),
            sync_mode: false,
            current_endpoint: "",
            slice_var_up: None,
            split_method: None,
        })?;
        let program = match place.role {
            Role::Worker => transpiler.get_trainer_program()?,
            Role::Server => {
                let (program, own) = transpiler.get_pserver_programs(&place.servers[place.index])?;
                startup = own;
                program
            }
        };
        Ok(JobProcess { place, strategy, transpiler, startup, program })
    }

    /// Who this process is.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The program it runs: a worker in every step, a server until all workers have left.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Makes a server ready: runs its startup program, and loads its part of a save, if one is given.
    pub fn init_server(&self, exe: &Executor, scope: &Scope, from: Option<&dyn Store>) -> Result<()> {
        exe.run(&self.startup, &[], &[], scope)?;
        if let Some(store) = from {
            saving::load_parts(store, None, &self.transpiler.var_locations()?, self.place.index, None, scope)?;
        }
        Ok(())
    }

    /// Makes a server ready as it was at the newest checkpoint of the job in a folder, a path or a URL; true if there is one.
    pub fn resume_server(&self, exe: &Executor, scope: &Scope, dir: &str) -> Result<bool> {
        exe.run(&self.startup, &[], &[], scope)?;
        let Some(checkpoint) = newest_checkpoint(dir)? else { return Ok(false) };
        checkpoint.load(&self.transpiler.var_locations()?, self.place.index, self.place.servers.len(), scope)?;
        Ok(true)
    }

    /// Serves until every worker has left.
    pub fn run_server(&self, exe: &Executor, scope: &Scope) -> Result<()> {
        exe.run(&self.program, &[], &[], scope).map(drop)
    }

    /// Makes a worker ready: waits for the servers, fetches parameters, starts the exchange.
    pub fn init_worker(&self, exe: &Executor, scope: &Scope) -> Result<()> {
        let runtime = exe.runtime();
        wait_for_servers(self.transpiler.wait_for(true)?, &ClientOptions::of(runtime))?;
        exe.run(&self.startup, &[], &[], scope)?;
        let options = communicator_options(self.strategy, &self.transpiler, &BTreeMap::new(), 1)?;
        start_communicator(runtime, &self.program, scope, options).map(drop)
    }

    /// Saves a checkpoint of the whole job, of which `keep` are kept; every worker calls it, at the same step if they are in step. Returns
    /// as soon as training may go on; [`JobProcess::stop_worker`] waits until it is complete.
    pub fn save_checkpoint(
        &self,
        exe: &Executor,
        scope: &Scope,
        dir: &str,
        keep: usize,
        position: &Position,
    ) -> Result<()> {
        JobSaves { transpiler: &self.transpiler, dir, keep }.save(exe.runtime(), scope, position)
    }

    /// Restores a worker that is ready to where it stood at the newest checkpoint, and returns that position. `None` if there is none.
    pub fn resume_worker(&self, exe: &Executor, scope: &Scope, dir: &str) -> Result<Option<Position>> {
        JobSaves { transpiler: &self.transpiler, dir, keep: 1 }.restore(exe.runtime(), scope)
    }

    /// Ends training and gets the parameters that all workers made together: what waits is sent, all workers pass a barrier, and the startup
    /// program fetches everything anew, counters of metrics included.
    pub fn finish_training(&self, exe: &Executor, scope: &Scope) -> Result<()> {
        stop_communicator(exe.runtime())?;
        self.worker_group().barrier(exe.runtime())?;
        exe.run(&self.startup, &[], &[], scope).map(drop)
    }

    /// Collectives of the workers besides gradients.
    pub fn worker_group(&self) -> WorkerGroup {
        let Place { index, workers, servers, .. } = &self.place;
        WorkerGroup { worker: *index, workers: *workers, servers: servers.clone() }
    }

    /// Saves what predicts `targets` from `feeds`, with the parameters that servers keep. One worker does it for all.
    pub fn save_inference_model(
        &self,
        exe: &Executor,
        scope: &Scope,
        (store, files): (&dyn Store, &ModelFiles),
        feeds: &[&str],
        targets: &[&str],
    ) -> Result<()> {
        let model = InferenceModel::export(self.transpiler.program()?, feeds, targets)?;
        let (away, client) = (self.transpiler.away()?, Client::of(exe.runtime()));
        let saver = Saver { away: &away, client: &client, trainer: self.place.index, scope };
        saver.save_model(store, files, &model)
    }

    /// Saves everything that the network keeps from run to run, as training on one machine would. One worker does it for all.
    pub fn save_persistables(&self, exe: &Executor, scope: &Scope, store: &dyn Store) -> Result<()> {
        let (away, client) = (self.transpiler.away()?, Client::of(exe.runtime()));
        let saver = Saver { away: &away, client: &client, trainer: self.place.index, scope };
        saver.save_vars(store, None, &persistables(self.transpiler.program()?))
    }

    /// Leaves the servers.
    pub fn stop_worker(&self, exe: &Executor) -> Result<()> {
        exe.job().leave().map(drop)
    }
}
