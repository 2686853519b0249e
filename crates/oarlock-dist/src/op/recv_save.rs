//! `recv_save`: fetches the blocks of a variable from the servers and writes them to one file.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, Sig, Traits};

use super::{COMMUNICATES, needs_cluster};

pub(super) const OPS: &[&dyn OpDef] = &[&RecvSave];

struct RecvSave;

impl OpDef for RecvSave {
    fn sig(&self) -> Sig {
        Sig::new("recv_save", "one file with the whole variable, of blocks that live on servers")
            .required_attr("endpoints", "the server of each block")
            .required_attr("remote_varnames", "the blocks")
            .required_attr("slice_shapes", "the sizes of each block, such as `50,8`")
            .required_attr("shape", "the sizes of the whole")
            .required_attr("file_path", "the file")
            .attr("overwrite", true, "replace a file that exists")
            .attr("is_sparse", false, "the variable is a table")
            .attr("is_distributed", false, "the table is hashed")
            .attr("trainer_id", 0, "who asks")
            .hints(&["dtype", "pserver_num", "with_barrier"])
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
