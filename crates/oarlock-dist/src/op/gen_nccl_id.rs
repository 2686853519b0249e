//! `gen_nccl_id`: the workers of a job agree on the rings over which they exchange gradients.

use oarlock_ir::{Infer, Kernel, Name, Op, OpDef, Prepare, Result, Sig, Traits};

use super::{COMMUNICATES, needs_cluster};

pub(super) const OPS: &[&dyn OpDef] = &[&GenNcclId];

/// Which rings there are.
pub(crate) struct Rings {
    pub(crate) count: i32,
    pub(crate) hierarchical: bool,
    pub(crate) inter_ranks: i32,
}

/// A `gen_nccl_id` of one worker of many.
pub(crate) fn gen_nccl_id(id: &Name, trainers: Vec<String>, trainer_id: i32, rings: &Rings) -> Op {
    Op::new("gen_nccl_id")
        .output("NCCLID", [id])
        .attr("trainers", trainers)
        .attr("trainer_id", trainer_id)
        .attr("nccl_comm_num", rings.count)
        .attr("use_hierarchical_allreduce", rings.hierarchical)
        .attr("hierarchical_allreduce_inter_nranks", rings.inter_ranks)
}

struct GenNcclId;

impl OpDef for GenNcclId {
    fn sig(&self) -> Sig {
        Sig::new("gen_nccl_id", "NCCLID = what names the rings of a job")
            .output("NCCLID", "the first ring; the others are declared beside it")
            .required_attr("trainers", "the endpoints of all workers")
            .required_attr("trainer_id", "which of them this is")
            .attr("nccl_comm_num", 1, "how many rings")
            .attr("use_hierarchical_allreduce", false, "rings inside nodes and between them")
            .attr("hierarchical_allreduce_inter_nranks", 1, "how many workers are inside a node")
    }

    fn infer(&self, _: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        needs_cluster(p, "the other workers")
    }

    fn traits(&self) -> Traits {
        COMMUNICATES
    }
}
