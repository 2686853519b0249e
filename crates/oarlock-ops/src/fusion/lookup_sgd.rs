//! Gradient descent of a table straight from the gradients of what was looked up: `lookup_table_grad` of one lookup or several, their
//! `sum`, and `sgd` as one operator. Gradients are not copied into rows, and repeated ids are not merged.
//!
//! `sum` merges what several lookups name before `sgd` applies it. Here a row that they name twice is updated twice, `(p - r a) - r b`
//! instead of `p - r (a + b)`, which may differ in the last bits. Merging would take longer than everything else here.

use oarlock_ir::{
    Error, FuseBlock, Fusion, In, Infer, Io, Kernel, Kind, Name, Op, OpDef, Out, Pattern, Prepare, Result, Traits,
    VarKind, checked_kernel, sig,
};
use oarlock_ops_training::optimizer::row_rule::PARAM;
use oarlock_tensor::{DType, Tensor, simd};

use super::lookup_concat::{check_ids, flag, plain_lookup};

pub(crate) const FUSIONS: &[&dyn Fusion] = &[&LOOKUP_SGD_FUSION];

/// More lookups of one table than this stay apart.
const MOST: usize = 64;

const LOOKUP_SGD_FUSION: Pattern = Pattern {
    name: "lookup_sgd",
    // It takes up the merged gradient of slots that stand side by side.
    after: &["lookup_concat_grad"],
    ops: &[&LookupSgd],
    find: update_at,
};

/// The `sgd` at `i` with what computes its gradient: which operators disappear, and the fused one.
fn update_at(g: &FuseBlock<'_>, i: usize) -> Option<(Vec<usize>, usize, Op)> {
    let sgd = g.typed(i, "sgd")?;
    let (param, grad) = (sgd.inputs.get("Param").first()?, sgd.inputs.get("Grad").first()?);
    let is_table = |v: &oarlock_ir::Var| v.kind == VarKind::Tensor && v.ty().dtype == DType::F32;
    if sgd.outputs.get("ParamOut").first() != Some(param) || !g.block.var(param).is_some_and(is_table) {
        return None;
    }
    let at = g.writer(grad).filter(|&at| at < i && g.is_private(grad, &[at, i]))?;
    let (mut gone, mut op) = match g.typed(at, "fused_lookup_concat_grad") {
        Some(slots) => (vec![at], of_slots(slots, param)?),
        None => {
            let Lookups { gone, ids, grads } = lookups_at(g, at, param)?;
            (gone, Op::new("fused_lookup_sgd").input("Ids", ids).input("Grad", grads))
        }
    };
    if op.inputs.get("Ids").len() > MOST {
        return None;
    }
    gone.push(i);
    op = op
        .input("Param", [param.clone()])
        .input("LearningRate", sgd.inputs.get("LearningRate"))
        .output("ParamOut", [param.clone()]);
    op.set_role(sgd.role());
    let changes = |n: &Name, from: usize| op.inputs.args().any(|m| m == n) && g.written_between(n, from, i);
    let moved = gone.iter().any(|&k| g.op(k).is_some_and(|was| was.inputs.args().any(|n| changes(n, k))));
    (!moved).then_some((gone, i, op))
}

/// Slots side by side.
fn of_slots(slots: &Op, param: &Name) -> Option<Op> {
    let mut op = Op::new("fused_lookup_sgd")
        .input("Ids", slots.inputs.get("Ids"))
        .input("Other", slots.inputs.get("Other"))
        .input("Grad", slots.inputs.get("Out@GRAD"));
    for name in ["order", "pooled", "turn"] {
        op.attrs.set(name, slots.attrs.get(name)?.clone());
    }
    (slots.inputs.get("W").first() == Some(param)).then_some(op)
}

/// Lookups of one table, whose gradients are needed only together.
pub(super) struct Lookups {
    /// The operators that compute its gradient from those of the rows.
    pub(super) gone: Vec<usize>,
    pub(super) ids: Vec<Name>,
    /// The gradient of each lookup's rows.
    pub(super) grads: Vec<Name>,
}

