//! `listen_and_serv`: a parameter server. Its blocks say what is done with what arrives.

use oarlock_ir::{Error, Infer, Kernel, Kind, OpDef, Prepare, Result, sig};
use oarlock_transpile::ops::{FINGERPRINT, MAX_STALENESS, RATES, SERVERS, STEP_NOTICES};

use super::COMMUNICATES;

pub(super) const OPS: &[&dyn OpDef] = &[&ListenAndServ];

struct ListenAndServ;

impl OpDef for ListenAndServ {
    sig! {
        "listen_and_serv": "serves parameters until every trainer has left";
        in*? "X": "the variables that trainers send";
        attr "endpoint": "where it listens";
        attr "pserver_id" = -1, "which of the servers this is";
        attr "Fanin" = 1, "how many trainers there are";
        attr "distributed_mode" = 0, "0 sync, 1 async, 2 half-async, 3 geo";
        attr "optimize_blocks": "the blocks that update parameters, that of the learning rate first";
        attr "grad_to_block_id" = Vec::<String>::new(), "`gradient:block`: which block a gradient feeds";
        attr "sparse_grad_to_param" = Vec::<String>::new(), "`gradient:parameter` of row-sparse gradients";
        attr "lr_decay_block_id" = -1, "the block that computes the learning rate; -1 if it is constant";
        attr "checkpint_block_id" = -1, "the block that saves tables (the name is spelt as in saved programs)";
        attr "prefetch_var_name_to_block_id" = Vec::<String>::new(), "`ids:block`: which block looks rows up";
        attr "dc_asgd" = false, "updates are compensated for their delay";
        attr MAX_STALENESS = -1, "a trainer waits when it is more pushes than this ahead of another; -1: never";
        attr STEP_NOTICES = Vec::<String>::new(),
            "what trainers send that do not wait for each other: how many steps they made";
        attr RATES = Vec::<String>::new(), "learning rates that trainers send with their gradients";
        attr FINGERPRINT = "", "what the program is; trainers of another are refused";
        attr SERVERS = 0, "how many servers the job has; 0 if that is not known";
        hints ["rpc_get_thread_num", "rpc_send_thread_num", "rpc_prefetch_thread_num"];
        traits COMMUNICATES;
    }

    fn infer(&self, _: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let what = format!("`{}` is a whole program, and here it is one operator of many", p.op().op_type);
        Err(Error::new(Kind::Unsupported, what)
            .help("run the program of a server as the transpiler gives it, with an executor that can serve"))
    }
}
