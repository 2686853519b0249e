//! Hogwild threads: threads that train one scope together without waiting for each other's steps.
//!
//! Every thread runs the whole program in a frame of its own. The operators of the plan that read and write a variable of the scope
//! decide how threads share it, so the rules hold for all operators, optimizers and exchanges with other machines:
//!
//! | operators of the plan | variable | sharing |
//! |---|---|---|
//! | none writes it | inputs, frozen parameters | read in the scope, locked for the step |
//! | one writes it, others read it | parameters | the writer updates the scope's value under a lock; the readers see the thread's copy, which is refreshed before the lock is released |
//! | it is updated from rows | tables | read and updated in the scope, locked for one operator |
//! | only its writers read it | optimizer state, statistics, counters | updated in the scope, locked for one operator: totals are exact |
//! | one writes it without reading it | values that a server sends | computed in the thread's copy, then copied to the scope |
//!
//! An operator that multiplies rows of a table reads them in the table, so with several threads a gradient may see a later row than
//! the product did.
//!
//! Nothing here is a data race: a shared variable is locked while it is used, and never for longer than one operator. The locks of
//! one operator are taken in one order, so threads cannot wait for each other in a circle. A single thread is a plain run: it can be
//! undone, and its kernels use the compute pool.

use std::collections::HashSet;
use std::sync::Arc;

use oarlock_ir::{BlockRunner, Cell, Result, Runtime, SharedVar, VarKind};
use oarlock_tensor::{Tensor, Value};

use crate::instance::{Instance, RunCx, Runner, acquire};
use crate::plan::{Plan, PlanOp};
use crate::profile::Recorder;
use crate::scope::Scope;

/// One of several threads that run a program on one scope. The module says how they share its variables.
///
/// Unlike a run of the executor, a step of one among several cannot be undone: others may have built on what it wrote.
pub struct HogwildThread {
    instance: Instance,
    resources: Resources,
    mode: Mode,
}

/// Resources that a thread computes with.
pub(crate) struct Resources {
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) check_nan_inf: bool,
    pub(crate) recorder: Option<Arc<Recorder>>,
}

impl Resources {
    fn cx(&self) -> RunCx<'_> {
        RunCx { runtime: &self.runtime, check_nan_inf: self.check_nan_inf, recorder: self.recorder.as_deref() }
    }
}

enum Mode {
    Alone(Scope),
    Among(Shared),
}

/// How the threads of a program share a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sharing {
    /// No operator writes it.
    Fixed,
    /// Operators that do not write it read it: they get the thread's copy.
    Copied,
    /// Only operators that write it read it, or it is a table.
    InPlace,
}

/// How an operator uses a variable of the scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    /// Reads it in place.
    Read,
    /// Changes it in place.
    Change,
    /// Changes it in place; then its new value is copied into the thread's copy.
    ChangeCopied,
    /// Writes it without looking at it: into the thread's copy, which then replaces it. So nothing is locked while the operator
    /// waits, for another machine perhaps.
    Replace,
}

/// A variable of the scope that an operator touches.
struct Hold {
    slot: usize,
    name: oarlock_ir::Name,
    var: SharedVar,
    how: How,
    /// The thread's copy while the operator works on the scope's.
    copy: Option<Cell>,
}

/// The variables of the scope that a thread among others uses.
struct Shared {
    /// Variables that no operator writes, in the order in which it is locked.
    fixed: Vec<Hold>,
    /// Variables that each operator of block 0 uses, in the order in which it is locked.
    ops: Vec<Vec<Hold>>,
    /// Variables that are fetched from the scope after a step.
    fetched: Vec<Hold>,
}

impl HogwildThread {
    pub(crate) fn alone(instance: Instance, resources: Resources, scope: &Scope) -> HogwildThread {
        HogwildThread { instance, resources, mode: Mode::Alone(scope.clone()) }
    }

    pub(crate) fn among_others(mut instance: Instance, resources: Resources, scope: &Scope) -> Result<HogwildThread> {
        let shared = Shared::new(&mut instance, scope)?;
        Ok(HogwildThread { instance, resources, mode: Mode::Among(shared) })
    }

    /// Runs the program once, with these feeds in the order that was declared. Fetches are copied into `fetched` if it is wanted:
    /// they can be large, and most steps need none.
    pub fn run(&mut self, feeds: &[(&str, &Tensor)], fetched: Option<&mut Vec<Value>>) -> Result<()> {
        let cx = self.resources.cx();
        match &mut self.mode {
            Mode::Alone(scope) => self.instance.run(&cx, scope, feeds, fetched),
            Mode::Among(shared) => {
                let done = shared.run(&mut self.instance, &cx, feeds, fetched);
                shared.release(&mut self.instance);
                done
            }
        }
    }
}

