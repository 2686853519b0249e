//! Gradients are exchanged beside the computation: a thread sums what is complete while the rest is still being computed.
//!
//! Small ones are packed together, up to a number of bytes, so that many layers cost few exchanges. What is packed with what
//! depends on the order and the sizes alone, never on time.
//!
//! A worker without data takes part with the weight 0: weights are summed with the gradients, and if some are missing the sums
//! are scaled up to those who have data.

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
    /// Where it belongs; the owner knows.
    pub(crate) place: usize,
    /// Its name, for messages.
    pub(crate) name: String,
    /// The value.
    pub(crate) tensor: Tensor,
    /// Is the sum to be scaled if workers have no data?
    pub(crate) weighted: bool,
}

/// Items that are exchanged together.
struct Bucket {
    items: Vec<Item>,
    how: Reduce,
    /// The last item is this worker's weight.
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

/// What has not been handed to the thread yet.
#[derive(Default)]
struct Open {
    items: Vec<Item>,
    how: Option<Reduce>,
    bytes: usize,
    /// This worker's weight in this step, if somebody asks for it.
    weight: Option<f32>,
    /// Workers with data in the last step.
    active: f32,
    /// Steps that were settled.
    steps: u64,
    /// Somebody wants to come back.
    knocked: bool,
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
    /// For a group that made so many steps before.
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

    /// The group; whoever calls it waits first until this stream is [quiet](Stream::quiet).
    pub(crate) fn group(&self) -> &Group {
        &self.group
    }

    /// Workers with data in the last step that was settled.
    pub(crate) fn active(&self) -> f32 {
        self.open.lock().active
    }

    /// Steps that were settled.
    pub(crate) fn steps(&self) -> u64 {
        self.open.lock().steps
    }

    /// Counts steps from here: what this worker has is what another had after so many.
    pub(crate) fn set_steps(&self, steps: u64) {
        self.open.lock().steps = steps;
    }

    /// Does somebody want to come back? All workers know it after the same step.
    pub(crate) fn knocked(&self) -> bool {
        self.open.lock().knocked
    }

    /// Exchanges a value. `weight` is that of this worker's values, if workers without data are to be made up for.
    pub(crate) fn put(&self, item: Item, how: Reduce, weight: Option<f32>) -> Result<()> {
        if self.done.state.lock().buckets.iter().flat_map(|b| &b.items).any(|other| other.place == item.place) {
            // Left behind by a run that failed before it took them.
            self.settle()?;
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

    /// Hands what is open to the thread.
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
    pub(crate) fn quiet(&self) -> Result<()> {
        self.close(&mut self.open.lock(), false)?;
        self.rest();
        Ok(())
    }

    fn rest(&self) {
        let mut state = self.done.state.lock();
        // Every exchange has a deadline.
        while state.under_way > 0 {
            self.done.changed.wait(&mut state);
        }
    }

    /// Waits for everything that was put since the last time, and returns it.
    pub(crate) fn settle(&self) -> Result<Vec<Item>> {
        let mut open = self.open.lock();
        self.close_with_weight(&mut open)?;
        self.rest();
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
                open.knocked = sum.get(1).is_some_and(|knocked| *knocked > 0.0);
                open.steps += 1;
            }
            items.extend(bucket.items);
        }
        // The program divides by the number of workers at the beginning.
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
        let knocked = f32::from(u8::from(!self.group.knocked().is_empty()));
        let tensor = Tensor::from_slice([2], &[weight, knocked]).map_err(|e| Error::internal(e.to_string()))?;
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

/// Exchanges what waits, in order, until nobody can add to it any more.
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
            let what = format!(
                "`{}` is {other}, and a sum with missing workers can only be scaled up in f32 or f64",
                item.name
            );
            return Err(Error::new(Kind::DType, what));
        }
    }
    Ok(())
}
