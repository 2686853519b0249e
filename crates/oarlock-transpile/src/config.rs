//! How to transpile: the fields of `DistributeTranspilerConfig` and the arguments of `transpile`.

use oarlock_ir::{Error, Kind, Program, Registry, Result};

use crate::placement::SplitMethod;

/// How processes train together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Trainers and parameter servers.
    Pserver,
    /// Collective workers; the data-parallel executor sums gradients, and the program only sets up the communication groups.
    Nccl2,
    /// Collective workers; the program itself has the exchange of [`CollectiveMode`].
    Collective,
}

/// The values that collective workers exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CollectiveMode {
    /// Gradients, before the update.
    GradAllreduce,
    /// Parameters, after the update.
    LocalSgd,
    /// Gradients among the threads of one process.
    SingleProcessMultiThread,
}

/// The fields of Fluid's `DistributeTranspilerConfig`.
#[derive(Debug, Clone)]
pub struct Config {
    /// Partition large variables, so that every server holds a part.
    pub slice_var_up: bool,
    /// How blocks are dealt out to servers.
    pub split_method: SplitMethod,
    /// The fewest elements of a block.
    pub min_block_size: usize,
    /// Compensate gradients for the updates that came between; without sync only.
    pub enable_dc_asgd: bool,
    /// How processes train together.
    pub mode: Mode,
    /// Print the placement ([`crate::placement::Placement`] as text); done by the program that runs the job.
    pub print_log: bool,
    /// A trainer waits until all servers listen.
    pub wait_port: bool,
    /// All trainers finish a step together. The argument of `transpile` counts, too: both must say so.
    pub sync_mode: bool,
    /// Gradients are partitioned while they are sent, by a communicator, and not by operators; without sync only.
    pub runtime_split_send_recv: bool,
    /// The threads of one trainer finish a step together.
    pub half_async: bool,
    /// The servers wait for all trainers although the trainers' programs look asynchronous: a communicator waits for them.
    pub completely_not_async: bool,
    /// A trainer waits for the others when it is more than this number of steps ahead of one (staleness bound); without sync only. Fluid has no such bound.
    pub max_staleness: Option<u32>,
    /// Train locally and exchange how far parameters moved.
    pub geo_sgd_mode: bool,
    /// After how many steps they are exchanged; the communicator counts them.
    pub geo_sgd_need_push_nums: usize,
    /// The number of communication groups of collective workers.
    pub nccl_comm_num: usize,
    /// Communication groups inside nodes and between them.
    pub use_hierarchical_allreduce: bool,
    /// How many workers a node has, for communication groups inside nodes.
    pub hierarchical_allreduce_inter_nranks: usize,
    /// The values that collective workers exchange.
    pub collective_mode: Option<CollectiveMode>,
    /// Gradients of collective workers are exchanged together up to this number of MiB; as their runtime is set if not given.
    pub fuse_grad_size_in_mb: Option<f32>,
    /// With [`CollectiveMode::LocalSgd`]: after how many steps parameters are averaged, and up to which step after each.
    pub local_sgd_k_steps: usize,
    /// See above.
    pub local_sgd_begin_step: usize,
}

impl Config {
    /// Fluid's defaults: sync, parameter servers, large variables partitioned.
    pub fn fluid() -> Config {
        Config {
            slice_var_up: true,
            split_method: SplitMethod::RoundRobin,
            min_block_size: 8192,
            enable_dc_asgd: false,
            mode: Mode::Pserver,
            print_log: false,
            wait_port: true,
            sync_mode: true,
            runtime_split_send_recv: false,
            half_async: false,
            completely_not_async: false,
            max_staleness: None,
            geo_sgd_mode: false,
            geo_sgd_need_push_nums: 100,
            nccl_comm_num: 1,
            use_hierarchical_allreduce: false,
            hierarchical_allreduce_inter_nranks: 0,
            collective_mode: None,
            fuse_grad_size_in_mb: None,
            local_sgd_k_steps: 1,
            local_sgd_begin_step: 1,
        }
    }
}

/// The trainers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trainers {
    /// Their number; they need no addresses, because they talk to servers only.
    Count(usize),
    /// These endpoints, separated by commas: collective workers connect to each other.
    Endpoints(String),
}

/// The arguments of `transpile`.
pub struct Arguments<'a> {
    /// The operators: their definitions say which need a whole tensor.
    pub registry: &'a Registry,
    /// Which trainer this is, counted from 0. Servers pass any.
    pub trainer_id: usize,
    /// The program for one machine. With parameter servers it stays as it is; collective workers train it after it was rewritten.
    pub program: &'a mut Program,
    /// Its startup program; becomes the trainer's.
    pub startup_program: &'a mut Program,
    /// The endpoints of the servers, separated by commas.
    pub pservers: &'a str,
    /// The trainers.
    pub trainers: Trainers,
    /// All trainers finish a step together.
    pub sync_mode: bool,
    /// The endpoint of this process: of collective workers it tells the rank.
    pub current_endpoint: &'a str,
    /// Instead of the config's.
    pub slice_var_up: Option<bool>,
    /// Instead of the config's.
    pub split_method: Option<SplitMethod>,
}

