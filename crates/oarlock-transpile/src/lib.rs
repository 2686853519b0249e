//! Transpiles a program for one machine into the programs of a cluster: one file per pass.
//!
//! [`DistributeTranspiler`] runs the passes. None depends on another having run: each makes one program from the same [`job::Job`], which
//! holds the program for one machine, sorted and placed. So the programs of all roles can be requested in any order.
//!
//! 1. [`updates`] sorts the optimizer's operators by what they read and write. Operators that lead to, or follow from, the update of one
//!    parameter belong to the server that holds it; those that join several gradients (a global norm, clipping) stay with the trainer.
//!    The variable that crosses from one to the other is the gradient that is sent. A learning-rate schedule moves to the servers.
//! 2. [`placement`] partitions parameters into blocks of whole rows and assigns them to servers. It sees names and sizes only.
//! 3. [`trainer`] drops the operators that moved, sends each gradient after the operator that completes it, and receives; [`lookup`]
//!    turns the lookups of a table into one operator; [`norm`] gives a global norm the mean of all trainers' gradients.
//!    [`trainer_startup`] fetches the first values.
//! 4. [`server`] makes `listen_and_serv` and a block for each update; [`dc_asgd`] and [`table`] (hashed embedding tables) add to it.
//!    [`server_startup`] initializes parameters whole and takes their blocks out, so that they start as on one machine.
//! 5. [`geo`] makes the programs of GEO; [`collective_workers`], [`grad_allreduce`] and [`local_sgd`] rewrite the one program of
//!    collective workers, and [`zero_weight_step`] makes the step of a rank without data.
//!
//! Every program is verified before it is returned. `tests/main/golden_programs.rs` compares them with those of Fluid 1.8. No pass opens a
//! socket.

#![forbid(unsafe_code)]

mod collective_workers;
mod config;
mod dc_asgd;
mod geo;
mod geo_vars;
mod grad_allreduce;
mod job;
mod local_sgd;
mod lookup;
mod norm;
pub mod ops;
pub mod placement;
mod server;
mod server_startup;
mod table;
mod trainer;
mod trainer_startup;
mod updates;
mod var_locations;
mod zero_weight_step;

use std::collections::BTreeSet;

use oarlock_ir::{Error, Kind, Name, Program, Registry, Result, verify};

use collective_workers::{Workers, in_common, set_up_groups};
pub use config::{Arguments, CollectiveMode, Config, Mode, Trainers};
use config::{Traffic, endpoints};
use dc_asgd::check_dense;
pub use dc_asgd::{TRAINER_ID, backup};
pub use geo_vars::{GeoBlock, GeoVar};
use grad_allreduce::{allreduce_gradients, share_parameters, start_workers, trained};
pub use job::empty_dead_blocks;
use job::{Job, known_dims};
use local_sgd::{Averaging, average_parameters, average_sometimes, take_snapshots};
pub use local_sgd::{LAST_AVERAGED, LOCAL_STEPS};
use lookup::remote_tables;
pub use lookup::{RemoteTable, predict_with_servers, tables_on_servers};
use table::distributed_tables;
use updates::{Update, find_updates};
pub use var_locations::{Part, VarLocations};
pub use zero_weight_step::{ZeroWeightStep, zero_weight_step};

use crate::placement::{Partition, Placeable, Placed, Placement, SplitMethod, shuffle};

/// Turns a program for one machine into those of trainers and servers.
#[derive(Debug)]
pub struct DistributeTranspiler {
    config: Config,
    rates: Vec<Name>,
    made: Option<Made>,
}

/// The result of transpiling a program.
#[derive(Debug)]
enum Made {
    /// Programs of trainers and servers are made from this when they are asked for.
    Job(Box<Job>),
    /// The program of a collective worker.
    Worker(Box<Program>),
}

impl DistributeTranspiler {
    /// With these settings.
    pub fn new(config: Config) -> DistributeTranspiler {
        DistributeTranspiler { config, rates: Vec::new(), made: None }
    }

