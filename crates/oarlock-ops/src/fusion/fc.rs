//! Fully connected layers: `mul`, `elementwise_add` of a bias and an activation as one operator; their gradients as another.
//!
//! Saves the passes over the output in each direction: bias and activation are applied to a product while it is being written, and so
//! is the gradient of the activation below to the gradient of a layer's input. The arithmetic and its order are the same, so the bits are.

use oarlock_ir::{Dim, FuseBlock, Fusion, Infer, Kernel, Kind, Name, Op, OpDef, Pattern, Prepare, Result};
use oarlock_ir::{by_float, kernel, sig};
use oarlock_tensor::gemm::{Mat, Then, gemm_then};
use oarlock_tensor::{Dims, simd};

pub(crate) const FUSIONS: &[&dyn Fusion] = &[&FuseFcGrad, &FUSE_FC];

/// An operator's integer attribute, by its default if not set.
fn int(op: &Op, name: &str, default: i32) -> i32 {
    match op.attrs.get(name) {
        Some(oarlock_ir::Attr::Int(v)) => *v,
        _ => default,
    }
}

/// Does the addition add a bias (one value per column) to the product? The bias must be a vector and start at the product's last axis.
fn adds_bias(g: &FuseBlock<'_>, mul: &Op, add: &Op) -> bool {
    let bias = add.inputs.get("Y").first().and_then(|n| g.block.var(n));
    let columns = int(mul, "x_num_col_dims", 1);
    let axis = int(add, "axis", -1);
    // A bias of one value is summed in another order by `elementwise_add_grad`, as a number and not as a row.
    bias.is_some_and(|b| b.shape.rank() == 1 && b.shape[0] != Dim::Is(1) && b.shape[0] != Dim::Any)
        && (axis == -1 || axis == columns)
        && int(mul, "y_num_col_dims", 1) == 1
        && mul.inputs.get("Y").first().and_then(|n| g.block.var(n)).is_some_and(|w| w.shape.rank() == 2)
}

const FUSE_FC: Pattern = Pattern {
    name: "fc",
    // The gradients of single operators read the product and the sum; the fused gradient does not.
    after: &["fc_grad"],
    ops: &[&Fc],
    find: fc_at,
};

/// The layer that starts with the `mul` at `i`: which operators disappear, where the fused one stands, and the fused one.
fn fc_at(g: &FuseBlock<'_>, i: usize) -> Option<(Vec<usize>, usize, Op)> {
    let mul = g.typed(i, "mul")?;
    let product = mul.outputs.get("Out").first()?;
    let j = g.only_reader(product)?;
    let add = g.typed(j, "elementwise_add").filter(|a| a.inputs.get("X").first() == Some(product))?;
    if !adds_bias(g, mul, add) {
        return None;
    }
    let sum = add.outputs.get("Out").first()?;
    let relu = g.only_reader(sum).filter(|&k| g.typed(k, "relu").is_some());
    let (last, out, act) = match relu {
        Some(k) => (k, g.op(k)?.outputs.get("Out").to_vec(), "relu"),
        None => (j, vec![sum.clone()], ""),
    };
    let inputs = [mul.inputs.get("X").first()?, mul.inputs.get("Y").first()?, add.inputs.get("Y").first()?];
    if inputs.iter().any(|n| g.written_between(n, i, last)) {
        return None;
    }
    let op = Op::new("fused_fc")
        .input("X", mul.inputs.get("X"))
        .input("Y", mul.inputs.get("Y"))
        .input("Bias", add.inputs.get("Y"))
        .output("Out", out)
        .attr("x_num_col_dims", int(mul, "x_num_col_dims", 1))
        .attr("activation", act);
    let gone = if relu.is_some() { vec![i, j, last] } else { vec![i, j] };
    Some((gone, last, op))
}

struct Fc;

impl OpDef for Fc {
    sig! {
        "fused_fc": "Out = activation(X Y + Bias)";
        in "X": "rows";
        in "Y": "weights";
        in "Bias": "one value per column";
        out "Out": "activated sums";
        attr "x_num_col_dims" = 1, "dimensions of `X` that count rows";
        attr "activation" = "", "`relu` or nothing";
    }

    fn infer(&self, _: &mut Infer<'_>) -> Result<()> {
        // Fused operators stand in plans only, whose variables have their types already.
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, w, b, out) = (p.input("X")?, p.input("Y")?, p.input("Bias")?, p.output("Out")?);
        let columns = p.attrs().count("x_num_col_dims")?;
        let relu = p.attrs().str("activation")? == "relu";
        by_float!(p.float("X")?, T => kernel(move |io| {
            let (xt, wt, bt) = (io.dense(x)?, io.dense(w)?, io.dense(b)?);
            let ((m, k), (rows, n)) = (xt.dims().matrix(columns), wt.dims().matrix(1));
            if k != rows || bt.numel() != n {
                return Err(io.error(Kind::Shape, x, format_args!("is {}, which {} of {} and a bias of {} do not fit",
                    xt.dims(), io.describe(w), wt.dims(), bt.dims())));
            }
            let mut dims = Dims::new(&xt.dims()[..columns]);
            dims.push(n);
            let mut t = io.out_sized(out, <T as oarlock_tensor::Element>::DTYPE, dims)?;
            t.set_lod(xt.lod().clone());
            let y = io.data_mut::<T>(out, &mut t)?;
            let (xs, ws, bs) = (io.data::<T>(x, &xt)?, io.data::<T>(w, &wt)?, io.data::<T>(b, &bt)?);
            let then = if relu { Then::AddRelu(bs) } else { Then::Add(bs) };
            gemm_then(io.pool(), y, Mat::new(xs, m, k), Mat::new(ws, k, n), then);
            Ok(())
        }))
    }
}

