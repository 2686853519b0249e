//! Products of rows with rows of a table, as skip-gram has them: `lookup_table`, `reshape2` and `matmul` as one operator that reads the
//! table where it is, and so for their gradients.
//!
//! The gradient of a row that was looked up is a number times a row of the other side. Written out for every id of a batch that is more than
//! a cache holds, so [`FuseProducts`] lets the table's update multiply, after `lookup_sgd` has made one operator of it, or the sum of its
//! gradients, after `lookup_sum` has; then [`FuseLookup`] does without the copy of the rows.

use oarlock_ir::kernel;
use oarlock_ir::{Attr, Dim, FuseBlock, Fusion, In, Infer, Io, Kernel, Kind, Name, Op, OpDef, Prepare, Result, Sig};
use oarlock_tensor::simd::{self, Named};
use oarlock_tensor::{DType, Dims, Tensor};

use super::lookup_concat::{check_ids, flag, plain_lookup};

pub(crate) const FUSIONS: &[&dyn Fusion] = &[&FuseProducts, &FuseLookup];

/// Shorter rows are multiplied in another order by `matmul`.
const SHORTEST: usize = 5;

struct FuseProducts;

impl Fusion for FuseProducts {
    fn name(&self) -> &'static str {
        "lookup_products"
    }

    fn after(&self) -> &'static [&'static str] {
        // It changes the operators that these two make.
        &["lookup_sgd", "lookup_sum"]
    }

    fn ops(&self) -> &'static [&'static dyn OpDef] {
        &[]
    }

    fn apply(&self, g: &mut FuseBlock<'_>) -> Result<()> {
        for i in 0..g.len() {
            multiply_at(g, i);
        }
        Ok(())
    }
}

/// A gradient that a `matmul_grad` makes of numbers and rows.
struct Product {
    /// Its operators: `matmul_grad`, and `reshape2_grad` if there is one.
    matmul: usize,
    reshape: Option<usize>,
    factor: Name,
    row: Name,
}

/// Lets the update of a table at `i`, or the sum of its gradients, multiply where these are products.
fn multiply_at(g: &mut FuseBlock<'_>, i: usize) {
    let update = g.typed(i, "fused_lookup_sgd").filter(|op| op.attrs.get("order").is_none());
    let Some(update) = update.or_else(|| g.typed(i, "fused_lookup_sum")) else { return };
    let found: Vec<Option<Product>> = update.inputs.get("Grad").iter().map(|grad| product_of(g, grad, i)).collect();
    if !found.iter().any(Option::is_some) {
        return;
    }
    let mut op = update.clone();
    let given = op.inputs.get("Grad").iter().zip(&found).filter(|(_, p)| p.is_none()).map(|(n, _)| n.clone()).collect();
    op.inputs.set("Grad", given);
    let all = |of: fn(&Product) -> &Name| found.iter().flatten().map(|p| of(p).clone()).collect();
    op.inputs.set("Factor", all(|p| &p.factor));
    op.inputs.set("Row", all(|p| &p.row));
    op.attrs.set("products", found.iter().map(Option::is_some).collect::<Vec<bool>>());
    for product in found.iter().flatten() {
        if let Some(mut rest) = g.op(product.matmul).cloned() {
            rest.outputs.remove("Y@GRAD");
            g.replace(&[product.matmul], product.matmul, rest);
        }
    }
    let mut gone: Vec<usize> = found.iter().flatten().filter_map(|p| p.reshape).collect();
    gone.push(i);
    g.replace(&gone, i, op);
}

/// The product that a gradient is, if only the update at `i` needs it.
fn product_of(g: &FuseBlock<'_>, grad: &Name, i: usize) -> Option<Product> {
    let (mut at, mut name, mut reshape) = (g.writer(grad)?, grad, None);
    if !g.is_private(grad, &[at, i]) {
        return None;
    }
    if let Some(op) = g.typed(at, "reshape2_grad") {
        name = op.inputs.get("Out@GRAD").first()?;
        reshape = Some(at);
        let matmul = g.writer(name)?;
        if !g.is_private(name, &[at, matmul]) {
            return None;
        }
        at = matmul;
    }
    let op = g.typed(at, "matmul_grad").filter(|op| op.outputs.get("Y@GRAD").first() == Some(name))?;
    // Without the gradient of X the whole operator would go: skip-gram trains both sides.
    if op.outputs.get("X@GRAD").is_empty() || op.inputs.get("X") == op.inputs.get("Y") {
        return None;
    }
    rows_times_rows(g, op)?;
    let (factor, row) = (op.inputs.get("Out@GRAD").first()?.clone(), op.inputs.get("X").first()?.clone());
    let kept = !g.written_between(&factor, at, i) && !g.written_between(&row, at, i);
    kept.then_some(Product { matmul: at, reshape, factor, row })
}

