//! Rewrites a program for replicas: some operators run in every replica on its own samples, the others run once for all.
//!
//! An operator runs once if its role says so (optimizer, schedule, communication), if it exchanges values with other processes
//! (`Traits::once`), or if it reads values that are common to all replicas and none of a replica's own (clipping, decay, averages).
//! A gradient of a parameter (`op_role_var`) is common from the operator on that completes it: there the gradients of all replicas
//! are summed. Operators are sorted into alternating stages as far as their inputs and outputs allow, usually two: everything up to
//! the gradients, everything from there on. Gradients of the loss are scaled here, and operators are replaced by those that their
//! traits name as `synchronized`.

use std::collections::{HashMap, HashSet};

use oarlock_ir::{Attr, Error, Kind, Name, Op, PassRun, Program, Result, Role, VarKind};

use super::{LossScale, Replicas};
use crate::executor::ExecOptions;
use crate::plan::{Access, Key, accesses};

/// A program for replicas.
pub(crate) struct StagedProgram {
    /// Operators that run once have a role that [`runs_once`] knows.
    pub(crate) program: Program,
    /// Gradients that are added up.
    pub(crate) joined: Vec<Name>,
}

/// Does an operator run once for all replicas?
pub(crate) fn runs_once(op: &Op) -> bool {
    [Role::OPTIMIZE, Role::LR_SCHED, Role::RPC, Role::DIST].into_iter().any(|role| op.role().has(role))
}

/// The passes that rewrite a program for replicas, in the order in which they run. Those of every compilation follow.
pub const PASSES: [&str; 3] = ["scale_loss", "synchronize", "assign_stages"];

/// Rewrites a program that is fed `feeds`.
pub(crate) fn assign(
    program: &Program,
    feeds: &[&str],
    how: &Replicas,
    options: &ExecOptions,
    passes: &mut PassRun<'_>,
) -> Result<StagedProgram> {
    let mut program = program.clone();
    let mut joined = Vec::new();
    let [scale, synchronized, assign] = PASSES;
    passes.run(scale, &mut program, |program| {
        scale_loss(program, how);
        Ok(())
    })?;
    passes.run(synchronized, &mut program, |program| {
        if how.sync_batch_norm {
            synchronize(program, options);
        }
        Ok(())
    })?;
    passes.run(assign, &mut program, |program| {
        joined = assign_stages(program, feeds, options)?;
        Ok(())
    })?;
    Ok(StagedProgram { program, joined })
}

/// Sorts the operators by stages and marks those that run once. Returns the gradients to add up.
fn assign_stages(program: &mut Program, feeds: &[&str], options: &ExecOptions) -> Result<Vec<Name>> {
    let traits = |op: &Op| options.registry.traits(&op.op_type);
    let accesses = accesses(program, 0, &|op| traits(op).maybe_empty)?;
    let is_reader = |key: &Key| program.find_var(key.0, &key.1).is_some_and(|v| v.kind == VarKind::Reader);
    let mut flow = Flow::new(feeds);
    let mut sorted: Vec<(usize, bool, Op)> = Vec::with_capacity(accesses.len());
    for (i, (op, access)) in program.global().ops.iter().zip(&accesses).enumerate() {
        let reads = access.reads.iter().any(is_reader);
        let chance = reads || traits(op).random || traits(op).side_effect;
        let mut op = op.clone();
        if traits(&op).once && !runs_once(&op) {
            flow.check_common(&op, access).map_err(|e| e.at(|| op.place(0, i)))?;
            op.set_role(Role::DIST);
        }
        let stage = flow.place(&mut op, access, chance);
        if !runs_once(&op) {
            check_branches(program, &op).map_err(|e| e.at(|| op.place(0, i)))?;
        }
        sorted.push((stage, !reads, op));
    }
    // Stable: operators of a stage keep their order, but for those that take batches from a reader, which depend on nothing.
    sorted.sort_by_key(|(stage, later, _)| (*stage, *later));
    program.global_mut().ops = sorted.into_iter().map(|(_, _, op)| op).collect();
    Ok(flow.joined)
}

/// Lets the loss of a replica count as the user wants.
fn scale_loss(program: &mut Program, how: &Replicas) {
    let starts_gradient = |op: &Op| op.role() == Role::BACKWARD.and(Role::LOSS);
    for block in program.blocks_mut() {
        match how.scale {
            LossScale::Mean => block.ops.iter_mut().filter(|op| starts_gradient(op)).for_each(|op| {
                if let Some(Attr::Float(value)) = op.attrs.get("value") {
                    let scaled = *value / how.count as f32;
                    op.attrs.set("value", scaled);
                }
            }),
            LossScale::Sum => {}
            // The operator that divides it among collective workers stays.
            LossScale::Fed => block.ops.retain(|op| !starts_gradient(op) || op.attrs.get("value").is_none()),
        }
    }
}

/// Replaces operators by those that do the same over the samples of all replicas.
fn synchronize(program: &mut Program, options: &ExecOptions) {
    for op in program.blocks_mut().iter_mut().flat_map(|b| &mut b.ops) {
        if let Some(other) = options.registry.traits(&op.op_type).synchronized {
            op.op_type = other.into();
        }
    }
}

