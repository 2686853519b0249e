//! Running a step on replicas: instances of one plan, split into segments by stage.
//!
//! Replica 0 works on the scope as a plain run does: it locks the scope, saves values that may have to be restored, checks and commits
//! updates. While a segment of replicas runs, the other frames borrow the variables of the scope that no replica writes
//! (`Cell::Borrowed`): parameters are neither copied nor locked again. Variables that replicas write (running statistics) are copied
//! for the others in every step. Each replica has a thread, and its kernels run on that thread alone; batches are split where they
//! are copied into the frames. Gradients are added into replica 0's frame in the order of replicas, in pieces on the compute pool, so
//! a step gives the same bits however threads are scheduled. Operators that take batches from a reader run replica by replica before
//! the threads start.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use oarlock_ir::{Cell, Error, Kind, Name, Op, Replica, ReplicaSums, Result, Runtime, VarKind};
use oarlock_tensor::{Float, Pool, SelectedRows, Tensor, Value, rng, simd};
use parking_lot::Mutex;

use super::batches::Part;
use super::stages::{StagedProgram, runs_once};
use crate::executor::ExecOptions;
use crate::instance::{Instance, RunCx, copy_fetched};
use crate::plan::{Plan, PlanOp};
use crate::scope::Scope;
use crate::state::ExecState;

/// A plan, and which of its operators every replica runs.
pub(crate) struct StagedPlan {
    pub(crate) plan: Arc<Plan>,
    segments: Vec<Segment>,
    /// How many operators at the beginning take batches from readers: replicas do these one after the other.
    turns: usize,
    /// By position in `Plan::bound`: does every replica write its own?
    own: Vec<bool>,
    /// Slots whose value is the same for all replicas at the end.
    common: HashSet<usize>,
    /// Slots of gradients that are added up at some point.
    joins: bool,
}

/// Operators of block 0 that run in every replica, or once.
struct Segment {
    ops: Range<usize>,
    once: bool,
    /// Slots of the gradients to add up after it.
    join: Vec<(Name, usize)>,
    /// Slots computed once before it that every replica needs.
    copied: Vec<usize>,
}

impl StagedPlan {
    pub(crate) fn new(plan: Plan, program: &StagedProgram) -> StagedPlan {
        let ops = &plan.blocks[0].ops;
        let replicated = |p: &&PlanOp| !runs_once(&p.op);
        let own: Vec<bool> =
            (0..plan.bound.len()).map(|i| ops.iter().filter(replicated).any(|p| p.updates.contains(&i))).collect();
        let mut segments: Vec<Segment> = Vec::new();
        for (i, p) in ops.iter().enumerate() {
            let once = runs_once(&p.op);
            match segments.last_mut().filter(|s| s.once == once) {
                Some(segment) => segment.ops.end = i + 1,
                None => segments.push(Segment { ops: i..i + 1, once, join: Vec::new(), copied: Vec::new() }),
            }
        }
        let turns = ops.iter().take_while(|p| !runs_once(&p.op) && takes_batches(&plan, &p.op)).count();
        let mut staged =
            StagedPlan { segments, turns, own, common: HashSet::new(), joins: false, plan: Arc::new(plan) };
        staged.find_joins(&program.joined);
        staged.find_common();
        staged
    }

    /// Finds where each gradient is complete. A gradient that nothing reads is not added up.
    fn find_joins(&mut self, joined: &[Name]) {
        let ops = &self.plan.blocks[0].ops;
        for name in joined {
            let writes = |p: &PlanOp| !runs_once(&p.op) && p.op.outputs.args().any(|n| n == name);
            let Some(last) = ops.iter().rposition(writes) else { continue };
            let Some((_, slot)) = ops[last].names.iter().find(|(n, _)| n == name) else { continue };
            let wanted = ops[last + 1..].iter().any(|p| p.names.iter().any(|(n, _)| n == name))
                || self.plan.fetches.iter().any(|(n, _)| n == name);
            let segment = self.segments.iter_mut().find(|s| s.ops.contains(&last));
            if let Some(segment) = segment.filter(|_| wanted) {
                segment.join.push((name.clone(), *slot));
            }
        }
        self.joins = self.segments.iter().any(|s| !s.join.is_empty());
    }

    /// Finds what is the same for all, and where replicas need it after it was computed once.
    fn find_common(&mut self) {
        let shared = self.plan.bound.iter().zip(&self.own).filter(|(_, own)| !**own).map(|(b, _)| b.slot);
        let shared: HashSet<usize> = shared.collect();
        for segment in &mut self.segments {
            let ops = &self.plan.blocks[0].ops[segment.ops.clone()];
            let written = ops.iter().flat_map(|p| p.writes.iter().copied());
            if segment.once {
                self.common.extend(written);
                continue;
            }
            segment.copied = self.common.difference(&shared).copied().collect();
            for slot in written {
                self.common.remove(&slot);
            }
            self.common.extend(segment.join.iter().map(|(_, slot)| *slot));
        }
        self.common.extend(shared);
    }