/// If a `matmul` or its gradient multiplies one row by some rows, for every sample of a batch: how many rows, and of which width.
fn rows_times_rows(g: &FuseBlock<'_>, op: &Op) -> Option<(usize, usize)> {
    let plain = matches!(op.attrs.get("alpha"), None | Some(Attr::Float(1.0)));
    if !plain || flag(op, "transpose_X") || !flag(op, "transpose_Y") {
        return None;
    }
    let shape = |slot: &str| {
        let var = g.block.var(op.inputs.get(slot).first()?)?;
        let [_, rows, width] = var.shape[..] else { return None };
        (var.ty().dtype == DType::F32).then_some((rows, width))
    };
    match (shape("X")?, shape("Y")?) {
        ((Dim::Is(1), Dim::Is(a)), (Dim::Is(rows), Dim::Is(b))) if a == b && a >= SHORTEST && rows > 0 => {
            Some((rows, a))
        }
        _ => None,
    }
}

struct FuseLookup;

impl Fusion for FuseLookup {
    fn name(&self) -> &'static str {
        "lookup_matmul"
    }

    fn after(&self) -> &'static [&'static str] {
        // As long as the gradient of the rows is computed, the rows are needed.
        &["lookup_products"]
    }

    fn ops(&self) -> &'static [&'static dyn OpDef] {
        &[&LookupMatmul, &LookupMatmulGrad]
    }

    fn apply(&self, g: &mut FuseBlock<'_>) -> Result<()> {
        for i in 0..g.len() {
            if let Some(found) = lookup_at(g, i) {
                g.replace(&found.gone, i, found.forward);
                if let Some((at, op)) = found.backward {
                    g.replace(&[at], at, op);
                }
            }
        }
        Ok(())
    }
}

struct Found {
    gone: Vec<usize>,
    forward: Op,
    backward: Option<(usize, Op)>,
}

/// The `matmul` at `i` with rows that were looked up, and its gradient.
fn lookup_at(g: &FuseBlock<'_>, i: usize) -> Option<Found> {
    let matmul = g.typed(i, "matmul")?;
    let (count, width) = rows_times_rows(g, matmul)?;
    let (x, rows) = (matmul.inputs.get("X").first()?, matmul.inputs.get("Y").first()?);
    let grad = g.readers(rows).iter().copied().find(|at| *at != i);
    let mut at = g.writer(rows).filter(|at| *at < i)?;
    let users: Vec<usize> = [Some(at), Some(i), grad].into_iter().flatten().collect();
    if !g.is_private(rows, &users) {
        return None;
    }
    let mut gone = vec![at, i];
    if let Some(reshape) = g.typed(at, "reshape2") {
        let whole = reshape.inputs.get("X").first()?;
        let lookup = g.writer(whole)?;
        let sizes_unused = reshape.outputs.get("XShape").iter().all(|n| g.is_private(n, &[at]));
        let fixed = reshape.inputs.get("Shape").is_empty() && reshape.inputs.get("ShapeTensor").is_empty();
        if !sizes_unused || !fixed || !g.is_private(whole, &[at, lookup]) {
            return None;
        }
        at = lookup;
        gone.push(at);
    }
    let lookup = g.op(at).filter(|op| matches!(&*op.op_type, "lookup_table" | "lookup_table_v2"))?;
    let (table, ids) = (lookup.inputs.get("W").first()?, lookup.inputs.get("Ids").first()?);
    let has_width = g.block.var(table).is_some_and(|var| var.shape.get(1) == Some(&Dim::Is(width)));
    let last = grad.unwrap_or(i);
    if !plain_lookup(g, lookup) || !has_width || g.written_between(table, at, last) || g.written_between(ids, at, last)
    {
        return None;
    }
    let fused = |op_type: &str| {
        let op = Op::new(op_type).input("W", [table]).input("Ids", [ids]).input("X", [x]);
        op.attr("count", count as i32)
    };
    let mut forward = fused("fused_lookup_matmul").output("Out", matmul.outputs.get("Out"));
    forward.set_role(matmul.role());
    let backward = match grad {
        Some(at) => Some((at, gradient_at(g, at, matmul, fused("fused_lookup_matmul_grad"))?)),
        None => None,
    };
    Some(Found { gone, forward, backward })
}