impl Shared {
    fn new(instance: &mut Instance, scope: &Scope) -> Result<Shared> {
        let plan = instance.plan.clone();
        let vars: Vec<SharedVar> = plan.bound.iter().map(|b| scope.find_or_create(&b.name)).collect();
        let sharing: Vec<Sharing> = (0..plan.bound.len()).map(|i| sharing(&plan, i)).collect();
        for (i, b) in plan.bound.iter().enumerate() {
            let value = vars[i].read();
            if b.required && value.is_empty() {
                return Err(instance.missing(b));
            }
            if sharing[i] == Sharing::Copied {
                let mut copy = Value::Empty;
                copy.copy_from(&value).map_err(|e| oarlock_ir::Error::internal(format!("`{}`: {e}", b.name)))?;
                instance.frame.put(b.slot, Cell::Local(copy));
            }
        }
        let hold = |i: usize, how: How| Hold {
            slot: plan.bound[i].slot,
            name: plan.bound[i].name.clone(),
            var: vars[i].clone(),
            how,
            copy: None,
        };
        let ordered = |mut holds: Vec<Hold>| {
            holds.sort_by_key(|h| Arc::as_ptr(&h.var) as usize);
            holds
        };
        let of_op = |p: &PlanOp| {
            let touched: HashSet<usize> = p.reads.iter().chain(&p.updates).copied().collect();
            let how = |i: usize| how(p, i, sharing[i]).map(|how| hold(i, how));
            ordered(touched.into_iter().filter_map(how).collect())
        };
        let fixed = (0..vars.len()).filter(|&i| sharing[i] == Sharing::Fixed).map(|i| hold(i, How::Read)).collect();
        let in_place = |i: &usize| {
            let fetched = plan.fetches.iter().any(|(_, slot)| *slot == plan.bound[*i].slot);
            fetched && sharing[*i] == Sharing::InPlace
        };
        Ok(Shared {
            fixed: ordered(fixed),
            ops: plan.blocks[0].ops.iter().map(of_op).collect(),
            fetched: ordered((0..vars.len()).filter(in_place).map(|i| hold(i, How::Read)).collect()),
        })
    }

    fn run(
        &mut self,
        instance: &mut Instance,
        cx: &RunCx<'_>,
        feeds: &[(&str, &Tensor)],
        fetched: Option<&mut Vec<Value>>,
    ) -> Result<()> {
        enter(instance, &mut self.fixed)?;
        instance.feed(feeds)?;
        let plan = instance.plan.clone();
        Runner::new(&plan, &instance.kernels, cx).clear_block(0, &instance.frame);
        for (i, p) in plan.blocks[0].ops.iter().enumerate() {
            enter(instance, &mut self.ops[i])?;
            let runner = Runner::new(&plan, &instance.kernels, cx);
            runner.run_op(0, i, p, &mut *instance.kernels[0].borrow_mut()[i], &instance.frame)?;
            leave(instance, &mut self.ops[i])?;
        }
        if let Some(fetched) = fetched {
            enter(instance, &mut self.fetched)?;
            instance.fetch(fetched)?;
        }
        Ok(())
    }

    /// Lets go of everything, wherever a step ended.
    fn release(&mut self, instance: &mut Instance) {
        for hold in self.ops.iter_mut().flatten().chain(&mut self.fixed).chain(&mut self.fetched) {
            hold.release(instance);
        }
    }
}

/// Locks what an operator touches.
fn enter(instance: &mut Instance, holds: &mut [Hold]) -> Result<()> {
    for hold in holds {
        let cell = match hold.how {
            How::Replace => continue,
            how => acquire(&hold.var, &hold.name, how != How::Read)?,
        };
        let copy = std::mem::replace(instance.frame.cell_mut(hold.slot), cell);
        if hold.how == How::ChangeCopied {
            hold.copy = Some(copy);
        }
    }
    Ok(())
}

/// Lets go of what an operator has touched, and copies values between the thread's copies and the scope.
fn leave(instance: &mut Instance, holds: &mut [Hold]) -> Result<()> {
    let cannot = |e| oarlock_ir::Error::internal(format!("{e}"));
    for hold in &mut *holds {
        if let Some(copy) = hold.copy.as_mut().and_then(Cell::value_mut) {
            copy.copy_from(instance.frame.cell_mut(hold.slot).value()).map_err(cannot)?;
        }
        hold.release(instance);
    }
    for hold in holds.iter().filter(|h| h.how == How::Replace) {
        let mut shared = acquire(&hold.var, &hold.name, true)?;
        if let Some(value) = shared.value_mut() {
            value.copy_from(instance.frame.cell_mut(hold.slot).value()).map_err(cannot)?;
        }
    }
    Ok(())
}

impl Hold {
    fn release(&mut self, instance: &mut Instance) {
        if let Some(copy) = self.copy.take() {
            instance.frame.put(self.slot, copy);
        } else if matches!(self.how, How::Read | How::Change) {
            instance.frame.put(self.slot, Cell::Vacant);
        }
    }
}

/// How the threads share the variable at a position of `Plan::bound`.
fn sharing(plan: &Plan, i: usize) -> Sharing {
    let ops = &plan.blocks[0].ops;
    let writes = |p: &&PlanOp| p.updates.contains(&i);
    if !ops.iter().any(|p| writes(&p)) {
        return Sharing::Fixed;
    }
    let only_reads = |p: &PlanOp| p.reads.contains(&i) && !writes(&p);
    match ops.iter().any(only_reads) && !ops.iter().filter(writes).any(|p| reads_rows(plan, p)) {
        true => Sharing::Copied,
        false => Sharing::InPlace,
    }
}

/// Does an operator read some rows of something large, as the update of a table does?
fn reads_rows(plan: &Plan, p: &PlanOp) -> bool {
    let is_rows = |name| plan.program.global().var(name).is_some_and(|v| v.kind == VarKind::SelectedRows);
    p.by_rows || p.op.inputs.args().any(|name| is_rows(name))
}

/// How an operator uses a variable; `None` if it only reads the thread's copy.
fn how(p: &PlanOp, i: usize, sharing: Sharing) -> Option<How> {
    let (reads, writes) = (p.reads.contains(&i), p.updates.contains(&i));
    match sharing {
        Sharing::Fixed => None,
        _ if writes && !reads => Some(How::Replace),
        Sharing::Copied => writes.then_some(How::ChangeCopied),
        Sharing::InPlace => Some(if writes { How::Change } else { How::Read }),
    }
}
