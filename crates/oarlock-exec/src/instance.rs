//! One copy of a plan that can run: kernels, a frame of values, and the values that a failed run restores.
//!
//! A run locks the variables of the scope, always in one order and with a deadline, copies feeds into their slots and runs the
//! kernels. Buffers grow to their high-water mark, so a warmed-up step allocates nothing. Control-flow kernels run their block on the
//! same frame. Variables of the scope that an operator is about to change are saved before; optimizer kernels at the end are all
//! checked first and then cannot fail. So a run changes all parameters or none.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use oarlock_ir::{
    BlockRunner, Cell, Error, Frame, Io, Kernel, Kind, Name, OpNames, Result, Runtime, SharedVar, VarDType,
};
use oarlock_tensor::{DType, Tensor, Value};

use crate::executor::ExecOptions;
use crate::plan::{FeedSlot, Plan, PlanOp};
use crate::profile::Recorder;
use crate::scope::Scope;

/// How long a run waits for a variable that another thread holds.
const LOCK_PATIENCE: Duration = Duration::from_secs(30);

/// A plan with kernels and values of its own. One thread runs it at a time.
pub(crate) struct Instance {
    pub(crate) plan: Arc<Plan>,
    pub(crate) kernels: Vec<RefCell<Vec<Box<dyn Kernel>>>>,
    pub(crate) frame: Frame,
    /// Inputs in place that no operator reads, by feed.
    unread: Vec<Tensor>,
    binding: Option<Binding>,
    /// Values of `plan.bound` before this run changed them, and whether they were saved in this run.
    undo: Vec<(Value, bool)>,
    /// The most bytes temporaries took in a run.
    pub(crate) peak: usize,
}

/// The variables of one scope, in the order in which they are locked.
struct Binding {
    stamp: (u64, u64),
    vars: Vec<(usize, SharedVar)>,
}

/// The resources of a run.
pub(crate) struct RunCx<'a> {
    pub(crate) runtime: &'a Runtime,
    pub(crate) check_nan_inf: bool,
    pub(crate) recorder: Option<&'a Recorder>,
}

impl Instance {
    pub(crate) fn new(plan: Arc<Plan>, options: &ExecOptions) -> Result<Instance> {
        Instance::of_replica(plan, options, 0)
    }

    /// For a replica of a run: its random operators draw other numbers than those of other replicas.
    pub(crate) fn of_replica(plan: Arc<Plan>, options: &ExecOptions, replica: usize) -> Result<Instance> {
        let kernels = plan.kernels(options, replica)?.into_iter().map(RefCell::new).collect();
        let undo = plan.bound.iter().map(|_| (Value::Empty, false)).collect();
        let unread = plan.feeds.iter().map(|_| Tensor::new()).collect();
        Ok(Instance { frame: Frame::new(plan.slots), plan, kernels, unread, binding: None, undo, peak: 0 })
    }

    /// Runs the plan once; copies what is fetched into `fetched`, if wanted. On an error every variable of the scope is as it
    /// was before.
    pub(crate) fn run(
        &mut self,
        cx: &RunCx<'_>,
        scope: &Scope,
        feeds: &[(&str, &Tensor)],
        fetched: Option<&mut Vec<Value>>,
    ) -> Result<()> {
        self.locked(scope, |me| {
            me.feed(feeds)?;
            me.compute(cx)?;
            fetched.map_or(Ok(()), |fetched| me.fetch(fetched))
        })
    }

    /// Runs the plan once on what [`Instance::input_mut`] holds; moves what is fetched into `outputs` where it can.
    pub(crate) fn run_in_place(&mut self, cx: &RunCx<'_>, scope: &Scope, outputs: &mut [Value]) -> Result<()> {
        self.locked(scope, |me| {
            me.check_inputs()?;
            me.compute(cx)?;
            me.take_outputs(outputs)
        })
    }

    /// Does `work` while the variables of the scope are locked, and undoes what it did to them if it fails.
    pub(crate) fn locked(&mut self, scope: &Scope, work: impl FnOnce(&mut Instance) -> Result<()>) -> Result<()> {
        self.lock(scope)?;
        let result = work(self);
        if result.is_err() {
            self.restore();
        }
        self.unlock();
        result
    }

