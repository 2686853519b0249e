//! `sequence_softmax`: the softmax over the rows of each sequence.

use oarlock_ir::{GradOp, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, by_float, kernel, sig};
use oarlock_ops_support::checks;
use oarlock_ops_support::lod_rows;
use oarlock_tensor::{Tensor, simd};

pub(crate) const OPS: &[&dyn OpDef] = &[&SequenceSoftmax, &GRAD];

struct SequenceSoftmax;

impl OpDef for SequenceSoftmax {
    sig! {
        "sequence_softmax": "Out = exp(X) / sum of exp(X) over the innermost sequence that the row is in";
        in "X": "one number per row, with LoD";
        out "Out": "like `X`";
        hints ["data_format"];
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.float("X")?;
        cx.set("Out", x);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out) = (p.input("X")?, p.output("Out")?);
        by_float!(p.float("X")?, T => kernel(move |io| {
            let from = io.dense(x)?;
            let offsets = lod_rows::offsets(io, x, &from)?;
            one_per_row(io, &from)?;
            let mut to = io.out_sized(out, from.dtype(), *from.dims())?;
            to.set_lod(from.lod().clone());
            let (from, to) = (io.data::<T>(x, &from)?, io.data_mut::<T>(out, &mut to)?);
            for w in offsets.windows(2).filter(|w| w[0] < w[1]) {
                simd::softmax_rows(&mut to[w[0]..w[1]], &from[w[0]..w[1]], w[1] - w[0]);
            }
            Ok(())
        }))
    }
}

fn one_per_row(io: &Io<'_>, t: &Tensor) -> Result<()> {
    if t.numel() == t.rows() {
        return Ok(());
    }
    Err(io.op_error(Kind::Shape, format!("needs one number per row, but `X` is {}", t.dims())))
}

const GRAD: GradOp = GradOp::of(&SequenceSoftmax, "sequence_softmax_grad(Out, Out@GRAD, X) -> X@GRAD")
    .doc("X@GRAD = Out * (Out@GRAD - sum of Out * Out@GRAD over the sequence)")
    .traits(oarlock_ir::Traits::NONE.shape_only(&["X"]))
    .kernel(|p| {
        let (x, out, dout, dx) = (p.input("X")?, p.input("Out")?, p.input("Out@GRAD")?, p.output("X@GRAD")?);
        by_float!(p.float("X")?, T => kernel(move |io| {
            let (like, y, dy) = (io.dense(x)?, io.dense(out)?, io.dense(dout)?);
            let offsets = lod_rows::offsets(io, x, &like)?;
            one_per_row(io, &like)?;
            checks::expect_elements(io, out, y.numel(), like.numel())?;
            checks::expect_elements(io, dout, dy.numel(), like.numel())?;
            let mut to = io.out_sized(dx, like.dtype(), *like.dims())?;
            to.set_lod(like.lod().clone());
            let (y, dy, to) = (io.data::<T>(out, &y)?, io.data::<T>(dout, &dy)?, io.data_mut::<T>(dx, &mut to)?);
            for w in offsets.windows(2) {
                let range = w[0]..w[1];
                let (y, dy) = (&y[range.clone()], &dy[range.clone()]);
                let mean = simd::dot(y, dy);
                for ((to, y), dy) in to[range].iter_mut().zip(y).zip(dy) {
                    *to = *y * (*dy - mean);
                }
            }
            Ok(())
        }))
    });

#[cfg(test)]
mod tests {
    use crate::testing::{check, noise, tensor, with_lod};

    #[test]
    fn each_sequence_sums_to_one() {
        let log = [1.0f32.ln(), 3.0f32.ln(), 0.5, 2.0f32.ln(), 2.0f32.ln()];
        check("sequence_softmax")
            .input("X", with_lod(tensor([5, 1], &log), &[&[0, 2, 2, 3, 5]]))
            .output("Out", with_lod(tensor([5, 1], &[0.25, 0.75, 1.0, 0.5, 0.5]), &[&[0, 2, 2, 3, 5]]))
            .grad(&["X"])
            .run();
    }

    #[test]
    fn rows_of_two_numbers_are_an_error() {
        let e = check("sequence_softmax").input("X", with_lod(noise([2, 2], 1), &[&[0, 2]])).any_output("Out").error();
        assert!(e.contains("needs one number per row, but `X` is [2, 2]"), "{e}");
    }
}
