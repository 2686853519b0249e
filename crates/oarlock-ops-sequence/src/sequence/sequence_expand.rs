//! `sequence_expand`: repeats rows or sequences as often as a reference is long.

use oarlock_ir::{AttrView, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Traits, sig};
use oarlock_ops_support::lod_rows::{self, RowMap};
use oarlock_tensor::{Lod, Tensor};

pub(crate) const OPS: &[&dyn OpDef] = &[&SequenceExpand, &SEQUENCE_EXPAND_GRAD];

struct SequenceExpand;

impl OpDef for SequenceExpand {
    sig! {
        "sequence_expand":
            "Out repeats the i-th sequence of X (the i-th row, if X has no LoD) as often as the i-th sequence of Y's level \
             ref_level is long; a length of 0 drops it. Without sequences in Y, Out = X";
        in "X": "with one level of LoD or none";
        in "Y": "of which only the LoD counts";
        out "Out": "the repeated rows; sequences stay sequences";
        attr "ref_level" = -1, "the level of Y's LoD; -1 for the innermost";
        traits Traits::NONE.shape_only(&["Y"]);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        lod_rows::infer_other_rows(cx)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        lod_rows::gather_kernel(p, Expand::new(p.input("Y")?, &p.attrs())?, "Out")
    }
}

struct Expand {
    y: In,
    /// `None` for the innermost level.
    level: Option<usize>,
}

impl Expand {
    fn new(y: In, attrs: &AttrView<'_>) -> Result<Expand> {
        Ok(Expand { y, level: usize::try_from(attrs.int("ref_level")?).ok() })
    }

    fn reference<'t>(&self, io: &Io<'_>, y: &'t Tensor) -> Result<&'t [usize]> {
        let innermost = lod_rows::offsets(io, self.y, y)?;
        let Some(level) = self.level else { return Ok(innermost) };
        match y.lod().levels().get(level) {
            Some(offsets) => Ok(offsets),
            None => {
                let what = format!("has {} levels of LoD, but ref_level is {level}", y.lod().len());
                Err(io.error(Kind::Lod, self.y, what))
            }
        }
    }
}

impl RowMap for Expand {
    fn sources(&self, io: &Io<'_>, (input, x): (In, &Tensor), sources: &mut Vec<usize>) -> Result<Lod> {
        let y = io.dense(self.y)?;
        let reference = self.reference(io, &y)?;
        if reference.len() < 2 {
            sources.extend(0..x.rows());
            return Ok(x.lod().clone());
        }
        let has_lod = !x.lod().is_empty();
        let own = if has_lod { Some(lod_rows::offsets(io, input, x)?) } else { None };
        let count = own.map_or(x.rows(), |o| o.len() - 1);
        if count != reference.len() - 1 {
            let what = format!(
                "has {count} {}, but {} has {} sequences",
                if has_lod { "sequences" } else { "rows" },
                io.describe(self.y),
                reference.len() - 1
            );
            return Err(io.error(Kind::Lod, input, what));
        }
        let sequence = |i: usize| own.map_or(i..i + 1, |o| o[i]..o[i + 1]);
        let repeats = reference.windows(2).map(|w| w[1] - w[0]).enumerate();
        for (i, times) in repeats.clone() {
            (0..times).for_each(|_| sources.extend(sequence(i)));
        }
        if !has_lod {
            return Ok(Lod::NONE);
        }
        Ok(lod_rows::lod_of(&Lod::NONE, repeats.flat_map(|(i, times)| std::iter::repeat_n(sequence(i).len(), times))))
    }
}

const SEQUENCE_EXPAND_GRAD: GradOp = GradOp::of(&SequenceExpand, "sequence_expand_grad(Out@GRAD, X, Y) -> X@GRAD")
    .doc("X@GRAD adds up the gradients of all copies of a row")
    .traits(Traits::NONE.shape_only(&["X", "Y"]))
    .kernel(|p| lod_rows::scatter_kernel(p, Expand::new(p.input("Y")?, &p.attrs())?));

#[cfg(test)]
mod tests {
    use crate::testing::{check, noise, tensor, with_lod};

    #[test]
    fn rows_are_repeated() {
        check("sequence_expand")
            .input("X", tensor([3, 1], &[1.0, 2.0, 3.0]))
            .input("Y", with_lod(noise([5, 1], 1), &[&[0, 2, 2, 5]]))
            .output("Out", tensor([5, 1], &[1.0, 1.0, 3.0, 3.0, 3.0]))
            .grad(&["X"])
            .run();
    }

    #[test]
    fn sequences_are_repeated() {
        check("sequence_expand")
            .input("X", with_lod(tensor([3, 1], &[1.0, 2.0, 3.0]), &[&[0, 2, 3]]))
            .input("Y", with_lod(noise([4, 1], 1), &[&[0, 2, 3], &[0, 1, 2, 4]]))
            .attr("ref_level", 0)
            .output("Out", with_lod(tensor([5, 1], &[1.0, 2.0, 1.0, 2.0, 3.0]), &[&[0, 2, 4, 5]]))
            .grad(&["X"])
            .run();
    }

    #[test]
    fn counts_must_agree() {
        let e = check("sequence_expand")
            .input("X", noise([2, 1], 1))
            .input("Y", with_lod(noise([3, 1], 1), &[&[0, 1, 2, 3]]))
            .any_output("Out")
            .error();
        assert!(e.contains("`X.0` has 2 rows, but input `Y` = `Y.0` has 3 sequences"), "{e}");
    }
}
