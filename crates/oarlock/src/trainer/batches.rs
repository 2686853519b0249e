//! The batches of a Hogwild thread, with a look at the next one for operators that can use it early.

use std::sync::Arc;

use oarlock_io::data::{Batch, BatchSource};
use oarlock_ir::{Error, Name, NextBatch, Result, Runtime};
use oarlock_tensor::Tensor;
use parking_lot::Mutex;

/// The batches of the calling thread, as long as this lives.
pub(crate) struct Batches<'a> {
    source: Arc<Mutex<Peeked>>,
    runtime: &'a Runtime,
}

impl<'a> Batches<'a> {
    /// Of a source; `fed` says as what the tensors of a batch are fed.
    pub(crate) fn new(source: Box<dyn BatchSource>, fed: &[(usize, &str)], runtime: &'a Runtime) -> Batches<'a> {
        let fed = fed.iter().map(|(at, name)| (*at, (*name).into())).collect();
        let source = Arc::new(Mutex::new(Peeked { source, fed, next: Batch::new(), state: State::Unknown }));
        runtime.next_batches().set(source.clone());
        Batches { source, runtime }
    }

    /// Fills `batch` with the next samples; false at the end of the data.
    pub(crate) fn next(&self, batch: &mut Batch) -> Result<bool> {
        let mut peeked = self.source.lock();
        match std::mem::replace(&mut peeked.state, State::Unknown) {
            State::Unknown => peeked.source.next(batch),
            State::Here => {
                std::mem::swap(&mut peeked.next, batch);
                Ok(true)
            }
            State::Failed(e) => Err(e),
        }
    }
}

impl Drop for Batches<'_> {
    fn drop(&mut self) {
        self.runtime.next_batches().clear();
    }
}

struct Peeked {
    source: Box<dyn BatchSource>,
    fed: Vec<(usize, Name)>,
    next: Batch,
    state: State,
}

/// The state of the next batch.
enum State {
    Unknown,
    Here,
    Failed(Error),
}

impl NextBatch for Peeked {
    fn peek(&mut self, names: &[Name], look: &mut dyn FnMut(&[&Tensor])) {
        if let State::Unknown = self.state {
            self.state = match self.source.try_next(&mut self.next) {
                Ok(true) => State::Here,
                Ok(false) => State::Unknown,
                Err(e) => State::Failed(e),
            };
        }
        let State::Here = self.state else { return };
        let find = |name| self.fed.iter().find(|(_, n)| n == name).and_then(|(at, _)| self.next.tensors().get(*at));
        if let Some(found) = names.iter().map(find).collect::<Option<Vec<&Tensor>>>() {
            look(&found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Batches of one number each; the last one fails.
    struct Numbers(i64);

    impl BatchSource for Numbers {
        fn next(&mut self, batch: &mut Batch) -> Result<bool> {
            self.0 += 1;
            if self.0 == 4 {
                return Err(Error::internal("no more numbers"));
            }
            *batch = Batch::of(1, vec![Tensor::scalar(self.0)]);
            Ok(true)
        }

        fn try_next(&mut self, batch: &mut Batch) -> Result<bool> {
            self.next(batch)
        }
    }

    #[test]
    fn peeking_at_the_next_batch_changes_nothing_for_its_consumer() {
        let runtime = Runtime::new(1);
        let batches = Batches::new(Box::new(Numbers(0)), &[(0, "x")], &runtime);
        let next = runtime.next_batches();
        let peek = |name: &str| {
            let mut seen = None;
            next.get().unwrap().lock().peek(&[name.into()], &mut |tensors| {
                seen = Some(tensors[0].data::<i64>().unwrap()[0]);
            });
            seen
        };
        let mut batch = Batch::new();
        let mut take = || batches.next(&mut batch).map(|_| batch.tensors()[0].data::<i64>().unwrap()[0]);
        assert_eq!(take().unwrap(), 1);
        assert_eq!((peek("x"), peek("y"), peek("x")), (Some(2), None, Some(2)));
        assert_eq!((take().unwrap(), take().unwrap()), (2, 3));
        assert_eq!(peek("x"), None, "what fails is not shown");
        assert!(take().unwrap_err().to_string().contains("no more numbers"), "but its consumer gets the error");
        drop(batches);
        assert!(next.get().is_none());
    }
}