    fn compute(&mut self, cx: &RunCx<'_>) -> Result<()> {
        self.begin(cx)?;
        let len = self.plan.blocks[0].ops.len();
        // With the nan check on, even the last update may fail: then everything is kept for undoing.
        let commit = if cx.check_nan_inf { len } else { self.plan.commit_from };
        self.run_ops(cx, 0..commit, true)?;
        self.commit_ops(cx, commit..len)
    }

    /// Makes ready to run operators, while the variables of the scope are locked.
    pub(crate) fn begin(&mut self, cx: &RunCx<'_>) -> Result<()> {
        self.require()?;
        for u in &mut self.undo {
            u.1 = false;
        }
        self.clear(cx);
        Ok(())
    }

    /// Empties what a run must find empty.
    pub(crate) fn clear(&mut self, cx: &RunCx<'_>) {
        Runner::new(&self.plan, &self.kernels, cx).clear_block(0, &self.frame);
    }

    /// The tensor of a feed, in place. One that no operator reads is kept all the same.
    pub(crate) fn input_mut(&mut self, feed: usize) -> &mut Tensor {
        match self.plan.feeds[feed].slot.and_then(|slot| self.frame.cell_mut(slot).value_mut()) {
            Some(value) => value.dense_mut(),
            None => &mut self.unread[feed],
        }
    }

    fn check_inputs(&mut self) -> Result<()> {
        let plan = self.plan.clone();
        for (i, feed) in plan.feeds.iter().enumerate() {
            check_feed(feed, self.input_mut(i))?;
        }
        Ok(())
    }

    /// Moves what is fetched out of the frame, which gets the values of the run before in return. A value that is needed elsewhere is copied.
    fn take_outputs(&mut self, outputs: &mut [Value]) -> Result<()> {
        for (i, ((name, slot), to)) in self.plan.fetches.iter().zip(outputs).enumerate() {
            let needed = self.plan.bound.iter().any(|b| b.slot == *slot)
                || self.plan.feeds.iter().any(|f| f.slot == Some(*slot))
                || self.plan.fetches[i + 1..].iter().any(|(_, other)| other == slot);
            match self.frame.cell_mut(*slot).value_mut().filter(|value| !needed && !value.is_empty()) {
                Some(value) => std::mem::swap(value, to),
                None => copy_fetched(&self.frame, name, *slot, to)?,
            }
        }
        Ok(())
    }

    /// Locks the variables of the scope, always in the same order, so that two runs cannot wait for each other.
    fn lock(&mut self, scope: &Scope) -> Result<()> {
        let stamp = scope.stamp();
        if self.binding.as_ref().is_none_or(|b| b.stamp != stamp) {
            let mut vars: Vec<(usize, SharedVar)> =
                self.plan.bound.iter().enumerate().map(|(i, b)| (i, scope.find_or_create(&b.name))).collect();
            vars.sort_by_key(|(_, v)| Arc::as_ptr(v) as usize);
            self.binding = Some(Binding { stamp: scope.stamp(), vars });
        }
        let Some(binding) = &self.binding else { return Ok(()) };
        for (i, var) in &binding.vars {
            let bound = &self.plan.bound[*i];
            match acquire(var, &bound.name, bound.written) {
                Ok(cell) => self.frame.put(bound.slot, cell),
                Err(e) => {
                    self.unlock();
                    return Err(e);
                }
            }
        }
        Ok(())
    }

    fn unlock(&mut self) {
        for b in &self.plan.bound {
            self.frame.put(b.slot, Cell::Vacant);
        }
    }

    pub(crate) fn feed(&mut self, feeds: &[(&str, &Tensor)]) -> Result<()> {
        for (f, (_, tensor)) in self.plan.feeds.iter().zip(feeds) {
            check_feed(f, tensor)?;
            let Some(slot) = f.slot else { continue };
            if let Some(value) = self.frame.cell_mut(slot).value_mut() {
                value.dense_mut().copy_from(tensor);
            }
        }
        Ok(())
    }

    /// Lets `fill` write what is fed into its place, and checks it.
    pub(crate) fn feed_one(&mut self, f: &FeedSlot, fill: impl FnOnce(&mut Tensor)) -> Result<()> {
        let Some(value) = f.slot.and_then(|slot| self.frame.cell_mut(slot).value_mut()) else { return Ok(()) };
        fill(value.dense_mut());
        check_feed(f, value.dense_mut())
    }

