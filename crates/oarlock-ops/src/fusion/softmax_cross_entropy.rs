//! `cross_entropy2` after `softmax` as one operator, and the two gradients as another, without the gradient of the
//! probabilities in between.
//!
//! That gradient has one element per row that is not zero, so the sum over the row in `softmax_grad` is a single product:
//! the same value, since adding zeros is exact.

use oarlock_ir::{Attr, FuseBlock, Fusion, In, Infer, Kernel, Kind, Name, Op, OpDef, Pattern, Prepare, Result, Traits};
use oarlock_ir::{by_float, kernel, sig};
use oarlock_ops_support::class_axis::Classes;
use oarlock_ops_training::loss::cross_entropy2;
use oarlock_tensor::Element;

pub(crate) const FUSIONS: &[&dyn Fusion] = &[&FUSE_GRAD, &FUSE];

/// The class whose samples do not count, of either operator.
fn ignored(entropy: &Op) -> i32 {
    match entropy.attrs.get("ignore_index") {
        Some(Attr::Int(v)) => *v,
        _ => -100,
    }
}

/// Does the operator work along the last of two axes, of which `probabilities` has that many?
fn by_rows(g: &FuseBlock<'_>, softmax: &Op, probabilities: &str) -> bool {
    g.block.var(probabilities).is_some_and(|v| v.shape.rank() == 2)
        && matches!(softmax.attrs.get("axis"), None | Some(Attr::Int(-1 | 1)))
}

const FUSE: Pattern =
    Pattern { name: "softmax_cross_entropy", after: &[], ops: &[&SoftmaxCrossEntropy], find: forward_at };

/// The pair that starts with the `softmax` at `i`. Done there, since others may read the probabilities before the loss is computed.
fn forward_at(g: &FuseBlock<'_>, i: usize) -> Option<(Vec<usize>, usize, Op)> {
    let softmax = g.typed(i, "softmax")?;
    let probabilities = softmax.outputs.get("Out").first()?;
    g.writer(probabilities)?;
    let entropy_of = |j: &usize| *j > i && g.typed(*j, "cross_entropy2").is_some();
    let j = g.readers(probabilities).iter().copied().find(entropy_of)?;
    let entropy = g.op(j)?;
    let label = entropy.inputs.get("Label").first()?;
    let op = Op::new("fused_softmax_cross_entropy")
        .input("X", softmax.inputs.get("X"))
        .input("Label", [label])
        .output("Softmax", [probabilities])
        .output("Y", entropy.outputs.get("Y"))
        .output("MatchX", entropy.outputs.get("MatchX"))
        .output("XShape", entropy.outputs.get("XShape"))
        .attr("ignore_index", ignored(entropy));
    let used = |n: &Name| g.written_between(n, i, j) || g.readers(n).iter().any(|r| (i..j).contains(r));
    let early = g.written_between(label, i, j) || entropy.outputs.args().any(used);
    (by_rows(g, softmax, probabilities) && !early).then_some((vec![i, j], i, op))
}

struct SoftmaxCrossEntropy;

impl OpDef for SoftmaxCrossEntropy {
    sig! {
        "fused_softmax_cross_entropy": "Softmax = softmax(X); Y = -ln Softmax[Label]";
        in "X": "scores, a row per sample";
        in "Label": "class of each sample";
        out "Softmax": "probabilities";
        out "Y": "loss of each sample";
        out "MatchX": "probability of the sample's class";
        out "XShape": "no elements; its sizes are those of `Softmax` behind a 0";
        attr "ignore_index" = -100, "samples of this class do not count";
        traits Traits::NONE.in_place(&[("X", "Softmax")]);
    }

    fn infer(&self, _: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, label, softmax) = (p.input("X")?, p.input("Label")?, p.output("Softmax")?);
        let outs = (p.output("Y")?, p.output("MatchX")?, p.output("XShape")?);
        let ignore = p.attrs().int("ignore_index")?;
        by_float!(p.float("X")?, T => {
            let mut scratch = Vec::new();
            kernel(move |io| {
                let mut t = io.update(x, softmax)?;
                let classes = Classes::of(io, x, t.dims(), -1)?;
                classes.softmax(io.data_mut::<T>(softmax, &mut t)?, &mut scratch);
                drop(t);
                cross_entropy2::forward::<T>(io, (In(softmax.0), label), outs, ignore)
            })
        })
    }
}

const FUSE_GRAD: Pattern =
    Pattern { name: "softmax_cross_entropy_grad", after: &[], ops: &[&SoftmaxCrossEntropyGrad], find: grad_at };