/// The gradient of a table at `at`: of one lookup, or the `sum` of several.
pub(super) fn lookups_at(g: &FuseBlock<'_>, at: usize, table: &Name) -> Option<Lookups> {
    let mut gone = vec![at];
    if let Some(sum) = g.typed(at, "sum") {
        let partial = |n: &Name| g.writer(n).filter(|&w| w < at && g.is_private(n, &[w, at]));
        let writers: Option<Vec<usize>> = sum.inputs.get("X").iter().map(partial).collect();
        gone.extend(writers?);
    }
    let lookups = if gone.len() > 1 { &gone[1..] } else { &gone[..] };
    let (mut ids, mut grads) = (Vec::new(), Vec::new());
    for &i in lookups {
        let op = g.op(i).filter(|op| matches!(&*op.op_type, "lookup_table_grad" | "lookup_table_v2_grad"))?;
        if !flag(op, "is_sparse") || !plain_lookup(g, op) || op.inputs.get("W").first() != Some(table) {
            return None;
        }
        ids.extend(op.inputs.get("Ids").iter().cloned());
        grads.extend(op.inputs.get("Out@GRAD").iter().cloned());
    }
    Some(Lookups { gone, ids, grads })
}

struct LookupSgd;

impl OpDef for LookupSgd {
    sig! {
        "fused_lookup_sgd": "Param[id] -= LearningRate * gradient, for each id of each lookup in turn";
        in "Param": "the table";
        in "LearningRate": "one number";
        in* "Ids": "ids of each lookup";
        in*? "Grad": "gradient of each lookup that is not a product; of slots side by side, of all of them";
        in*? "Factor": "of each lookup whose gradients are products, a number for each id";
        in*? "Row": "of each of these, the rows that the numbers multiply; each serves as many ids";
        in*? "Other": "what stands between the slots";
        out "ParamOut": "the table, updated";
        attr "order" = Vec::<bool>::new(),
            "for each part from left to right: is it a slot? Empty if they do not stand side by side";
        attr "pooled" = false, "slots have sequences of ids, whose rows were summed";
        attr "turn" = Vec::<i32>::new(), "the slots in the order in which they are applied";
        attr "products" = Vec::<bool>::new(), "for each lookup: are its gradients products? Empty if none are";
        traits Traits::NONE.in_place(&[PARAM]).by_rows();
    }

    fn infer(&self, _: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (param, param_out, rate) = (p.input("Param")?, p.output("ParamOut")?, p.input("LearningRate")?);
        let ids = p.inputs("Ids")?;
        let turn: Vec<usize> = p.attrs().ints("turn")?.into_iter().map(|t| t as usize).collect();
        let order = p.attrs().bools("order")?;
        let layout = match order.is_empty() {
            true => Layout::Apart { grads: gradients(p, ids.len())? },
            false => Layout::SideBySide {
                grad: p.input("Grad")?,
                order,
                others: p.inputs("Other")?,
                pooled: p.attrs().bool("pooled")?,
            },
        };
        let turn = if turn.is_empty() { (0..ids.len()).collect() } else { turn };
        let update = Update { param, param_out, rate, ids, layout, turn };
        let checked = update.clone();
        checked_kernel(move |io| checked.check(io), move |io| update.apply(io))
    }
}

/// The gradients of lookups that stand apart.
pub(super) fn gradients(p: &Prepare<'_>, lookups: usize) -> Result<Vec<Gradients>> {
    let products = p.attrs().bools("products")?;
    let (mut grads, mut factors, mut rows) =
        (p.inputs("Grad")?.into_iter(), p.inputs("Factor")?.into_iter(), p.inputs("Row")?.into_iter());
    let of = |lookup: usize| match products.get(lookup) {
        Some(true) => Some(Gradients::Products { factors: factors.next()?, rows: rows.next()? }),
        _ => grads.next().map(Gradients::Given),
    };
    let found: Option<Vec<Gradients>> = (0..lookups).map(of).collect();
    found.ok_or_else(|| Error::internal(format!("{lookups} lookups, but not as many gradients")))
}

