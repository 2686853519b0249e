//! The operators that transpiled programs are made of: functions that make one, and the names of attributes that only Oarlock has.
//!
//! How they run is defined beside the kernels, in `oarlock-ps` and `oarlock-collective`; the passes here need to know no more than
//! slots and attributes.

use oarlock_ir::{Attr, Name, Op, Role};
use oarlock_tensor::DType;

/// The attributes of every operator besides its own.
pub fn with_role<N: Into<String>>(mut op: Op, role: Role, role_var: impl IntoIterator<Item = N>) -> Op {
    op.set_role(role);
    op.attrs.set("op_role_var", role_var.into_iter().map(Into::into).collect::<Vec<String>>());
    op.attrs.set("op_namescope", "/");
    op.attrs.set("op_device", "");
    op
}

/// No parameter belongs to the operator.
pub const NO_VARS: [&str; 0] = [];

/// Names as the list of strings that an attribute holds.
pub fn strings<'a>(names: impl IntoIterator<Item = &'a Name>) -> Vec<String> {
    names.into_iter().map(Name::to_string).collect()
}

/// The attribute that says what a program is, as far as trainers and servers must agree.
pub const FINGERPRINT: &str = "oarlock_fingerprint";

/// Of several values that wait to be sent, the latest counts: a learning rate is neither added up nor averaged.
pub const LATEST: &str = "oarlock_latest";

/// A `send` of variables, each to its endpoint. `out` only orders operators: what reads it comes after the send.
pub fn send(variables: Vec<Name>, out: &Name, endpoints: Vec<String>, trainer_id: i32) -> Op {
    Op::new("send")
        .input("X", variables)
        .output("Out", [out])
        .attr("epmap", endpoints)
        .attr("send_varnames", Vec::<String>::new())
        .attr("sections", Vec::<i64>::new())
        .attr("trainer_id", trainer_id)
        .attr("num", 0)
        .attr("merge_add", false)
        .attr("use_send_handler", true)
}

/// A `send_barrier` after the sends that write `after`.
pub fn send_barrier(after: Vec<Name>, out: &Name, endpoints: &[String], trainer_id: i32) -> Op {
    Op::new("send_barrier")
        .input("X", after)
        .output("Out", [out])
        .attr("endpoints", endpoints.to_vec())
        .attr("trainer_id", trainer_id)
        .attr("half_async", false)
}

/// A `recv` of variables, each from its endpoint, after whatever writes `after`.
pub fn recv(variables: Vec<Name>, after: Option<&Name>, endpoints: Vec<String>, trainer_id: i32) -> Op {
    Op::new("recv")
        .input("X", after)
        .output("Out", variables)
        .attr("epmap", endpoints)
        .attr("recv_varnames", Vec::<String>::new())
        .attr("varnames", Vec::<String>::new())
        .attr("trainer_id", trainer_id)
        .attr("with_barrier", true)
        .attr("do_not_run", 0)
}

/// A `fetch_barrier`. `out` lists what was fetched, so that what reads it comes after the barrier.
pub fn fetch_barrier(after: Option<&Name>, out: Vec<Name>, endpoints: &[String], trainer_id: i32) -> Op {
    Op::new("fetch_barrier")
        .input("X", after)
        .output("Out", out)
        .attr("endpoints", endpoints.to_vec())
        .attr("trainer_id", trainer_id)
}

/// Stands in a trainer's startup program where the table's initializer stood.
pub fn fake_init(table: &Name, shape: Vec<i64>) -> Op {
    Op::new("fake_init").output("Out", [table]).attr("shape", shape)
}

/// Its type.
pub const LOOKUP: &str = "distributed_lookup_table";

/// The lookups of a reader.
pub const READ_ONLY: &str = "oarlock_read_only";

/// A lookup of `ids` in `table`. Where its blocks live is added by attribute.
pub fn distributed_lookup_table(ids: Vec<Name>, table: &Name, rows: Vec<Name>, dtype: DType) -> Op {
    Op::new(LOOKUP).input("Ids", ids).input("W", [table]).output("Outputs", rows).attr("dtype", dtype.proto())
}

/// A lookup of `ids` in a server's part of a table.
pub fn lookup_sparse_table(table: &Name, ids: &Name, out: &Name) -> Op {
    Op::new("lookup_sparse_table")
        .input("W", [table])
        .input("Ids", [ids])
        .output("Out", [out])
        .attr("padding_idx", -1i64)
        .attr("auto_grown_table", true)
        .attr("is_test", false)
}

/// Picks `variables[trainer]`.
pub fn ref_by_trainer_id(variables: Vec<Name>, trainer: &Name, out: &Name) -> Op {
    Op::new("ref_by_trainer_id").input("X", variables).input("TrainerId", [trainer]).output("Out", [out])
}

/// The means of `gradients`; trainers all-gather them at the first of the servers.
pub fn trainer_mean(gradients: Vec<Name>, means: Vec<Name>, servers: &[String], trainer: i32) -> Op {
    Op::new("trainer_mean")
        .input("X", gradients)
        .output("Out", means)
        .attr("endpoints", servers.to_vec())
        .attr("trainer_id", trainer)
}

