//! `listen_and_serv`: a parameter server. Its blocks say what is done with what arrives.

use oarlock_ir::{Attr, Error, Infer, Kernel, Kind, Name, Op, OpDef, Prepare, Result, Sig, Traits};

use super::{COMMUNICATES, FINGERPRINT, strings};

pub(super) const OPS: &[&dyn OpDef] = &[&ListenAndServ];

/// What differs from server to server.
pub(crate) struct Serve {
    pub(crate) received: Vec<Name>,
    pub(crate) endpoint: String,
    pub(crate) server: i32,
    pub(crate) servers: usize,
    pub(crate) trainers: i32,
    pub(crate) mode: i32,
    pub(crate) optimize_blocks: Vec<usize>,
    pub(crate) grad_to_block: Vec<String>,
    pub(crate) sparse_grad_to_param: Vec<String>,
    pub(crate) prefetch_to_block: Vec<String>,
    pub(crate) lr_block: Option<usize>,
    pub(crate) step_notices: Vec<Name>,
    pub(crate) rates: Vec<Name>,
    pub(crate) dc_asgd: bool,
    pub(crate) max_staleness: Option<u32>,
    pub(crate) fingerprint: String,
}

/// By how many steps trainers that do not wait for each other may be apart.
pub(crate) const MAX_STALENESS: &str = "max_staleness";

/// Notices of trainers that they made a step: the schedule of the learning rate goes on.
pub(crate) const STEP_NOTICES: &str = "oarlock_step_notices";

/// Learning rates that trainers send with their gradients.
pub(crate) const RATES: &str = "oarlock_rates";

/// How many servers the job has.
pub(crate) const SERVERS: &str = "oarlock_servers";

/// Threads per kind of request, as Fluid's flags `rpc_*_thread_num` say; Oarlock's servers choose for themselves.
const THREADS: i32 = 12;

/// The one operator of block 0 of a server's program.
pub(crate) fn listen_and_serv(serve: Serve) -> Op {
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

struct ListenAndServ;

impl OpDef for ListenAndServ {
    fn sig(&self) -> Sig {
        Sig::new("listen_and_serv", "serves parameters until every trainer has left")
            .optional_inputs("X", "the variables that trainers send")
            .required_attr("endpoint", "where it listens")
            .attr("pserver_id", -1, "which of the servers this is")
            .attr("Fanin", 1, "how many trainers there are")
            .attr("distributed_mode", 0, "0 sync, 1 async, 2 half-async, 3 geo")
            .required_attr("optimize_blocks", "the blocks that update parameters, that of the learning rate first")
            .attr("grad_to_block_id", Vec::<String>::new(), "`gradient:block`: which block a gradient feeds")
            .attr("sparse_grad_to_param", Vec::<String>::new(), "`gradient:parameter` of row-sparse gradients")
            .attr("lr_decay_block_id", -1, "the block that computes the learning rate; -1 if it is constant")
            .attr("checkpint_block_id", -1, "the block that saves tables (the name is spelt as in saved programs)")
            .attr("prefetch_var_name_to_block_id", Vec::<String>::new(), "`ids:block`: which block looks rows up")
            .attr("dc_asgd", false, "updates are compensated for their delay")
            .attr(MAX_STALENESS, -1, "a trainer waits when it is more pushes than this ahead of another; -1: never")
            .attr(
                STEP_NOTICES,
                Vec::<String>::new(),
                "what trainers send that do not wait for each other: how many steps they made",
            )
            .attr(RATES, Vec::<String>::new(), "learning rates that trainers send with their gradients")
            .attr(FINGERPRINT, "", "what the program is; trainers of another are refused")
            .attr(SERVERS, 0, "how many servers the job has; 0 if that is not known")
            .hints(&["rpc_get_thread_num", "rpc_send_thread_num", "rpc_prefetch_thread_num"])
    }

    fn infer(&self, _: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let what = format!("`{}` is a whole program, and here it is one operator of many", p.op().op_type);
        Err(Error::new(Kind::Unsupported, what)
            .help("run the program of a server as the transpiler gives it, with an executor that can serve"))
    }

    fn traits(&self) -> Traits {
        COMMUNICATES
    }
}
