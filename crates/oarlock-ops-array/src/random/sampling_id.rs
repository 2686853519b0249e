//! `sampling_id`: a class per row, drawn by the row's probabilities.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, Traits, VarType, by_float, kernel, sig};
use oarlock_ops_support::seed::seed_or_fresh;
use oarlock_tensor::rng::{MinStd, Uniform};
use oarlock_tensor::{DType, Dims, Float};

pub(crate) const OPS: &[&dyn OpDef] = &[&SamplingId];

struct SamplingId;

impl OpDef for SamplingId {
    sig! {
        "sampling_id": "Out[i] = the first class k with X[i, 0] + ... + X[i, k] > r; r is drawn from [min, max)";
        in "X": "probabilities [batch, classes]";
        out "Out": "[batch] i64";
        attr "min" = 0.0f32, "lower bound of r";
        attr "max" = 1.0f32, "upper bound of r";
        attr "seed" = 0, "of r; 0 for another one in every run";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.float("X")?;
        if x.shape.rank() != 2 {
            return Err(cx.shape_error(format_args!("needs [batch, classes], but has {}", cx.describe("X"))));
        }
        cx.set("Out", VarType::tensor(DType::I64, vec![x.shape[0]]));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out, attrs) = (p.input("X")?, p.output("Out")?, p.attrs());
        let (min, max, seed) = (attrs.f32("min")?, attrs.f32("max")?, attrs.int("seed")?);
        by_float!(p.float("X")?, T => kernel(move |io| {
            let from = io.dense(x)?;
            let (rows, classes) = from.dims().matrix(1);
            let data = io.data::<T>(x, &from)?;
            let mut engine = MinStd::new(seed_or_fresh(io, seed));
            let mut t = io.out_sized(out, DType::I64, Dims::from([rows]))?;
            for (row, to) in io.data_mut::<i64>(out, &mut t)?.iter_mut().enumerate() {
                let (min, max) = (T::of(min.into()), T::of(max.into()));
                let r = T::canonical(&mut engine) * (max - min) + min;
                *to = pick(&data[row * classes..][..classes], r);
            }
            Ok(())
        }))
    }
}

/// The class that `r` falls into; the last one if the probabilities do not reach it.
fn pick<T: Float>(probabilities: &[T], mut r: T) -> i64 {
    for (class, &p) in probabilities.iter().enumerate() {
        r -= p;
        if r < T::ZERO {
            return class as i64;
        }
    }
    probabilities.len() as i64 - 1
}

#[test]
fn sampling_id() {
    use crate::testing::{check, tensor, tensor_of};
    check("sampling_id")
        .input("X", tensor([3, 3], &[0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]))
        .attr("seed", 7)
        .output("Out", tensor_of([3], &[1i64, 0, 2]))
        .run();
}