    /// The trainers' scripts set these learning rates between steps, in their own scope. Trainers send them with their
    /// gradients, and every update uses the rate that its trainer sent; where servers wait for all trainers, that of the first
    /// trainer of the step.
    pub fn set_by_trainers(&mut self, rates: impl IntoIterator<Item = Name>) {
        self.rates = rates.into_iter().collect();
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Sorts and places a program. `startup_program` becomes the trainer's; the other programs are there to be asked for.
    /// Collective workers have no other programs: `program` becomes theirs.
    pub fn transpile(&mut self, arguments: Arguments<'_>) -> Result<()> {
        self.made = Some(match self.config.mode {
            Mode::Pserver => self.transpile_pserver(arguments)?,
            Mode::Nccl2 | Mode::Collective => self.transpile_workers(arguments)?,
        });
        Ok(())
    }

    fn transpile_pserver(&self, arguments: Arguments<'_>) -> Result<Made> {
        let job = self.pserver_job(&arguments)?;
        let startup = startup_of(&job, &trainer_of(&job)?)?;
        *arguments.startup_program = startup;
        Ok(Made::Job(Box::new(job)))
    }

    fn transpile_workers(&self, arguments: Arguments<'_>) -> Result<Made> {
        let workers = Workers::new(&self.config, &arguments)?;
        let (mut program, mut startup) = (arguments.program.clone(), arguments.startup_program.clone());
        verify(&program, None)?;
        match self.config.mode {
            Mode::Collective => self.collective(&workers, &mut program, &mut startup, arguments.registry)?,
            _ => self.nccl2(&workers, &program, &mut startup, arguments.registry)?,
        }
        verify(&program, None)?;
        verify(&startup, None)?;
        *arguments.startup_program = startup;
        *arguments.program = program.clone();
        Ok(Made::Worker(Box::new(program)))
    }

    /// The program stays as it is: the caller that runs it on all workers ([`exchange_gradients`]) adds the exchange.
    fn nccl2(&self, workers: &Workers, program: &Program, startup: &mut Program, registry: &Registry) -> Result<()> {
        let updates = find_updates(program, registry)?;
        let params = trained(program, &updates);
        set_up_groups(&self.config, workers, startup, in_common(program, &updates, &params)?);
        share_parameters(workers, startup, &params);
        Ok(())
    }

    fn collective(
        &self,
        workers: &Workers,
        program: &mut Program,
        startup: &mut Program,
        registry: &Registry,
    ) -> Result<()> {
        let updates = find_updates(program, registry)?;
        let params = trained(program, &updates);
        let Some(mode) = self.config.collective_mode else {
            return Err(Error::new(Kind::Argument, "mode \"collective\" needs a `collective_mode`")
                .help("choose grad_allreduce, local_sgd or single_process_multi_thread"));
        };
        let mut common = in_common(program, &updates, &params)?;
        let when = Averaging::new(&self.config)?;
        if mode == CollectiveMode::LocalSgd {
            common.extend(when.in_common());
        }
        start_workers(workers, mode == CollectiveMode::SingleProcessMultiThread, startup, &params, &common);
        if mode == CollectiveMode::LocalSgd {
            if let Some(param) = params.get(updates.updates.len()) {
                let what = format!("`{param}` is updated in a branch, and local_sgd exchanges what every step updates");
                return Err(Error::new(Kind::Unsupported, what)
                    .help("exchange gradients (grad_allreduce), or leave out what updates after several steps"));
            }
            take_snapshots(startup, &params)?;
            return match when.is_every_step() {
                true => average_parameters(workers, &updates, program),
                false => average_sometimes(workers, &params, &when, program, startup),
            };
        }
        allreduce_gradients(workers, program)
    }

    fn pserver_job(&self, arguments: &Arguments<'_>) -> Result<Job> {
        let servers = endpoints(arguments.pservers);
        let trainers = trainer_count(arguments)?;
        check_servers(&servers)?;
        let traffic = Traffic::new(&self.config, arguments.sync_mode, trainers)?;
        let main = arguments.program.clone();
        verify(&main, None)?;
        let updates = find_updates(&main, arguments.registry)?;
        if updates.updates.is_empty() {
            return Err(Error::new(
                Kind::Missing,
                "the program updates no parameter, so there is nothing to distribute",
            )
            .help("call `minimize` before `transpile`"));
        }
        if traffic.dc_asgd {
            check_dense(&updates.updates)?;
        }
        let rates = if traffic.geo { Vec::new() } else { self.rates.clone() };
        rates.iter().try_for_each(|rate| check_rate(&main, rate))?;
        let method = arguments.split_method.as_ref().unwrap_or(&self.config.split_method);
        // GEO always partitions: servers only add deltas.
        let partitions = arguments.slice_var_up.unwrap_or(self.config.slice_var_up) || traffic.geo;
        let tables = distributed_tables(&main, &updates.updates)?;
        refuse_tables(&traffic, &tables)?;
        let placed = updates.updates.iter().filter(|u| !tables.contains(&u.param));
        let placement = place(&main, placed, servers, method, partitions.then_some(self.config.min_block_size))?;
        let remote = if traffic.geo { BTreeSet::new() } else { remote_tables(&main, &updates.updates) };
        let startup = arguments.startup_program.clone();
        Ok(Job {
            main,
            startup,
            updates,
            placement,
            remote,
            tables,
            rates,
            traffic,
            trainer_id: arguments.trainer_id,
            trainers,
        })
    }

    /// Where parameters live.
    pub fn placement(&self) -> Result<&Placement> {
        Ok(&self.job()?.placement)
    }

    /// The variables that a GEO trainer shares with others, and their locations on servers.
    pub fn geo_vars(&self) -> Result<Vec<GeoVar>> {
        let job = self.job()?;
        let block = |placed: &Placed| GeoBlock {
            name: placed.block.name().to_string(),
            endpoint: job.placement.endpoint(placed).to_string(),
            rows: placed.block.rows(),
        };
        let share = |update: &Update| GeoVar {
            param: update.param.clone(),
            sparse: update.sparse,
            blocks: job.blocks(update).iter().map(block).collect(),
        };
        Ok(job.updates().iter().map(share).collect())
    }

    /// The location of every variable that servers have.
    pub fn var_locations(&self) -> Result<Vec<VarLocations>> {
        let job = self.job()?;
        let servers = job.placement.servers();
        let programs = servers.iter().map(|e| self.get_pserver_program(e)).collect::<Result<Vec<_>>>()?;
        var_locations::var_locations(job, &programs)
    }

    /// The variables that a trainer must fetch before it can save them. With GEO, trainers have all, and newer than servers.
    pub fn away(&self) -> Result<Vec<VarLocations>> {
        if self.config.geo_sgd_mode { Ok(Vec::new()) } else { self.var_locations() }
    }

    /// The program for one machine, as it was before it was transpiled.
    pub fn program(&self) -> Result<&Program> {
        Ok(&self.job()?.main)
    }

    /// Do all trainers finish a step together?
    pub fn is_in_step(&self) -> bool {
        let waits = self.config.sync_mode || self.config.completely_not_async;
        waits && !self.config.geo_sgd_mode
    }

    /// Which trainer this is.
    pub fn trainer_id(&self) -> Result<usize> {
        Ok(self.job()?.trainer_id)
    }

    /// How many trainers there are.
    pub fn trainers(&self) -> Result<usize> {
        Ok(self.job()?.trainers)
    }

    /// The servers that this process waits for before its first step; none if the config or the caller says not to wait.
    pub fn wait_for(&self, wait_port: bool) -> Result<&[String]> {
        let all: &[String] = match self.made()? {
            Made::Job(job) => job.placement.servers(),
            Made::Worker(_) => &[],
        };
        Ok(if wait_port && self.config.wait_port { all } else { &[] })
    }

    /// The trainer's program.
    pub fn get_trainer_program(&self) -> Result<Program> {
        match self.made()? {
            Made::Job(job) => trainer_of(job),
            Made::Worker(program) => Ok((**program).clone()),
        }
    }

    /// The program of the server that listens on `endpoint`.
    pub fn get_pserver_program(&self, endpoint: &str) -> Result<Program> {
        let job = self.job()?;
        let server = self.server(endpoint)?;
        let program = if job.traffic.geo { geo::geo_server(job, server) } else { server::server_program(job, server) }?;
        verify(&program, None)?;
        Ok(program)
    }

    /// The startup program of the server that listens on `endpoint`.
    pub fn get_startup_program(&self, endpoint: &str) -> Result<Program> {
        self.get_pserver_programs(endpoint).map(|(_, startup)| startup)
    }

    /// The program of a server and its startup program.
    pub fn get_pserver_programs(&self, endpoint: &str) -> Result<(Program, Program)> {
        let program = self.get_pserver_program(endpoint)?;
        let startup = server_startup::server_startup(self.job()?, self.server(endpoint)?, &program)?;
        verify(&startup, None)?;
        Ok((program, startup))
    }

    fn made(&self) -> Result<&Made> {
        self.made.as_ref().ok_or_else(|| {
            Error::new(Kind::Missing, "nothing was transpiled yet").help("call `transpile` before asking for programs")
        })
    }

    fn job(&self) -> Result<&Job> {
        match self.made()? {
            Made::Job(job) => Ok(job),
            Made::Worker(..) => Err(Error::new(Kind::Argument, "collective workers have no servers")
                .help("set `mode` to pserver, or ask for the trainer's program")),
        }
    }

    fn server(&self, endpoint: &str) -> Result<usize> {
        let servers = self.job()?.placement.servers();
        servers.iter().position(|s| s == endpoint).ok_or_else(|| {
            Error::new(Kind::Argument, format!("`{endpoint}` is not one of the servers: {}", servers.join(", ")))
                .help("ask for one of those, spelt as in `pservers`")
        })
    }
}

/// The program as each of the workers runs it: gradients are summed over all of them before the update. For mode "nccl2",
/// which leaves the exchange to the executor.
pub fn exchange_gradients(program: &Program, workers: usize) -> Result<Program> {
    let mut program = program.clone();
    verify(&program, None)?;
    allreduce_gradients(
        &Workers { endpoints: vec![String::new(); workers], rank: 0, groups: 1, fuse_mb: -1.0, hierarchical: false },
        &mut program,
    )?;
    verify(&program, None)?;
    Ok(program)
}

fn trainer_of(job: &Job) -> Result<Program> {
    let program = if job.traffic.geo { geo::geo_trainer(job) } else { trainer::trainer_program(job) }?;
    verify(&program, None)?;
    Ok(program)
}

fn startup_of(job: &Job, trainer: &Program) -> Result<Program> {
    let startup =
        if job.traffic.geo { geo::geo_trainer_startup(job) } else { trainer_startup::trainer_startup(job, trainer) }?;
    verify(&startup, None)?;
    Ok(startup)
}

fn trainer_count(arguments: &Arguments<'_>) -> Result<usize> {
    let wrong = |what: String| Err(Error::new(Kind::Argument, what).help("trainers are counted from 0"));
    match arguments.trainers {
        Trainers::Count(0) => wrong("a job needs at least one trainer".into()),
        Trainers::Count(n) if arguments.trainer_id >= n => {
            wrong(format!("trainer_id is {}, and there are {n} trainers", arguments.trainer_id))
        }
        Trainers::Count(n) => Ok(n),
        Trainers::Endpoints(_) => wrong("with parameter servers, `trainers` is a number".into()),
    }
}

/// A rate that the script sets must not be computed by the program, too.
fn check_rate(main: &Program, rate: &Name) -> Result<()> {
    let var = main.expect_var(0, rate)?;
    let writer = main.global().ops.iter().enumerate().find(|(_, op)| op.outputs.args().any(|out| out == rate));
    match writer {
        Some((i, op)) => Err(Error::new(
            Kind::Argument,
            format!("the script sets the learning rate `{rate}`, and `{}` computes it, too", op.op_type),
        )
        .at(|| op.place(0, i))
        .help("use either a scheduler that the script steps, or a schedule of the program")),
        None if !var.persistable => {
            Err(Error::new(Kind::Argument, format!("the learning rate `{rate}` does not outlive a step"))
                .help("make it a persistable variable"))
        }
        None => Ok(()),
    }
}

fn check_servers(servers: &[String]) -> Result<()> {
    let mut seen = BTreeSet::new();
    if servers.is_empty() {
        return Err(
            Error::new(Kind::Argument, "`pservers` names no server").help("give endpoints such as `10.0.0.1:6174`")
        );
    }
    match servers.iter().find(|s| !seen.insert(*s)) {
        Some(twice) => Err(Error::new(Kind::Argument, format!("`pservers` names `{twice}` twice"))
            .help("every server needs an endpoint of its own")),
        None => Ok(()),
    }
}

/// A hashed table has no rows on trainers, and these modes work on them.
fn refuse_tables(traffic: &Traffic, tables: &BTreeSet<Name>) -> Result<()> {
    let mode = match traffic {
        Traffic { geo: true, .. } => "GEO",
        Traffic { dc_asgd: true, .. } => "DC-ASGD",
        _ => return Ok(()),
    };
    match tables.first() {
        Some(table) => {
            let what = format!("{mode} needs `{table}` whole on every trainer, but only servers have its rows");
            Err(Error::new(Kind::Unsupported, what)
                .help("use embedding with is_sparse=True and is_distributed=False in place of sparse_embedding, or choose another mode"))
        }
        None => Ok(()),
    }
}

/// Deals parameters out to servers; `min_block_size` is none if they stay whole.
fn place<'a>(
    main: &Program,
    updates: impl Iterator<Item = &'a Update>,
    servers: Vec<String>,
    method: &SplitMethod,
    min_block_size: Option<usize>,
) -> Result<Placement> {
    let mut vars = Vec::new();
    for update in updates {
        let dims = known_dims(main.expect_var(0, &update.param)?)?;
        vars.push(Placeable { name: update.param.clone(), dims, divisible: update.divisible });
    }
    let order = match min_block_size {
        Some(_) => (0..vars.len()).collect(),
        None => shuffle(vars.len(), main.random_seed as u32),
    };
    let pieces = if min_block_size.is_some() { servers.len() } else { 1 };
    let rule = Partition { pieces, min_block_size: min_block_size.unwrap_or(1) };
    Placement::new(&vars, &order, rule, servers, method)
}
