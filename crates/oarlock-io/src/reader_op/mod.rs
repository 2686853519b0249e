//! Readers: variables that programs take batches from. The operator `read` asks one for the next tensors; others make them in a
//! startup program, from files of records, from another reader, or from a queue that is filled from outside.
//!
//! The value of a reader variable is an opaque object in the scope ([`ReaderVar`]), made by operators of the startup program
//! (`ops.rs`): `open_files` (`record_files.rs`), `create_py_reader` (`tensor_queue.rs`), and decorators of another reader:
//! `batched.rs`, `shuffled.rs` and `double_buffer` in `prefetch.rs`. A reader knows tensors and files; it knows no program.

mod batched;
mod ops;
mod peek_queue;
mod prefetch;
mod record_files;
mod shuffled;
mod tensor_queue;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Weak};

use oarlock_ir::Result;
use oarlock_tensor::{Tensor, Value};
use parking_lot::Mutex;

pub(crate) use ops::OPS;
pub use tensor_queue::TensorQueue;

/// Something that yields the tensors of one batch or sample after the other.
pub trait TensorReader: Send {
    /// The next tensors, one per variable; `None` at the end of the pass. Gives up soon when `stop` is set.
    fn next(&mut self, stop: &AtomicBool) -> Result<Option<Vec<Tensor>>>;

    /// Shows the next tensors if they are there already. They are given out later all the same.
    fn peek(&mut self, look: &mut dyn FnMut(&[Tensor])) {
        let _ = look;
    }

    /// Goes back to the beginning.
    fn reset(&mut self) -> Result<()>;

    /// Does it prefetch items?
    fn prefetches(&self) -> bool {
        false
    }
}

/// The value of a reader variable. Copies are the same reader; several threads can take turns.
#[derive(Clone)]
pub struct ReaderVar(Arc<Mutex<Box<dyn TensorReader>>>);

impl ReaderVar {
    /// Of a reader.
    pub fn new(reader: impl TensorReader + 'static) -> ReaderVar {
        ReaderVar(Arc::new(Mutex::new(Box::new(reader))))
    }

    /// The reader that a variable holds.
    pub fn of(value: &Value) -> Option<&ReaderVar> {
        match value {
            Value::Opaque(object) => object.downcast_ref(),
            _ => None,
        }
    }

    /// The value of a variable that holds it.
    pub fn into_value(self) -> Value {
        Value::Opaque(Box::new(self))
    }

    fn weak(&self) -> WeakReader {
        WeakReader(Arc::downgrade(&self.0))
    }
}

/// A reader, as long as another owner has it.
struct WeakReader(Weak<Mutex<Box<dyn TensorReader>>>);

impl WeakReader {
    fn get(&self) -> Option<ReaderVar> {
        self.0.upgrade().map(ReaderVar)
    }
}

impl TensorReader for ReaderVar {
    fn next(&mut self, stop: &AtomicBool) -> Result<Option<Vec<Tensor>>> {
        self.0.lock().next(stop)
    }

    fn peek(&mut self, look: &mut dyn FnMut(&[Tensor])) {
        self.0.lock().peek(look);
    }

    fn reset(&mut self) -> Result<()> {
        self.0.lock().reset()
    }

    fn prefetches(&self) -> bool {
        self.0.lock().prefetches()
    }
}