/// The gradients of one lookup.
#[derive(Clone, Copy)]
pub(super) enum Gradients {
    /// A row for each id.
    Given(In),
    /// A number for each id, times a row that serves as many ids as every other.
    Products { factors: In, rows: In },
}

impl Gradients {
    /// Is the count of numbers the one that this number of ids needs: in all, or if they are products, a factor each and rows of `width` to share?
    pub(super) fn check(self, io: &Io<'_>, ids: usize, numbers: usize, width: usize) -> Result<()> {
        match self {
            Gradients::Given(slot) => {
                check_numbers(io, slot, |n| n == numbers, format_args!("{ids} ids, which need {numbers} numbers"))
            }
            Gradients::Products { factors, rows } => {
                check_numbers(io, factors, |n| n == ids, format_args!("{ids} ids"))?;
                let fits = |n: usize| {
                    width > 0 && n.is_multiple_of(width) && (n == 0) == (ids == 0) && divides(n / width, ids)
                };
                check_numbers(io, rows, fits, format_args!("{ids} ids and rows of {width}"))
            }
        }
    }
}

/// Where the gradients of the lookups are.
#[derive(Clone)]
enum Layout {
    /// Each by itself.
    Apart { grads: Vec<Gradients> },
    /// In columns of one matrix.
    SideBySide { grad: In, order: Vec<bool>, others: Vec<In>, pooled: bool },
}

impl Layout {
    /// The place of the gradients of a lookup.
    fn grad(&self, lookup: usize) -> Gradients {
        match self {
            Layout::Apart { grads } => grads[lookup],
            Layout::SideBySide { grad, .. } => Gradients::Given(*grad),
        }
    }

    /// Where the columns of each lookup begin; returns the numbers of a row, of all lookups if they stand side by side.
    fn columns(&self, io: &Io<'_>, width: usize, lefts: &mut [usize; MOST]) -> Result<usize> {
        let Layout::SideBySide { grad, order, others, .. } = self else { return Ok(width) };
        let (mut left, mut slots, mut others) = (0, lefts.iter_mut(), others.iter());
        for &is_slot in order {
            if is_slot {
                slots.by_ref().take(1).for_each(|slot| *slot = left);
                left += width;
            } else if let Some(&o) = others.next() {
                left += io.dense(o)?.dims().matrix(1).1;
            }
        }
        let whole = io.dense(*grad)?.dims().matrix(1).1;
        if whole == left {
            return Ok(left);
        }
        Err(io.error(Kind::Shape, *grad, format_args!("has rows of {whole}, but the slots and others take {left}")))
    }
}

#[derive(Clone)]
struct Update {
    param: In,
    param_out: Out,
    rate: In,
    ids: Vec<In>,
    layout: Layout,
    /// The lookups in the order in which they are applied.
    turn: Vec<usize>,
}

impl Update {
    /// After this, [`Update::apply`] cannot fail.
    fn check(&self, io: &Io<'_>) -> Result<()> {
        io.scalar(self.rate)?;
        let table = io.dense(self.param)?;
        io.data::<f32>(self.param, &table)?;
        let (rows, width) = table.dims().matrix(1);
        let stride = self.layout.columns(io, width, &mut [0; MOST])?;
        for (lookup, &ids) in self.ids.iter().enumerate() {
            let t = io.dense(ids)?;
            let list = io.data::<i64>(ids, &t)?;
            check_ids(io, self.param, ids, list, rows)?;
            self.layout.grad(lookup).check(io, list.len(), self.samples(&t) * stride, width)?;
        }
        Ok(())
    }

    /// The rows of gradients that the ids of a lookup have.
    fn samples(&self, ids: &Tensor) -> usize {
        match self.layout {
            Layout::SideBySide { pooled: true, .. } => ids.lod().last().map_or(0, |level| level.len() - 1),
            _ => ids.numel(),
        }
    }