    /// Variables that are read before they are written must have a value.
    fn require(&self) -> Result<()> {
        for b in self.plan.bound.iter().filter(|b| b.required) {
            if self.frame.read(b.slot).is_some_and(|v| v.is_empty()) {
                return Err(self.missing(b));
            }
        }
        Ok(())
    }

    /// The error about a variable without value.
    #[cold]
    pub(crate) fn missing(&self, b: &crate::plan::Bound) -> Error {
        let who = b.needed_by.as_ref().map_or("the fetch list".to_string(), |p| format!("`{}`", p.op_type));
        let err = if b.is_data && !b.persistable {
            Error::new(Kind::Missing, format!("{who} needs `{}`, but it is not fed", b.name))
                .help(format!("add `{}` to the feed", b.name))
        } else {
            Error::new(Kind::Missing, format!("{who} needs `{}`, but it has no value in this scope", b.name))
                .help("run the startup program in this scope first, or load a saved model")
        };
        match &b.needed_by {
            Some(place) => err.at(|| place.clone()),
            None => err,
        }
    }

    /// Runs operators of block 0; with `undo`, what they change in the scope can be restored.
    pub(crate) fn run_ops(&mut self, cx: &RunCx<'_>, ops: Range<usize>, undo: bool) -> Result<()> {
        let plan = self.plan.clone();
        let runner = Runner::new(&plan, &self.kernels, cx);
        let mut kernels = self.kernels[0].borrow_mut();
        for i in ops {
            let p = &plan.blocks[0].ops[i];
            if undo {
                save(&plan, &self.frame, &mut self.undo, p)?;
            }
            runner.run_op(0, i, p, &mut *kernels[i], &self.frame)?;
        }
        self.peak = self.peak.max(runner.peak.get()).max(self.frame.local_bytes());
        Ok(())
    }

    /// Runs operators of block 0 that can be checked: all are checked before the first one runs.
    pub(crate) fn commit_ops(&mut self, cx: &RunCx<'_>, ops: Range<usize>) -> Result<()> {
        let plan = self.plan.clone();
        let runner = Runner::new(&plan, &self.kernels, cx);
        let mut kernels = self.kernels[0].borrow_mut();
        for i in ops.clone() {
            let p = &plan.blocks[0].ops[i];
            let io = runner.io(p, &self.frame);
            kernels[i].check(&io).map_err(|e| e.at(|| p.op.place(0, i)))?;
        }
        for i in ops {
            runner.run_op(0, i, &plan.blocks[0].ops[i], &mut *kernels[i], &self.frame)?;
        }
        self.peak = self.peak.max(runner.peak.get()).max(self.frame.local_bytes());
        Ok(())
    }

    /// Gives the variables of the scope the values they had before this run.
    #[cold]
    fn restore(&mut self) {
        for (b, (old, saved)) in self.plan.bound.iter().zip(&mut self.undo) {
            if !*saved {
                continue;
            }
            *saved = false;
            match self.frame.cell_mut(b.slot).value_mut() {
                Some(Value::Table(table)) => table.table().into_iter().for_each(|rows| rows.undo()),
                Some(value) => std::mem::swap(value, old),
                None => {}
            }
        }
    }

    /// Copies some of what is fetched into `fetched`.
    pub(crate) fn fetch_some(&self, range: Range<usize>, fetched: &mut Vec<Value>) -> Result<()> {
        fetched.resize_with(range.len(), Value::default);
        let mut all = self.plan.fetches[range].iter().zip(fetched);
        all.try_for_each(|((name, slot), to)| copy_fetched(&self.frame, name, *slot, to))
    }

    /// Copies what is fetched into `fetched`.
    pub(crate) fn fetch(&self, fetched: &mut Vec<Value>) -> Result<()> {
        fetched.resize_with(self.plan.fetches.len(), Value::default);
        let mut all = self.plan.fetches.iter().zip(fetched);
        all.try_for_each(|((name, slot), to)| copy_fetched(&self.frame, name, *slot, to))
    }
}

