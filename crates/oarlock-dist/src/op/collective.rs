//! The operators by which equal workers exchange values: `c_allreduce_sum`, `c_broadcast`, the set-up of their rings, and
//! the two that order computing and exchanging. They share one signature and one file because they differ in one word.

use oarlock_ir::{In, Infer, Kernel, Name, Op, OpDef, Out, Prepare, Result, Sig, Traits, kernel};

use super::{COMMUNICATES, needs_cluster};

pub(super) const OPS: &[&dyn OpDef] = &[
    &Exchange { op_type: "c_allreduce_sum", doc: "Out = the sum of X over all workers of the ring" },
    &Exchange { op_type: "c_broadcast", doc: "Out = X of the worker `root`" },
    &SetUp { op_type: "c_gen_nccl_id", doc: "the workers agree on a ring" },
    &SetUp { op_type: "c_comm_init", doc: "joins a ring" },
    &SetUp { op_type: "c_comm_init_all", doc: "a ring of all devices of this process" },
    &Order { op_type: "c_sync_calc_stream", doc: "Out = X, after everything that is being computed" },
    &Order { op_type: "c_sync_comm_stream", doc: "Out = X, after everything that is being exchanged on the ring" },
];

/// An exchange of one variable in place.
pub(crate) fn collective(op_type: &str, variable: &Name, ring: i32) -> Op {
    Op::new(op_type).input("X", [variable]).output("Out", [variable]).attr("ring_id", ring)
}

/// An operator that orders what comes before and after it.
pub(crate) fn sync_stream(op_type: &str, variables: Vec<Name>) -> Op {
    Op::new(op_type).input("X", variables.clone()).output("Out", variables)
}

struct Exchange {
    op_type: &'static str,
    doc: &'static str,
}

impl OpDef for Exchange {
    fn sig(&self) -> Sig {
        Sig::new(self.op_type, self.doc)
            .input("X", "any tensor")
            .output("Out", "like `X`")
            .attr("ring_id", 0, "which ring")
            .attr("root", 0, "for a broadcast: who has the value")
            .hints(&["use_calc_stream", "use_model_parallel"])
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.same("Out", "X")
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        needs_cluster(p, "the other workers")
    }

    fn traits(&self) -> Traits {
        COMMUNICATES
    }
}

struct SetUp {
    op_type: &'static str,
    doc: &'static str,
}

impl OpDef for SetUp {
    fn sig(&self) -> Sig {
        Sig::new(self.op_type, self.doc)
            .optional_input("X", "the ring, to join it")
            .optional_output("Out", "the ring, once agreed on")
            .attr("endpoint", "", "where this worker listens")
            .attr("other_endpoints", Vec::<String>::new(), "where the others listen")
            .attr("rank", 0, "which of the workers this is")
            .attr("nranks", 1, "how many workers there are")
            .attr("ring_id", 0, "which ring")
            .hints(&["device_id", "devices"])
    }

    fn infer(&self, _: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        needs_cluster(p, "the other workers")
    }

    fn traits(&self) -> Traits {
        COMMUNICATES
    }
}

/// On a CPU operators run one after the other, and an exchange ends before the next operator starts: there is nothing to
/// wait for, and the value passes through.
struct Order {
    op_type: &'static str,
    doc: &'static str,
}

impl OpDef for Order {
    fn sig(&self) -> Sig {
        Sig::new(self.op_type, self.doc).inputs("X", "any tensors").outputs("Out", "the same tensors").attr(
            "ring_id",
            0,
            "which ring",
        )
    }

    fn infer(&self, _: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let pairs: Vec<(In, Option<Out>)> = p.inputs("X")?.into_iter().zip(p.outputs("Out")?).collect();
        kernel(move |io| {
            for (x, out) in &pairs {
                if let Some(out) = out.filter(|out| !out.is(*x)) {
                    let from = io.value(*x)?;
                    io.write(out)?.copy_from(&from).map_err(|e| io.about(out.0, e))?;
                }
            }
            Ok(())
        })
    }

    fn traits(&self) -> Traits {
        COMMUNICATES
    }
}