/// How trainers and servers work together, derived once from config and arguments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Traffic {
    /// The trainer's program holds the barriers of every step.
    pub(super) sync: bool,
    /// A communicator partitions and joins; the program has neither `split` nor `concat`.
    pub(super) runtime_split: bool,
    /// The threads of a trainer wait for each other at a barrier.
    pub(super) half_async: bool,
    /// Deltas of parameters travel rather than gradients.
    pub(super) geo: bool,
    /// The servers gather the gradients of all trainers before an update. One trainer needs no gathering.
    pub(super) merges: bool,
    /// Updates are compensated for their delay.
    pub(super) dc_asgd: bool,
    /// By how many steps trainers may be apart.
    pub(super) max_staleness: Option<u32>,
    /// The number by which `listen_and_serv` knows all this.
    pub(super) server_mode: i32,
}

const SYNC: i32 = 0;
const ASYNC: i32 = 1;
const HALF_ASYNC: i32 = 2;
const GEO: i32 = 3;

impl Traffic {
    /// Do servers wait for all trainers, whether the trainers' programs or communicators make the barriers?
    pub(super) fn waits(&self) -> bool {
        self.server_mode == SYNC
    }

    pub(super) fn new(config: &Config, sync_argument: bool, trainers: usize) -> Result<Traffic> {
        let sync = config.sync_mode && sync_argument && !config.geo_sgd_mode;
        refuse(sync && config.runtime_split_send_recv, "`runtime_split_send_recv` works without sync only")?;
        let waits = sync || config.completely_not_async;
        refuse(waits && config.enable_dc_asgd, "`enable_dc_asgd` makes up for delays, and sync training has none")?;
        refuse(
            waits && config.max_staleness.is_some(),
            "`max_staleness` bounds a delay that sync training does not have",
        )?;
        if config.geo_sgd_mode && config.max_staleness.is_some() {
            return Err(Error::new(
                Kind::Argument,
                "`max_staleness` does not bound GEO: trainers there send no gradients",
            )
            .help("set `geo_sgd_need_push_nums`, after how many steps trainers exchange what they learned"));
        }
        let server_mode = match () {
            () if config.geo_sgd_mode => GEO,
            () if waits => SYNC,
            () if config.runtime_split_send_recv => ASYNC,
            () => HALF_ASYNC,
        };
        Ok(Traffic {
            sync,
            runtime_split: config.runtime_split_send_recv,
            half_async: config.half_async,
            geo: config.geo_sgd_mode,
            merges: server_mode == SYNC && trainers > 1,
            dc_asgd: config.enable_dc_asgd,
            max_staleness: config.max_staleness,
            server_mode,
        })
    }
}

fn refuse(conflict: bool, what: &str) -> Result<()> {
    if conflict {
        return Err(Error::new(Kind::Argument, what).help("set `sync_mode` to false in the config or in `transpile`"));
    }
    Ok(())
}

/// The endpoints of a list that is separated by commas.
pub(super) fn endpoints(list: &str) -> Vec<String> {
    list.split(',').map(|e| e.trim().to_string()).filter(|e| !e.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_place_switches_sync_off() {
        let mut config = Config::fluid();
        assert_eq!(Traffic::new(&config, true, 2).unwrap().server_mode, SYNC);
        assert_eq!(Traffic::new(&config, false, 2).unwrap().server_mode, HALF_ASYNC);
        config.sync_mode = false;
        assert_eq!(Traffic::new(&config, true, 2).unwrap().server_mode, HALF_ASYNC);
        config.runtime_split_send_recv = true;
        assert_eq!(Traffic::new(&config, true, 2).unwrap().server_mode, ASYNC);
        config.completely_not_async = true;
        let fleet_sync = Traffic::new(&config, true, 2).unwrap();
        assert_eq!((fleet_sync.server_mode, fleet_sync.merges, fleet_sync.sync), (SYNC, true, false));
        config.geo_sgd_mode = true;
        assert_eq!(Traffic::new(&config, true, 2).unwrap().server_mode, GEO);
    }

    #[test]
    fn one_trainer_needs_no_merging() {
        assert!(!Traffic::new(&Config::fluid(), true, 1).unwrap().merges);
    }

    #[test]
    fn contradictions_are_named() {
        let config = Config { runtime_split_send_recv: true, ..Config::fluid() };
        assert_eq!(
            Traffic::new(&config, true, 2).unwrap_err().to_string(),
            "error[argument]: `runtime_split_send_recv` works without sync only\n  \
             help: set `sync_mode` to false in the config or in `transpile`"
        );
    }
}
