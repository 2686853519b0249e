//! `sequence_pad`: sequences as a batch of equal lengths.

use oarlock_ir::{Dim, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Traits, VarType};
use oarlock_ir::{by_float, kernel, sig};
use oarlock_ops_support::checks;
use oarlock_ops_support::lod_rows;
use oarlock_tensor::{DType, Dims, MAX_RANK, Tensor};

pub(crate) const OPS: &[&dyn OpDef] = &[&SequencePad, &GRAD];

struct SequencePad;

impl OpDef for SequencePad {
    sig! {
        "sequence_pad":
            "Out[i] holds the i-th innermost sequence of X, then PadValue up to the padded length; Length[i] its length";
        in "X": "with LoD";
        in "PadValue": "one number, or one row";
        out "Out": "sequences by padded length by a row of `X`";
        out "Length": "i64, one per sequence";
        attr "padded_length" = -1, "at least as long as the longest sequence; -1 for just that";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.input("X")?;
        let mut dims = vec![Dim::Any, Dim::from_i64(cx.attrs().int("padded_length")?)];
        dims.extend(x.shape.iter().skip(1));
        cx.set("Length", VarType::tensor(DType::I64, vec![Dim::Any]));
        cx.set("Out", VarType::tensor(x.dtype, dims));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, value, out, length) = (p.input("X")?, p.input("PadValue")?, p.output("Out")?, p.output("Length")?);
        let wanted = usize::try_from(p.attrs().int("padded_length")?).ok();
        kernel(move |io| {
            let (from, value_tensor) = (io.dense(x)?, io.dense(value)?);
            let offsets = lod_rows::offsets(io, x, &from)?;
            let bytes = from.dims().matrix(1).1 * from.dtype().size();
            let value = pad_bytes(io, value, &value_tensor, &from)?;
            let padded = padded_length(io, x, offsets, wanted)?;
            let mut to =
                io.out_sized(out, from.dtype(), padded_dims(io, x, from.dims(), offsets.len() - 1, padded)?)?;
            for (w, to) in offsets.windows(2).zip(to.bytes_mut().chunks_exact_mut((padded * bytes).max(1))) {
                let (rows, pad) = to.split_at_mut((w[1] - w[0]) * bytes);
                rows.copy_from_slice(&from.bytes()[w[0] * bytes..w[1] * bytes]);
                pad.chunks_exact_mut(value.len()).for_each(|p| p.copy_from_slice(value));
            }
            let mut lengths = io.out_sized(length, DType::I64, Dims::from([offsets.len() - 1]))?;
            for (to, w) in io.data_mut::<i64>(length, &mut lengths)?.iter_mut().zip(offsets.windows(2)) {
                *to = (w[1] - w[0]) as i64;
            }
            Ok(())
        })
    }
}

/// The bytes that padding repeats: one element, or one row.
fn pad_bytes<'t>(io: &Io<'_>, input: In, value: &'t Tensor, x: &Tensor) -> Result<&'t [u8]> {
    let width = x.dims().matrix(1).1;
    if value.dtype() == x.dtype() && value.numel() > 0 && (value.numel() == 1 || value.numel() == width) {
        return Ok(value.bytes());
    }
    let what = format!(
        "is {}{}, but it must be one {} or as many as a row of `X` has ({width})",
        value.dtype(),
        value.dims(),
        x.dtype()
    );
    Err(io.error(Kind::Shape, input, what))
}

fn padded_length(io: &Io<'_>, x: In, offsets: &[usize], wanted: Option<usize>) -> Result<usize> {
    let longest = offsets.windows(2).map(|w| w[1] - w[0]).max().unwrap_or(0);
    match wanted {
        Some(n) if n < longest => {
            let what = format!("has a sequence of {longest} rows, but padded_length is {n}");
            Err(io.error(Kind::Range, x, what).help("raise padded_length, or set it to -1 for the longest sequence"))
        }
        Some(n) => Ok(n),
        None => Ok(longest),
    }
}

fn padded_dims(io: &Io<'_>, x: In, dims: &Dims, count: usize, padded: usize) -> Result<Dims> {
    if dims.rank() == MAX_RANK {
        return Err(io.error(Kind::Shape, x, "has too many dimensions to add one"));
    }
    let mut out = Dims::from([count, padded]);
    dims.iter().skip(1).for_each(|&n| out.push(n));
    Ok(out)
}

const GRAD: GradOp = GradOp::of(&SequencePad, "sequence_pad_grad(Out@GRAD, X) -> X@GRAD")
    .doc("X@GRAD is Out@GRAD without the padding")
    .traits(Traits::NONE.shape_only(&["X"]))
    .kernel(|p| {
        let (x, dout, dx) = (p.input("X")?, p.input("Out@GRAD")?, p.output("X@GRAD")?);
        by_float!(p.float("X")?, T => kernel(move |io| {
            let (like, from) = (io.dense(x)?, io.dense(dout)?);
            let offsets = lod_rows::offsets(io, x, &like)?;
            let padded = from.dims().get(1).copied().unwrap_or(1);
            padded_length(io, x, offsets, Some(padded))?;
            let width = like.dims().matrix(1).1;
            checks::expect_elements(io, dout, from.numel(), (offsets.len() - 1) * padded * width)?;
            let mut to = io.out_sized(dx, like.dtype(), *like.dims())?;
            to.set_lod(like.lod().clone());
            let (from, to) = (io.data::<T>(dout, &from)?, io.data_mut::<T>(dx, &mut to)?);
            for (w, from) in offsets.windows(2).zip(from.chunks_exact((padded * width).max(1))) {
                let rows = &mut to[w[0] * width..w[1] * width];
                rows.copy_from_slice(&from[..rows.len()]);
            }
            Ok(())
        }))
    });

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, tensor, tensor_of, with_lod};

    fn pad(value: &[f32]) -> Check {
        check("sequence_pad")
            .input("X", with_lod(tensor([3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), &[&[0, 2, 2, 3]]))
            .input("PadValue", tensor([value.len()], value))
    }

    #[test]
    fn short_sequences_are_filled_up() {
        pad(&[9.0])
            .output("Out", tensor([3, 2, 2], &[1.0, 2.0, 3.0, 4.0, 9.0, 9.0, 9.0, 9.0, 5.0, 6.0, 9.0, 9.0]))
            .output("Length", tensor_of([3], &[2i64, 0, 1]))
            .grad(&["X"])
            .run();
        let rows = [[1.0, 2.0, 3.0, 4.0, 8.0, 9.0], [8.0, 9.0, 8.0, 9.0, 8.0, 9.0], [5.0, 6.0, 8.0, 9.0, 8.0, 9.0]];
        pad(&[8.0, 9.0])
            .attr("padded_length", 3)
            .output("Out", tensor([3, 3, 2], rows.as_flattened()))
            .any_output("Length")
            .grad(&["X"])
            .run();
    }

    #[test]
    fn mistakes_are_named() {
        let e = pad(&[9.0]).attr("padded_length", 1).any_output("Out").any_output("Length").error();
        assert!(e.contains("has a sequence of 2 rows, but padded_length is 1"), "{e}");
        let e = pad(&[9.0; 3]).any_output("Out").any_output("Length").error();
        assert!(e.contains("is f32[3], but it must be one f32 or as many as a row of `X` has (2)"), "{e}");
    }
}