/// The attributes that differ from server to server.
pub struct Serve {
    /// The gradients, and other variables that trainers send.
    pub received: Vec<Name>,
    /// Where the server listens.
    pub endpoint: String,
    /// Which server this is, counted from 0.
    pub server: i32,
    /// The number of servers.
    pub servers: usize,
    /// The number of trainers.
    pub trainers: i32,
    /// How trainers and servers work together, as a number.
    pub mode: i32,
    /// The blocks that update parameters.
    pub optimize_blocks: Vec<usize>,
    /// `GRADIENT:BLOCK`, one for each gradient.
    pub grad_to_block: Vec<String>,
    /// `GRADIENT:PARAMETER` of sparse tables.
    pub sparse_grad_to_param: Vec<String>,
    /// `IDS:BLOCK` of hashed tables.
    pub prefetch_to_block: Vec<String>,
    /// The block that computes the learning rate.
    pub lr_block: Option<usize>,
    /// Notices of trainers that they made a step.
    pub step_notices: Vec<Name>,
    /// Learning rates that trainers send.
    pub rates: Vec<Name>,
    /// Gradients are compensated for their delay.
    pub dc_asgd: bool,
    /// By how many steps trainers may be apart.
    pub max_staleness: Option<u32>,
    /// Identifies the program; trainers of another are refused.
    pub fingerprint: String,
}

/// By how many steps trainers that do not wait for each other may be apart.
pub const MAX_STALENESS: &str = "max_staleness";

/// Notices of trainers that they made a step: the schedule of the learning rate goes on.
pub const STEP_NOTICES: &str = "oarlock_step_notices";

/// Learning rates that trainers send with their gradients.
pub const RATES: &str = "oarlock_rates";

/// How many servers the job has.
pub const SERVERS: &str = "oarlock_servers";

/// Threads per kind of request, as Fluid's flags `rpc_*_thread_num` say; Oarlock's servers choose for themselves.
const THREADS: i32 = 12;

/// The one operator of block 0 of a server's program.
pub fn listen_and_serv(serve: Serve) -> Op {
    let mut op = Op::new("listen_and_serv")
        .input("X", serve.received)
        .attr("endpoint", serve.endpoint)
        .attr("pserver_id", serve.server)
        .attr("Fanin", serve.trainers)
        .attr("distributed_mode", serve.mode)
        .attr("grad_to_block_id", serve.grad_to_block)
        .attr("sparse_grad_to_param", serve.sparse_grad_to_param)
        .attr("lr_decay_block_id", serve.lr_block.map_or(-1, |b| b as i32))
        // Servers save tables by themselves, without a block.
        .attr("checkpint_block_id", -1)
        .attr("prefetch_var_name_to_block_id", serve.prefetch_to_block)
        .attr("dc_asgd", serve.dc_asgd)
        .attr(FINGERPRINT, serve.fingerprint)
        .attr(SERVERS, i32::try_from(serve.servers).unwrap_or(i32::MAX))
        .attr("rpc_get_thread_num", THREADS)
        .attr("rpc_send_thread_num", THREADS)
        .attr("rpc_prefetch_thread_num", THREADS);
    if let Some(steps) = serve.max_staleness {
        op.attrs.set(MAX_STALENESS, i32::try_from(steps).unwrap_or(i32::MAX));
    }
    for (name, list) in [(STEP_NOTICES, serve.step_notices), (RATES, serve.rates)] {
        if !list.is_empty() {
            op.attrs.set(name, strings(&list));
        }
    }
    op.attrs.set("optimize_blocks", Attr::Blocks(serve.optimize_blocks));
    op
}

/// The attribute that says how much the values of a worker count; sums are made up for workers that count nothing.
pub const WEIGHT: &str = "oarlock_weight";

/// An exchange of one variable in place.
pub fn collective(op_type: &str, variable: &Name, ring: i32) -> Op {
    Op::new(op_type).input("X", [variable]).output("Out", [variable]).attr("ring_id", ring)
}

/// The operators by which collective workers exchange values; `oarlock-collective` defines exactly these.
pub const COLLECTIVES: [&str; 9] = [
    "c_allreduce_sum",
    "c_allreduce_prod",
    "c_allreduce_max",
    "c_allreduce_min",
    "allreduce",
    "c_broadcast",
    "broadcast",
    "c_allgather",
    "c_reducescatter",
];

/// Does it exchange values?
pub fn is_exchange(op: &Op) -> bool {
    COLLECTIVES.contains(&op.op_type.as_str())
}

/// The attribute that lists what all workers must have in common.
pub const PROGRAM: &str = "oarlock_program";

/// The attribute that says how many workers a communication group of one process was made for.
pub const WORKERS: &str = "oarlock_workers";

/// The attribute that says up to how many MiB gradients are exchanged together; below 0 the runtime's settings count.
pub const FUSE: &str = "oarlock_fuse_mb";

/// The attribute that says that the workers of a machine exchange values first.
pub const HIERARCHICAL: &str = "use_hierarchical_allreduce";

/// The communication groups.
pub struct GroupPlan {
    /// The number of groups.
    pub count: i32,
    /// The workers of a machine exchange values first.
    pub hierarchical: bool,
    /// The number of workers of a machine.
    pub inter_ranks: i32,
}

/// A `gen_nccl_id` of one worker of many.
pub fn gen_nccl_id(id: &Name, trainers: Vec<String>, trainer_id: i32, groups: &GroupPlan) -> Op {
    Op::new("gen_nccl_id")
        .output("NCCLID", [id])
        .attr("trainers", trainers)
        .attr("trainer_id", trainer_id)
        .attr("nccl_comm_num", groups.count)
        .attr(HIERARCHICAL, groups.hierarchical)
        .attr("hierarchical_allreduce_inter_nranks", groups.inter_ranks)
}

/// The operator that waits for exchanges.
pub const WAITS: &str = "c_sync_comm_stream";

/// An operator that orders what comes before and after it.
pub fn sync_stream(op_type: &str, variables: Vec<Name>) -> Op {
    Op::new(op_type).input("X", variables.clone()).output("Out", variables)
}

/// Does it wait for exchanges?
pub fn waits_for_exchanges(op: &Op) -> bool {
    op.op_type == WAITS
}
