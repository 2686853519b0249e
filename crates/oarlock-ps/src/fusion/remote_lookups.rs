//! Lookups in several tables on servers become one, if their ids are there before the first: a step asks each server once, whatever
//! the number of tables.

use oarlock_ir::{Attr, FuseBlock, Fusion, Infer, Kernel, Kind, Name, Op, OpDef, Prepare, Result, fail, kernel, sig};
use oarlock_transpile::ops::{LOOKUP, READ_ONLY};

use crate::op::{COMMUNICATES, RemoteLookup, TableAttrs};

pub(super) const FUSIONS: &[&dyn Fusion] = &[&RemoteLookups];

/// More tensors of ids, or parts of a table, than a program has: a list with such a number is damaged.
const MOST: usize = 1 << 20;

/// The fused operator.
const FUSED: &str = "fused_remote_lookup";

struct RemoteLookups;

impl Fusion for RemoteLookups {
    fn name(&self) -> &'static str {
        "remote_lookups"
    }

    fn ops(&self) -> &'static [&'static dyn OpDef] {
        &[&FusedLookup]
    }

    fn apply(&self, g: &mut FuseBlock<'_>) -> Result<()> {
        let lookups: Vec<usize> = (0..g.len()).filter(|i| is_plain(g, *i)).collect();
        let Some(&first) = lookups.first() else { return Ok(()) };
        let together: Vec<usize> = lookups.into_iter().filter(|i| can_move(g, *i, first)).collect();
        if together.len() > 1 {
            let op = joined(g, &together);
            g.replace(&together, first, op);
        }
        Ok(())
    }
}

/// Is it the lookup of a trainer in one table?
fn is_plain(g: &FuseBlock<'_>, i: usize) -> bool {
    g.typed(i, LOOKUP)
        .is_some_and(|op| op.inputs.get("W").len() == 1 && !matches!(op.attrs.get(READ_ONLY), Some(Attr::Bool(true))))
}

/// Can a lookup be made where another one stands? Its ids must be there, and no operator may use its rows' names before it.
fn can_move(g: &FuseBlock<'_>, i: usize, to: usize) -> bool {
    let Some(op) = g.op(i) else { return false };
    let ids_there = op.inputs.args().all(|name| !g.written_between(name, to, i));
    let touched = |name: &Name| g.readers(name).iter().chain(g.writers(name)).any(|at| (to..i).contains(at));
    ids_there && !op.outputs.args().any(touched)
}

fn joined(g: &FuseBlock<'_>, lookups: &[usize]) -> Op {
    let ops: Vec<&Op> = lookups.iter().filter_map(|i| g.op(*i)).collect();
    let args = |slot: &str| -> Vec<Name> { ops.iter().flat_map(|op| op.inputs.get(slot)).cloned().collect() };
    let strings = |name: &str| -> Vec<String> { ops.iter().flat_map(|op| list(op, name)).collect() };
    let sections = |op: &Op| match op.attrs.get("height_sections") {
        Some(Attr::Longs(rows)) => rows.clone(),
        Some(Attr::Ints(rows)) => rows.iter().map(|r| i64::from(*r)).collect(),
        _ => Vec::new(),
    };
    let padding = |op: &&Op| match op.attrs.get("padding_idx") {
        Some(Attr::Long(id)) => *id,
        Some(Attr::Int(id)) => i64::from(*id),
        _ => -1,
    };
    let is_first = |op: &&Op| match op.attrs.get("lookup_table_version") {
        Some(Attr::String(version)) => version == "lookup_table",
        _ => true,
    };
    let count = |of: &dyn Fn(&Op) -> usize| -> Vec<i32> { ops.iter().map(|op| of(op) as i32).collect() };
    let outputs: Vec<Name> = ops.iter().flat_map(|op| op.outputs.get("Outputs")).cloned().collect();
    let mut op = Op::new(FUSED)
        .input("Ids", args("Ids"))
        .input("W", args("W"))
        .output("Outputs", outputs)
        .attr("ids", count(&|op| op.inputs.get("Ids").len()))
        .attr("parts", count(&|op| list(op, "table_names").len()))
        .attr("ranges", count(&|op| sections(op).len()))
        .attr("table_names", strings("table_names"))
        .attr("endpoints", strings("endpoints"))
        .attr("height_sections", ops.iter().flat_map(|op| sections(op)).collect::<Vec<i64>>())
        .attr("padding_idx", ops.iter().map(padding).collect::<Vec<i64>>())
        .attr("drops_last", ops.iter().map(is_first).collect::<Vec<bool>>());
    if let Some(trainer) = ops[0].attrs.get("trainer_id") {
        op.attrs.set("trainer_id", trainer.clone());
    }
    op.set_role(ops[0].role());
    op
}

fn list(op: &Op, name: &str) -> Vec<String> {
    match op.attrs.get(name) {
        Some(Attr::Strings(list)) => list.clone(),
        _ => Vec::new(),
    }
}

