//! The operators that form groups of collective workers: `c_gen_nccl_id` joins the group, `c_comm_init` makes a communication group of it.

use oarlock_ir::{Error, Infer, Kernel, Kind, OpDef, Prepare, Result, Runtime, kernel, sig};
use oarlock_tensor::{Tensor, Value};
use oarlock_transpile::ops::{FUSE, HIERARCHICAL, PROGRAM, WORKERS};

use super::EXCHANGES;
use crate::{GroupOptions, Groups};

pub(super) const OPS: &[&dyn OpDef] = &[&GenId, &Init, &InitAll];

/// The settings of a runtime, with those of an operator.
pub(super) fn options_of(runtime: &Runtime, attrs: &Group) -> GroupOptions {
    let options = GroupOptions::of(runtime, attrs.rank, attrs.endpoints.clone());
    let fuse_bytes = match attrs.fuse_mb {
        mb if mb >= 0.0 => (f64::from(mb) * f64::from(1 << 20)) as usize,
        _ => options.fuse_bytes,
    };
    let hierarchical = attrs.hierarchical || options.hierarchical;
    GroupOptions { program: attrs.program.clone(), fuse_bytes, hierarchical, ..options }
}

/// The attributes of an operator that joins a group.
pub(super) struct Group {
    pub(super) rank: usize,
    pub(super) endpoints: Vec<String>,
    pub(super) program: Vec<String>,
    pub(super) fuse_mb: f32,
    pub(super) hierarchical: bool,
}

/// The value of a communication group's variable: the number of ranks. Their connections are in the runtime.
pub(super) fn ring_value(world: usize) -> Value {
    Value::Dense(Tensor::scalar(world as i64))
}

struct GenId;

impl OpDef for GenId {
    sig! {
        "c_gen_nccl_id": "joins the group of all workers; Out stands for it";
        out "Out": "the group";
        attr "endpoint" = "", "where this worker listens";
        attr "other_endpoints" = Vec::<String>::new(), "where the others listen, in the order of ranks";
        attr "rank" = 0, "which of the workers this is";
        attr PROGRAM = Vec::<String>::new(), "lines that must be the same on all workers";
        attr FUSE = -1.0f32, "MiB up to which gradients are exchanged together; below 0: as the runtime is set";
        attr HIERARCHICAL = false, "the workers of a machine first, then one of each machine";
        traits EXCHANGES;
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
            return Err(Error::new(Kind::Argument, what).help("ranks are counted from 0"));
        }
        endpoints.insert(rank, own);
        let hierarchical = attrs.bool(HIERARCHICAL)?;
        let group = Group { rank, endpoints, program, fuse_mb: attrs.f32(FUSE)?, hierarchical };
        kernel(move |io| {
            Groups::of(io.runtime()).join(options_of(io.runtime(), &group))?;
            *io.write(out)? = ring_value(group.endpoints.len());
            Ok(())
        })
    }
}

struct Init;

impl OpDef for Init {
    sig! {
        "c_comm_init": "makes a communication group of the group X";
        in "X": "the group";
        attr "nranks": "how many workers there are";
        attr "rank": "which of them this is";
        attr "ring_id" = 0, "which communication group";
        hints ["device_id"];
        traits EXCHANGES;
    }

    fn infer(&self, _: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (ring, ranks, x) = (p.attrs().int("ring_id")? as i32, p.attrs().count("nranks")?, p.input("X")?);
        kernel(move |io| {
            let world = io.index(x)?;
            if world != ranks as i64 {
                return Err(io.op_error(Kind::Argument, format!("is for {ranks} workers, but the group has {world}")));
            }
            Groups::of(io.runtime()).open(ring)
        })
    }
}

/// No process connects to one that exchanges nothing with others.
const ALONE: &str = "127.0.0.1:0";

struct InitAll;

impl OpDef for InitAll {
    sig! {
        "c_comm_init_all": "a communication group of this process alone; replicas of a run are summed inside it";
        attr "ring_id" = 0, "which communication group";
        attr WORKERS = 1, "how many workers the program was made for";
        hints ["devices"];
        traits EXCHANGES;
    }

    fn infer(&self, _: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (ring, workers) = (p.attrs().int("ring_id")? as i32, p.attrs().int(WORKERS)?);
        if workers > 1 {
            let what = format!("`c_comm_init_all` is for one process, and the program was made for {workers} workers");
            return Err(Error::new(Kind::Unsupported, what).help(
                "for threads of one process list one endpoint, and run `CompiledProgram(program).with_data_parallel(loss_name)`; for \
                 several processes use the collective_mode grad_allreduce",
            ));
        }
        kernel(move |io| {
            let groups = Groups::of(io.runtime());
            groups.join(GroupOptions::of(io.runtime(), 0, vec![ALONE.to_string()]))?;
            groups.open(ring)
        })
    }
}