    fn apply(&self, io: &Io<'_>) -> Result<()> {
        let rate = io.scalar(self.rate)? as f32;
        let mut table = io.update(self.param, self.param_out)?;
        let width = table.dims().matrix(1).1;
        let table = io.data_mut::<f32>(self.param_out, &mut table)?;
        let mut lefts = [0; MOST];
        let stride = self.layout.columns(io, width, &mut lefts)?;
        for &lookup in &self.turn {
            let t = io.dense(self.ids[lookup])?;
            let ids = io.data::<i64>(self.ids[lookup], &t)?;
            let slot = match self.layout.grad(lookup) {
                Gradients::Given(slot) => slot,
                Gradients::Products { factors, rows } => {
                    let (by, of) = (io.dense(factors)?, io.dense(rows)?);
                    let (by, of) = (io.data::<f32>(factors, &by)?, io.data::<f32>(rows, &of)?);
                    simd::sgd_rows_outer(table, width, ids, by, of, rate);
                    continue;
                }
            };
            let grad = io.dense(slot)?;
            let grads = io.data::<f32>(slot, &grad)?;
            if let Layout::SideBySide { pooled: true, .. } = self.layout {
                for (sample, bounds) in t.lod().last().unwrap_or(&[]).windows(2).enumerate() {
                    let of_sample = (&grads[sample * stride + lefts[lookup]..], 0);
                    simd::sgd_rows(table, width, (ids, bounds[0]..bounds[1]), of_sample, rate);
                }
            } else if !ids.is_empty() {
                simd::sgd_rows(table, width, (ids, 0..ids.len()), (&grads[lefts[lookup]..], stride), rate);
            }
        }
        Ok(())
    }
}

/// A gradient must have as many numbers as `fits` says.
fn check_numbers(io: &Io<'_>, slot: In, fits: impl Fn(usize) -> bool, of: std::fmt::Arguments<'_>) -> Result<()> {
    let tensor = io.dense(slot)?;
    if fits(io.data::<f32>(slot, &tensor)?.len()) {
        return Ok(());
    }
    Err(io.error(Kind::Shape, slot, format_args!("is {}, which does not fit {of}", tensor.dims())))
}

fn divides(part: usize, whole: usize) -> bool {
    whole.checked_rem(part).unwrap_or(whole) == 0
}

#[cfg(test)]
mod tests {
    use oarlock_tensor::Tensor;

    use crate::testing::{FusionCheck, fusion, tensor, tensor_of, with_lod};

    /// Whole numbers, so that the order of additions does not matter.
    fn whole(rows: usize, width: usize) -> Tensor {
        let values: Vec<f32> = (0..rows * width).map(|i| (i * 7 % 13) as f32 - 6.0).collect();
        tensor([rows, width], &values)
    }

    /// Gradients `d0` and `d1` of two lookups of `w`, given; the table's update.
    fn apart(body: &str) -> FusionCheck {
        let text = format!(
            "program 1008005
block 0 {{
  var w: f32[9, 3]
  var rate: f32[1]
  var a: i64[4, 1]
  var b: i64[2, 2]
  var d0: f32[4, 3]
  var d1: f32[2, 2, 3]
  var g0: rows f32[9, 3]
  var g1: rows f32[9, 3]
  var g: rows f32[9, 3]
{body}}}
"
        );
        let inputs = vec![
            ("w", whole(9, 3)),
            ("rate", tensor([1], &[0.5])),
            ("a", tensor_of([4, 1], &[7i64, 3, 7, 8])),
            ("b", tensor_of([2, 2], &[3i64, 0, 7, 3])),
            ("d0", whole(4, 3)),
            ("d1", tensor([2, 2, 3], whole(4, 3).data::<f32>().expect("f32"))),
        ];
        fusion(&text, inputs)
    }

    const FIRST: &str = "  W@GRAD: g0 = lookup_table_grad(Ids: a, Out@GRAD: d0, W: w) {is_sparse: true}\n";
    const SECOND: &str = "  W@GRAD: g1 = lookup_table_v2_grad(Ids: b, Out@GRAD: d1, W: w) {is_sparse: true}\n";

