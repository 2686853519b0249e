//! Embeddings of many slots side by side: `lookup_table` (and `sequence_pool` by sum) of each slot and the `concat` of all, as one
//! operator that writes every row where it belongs; and the way back, which merges the gradients of all slots into one set of rows.
//!
//! A click model looks up some dozens of slots in one table. Done one by one, each batch is copied three times forward and four times
//! back. The sums are made in the order in which `sum` makes them, so the bits are the same.

use oarlock_ir::{
    Attr, FuseBlock, Fusion, In, Infer, Io, Kernel, Kind, Name, Op, OpDef, Pattern, Prepare, Result, VarKind, kernel,
    sig,
};
use oarlock_tensor::{DType, Dims, Lod, Tensor, simd};

use oarlock_ops_array::embedding::lookup::{Lookup, table_dims};
use oarlock_tensor::merge::RowOrder;

pub(crate) const FUSIONS: &[&dyn Fusion] = &[&FUSE_GRAD, &FUSE_FORWARD];

/// Fewer slots than this are not worth it.
const MIN_SLOTS: usize = 2;

pub(super) fn flag(op: &Op, name: &str) -> bool {
    matches!(op.attrs.get(name), Some(Attr::Bool(true)))
}

/// An ordinary lookup: no padding row, no servers to ask, an f32 tensor as the table (not a hashed table), ids in i64.
pub(super) fn plain_lookup(g: &FuseBlock<'_>, op: &Op) -> bool {
    let padding = !matches!(op.attrs.get("padding_idx"), None | Some(Attr::Long(-1)));
    let servers = matches!(op.attrs.get("epmap"), Some(Attr::Strings(list)) if !list.is_empty());
    let is = |slot: &str, dtype: DType| {
        let var = op.inputs.get(slot).first().and_then(|n| g.block.var(n));
        var.is_some_and(|v| v.kind == VarKind::Tensor && v.ty().dtype == dtype && v.shape.rank() == 2)
    };
    is("W", DType::F32) && is("Ids", DType::I64) && !padding && !servers && !flag(op, "is_distributed")
}

/// A pooling of sequences by sum.
fn sums_sequences(op: &Op) -> bool {
    let sum = matches!(op.attrs.get("pooltype"), Some(Attr::String(s)) if s == "SUM");
    let zero = matches!(op.attrs.get("pad_value"), None | Some(Attr::Float(0.0)));
    sum && zero
}

fn concat_axis_is_one(op: &Op) -> bool {
    matches!(op.attrs.get("axis"), Some(Attr::Int(1))) && op.inputs.get("AxisTensor").is_empty()
}

/// One input of the concatenation.
enum Part {
    /// Looked up by these ids.
    Slot { ids: Name, table: Name, pooled: bool, ops: Vec<usize> },
    /// Anything else.
    Other(Name),
}

const FUSE_FORWARD: Pattern = Pattern {
    name: "lookup_concat",
    // The gradients of single operators read the rows of every slot; the fused gradient does not.
    after: &["lookup_concat_grad"],
    ops: &[&LookupConcat],
    find: forward_at,
};

/// The lookups that the `concat` at `i` joins.
fn forward_at(g: &FuseBlock<'_>, i: usize) -> Option<(Vec<usize>, usize, Op)> {
    let concat = g.typed(i, "concat").filter(|op| concat_axis_is_one(op))?;
    let parts: Vec<Part> = concat.inputs.get("X").iter().map(|n| forward_part(g, n, i)).collect();
    let mut gone = vec![i];
    gone.extend(parts.iter().flat_map(|p| match p {
        Part::Slot { ops, .. } => ops.clone(),
        Part::Other(_) => Vec::new(),
    }));
    let op = assemble("fused_lookup_concat", &parts)?.output("Out", concat.outputs.get("Out"));
    let first = gone.iter().copied().min()?;
    let moved = op.inputs.args().any(|n| g.written_between(n, first, i) && !is_other(&parts, n));
    (!moved).then_some((gone, i, op))
}

fn is_other(parts: &[Part], name: &Name) -> bool {
    parts.iter().any(|p| matches!(p, Part::Other(n) if n == name))
}

fn forward_part(g: &FuseBlock<'_>, name: &Name, concat: usize) -> Part {
    slot_part(g, name, concat).unwrap_or_else(|| Part::Other(name.clone()))
}

