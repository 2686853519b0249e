//! The receiving end of a queue, which can be looked into without taking.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};

use oarlock_ir::{Error, Kind, Result};

use crate::dataset::GLANCE;

pub(crate) struct PeekQueue<T> {
    items: Receiver<T>,
    /// The item that was looked at and not taken.
    next: Option<T>,
}

impl<T> PeekQueue<T> {
    pub(crate) fn new(items: Receiver<T>) -> PeekQueue<T> {
        PeekQueue { items, next: None }
    }

    /// Waits for the next item; `None` when there will be no more.
    pub(crate) fn receive(&mut self, stop: &AtomicBool) -> Result<Option<T>> {
        if let Some(next) = self.next.take() {
            return Ok(Some(next));
        }
        loop {
            match self.items.recv_timeout(GLANCE) {
                Ok(item) => return Ok(Some(item)),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) if stop.load(Ordering::Relaxed) => {
                    return Err(Error::new(Kind::Interrupted, "reading was interrupted"));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// The next item, if it is there already.
    pub(crate) fn peek(&mut self) -> Option<&T> {
        if self.next.is_none() {
            self.next = self.items.try_recv().ok();
        }
        self.next.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;

    #[test]
    fn peeking_takes_nothing() {
        let (fill, take) = sync_channel(2);
        let (mut items, stop) = (PeekQueue::new(take), AtomicBool::new(false));
        assert_eq!(items.peek(), None);
        fill.send(1).unwrap();
        fill.send(2).unwrap();
        drop(fill);
        assert_eq!(items.peek(), Some(&1));
        assert_eq!(items.peek(), Some(&1));
        let taken: Vec<i32> = std::iter::from_fn(|| items.receive(&stop).unwrap()).collect();
        assert_eq!(taken, [1, 2]);
        assert_eq!(items.peek(), None);
    }
}
