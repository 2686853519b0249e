//! `fusion_repeated_fc_relu`: fully connected layers one after the other, each with `relu`.

use oarlock_ir::{Infer, Kernel, Kind, OpDef, Prepare, Result, by_float, fail, kernel, sig};
use oarlock_tensor::gemm::Mat;
use oarlock_tensor::{Dims, Element};

use crate::fused::fully_connected;
use crate::recurrent::steps::Activation;

pub(crate) const OPS: &[&dyn OpDef] = &[&FusionRepeatedFcRelu];

struct FusionRepeatedFcRelu;

impl OpDef for FusionRepeatedFcRelu {
    sig! {
        "fusion_repeated_fc_relu":
            "y = relu(y W[i] + Bias[i]) for each i, starting with y = X; for inference, without a gradient";
        in "X": "a matrix";
        in* "W": "the weights of each layer";
        in* "Bias": "the bias of each layer";
        out*? "ReluOut": "what each layer but the last gives";
        out "Out": "what the last layer gives";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, weights) = (cx.float("X")?, cx.inputs("W")?);
        let [rows, mut columns] = x.shape[..] else {
            return Err(cx.shape_error(format!("needs a matrix, but has {}", cx.describe("X"))));
        };
        if cx.inputs("Bias")?.len() != weights.len() {
            fail!(Kind::Argument, "`fusion_repeated_fc_relu` needs as many variables in `Bias` as in `W`");
        }
        for (i, w) in weights.iter().enumerate() {
            match w.shape[..] {
                [k, n] if k.fits(columns) => columns = n,
                _ => return Err(cx.shape_error(format!("has weights {i} of {w} for rows of {columns}"))),
            }
            let out = x.clone().with_shape(vec![rows, columns]);
            if i + 1 < weights.len() { cx.set_nth("ReluOut", i, out) } else { cx.set("Out", out) }
        }
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, weights, biases, out) = (p.input("X")?, p.inputs("W")?, p.inputs("Bias")?, p.output("Out")?);
        let inner = p.outputs("ReluOut")?;
        by_float!(p.float("X")?, T => {
            let (mut from, mut to) = (Vec::<T>::new(), Vec::<T>::new());
            kernel(move |io| {
                let xt = io.dense(x)?;
                let (rows, mut columns) = xt.dims().matrix(1);
                from.clear();
                from.extend_from_slice(io.data::<T>(x, &xt)?);
                for (i, (&w, &b)) in weights.iter().zip(&biases).enumerate() {
                    let (wt, bt) = (io.dense(w)?, io.dense(b)?);
                    let w = fully_connected::weights::<T>(io, w, &wt, columns)?;
                    let b = fully_connected::bias::<T>(io, b, &bt, w.cols())?;
                    to.resize(rows * w.cols(), 0.0);
                    fully_connected::layer(io.pool(), &mut to, Mat::new(&from, rows, columns), w, Some(b), Activation::Relu);
                    columns = w.cols();
                    let result = if i + 1 == weights.len() { Some(out) } else { inner.get(i).copied().flatten() };
                    if let Some(result) = result {
                        let mut t = io.out_sized(result, <T as Element>::DTYPE, Dims::from([rows, columns]))?;
                        io.data_mut::<T>(result, &mut t)?.copy_from_slice(&to);
                        t.set_lod(xt.lod().clone());
                    }
                    std::mem::swap(&mut from, &mut to);
                }
                Ok(())
            })
        })
    }
}

#[test]
fn fusion_repeated_fc_relu() {
    use crate::testing::{check, noise, tensor};
    let layers = || {
        check("fusion_repeated_fc_relu")
            .input("X", tensor([1, 2], &[1.0, 2.0]))
            .inputs("Bias", vec![tensor([2], &[0.0, 0.0]), tensor([1], &[1.0])])
    };
    layers()
        .inputs("W", vec![tensor([2, 2], &[1.0, -1.0, 1.0, -1.0]), tensor([2, 1], &[2.0, 5.0])])
        .outputs("ReluOut", vec![tensor([1, 2], &[3.0, 0.0]).into()])
        .output("Out", tensor([1, 1], &[7.0]))
        .run();
    let e = layers().inputs("W", vec![noise([2, 2], 1), noise([3, 1], 1)]).any_output("Out").error();
    assert!(e.contains("has weights 1 of f32[3, 1] for rows of 2"), "{e}");
}
