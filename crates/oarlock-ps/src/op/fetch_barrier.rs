//! `fetch_barrier`: tells the servers that this trainer has all parameters of the step.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, kernel, sig};

use super::{COMMUNICATES, FINGERPRINT};

pub(super) const OPS: &[&dyn OpDef] = &[&FetchBarrier];

struct FetchBarrier;

impl OpDef for FetchBarrier {
    sig! {
        "fetch_barrier": "the end of what a trainer fetches in a step";
        in*? "X": "not read: what writes it comes before";
        out*? "Out": "what was fetched; not changed";
        attr "endpoints" = vec!["127.0.0.1:6164".to_string()], "all servers";
        attr "trainer_id" = 0, "who fetched";
        attr FINGERPRINT = "", "what the program is; servers of another refuse it";
        traits COMMUNICATES;
    }

    fn infer(&self, _: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    // The reply that contains the parameters of a step is the end of the step: there is nothing left to say.
    fn prepare(&self, _: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        kernel(|_| Ok(()))
    }
}