/// The pair that ends with the `softmax_grad` at `j`.
fn grad_at(g: &FuseBlock<'_>, j: usize) -> Option<(Vec<usize>, usize, Op)> {
    let softmax = g.typed(j, "softmax_grad")?;
    let between = softmax.inputs.get("Out@GRAD").first()?;
    let i = g.writer(between).filter(|&i| i < j && g.only_reader(between) == Some(j))?;
    let entropy = g.typed(i, "cross_entropy_grad2")?;
    let probabilities = softmax.inputs.get("Out").first()?;
    let op = Op::new("fused_softmax_cross_entropy_grad")
        .input("Softmax", [probabilities])
        .input("Label", entropy.inputs.get("Label"))
        .input("MatchX", entropy.inputs.get("MatchX"))
        .input("Y@GRAD", entropy.inputs.get("Y@GRAD"))
        .output("X@GRAD", softmax.outputs.get("X@GRAD"))
        .attr("ignore_index", ignored(entropy));
    let moved = op.inputs.args().any(|n| g.written_between(n, i, j));
    (by_rows(g, softmax, probabilities) && !moved).then_some((vec![i, j], j, op))
}

struct SoftmaxCrossEntropyGrad;

impl OpDef for SoftmaxCrossEntropyGrad {
    sig! {
        "fused_softmax_cross_entropy_grad": "gradient of `cross_entropy2(softmax(X), Label)`";
        in "Softmax": "probabilities, a row per sample";
        in "Label": "class of each sample";
        in "MatchX": "probability of that class";
        in "Y@GRAD": "gradient of the loss of each sample";
        out "X@GRAD": "gradient of the logits";
        attr "ignore_index" = -100, "samples of this class do not count";
    }

    fn infer(&self, _: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (prob, label, found, dy) = (p.input("Softmax")?, p.input("Label")?, p.input("MatchX")?, p.input("Y@GRAD")?);
        let dx = p.output("X@GRAD")?;
        let ignore = p.attrs().int("ignore_index")?;
        by_float!(p.float("Softmax")?, T => kernel(move |io| {
            let (pt, lt, ft, dt) = (io.dense(prob)?, io.dense(label)?, io.dense(found)?, io.dense(dy)?);
            let (ps, ls) = (io.data::<T>(prob, &pt)?, io.data::<i64>(label, &lt)?);
            let (fs, ds) = (io.data::<T>(found, &ft)?, io.data::<T>(dy, &dt)?);
            let (rows, classes) = pt.dims().matrix(1);
            if ls.len() != rows || fs.len() != rows || ds.len() != rows {
                return Err(io.error(Kind::Shape, label, format_args!("has {} elements for {rows} rows", ls.len())));
            }
            let mut t = io.out_sized(dx, T::DTYPE, *pt.dims())?;
            t.set_lod(pt.lod().clone());
            let out = io.data_mut::<T>(dx, &mut t)?;
            for r in 0..rows {
                let (p, o) = (&ps[r * classes..(r + 1) * classes], &mut out[r * classes..(r + 1) * classes]);
                // The forward operator has checked that labels are classes.
                let class = if ls[r] == ignore { None } else { usize::try_from(ls[r]).ok().filter(|&c| c < classes) };
                let d = class.map_or(0.0, |_| -ds[r] / fs[r]);
                let dot = class.map_or(0.0, |c| d * p[c]);
                for (c, (o, p)) in o.iter_mut().zip(p).enumerate() {
                    *o = (if Some(c) == class { d } else { 0.0 } - dot) * *p;
                }
            }
            Ok(())
        }))
    }
}

#[test]
fn both_directions() {
    use crate::testing::{fusion, noise, tensor_of};
    let net = "program 1008005
block 0 {
  var x: f32[?, 5]
  var label: i64[?, 1]
  var p: f32[]
  var y: f32[]
  var match: f32[]
  var xshape: f32[]
  var loss: f32[]
  p = softmax(X: x)
  Y: y, MatchX: match, XShape: xshape = cross_entropy2(X: p, Label: label) {ignore_index: 4}
  loss = mean(X: y)
}
";
    let inputs = vec![("x", noise([6, 5], 1)), ("label", tensor_of([6, 1], &[0i64, 4, 2, 1, 3, 3]))];
    let check = fusion(net, inputs).gradients("loss", &["x"]);
    check.run(&["x@GRAD", "loss", "p"], &["fused_softmax_cross_entropy", "fused_softmax_cross_entropy_grad"]);
}
