//! `sequence_concat`: joins the i-th sequences of several inputs into one.

use oarlock_ir::{GradOp, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Traits, by_float, kernel, sig};
use oarlock_ops_support::checks;
use oarlock_ops_support::lod_rows;
use oarlock_tensor::{Float, Tensor};

pub(crate) const OPS: &[&dyn OpDef] = &[&SequenceConcat, &GRAD];

struct SequenceConcat;

impl OpDef for SequenceConcat {
    sig! {
        "sequence_concat": "the i-th sequence of Out is the i-th sequence of X[0], then that of X[1], and so on";
        in* "X": "with LoD; as many sequences each, rows of one width";
        out "Out": "the joined sequences";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        lod_rows::infer_other_rows(cx)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (xs, out) = (p.inputs("X")?, p.output("Out")?);
        let first = p.input("X")?;
        kernel(move |io| {
            let rows = check(io, &xs)?;
            let like = io.dense(first)?;
            let mut to = io.out_sized(out, like.dtype(), like.dims().with_rows(rows))?;
            let bytes = like.dims().matrix(1).1 * like.dtype().size();
            let mut lengths = vec![0; lod_rows::offsets(io, first, &like)?.len() - 1];
            each_piece(io, &xs, |i, x, from, to_row| {
                lengths[i] += from.len();
                let from = &x.bytes()[from.start * bytes..from.end * bytes];
                to.bytes_mut()[to_row * bytes..][..from.len()].copy_from_slice(from);
            })?;
            to.set_lod(lod_rows::lod_of(like.lod(), lengths.into_iter()));
            Ok(())
        })
    }
}

/// All inputs have as many sequences and rows of one width; returns the rows of all.
fn check(io: &Io<'_>, xs: &[In]) -> Result<usize> {
    let mut rows = 0;
    let mut expected = None;
    for &x in xs {
        let t = io.dense(x)?;
        let own = (lod_rows::offsets(io, x, &t)?.len() - 1, t.dims().matrix(1).1, t.dtype());
        let first = *expected.get_or_insert(own);
        if own != first {
            let what = format!(
                "has {} sequences of {} {} a row, but {} has {} of {} {}",
                own.0,
                own.1,
                own.2,
                io.describe(xs[0]),
                first.0,
                first.1,
                first.2
            );
            return Err(io.error(Kind::Lod, x, what));
        }
        rows += t.rows();
    }
    Ok(rows)
}

/// Visits the pieces of the result in order: which sequence, of which input, its rows there, and its first row in the result.
fn each_piece(
    io: &Io<'_>,
    xs: &[In],
    mut visit: impl FnMut(usize, &Tensor, std::ops::Range<usize>, usize),
) -> Result<()> {
    let tensors = xs.iter().map(|x| io.dense(*x)).collect::<Result<Vec<_>>>()?;
    let all = xs.iter().zip(&tensors).map(|(x, t)| lod_rows::offsets(io, *x, t)).collect::<Result<Vec<_>>>()?;
    let mut row = 0;
    for i in 0..all.first().map_or(0, |o| o.len() - 1) {
        for (t, offsets) in tensors.iter().zip(&all) {
            let range = offsets[i]..offsets[i + 1];
            visit(i, t, range.clone(), row);
            row += range.len();
        }
    }
    Ok(())
}

const GRAD: GradOp = GradOp::of(&SequenceConcat, "sequence_concat_grad(Out@GRAD, X) -> X@GRAD")
    .positional()
    .doc("X@GRAD[k] holds the pieces of Out@GRAD that came from X[k]")
    .traits(Traits::NONE.shape_only(&["X"]))
    .kernel(|p| {
        let (xs, dout, dxs) = (p.inputs("X")?, p.input("Out@GRAD")?, p.outputs("X@GRAD")?);
        by_float!(p.float("X")?, T => kernel(move |io| {
            let rows = check(io, &xs)?;
            let from = io.dense(dout)?;
            checks::expect_elements(io, dout, from.numel(), rows * from.dims().matrix(1).1)?;
            let wanted = xs.iter().enumerate().filter_map(|(k, &x)| Some((k, x, (*dxs.get(k)?)?)));
            wanted.into_iter().try_for_each(|(k, x, dx)| split::<T>(io, &xs, k, (x, dx), io.data(dout, &from)?))
        }))
    });

/// Copies what came from the k-th input.
fn split<T: Float>(io: &Io<'_>, xs: &[In], k: usize, (x, dx): (In, Out), dout: &[T]) -> Result<()> {
    let like = io.dense(x)?;
    let width = like.dims().matrix(1).1;
    let mut to = io.out_sized(dx, T::DTYPE, *like.dims())?;
    to.set_lod(like.lod().clone());
    let to = io.data_mut::<T>(dx, &mut to)?;
    let mut piece = 0;
    each_piece(io, xs, |_, _, rows, from_row| {
        if piece % xs.len() == k {
            let to = &mut to[rows.start * width..rows.end * width];
            to.copy_from_slice(&dout[from_row * width..][..to.len()]);
        }
        piece += 1;
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, tensor, with_lod};

    #[test]
    fn sequences_are_joined() {
        check("sequence_concat")
            .inputs(
                "X",
                vec![
                    with_lod(tensor([3, 1], &[1.0, 2.0, 3.0]), &[&[0, 1, 3]]),
                    with_lod(tensor([2, 1], &[4.0, 5.0]), &[&[0, 2, 2]]),
                ],
            )
            .output("Out", with_lod(tensor([5, 1], &[1.0, 4.0, 5.0, 2.0, 3.0]), &[&[0, 3, 5]]))
            .grad(&["X"])
            .run();
    }

    #[test]
    fn counts_must_agree() {
        let e = check("sequence_concat")
            .inputs(
                "X",
                vec![
                    with_lod(tensor([2, 1], &[1.0, 2.0]), &[&[0, 1, 2]]),
                    with_lod(tensor([1, 1], &[3.0]), &[&[0, 1]]),
                ],
            )
            .any_output("Out")
            .error();
        assert!(e.contains("`X.1` has 1 sequences of 1 f32 a row, but input `X` = `X.0` has 2 of 1 f32"), "{e}");
    }
}
