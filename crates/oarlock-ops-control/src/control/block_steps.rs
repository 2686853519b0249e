//! The values a loop keeps of its steps for the gradient, and how the gradients of steps add up; shared by operators that run blocks.
//!
//! Knows blocks, slots and values, not what the blocks compute.

use std::cell::RefMut;
use std::collections::HashSet;

use oarlock_ir::{BlockRef, Error, Frame, In, Io, Kind, Op, Prepare, Result, by_float, fail};
use oarlock_tensor::{DType, Float, SelectedRows, Tensor, TensorArray, Value};

/// The slots that operators of a block write, its sub-blocks included.
pub(crate) fn written_slots(p: &Prepare<'_>, block: BlockRef) -> HashSet<usize> {
    let mut found = HashSet::new();
    for op in &p.program().block(block.0).ops {
        found.extend(op.outputs.args().filter_map(|n| p.maybe_in_block(block, n)));
        for sub in op.sub_blocks() {
            found.extend(written_slots(p, BlockRef(sub)));
        }
    }
    found
}

/// Does an operator of the block itself, not of a block inside it, write the variable?
pub(crate) fn surely_writes(p: &Prepare<'_>, block: BlockRef, name: &str) -> bool {
    let writes = |op: &Op| op.sub_blocks().is_empty() && op.outputs.args().any(|n| n == name);
    p.program().block(block.0).ops.iter().any(writes)
}

/// Does any operator of the program read the variable of an output slot? Steps are only kept for a gradient that needs them.
pub(crate) fn is_read(p: &Prepare<'_>, slot: &str) -> Result<bool> {
    let (Some(name), Some(out)) = (p.op().outputs.get(slot).first(), p.maybe_output(slot)?) else { return Ok(false) };
    let read_in = |block: usize, op: &Op| {
        op.inputs.args().any(|n| n == name) && p.maybe_in_block(BlockRef(block), name) == Some(out.0)
    };
    Ok(p.program().blocks().iter().any(|b| b.ops.iter().any(|op| read_in(b.idx, op))))
}

/// Is the one element of a tensor of bools true?
pub(crate) fn condition(io: &Io<'_>, input: In) -> Result<bool> {
    let t = io.dense(input)?;
    if t.dtype() != DType::Bool || t.numel() != 1 {
        let what = format!("must be one bool, but it is {}{}", t.dtype(), t.dims());
        return Err(io.error(Kind::Shape, input, what));
    }
    drop(t);
    Ok(io.index(input)? != 0)
}

/// A value to write.
pub(crate) fn cell(frame: &Frame, slot: usize) -> Result<RefMut<'_, Value>> {
    frame.write(slot).ok_or_else(|| Error::internal(format!("a block uses value {slot} that may not be changed now")))
}

/// Copies one value to another; does nothing if both are one.
pub(crate) fn copy(frame: &Frame, from: usize, to: usize) -> Result<()> {
    if from == to {
        return Ok(());
    }
    let Some(value) = frame.read(from) else {
        return Err(Error::internal(format!("value {from} is being written")));
    };
    cell(frame, to)?.copy_from(&value).map_err(|e| Error::new(Kind::Argument, e.to_string()))
}

/// Makes a value zeros of the sizes of another; a value without elements becomes empty.
pub(crate) fn zeros_like(to: &mut Value, like: &Value) {
    match like {
        Value::Dense(t) => zero_tensor(to.dense_mut(), t),
        Value::Array(a) => {
            to.array_mut().clear();
            fill_gaps(to.array_mut(), a);
        }
        Value::Rows(r) => {
            let none = SelectedRows {
                rows: Vec::new(),
                height: r.height,
                value: Tensor::zeros(r.value.dtype(), r.value.dims().with_rows(0)),
            };
            *to = Value::Rows(none);
        }
        _ => *to = Value::Empty,
    }
}

fn zero_tensor(to: &mut Tensor, like: &Tensor) {
    to.resize(like.dtype(), *like.dims());
    to.set_lod(like.lod().clone());
    to.bytes_mut().fill(0);
}

/// Makes the entries that have no elements zeros of the sizes of another array's.
fn fill_gaps(to: &mut TensorArray, like: &TensorArray) {
    to.resize(to.items().len().max(like.items().len()));
    for (t, l) in to.items_mut().iter_mut().zip(like.items()) {
        if t.numel() == 0 {
            zero_tensor(t, l);
        }
    }
}