pub(crate) fn copy_fetched(frame: &Frame, name: &Name, slot: usize, to: &mut Value) -> Result<()> {
    match frame.read(slot) {
        Some(value) if !value.is_empty() => {
            to.copy_from(&value).map_err(|e| Error::new(Kind::Argument, format!("fetched `{name}` {e}")))
        }
        _ => {
            let what = format!("`{name}` is fetched, but this run did not write it");
            Err(Error::new(Kind::Missing, what).help("fetch a variable that an operator of this program computes"))
        }
    }
}

/// How often a lock is tried without letting go of the processor, some ten microseconds in all: most operators of other
/// threads hold a table no longer.
const SPINS: usize = 1000;

/// How often it is tried further before a thread goes to sleep over it, and lets other threads run first: updates of wide rows hold a
/// table for a hundred microseconds, and waking a thread takes as long.
const YIELDS: usize = 500;

/// Locks a variable of a scope, to read or to write.
pub(crate) fn acquire(var: &SharedVar, name: &Name, write: bool) -> Result<Cell> {
    let cell = if write {
        insist(|| var.try_write_arc()).or_else(|| var.try_write_arc_for(LOCK_PATIENCE)).map(Cell::Write)
    } else {
        insist(|| var.try_read_arc()).or_else(|| var.try_read_arc_for(LOCK_PATIENCE)).map(Cell::Read)
    };
    cell.ok_or_else(|| {
        let what = format!("variable `{name}` is in use by another run for {} s", LOCK_PATIENCE.as_secs());
        Error::new(Kind::Argument, what).help("let go of the variable before the run, or give each run its own scope")
    })
}

fn insist<T>(attempt: impl Fn() -> Option<T>) -> Option<T> {
    for tried in 0..SPINS + YIELDS {
        if let Some(got) = attempt() {
            return Some(got);
        }
        if tried < SPINS {
            std::hint::spin_loop();
        } else {
            std::thread::yield_now();
        }
    }
    None
}

/// Saves the variables of the scope that an operator is about to change, unless this run saved them already.
fn save(plan: &Plan, frame: &Frame, undo: &mut [(Value, bool)], p: &PlanOp) -> Result<()> {
    for &i in &p.updates {
        let (old, saved) = &mut undo[i];
        if *saved {
            continue;
        }
        let Some(value) = frame.read(plan.bound[i].slot) else { continue };
        match &*value {
            // Internal objects (readers, step scopes) have no copy; they are no state that a failed run must restore.
            Value::Opaque(_) => continue,
            // Too large to copy in every run; it remembers by itself what changes. States lie in the rows of their table.
            Value::Table(table) => table.table().into_iter().for_each(|rows| rows.begin()),
            value => old.copy_from(value).map_err(|e| Error::internal(e.to_string()))?,
        }
        *saved = true;
    }
    Ok(())
}

/// A fed tensor must be what the variable says, where it says so.
fn check_feed(f: &FeedSlot, tensor: &Tensor) -> Result<()> {
    tensor.lod().check(tensor.rows()).map_err(|e| Error::new(Kind::Lod, format!("fed `{}`: {e}", f.name)))?;
    if !f.var.need_check_feed {
        return Ok(());
    }
    if f.var.dtype != VarDType::Is(tensor.dtype()) {
        let ty = f.var.ty();
        return Err(wrong_feed(Kind::DType, f, tensor).help(format!(
            "feed {}, for example with .astype('{}')",
            ty.dtype,
            ty.dtype.name()
        )));
    }
    if !f.var.shape.fits(tensor.dims()) {
        return Err(wrong_feed(Kind::Shape, f, tensor).help("every size but `?` must be as declared"));
    }
    Ok(())
}

#[cold]
fn wrong_feed(kind: Kind, f: &FeedSlot, tensor: &Tensor) -> Error {
    let what =
        format!("`{}` is declared {}, but a tensor of {}{} is fed", f.name, f.var.ty(), tensor.dtype(), tensor.dims());
    Error::new(kind, what)
}

/// Runs blocks of a plan.
pub(crate) struct Runner<'a> {
    plan: &'a Plan,
    kernels: &'a [RefCell<Vec<Box<dyn Kernel>>>],
    cx: &'a RunCx<'a>,
    /// The most bytes temporaries took when some were about to be released.
    peak: std::cell::Cell<usize>,
}