    /// Does it learn from its samples? Then every replica must have some.
    pub(crate) fn trains(&self) -> bool {
        self.joins
    }
}

/// Does an operator take batches from a reader?
fn takes_batches(plan: &Plan, op: &Op) -> bool {
    let is_reader = |name: &Name| plan.program.global().var(name).is_some_and(|v| v.kind == VarKind::Reader);
    op.inputs.args().any(is_reader)
}

/// The threads that replicas run on, by how many there are. They belong to a runtime, so all its executors share them.
#[derive(Default)]
pub(crate) struct ThreadPools(Mutex<Vec<Arc<Mutex<Pool>>>>);

impl ThreadPools {
    /// The threads for `count` replicas. A run locks them: replicas may wait for each other, so those of two runs must not take
    /// threads from each other.
    pub(crate) fn of(&self, count: usize) -> Arc<Mutex<Pool>> {
        let mut pools = self.0.lock();
        while pools.len() <= count {
            let threads = pools.len();
            pools.push(Arc::new(Mutex::new(Pool::new(threads))));
        }
        pools[count].clone()
    }
}

/// Instances of a plan that compute together.
pub(crate) struct ReplicaSet {
    pub(crate) staged: Arc<StagedPlan>,
    pub(crate) instances: Vec<Instance>,
    /// Of each replica; empty if there is only one.
    runtimes: Vec<Runtime>,
    sums: Arc<ReplicaSums>,
    threads: Arc<Mutex<Pool>>,
}

/// The inputs of a step.
pub(crate) struct Step<'a> {
    pub(crate) main: RunCx<'a>,
    pub(crate) parts: &'a [Vec<Part<'a>>],
}

impl ReplicaSet {
    pub(crate) fn new(
        staged: Arc<StagedPlan>,
        count: usize,
        runtime: &Runtime,
        options: &ExecOptions,
    ) -> Result<ReplicaSet> {
        let sums = Arc::<ReplicaSums>::default();
        let of_replica = |number| runtime.of_replica(Replica::new(number, sums.clone()));
        let runtimes = if count > 1 { (0..count).map(of_replica).collect() } else { Vec::new() };
        let instances = (0..count).map(|r| Instance::of_replica(staged.plan.clone(), options, r));
        let instances = instances.collect::<Result<_>>()?;
        let threads = ExecState::of(runtime).pools.of(count);
        Ok(ReplicaSet { staged, instances, runtimes, sums, threads })
    }

    /// Bytes that temporaries of all replicas took at most.
    pub(crate) fn peak(&self) -> usize {
        self.instances.iter().map(|i| i.peak).sum()
    }

    /// Computes one step. Returns what is fetched, for each name the values of all replicas. If it fails, every variable of the
    /// scope is as it was before.
    pub(crate) fn run(&mut self, step: &Step<'_>, scope: &Scope) -> Result<Vec<Vec<Value>>> {
        let count = step.parts.len();
        self.sums.begin(count);
        self.draw_seeds(step.main.runtime);
        let ReplicaSet { staged, instances, runtimes, sums, threads } = self;
        let (first, others) = instances.split_at_mut(1);
        let Some(first) = first.first_mut() else { return Err(Error::internal("a replica set without replicas")) };
        let mut work = Work { staged, others: &mut others[..count - 1], runtimes, sums, threads, step };
        let mut fetched = Vec::new();
        first.locked(scope, |first| {
            work.segments(first)?;
            fetched = work.fetch(first)?;
            Ok(())
        })?;
        Ok(fetched)
    }

    /// Gives every replica a sequence of seeds for this step, if seeds do not come by chance.
    fn draw_seeds(&self, main: &Runtime) {
        if self.runtimes.is_empty() {
            return;
        }
        let drawn = main.seeds().map(|_| main.fresh_seed());
        for (r, runtime) in self.runtimes.iter().enumerate() {
            runtime.set_seeds(drawn.map(|seed| rng::mix(seed.wrapping_add((r as u64).wrapping_mul(rng::GOLDEN)))));
        }
    }
}

/// A step under way.
struct Work<'a> {
    staged: &'a StagedPlan,
    others: &'a mut [Instance],
    runtimes: &'a [Runtime],
    sums: &'a ReplicaSums,
    threads: &'a Mutex<Pool>,
    step: &'a Step<'a>,
}