/// The values a loop keeps of each step, so that its gradient finds the values the step computed with. It lives in the operator's
/// variable for step scopes: a loop inside a loop is kept with the step of the outer one. Memory is reused from run to run.
#[derive(Default)]
pub(crate) struct Steps {
    slots: StepSlots,
    kept: Vec<Kept>,
    len: usize,
}

/// Which values a step keeps.
#[derive(Default, Clone)]
pub(crate) struct StepSlots {
    /// Variables of the block itself. They are moved, not copied.
    pub(crate) own: Vec<usize>,
    /// Variables around the block that it reads and then changes: what they were before the step.
    pub(crate) before: Vec<usize>,
    /// Variables around the block that it writes before it reads them: what they were after the step.
    pub(crate) after: Vec<usize>,
}

/// One step.
#[derive(Default)]
struct Kept {
    own: Vec<Value>,
    before: Vec<Value>,
    after: Vec<Value>,
}

impl Steps {
    /// Takes the steps out of their variable for the time of `work`, and forgets those of an earlier run.
    pub(crate) fn record(
        io: &Io<'_>,
        var: usize,
        slots: &StepSlots,
        work: impl FnOnce(&mut Steps) -> Result<()>,
    ) -> Result<()> {
        let mut steps = Steps::take(io.frame(), var)?.unwrap_or_default();
        steps.slots.clone_from(slots);
        steps.len = 0;
        let done = work(&mut steps);
        *cell(io.frame(), var)? = Value::Opaque(Box::new(steps));
        done
    }

    /// Takes the recorded steps out of their variable for the time of `work`.
    pub(crate) fn replay(io: &Io<'_>, var: In, work: impl FnOnce(&mut Steps) -> Result<()>) -> Result<()> {
        let Some(mut steps) = Steps::take(io.frame(), var.0)? else {
            return Err(io.error(Kind::Missing, var, "holds no steps of the forward operator").help(
                "run the forward operator first, and not in test mode (is_test, or is_train off): that keeps no steps",
            ));
        };
        let done = work(&mut steps);
        *cell(io.frame(), var.0)? = Value::Opaque(Box::new(steps));
        done
    }

    fn take(frame: &Frame, var: usize) -> Result<Option<Steps>> {
        match std::mem::take(&mut *cell(frame, var)?) {
            Value::Opaque(any) => Ok(any.downcast().ok().map(|steps| *steps)),
            _ => Ok(None),
        }
    }

    /// How many steps there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Runs and keeps one more step.
    pub(crate) fn keep(&mut self, frame: &Frame, run: impl FnOnce() -> Result<()>) -> Result<()> {
        if self.len == self.kept.len() {
            self.kept.push(Kept::default());
        }
        let kept = &mut self.kept[self.len];
        note(frame, &self.slots.before, &mut kept.before)?;
        run()?;
        note(frame, &self.slots.after, &mut kept.after)?;
        exchange(frame, &self.slots.own, &mut kept.own)?;
        self.len += 1;
        Ok(())
    }

    /// Runs something with the values of a step in their places. Variables around the block that `live` lists stay as they are:
    /// the gradient undoes the step's change of them itself (`increment` by -1).
    pub(crate) fn within(
        &mut self,
        frame: &Frame,
        step: usize,
        live: &HashSet<usize>,
        run: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let (slots, kept) = (&self.slots, &mut self.kept[step]);
        let mut switch = || -> Result<()> {
            exchange(frame, &slots.own, &mut kept.own)?;
            exchange_noted(frame, &slots.before, &mut kept.before, live)?;
            exchange_noted(frame, &slots.after, &mut kept.after, live)
        };
        switch()?;
        let done = run();
        switch()?;
        done
    }
}

/// Notes tensors; other values are not changed by a step in a way that its gradient could see.
fn note(frame: &Frame, slots: &[usize], values: &mut Vec<Value>) -> Result<()> {
    values.resize_with(slots.len(), Value::default);
    for (slot, value) in slots.iter().zip(values) {
        match frame.read(*slot).as_deref() {
            Some(Value::Dense(t)) => value.dense_mut().copy_from(t),
            _ => *value = Value::Empty,
        }
    }
    Ok(())
}

fn exchange(frame: &Frame, slots: &[usize], values: &mut Vec<Value>) -> Result<()> {
    values.resize_with(slots.len(), Value::default);
    for (slot, value) in slots.iter().zip(values) {
        std::mem::swap(&mut *cell(frame, *slot)?, value);
    }
    Ok(())
}

