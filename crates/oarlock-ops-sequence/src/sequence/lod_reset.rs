//! `lod_reset`: the same rows grouped into other sequences.

use oarlock_ir::{GradOp, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Traits, kernel, sig};
use oarlock_ops_support::checks;
use oarlock_ops_support::ints::Ints;
use oarlock_tensor::{Lod, Tensor};

pub(crate) const OPS: &[&dyn OpDef] = &[&LodReset, &GRAD];

struct LodReset;

impl OpDef for LodReset {
    sig! {
        "lod_reset":
            "Out = X with the LoD of Y; if Y has none, with the offsets that Y holds; without Y, with the offsets target_lod";
        in "X": "any tensor";
        in? "Y": "whose LoD to take, or offsets in i32 or i64";
        out "Out": "like `X`, with another LoD";
        attr "target_lod" = Vec::<i32>::new(), "offsets of sequences, from 0 to the number of rows";
        attr "append" = false, "put the offsets below the levels that `X` has instead of replacing them";
        traits Traits::X_TO_OUT;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.input("X")?;
        let of_y = if cx.has("Y") { cx.input("Y")?.lod_level } else { 0 };
        let levels = match of_y {
            0 if cx.attrs().bool("append")? => x.lod_level + 1,
            0 => 1,
            n => n,
        };
        cx.set("Out", x.with_lod(levels));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, y, out) = (p.input("X")?, p.maybe_input("Y")?, p.output("Out")?);
        let (target, append) = (p.attrs().ints("target_lod")?, p.attrs().bool("append")?);
        kernel(move |io| {
            let mut to = io.update(x, out)?;
            let lod = match y {
                Some(y) => lod_of(io, y, &*io.dense(y)?, to.lod(), append)?,
                None => with_level(io, to.lod(), append, target.iter().copied())?,
            };
            lod.check(to.rows())
                .map_err(|e| io.op_error(Kind::Lod, format!("makes sequences that `X` does not have: {e}")))?;
            to.set_lod(lod);
            Ok(())
        })
    }
}

/// The LoD of `y`, or the one whose offsets it holds.
fn lod_of(io: &Io<'_>, input: In, y: &Tensor, old: &Lod, append: bool) -> Result<Lod> {
    if !y.lod().is_empty() {
        return Ok(y.lod().clone());
    }
    with_level(io, old, append, Ints::of(io, input, y)?.iter())
}

fn with_level(io: &Io<'_>, old: &Lod, append: bool, offsets: impl Iterator<Item = i64>) -> Result<Lod> {
    let whole = |v: i64| {
        usize::try_from(v).map_err(|_| io.op_error(Kind::Lod, format!("takes offsets of at least 0, but one is {v}")))
    };
    let level = offsets.map(whole).collect::<Result<Vec<usize>>>()?;
    let mut levels = if append { old.levels().to_vec() } else { Vec::new() };
    levels.push(level);
    Ok(Lod::new(levels))
}

const GRAD: GradOp = GradOp::of(&LodReset, "lod_reset_grad(Out@GRAD, X) -> X@GRAD")
    .doc("X@GRAD = Out@GRAD, with the LoD of X")
    .traits(Traits::NONE.shape_only(&["X"]).in_place(&[("Out@GRAD", "X@GRAD")]))
    .kernel(|p| {
        let (x, dout, dx) = (p.input("X")?, p.input("Out@GRAD")?, p.output("X@GRAD")?);
        kernel(move |io| {
            let like = io.dense(x)?;
            checks::expect_elements(io, dout, io.dense(dout)?.numel(), like.numel())?;
            io.update(dout, dx)?.set_lod(like.lod().clone());
            Ok(())
        })
    });

#[cfg(test)]
mod tests {
    use oarlock_ir::Attr;

    use crate::testing::{Check, check, noise, tensor, tensor_of, with_lod};

    fn reset() -> Check {
        check("lod_reset").input("X", with_lod(tensor([3, 1], &[1.0, 2.0, 3.0]), &[&[0, 3]]))
    }

    fn expected(levels: &[&[usize]]) -> oarlock_tensor::Tensor {
        with_lod(tensor([3, 1], &[1.0, 2.0, 3.0]), levels)
    }

    #[test]
    fn from_each_source() {
        reset()
            .input("Y", with_lod(noise([3, 2], 1), &[&[0, 2, 3]]))
            .output("Out", expected(&[&[0, 2, 3]]))
            .grad(&["X"])
            .run();
        reset().input("Y", tensor_of([3], &[0i32, 1, 3])).output("Out", expected(&[&[0, 1, 3]])).run();
        reset()
            .attr("target_lod", Attr::Ints(vec![0, 1, 2, 3]))
            .output("Out", expected(&[&[0, 1, 2, 3]]))
            .grad(&["X"])
            .run();
    }

    #[test]
    fn a_level_is_appended() {
        check("lod_reset")
            .input("X", with_lod(tensor([3, 1], &[1.0, 2.0, 3.0]), &[&[0, 1, 3]]))
            .attr("target_lod", Attr::Ints(vec![0, 1, 2, 3]))
            .attr("append", true)
            .output("Out", expected(&[&[0, 1, 3], &[0, 1, 2, 3]]))
            .run();
    }

    #[test]
    fn offsets_must_fit_the_rows() {
        let e = reset().attr("target_lod", Attr::Ints(vec![0, 2])).any_output("Out").error();
        assert!(
            e.contains("makes sequences that `X` does not have: LoD level 0 ends at 2, but there are 3 rows"),
            "{e}"
        );
        let e = reset().input("Y", tensor_of([2], &[0i64, -1])).any_output("Out").error();
        assert!(e.contains("takes offsets of at least 0, but one is -1"), "{e}");
    }
}