struct FuseFcGrad;

impl Fusion for FuseFcGrad {
    fn name(&self) -> &'static str {
        "fc_grad"
    }

    fn ops(&self) -> &'static [&'static dyn OpDef] {
        &[&FcGrad]
    }

    fn apply(&self, g: &mut FuseBlock<'_>) -> Result<()> {
        for i in 0..g.len() {
            if let Some((gone, at, op)) = fc_grad_at(g, i) {
                g.replace(&gone, at, op);
            }
        }
        for i in 0..g.len() {
            if let Some((above, by_above, by_itself)) = activation_above(g, i) {
                g.replace(&[above], above, by_above);
                g.replace(&[i], i, by_itself);
            }
        }
        Ok(())
    }
}

/// The gradient at `i` of a layer with an activation, whose output goes into one layer only: the gradient of that layer can do the
/// activation's. Where it stands, and what becomes of both.
fn activation_above(g: &FuseBlock<'_>, i: usize) -> Option<(usize, Op, Op)> {
    let layer = g.typed(i, "fused_fc_grad")?;
    let (out, dout) = (layer.inputs.get("Out").first()?, layer.inputs.get("Out@GRAD").first()?);
    let above = g.writer(dout).filter(|&j| j < i && g.only_reader(dout) == Some(i))?;
    let op = g.typed(above, "fused_fc_grad")?;
    let passes_on = op.outputs.get("X@GRAD").first() == Some(dout) && op.inputs.get("X").first() == Some(out);
    let mut by_itself = layer.clone();
    by_itself.inputs.remove("Out");
    passes_on.then(|| (above, op.clone().attr("through_relu", true), by_itself))
}

/// The gradient of a layer that ends with the `mul_grad` at `i`: which operators disappear, where the fused one stands, and the fused one.
fn fc_grad_at(g: &FuseBlock<'_>, i: usize) -> Option<(Vec<usize>, usize, Op)> {
    let mul = g.typed(i, "mul_grad")?;
    let product_grad = mul.inputs.get("Out@GRAD").first()?;
    let j = g.writer(product_grad).filter(|&j| j < i && g.only_reader(product_grad) == Some(i))?;
    let add = g.typed(j, "elementwise_add_grad").filter(|a| a.outputs.get("X@GRAD").first() == Some(product_grad))?;
    if !adds_bias(g, mul, add) {
        return None;
    }
    let sum_grad = add.inputs.get("Out@GRAD").first()?;
    let relu = g
        .writer(sum_grad)
        .filter(|&k| k < j && g.only_reader(sum_grad) == Some(j) && g.typed(k, "relu_grad").is_some());
    let mut op = Op::new("fused_fc_grad")
        .input("X", mul.inputs.get("X"))
        .input("Y", mul.inputs.get("Y"))
        .output("X@GRAD", mul.outputs.get("X@GRAD"))
        .output("Y@GRAD", mul.outputs.get("Y@GRAD"))
        .output("Bias@GRAD", add.outputs.get("Y@GRAD"))
        .attr("x_num_col_dims", int(mul, "x_num_col_dims", 1));
    let mut gone = vec![j, i];
    op = match relu.and_then(|k| Some((k, g.op(k)?))) {
        Some((k, act)) => {
            gone.push(k);
            op.input("Out", act.inputs.get("Out")).input("Out@GRAD", act.inputs.get("Out@GRAD"))
        }
        None => op.input("Out@GRAD", [sum_grad.clone()]),
    };
    // The fused operator stands at the addition, whose gradient of the bias may be sent to servers before the product's turn comes. What was read
    // before must not change up to there, what was read after it must not have changed since, and no operator may miss an older value of
    // what the product writes.
    let first = gone.iter().copied().min()?;
    let own = |n: &&Name| mul.inputs.args().any(|m| m == *n);
    let moved = op.inputs.args().filter(|n| !own(n)).any(|n| g.written_between(n, first, j))
        || op.inputs.args().filter(own).any(|n| g.written_between(n, j, i));
    let missed = mul.outputs.args().any(|n| g.readers(n).iter().chain(g.writers(n)).any(|at| (j..i).contains(at)));
    (!moved && !missed).then_some((gone, j, op))
}

struct FcGrad;