fn exchange_noted(frame: &Frame, slots: &[usize], values: &mut [Value], live: &HashSet<usize>) -> Result<()> {
    for (slot, value) in slots.iter().zip(values) {
        if !value.is_empty() && !live.contains(slot) {
            std::mem::swap(&mut *cell(frame, *slot)?, value);
        }
    }
    Ok(())
}

/// The gradient of one variable, put together from those of steps. Memory is reused from run to run.
#[derive(Default)]
pub(crate) struct Total {
    value: Value,
    any: bool,
}

impl Total {
    /// Starts anew.
    pub(crate) fn reset(&mut self) {
        self.any = false;
    }

    /// Starts with a value, which is exchanged for memory of an earlier run.
    pub(crate) fn start_with(&mut self, value: &mut Value) {
        std::mem::swap(&mut self.value, value);
        self.any = true;
    }

    /// Starts with what the caller writes into the value; memory of an earlier run may be there.
    pub(crate) fn start(&mut self) -> &mut Value {
        self.any = true;
        &mut self.value
    }

    /// Exchanges what there is so far with the variable in which a step goes on with it.
    pub(crate) fn exchange(&mut self, value: &mut Value) {
        std::mem::swap(&mut self.value, value);
    }

    /// Adds the gradient of a step.
    pub(crate) fn add(&mut self, step: &mut Value) -> Result<()> {
        if step.is_empty() {
            return Ok(());
        }
        if !std::mem::replace(&mut self.any, true) {
            std::mem::swap(&mut self.value, step);
            return Ok(());
        }
        match (&mut self.value, &*step) {
            (Value::Dense(sum), Value::Dense(t)) => add_tensor(sum, t),
            (Value::Rows(sum), Value::Rows(r)) => add_rows(sum, r),
            (Value::Array(sum), Value::Array(a)) => add_array(sum, a),
            (sum, step) => {
                fail!(Kind::Argument, "the gradient of one step is {}, of another {}", sum.kind(), step.kind())
            }
        }
    }

    /// Hands the gradient over; zeros of the sizes of `like` where no step had one.
    pub(crate) fn give(&mut self, to: &mut Value, like: &Value) {
        if !self.any {
            return zeros_like(to, like);
        }
        std::mem::swap(to, &mut self.value);
        if let (Value::Array(to), Value::Array(like)) = (to, like) {
            fill_gaps(to, like);
        }
    }
}

fn add_tensor(sum: &mut Tensor, t: &Tensor) -> Result<()> {
    fn add<T: Float>(sum: &mut Tensor, t: &Tensor) -> oarlock_tensor::Result<()> {
        let data = t.data::<T>()?;
        sum.data_mut::<T>()?.iter_mut().zip(data).for_each(|(a, b)| *a += *b);
        Ok(())
    }
    if sum.dims() != t.dims() {
        fail!(Kind::Shape, "the gradient of one step has sizes {}, of another {}", sum.dims(), t.dims());
    }
    let added = by_float!(sum.dtype(), T => add::<T>(sum, t));
    added.map_err(|e| Error::new(Kind::DType, format!("the gradient of a step {e}")))
}

/// Rows may repeat: a repeated row means the sum.
fn add_rows(sum: &mut SelectedRows, r: &SelectedRows) -> Result<()> {
    if sum.height != r.height || sum.width() != r.width() || sum.value.dtype() != r.value.dtype() {
        fail!(Kind::Shape, "the gradients of two steps are rows of {} and {}", sum.whole_dims(), r.whole_dims());
    }
    let dims = sum.value.dims().with_rows(sum.rows.len() + r.rows.len());
    let mut all = Tensor::new();
    all.resize(sum.value.dtype(), dims);
    let (first, second) = all.bytes_mut().split_at_mut(sum.value.bytes().len());
    first.copy_from_slice(sum.value.bytes());
    second.copy_from_slice(r.value.bytes());
    sum.value = all;
    sum.rows.extend_from_slice(&r.rows);
    Ok(())
}

fn add_array(sum: &mut TensorArray, a: &TensorArray) -> Result<()> {
    sum.resize(sum.items().len().max(a.items().len()));
    for (s, t) in sum.items_mut().iter_mut().zip(a.items()) {
        match (s.numel(), t.numel()) {
            (_, 0) => {}
            (0, _) => s.copy_from(t),
            _ => add_tensor(s, t)?,
        }
    }
    Ok(())
}
