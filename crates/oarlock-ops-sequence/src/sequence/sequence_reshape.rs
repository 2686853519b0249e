//! `sequence_reshape`: the same numbers in rows of another width, sequence by sequence.

use oarlock_ir::{AttrView, Dim, GradOp, Infer, Kernel, Kind, OpDef, Prepare, Result, Traits, fail, kernel, sig};
use oarlock_ops_support::checks;
use oarlock_ops_support::lod_rows;
use oarlock_tensor::Dims;

pub(crate) const OPS: &[&dyn OpDef] = &[&SequenceReshape, &GRAD];

struct SequenceReshape;

impl OpDef for SequenceReshape {
    sig! {
        "sequence_reshape": "Out holds the numbers of each innermost sequence of X in rows of new_dim";
        in "X": "matrix with LoD";
        out "Out": "matrix with LoD";
        attr "new_dim": "width of a row; must divide the numbers of every sequence";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.input("X")?;
        if x.shape.rank() != 2 {
            return Err(cx.shape_error(format!("needs a matrix, but has {}", cx.describe("X"))));
        }
        let width = new_dim(&cx.attrs())?;
        cx.set("Out", x.with_shape(vec![Dim::Any, Dim::Is(width)]));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out) = (p.input("X")?, p.output("Out")?);
        let new = new_dim(&p.attrs())?;
        kernel(move |io| {
            let from = io.dense(x)?;
            let offsets = lod_rows::offsets(io, x, &from)?;
            let old = from.dims().matrix(1).1;
            if let Some(i) = offsets.windows(2).position(|w| (w[1] - w[0]) * old % new != 0) {
                let numbers = (offsets[i + 1] - offsets[i]) * old;
                let what = format!("sequence {i} holds {numbers} numbers, which rows of {new} cannot hold");
                return Err(io.error(Kind::Shape, x, what));
            }
            let mut to = io.out_sized(out, from.dtype(), Dims::from([from.numel() / new, new]))?;
            to.set_lod(lod_rows::lod_of(from.lod(), offsets.windows(2).map(|w| (w[1] - w[0]) * old / new)));
            to.bytes_mut().copy_from_slice(from.bytes());
            Ok(())
        })
    }
}

fn new_dim(attrs: &AttrView<'_>) -> Result<usize> {
    match attrs.count("new_dim")? {
        0 => fail!(Kind::Argument, "attribute `new_dim` of `sequence_reshape` must be at least 1"),
        n => Ok(n),
    }
}

const GRAD: GradOp = GradOp::of(&SequenceReshape, "sequence_reshape_grad(Out@GRAD, X) -> X@GRAD")
    .doc("X@GRAD is Out@GRAD in the rows of X")
    .traits(Traits::NONE.shape_only(&["X"]))
    .kernel(|p| {
        let (x, dout, dx) = (p.input("X")?, p.input("Out@GRAD")?, p.output("X@GRAD")?);
        kernel(move |io| {
            let (like, from) = (io.dense(x)?, io.dense(dout)?);
            checks::expect_elements(io, dout, from.numel(), like.numel())?;
            let mut to = io.out_sized(dx, from.dtype(), *like.dims())?;
            to.set_lod(like.lod().clone());
            to.bytes_mut().copy_from_slice(from.bytes());
            Ok(())
        })
    });

#[test]
fn sequence_reshape() {
    use crate::testing::{check, noise, tensor, with_lod};
    check("sequence_reshape")
        .input("X", with_lod(tensor([3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), &[&[0, 1, 3]]))
        .attr("new_dim", 1)
        .output("Out", with_lod(tensor([6, 1], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), &[&[0, 2, 6]]))
        .grad(&["X"])
        .run();
    let odd = with_lod(noise([3, 2], 1), &[&[0, 1, 3]]);
    let e = check("sequence_reshape").input("X", odd).attr("new_dim", 4).any_output("Out").error();
    assert!(e.contains("sequence 0 holds 2 numbers, which rows of 4 cannot hold"), "{e}");
}
