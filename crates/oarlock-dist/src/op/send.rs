//! `send`: sends variables, gradients as a rule, to the servers that hold them.

use oarlock_ir::{Infer, Kernel, Name, Op, OpDef, Prepare, Result, Sig, Traits};

use super::{COMMUNICATES, needs_cluster};

pub(super) const OPS: &[&dyn OpDef] = &[&Send];

/// A `send` of variables, each to its endpoint. `out` only orders operators: what reads it comes after the send.
pub(crate) fn send(variables: Vec<Name>, out: &Name, endpoints: Vec<String>, trainer_id: i32) -> Op {
    Op::new("send")
        .input("X", variables)
        .output("Out", [out])
        .attr("epmap", endpoints)
        .attr("send_varnames", Vec::<String>::new())
        .attr("sections", Vec::<i64>::new())
        .attr("trainer_id", trainer_id)
        .attr("num", 0)
        .attr("merge_add", false)
        .attr("use_send_handler", true)
}

struct Send;

impl OpDef for Send {
    fn sig(&self) -> Sig {
        Sig::new("send", "sends each variable of X to its endpoint")
            .inputs("X", "tensors or selected rows")
            .optional_outputs("Out", "holds nothing; what reads it comes after the send")
            .attr("epmap", vec!["127.0.0.1:6164".to_string()], "the endpoint of each variable, or of each section")
            .attr("send_varnames", Vec::<String>::new(), "the names on the servers, if X is cut while it is sent")
            .attr("sections", Vec::<i64>::new(), "the rows of each section, if X is cut while it is sent")
            .attr("trainer_id", 0, "who sends")
            .attr("num", 0, "not used")
            .attr("merge_add", false, "add up what waits to be sent, rather than average it")
            .attr("use_send_handler", true, "send as a variable; otherwise as a notice that the server acts upon")
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