struct FusedLookup;

impl OpDef for FusedLookup {
    sig! {
        FUSED: "the lookups of several tables, each as `distributed_lookup_table` makes it";
        in* "Ids": "ids for the first table, then for the second, ...";
        in* "W": "the tables";
        out* "Outputs": "one per tensor of ids";
        attr "ids": "how many tensors of ids are for each table";
        attr "parts": "how many parts each table has";
        attr "ranges": "how many numbers of `height_sections` belong to each table: none if it is hashed";
        attr "table_names": "the parts of the first table, then of the second, ...";
        attr "endpoints": "the server of each part";
        attr "height_sections": "the rows of each part of a table that is divided into ranges";
        attr "padding_idx": "of each table the id whose row is zero";
        attr "drops_last": "for each table: do rows replace the last dimension of ids?";
        attr "trainer_id" = 0, "who asks";
        traits COMMUNICATES;
    }

    fn infer(&self, _: &mut Infer<'_>) -> Result<()> {
        // The lookups that it replaces have said what their rows are.
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let lookup = RemoteLookup::new(p, false, &tables(p)?)?;
        kernel(move |io| lookup.run(io))
    }
}

/// The attributes of each table.
fn tables(p: &Prepare<'_>) -> Result<Vec<TableAttrs>> {
    let attrs = p.attrs();
    let counts = |name: &str| -> Result<Vec<usize>> {
        let usable = attrs.ints(name)?.into_iter().map(|n| usize::try_from(n).ok().filter(|n| *n <= MOST));
        let Some(counts) = usable.collect() else { fail!(Kind::Argument, "`{FUSED}` has a `{name}` that cannot be") };
        Ok(counts)
    };
    let (ids, parts, ranges) = (counts("ids")?, counts("parts")?, counts("ranges")?);
    let (names, endpoints) = (attrs.strs("table_names")?, attrs.strs("endpoints")?);
    let (sections, padding, drops) =
        (attrs.ints("height_sections")?, attrs.ints("padding_idx")?, attrs.bools("drops_last")?);
    let sum = |list: &[usize]| list.iter().sum::<usize>();
    let tables = p.op().inputs.get("W").len();
    let fits = [ids.len(), parts.len(), ranges.len(), padding.len(), drops.len()].iter().all(|n| *n == tables)
        && [names.len(), endpoints.len()].iter().all(|n| *n == sum(&parts))
        && (sections.len(), p.op().inputs.get("Ids").len()) == (sum(&ranges), sum(&ids));
    if !fits {
        fail!(Kind::Argument, "`{FUSED}` has lists that do not fit its {tables} tables");
    }
    let (mut part, mut range) = (0, 0);
    Ok((0..tables)
        .map(|t| {
            let (of_parts, of_ranges) = (part..part + parts[t], range..range + ranges[t]);
            (part, range) = (of_parts.end, of_ranges.end);
            TableAttrs {
                ids: ids[t],
                names: names[of_parts.clone()].to_vec(),
                endpoints: endpoints[of_parts].to_vec(),
                sections: sections[of_ranges].to_vec(),
                padding: padding[t],
                drops_last: drops[t],
            }
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use oarlock_ir::Program;

    use super::*;

    fn fused(between: &str) -> String {
        let text = format!(
            "block 0 {{
            var a: i64[?, 1]
            var b: i64[?, 1]
            var c: i64[?, 1]
            var t: f32[9, 2]
            var u: f32[9, 3]
            var x: f32[?, 2]
            var y: f32[?, 2]
            var z: f32[?, 3]
            Outputs: [x, y] = distributed_lookup_table(Ids: [a, b], W: t) {{table_names: [\"t0\", \"t1\"], endpoints: [\"p:1\", \"q:1\"], height_sections: [5, 4]}}
            {between}
            Outputs: [z] = distributed_lookup_table(Ids: [c], W: u) {{table_names: [\"u\"], endpoints: [\"q:1\"], padding_idx: 3}}
        }}"
        );
        let mut program = Program::from_text(&text).unwrap();
        let mut g = FuseBlock::new(program.global_mut(), &|_| false);
        RemoteLookups.apply(&mut g).unwrap();
        g.finish();
        program.to_string()
    }

    #[test]
    fn lookups_with_known_ids_become_one_operator() {
        let text = fused("");
        assert!(text.contains("Outputs: [x, y, z] = fused_remote_lookup(Ids: [a, b, c], W: [t, u])"), "{text}");
        assert!(text.contains("parts: [2, 1]") && text.contains("ranges: [2, 0]"), "{text}");
        assert!(!text.contains("distributed_lookup_table"), "{text}");
    }

    #[test]
    fn ids_computed_from_rows_are_looked_up_later() {
        let text = fused("c = cast(X: x)");
        assert!(!text.contains("fused_remote_lookup"), "{text}");
    }
}