impl Work<'_> {
    fn segments(&mut self, first: &mut Instance) -> Result<()> {
        first.begin(&self.step.main)?;
        self.others.iter_mut().for_each(|other| other.clear(&self.step.main));
        let (staged, main) = (self.staged, &self.step.main);
        let last_together = staged.segments.iter().rev().find(|s| !s.once).map_or(0, |s| s.ops.end);
        // With the nan check on, even the last update may fail: then everything is kept for undoing.
        let len = staged.plan.blocks[0].ops.len();
        let commit = if main.check_nan_inf { len } else { staged.plan.commit_from.max(last_together) };
        let mut fed = false;
        for segment in &staged.segments {
            if segment.once {
                if !fed {
                    feed(first, &self.step.parts[0])?;
                }
                let Range { start, end } = segment.ops;
                first.run_ops(main, start..end.min(commit.max(start)), true)?;
                first.commit_ops(main, start.max(commit.min(end))..end)?;
            } else {
                self.together(first, segment, !fed)?;
                fed = true;
                for (name, slot) in &segment.join {
                    join(main.runtime.pool(), first, self.others, name, *slot)?;
                }
            }
        }
        Ok(())
    }

    /// Lets all replicas run a segment.
    fn together(&mut self, first: &mut Instance, segment: &Segment, feed_now: bool) -> Result<()> {
        let turns = self.staged.turns.min(segment.ops.len()) * usize::from(feed_now);
        let rest = segment.ops.start + turns..segment.ops.end;
        let done = self
            .share(first, segment, feed_now)
            .and_then(|()| self.take_turns(first, turns))
            .and_then(|()| self.at_once(first, rest, feed_now && turns == 0));
        // After an error, too, no replica keeps a variable of the scope.
        for (b, own) in self.staged.plan.bound.iter().zip(&self.staged.own) {
            if !own {
                self.others.iter_mut().for_each(|other| other.frame.put(b.slot, Cell::Vacant));
                first.frame.cell_mut(b.slot).end_borrow();
            }
        }
        done
    }

    /// Gives the other replicas their variables: those that they only read are borrowed, those that they write are copied when a
    /// step begins.
    fn share(&mut self, first: &mut Instance, segment: &Segment, begins: bool) -> Result<()> {
        for (b, own) in self.staged.plan.bound.iter().zip(&self.staged.own) {
            for other in self.others.iter_mut() {
                match own {
                    true if begins => copy_cell(first, other, b.slot)?,
                    true => {}
                    false => other.frame.put(b.slot, first.frame.cell_mut(b.slot).borrow()),
                }
            }
        }
        for &slot in &segment.copied {
            self.others.iter_mut().try_for_each(|other| copy_cell(first, other, slot))?;
        }
        Ok(())
    }

    /// Feeds, and takes batches from readers, in the order of replicas: which replica gets which batch must not depend on time.
    fn take_turns(&mut self, first: &mut Instance, turns: usize) -> Result<()> {
        if turns == 0 {
            return Ok(());
        }
        let replicas = std::iter::once(first).chain(self.others.iter_mut());
        for (r, instance) in replicas.enumerate() {
            feed(instance, &self.step.parts[r])?;
            instance.run_ops(&cx(&self.step.main, self.runtimes.get(r)), 0..turns, r == 0)?;
        }
        Ok(())
    }

    fn at_once(&mut self, first: &mut Instance, ops: Range<usize>, feed_now: bool) -> Result<()> {
        let (step, runtimes, sums) = (self.step, self.runtimes, self.sums);
        let run = |r: usize, instance: &mut Instance| {
            if feed_now {
                feed(instance, &step.parts[r])?;
            }
            instance.run_ops(&cx(&step.main, runtimes.get(r)), ops.clone(), r == 0)
        };
        let replicas = std::iter::once(first).chain(self.others.iter_mut());
        let mut replicas: Vec<(&mut Instance, Result<()>)> = replicas.map(|i| (i, Ok(()))).collect();
        let threads = self.threads.lock();
        let started = threads.at_once(&mut replicas, |r, (instance, done)| {
            let leaving = GiveUp(sums);
            *done = run(r, instance);
            if done.is_ok() {
                std::mem::forget(leaving);
            }
        });
        if !started {
            let what = format!("{} threads for {0} replicas cannot be started", replicas.len());
            let help = "use fewer replicas; a process that was forked needs an executor of its own";
            return Err(Error::new(Kind::Unsupported, what).help(help));
        }
        first_error(replicas.into_iter().map(|(_, done)| done).collect())
    }

    fn fetch(&self, first: &Instance) -> Result<Vec<Vec<Value>>> {
        let of_name = |(name, slot): &(Name, usize)| {
            let common = self.staged.common.contains(slot);
            let values = std::iter::once(first).chain(self.others.iter().map(|o| if common { first } else { o }));
            let copy = |instance: &Instance| {
                let mut value = Value::Empty;
                copy_fetched(&instance.frame, name, *slot, &mut value).map(|()| value)
            };
            values.map(copy).collect()
        };
        self.staged.plan.fetches.iter().map(of_name).collect()
    }
}

