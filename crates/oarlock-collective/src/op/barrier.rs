//! `barrier`: no worker goes on before all have reached it.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, kernel, sig};

use super::EXCHANGES;
use crate::Groups;

pub(super) const OPS: &[&dyn OpDef] = &[&Barrier];

struct Barrier;

impl OpDef for Barrier {
    sig! {
        "barrier": "Out = X, once all workers have reached it";
        in? "X": "any tensor";
        out? "Out": "like `X`";
        attr "ring_id" = 0, "which ring";
        traits EXCHANGES.in_place(&[("X", "Out")]);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        if cx.wants("Out") { cx.same("Out", "X") } else { Ok(()) }
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out, ring) = (p.maybe_input("X")?, p.maybe_output("Out")?, p.attrs().int("ring_id")? as i32);
        kernel(move |io| {
            let stream = Groups::of(io.runtime()).ring(ring)?;
            stream.drain()?;
            stream.group().barrier()?;
            if let (Some(x), Some(out)) = (x, out) {
                drop(io.update(x, out)?);
            }
            Ok(())
        })
    }
}
