//! `gen_nccl_id`: the workers of a job form the group over which they all-reduce gradients.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, kernel, sig};
use oarlock_transpile::ops::{FUSE, HIERARCHICAL, PROGRAM};

use super::EXCHANGES;
use super::comm_init::{Group, options_of, ring_value};
use crate::Groups;

pub(super) const OPS: &[&dyn OpDef] = &[&GenNcclId];

struct GenNcclId;

impl OpDef for GenNcclId {
    sig! {
        "gen_nccl_id": "joins the group of all workers; NCCLID stands for its communication groups";
        out "NCCLID": "the first communication group; the others are declared beside it";
        attr "trainers": "the endpoints of all workers";
        attr "trainer_id": "which of them this is";
        attr "nccl_comm_num" = 1, "how many communication groups";
        attr HIERARCHICAL = false, "communication groups inside nodes and between them";
        attr "hierarchical_allreduce_inter_nranks" = 1, "how many workers are inside a node; found out here";
        attr PROGRAM = Vec::<String>::new(), "lines that must be the same on all workers";
        attr FUSE = -1.0f32, "MiB up to which gradients are exchanged together; below 0: as the runtime is set";
        traits EXCHANGES;
    }

    fn infer(&self, _: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (attrs, out) = (p.attrs(), p.output("NCCLID")?);
        let (endpoints, rank) = (attrs.strs("trainers")?.to_vec(), attrs.count("trainer_id")?);
        let (count, hierarchical) = (attrs.count("nccl_comm_num")?, attrs.bool(HIERARCHICAL)?);
        let group =
            Group { rank, endpoints, program: attrs.strs(PROGRAM)?.to_vec(), fuse_mb: attrs.f32(FUSE)?, hierarchical };
        kernel(move |io| {
            let groups = Groups::of(io.runtime());
            groups.join(options_of(io.runtime(), &group))?;
            (0..count.max(1)).try_for_each(|ring| groups.open(ring as i32))?;
            *io.write(out)? = ring_value(group.endpoints.len());
            Ok(())
        })
    }
}
