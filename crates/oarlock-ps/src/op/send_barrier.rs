//! `send_barrier`: the end of what a trainer sends in a step. Here everything leaves, and new parameters arrive.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, kernel, sig};

use super::{COMMUNICATES, wants};
use crate::client::Client;
use crate::communicator::Communicator;

pub(super) const OPS: &[&dyn OpDef] = &[&SendBarrier];

struct SendBarrier;

impl OpDef for SendBarrier {
    sig! {
        "send_barrier": "the end of what a trainer sends in a step";
        in*? "X": "not read: what writes it comes before";
        out*? "Out": "holds nothing; what reads it comes after the barrier";
        attr "endpoints" = vec!["127.0.0.1:6164".to_string()], "all servers";
        attr "trainer_id" = 0, "who sends";
        attr "half_async" = false, "wait for the threads of this trainer only";
        traits COMMUNICATES;
    }

    fn infer(&self, _: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let servers = p.attrs().strs("endpoints")?.to_vec();
        let trainer = p.attrs().count("trainer_id")? as u32;
        let half_async = p.attrs().bool("half_async")?;
        let wants = wants(p.program());
        kernel(move |io| {
            let communicator = Communicator::of(io.runtime());
            if let Some(communicator) = communicator.filter(|c| half_async || c.is_sync()) {
                return communicator.barrier(io.runtime());
            }
            let barrier = (!half_async).then_some(&servers[..]);
            let client = Client::of(io.runtime());
            client.exchange(trainer, barrier, &wants, &client.prefetch(io.runtime()))
        })
    }
}