    #[test]
    fn one_lookup() {
        let update = "  ParamOut: w = sgd(Param: w, Grad: g0, LearningRate: rate)\n";
        apart(&format!("{FIRST}{update}")).run(&["w"], &["fused_lookup_sgd"]);
    }

    #[test]
    fn several_lookups() {
        let update = "  g = sum(X: [g0, g1])\n  ParamOut: w = sgd(Param: w, Grad: g, LearningRate: rate)\n";
        apart(&format!("{FIRST}{SECOND}{update}")).run(&["w"], &["fused_lookup_sgd"]);
    }

    #[test]
    fn gradients_that_come_one_after_the_other() {
        let half = "  d1 = scale(X: d1) {scale: 0.5}\n";
        let update = "  g = sum(X: [g0, g1])\n  ParamOut: w = sgd(Param: w, Grad: g, LearningRate: rate)\n";
        apart(&format!("{FIRST}{half}{SECOND}{update}")).run(&["w"], &["fused_lookup_sgd"]);
        apart(&format!("{FIRST}{SECOND}{half}{update}")).run(&["w"], &["sum", "sgd"]);
    }

    #[test]
    fn what_others_need_stays() {
        let update = "  g = sum(X: [g0, g1])\n  ParamOut: w = sgd(Param: w, Grad: g, LearningRate: rate)\n";
        apart(&format!("{FIRST}{SECOND}{update}")).run(&["w", "g"], &["fused_lookup_sum", "sgd"]);
        apart(&format!("{FIRST}{SECOND}{update}")).run(&["w", "g1"], &["sum", "sgd"]);
    }

    /// Two slots on both sides of a dense tensor.
    fn side_by_side(ids: [Tensor; 2], pooled: bool) -> FusionCheck {
        let (e, lod) = if pooled { ("p", 1) } else { ("e", 0) };
        let pools = "  Out: p0, MaxIndex: m0 = sequence_pool(X: e0) {pooltype: \"SUM\"}
  Out: p1, MaxIndex: m1 = sequence_pool(X: e1) {pooltype: \"SUM\"}\n";
        let text = format!(
            "program 1008005
block 0 {{
  var w: f32[9, 3]
  var rate: f32[1]
  var dense: f32[?, 2] stop_gradient
  var a: i64[?, 1] lod {lod} stop_gradient
  var b: i64[?, 1] lod {lod} stop_gradient
  var e0: f32[]
  var e1: f32[]
  var p0: f32[]
  var p1: f32[]
  var m0: i32[]
  var m1: i32[]
  var x: f32[]
  var loss: f32[]
  e0 = lookup_table(Ids: a, W: w) {{is_sparse: true}}
  e1 = lookup_table(Ids: b, W: w) {{is_sparse: true}}
{}  x = concat(X: [{e}0, dense, {e}1]) {{axis: 1}}
  loss = reduce_sum(X: x) {{reduce_all: true}}
}}
",
            if pooled { pools } else { "" }
        );
        let [a, b] = ids;
        let inputs =
            vec![("w", whole(9, 3)), ("rate", tensor([1], &[0.5])), ("dense", whole(4, 2)), ("a", a), ("b", b)];
        fusion(&text, inputs)
            .gradients("loss", &["w"])
            .append("  ParamOut: w = sgd(Param: w, Grad: w@GRAD, LearningRate: rate)")
    }

    #[test]
    fn slots_side_by_side() {
        let ids = [tensor_of([4, 1], &[7i64, 3, 7, 8]), tensor_of([4, 1], &[3i64, 0, 7, 3])];
        side_by_side(ids, false).run(&["w", "loss"], &["fused_lookup_concat", "fused_lookup_sgd"]);
    }

    #[test]
    fn slots_of_sequences() {
        let a = with_lod(tensor_of([6, 1], &[7i64, 3, 7, 8, 1, 7]), &[&[0, 2, 3, 3, 6]]);
        let b = with_lod(tensor_of([5, 1], &[3i64, 0, 7, 3, 3]), &[&[0, 1, 2, 3, 5]]);
        side_by_side([a, b], true).run(&["w", "loss"], &["fused_lookup_concat", "fused_lookup_sgd"]);
    }
}
