//! From a program for one machine to the programs of a cluster: one file per pass.
//!
//! [`DistributeTranspiler`] joins them. `updates` sorts the operators of the program by what they lead to, the placement
//! says which server holds what, and then each pass makes one program from that: `trainer` (with `lookup`),
//! `trainer_startup`, `server` (with `dc_asgd`), `server_startup`; `geo` makes those of its mode. Nothing is kept in
//! between: any number of roles can be asked for, in any order. No pass opens a socket.

mod config;
mod dc_asgd;
mod geo;
mod job;
mod lookup;
mod server;
mod server_startup;
mod trainer;
mod trainer_startup;
mod updates;

use std::collections::BTreeSet;

use oarlock_ir::{Error, Kind, Program, Result, verify};

pub use config::{Arguments, CollectiveMode, Config, Mode, Trainers};
use config::{Traffic, endpoints};
use job::{Job, known_dims};
use lookup::remote_tables;
use updates::{Updates, find_updates};

use crate::placement::{Cut, Placeable, Placement, SplitMethod, shuffle};

/// Turns a program for one machine into those of trainers and servers.
#[derive(Debug)]
pub struct DistributeTranspiler {
    config: Config,
    job: Option<Job>,
}

impl DistributeTranspiler {
    /// With these settings.
    pub fn new(config: Config) -> DistributeTranspiler {
        DistributeTranspiler { config, job: None }
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Sorts and places a program. `startup_program` becomes the trainer's; the other programs are there to be asked for.
    pub fn transpile(&mut self, arguments: Arguments<'_>) -> Result<()> {
        if self.config.mode != Mode::Pserver {
            return Err(
                Error::new(Kind::Unsupported, "only parameter servers are transpiled").help("set `mode` to pserver")
            );
        }
        let job = self.pserver_job(&arguments)?;
        let trainer = trainer_of(&job)?;
        let startup = startup_of(&job, &trainer)?;
        *arguments.startup_program = startup;
        self.job = Some(job);
        Ok(())
    }

    fn pserver_job(&self, arguments: &Arguments<'_>) -> Result<Job> {
        let servers = endpoints(arguments.pservers);
        let trainers = trainer_count(arguments)?;
        check_servers(&servers)?;
        let traffic = Traffic::new(&self.config, arguments.sync_mode, trainers)?;
        let main = arguments.program.clone();
        verify(&main, None)?;
        let updates = find_updates(&main)?;
        if updates.updates.is_empty() {
            return Err(Error::new(
                Kind::Missing,
                "the program updates no parameter, so there is nothing to distribute",
            )
            .help("call `minimize` before `transpile`"));
        }
        let method = arguments.split_method.as_ref().unwrap_or(&self.config.split_method);
        // GEO always cuts: servers only add what they are sent.
        let cuts = arguments.slice_var_up.unwrap_or(self.config.slice_var_up) || traffic.geo;
        let placement = place(&main, &updates, servers, method, cuts.then_some(self.config.min_block_size))?;
        let remote = if traffic.geo { BTreeSet::new() } else { remote_tables(&main, &updates.updates) };
        let startup = arguments.startup_program.clone();
        Ok(Job { main, startup, updates, placement, remote, traffic, trainer_id: arguments.trainer_id, trainers })
    }

    /// Where parameters live.
    pub fn placement(&self) -> Result<&Placement> {
        Ok(&self.job()?.placement)
    }

    /// The servers that a trainer waits for before its first step; none if the config or the caller says not to wait.
    pub fn wait_for(&self, wait_port: bool) -> Result<&[String]> {
        let servers = self.job()?.placement.servers();
        Ok(if wait_port && self.config.wait_port { servers } else { &[] })
    }

    /// The trainer's program.
    pub fn get_trainer_program(&self) -> Result<Program> {
        trainer_of(self.job()?)
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

    fn job(&self) -> Result<&Job> {
        self.job.as_ref().ok_or_else(|| {
            Error::new(Kind::Missing, "nothing was transpiled yet").help("call `transpile` before asking for programs")
        })
    }

    fn server(&self, endpoint: &str) -> Result<usize> {
        let servers = self.job()?.placement.servers();
        servers.iter().position(|s| s == endpoint).ok_or_else(|| {
            Error::new(Kind::Argument, format!("`{endpoint}` is not one of the servers: {}", servers.join(", ")))
                .help("ask for one of those, spelt as in `pservers`")
        })
    }
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

/// Deals parameters out to servers; `min_block_size` is none if they stay whole.
fn place(
    main: &Program,
    updates: &Updates,
    servers: Vec<String>,
    method: &SplitMethod,
    min_block_size: Option<usize>,
) -> Result<Placement> {
    let mut vars = Vec::new();
    for update in &updates.updates {
        let dims = known_dims(main.expect_var(0, &update.param)?)?;
        vars.push(Placeable { name: update.param.clone(), dims, divisible: update.divisible });
    }
    let order = match min_block_size {
        Some(_) => (0..vars.len()).collect(),
        None => shuffle(vars.len(), main.random_seed as u32),
    };
    let pieces = if min_block_size.is_some() { servers.len() } else { 1 };
    let rule = Cut { pieces, min_block_size: min_block_size.unwrap_or(1) };
    Placement::new(&vars, &order, rule, servers, method)
}