fn slot_part(g: &FuseBlock<'_>, name: &Name, concat: usize) -> Option<Part> {
    let (mut at, mut pooled, mut ops) = (g.writer(name)?, false, Vec::new());
    if !g.is_private(name, &[at, concat]) {
        return None;
    }
    if let Some(pool) = g.typed(at, "sequence_pool").filter(|op| sums_sequences(op)) {
        let rows = pool.inputs.get("X").first()?;
        let lookup = g.writer(rows)?;
        let index_unused = pool.outputs.get("MaxIndex").iter().all(|n| g.is_private(n, &[at]));
        if !g.is_private(rows, &[at, lookup]) || !index_unused {
            return None;
        }
        ops.push(at);
        (at, pooled) = (lookup, true);
    }
    let lookup = g.typed(at, "lookup_table").filter(|op| plain_lookup(g, op))?;
    ops.push(at);
    let (ids, table) = (lookup.inputs.get("Ids").first()?.clone(), lookup.inputs.get("W").first()?.clone());
    Some(Part::Slot { ids, table, pooled, ops })
}

/// The fused operator's inputs: ids and others in the order of the concatenation. `None` if it is not worth it or not possible.
fn assemble(op_type: &str, parts: &[Part]) -> Option<Op> {
    let (mut ids, mut others, mut order, mut tables, mut pooling) = (vec![], vec![], vec![], vec![], vec![]);
    for part in parts {
        match part {
            Part::Slot { ids: i, table, pooled, .. } => {
                order.push(true);
                ids.push(i.clone());
                tables.push(table.clone());
                pooling.push(*pooled);
            }
            Part::Other(n) => {
                order.push(false);
                others.push(n.clone());
            }
        }
    }
    tables.dedup();
    pooling.dedup();
    if ids.len() < MIN_SLOTS || tables.len() != 1 || pooling.len() != 1 {
        return None;
    }
    let op = Op::new(op_type)
        .input("W", tables)
        .input("Ids", ids)
        .input("Other", others)
        .attr("order", order)
        .attr("pooled", pooling[0]);
    Some(op)
}

struct LookupConcat;

impl OpDef for LookupConcat {
    sig! {
        "fused_lookup_concat": "rows of `W` by the ids of each slot, and `Other` tensors, side by side";
        in "W": "the table";
        in* "Ids": "ids of each slot";
        in*? "Other": "what stands between the slots";
        out "Out": "one row per sample";
        attr "order" = Vec::<bool>::new(), "for each part from left to right: is it a slot?";
        attr "pooled" = false, "slots have sequences of ids, whose rows are summed";
    }

    fn infer(&self, _: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (w, ids, others) = (p.input("W")?, p.inputs("Ids")?, p.inputs("Other")?);
        let (out, order) = (p.output("Out")?, p.attrs().bools("order")?);
        let pooled = p.attrs().bool("pooled")?;
        kernel(move |io| {
            let wt = io.dense(w)?;
            let table = Table { slot: w, data: io.data::<f32>(w, &wt)?, rows: wt.rows(), width: wt.dims().matrix(1).1 };
            let batch = batch_size(io, &ids, pooled)?;
            let mut width = ids.len() * table.width;
            for &o in &others {
                width += part_width(io, o, batch)?;
            }
            let mut t = io.out_sized(out, DType::F32, Dims::from([batch, width]))?;
            let to = io.data_mut::<f32>(out, &mut t)?;
            let (mut ids, mut others, mut left) = (ids.iter(), others.iter(), 0);
            for &slot in &order {
                let part = if slot { ids.next() } else { others.next() };
                let Some(&part) = part else { continue };
                let tensor = io.dense(part)?;
                let mut to = Columns { data: to, width, left };
                left += if slot {
                    gather(io, part, &tensor, &table, pooled, &mut to)?;
                    table.width
                } else {
                    to.copy(io.data::<f32>(part, &tensor)?, batch)
                };
            }
            Ok(())
        })
    }
}

struct Table<'a> {
    slot: In,
    data: &'a [f32],
    rows: usize,
    width: usize,
}

/// Some columns of a matrix of rows, from `left` on.
struct Columns<'a> {
    data: &'a mut [f32],
    width: usize,
    left: usize,
}