/// The gradient of X alone that stands at `at`, fused; `None` if it is something else.
fn gradient_at(g: &FuseBlock<'_>, at: usize, matmul: &Op, fused: Op) -> Option<Op> {
    let grad = g.typed(at, "matmul_grad").filter(|op| op.outputs.get("Y@GRAD").is_empty())?;
    let same = |slot: &str| grad.inputs.get(slot) == matmul.inputs.get(slot);
    if !same("X") || !same("Y") || rows_times_rows(g, grad).is_none() {
        return None;
    }
    let mut op = fused.input("Out@GRAD", grad.inputs.get("Out@GRAD")).output("X@GRAD", grad.outputs.get("X@GRAD"));
    op.set_role(grad.role());
    Some(op)
}

/// The slots that both operators have.
#[derive(Clone, Copy)]
struct Rows {
    table: In,
    ids: In,
    x: In,
    count: usize,
}

impl Rows {
    fn sig(sig: Sig) -> Sig {
        sig.input("W", "the table")
            .input("Ids", "`count` ids for every sample")
            .input("X", "a row for every sample, [samples, 1, width]")
            .attr("count", 1, "ids of a sample")
    }

    fn new(p: &Prepare<'_>) -> Result<Rows> {
        let count = p.attrs().int("count")? as usize;
        Ok(Rows { table: p.input("W")?, ids: p.input("Ids")?, x: p.input("X")?, count })
    }

    /// The rows that `ids` name in a table, if there are `count` for every row of X.
    fn named<'t>(&self, io: &Io<'_>, table: &'t Tensor, ids: &'t Tensor, x: &Tensor) -> Result<Named<'t, f32>> {
        let (rows, width) = table.dims().matrix(1);
        let (data, list) = (io.data::<f32>(self.table, table)?, io.data::<i64>(self.ids, ids)?);
        let fits = matches!(x.dims()[..], [samples, 1, w] if w == width && samples * self.count == list.len());
        if !fits {
            let what = format_args!(
                "{} cannot be multiplied by {} rows of {width} for each sample: there are {} ids",
                x.dims(),
                self.count,
                list.len()
            );
            return Err(io
                .error(Kind::Shape, self.x, what)
                .help("feed as many ids for every sample as the network says"));
        }
        check_ids(io, self.table, self.ids, list, rows)?;
        Ok(Named::new(data, width, list))
    }
}

struct LookupMatmul;

impl OpDef for LookupMatmul {
    fn sig(&self) -> Sig {
        Rows::sig(Sig::new("fused_lookup_matmul", "products of each row of `X` with the rows of `W` that its ids name"))
            .output("Out", "[samples, 1, count]")
    }

    fn infer(&self, _: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (rows, out) = (Rows::new(p)?, p.output("Out")?);
        kernel(move |io| {
            let (table, ids, x) = (io.dense(rows.table)?, io.dense(rows.ids)?, io.dense(rows.x)?);
            let named = rows.named(io, &table, &ids, &x)?;
            let mut to = io.out_sized(out, DType::F32, Dims::from([x.rows(), 1, rows.count]))?;
            to.set_lod(x.lod().clone());
            simd::lookup_dots(io.data_mut::<f32>(out, &mut to)?, io.data::<f32>(rows.x, &x)?, named);
            Ok(())
        })
    }
}

struct LookupMatmulGrad;

impl OpDef for LookupMatmulGrad {
    fn sig(&self) -> Sig {
        let sig =
            Sig::new("fused_lookup_matmul_grad", "sums of the rows of `W` that the ids of a sample name, weighted");
        Rows::sig(sig).input("Out@GRAD", "the weights").output("X@GRAD", "gradient of `X`")
    }

