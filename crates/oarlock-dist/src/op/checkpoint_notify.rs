//! `checkpoint_notify`: tells the servers to save their parts of a table.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, Sig, Traits};

use super::{COMMUNICATES, needs_cluster};

pub(super) const OPS: &[&dyn OpDef] = &[&CheckpointNotify];

struct CheckpointNotify;

impl OpDef for CheckpointNotify {
    fn sig(&self) -> Sig {
        Sig::new("checkpoint_notify", "every server saves its part of a table")
            .required_attr("epmap", "all servers")
            .required_attr("dir", "where to save")
            .required_attr("lookup_table", "which table")
    }

    fn infer(&self, _: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        needs_cluster(p, "parameter servers")
    }

    fn traits(&self) -> Traits {
        COMMUNICATES
    }
}
