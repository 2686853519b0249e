//! `c_sync_calc_stream` and `c_sync_comm_stream`: computation, or exchanges, are complete before the next operator.

use oarlock_ir::{In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Sig, kernel};
use oarlock_tensor::Value;
use oarlock_transpile::ops::WAITS;

use super::EXCHANGES;
use crate::Groups;

pub(super) const OPS: &[&dyn OpDef] = &[
    &Order { op_type: "c_sync_calc_stream", doc: "Out = X, after everything that is being computed" },
    &Order { op_type: WAITS, doc: "Out = X, after everything that is being exchanged" },
];

/// Computation is complete when the next operator starts; exchanged values come from a stream that works beside it.
struct Order {
    op_type: &'static str,
    doc: &'static str,
}

impl OpDef for Order {
    fn sig(&self) -> Sig {
        Sig::new(self.op_type, self.doc)
            .inputs("X", "any tensors")
            .outputs("Out", "the same tensors")
            .attr("ring_id", 0, "which communication group")
            .traits(EXCHANGES.in_place(&[("X", "Out")]))
    }

    fn infer(&self, _: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let pairs: Vec<(In, Option<Out>)> = p.inputs("X")?.into_iter().zip(p.outputs("Out")?).collect();
        let (waits, ring) = (self.op_type == WAITS, p.attrs().int("ring_id")? as i32);
        kernel(move |io| {
            if waits {
                put_back(io, ring)?;
            }
            for (x, out) in &pairs {
                if let Some(out) = out.filter(|out| !out.is(*x)) {
                    let from = io.value(*x)?;
                    io.write(out)?.copy_from(&from).map_err(|e| io.about(out.0, e))?;
                }
            }
            Ok(())
        })
    }
}

/// Puts what was exchanged back where it was taken from. A program that exchanges nothing has no communication group to wait for.
fn put_back(io: &Io<'_>, ring: i32) -> Result<()> {
    let Ok(stream) = Groups::of(io.runtime()).ring(ring) else { return Ok(()) };
    for item in stream.finish_step()? {
        let Some(mut slot) = io.frame().write(item.place) else {
            return Err(io.op_error(Kind::Internal, format!("cannot give `{}` back", item.name)));
        };
        *slot = Value::Dense(item.tensor);
    }
    Ok(())
}
