//! `sequence_slice`: a piece of each sequence.

use oarlock_ir::{GradOp, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Traits, sig};
use oarlock_ops_support::ints::Ints;
use oarlock_ops_support::lod_rows::{self, RowMap};
use oarlock_tensor::{Lod, Tensor};

pub(crate) const OPS: &[&dyn OpDef] = &[&SequenceSlice, &GRAD];

struct SequenceSlice;

impl OpDef for SequenceSlice {
    sig! {
        "sequence_slice": "Out holds Length[i] rows of the i-th innermost sequence of X, from its row Offset[i] on";
        in "X": "with LoD";
        in "Offset": "i32 or i64, one per sequence";
        in "Length": "i32 or i64, one per sequence";
        out "Out": "the pieces, as sequences";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        lod_rows::infer_other_rows(cx)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        lod_rows::gather_kernel(p, Slice::new(p)?, "Out")
    }
}

struct Slice {
    offset: In,
    length: In,
}

impl Slice {
    fn new(p: &Prepare<'_>) -> Result<Slice> {
        Ok(Slice { offset: p.input("Offset")?, length: p.input("Length")? })
    }

    /// One number per sequence.
    fn numbers<'t>(&self, io: &Io<'_>, input: In, t: &'t Tensor, count: usize) -> Result<Ints<'t>> {
        let numbers = Ints::of(io, input, t)?;
        if numbers.len() == count {
            return Ok(numbers);
        }
        let what = format!("holds {} numbers, but there are {count} sequences", numbers.len());
        Err(io.error(Kind::Shape, input, what))
    }
}

impl RowMap for Slice {
    fn sources(&self, io: &Io<'_>, (input, x): (In, &Tensor), sources: &mut Vec<usize>) -> Result<Lod> {
        let sequences = lod_rows::offsets(io, input, x)?;
        let (offset, length) = (io.dense(self.offset)?, io.dense(self.length)?);
        let count = sequences.len() - 1;
        let offset = self.numbers(io, self.offset, &offset, count)?;
        let length = self.numbers(io, self.length, &length, count)?;
        for (i, w) in sequences.windows(2).enumerate() {
            let (from, rows) = (offset.count(io, self.offset, i)?, length.count(io, self.length, i)?);
            let end = from.checked_add(rows).filter(|&end| end <= w[1] - w[0]);
            let Some(end) = end else {
                let what =
                    format!("sequence {i} has {} rows, but {rows} rows from row {from} on are asked for", w[1] - w[0]);
                return Err(io.error(Kind::Range, input, what));
            };
            sources.extend(w[0] + from..w[0] + end);
        }
        // Every length was seen to be a count above.
        Ok(lod_rows::lod_of(x.lod(), length.iter().map(|n| n as usize)))
    }
}

const GRAD: GradOp = GradOp::of(&SequenceSlice, "sequence_slice_grad(Length, Offset, Out@GRAD, X) -> X@GRAD")
    .doc("X@GRAD is Out@GRAD at the rows that were taken, zero elsewhere")
    .traits(Traits::NONE.shape_only(&["X"]))
    .kernel(|p| lod_rows::scatter_kernel(p, Slice::new(p)?));

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, tensor, tensor_of, with_lod};

    fn slice(offset: &[i64], length: &[i64]) -> Check {
        check("sequence_slice")
            .input("X", with_lod(tensor([5, 1], &[1.0, 2.0, 3.0, 4.0, 5.0]), &[&[0, 2, 5]]))
            .input("Offset", tensor_of([offset.len(), 1], offset))
            .input("Length", tensor_of([length.len(), 1], length))
    }

    #[test]
    fn pieces() {
        slice(&[1, 0], &[1, 2])
            .output("Out", with_lod(tensor([3, 1], &[2.0, 3.0, 4.0]), &[&[0, 1, 3]]))
            .grad(&["X"])
            .run();
    }

    #[test]
    fn pieces_beyond_the_end_are_named() {
        let error = |offset: &[i64], length: &[i64]| slice(offset, length).any_output("Out").error();
        let beyond = error(&[1, 2], &[1, 2]);
        assert!(beyond.contains("sequence 1 has 3 rows, but 2 rows from row 2 on are asked for"), "{beyond}");
        let negative = error(&[1, 0], &[1, -1]);
        assert!(negative.contains("`Length.0` holds -1 at position 1, which must not be negative"), "{negative}");
        let few = error(&[1], &[1, 1]);
        assert!(few.contains("`Offset.0` holds 1 numbers, but there are 2 sequences"), "{few}");
    }
}
