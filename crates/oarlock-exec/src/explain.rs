//! A compilation as text, for people: what every pass changed in the program, and the plan that comes out.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use oarlock_ir::{PassRun, Program, Result};

use crate::executor::Executor;
use crate::plan::{Plan, PlanBlock, PlanOp, compile};

impl Executor {
    /// Explains how a program is compiled for these feeds and fetches: the program, the lines that each pass removed (`-`) and
    /// added (`+`), and the plan. The same program gives the same text, so two texts can be compared line by line.
    ///
    /// An operator of the plan names the slot of every variable. Variables with one slot share memory.
    pub fn explain(&self, program: &Program, feeds: &[&str], fetches: &[&str]) -> Result<String> {
        let mut before = program.summary();
        let mut text = format!("{before}\n");
        let mut observer = |pass: &str, program: &Program| {
            let after = program.summary();
            text += &match changes(&before, &after) {
                lines if lines.is_empty() => format!("pass {pass}: no change\n"),
                lines => format!("pass {pass}:\n{lines}"),
            };
            before = after;
        };
        let mut passes = PassRun::new(self.options().registry.verifies()).observed_by(&mut observer);
        let plan = compile(program, feeds, fetches, &[], self.options(), &mut passes)?;
        Ok(text + "\n" + &plan_text(&plan))
    }
}

/// The lines that differ, each with its sign.
fn changes(before: &str, after: &str) -> String {
    let (a, b): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let start = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let end = a[start..].iter().rev().zip(b[start..].iter().rev()).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[start..a.len() - end], &b[start..b.len() - end]);
    // Length of the longest common subsequence of what is left of both from each pair of lines on.
    let mut common = vec![vec![0u32; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            common[i][j] = if a[i] == b[j] { common[i + 1][j + 1] + 1 } else { common[i + 1][j].max(common[i][j + 1]) };
        }
    }
    let (mut i, mut j, mut text) = (0, 0, String::new());
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a[i] == b[j] {
            (i, j) = (i + 1, j + 1);
        } else if j == b.len() || i < a.len() && common[i + 1][j] >= common[i][j + 1] {
            text += &format!("- {}\n", a[i].trim_start());
            i += 1;
        } else {
            text += &format!("+ {}\n", b[j].trim_start());
            j += 1;
        }
    }
    text
}

fn plan_text(plan: &Plan) -> String {
    let mut text = format!("plan: {} slots\n", plan.slots);
    for feed in &plan.feeds {
        match feed.slot {
            Some(slot) => text += &format!("feed {} -> {slot}\n", feed.name),
            None => text += &format!("feed {}: no operator reads it\n", feed.name),
        }
    }
    for b in &plan.bound {
        text += &format!("scope {} -> {}{}\n", b.name, b.slot, if b.written { ", written" } else { "" });
    }
    for (name, slot) in &plan.fetches {
        text += &format!("fetch {name} <- {slot}\n");
    }
    for (i, block) in plan.blocks.iter().enumerate() {
        text += &format!("block {i}:\n");
        if !block.clear.is_empty() {
            text += &format!("  empties slots {}\n", list(&block.clear));
        }
        let frees = if i == 0 { last_uses(plan, block) } else { BTreeMap::new() };
        for (at, p) in block.ops.iter().enumerate() {
            text += &format!("  {at:>3} {}\n", op_text(p, frees.get(&at)));
        }
    }
    if plan.commit_from < plan.blocks[0].ops.len() {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "from {} on: all operators are checked before the first of them runs", plan.commit_from);
    }
    text
}

/// The slots of temporaries whose last use each operator is.
fn last_uses(plan: &Plan, block: &PlanBlock) -> BTreeMap<usize, BTreeSet<usize>> {
    let fetched = plan.fetches.iter().map(|(_, slot)| *slot);
    let kept: BTreeSet<usize> = plan.bound.iter().map(|b| b.slot).chain(fetched).collect();
    let mut last: BTreeMap<(usize, &str), usize> = BTreeMap::new();
    for (at, p) in block.ops.iter().enumerate() {
        for (name, slot) in p.names.iter().filter(|(_, slot)| !kept.contains(slot)) {
            last.insert((*slot, name), at);
        }
    }
    let mut frees: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for ((slot, _), at) in last {
        // An operator that writes its output over an input keeps the slot in use.
        let goes_on = block.ops[at].op.outputs.args().any(|out| {
            let used_later = block.ops[at + 1..].iter().any(|p| p.names.iter().any(|(n, _)| n == out));
            used_later && block.ops[at].names.contains(&(out.clone(), slot))
        });
        if !goes_on {
            frees.entry(at).or_default().insert(slot);
        }
    }
    frees
}

fn op_text(p: &PlanOp, frees: Option<&BTreeSet<usize>>) -> String {
    let slot = |name: &oarlock_ir::Name| p.names.iter().find(|(n, _)| n == name).map(|(_, s)| *s);
    let args = |slots: &oarlock_ir::Slots| {
        let shown = slots.iter().flat_map(|(_, args)| args).filter_map(|n| Some(format!("{n}[{}]", slot(n)?)));
        shown.collect::<Vec<_>>().join(", ")
    };
    let mut text = format!("{}({})", p.op.op_type, args(&p.op.inputs));
    let outputs = args(&p.op.outputs);
    if !outputs.is_empty() {
        text += &format!(" -> {outputs}");
    }
    let written: BTreeSet<usize> = p.op.outputs.args().filter_map(slot).collect();
    let redirected: Vec<usize> = p.swaps.iter().map(|(_, to)| *to).collect();
    let in_place: Vec<usize> = written
        .into_iter()
        .filter(|s| !redirected.contains(s) && p.op.inputs.args().filter_map(slot).any(|input| input == *s))
        .collect();
    if !in_place.is_empty() {
        text += &format!("; in place {}", list(&in_place));
    }
    for (from, to) in &p.swaps {
        text += &format!("; writes {from}, exchanged with {to}");
    }
    if let Some(frees) = frees {
        text += &format!("; last use of {}", list(frees));
    }
    if !p.release.is_empty() {
        text += &format!("; gives back {}", list(&p.release));
    }
    text
}

fn list<'a>(slots: impl IntoIterator<Item = &'a usize>) -> String {
    slots.into_iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}
