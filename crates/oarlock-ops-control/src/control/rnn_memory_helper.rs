//! `rnn_memory_helper`: a copy under another name, by which a recurrent network tells its states and outputs apart.

use oarlock_ir::{GradOp, Infer, Kernel, OpDef, Prepare, Result, Traits, kernel, sig};

use crate::control::block_steps;

pub(crate) const OPS: &[&dyn OpDef] = &[&RnnMemoryHelper, &GRAD];

struct RnnMemoryHelper;

impl OpDef for RnnMemoryHelper {
    sig! {
        "rnn_memory_helper": "Out = X";
        in "X": "any tensor";
        out "Out": "like `X`";
        attr "dtype" = 5, "element type, as `X` has it";
        traits Traits::X_TO_OUT;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.same("Out", "X")
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out) = (p.input("X")?, p.output("Out")?);
        kernel(move |io| io.update(x, out).map(drop))
    }
}

const GRAD: GradOp = GradOp::of(&RnnMemoryHelper, "rnn_memory_helper_grad(X, Out?, Out@GRAD?) -> X@GRAD")
    .doc("X@GRAD = Out@GRAD, or zeros if there is none")
    .traits(Traits { handed_in: true, ..Traits::NONE }.shape_only(&["X", "Out"]).maybe_empty(&["Out@GRAD", "Out"]))
    .kernel(|p| {
        let (x, given, out) = (p.input("X")?, p.maybe_input("Out@GRAD")?, p.output("X@GRAD")?);
        kernel(move |io| {
            if let Some(given) = given
                && !io.value(given)?.is_empty()
            {
                return io.update(given, out).map(drop);
            }
            block_steps::zeros_like(&mut *io.write(out)?, &*io.value(x)?);
            Ok(())
        })
    });

#[test]
fn rnn_memory_helper() {
    use crate::testing::{check, noise, with_lod};
    let x = with_lod(noise([3, 2], 1), &[&[0, 1, 3]]);
    check("rnn_memory_helper").input("X", x.clone()).output("Out", x).grad(&["X"]).run();
    let x = noise([2], 2);
    let zeros = crate::testing::tensor([2], &[0.0, 0.0]);
    check("rnn_memory_helper_grad").input("X", x).output("X@GRAD", zeros).run();
}
