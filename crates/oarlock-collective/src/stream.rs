//! Overlap of all-reduce and computation: a thread reduces complete gradients while the rest is still being computed.
//!
//! Small gradients are packed into buckets, up to a number of bytes, so that many layers cost few exchanges. The packing depends on
//! order and sizes alone, never on time.
//!
//! A rank without data takes part with the weight 0: weights are summed with the gradients, and if ranks are without data the sums
//! are scaled up to those with data.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use oarlock_ir::{Error, Kind, Result};
use oarlock_tensor::{Buf, DType, Tensor};
use parking_lot::{Condvar, Mutex};

use crate::group::Group;
use crate::reduce::Reduce;

/// A value that is being exchanged.
pub(crate) struct Item {
    /// The place that it returns to; the caller knows.
    pub(crate) place: usize,
    /// Its name, for messages.
    pub(crate) name: String,
    /// The value.
    pub(crate) tensor: Tensor,
    /// Is the sum to be scaled if ranks have no data?
    pub(crate) weighted: bool,
}

/// Items that are exchanged together.
struct Bucket {
    items: Vec<Item>,
    how: Reduce,
    /// The last item is the weight of this rank.
    weight: bool,
}

/// Exchanges values of a group in the order in which they come, beside the thread that computes them.
pub(crate) struct Stream {
    group: Arc<Group>,
    open: Mutex<Open>,
    done: Arc<Done>,
    queue: Option<Sender<Bucket>>,
    thread: Option<JoinHandle<()>>,
}

/// The bucket that is being filled, and the state of the step.
#[derive(Default)]
struct Open {
    items: Vec<Item>,
    how: Option<Reduce>,
    bytes: usize,
    /// The weight of this rank in this step, if an item is weighted.
    weight: Option<f32>,
    /// The number of ranks with data in the last step.
    active: f32,
    /// The number of completed steps.
    steps: u64,
    /// A rank has asked to rejoin.
    rejoin_requested: bool,
}

#[derive(Default)]
struct Done {
    state: Mutex<Finished>,
    changed: Condvar,
}

#[derive(Default)]
struct Finished {
    under_way: usize,
    buckets: Vec<Bucket>,
    failed: Option<Error>,
}

impl Stream {
    /// For a group that has made `steps` steps before.
    pub(crate) fn new(group: Group, steps: u64) -> Result<Stream> {
        let (group, done) = (Arc::new(group), Arc::<Done>::default());
        let (queue, waiting) = channel();
        let (of_thread, finished) = (group.clone(), done.clone());
        let thread = std::thread::Builder::new()
            .name("oarlock-exchange".into())
            .spawn(move || exchange_all(&of_thread, &waiting, &finished))
            .map_err(|e| Error::internal(format!("no thread to exchange with: {e}")))?;
        let open = Mutex::new(Open { active: group.world() as f32, steps, ..Open::default() });
        Ok(Stream { group, open, done, queue: Some(queue), thread: Some(thread) })
    }

    /// The group; callers wait first until this stream is [idle](Stream::drain).
    pub(crate) fn group(&self) -> &Group {
        &self.group
    }

    /// The number of ranks with data in the last completed step.
    pub(crate) fn active(&self) -> f32 {
        self.open.lock().active
    }

    /// The number of completed steps.
    pub(crate) fn steps(&self) -> u64 {
        self.open.lock().steps
    }

    /// Sets the number of completed steps to that of the rank whose variables this rank has taken.
    pub(crate) fn set_steps(&self, steps: u64) {
        self.open.lock().steps = steps;
    }

    /// Has a rank asked to rejoin? All ranks know it after the same step.
    pub(crate) fn rejoin_requested(&self) -> bool {
        self.open.lock().rejoin_requested
    }

    /// Exchanges a value. `weight` is that of this rank's values, if ranks without data are to be made up for.
    pub(crate) fn put(&self, item: Item, how: Reduce, weight: Option<f32>) -> Result<()> {
        if self.done.state.lock().buckets.iter().flat_map(|b| &b.items).any(|other| other.place == item.place) {
            // Left behind by a run that failed before it took them.
            self.finish_step()?;
        }
        let mut open = self.open.lock();
        let bytes = item.tensor.bytes().len();
        let fits = open.items.last().is_none_or(|last| last.tensor.dtype() == item.tensor.dtype())
            && open.how.is_none_or(|other| other == how)
            && open.bytes + bytes <= self.group.options().fuse_bytes;
        if !fits {
            self.close(&mut open, false)?;
        }
        open.weight = weight.or(open.weight);
        open.how = Some(how);
        open.bytes += bytes;
        open.items.push(item);
        // There is nothing to gain from waiting for more.
        if open.bytes >= self.group.options().fuse_bytes {
            self.close(&mut open, false)?;
        }
        Ok(())
    }

    /// Gives the open bucket to the thread.
    fn close(&self, open: &mut Open, weight: bool) -> Result<()> {
        if open.items.is_empty() {
            return Ok(());
        }
        let bucket = Bucket { items: std::mem::take(&mut open.items), how: open.how.unwrap_or(Reduce::Sum), weight };
        (open.how, open.bytes) = (None, 0);
        self.done.state.lock().under_way += 1;
        let sent = self.queue.as_ref().is_some_and(|queue| queue.send(bucket).is_ok());
        if sent { Ok(()) } else { Err(Error::internal("the exchanging thread has ended")) }
    }

