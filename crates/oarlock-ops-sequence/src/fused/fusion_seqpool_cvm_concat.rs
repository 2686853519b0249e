//! `fusion_seqpool_cvm_concat`: sequences of several inputs pooled, their counts turned into logarithms, and put side by side.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, Traits, by_float, kernel, sig};
use oarlock_tensor::Float;

use crate::fused::sequence_sums::{self, Divisor};

pub(crate) const OPS: &[&dyn OpDef] = &[&FusionSeqPoolCvmConcat];

/// The columns of counts: shows and clicks.
const COUNTS: usize = 2;

struct FusionSeqPoolCvmConcat;

impl OpDef for FusionSeqPoolCvmConcat {
    sig! {
        "fusion_seqpool_cvm_concat":
            "Out[s] = `cvm` of the pooled s-th sequence of each X, side by side; for inference, without a gradient";
        in* "X": "matrices with LoD, of as many sequences each; every row begins with show and click counts";
        in "CVM": "show and click counts of each instance; not read";
        out "Out": "a row per sequence";
        attr "pooltype" = "SUM", "SUM, AVERAGE or SQRT";
        attr "use_cvm" = true, "keep the counts, as logarithms";
        attr "axis" = 1, "must be 1";
        traits Traits::NONE.shape_only(&["CVM"]);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let keep = cx.attrs().bool("use_cvm")?;
        sequence_sums::infer(cx, if keep { 0 } else { COUNTS })
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        sequence_sums::check_axis(&p.attrs())?;
        let (xs, out, how) = (p.inputs("X")?, p.output("Out")?, Divisor::read(&p.attrs())?);
        let keep = p.attrs().bool("use_cvm")?;
        by_float!(p.float("X")?, T => {
            let mut sums = Vec::<T>::new();
            kernel(move |io| match keep {
                true => sequence_sums::pool(io, &xs, out, how, 0, &mut sums, to_logarithms),
                false => sequence_sums::pool(io, &xs, out, how, COUNTS, &mut sums, |_| {}),
            })
        })
    }
}

fn to_logarithms<T: Float>(row: &mut [T]) {
    if let [shows, clicks, ..] = row {
        *shows = (*shows + T::ONE).ln();
        *clicks = (*clicks + T::ONE).ln() - *shows;
    }
}

#[test]
fn fusion_seqpool_cvm_concat() {
    use crate::testing::{check, tensor, with_lod};
    let pool = |keep: bool| {
        let x = with_lod(tensor([2, 3], &[1.0, 0.0, 5.0, 2.0, 1.0, 6.0]), &[&[0, 2]]);
        let counts = tensor([1, 2], &[0.0, 0.0]);
        check("fusion_seqpool_cvm_concat").inputs("X", vec![x]).input("CVM", counts).attr("use_cvm", keep)
    };
    let (shows, clicks) = (4f32.ln(), 2f32.ln() - 4f32.ln());
    pool(true).output("Out", with_lod(tensor([1, 3], &[shows, clicks, 11.0]), &[&[0, 1]])).run();
    pool(false).output("Out", with_lod(tensor([1, 1], &[11.0]), &[&[0, 1]])).run();
}