impl Columns<'_> {
    fn row(&mut self, r: usize, width: usize) -> &mut [f32] {
        &mut self.data[r * self.width + self.left..][..width]
    }

    /// Copies a matrix of `rows` rows; returns its width.
    fn copy(&mut self, from: &[f32], rows: usize) -> usize {
        let width = from.len().checked_div(rows).unwrap_or(0);
        for r in 0..rows {
            self.row(r, width).copy_from_slice(&from[r * width..][..width]);
        }
        width
    }
}

fn sequences(io: &Io<'_>, part: In, lod: &Lod) -> Result<usize> {
    match lod.last() {
        Some(level) => Ok(level.len() - 1),
        None => Err(io
            .error(Kind::Lod, part, "has no LoD, but its sequences are to be summed")
            .help("feed a LoDTensor: values and the lengths of the sequences")),
    }
}

/// The number of samples, which all slots must agree on.
fn batch_size(io: &Io<'_>, ids: &[In], pooled: bool) -> Result<usize> {
    let mut batch = None;
    for &part in ids {
        let t = io.dense(part)?;
        let n = if pooled { sequences(io, part, t.lod())? } else { t.numel() };
        if batch.is_some_and(|b| b != n) {
            return Err(io.error(
                Kind::Shape,
                part,
                format_args!("has {n} samples, but {} has {}", io.describe(ids[0]), batch.unwrap_or(0)),
            ));
        }
        batch = Some(n);
    }
    Ok(batch.unwrap_or(0))
}

fn part_width(io: &Io<'_>, part: In, batch: usize) -> Result<usize> {
    let t = io.dense(part)?;
    if t.dims().rank() != 2 || t.rows() != batch {
        return Err(io.error(
            Kind::Shape,
            part,
            format_args!("is {}, but {batch} rows are needed beside the embeddings", t.dims()),
        ));
    }
    Ok(t.dims()[1])
}

/// Looks up one slot. Ids are checked first, so that the loop over rows has no branch that fails.
fn gather(io: &Io<'_>, part: In, ids: &Tensor, table: &Table<'_>, pooled: bool, to: &mut Columns<'_>) -> Result<()> {
    let list = io.data::<i64>(part, ids)?;
    check_ids(io, table.slot, part, list, table.rows)?;
    let row = |id: i64| &table.data[id as usize * table.width..][..table.width];
    let ask_for = |at: usize| {
        if let Some(&soon) = list.get(at) {
            simd::prefetch(table.data, soon as usize * table.width, table.width);
        }
    };
    if !pooled {
        for (r, &id) in list.iter().enumerate() {
            ask_for(r + simd::AHEAD);
            to.row(r, table.width).copy_from_slice(row(id));
        }
        return Ok(());
    }
    let offsets = ids.lod().last().unwrap_or(&[]);
    for (r, bounds) in offsets.windows(2).enumerate() {
        (bounds[0]..bounds[1]).for_each(|at| ask_for(at + simd::AHEAD));
        let sum = to.row(r, table.width);
        match &list[bounds[0]..bounds[1]] {
            [] => sum.fill(0.0),
            [first, rest @ ..] => {
                sum.copy_from_slice(row(*first));
                for &id in rest {
                    sum.iter_mut().zip(row(id)).for_each(|(s, v)| *s += v);
                }
            }
        }
    }
    Ok(())
}

pub(super) fn check_ids(io: &Io<'_>, table: In, part: In, ids: &[i64], rows: usize) -> Result<()> {
    // As unsigned numbers, negative ids are too large as well.
    match ids.iter().position(|&id| id as u64 >= rows as u64) {
        None => Ok(()),
        Some(at) => Err(Lookup { table, ids: part, padding: None }.unknown_id(io, ids[at], at, rows)),
    }
}

const FUSE_GRAD: Pattern = Pattern { name: "lookup_concat_grad", after: &[], ops: &[&LookupConcatGrad], find: grad_at };

