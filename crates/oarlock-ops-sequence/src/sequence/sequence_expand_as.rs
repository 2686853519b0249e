//! `sequence_expand_as`: repeats each row until it fills a sequence of a reference.

use oarlock_ir::{Dim, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Traits, sig};
use oarlock_ops_support::lod_rows::{self, RowMap};
use oarlock_tensor::{Lod, Tensor};

pub(crate) const OPS: &[&dyn OpDef] = &[&SequenceExpandAs, &GRAD];

struct SequenceExpandAs;

impl OpDef for SequenceExpandAs {
    sig! {
        "sequence_expand_as": "Out repeats the i-th row of X as often as the i-th innermost sequence of Y is long";
        in "X": "a row per sequence of `Y`";
        in "Y": "of which only the LoD counts";
        out "Out": "the repeated rows, with the LoD of `Y`";
        traits Traits::NONE.shape_only(&["Y"]);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, y) = (cx.input("X")?, cx.input("Y")?);
        let rows = y.shape.first().copied().unwrap_or(Dim::Any);
        let shape = lod_rows::with_rows(x.shape.clone(), rows);
        cx.set("Out", x.with_shape(shape).with_lod(y.lod_level));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        lod_rows::gather_kernel(p, ExpandAs { y: p.input("Y")? }, "Out")
    }
}

struct ExpandAs {
    y: In,
}

impl RowMap for ExpandAs {
    fn sources(&self, io: &Io<'_>, (input, x): (In, &Tensor), sources: &mut Vec<usize>) -> Result<Lod> {
        let y = io.dense(self.y)?;
        let offsets = lod_rows::offsets(io, self.y, &y)?;
        if x.rows() != offsets.len() - 1 {
            let what =
                format!("has {} rows, but {} has {} sequences", x.rows(), io.describe(self.y), offsets.len() - 1);
            return Err(io.error(Kind::Lod, input, what));
        }
        for (row, w) in offsets.windows(2).enumerate() {
            sources.extend(std::iter::repeat_n(row, w[1] - w[0]));
        }
        Ok(y.lod().clone())
    }
}

const GRAD: GradOp = GradOp::of(&SequenceExpandAs, "sequence_expand_as_grad(Out@GRAD, X, Y) -> X@GRAD")
    .doc("X@GRAD adds up the gradients of all copies of a row")
    .traits(Traits::NONE.shape_only(&["X", "Y"]))
    .kernel(|p| lod_rows::scatter_kernel(p, ExpandAs { y: p.input("Y")? }));

#[test]
fn sequence_expand_as() {
    use crate::testing::{check, noise, tensor, with_lod};
    check("sequence_expand_as")
        .input("X", tensor([3, 1], &[1.0, 2.0, 3.0]))
        .input("Y", with_lod(noise([3, 2], 1), &[&[0, 2, 2, 3]]))
        .output("Out", with_lod(tensor([3, 1], &[1.0, 1.0, 3.0]), &[&[0, 2, 2, 3]]))
        .grad(&["X"])
        .run();
    let e =
        check("sequence_expand_as").input("X", noise([3, 1], 1)).input("Y", noise([3, 1], 1)).any_output("Out").error();
    assert!(e.contains("input `Y` = `Y.0` has no LoD"), "{e}");
}
