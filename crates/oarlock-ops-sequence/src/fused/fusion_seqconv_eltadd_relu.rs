//! `fusion_seqconv_eltadd_relu`: a convolution along each sequence, a bias and `relu`.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, by_float, kernel, sig};
use oarlock_tensor::simd;

use crate::fused::fully_connected;
use crate::sequence::sequence_conv::{self, Conv};

pub(crate) const OPS: &[&dyn OpDef] = &[&FusionSeqConv];

struct FusionSeqConv;

impl OpDef for FusionSeqConv {
    sig! {
        "fusion_seqconv_eltadd_relu":
            "Out = relu(`sequence_conv` of X by Filter + Bias); for inference, without a gradient";
        in "X": "matrix with LoD";
        in "Filter": "contextLength times the width of `X`, by the width of `Out`";
        in "Bias": "one number per column of `Out`";
        out "Out": "a row per row of `X`, with its LoD";
        out? "ColMat": "scratch memory of other systems; not written";
        attr "contextLength": "how many rows a position sees";
        attr "contextStart" = 0, "the first row it sees, relative to itself";
        attr "contextStride" = 1, "must be 1";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        sequence_conv::infer(cx)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (conv, bias, out) = (Conv::zero_padded(p)?, p.input("Bias")?, p.output("Out")?);
        by_float!(p.float("X")?, T => {
            let mut seen = Vec::<T>::new();
            kernel(move |io| {
                conv.forward(io, out, &mut seen)?;
                let mut to = io.out(out)?;
                let bt = io.dense(bias)?;
                let columns = to.dims()[1];
                simd::add_bias_relu(io.data_mut::<T>(out, &mut to)?, fully_connected::bias::<T>(io, bias, &bt, columns)?);
                Ok(())
            })
        })
    }
}

#[test]
fn fusion_seqconv_eltadd_relu() {
    use crate::testing::{check, tensor, with_lod};
    let conv = |bias: &[f32]| {
        check("fusion_seqconv_eltadd_relu")
            .input("X", with_lod(tensor([3, 1], &[1.0, 2.0, 3.0]), &[&[0, 2, 3]]))
            .input("Filter", tensor([2, 1], &[10.0, 1.0]))
            .input("Bias", tensor([1, bias.len()], bias))
            .attr("contextLength", 2)
    };
    conv(&[-21.0]).output("Out", with_lod(tensor([3, 1], &[0.0, 0.0, 9.0]), &[&[0, 2, 3]])).run();
    let e = conv(&[1.0, 2.0]).any_output("Out").error();
    assert!(e.contains("input `Bias` = `Bias.0` is [1, 2], but 1 numbers are needed"), "{e}");
}
