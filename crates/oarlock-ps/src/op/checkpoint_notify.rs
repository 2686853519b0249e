//! `checkpoint_notify`: tells the servers to save their parts of a table, each to `<dir>/__lookup_table__/<table>_<server>`.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, kernel, sig};

use super::COMMUNICATES;
use crate::client::Client;

pub(super) const OPS: &[&dyn OpDef] = &[&CheckpointNotify];

struct CheckpointNotify;

impl OpDef for CheckpointNotify {
    sig! {
        "checkpoint_notify": "every server saves its part of a table, as selected rows";
        attr "epmap": "all servers";
        attr "dir": "where to save";
        attr "lookup_table": "which table";
        attr "trainer_id" = 0, "who asks";
        traits COMMUNICATES;
    }

    fn infer(&self, _: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let attrs = p.attrs();
        let servers = attrs.strs("epmap")?.to_vec();
        let (dir, table) = (attrs.str("dir")?.to_string(), attrs.str("lookup_table")?.to_string());
        let trainer = attrs.count("trainer_id")? as u32;
        kernel(move |io| Client::of(io.runtime()).save_table(trainer, &servers, &dir, &table))
    }
}