/// The gradients that leave the `concat_grad` at `i` and are added in one `sum`.
fn grad_at(g: &FuseBlock<'_>, i: usize) -> Option<(Vec<usize>, usize, Op)> {
    let concat = g.typed(i, "concat_grad").filter(|op| concat_axis_is_one(op))?;
    let (outs, ins) = (concat.outputs.get("X@GRAD"), concat.inputs.get("X"));
    if outs.len() != ins.len() {
        return None;
    }
    let mut gone = vec![i];
    let mut parts = Vec::new();
    // The partial gradients of the table, as `sum` adds them up, and which slot each is.
    let mut partials: Vec<(Name, usize)> = Vec::new();
    for (grad, input) in outs.iter().zip(ins) {
        match grad_part(g, grad, i) {
            Some((part, ops, partial)) => {
                partials.push((partial, partials.len()));
                gone.extend(ops);
                parts.push(part);
            }
            // Only the gradients of the slots are needed.
            None if *grad == oarlock_ir::EMPTY => parts.push(Part::Other(input.clone())),
            None => return None,
        }
    }
    let at = g.only_reader(&partials.first()?.0)?;
    let sum = g.typed(at, "sum")?;
    let mut turn = Vec::new();
    for name in sum.inputs.get("X") {
        turn.push(partials.iter().find(|(n, _)| n == name)?.1 as i32);
    }
    if turn.len() != partials.len()
        || !partials.iter().all(|(n, _)| g.is_private(n, &[gone.clone(), vec![at]].concat()))
    {
        return None;
    }
    gone.push(at);
    let op = assemble("fused_lookup_concat_grad", &parts)?
        .input("Out@GRAD", concat.inputs.get("Out@GRAD"))
        .output("W@GRAD", sum.outputs.get("Out"))
        .attr("turn", turn);
    let moved = op.inputs.args().any(|n| g.written_between(n, i, at));
    (!moved).then_some((gone, at, op))
}

/// The slot behind one output of `concat_grad`, the operators on the way to its rows, and the name of those rows.
fn grad_part(g: &FuseBlock<'_>, grad: &Name, concat: usize) -> Option<(Part, Vec<usize>, Name)> {
    let mut at = g.only_reader(grad).filter(|&at| at > concat)?;
    let (mut pooled, mut ops) = (false, Vec::new());
    if let Some(pool) = g.typed(at, "sequence_pool_grad").filter(|op| sums_sequences(op)) {
        ops.push(at);
        let next = g.only_reader(pool.outputs.get("X@GRAD").first()?)?;
        (at, pooled) = (next, true);
    }
    let lookup = g.typed(at, "lookup_table_grad").filter(|op| plain_lookup(g, op) && flag(op, "is_sparse"))?;
    ops.push(at);
    let (ids, table) = (lookup.inputs.get("Ids").first()?.clone(), lookup.inputs.get("W").first()?.clone());
    let partial = lookup.outputs.get("W@GRAD").first()?.clone();
    Some((Part::Slot { ids, table, pooled, ops: Vec::new() }, ops, partial))
}

struct LookupConcatGrad;

impl OpDef for LookupConcatGrad {
    sig! {
        "fused_lookup_concat_grad": "gradient of `fused_lookup_concat`: the rows of all slots, merged";
        in "W": "the table";
        in* "Ids": "ids of each slot";
        in*? "Other": "what stands between the slots";
        in "Out@GRAD": "gradient of the concatenation";
        out "W@GRAD": "rows, each once, ascending";
        attr "order" = Vec::<bool>::new(), "for each part from left to right: is it a slot?";
        attr "pooled" = false, "slots have sequences of ids, whose rows were summed";
        attr "turn" = Vec::<i32>::new(), "the slots in the order in which their gradients are summed";
    }

