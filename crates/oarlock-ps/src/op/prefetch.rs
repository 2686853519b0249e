//! `prefetch`: asks each server for the rows of its ids.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, Sig, Traits};

use super::{COMMUNICATES, needs_cluster};

pub(super) const OPS: &[&dyn OpDef] = &[&Prefetch];

struct Prefetch;

impl OpDef for Prefetch {
    fn sig(&self) -> Sig {
        Sig::new("prefetch", "Out[k] = the rows that server k holds for the ids X[k]")
            .inputs("X", "i64 ids, one tensor per server")
            .outputs("Out", "rows, as many as there are ids")
            .required_attr("epmap", "the server of each tensor of ids")
            .attr("trainer_id", 0, "who asks")
    }

    // The width is that of the table, which this operator does not name: the declared types stay.
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
