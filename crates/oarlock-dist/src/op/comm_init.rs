//! The operators by which equal workers meet: `c_gen_nccl_id` joins them, `c_comm_init` makes a ring of them.

use oarlock_ir::{Error, Infer, Kernel, Kind, OpDef, Prepare, Result, Sig, Traits, kernel};
use oarlock_tensor::{Tensor, Value};

use super::COMMUNICATES;
use crate::collective::{GroupOptions, Rings};

pub(super) const OPS: &[&dyn OpDef] = &[&GenId, &Init, &InitAll];

/// The attribute that lists what all workers must have in common.
pub(crate) const PROGRAM: &str = "oarlock_program";

/// What a ring's variable holds: how many workers there are. Their connections are in the runtime.
pub(super) fn ring_value(world: usize) -> Value {
    Value::Dense(Tensor::scalar(world as i64))
}

struct GenId;

impl OpDef for GenId {
    fn sig(&self) -> Sig {
        Sig::new("c_gen_nccl_id", "the workers meet; Out names them")
            .output("Out", "the workers, once joined")
            .attr("endpoint", "", "where this worker listens")
            .attr("other_endpoints", Vec::<String>::new(), "where the others listen, in the order of ranks")
            .attr("rank", 0, "which of the workers this is")
            .attr(PROGRAM, Vec::<String>::new(), "what all workers must have in common")
    }

    fn infer(&self, _: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (attrs, out) = (p.attrs(), p.output("Out")?);
        let (rank, own) = (attrs.count("rank")?, attrs.str("endpoint")?.to_string());
        let (mut endpoints, program) = (attrs.strs("other_endpoints")?.to_vec(), attrs.strs(PROGRAM)?.to_vec());
        if rank > endpoints.len() {
            let what = format!("`c_gen_nccl_id` of rank {rank} lists {} others", endpoints.len());
            return Err(Error::new(Kind::Argument, what).help("workers are counted from 0"));
        }
        endpoints.insert(rank, own);
        kernel(move |io| {
            let options = GroupOptions::of(io.runtime(), rank, endpoints.clone());
            Rings::of(io.runtime()).join(GroupOptions { program: program.clone(), ..options })?;
            *io.write(out)? = ring_value(endpoints.len());
            Ok(())
        })
    }

    fn traits(&self) -> Traits {
        COMMUNICATES
    }
}

struct Init;

impl OpDef for Init {
    fn sig(&self) -> Sig {
        Sig::new("c_comm_init", "makes a ring of the workers that X names")
            .input("X", "the workers")
            .required_attr("nranks", "how many workers there are")
            .required_attr("rank", "which of them this is")
            .attr("ring_id", 0, "which ring")
            .hints(&["device_id"])
    }

    fn infer(&self, _: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (ring, ranks, x) = (p.attrs().int("ring_id")? as i32, p.attrs().count("nranks")?, p.input("X")?);
        kernel(move |io| {
            let world = io.index(x)?;
            if world != ranks as i64 {
                return Err(io.op_error(Kind::Argument, format!("is for {ranks} workers, and {world} have met")));
            }
            Rings::of(io.runtime()).open(ring)
        })
    }

    fn traits(&self) -> Traits {
        COMMUNICATES
    }
}

struct InitAll;

impl OpDef for InitAll {
    fn sig(&self) -> Sig {
        Sig::new("c_comm_init_all", "a ring of all devices of this process")
            .attr("ring_id", 0, "which ring")
            .hints(&["devices"])
    }

    fn infer(&self, _: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, _: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let what = "`c_comm_init_all` makes a ring of the devices of one process, and a CPU is one device";
        Err(Error::new(Kind::Unsupported, what).help(
            "for threads use `CompiledProgram(program).with_data_parallel(loss_name)` on the program from before it was \
             transpiled; for processes the collective_mode grad_allreduce",
        ))
    }

    fn traits(&self) -> Traits {
        COMMUNICATES
    }
}
