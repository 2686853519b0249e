//! `cross_entropy2` after `softmax`: the two gradients as one operator, without the gradient of the probabilities in between.
//!
//! That gradient has one element per row that is not zero, so the sum over the row in `softmax_grad` is a single product:
//! the same value, since adding zeros is exact.

use oarlock_ir::{Attr, FuseBlock, Fusion, Infer, Kernel, Kind, Op, OpDef, Prepare, Result, Sig, by_float, kernel};
use oarlock_tensor::Element;

pub(crate) const FUSIONS: &[&dyn Fusion] = &[&FuseGrad];

struct FuseGrad;

impl Fusion for FuseGrad {
    fn name(&self) -> &'static str {
        "softmax_cross_entropy"
    }

    fn ops(&self) -> &'static [&'static dyn OpDef] {
        &[&SoftmaxCrossEntropyGrad]
    }

    fn apply(&self, g: &mut FuseBlock<'_>) -> Result<()> {
        for j in 0..g.len() {
            if let Some((i, op)) = grad_at(g, j) {
                g.replace(&[i, j], j, op);
            }
        }
        Ok(())
    }
}

/// The pair that ends with the `softmax_grad` at `j`.
fn grad_at(g: &FuseBlock<'_>, j: usize) -> Option<(usize, Op)> {
    let softmax = g.typed(j, "softmax_grad")?;
    let between = softmax.inputs.get("Out@GRAD").first()?;
    let i = g.writer(between).filter(|&i| i < j && g.only_reader(between) == Some(j))?;
    let entropy = g.typed(i, "cross_entropy_grad2")?;
    let probabilities = softmax.inputs.get("Out").first()?;
    let two_dims = g.block.var(probabilities).is_some_and(|v| v.shape.rank() == 2);
    let last_axis = matches!(softmax.attrs.get("axis"), None | Some(Attr::Int(-1 | 1)));
    let ignore = match entropy.attrs.get("ignore_index") {
        Some(Attr::Int(v)) => *v,
        _ => -100,
    };
    let op = Op::new("fused_softmax_cross_entropy_grad")
        .input("Softmax", [probabilities])
        .input("Label", entropy.inputs.get("Label"))
        .input("MatchX", entropy.inputs.get("MatchX"))
        .input("Y@GRAD", entropy.inputs.get("Y@GRAD"))
        .output("X@GRAD", softmax.outputs.get("X@GRAD"))
        .attr("ignore_index", ignore);
    let moved = op.inputs.args().any(|n| g.written_between(n, i, j));
    (two_dims && last_axis && !moved).then_some((i, op))
}

struct SoftmaxCrossEntropyGrad;

impl OpDef for SoftmaxCrossEntropyGrad {
    fn sig(&self) -> Sig {
        Sig::new("fused_softmax_cross_entropy_grad", "gradient of `cross_entropy2(softmax(X), Label)`")
            .input("Softmax", "probabilities, a row per sample")
            .input("Label", "class of each sample")
            .input("MatchX", "probability of that class")
            .input("Y@GRAD", "gradient of the loss of each sample")
            .output("X@GRAD", "gradient of the logits")
            .attr("ignore_index", -100, "samples of this class do not count")
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
fn gradients() {
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
    check.run(&["x@GRAD", "loss"], &["fused_softmax_cross_entropy_grad"]);
}
