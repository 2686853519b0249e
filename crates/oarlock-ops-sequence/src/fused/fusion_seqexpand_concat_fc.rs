//! `fusion_seqexpand_concat_fc`: rows of sequences side by side with what belongs to the whole sequence, through one layer.

use oarlock_ir::{Dim, Infer, Kernel, Kind, OpDef, Prepare, Result, by_float, kernel, sig};
use oarlock_ops_support::lod_rows;
use oarlock_tensor::gemm::Mat;
use oarlock_tensor::{Dims, Element};

use crate::fused::fully_connected;
use crate::recurrent::steps::{Activation, maybe_dense};

pub(crate) const OPS: &[&dyn OpDef] = &[&FusionSeqExpandConcatFc];

struct FusionSeqExpandConcatFc;

impl OpDef for FusionSeqExpandConcatFc {
    sig! {
        "fusion_seqexpand_concat_fc":
            "Out[r] = fc_activation((X[0][r], X[1][s], X[2][s], ...) FCWeight + FCBias), where s is the innermost sequence of row r \
             of X[0]; for inference, without a gradient";
        in* "X": "first a matrix with LoD, then matrices of a row per sequence";
        in "FCWeight": "with as many rows as all of `X` have columns";
        in? "FCBias": "one number per column of `FCWeight`";
        out "Out": "a row per row of the first `X`, with its LoD";
        out? "FCOut": "scratch memory of other systems; not written";
        attr "fc_activation" = "identity", "identity, sigmoid, tanh or relu";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        Activation::read(&cx.attrs(), "fc_activation")?;
        let (xs, w) = (cx.inputs("X")?, cx.float("FCWeight")?);
        let columns: Vec<Dim> = xs.iter().filter_map(|x| x.shape.get(1).copied()).collect();
        let total = columns.iter().try_fold(0, |sum, d| d.known().map(|n| sum + n)).map_or(Dim::Any, Dim::Is);
        match (xs.first(), &w.shape[..]) {
            (Some(first), [rows, n]) if columns.len() == xs.len() && rows.fits(total) => {
                let out = first.clone().with_shape(vec![first.shape[0], *n]);
                cx.set("Out", out);
                Ok(())
            }
            _ => {
                let what = format!("has {total} columns in all of `X`, but {}", cx.describe("FCWeight"));
                Err(cx.shape_error(what).note("rows of `FCWeight` must equal the columns of all of `X`"))
            }
        }
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (xs, w, bias, out) = (p.inputs("X")?, p.input("FCWeight")?, p.maybe_input("FCBias")?, p.output("Out")?);
        let act = Activation::read(&p.attrs(), "fc_activation")?;
        by_float!(p.float("X")?, T => {
            let mut joined = Vec::<T>::new();
            kernel(move |io| {
                let first = io.dense(xs[0])?;
                let offsets = lod_rows::offsets(io, xs[0], &first)?;
                let (rows, sequences) = (first.rows(), offsets.len() - 1);
                let mut columns = 0;
                for &x in &xs {
                    columns += io.dense(x)?.dims().matrix(1).1;
                }
                joined.resize(rows * columns, 0.0);
                let mut at = 0;
                for &x in &xs {
                    let t = io.dense(x)?;
                    let (count, width) = t.dims().matrix(1);
                    if x != xs[0] && count != sequences {
                        let what = format_args!("is {}, but {} has {sequences} sequences", t.dims(), io.describe(xs[0]));
                        return Err(io.error(Kind::Shape, x, what));
                    }
                    let data = io.data::<T>(x, &t)?;
                    for (s, w) in offsets.windows(2).enumerate() {
                        for r in w[0]..w[1] {
                            let from = if x == xs[0] { r } else { s };
                            joined[r * columns + at..][..width].copy_from_slice(&data[from * width..][..width]);
                        }
                    }
                    at += width;
                }
                let (wt, bt) = (io.dense(w)?, maybe_dense(io, bias)?);
                let weights = fully_connected::weights::<T>(io, w, &wt, columns)?;
                let bias = bt.as_ref().map(|(slot, t)| fully_connected::bias::<T>(io, *slot, t, weights.cols())).transpose()?;
                let mut to = io.out_sized(out, <T as Element>::DTYPE, Dims::from([rows, weights.cols()]))?;
                to.set_lod(first.lod().clone());
                let x = Mat::new(&joined, rows, columns);
                fully_connected::layer(io.pool(), io.data_mut::<T>(out, &mut to)?, x, weights, bias, act);
                Ok(())
            })
        })
    }
}

#[test]
fn fusion_seqexpand_concat_fc() {
    use crate::testing::{check, tensor, with_lod};
    let layer = |second: &[f32]| {
        let first = with_lod(tensor([3, 1], &[1.0, 2.0, 3.0]), &[&[0, 2, 3]]);
        check("fusion_seqexpand_concat_fc")
            .inputs("X", vec![first, tensor([second.len(), 1], second)])
            .input("FCWeight", tensor([2, 1], &[1.0, 1.0]))
            .input("FCBias", tensor([1], &[0.5]))
    };
    layer(&[10.0, 20.0]).output("Out", with_lod(tensor([3, 1], &[11.5, 12.5, 23.5]), &[&[0, 2, 3]])).run();
    let e = layer(&[10.0]).any_output("Out").error();
    assert!(e.contains("input `X` = `X.1` is [1, 1], but input `X` = `X.0` has 2 sequences"), "{e}");
}