impl OpDef for FcGrad {
    sig! {
        "fused_fc_grad": "gradients of `fused_fc`";
        in "X": "rows";
        in "Y": "weights";
        in? "Out": "output of the activation, if there was one";
        in "Out@GRAD": "gradient of the output";
        out? "X@GRAD": "gradient of the rows";
        out? "Y@GRAD": "gradient of the weights";
        out? "Bias@GRAD": "gradient of the bias";
        attr "x_num_col_dims" = 1, "dimensions of `X` that count rows";
        attr "through_relu" = false, "`X` is the output of relu, whose input's gradient `X@GRAD` becomes";
    }

    fn infer(&self, _: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, w, dout, out) = (p.input("X")?, p.input("Y")?, p.input("Out@GRAD")?, p.maybe_input("Out")?);
        let (dx, dw, db) = (p.maybe_output("X@GRAD")?, p.maybe_output("Y@GRAD")?, p.maybe_output("Bias@GRAD")?);
        let (columns, through_relu) = (p.attrs().count("x_num_col_dims")?, p.attrs().bool("through_relu")?);
        by_float!(p.float("X")?, T => {
            let mut scratch: Vec<T> = Vec::new();
            kernel(move |io| {
                let (xt, wt, dt) = (io.dense(x)?, io.dense(w)?, io.dense(dout)?);
                let ((m, k), (_, n)) = (xt.dims().matrix(columns), wt.dims().matrix(1));
                let d = io.data::<T>(dout, &dt)?;
                if d.len() != m * n {
                    return Err(io.error(Kind::Shape, dout, format_args!("is {}, but {m} x {n} is needed", dt.dims())));
                }
                let g: &[T] = match out {
                    Some(out) => {
                        let ot = io.dense(out)?;
                        scratch.resize(d.len(), T::default());
                        simd::relu_grad(&mut scratch, io.data::<T>(out, &ot)?, d);
                        &scratch
                    }
                    None => d,
                };
                let dtype = <T as oarlock_tensor::Element>::DTYPE;
                if let Some(db) = db {
                    let mut t = io.out_sized(db, dtype, Dims::from([n]))?;
                    simd::column_sums(io.data_mut::<T>(db, &mut t)?, g);
                }
                if let Some(dx) = dx {
                    let mut t = io.out_sized(dx, dtype, *xt.dims())?;
                    t.set_lod(xt.lod().clone());
                    let ws = Mat::new(io.data::<T>(w, &wt)?, k, n);
                    let then = if through_relu { Then::WherePositive(io.data::<T>(x, &xt)?) } else { Then::Nothing };
                    gemm_then(io.pool(), io.data_mut::<T>(dx, &mut t)?, Mat::new(g, m, n), ws.t(), then);
                }
                if let Some(dw) = dw {
                    let mut t = io.out_sized(dw, dtype, *wt.dims())?;
                    let xs = Mat::new(io.data::<T>(x, &xt)?, m, k);
                    gemm_then(io.pool(), io.data_mut::<T>(dw, &mut t)?, xs.t(), Mat::new(g, m, n), Then::Nothing);
                }
                Ok(())
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{FusionCheck, fusion, noise};

    const NET: &str = "program 1008005
block 0 {
  var x: f32[?, 7]
  var w0: f32[7, 20]
  var b0: f32[20]
  var w1: f32[20, 3]
  var b1: f32[3]
  var p0: f32[]
  var s0: f32[]
  var h: f32[]
  var p1: f32[]
  var s1: f32[]
  var loss: f32[]
  var seen: f32[]
  p0 = mul(X: x, Y: w0)
  s0 = elementwise_add(X: p0, Y: b0) {axis: 1}
  h = relu(X: s0)
  p1 = mul(X: h, Y: w1)
  s1 = elementwise_add(X: p1, Y: b1) {axis: 1}
  loss = mean(X: s1)
}
";

    fn net() -> FusionCheck {
        let inputs = [
            ("x", noise([9, 7], 1)),
            ("w0", noise([7, 20], 2)),
            ("b0", noise([20], 3)),
            ("w1", noise([20, 3], 4)),
            ("b1", noise([3], 5)),
        ];
        fusion(NET, inputs.into())
    }

    #[test]
    fn layers() {
        net().run(&["loss", "s1"], &["fused_fc", "fused_fc"]);
    }

    #[test]
    fn what_is_fetched_stays() {
        // `s0` is fetched, so the activation stands alone; `p1` is fetched, so the second layer does.
        net().run(&["s0", "p1", "loss"], &["fused_fc", "relu", "mul", "elementwise_add"]);
    }

    #[test]
    fn gradients_of_biases_that_are_used_at_once() {
        let check = net().gradients("loss", &["w0", "b0", "w1", "b1"]);
        let at = check.position("elementwise_add_grad") + 1;
        let check = check.insert(at, "  seen = scale(X: b1@GRAD) {scale: 2.0}");
        check.run(&["w0@GRAD", "b0@GRAD", "seen"], &["fused_fc_grad", "fused_fc_grad"]);
    }

    #[test]
    fn gradients() {
        let grads = ["w0@GRAD", "b0@GRAD", "w1@GRAD", "b1@GRAD", "loss"];
        let fused = ["fused_fc", "fused_fc", "fused_fc_grad", "fused_fc_grad"];
        net().gradients("loss", &["w0", "b0", "w1", "b1"]).run(&grads, &fused);
    }
}
