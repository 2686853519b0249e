//! `fetch_barrier`: tells the servers that this trainer has all parameters of the step.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, Sig, Traits, kernel};

use super::{COMMUNICATES, FINGERPRINT};

pub(super) const OPS: &[&dyn OpDef] = &[&FetchBarrier];

struct FetchBarrier;

impl OpDef for FetchBarrier {
    fn sig(&self) -> Sig {
        Sig::new("fetch_barrier", "the end of what a trainer fetches in a step")
            .optional_inputs("X", "not read: what writes it comes before")
            .optional_outputs("Out", "what was fetched; not changed")
            .attr("endpoints", vec!["127.0.0.1:6164".to_string()], "all servers")
            .attr("trainer_id", 0, "who fetched")
            .attr(FINGERPRINT, "", "what the program is; servers of another refuse it")
    }

    fn infer(&self, _: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    // The reply that contains the parameters of a step is the end of the step: there is nothing left to say.
    fn prepare(&self, _: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        kernel(|_| Ok(()))
    }

    fn traits(&self) -> Traits {
        COMMUNICATES
    }
}
