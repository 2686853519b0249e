//! `sequence_reverse`: turns each sequence round.

use oarlock_ir::{Grad, In, Infer, Io, Kernel, OpDef, Prepare, Result, sig};
use oarlock_ops_support::lod_rows::{self, RowMap};
use oarlock_tensor::{Lod, Tensor};

pub(crate) const OPS: &[&dyn OpDef] = &[&SequenceReverse];

struct SequenceReverse;

impl OpDef for SequenceReverse {
    sig! {
        "sequence_reverse": "Y holds the rows of each innermost sequence of X, last row first";
        in "X": "with LoD";
        out "Y": "like `X`";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.same("Y", "X")
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        lod_rows::gather_kernel(p, Reverse, "Y")
    }

    // Turned round once more.
    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let mut op = g.make("sequence_reverse", &[], &[]);
        op.inputs.set("X", g.arguments("Y@GRAD"));
        op.outputs.set("Y", g.input_grads("X"));
        g.push(op)
    }
}

struct Reverse;

impl RowMap for Reverse {
    fn sources(&self, io: &Io<'_>, (input, x): (In, &Tensor), sources: &mut Vec<usize>) -> Result<Lod> {
        for w in lod_rows::offsets(io, input, x)?.windows(2) {
            sources.extend((w[0]..w[1]).rev());
        }
        Ok(x.lod().clone())
    }
}

#[test]
fn sequence_reverse() {
    use crate::testing::{check, tensor, with_lod};
    check("sequence_reverse")
        .input("X", with_lod(tensor([4, 1], &[1.0, 2.0, 3.0, 4.0]), &[&[0, 3, 3, 4]]))
        .output("Y", with_lod(tensor([4, 1], &[3.0, 2.0, 1.0, 4.0]), &[&[0, 3, 3, 4]]))
        .grad(&["X"])
        .run();
}
