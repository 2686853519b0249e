//! `clip_by_norm`: scales a tensor down to a norm; selected rows too, whose repeated rows are added first.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, Traits, by_float, kernel, sig};
use oarlock_tensor::simd;
use oarlock_tensor::{Float, Value};

use crate::unary::merged_rows::merged_rows;
use oarlock_ops_support::pointwise;
use oarlock_tensor::merge::RowMerger;

pub(crate) const OPS: &[&dyn OpDef] = &[&ClipByNorm];

struct ClipByNorm;

impl OpDef for ClipByNorm {
    sig! {
        "clip_by_norm": "Out = X * max_norm / norm, where norm = sqrt(sum of X^2), if that is above max_norm; else X";
        in "X": "a tensor or selected rows";
        out "Out": "like `X`";
        attr "max_norm": "the largest norm";
        traits Traits::X_TO_OUT.whole_tensor();
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        pointwise::infer_like_x(cx)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out, max_norm) = (p.input("X")?, p.output("Out")?, p.attrs().f32("max_norm")?);
        by_float!(p.float("X")?, T => {
            let mut merger = RowMerger::<T>::default();
            kernel(move |io| {
                let sparse = matches!(*io.value(x)?, Value::Rows(_));
                if sparse {
                    let mut merged = merged_rows(io, x, out, &mut merger)?;
                    let values = merged.rows_mut().value.data_mut::<T>().map_err(|e| io.about(out.0, e))?;
                    limit(values, T::of(max_norm.into()));
                } else {
                    let mut t = io.update(x, out)?;
                    limit(io.data_mut::<T>(out, &mut t)?, T::of(max_norm.into()));
                }
                Ok(())
            })
        })
    }
}

/// Scales `x` down to a norm, if its own is above that.
pub(crate) fn limit<T: Float>(x: &mut [T], max_norm: T) {
    let norm = simd::sum_of_squares(x).sqrt();
    if norm > max_norm {
        simd::scale(x, max_norm / norm);
    }
}

#[test]
fn clip_by_norm() {
    use crate::testing::{check, tensor};
    use oarlock_tensor::SelectedRows;
    let x = || tensor([2, 1], &[3.0, -4.0]);
    check("clip_by_norm").input("X", x()).attr("max_norm", 1.0f32).output("Out", tensor([2, 1], &[0.6, -0.8])).run();
    check("clip_by_norm").input("X", x()).attr("max_norm", 6.0f32).output("Out", x()).run();
    let clipped = SelectedRows { rows: vec![0, 2], height: 3, value: tensor([2, 1], &[0.6, -0.8]) };
    check("clip_by_norm")
        .rows_input("X", &[2, 0, 2], 3, tensor([3, 1], &[-1.0, 3.0, -3.0]))
        .attr("max_norm", 1.0f32)
        .output("Out", Value::Rows(clipped))
        .run();
}
