//! `fusion_seqpool_concat`: sequences of several inputs pooled and put side by side.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, by_float, kernel, sig};

use crate::fused::sequence_sums::{self, Divisor};

pub(crate) const OPS: &[&dyn OpDef] = &[&FusionSeqPoolConcat];

struct FusionSeqPoolConcat;

impl OpDef for FusionSeqPoolConcat {
    sig! {
        "fusion_seqpool_concat":
            "Out[s] = the pooled s-th sequences of all X, side by side; an empty sequence gives zeros; for inference, without a gradient";
        in* "X": "matrices with LoD, of as many sequences each";
        out "Out": "a row per sequence";
        attr "pooltype" = "SUM", "SUM, AVERAGE or SQRT";
        attr "axis" = 1, "must be 1";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        sequence_sums::infer(cx, 0)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        sequence_sums::check_axis(&p.attrs())?;
        let (xs, out, how) = (p.inputs("X")?, p.output("Out")?, Divisor::read(&p.attrs())?);
        by_float!(p.float("X")?, T => {
            let mut sums = Vec::<T>::new();
            kernel(move |io| sequence_sums::pool(io, &xs, out, how, 0, &mut sums, |_| {}))
        })
    }
}

#[test]
fn fusion_seqpool_concat() {
    use crate::testing::{check, tensor, with_lod};
    let pool = |ends: &[usize], how: &str| {
        let first = with_lod(tensor([3, 1], &[1.0, 2.0, 3.0]), &[&[0, 2, 3]]);
        let second = with_lod(tensor([2, 1], &[10.0, 20.0]), &[ends]);
        check("fusion_seqpool_concat").inputs("X", vec![first, second]).attr("pooltype", how)
    };
    pool(&[0, 0, 2], "SUM").output("Out", with_lod(tensor([2, 2], &[3.0, 0.0, 3.0, 30.0]), &[&[0, 1, 2]])).run();
    pool(&[0, 0, 2], "AVERAGE").output("Out", with_lod(tensor([2, 2], &[1.5, 0.0, 3.0, 15.0]), &[&[0, 1, 2]])).run();
    let e = pool(&[0, 2], "SUM").any_output("Out").error();
    assert!(e.contains("input `X` = `X.1` has 1 sequences, but input `X` = `X.0` has 2"), "{e}");
    let e = pool(&[0, 2], "MAX").any_output("Out").error();
    assert!(e.contains("attribute `pooltype` is `MAX`; it can be SUM, AVERAGE or SQRT"), "{e}");
}
