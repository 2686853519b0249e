//! Compiling a program into a plan.

use std::collections::{BTreeMap, HashMap, HashSet};

use oarlock_ir::{
    Attr, EMPTY, Error, GRAD, Kernel, Kind, Layout, Name, Op, PassRun, Prepare, Program, Result, VarKind, nearest,
    verify,
};

use super::analysis::{self, Access, Key, LiveRange};
use super::memory::{self, Colours, Rules};
use super::passes::{PASSES, fuse};
use super::{Bound, FeedSlot, Plan, PlanBlock, PlanLayout, PlanOp, SlotMap};
use crate::executor::ExecOptions;

/// Compiles a program; no fusion may do without the variables `kept`.
pub(crate) fn compile(
    program: &Program,
    feeds: &[&str],
    fetches: &[&str],
    kept: &[Name],
    options: &ExecOptions,
    passes: &mut PassRun<'_>,
) -> Result<Plan> {
    verify(program, None)?;
    check_ops(program, options)?;
    let feeds = feed_slots(program, feeds)?;
    check_fetches(program, fetches)?;
    let written = program;
    let mut program = program.clone();
    for (name, pass) in PASSES {
        passes.run(name, &mut program, |program| pass(program, &feeds, options))?;
    }
    let roots: HashSet<Name> = fetches.iter().map(|&f| f.into()).chain(feeds.iter().map(|f| f.name.clone())).collect();
    let needed = roots.iter().chain(kept).cloned().collect();
    fuse(&mut program, &needed, options, passes)?;
    let mut plan = Compiler::new(program, feeds, fetches, options)?.finish(&roots)?;
    name_users(&mut plan, written);
    Ok(plan)
}

/// Notes for each variable of the scope the first operator of the original program that reads it.
fn name_users(plan: &mut Plan, written: &Program) {
    let mut users: HashMap<&Name, usize> = HashMap::new();
    let ops = &written.global().ops;
    for (i, op) in ops.iter().enumerate() {
        for name in op.inputs.args() {
            users.entry(name).or_insert(i);
        }
    }
    for b in plan.bound.iter_mut().filter(|b| b.required) {
        b.needed_by = users.get(&b.name).map(|&i| ops[i].place(0, i));
    }
}

/// Every operator is known and fits its signature, and every block it names exists.
fn check_ops(program: &Program, options: &ExecOptions) -> Result<()> {
    for block in program.blocks() {
        for (i, op) in block.ops.iter().enumerate() {
            let check = || {
                let entry = options.registry.entry(&op.op_type)?;
                entry.sig.check(op)?;
                // Blocks stand after the block they are run from, so that no block can come to run itself.
                match op.sub_blocks().into_iter().find(|&b| b <= block.idx || b >= program.blocks().len()) {
                    Some(b) => {
                        Err(Error::new(Kind::Verify, format!("`{}` names block {b}, which it cannot run", op.op_type)))
                    }
                    None => Ok(()),
                }
            };
            check().map_err(|e| e.at(|| op.place(block.idx, i)))?;
        }
    }
    Ok(())
}

fn feed_slots(program: &Program, feeds: &[&str]) -> Result<Vec<FeedSlot>> {
    let find = |&name: &&str| match program.global().var(name) {
        Some(var) => Ok(FeedSlot { name: name.into(), slot: None, var: var.clone() }),
        None => Err(unknown_var(program, name, "fed")),
    };
    feeds.iter().map(find).collect()
}

fn check_fetches(program: &Program, fetches: &[&str]) -> Result<()> {
    match fetches.iter().find(|f| program.global().var(f).is_none()) {
        Some(name) => Err(unknown_var(program, name, "fetched")),
        None => Ok(()),
    }
}

fn unknown_var(program: &Program, name: &str, done: &str) -> Error {
    let known: Vec<&str> = program.global().vars.keys().map(|n| n.as_str()).collect();
    let err = Error::new(Kind::Unknown, format!("`{name}` is {done}, but the program has no such variable"));
    match nearest(name, &known).or_else(|| written_by(program, name)) {
        Some(close) => err.help(format!("did you mean `{close}`?")),
        None => err.help(format!("pass the name of one of the program's {} variables", known.len())),
    }
}

