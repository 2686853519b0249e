//! `sequence_unpad`: from a padded batch back to sequences.

use oarlock_ir::{Dim, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Traits, kernel, sig};
use oarlock_ir::{GradOp, by_float};
use oarlock_ops_support::checks;
use oarlock_ops_support::ints::Ints;
use oarlock_ops_support::lod_rows::{self, RowMap};
use oarlock_tensor::{Lod, Tensor};

pub(crate) const OPS: &[&dyn OpDef] = &[&SequenceUnpad, &GRAD];

struct SequenceUnpad;

impl OpDef for SequenceUnpad {
    sig! {
        "sequence_unpad": "Out holds the first Length[i] rows of X[i], as sequences";
        in "X": "sequences by rows by anything";
        in "Length": "i32 or i64, one per sequence";
        out "Out": "the rows, with LoD";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.input("X")?;
        let Some(rest) = x.shape.get(2..) else {
            return Err(cx.shape_error(format!("needs at least two dimensions, but has {}", cx.describe("X"))));
        };
        let mut dims = vec![Dim::Any];
        dims.extend_from_slice(rest);
        if rest.is_empty() {
            dims.push(Dim::Is(1));
        }
        cx.set("Out", x.with_shape(dims).with_lod(1));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        lod_rows::gather_kernel(p, Unpad { length: p.input("Length")? }, "Out")
    }
}

struct Unpad {
    length: In,
}

impl RowMap for Unpad {
    const AXIS: usize = 2;

    fn sources(&self, io: &Io<'_>, (input, x): (In, &Tensor), sources: &mut Vec<usize>) -> Result<Lod> {
        let length = io.dense(self.length)?;
        let length = Ints::of(io, self.length, &length)?;
        let [count, padded, ..] = x.dims()[..] else {
            return Err(io.error(Kind::Shape, input, format!("is {}, but needs at least two dimensions", x.dims())));
        };
        if length.len() != count {
            let what = format!("holds {} lengths, but {} is {}", length.len(), io.describe(input), x.dims());
            return Err(io.error(Kind::Shape, self.length, what));
        }
        for i in 0..count {
            let rows = length.count(io, self.length, i)?;
            if rows > padded {
                let what = format!("holds {rows} at position {i}, but sequences are padded to {padded}");
                return Err(io.error(Kind::Range, self.length, what));
            }
            sources.extend(i * padded..i * padded + rows);
        }
        // Every length was seen to be a count above.
        Ok(lod_rows::lod_of(&Lod::NONE, length.iter().map(|n| n as usize)))
    }
}

const GRAD: GradOp = GradOp::of(&SequenceUnpad, "sequence_unpad_grad(Out@GRAD, X) -> X@GRAD")
    .doc("X@GRAD is Out@GRAD padded with zeros")
    .traits(Traits::NONE.shape_only(&["X"]))
    // The operator has no `Length`: lengths are those of the gradient's sequences.
    .kernel(|p| {
        let (x, dout, dx) = (p.input("X")?, p.input("Out@GRAD")?, p.output("X@GRAD")?);
        by_float!(p.float("X")?, T => kernel(move |io| {
            let (like, from) = (io.dense(x)?, io.dense(dout)?);
            let offsets = lod_rows::offsets(io, dout, &from)?;
            let padded = like.dims().get(1).copied().unwrap_or(1);
            let width = like.dims().matrix(2).1;
            checks::expect_elements(io, dout, from.numel(), from.rows() * width)?;
            let longest = offsets.windows(2).map(|w| w[1] - w[0]).max().unwrap_or(0);
            if offsets.len() - 1 != like.rows() || longest > padded {
                let what = format!("has {} sequences of up to {longest} rows, but {} is {}", offsets.len() - 1, io.describe(x), like.dims());
                return Err(io.error(Kind::Lod, dout, what));
            }
            let mut to = io.out_sized(dx, like.dtype(), *like.dims())?;
            let (from, to) = (io.data::<T>(dout, &from)?, io.data_mut::<T>(dx, &mut to)?);
            to.fill(0.0);
            for (w, to) in offsets.windows(2).zip(to.chunks_exact_mut((padded * width).max(1))) {
                let piece = &from[w[0] * width..w[1] * width];
                to[..piece.len()].copy_from_slice(piece);
            }
            Ok(())
        }))
    });

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, tensor, tensor_of, with_lod};

    fn unpad(length: &[i64]) -> Check {
        check("sequence_unpad")
            .input("X", tensor([2, 3, 1], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
            .input("Length", tensor_of([length.len()], length))
    }

    #[test]
    fn rows_beyond_the_length_are_dropped() {
        unpad(&[2, 1]).output("Out", with_lod(tensor([3, 1], &[1.0, 2.0, 4.0]), &[&[0, 2, 3]])).grad(&["X"]).run();
        unpad(&[0, 3]).output("Out", with_lod(tensor([3, 1], &[4.0, 5.0, 6.0]), &[&[0, 0, 3]])).grad(&["X"]).run();
        check("sequence_unpad")
            .input("X", tensor([1, 2], &[1.0, 2.0]))
            .input("Length", tensor_of([1], &[1]))
            .output("Out", with_lod(tensor([1, 1], &[1.0]), &[&[0, 1]]))
            .grad(&["X"])
            .run();
    }

    #[test]
    fn lengths_must_fit() {
        let e = unpad(&[4, 1]).any_output("Out").error();
        assert!(e.contains("`Length.0` holds 4 at position 0, but sequences are padded to 3"), "{e}");
        let e = unpad(&[1]).any_output("Out").error();
        assert!(e.contains("`Length.0` holds 1 lengths, but input `X` = `X.0` is [2, 3, 1]"), "{e}");
    }
}
