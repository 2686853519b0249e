//! `fc`: a fully connected layer as one operator, as inference programs have it.

use oarlock_ir::{Dim, Infer, Kernel, OpDef, Prepare, Result, by_float, kernel, product, sig};
use oarlock_tensor::gemm::Mat;
use oarlock_tensor::{Dims, Element};

use crate::fused::fully_connected;
use crate::recurrent::steps::{Activation, maybe_dense};

pub(crate) const OPS: &[&dyn OpDef] = &[&Fc];

/// Rows and columns that padded weights have too many of.
const PADDING: usize = 4;

struct Fc;

impl OpDef for Fc {
    sig! {
        "fc": "Out = activation(Input W + Bias), with Input seen as a matrix; for inference, without a gradient";
        in "Input": "any float tensor";
        in "W": "with as many rows as `Input` has columns";
        in? "Bias": "one number per column of `W`";
        out "Out": "the row axes of `Input`, then the columns of `W`; LoD of `Input`";
        attr "in_num_col_dims" = 1, "the number of axes of `Input` that make its rows";
        attr "activation_type" = "", "relu or nothing";
        attr "padding_weights" = false, "`W` has four rows and four columns too many, which are left out";
        hints
            [ "Scale_in", "Scale_weights", "Scale_out", "force_fp32_output", "@ALL_KERNELS_MUST_COMPUTE_RUNTIME_SHAPE@"];
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        Activation::read(&cx.attrs(), "activation_type")?;
        let (input, w) = (cx.float("Input")?, cx.float("W")?);
        let rows = cx.attrs().count("in_num_col_dims")?;
        let padding = if cx.attrs().bool("padding_weights")? { PADDING } else { 0 };
        let less = |d: Dim| d.known().map_or(Some(Dim::Any), |n| n.checked_sub(padding).map(Dim::Is));
        let columns = input.shape.get(rows..).map(product);
        let sizes = match w.shape[..] {
            [k, n] => less(k).zip(less(n)),
            _ => None,
        };
        match (columns, sizes) {
            (Some(columns), Some((k, n))) if columns.fits(k) => {
                let out: Vec<Dim> = input.shape[..rows].iter().copied().chain([n]).collect();
                cx.set("Out", input.with_shape(out));
                Ok(())
            }
            _ => {
                let what = format!("cannot multiply {} by {}", cx.describe("Input"), cx.describe("W"));
                let note = format!(
                    "in_num_col_dims is {rows}: what the other axes of `Input` hold must equal the rows of `W`"
                );
                Err(cx.shape_error(what).note(note))
            }
        }
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (input, w, bias, out) = (p.input("Input")?, p.input("W")?, p.maybe_input("Bias")?, p.output("Out")?);
        let rows = p.attrs().count("in_num_col_dims")?;
        let act = Activation::read(&p.attrs(), "activation_type")?;
        let padding = if p.attrs().bool("padding_weights")? { PADDING } else { 0 };
        by_float!(p.float("Input")?, T => kernel(move |io| {
            let (x, wt, bt) = (io.dense(input)?, io.dense(w)?, maybe_dense(io, bias)?);
            let (m, k) = x.dims().matrix(rows);
            let padded = fully_connected::weights::<T>(io, w, &wt, k + padding)?;
            let n = padded.cols().saturating_sub(padding);
            let weights = padded.view(0, k, 0, n);
            let bias = bt.as_ref().map(|(slot, t)| fully_connected::bias::<T>(io, *slot, t, n)).transpose()?;
            let mut dims = Dims::new(&x.dims()[..rows.min(x.dims().rank())]);
            dims.push(n);
            let mut y = io.out_sized(out, <T as Element>::DTYPE, dims)?;
            y.set_lod(x.lod().clone());
            let x = Mat::new(io.data::<T>(input, &x)?, m, k);
            fully_connected::layer(io.pool(), io.data_mut::<T>(out, &mut y)?, x, weights, bias, act);
            Ok(())
        }))
    }
}

#[test]
fn fc() {
    use crate::testing::{check, noise, tensor};
    let fc = || check("fc").input("Input", tensor([1, 2], &[1.0, 2.0])).input("Bias", tensor([2], &[0.5, -9.0]));
    let w = || tensor([2, 2], &[1.0, 1.0, 2.0, 1.0]);
    fc().input("W", w()).output("Out", tensor([1, 2], &[5.5, -6.0])).run();
    fc().input("W", w()).attr("activation_type", "relu").output("Out", tensor([1, 2], &[5.5, 0.0])).run();
    let mut padded = [7.0; 36];
    (padded[0], padded[1], padded[6], padded[7]) = (1.0, 1.0, 2.0, 1.0);
    let padded = fc().input("W", tensor([6, 6], &padded)).attr("padding_weights", true);
    padded.output("Out", tensor([1, 2], &[5.5, -6.0])).run();
    let e = fc().input("W", noise([3, 2], 1)).any_output("Out").error();
    assert!(e.contains("`fc` cannot multiply `Input` = Input.0 f32[1, 2] by `W` = W.0 f32[3, 2]"), "{e}");
}