    /// Waits until nothing is being exchanged.
    pub(crate) fn drain(&self) -> Result<()> {
        self.close(&mut self.open.lock(), false)?;
        self.wait_idle();
        Ok(())
    }

    fn wait_idle(&self) {
        let mut state = self.done.state.lock();
        // Every exchange has a deadline.
        while state.under_way > 0 {
            self.done.changed.wait(&mut state);
        }
    }

    /// Waits for all items that were put since the last call, and returns them.
    pub(crate) fn finish_step(&self) -> Result<Vec<Item>> {
        let mut open = self.open.lock();
        self.close_with_weight(&mut open)?;
        self.wait_idle();
        let mut state = self.done.state.lock();
        let buckets = std::mem::take(&mut state.buckets);
        let failed = state.failed.take();
        drop(state);
        let weighted = open.weight.take().is_some();
        if let Some(e) = failed {
            return Err(e);
        }
        let mut items = Vec::new();
        for mut bucket in buckets {
            if bucket.weight
                && let Some(sum) = bucket.items.pop()
            {
                let sum = sum.tensor.data::<f32>().unwrap_or_default();
                open.active = sum.first().copied().unwrap_or(0.0);
                open.rejoin_requested = sum.get(1).is_some_and(|rejoin_requested| *rejoin_requested > 0.0);
                open.steps += 1;
            }
            items.extend(bucket.items);
        }
        // The program divides by the number of ranks at the beginning.
        let all = self.group.options().endpoints.len() as f32;
        if weighted && open.active != all && open.active > 0.0 {
            let factor = f64::from(all / open.active);
            items.iter_mut().filter(|item| item.weighted).try_for_each(|item| scale(item, factor))?;
        }
        Ok(items)
    }

    /// The weight travels with the last values of a step, or alone if they are of another type.
    fn close_with_weight(&self, open: &mut Open) -> Result<()> {
        let Some(weight) = open.weight else { return self.close(open, false) };
        let fits = open.how.is_none_or(|how| how == Reduce::Sum)
            && open.items.last().is_none_or(|last| last.tensor.dtype() == DType::F32);
        if !fits {
            self.close(open, false)?;
        }
        let rejoin_requested = f32::from(u8::from(!self.group.rejoin_requested().is_empty()));
        let tensor =
            Tensor::from_slice([2], &[weight, rejoin_requested]).map_err(|e| Error::internal(e.to_string()))?;
        open.items.push(Item { place: usize::MAX, name: "the weight".into(), tensor, weighted: false });
        self.close(open, true)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // It ends when its queue is gone.
            let _ = thread.join();
        }
    }
}

/// Exchanges queued buckets in order, until the queue is closed.
fn exchange_all(group: &Group, waiting: &Receiver<Bucket>, done: &Done) {
    let mut pack = Buf::new();
    while let Ok(mut bucket) = waiting.recv() {
        let failed = done.state.lock().failed.is_some();
        // After a failure nothing more is exchanged: the others do not wait for it in the same order.
        let result = if failed { Ok(()) } else { exchange(group, &mut bucket, &mut pack) };
        let mut state = done.state.lock();
        state.under_way -= 1;
        state.buckets.push(bucket);
        if let Err(e) = result {
            state.failed = Some(e);
        }
        done.changed.notify_all();
    }
}

fn exchange(group: &Group, bucket: &mut Bucket, pack: &mut Buf) -> Result<()> {
    let how = bucket.how;
    if let [item] = &mut bucket.items[..] {
        return group.all_reduce_bytes(&item.name, item.tensor.dtype(), item.tensor.bytes_mut(), how);
    }
    let dtype = bucket.items[0].tensor.dtype();
    pack.resize(bucket.items.iter().map(|item| item.tensor.bytes().len()).sum());
    let mut at = 0;
    for item in &bucket.items {
        let bytes = item.tensor.bytes();
        pack.bytes_mut()[at..at + bytes.len()].copy_from_slice(bytes);
        at += bytes.len();
    }
    let name = format!("{} and {} more", bucket.items[0].name, bucket.items.len() - 1);
    group.all_reduce_bytes(&name, dtype, pack.bytes_mut(), how)?;
    let mut at = 0;
    for item in &mut bucket.items {
        let bytes = item.tensor.bytes_mut();
        bytes.copy_from_slice(&pack.bytes()[at..at + bytes.len()]);
        at += bytes.len();
    }
    Ok(())
}

fn scale(item: &mut Item, factor: f64) -> Result<()> {
    match item.tensor.dtype() {
        DType::F32 => {
            let factor = factor as f32;
            item.tensor.data_mut::<f32>().into_iter().flatten().for_each(|x| *x *= factor);
        }
        DType::F64 => item.tensor.data_mut::<f64>().into_iter().flatten().for_each(|x| *x *= factor),
        other => {
            let what =
                format!("`{}` is {other}, and a sum over fewer ranks can only be scaled up in f32 or f64", item.name);
            return Err(Error::new(Kind::DType, what));
        }
    }
    Ok(())
}