/// An update inside a branch or a loop that replicas run would follow from the gradient of one replica alone.
fn check_branches(program: &Program, op: &Op) -> Result<()> {
    for block in op.sub_blocks() {
        for inner in &program.block(block).ops {
            if inner.role().has(Role::OPTIMIZE) {
                let what = format!("`{}` updates parameters where only some replicas may come", op.op_type);
                return Err(Error::new(Kind::Unsupported, what)
                    .note(format!("`{}` of block {block} belongs to an optimizer", inner.op_type))
                    .help("call minimize outside of branches and loops, or run on one replica (CPU_NUM=1)"));
            }
            check_branches(program, inner)?;
        }
    }
    Ok(())
}

/// Whose value a variable has at some point of the program. Before any operator writes it, it is the scope's, the same for all.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Owner {
    /// Each replica's own: it depends on samples or on chance.
    Replica,
    /// Each replica computes the same.
    Same,
    /// It was computed once, or it is a sum over all.
    All,
}

/// State of the variables while the operators are visited in order.
///
/// Stages alternate: replicas (even), once (odd). An operator comes as early as what it needs allows.
struct Flow {
    owner: HashMap<Name, Owner>,
    /// The stage in which a variable was written last, and the latest in which it was read since.
    written: HashMap<Key, usize>,
    read: HashMap<Key, usize>,
    /// Variables that operators of the backward pass wrote last.
    of_backward: HashSet<Name>,
    joined: Vec<Name>,
}

impl Flow {
    fn new(feeds: &[&str]) -> Flow {
        let owner = feeds.iter().map(|&name| (name.into(), Owner::Replica)).collect();
        let (written, read, of_backward, joined) = Default::default();
        Flow { owner, written, read, of_backward, joined }
    }

    /// The stage of the next operator, whose results may be a matter of chance. Notes in its role if it runs once.
    fn place(&mut self, op: &mut Op, access: &Access, chance: bool) -> usize {
        let is = |key: &Key, owner: Owner| self.owner.get(&key.1) == Some(&owner);
        let own = chance || access.reads.iter().any(|k| is(k, Owner::Replica));
        // An operator without a telling role runs once if it looks at what was computed once and at nothing of a replica's own.
        let once = runs_once(op) || !own && access.reads.iter().any(|k| is(k, Owner::All));
        if once && !runs_once(op) {
            op.set_role(Role::OPTIMIZE);
        }
        if once {
            self.join_unmarked(access);
        }
        let stage = self.stage(access, once);
        for key in &access.reads {
            let read = self.read.entry(key.clone()).or_default();
            *read = stage.max(*read);
        }
        for key in &access.writes {
            let owner = if own { Owner::Replica } else { Owner::Same };
            self.owner.insert(key.1.clone(), if once { Owner::All } else { owner });
            self.written.insert(key.clone(), stage);
            self.read.remove(key);
            if op.role().has(Role::BACKWARD) {
                self.of_backward.insert(key.1.clone());
            } else {
                self.of_backward.remove(&key.1);
            }
        }
        if !once {
            self.join_gradients(op);
        }
        stage
    }

    /// An operator that exchanges values with other processes needs values that are common to all replicas, or their sum.
    fn check_common(&self, op: &Op, access: &Access) -> Result<()> {
        let own = |key: &&Key| self.owner.get(&key.1) == Some(&Owner::Replica) && !self.of_backward.contains(&key.1);
        let Some((_, name)) = access.reads.iter().find(own) else { return Ok(()) };
        let what = format!("`{}` exchanges `{name}` with other processes, and every replica has its own", op.op_type);
        Err(Error::new(Kind::Unsupported, what).help("run on one replica (CPU_NUM=1), and start more processes"))
    }

    fn stage(&self, access: &Access, once: bool) -> usize {
        let before = access.reads.iter().chain(&access.writes).filter_map(|k| self.written.get(k));
        let looked_at = access.writes.iter().filter_map(|k| self.read.get(k));
        let earliest = before.chain(looked_at).copied().max().unwrap_or(0);
        if earliest % 2 == usize::from(once) { earliest } else { earliest + 1 }
    }

    /// The gradients of parameters that an operator completes belong to all from here on.
    fn join_gradients(&mut self, op: &Op) {
        let Some(Attr::Strings(pairs)) = op.attrs.get("op_role_var").filter(|_| op.role().has(Role::BACKWARD)) else {
            return;
        };
        for grad in pairs.chunks_exact(2).map(|pair| Name::from(pair[1].as_str())) {
            if op.outputs.args().any(|n| *n == grad) {
                self.join((0, grad));
            }
        }
    }

    /// A variable that goes from the backward pass to an operator that runs once is a gradient, although no attribute says so.
    fn join_unmarked(&mut self, access: &Access) {
        let is_unmarked =
            |key: &&Key| self.owner.get(&key.1) == Some(&Owner::Replica) && self.of_backward.contains(&key.1);
        let unmarked: Vec<Key> = access.reads.iter().filter(is_unmarked).cloned().collect();
        unmarked.into_iter().for_each(|key| self.join(key));
    }

    /// Sums over all replicas are there in the stage after the one in which each wrote its own.
    fn join(&mut self, key: Key) {
        if let Some(stage) = self.written.get_mut(&key) {
            *stage += 1;
        }
        self.owner.insert(key.1.clone(), Owner::All);
        if !self.joined.contains(&key.1) {
            self.joined.push(key.1);
        }
    }
}
