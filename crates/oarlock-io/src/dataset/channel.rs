//! A queue of bounded length between two threads, which hands used items back to be filled again.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// How often a waiting thread looks at the stop flag, which wakes no thread.
pub(crate) const GLANCE: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(crate) struct Channel<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    capacity: usize,
}

#[derive(Debug)]
struct State<T> {
    full: VecDeque<T>,
    empty: Vec<T>,
    closed: bool,
}

impl<T> Channel<T> {
    /// A queue of at most `capacity` items, at least one.
    pub(crate) fn new(capacity: usize) -> Channel<T> {
        let state = State { full: VecDeque::new(), empty: Vec::new(), closed: false };
        Channel { state: Mutex::new(state), changed: Condvar::new(), capacity: capacity.max(1) }
    }

    /// An item to fill that was used before, if there is one.
    pub(crate) fn take_empty(&self) -> Option<T> {
        self.state.lock().empty.pop()
    }

    /// Appends an item, waiting for room; false if it is not wanted any more.
    pub(crate) fn push(&self, item: T, stop: &AtomicBool) -> bool {
        let mut state = self.state.lock();
        while !state.closed && state.full.len() >= self.capacity {
            if stop.load(Ordering::Relaxed) {
                return false;
            }
            self.changed.wait_for(&mut state, GLANCE);
        }
        if state.closed {
            return false;
        }
        state.full.push_back(item);
        self.changed.notify_all();
        true
    }

    /// Takes the first item in exchange for a used one, waiting for it; false on stop, when there will be no more, or when
    /// there is none and waiting for one is `vain`.
    pub(crate) fn swap(&self, item: &mut T, stop: &AtomicBool, vain: impl Fn() -> bool) -> bool {
        let mut state = self.state.lock();
        loop {
            if stop.load(Ordering::Relaxed) {
                return false;
            }
            if let Some(next) = state.full.pop_front() {
                state.empty.push(std::mem::replace(item, next));
                self.changed.notify_all();
                return true;
            }
            if state.closed || vain() {
                return false;
            }
            self.changed.wait_for(&mut state, GLANCE);
        }
    }

    /// Takes the first item in exchange for a used one, if there is one.
    pub(crate) fn try_swap(&self, item: &mut T) -> bool {
        let mut state = self.state.lock();
        let Some(next) = state.full.pop_front() else { return false };
        state.empty.push(std::mem::replace(item, next));
        self.changed.notify_all();
        true
    }

    /// Nothing more is appended. What is in the queue can still be taken.
    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.changed.notify_all();
    }
}
