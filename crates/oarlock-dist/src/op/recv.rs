//! `recv`: fetches variables, parameters as a rule, from the servers that hold them.

use oarlock_ir::{Infer, Kernel, Name, Op, OpDef, Prepare, Result, Sig, Traits};

use super::{COMMUNICATES, needs_cluster};

pub(super) const OPS: &[&dyn OpDef] = &[&Recv];

/// A `recv` of variables, each from its endpoint, after whatever writes `after`.
pub(crate) fn recv(variables: Vec<Name>, after: Option<&Name>, endpoints: Vec<String>, trainer_id: i32) -> Op {
    Op::new("recv")
        .input("X", after)
        .output("Out", variables)
        .attr("epmap", endpoints)
        .attr("recv_varnames", Vec::<String>::new())
        .attr("varnames", Vec::<String>::new())
        .attr("trainer_id", trainer_id)
        .attr("with_barrier", true)
        .attr("do_not_run", 0)
}

struct Recv;

impl OpDef for Recv {
    fn sig(&self) -> Sig {
        Sig::new("recv", "fetches each variable of Out from its endpoint")
            .optional_inputs("X", "is not read: what writes it comes before")
            .outputs("Out", "tensors as declared")
            .attr("epmap", Vec::<String>::new(), "the endpoint of each variable, or of each section")
            .attr(
                "recv_varnames",
                Vec::<String>::new(),
                "the names on the servers, if Out is joined while it is fetched",
            )
            .attr("varnames", Vec::<String>::new(), "not used")
            .attr("trainer_id", 0, "who asks")
            .attr("with_barrier", true, "wait until the servers finished the step")
            .attr("do_not_run", 0, "1: a communicator fetches in its own time, and this operator does nothing")
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