    fn infer(&self, _: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (w, ids, others, dout) = (p.input("W")?, p.inputs("Ids")?, p.inputs("Other")?, p.input("Out@GRAD")?);
        let (dw, order, pooled) = (p.output("W@GRAD")?, p.attrs().bools("order")?, p.attrs().bool("pooled")?);
        let turn: Vec<usize> = p.attrs().ints("turn")?.into_iter().map(|t| t as usize).collect();
        let mut merge = RowOrder::default();
        let mut lefts = Vec::new();
        // For pooled slots: the sample each id belongs to, slot after slot in turn, and where each slot begins.
        let (mut samples, mut starts) = (Vec::<u32>::new(), Vec::<usize>::new());
        kernel(move |io| {
            let (rows, width) = table_dims(io, w)?.matrix(1);
            left_edges(io, &order, &others, width, &mut lefts)?;
            let dt = io.dense(dout)?;
            let (d, total) = (io.data::<f32>(dout, &dt)?, dt.dims().matrix(1).1);
            merge.clear();
            samples.clear();
            starts.clear();
            for (part, &slot) in turn.iter().enumerate() {
                let t = io.dense(ids[slot])?;
                let list = io.data::<i64>(ids[slot], &t)?;
                check_ids(io, w, ids[slot], list, rows)?;
                merge.push(part, list);
                starts.push(samples.len());
                if pooled {
                    for (r, bounds) in t.lod().last().unwrap_or(&[]).windows(2).enumerate() {
                        samples.extend(std::iter::repeat_n(r as u32, bounds[1] - bounds[0]));
                    }
                }
            }
            let distinct = merge.finish();
            let mut value = io.write(dw)?;
            let grad = value.rows_mut();
            grad.height = rows as i64;
            grad.value.resize(DType::F32, Dims::from([distinct, width]));
            let sums = io.data_mut::<f32>(dw, &mut grad.value)?;
            merge.gather_with(width, &mut grad.rows, sums, |part, at| {
                let sample = if pooled { samples[starts[part] + at] as usize } else { at };
                &d[sample * total + lefts[turn[part]]..][..width]
            });
            Ok(())
        })
    }
}

/// Where each slot's columns begin.
fn left_edges(io: &Io<'_>, order: &[bool], others: &[In], width: usize, lefts: &mut Vec<usize>) -> Result<()> {
    let (mut left, mut others) = (0, others.iter());
    lefts.clear();
    for &slot in order {
        if slot {
            lefts.push(left);
            left += width;
        } else if let Some(&o) = others.next() {
            left += io.dense(o)?.dims().matrix(1).1;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use oarlock_tensor::Tensor;

    use crate::testing::{FusionCheck, fusion, noise, tensor_of, with_lod};

    /// Two slots on both sides of a dense tensor; `pool` between lookup and concatenation, or nothing.
    fn net(ids: [Tensor; 2], pooled: bool) -> FusionCheck {
        let pool = |i: usize| match pooled {
            true => format!("  Out: p{i}, MaxIndex: m{i} = sequence_pool(X: e{i}) {{pooltype: \"SUM\"}}\n"),
            false => String::new(),
        };
        let e = if pooled { "p" } else { "e" };
        let text = format!(
            "program 1008005
block 0 {{
  var w: f32[50, 3]
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
  var y: f32[]
  var loss: f32[]
  e0 = lookup_table(Ids: a, W: w) {{is_sparse: true}}
  e1 = lookup_table(Ids: b, W: w) {{is_sparse: true}}
{}{}  x = concat(X: [{e}0, dense, {e}1]) {{axis: 1}}
  y = square(X: x)
  loss = mean(X: y)
}}
",
            pool(0),
            pool(1),
            lod = usize::from(pooled),
        );
        let [a, b] = ids;
        let inputs = vec![("w", noise([50, 3], 1)), ("dense", noise([4, 2], 2)), ("a", a), ("b", b)];
        fusion(&text, inputs).gradients("loss", &["w"])
    }

    #[test]
    fn one_id_per_sample() {
        let ids = [tensor_of([4, 1], &[7i64, 3, 7, 49]), tensor_of([4, 1], &[3i64, 0, 7, 3])];
        net(ids, false).run(&["w@GRAD", "x", "loss"], &["fused_lookup_concat", "fused_lookup_concat_grad"]);
    }

    #[test]
    fn sequences_of_ids() {
        let a = with_lod(tensor_of([6, 1], &[7i64, 3, 7, 49, 1, 7]), &[&[0, 2, 3, 3, 6]]);
        let b = with_lod(tensor_of([5, 1], &[3i64, 0, 7, 3, 3]), &[&[0, 1, 2, 3, 5]]);
        net([a, b], true).run(&["w@GRAD", "x", "loss"], &["fused_lookup_concat", "fused_lookup_concat_grad"]);
    }

    #[test]
    fn what_is_fetched_stays() {
        let ids = [tensor_of([4, 1], &[7i64, 3, 7, 49]), tensor_of([4, 1], &[3i64, 0, 7, 3])];
        net(ids, false).run(&["e0@GRAD", "loss"], &["concat", "concat_grad"]);
    }
}
