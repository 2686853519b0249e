//! `prefetch`: asks each server for the rows of its ids.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, sig};

use super::{COMMUNICATES, needs_cluster};

pub(super) const OPS: &[&dyn OpDef] = &[&Prefetch];

struct Prefetch;

impl OpDef for Prefetch {
    sig! {
        "prefetch": "Out[k] = the rows that server k holds for the ids X[k]";
        in* "X": "i64 ids, one tensor per server";
        out* "Out": "rows, as many as there are ids";
        attr "epmap": "the server of each tensor of ids";
        attr "trainer_id" = 0, "who asks";
        traits COMMUNICATES;
    }

    // The width is that of the table, which this operator does not name: the declared types stay.
    fn infer(&self, _: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        needs_cluster(p, "parameter servers")
    }
}