impl<'a> Runner<'a> {
    pub(crate) fn new(plan: &'a Plan, kernels: &'a [RefCell<Vec<Box<dyn Kernel>>>], cx: &'a RunCx<'a>) -> Runner<'a> {
        Runner { plan, kernels, cx, peak: std::cell::Cell::new(0) }
    }

    fn io<'i>(&'i self, p: &'i PlanOp, frame: &'i Frame) -> Io<'i> {
        Io::new(frame, self, self.cx.runtime, OpNames { op: &p.op, slots: &p.names })
    }

    /// Runs one operator.
    pub(crate) fn run_op(
        &self,
        block: usize,
        i: usize,
        p: &PlanOp,
        kernel: &mut dyn Kernel,
        frame: &Frame,
    ) -> Result<()> {
        if self.cx.runtime.stopping() {
            return Err(Error::new(Kind::Interrupted, "the run was interrupted"));
        }
        let io = self.io(p, frame);
        let done = match self.cx.recorder {
            Some(r) => r.time(&p.op, || kernel.run(&io)),
            None => kernel.run(&io),
        };
        done.map_err(|e| e.at(|| p.op.place(block, i)))?;
        for &(from, to) in &p.swaps {
            if !frame.swap(from, to) {
                return Err(Error::internal(format!("`{}` left a value borrowed", p.op.op_type)));
            }
        }
        if self.cx.check_nan_inf {
            self.check_finite(block, i, p, frame)?;
        }
        self.release(p, frame);
        Ok(())
    }

    /// Releases memory that is unused from here on; notes how much there was before.
    fn release(&self, p: &PlanOp, frame: &Frame) {
        if p.release.is_empty() {
            return;
        }
        self.peak.set(self.peak.get().max(frame.local_bytes()));
        for &slot in &p.release {
            if let Some(mut v) = frame.write(slot) {
                *v = Value::Empty;
            }
        }
    }

    fn check_finite(&self, block: usize, i: usize, p: &PlanOp, frame: &Frame) -> Result<()> {
        for (name, slot) in p.names.iter().filter(|(n, _)| p.op.outputs.args().any(|o| o == n)) {
            let Some(value) = frame.read(*slot) else { continue };
            let bad = match &*value {
                Value::Dense(t) => not_finite(t),
                Value::Rows(r) => not_finite(&r.value),
                _ => None,
            };
            if let Some((index, v)) = bad {
                let label = self.cx.runtime.label();
                let place = if label.is_empty() { label } else { format!("in {label}, ") };
                let what = format!("{place}`{}` wrote {v} into `{name}` (element {index})", p.op.op_type);
                return Err(Error::new(Kind::Nan, what)
                    .note("no variable of the scope was changed by this run")
                    .help("look at this operator's inputs; a smaller learning rate or gradient clipping often helps")
                    .at(|| p.op.place(block, i)));
            }
        }
        Ok(())
    }
}

pub(crate) fn not_finite(t: &Tensor) -> Option<(usize, f64)> {
    match t.dtype() {
        DType::F32 => {
            let data = t.data::<f32>().ok()?;
            data.iter().position(|v| !v.is_finite()).map(|i| (i, data[i] as f64))
        }
        DType::F64 => {
            let data = t.data::<f64>().ok()?;
            data.iter().position(|v| !v.is_finite()).map(|i| (i, data[i]))
        }
        _ => None,
    }
}

impl BlockRunner for Runner<'_> {
    fn clear_block(&self, block: usize, frame: &Frame) {
        for &slot in self.plan.blocks.get(block).iter().flat_map(|b| &b.clear) {
            if let Some(mut value) = frame.write(slot) {
                match &mut *value {
                    Value::Array(a) => a.clear(),
                    other => *other = Value::Empty,
                }
            }
        }
    }

    fn run_block(&self, block: usize, frame: &Frame) -> Result<()> {
        let Some(cell) = self.kernels.get(block) else {
            return Err(Error::internal(format!("there is no block {block}")));
        };
        let Ok(mut kernels) = cell.try_borrow_mut() else {
            return Err(Error::new(Kind::Verify, format!("block {block} runs itself")));
        };
        for (i, p) in self.plan.blocks[block].ops.iter().enumerate() {
            self.run_op(block, i, p, &mut *kernels[i], frame)?;
        }
        Ok(())
    }
}