/// Wakes the replicas that wait for one that ends in an error or a panic.
struct GiveUp<'a>(&'a ReplicaSums);

impl Drop for GiveUp<'_> {
    fn drop(&mut self) {
        self.0.give_up();
    }
}

/// The resources of a replica.
fn cx<'a>(main: &RunCx<'a>, own: Option<&'a Runtime>) -> RunCx<'a> {
    RunCx { runtime: own.unwrap_or(main.runtime), check_nan_inf: main.check_nan_inf, recorder: main.recorder }
}

/// The error of the first replica that has one of its own: those that others broke off say nothing new.
fn first_error(done: Vec<Result<()>>) -> Result<()> {
    let count = done.len();
    let mut errors: Vec<(usize, Error)> =
        done.into_iter().enumerate().filter_map(|(r, d)| Some((r, d.err()?))).collect();
    let at = errors.iter().position(|(_, e)| e.kind() != Kind::Interrupted).unwrap_or(0);
    match errors.is_empty() {
        true => Ok(()),
        false => {
            let (r, error) = errors.swap_remove(at);
            Err(if count > 1 { error.note(format!("in replica {r} of {count}")) } else { error })
        }
    }
}

fn feed(instance: &mut Instance, parts: &[Part<'_>]) -> Result<()> {
    let plan = instance.plan.clone();
    parts.iter().enumerate().try_for_each(|(i, part)| match &part.samples {
        None => instance.feed_one(&plan.feeds[i], |to| to.copy_from(part.tensor)),
        Some(samples) => instance.feed_one(&plan.feeds[i], |to| to.copy_samples(part.tensor, samples.clone())),
    })
}

/// Copies a value of one replica to another. A value that cannot be copied stays empty there.
fn copy_cell(from: &mut Instance, to: &mut Instance, slot: usize) -> Result<()> {
    let from = from.frame.cell_mut(slot).value();
    match to.frame.cell_mut(slot).value_mut() {
        Some(to) if !matches!(from, Value::Opaque(_) | Value::Table(_)) => {
            to.copy_from(from).map_err(|e| Error::internal(e.to_string()))
        }
        _ => Ok(()),
    }
}

/// Elements that one task adds up.
const PIECE: usize = 1 << 15;

/// Adds a gradient of the other replicas to that of the first, in order.
fn join(pool: &Pool, first: &mut Instance, others: &mut [Instance], name: &Name, slot: usize) -> Result<()> {
    let mut parts: Vec<&Value> = others.iter_mut().map(|o| o.frame.cell_mut(slot).value()).collect();
    parts.retain(|v| !v.is_empty());
    let Some(sum) = first.frame.cell_mut(slot).value_mut() else {
        return Err(Error::internal(format!("the gradient `{name}` is locked")));
    };
    if sum.is_empty() && !parts.is_empty() {
        // The first replica took another branch.
        sum.copy_from(parts.remove(0)).map_err(|e| Error::internal(e.to_string()))?;
    }
    let differ = || {
        let what = format!("the gradient `{name}` has other sizes in another replica");
        Error::new(Kind::Shape, what).help("a parameter's gradient must not depend on the batch in its sizes")
    };
    match sum {
        Value::Dense(sum) => {
            let parts: Option<Vec<&Tensor>> = parts.iter().map(|v| v.dense().ok()).collect();
            let parts = parts.filter(|p| p.iter().all(|t| t.dims() == sum.dims() && t.dtype() == sum.dtype()));
            let parts = parts.ok_or_else(differ)?;
            let dtype = sum.dtype();
            oarlock_ir::by_float!(dtype, T => add_all::<T>(pool, sum, &parts))
        }
        Value::Rows(sum) => {
            let parts: Option<Vec<&SelectedRows>> = parts.iter().map(|v| v.rows().ok()).collect();
            let same = |p: &&SelectedRows| p.whole_dims() == sum.whole_dims() && p.value.dtype() == sum.value.dtype();
            sum.append(&parts.filter(|parts| parts.iter().all(same)).ok_or_else(differ)?);
            Ok(())
        }
        _ => Ok(()),
    }
}

fn add_all<T: Float>(pool: &Pool, sum: &mut Tensor, parts: &[&Tensor]) -> Result<()> {
    let cannot = |e: oarlock_tensor::Error| Error::internal(e.to_string());
    let parts: Vec<&[T]> =
        parts.iter().map(|t| t.data::<T>()).collect::<std::result::Result<_, _>>().map_err(cannot)?;
    pool.pieces(sum.data_mut::<T>().map_err(cannot)?, PIECE, |i, sum| {
        for part in &parts {
            simd::add_assign(sum, &part[i * PIECE..][..sum.len()]);
        }
    });
    Ok(())
}