    fn infer(&self, _: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (rows, dout, dx) = (Rows::new(p)?, p.input("Out@GRAD")?, p.output("X@GRAD")?);
        kernel(move |io| {
            let (table, ids, x) = (io.dense(rows.table)?, io.dense(rows.ids)?, io.dense(rows.x)?);
            let named = rows.named(io, &table, &ids, &x)?;
            let weights = io.dense(dout)?;
            let weights = oarlock_ops_support::checks::sized::<f32>(io, dout, &weights, ids.numel())?;
            let mut to = io.out_sized(dx, DType::F32, *x.dims())?;
            to.set_lod(x.lod().clone());
            simd::lookup_sums(io.data_mut::<f32>(dx, &mut to)?, weights, named);
            Ok(())
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use crate::testing::{FusionCheck, fusion, noise, tensor, tensor_of};

    /// A step of skip-gram with rows of `width`: `a` of one table times the row `b` and the rows `c` of another.
    fn skip_gram(width: usize) -> FusionCheck {
        // Each id once: what `sum` merges before `sgd` is then the same to the last bit.
        skip_gram_of(width, "matmul(X: r0, Y: r1) {transpose_Y: true}", [2, 8], [3, 0, 7, 5, 4, 6])
    }

    /// The same with an operator of choice for `a` and `b`, and with these ids.
    pub(in crate::fusion) fn skip_gram_of(width: usize, first: &str, b: [i64; 2], c: [i64; 6]) -> FusionCheck {
        let text = format!(
            "program 1008005
block 0 {{
  var u: f32[9, {width}]
  var w: f32[9, {width}]
  var rate: f32[1]
  var a: i64[?, 1] stop_gradient
  var b: i64[?, 1] stop_gradient
  var c: i64[?, 3] stop_gradient
  var e0: f32[]
  var e1: f32[]
  var e2: f32[]
  var r0: f32[]
  var r1: f32[]
  var r2: f32[]
  var x0: f32[]
  var x1: f32[]
  var x2: f32[]
  var s1: f32[]
  var s2: f32[]
  var t1: f32[]
  var t2: f32[]
  var both: f32[]
  var loss: f32[]
  e0 = lookup_table_v2(Ids: a, W: u) {{is_sparse: true}}
  Out: r0, XShape: x0 = reshape2(X: e0) {{shape: [-1, 1, {width}]}}
  e1 = lookup_table_v2(Ids: b, W: w) {{is_sparse: true}}
  Out: r1, XShape: x1 = reshape2(X: e1) {{shape: [-1, 1, {width}]}}
  s1 = {first}
  e2 = lookup_table_v2(Ids: c, W: w) {{is_sparse: true}}
  Out: r2, XShape: x2 = reshape2(X: e2) {{shape: [-1, 3, {width}]}}
  s2 = matmul(X: r0, Y: r2) {{transpose_Y: true}}
  t1 = reduce_sum(X: s1) {{reduce_all: true}}
  t2 = reduce_sum(X: s2) {{reduce_all: true}}
  both = elementwise_mul(X: t1, Y: t2)
  loss = mean(X: both)
}}
"
        );
        let inputs = vec![
            ("u", noise(oarlock_tensor::Dims::from([9, width]), 1)),
            ("w", noise(oarlock_tensor::Dims::from([9, width]), 2)),
            ("rate", tensor([1], &[0.5])),
            ("a", tensor_of([2, 1], &[7i64, 3])),
            ("b", tensor_of([2, 1], &b)),
            ("c", tensor_of([2, 3], &c)),
        ];
        fusion(&text, inputs).gradients("loss", &["u", "w"])
    }

    const UPDATES: [&str; 2] = [
        "  ParamOut: w = sgd(Param: w, Grad: w@GRAD, LearningRate: rate)",
        "  ParamOut: u = sgd(Param: u, Grad: u@GRAD, LearningRate: rate)",
    ];

    #[test]
    fn a_step_of_skip_gram() {
        let step = skip_gram(37).append(UPDATES[0]).append(UPDATES[1]);
        step.lacks(&["u", "w", "loss"], &["matmul", "matmul_grad", "lookup_table_v2_grad", "sgd"]);
        let fused = ["fused_lookup_matmul", "fused_lookup_matmul_grad"];
        step.run(&["u", "w", "loss"], &[fused, fused].concat());
    }

    #[test]
    fn short_rows_stay() {
        let step = skip_gram(4).append(UPDATES[0]).append(UPDATES[1]);
        step.run(&["u", "w", "loss"], &["matmul", "matmul", "matmul_grad", "matmul_grad"]);
    }

    #[test]
    fn gradients_that_are_only_summed_are_not_written_out() {
        let fused = ["fused_lookup_matmul", "fused_lookup_matmul_grad"];
        skip_gram(37).run(&["u@GRAD", "w@GRAD", "loss"], &[fused, fused].concat());
    }

    #[test]
    fn gradients_that_are_read_elsewhere_are_written_out() {
        // And so the rows are copied for them.
        let partial = ["w@GRAD@RENAME@block0@0", "w@GRAD@RENAME@block0@1"];
        let step = skip_gram(37);
        step.run(&[partial[0], partial[1], "loss"], &["matmul", "matmul", "matmul_grad", "matmul_grad"]);
    }

    #[test]
    fn a_table_that_changes_in_between() {
        let step = skip_gram(37).append(UPDATES[0]).append(UPDATES[1]);
        let at = step.position("mean");
        let step = step.insert(at, "  w = scale(X: w) {scale: 0.5}");
        step.run(&["u", "w", "loss"], &["matmul", "matmul"]);
    }
}