/// The last variable that the layer of this name wrote: `fc_0.tmp_1` for `fc_0`.
fn written_by<'a>(program: &'a Program, layer: &str) -> Option<&'a str> {
    let of_layer =
        |name: &&str| name.strip_prefix(layer).is_some_and(|rest| rest.starts_with('.')) && !name.ends_with(GRAD);
    let written = program.global().ops.iter().rev().flat_map(|op| op.outputs.args()).map(|n| n.as_str());
    written.filter(|name| program.global().var(name).is_some_and(|v| !v.persistable)).find(of_layer)
}

/// The input slots of an operator whose variables may have no value.
fn maybe_empty(options: &ExecOptions, op: &Op) -> &'static [&'static str] {
    options.registry.traits(&op.op_type).maybe_empty
}

/// A compilation under way.
struct Compiler<'a> {
    program: Program,
    feeds: Vec<FeedSlot>,
    fetches: Vec<Name>,
    options: &'a ExecOptions,
    accesses: Vec<Access>,
    live_ranges: HashMap<Key, LiveRange>,
    read_first: HashMap<Key, usize>,
    map: SlotMap,
    slots: usize,
    bound: Vec<Bound>,
}

impl<'a> Compiler<'a> {
    fn new(program: Program, feeds: Vec<FeedSlot>, fetches: &[&str], options: &'a ExecOptions) -> Result<Compiler<'a>> {
        let accesses = analysis::accesses(&program, 0, &|op| maybe_empty(options, op))?;
        let fed: HashSet<Name> = feeds.iter().map(|f| f.name.clone()).collect();
        let read_first = analysis::read_first(&accesses, &|k| fed.contains(&k.1));
        let live_ranges = analysis::live_ranges(&accesses);
        let fetches = fetches.iter().map(|&f| f.into()).collect();
        let (map, slots, bound) = (SlotMap::default(), 0, Vec::new());
        Ok(Compiler { program, feeds, fetches, options, accesses, live_ranges, read_first, map, slots, bound })
    }

    fn finish(mut self, roots: &HashSet<Name>) -> Result<Plan> {
        self.bind();
        let colours = self.colour(roots);
        self.place(&colours);
        let blocks = self.blocks(&colours, roots)?;
        for f in &mut self.feeds {
            f.slot = self.map.slots.get(&(0, f.name.clone())).copied();
        }
        let fetches = self.fetches.iter().map(|n| Ok((n.clone(), self.fetch_slot(n)?))).collect::<Result<_>>()?;
        let mut plan = Plan {
            program: self.program,
            blocks,
            slots: self.slots,
            feeds: self.feeds,
            fetches,
            bound: self.bound,
            commit_from: 0,
            initializes: Vec::new(),
            layout: self.map,
        };
        plan.commit_from = commit_from(&plan, self.options)?;
        if plan.feeds.is_empty() && !plan.bound.iter().any(|b| b.required) {
            plan.initializes = plan.bound.iter().filter(|b| b.written).map(|b| b.name.clone()).collect();
        }
        Ok(plan)
    }

    fn new_slot(&mut self) -> usize {
        self.slots += 1;
        self.slots - 1
    }

    /// Finds the variables of the scope: persistables, and those that block 0 reads before it writes them.
    fn bind(&mut self) {
        let written: HashSet<&Key> = self.accesses.iter().flat_map(|a| &a.writes).collect();
        let fed: HashSet<&Name> = self.feeds.iter().map(|f| &f.name).collect();
        let mut keys: Vec<Key> = self.live_ranges.keys().cloned().collect();
        // A fetched variable that no operator touches comes from the scope too.
        keys.extend(self.fetches.iter().map(|n| (0, n.clone())).filter(|k| !self.live_ranges.contains_key(k)));
        keys.sort();
        keys.dedup();
        let mut bound = Vec::new();
        for key in keys {
            let Some(var) = self.program.block(key.0).var(&key.1) else { continue };
            let first_reader = self.read_first.get(&key).copied();
            let untouched = key.0 == 0 && !self.live_ranges.contains_key(&key);
            if fed.contains(&key.1) && key.0 == 0 || !(var.persistable || first_reader.is_some() || untouched) {
                continue;
            }
            if matches!(var.kind, VarKind::FeedList | VarKind::FetchList) {
                continue;
            }
            // An array that the program fills is new in every run, even if a loop looks at it before it writes the first entry.
            if var.kind == VarKind::TensorArray && !var.persistable && written.contains(&key) {
                continue;
            }
            let direct = first_reader.is_some_and(|i| !self.accesses[i].nested.contains(&key));
            bound.push(Bound {
                name: key.1.clone(),
                slot: 0,
                written: written.contains(&key),
                // An array may begin empty, and a raw variable only orders operators.
                required: (direct || untouched) && !matches!(var.kind, VarKind::TensorArray | VarKind::Raw),
                persistable: var.persistable,
                is_data: var.meta.is_data || var.need_check_feed || !var.persistable,
                needed_by: None,
            });
            self.map.slots.insert(key, 0);
        }
        for b in &mut bound {
            b.slot = self.slots;
            self.slots += 1;
            for home in 0..self.program.blocks().len() {
                if let Some(s) = self.map.slots.get_mut(&(home, b.name.clone())) {
                    *s = b.slot;
                }
            }
        }
        self.bound = bound;
    }

    fn colour(&self, roots: &HashSet<Name>) -> Colours {
        let registry = &self.options.registry;
        let bound: HashSet<&Key> = self.map.slots.keys().collect();
        // A variable that must be empty when nothing was written must not see a value that another left in its slot.
        let maybe = analysis::maybe_written(&self.accesses);
        memory::colour(&Rules {
            program: &self.program,
            accesses: &self.accesses,
            live_ranges: &self.live_ranges,
            private: &|k| bound.contains(k) || maybe.contains(k) || (k.0 == 0 && roots.contains(&k.1)),
            traits: &|op_type| registry.traits(op_type),
        })
    }

    /// Gives every variable that is not bound a slot.
    fn place(&mut self, colours: &Colours) {
        let base = self.slots;
        self.slots += colours.count;
        let mut keys: Vec<Key> = self.live_ranges.keys().cloned().collect();
        // Operators of sub-blocks name variables in attributes, too: all variables of sub-blocks have slots.
        for block in &self.program.blocks()[1..] {
            keys.extend(block.vars.keys().map(|n| (block.idx, n.clone())));
        }
        keys.extend(
            self.feeds
                .iter()
                .map(|f| (0, f.name.clone()))
                .filter(|k| self.live_ranges.contains_key(k) || self.fetches.contains(&k.1)),
        );
        keys.sort();
        keys.dedup();
        for key in keys {
            if self.map.slots.contains_key(&key) {
                continue;
            }
            let slot = match colours.of.get(&key) {
                Some(c) => base + c,
                None => self.new_slot(),
            };
            self.map.slots.insert(key, slot);
        }
    }

    fn fetch_slot(&self, name: &Name) -> Result<usize> {
        match self.map.slots.get(&(0, name.clone())) {
            Some(s) => Ok(*s),
            None => Err(Error::internal(format!("fetched `{name}` has no slot"))),
        }
    }

    fn slot(&self, block: usize, name: &str) -> Result<usize> {
        let layout = PlanLayout { program: &self.program, map: &self.map };
        layout.slot(block, name).ok_or_else(|| Error::internal(format!("`{name}` has no slot in the plan")))
    }

    fn blocks(&mut self, colours: &Colours, roots: &HashSet<Name>) -> Result<Vec<PlanBlock>> {
        let mut blocks = Vec::new();
        for b in 0..self.program.blocks().len() {
            let lenient = |op: &Op| maybe_empty(self.options, op);
            let accesses = if b == 0 { self.accesses.clone() } else { analysis::accesses(&self.program, b, &lenient)? };
            let ops = std::mem::take(&mut self.program.block_mut(b).ops);
            let mut planned = Vec::new();
            for (op, access) in ops.iter().zip(&accesses) {
                planned.push(self.plan_op(b, op, access)?);
            }
            if b == 0 && self.program.memory.release {
                self.releases(&mut planned, colours, roots);
            }
            let clear = self.clear_list(b, &accesses);
            self.program.block_mut(b).ops = ops;
            blocks.push(PlanBlock { ops: planned, clear });
        }
        Ok(blocks)
    }

    fn plan_op(&mut self, block: usize, op: &Op, access: &Access) -> Result<PlanOp> {
        let mut names = Vec::new();
        for name in op.inputs.args().chain(op.outputs.args()) {
            names.push((name.clone(), self.slot(block, name)?));
        }
        let swaps = self.swaps(block, op)?;
        let slots = |keys: &mut dyn Iterator<Item = &Key>| -> HashSet<usize> {
            keys.filter_map(|k| self.map.slots.get(k).copied()).collect()
        };
        let reads = self.bound_at(&slots(&mut access.reads.iter().chain(&access.nested)));
        let writes = slots(&mut access.writes.iter());
        let kept = self.unchanged(block, op)?;
        let updates = self.bound_at(&writes.difference(&kept).copied().collect());
        let mut writes: Vec<usize> = writes.into_iter().collect();
        writes.sort_unstable();
        let by_rows = self.options.registry.traits(&op.op_type).by_rows;
        Ok(PlanOp { op: op.clone(), names, swaps, writes, updates, reads, by_rows, release: Vec::new() })
    }

    /// The positions of the bound variables among these slots.
    fn bound_at(&self, slots: &HashSet<usize>) -> Vec<usize> {
        (0..self.bound.len()).filter(|&i| slots.contains(&self.bound[i].slot)).collect()
    }

    /// Outputs that are an input unchanged, in the same variable.
    fn unchanged(&self, block: usize, op: &Op) -> Result<HashSet<usize>> {
        let pairs = self.options.registry.traits(&op.op_type).unchanged;
        let same = pairs.iter().filter(|(input, output)| op.inputs.get(input) == op.outputs.get(output));
        same.flat_map(|(input, _)| op.inputs.get(input)).map(|name| self.slot(block, name)).collect()
    }

    /// Outputs that are inputs too, of an operator that cannot work in place: the kernel writes elsewhere, then both are exchanged.
    fn swaps(&mut self, block: usize, op: &Op) -> Result<Vec<(usize, usize)>> {
        let pairs = self.options.registry.traits(&op.op_type).in_place;
        let mut swaps = Vec::new();
        let mut seen = HashSet::new();
        for (slot, args) in op.outputs.iter() {
            for (at, name) in args.iter().enumerate().filter(|(_, n)| **n != EMPTY) {
                let mut same = op.inputs.iter().filter(|(_, args)| args.contains(name)).peekable();
                if same.peek().is_none() || !seen.insert(name.clone()) {
                    continue;
                }
                // Of slots with several variables, those at one position belong together.
                let only_at = |args: &[Name]| args.iter().enumerate().all(|(i, n)| (n == name) == (i == at));
                let allowed = same.all(|(input, args)| only_at(args) && pairs.contains(&(input, slot)));
                let uses_block = !op.sub_blocks().is_empty();
                if !allowed && !uses_block {
                    let elsewhere = self.new_slot();
                    swaps.push((elsewhere, self.slot(block, name)?));
                }
            }
        }
        Ok(swaps)
    }

    /// Slots that a block must find empty: arrays, and variables that an operator of a sub-block may or may not write.
    fn clear_list(&self, block: usize, accesses: &[Access]) -> Vec<usize> {
        let maybe = analysis::maybe_written(accesses);
        let fed: HashSet<&Name> = self.feeds.iter().map(|f| &f.name).collect();
        let bound: HashSet<usize> = self.bound.iter().map(|b| b.slot).collect();
        let own = self.program.block(block).vars.values();
        let mut clear: Vec<usize> = own
            .filter(|v| !v.persistable && (block != 0 || !fed.contains(&v.name)))
            .filter(|v| v.kind == VarKind::TensorArray || maybe.contains(&(block, v.name.clone())))
            .filter_map(|v| self.map.slots.get(&(block, v.name.clone())).copied())
            .filter(|s| !bound.contains(s))
            .collect();
        clear.sort_unstable();
        clear
    }

    /// Which slots are not used after each operator.
    fn releases(&self, ops: &mut [PlanOp], colours: &Colours, roots: &HashSet<Name>) {
        let kept = |key: &Key| {
            roots.contains(&key.1) || self.program.memory.keep.contains(&key.1) || !colours.of.contains_key(key)
        };
        let mut last: BTreeMap<usize, usize> = BTreeMap::new();
        self.live_ranges.iter().filter(|(key, _)| !kept(key)).for_each(|(key, range)| {
            let at = last.entry(self.map.slots[key]).or_insert(range.last);
            *at = (*at).max(range.last);
        });
        for (slot, at) in last {
            ops[at].release.push(slot);
        }
    }
}

/// Makes the kernels of all blocks.
pub(crate) fn kernels(
    blocks: &[PlanBlock],
    layout: &PlanLayout<'_>,
    options: &ExecOptions,
    replica: usize,
) -> Result<Vec<Vec<Box<dyn Kernel>>>> {
    let one = |b: usize, i: usize, p: &PlanOp| {
        let entry = options.registry.entry(&p.op.op_type)?;
        let redirect: Vec<(Name, usize)> = p
            .swaps
            .iter()
            .filter_map(|(from, to)| p.names.iter().find(|(_, s)| s == to).map(|(n, _)| (n.clone(), *from)))
            .collect();
        let reseeded = if entry.traits.random { reseeded(&p.op, replica) } else { None };
        let prepare = Prepare::new(reseeded.as_ref().unwrap_or(&p.op), &entry.sig, b, layout, &redirect);
        entry.def.prepare(&prepare).map_err(|e| e.at(|| p.op.place(b, i)))
    };
    let all = |(b, block): (usize, &PlanBlock)| block.ops.iter().enumerate().map(|(i, p)| one(b, i, p)).collect();
    blocks.iter().enumerate().map(all).collect()
}

/// A random operator with a fixed seed, as a replica has it: the samples of all replicas are one batch, so each draws its own
/// numbers.
fn reseeded(op: &Op, replica: usize) -> Option<Op> {
    match op.attrs.get("seed") {
        Some(Attr::Int(seed)) if replica > 0 => {
            let is_fixed = match op.attrs.get("fix_seed") {
                Some(Attr::Bool(fixed)) => *fixed,
                _ => *seed != 0,
            };
            is_fixed.then(|| op.clone().attr("seed", seed.wrapping_add(replica as i32)))
        }
        _ => None,
    }
}

/// The variables of the scope that have a value of their kind before a run, such as parameters: something reads them before anything
/// writes them.
fn values_before(plan: &Plan) -> HashSet<usize> {
    let persistable: HashSet<usize> = plan.bound.iter().filter(|b| b.persistable).map(|b| b.slot).collect();
    let (mut there, mut written) = (HashSet::new(), HashSet::new());
    for p in &plan.blocks[0].ops {
        let reads = p.op.inputs.args().filter_map(|n| p.names.iter().find(|(m, _)| m == n).map(|(_, s)| *s));
        there.extend(reads.filter(|slot| persistable.contains(slot) && !written.contains(slot)));
        written.extend(p.writes.iter().copied());
    }
    there
}

/// From which operator on every kernel can be checked first and then cannot fail. Such an operator must not read what another of
/// them computes, or it could not be checked before that one ran.
fn commit_from(plan: &Plan, options: &ExecOptions) -> Result<usize> {
    let kernels = plan.kernels(options, 0)?;
    let ops = &plan.blocks[0].ops;
    let there = values_before(plan);
    let mut inputs: HashSet<usize> = HashSet::new();
    let mut from = ops.len();
    for (i, p) in ops.iter().enumerate().rev() {
        let reads = p.op.inputs.args().filter_map(|n| p.names.iter().find(|(m, _)| m == n).map(|(_, s)| *s));
        let feeds_later = p.writes.iter().any(|w| inputs.contains(w) && !there.contains(w));
        if !kernels[0][i].can_check() || feeds_later {
            break;
        }
        inputs.extend(reads);
        from = i;
    }
    Ok(from)
}
