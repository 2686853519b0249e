//! Values that several tensors and recorded operators share, and the memory of those that are gone.
//!
//! Results of eager operators escape into tensors, so a frame cannot keep their memory as a plan does. When the last holder of a
//! value lets go, its buffer goes to a free list by size, from which the next operator takes the memory of its outputs.

use std::sync::Arc;

use oarlock_ir::Cell;
use oarlock_tensor::{DType, Dims, Tensor, Value};
use parking_lot::Mutex;

/// The most bytes that free lists keep.
const MOST_BYTES: usize = 512 << 20;

/// The number of size classes: four per doubling, from 256 bytes to 64 GiB.
const CLASSES: usize = 4 * 29;

/// Free buffers by size.
pub(crate) struct FreeLists(Mutex<Lists>);

struct Lists {
    classes: Vec<Vec<Tensor>>,
    bytes: usize,
}

/// The smallest class whose buffers hold `bytes`.
fn class_of(bytes: usize) -> usize {
    if bytes <= 256 {
        return 0;
    }
    let last = bytes - 1;
    let doubling = last.ilog2() as usize;
    (doubling - 8) * 4 + ((last >> (doubling - 2)) & 3) + 1
}

/// The bytes of a buffer of a class; a multiple of 64, as buffers are.
fn bytes_of(class: usize) -> usize {
    (4 + class % 4) << (6 + class / 4)
}

impl FreeLists {
    pub(crate) fn new() -> FreeLists {
        FreeLists(Mutex::new(Lists { classes: std::iter::repeat_with(Vec::new).take(CLASSES).collect(), bytes: 0 }))
    }

    /// A tensor with room for `bytes` bytes.
    pub(crate) fn take(&self, bytes: usize) -> Tensor {
        let class = class_of(bytes);
        if bytes == 0 || class >= CLASSES {
            return Tensor::new();
        }
        let mut lists = self.0.lock();
        if let Some(t) = lists.classes[class].pop() {
            lists.bytes -= t.capacity();
            return t;
        }
        drop(lists);
        let mut t = Tensor::new();
        t.resize(DType::U8, Dims::from([bytes_of(class)]));
        t
    }

    /// Keeps the memory of a value that nobody holds any more.
    fn give(&self, value: Value) {
        let tensor = match value {
            Value::Dense(t) => t,
            Value::Rows(r) => r.value,
            _ => return,
        };
        let capacity = tensor.capacity();
        let above = class_of(capacity + 1);
        if capacity < 256 || above == 0 || above > CLASSES {
            return;
        }
        let mut lists = self.0.lock();
        if lists.bytes + capacity <= MOST_BYTES {
            lists.bytes += capacity;
            lists.classes[above - 1].push(tensor);
        }
    }
}

/// A value that several holders share and nobody changes; to change it, a holder [takes](Held::into_value) it.
pub(crate) struct Held {
    cell: Option<Arc<Cell>>,
    free: Arc<FreeLists>,
}

static NOTHING: Value = Value::Empty;

impl Held {
    pub(crate) fn new(value: Value, free: &Arc<FreeLists>) -> Held {
        Held { cell: Some(Arc::new(Cell::Local(value))), free: free.clone() }
    }

    /// The value.
    pub(crate) fn value(&self) -> &Value {
        self.cell.as_ref().map_or(&NOTHING, |cell| cell.value())
    }

    /// The value as an input of a kernel.
    pub(crate) fn cell(&self) -> Cell {
        self.cell.clone().map_or(Cell::Vacant, Cell::Borrowed)
    }

    /// The value itself if there is no other holder, else a copy.
    pub(crate) fn into_value(mut self) -> oarlock_tensor::Result<Value> {
        let Some(cell) = self.cell.take() else { return Ok(Value::Empty) };
        match Arc::try_unwrap(cell) {
            Ok(Cell::Local(value)) => Ok(value),
            Ok(cell) => cell.value().try_clone(),
            Err(shared) => shared.value().try_clone(),
        }
    }
}

impl Clone for Held {
    fn clone(&self) -> Held {
        Held { cell: self.cell.clone(), free: self.free.clone() }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(Cell::Local(value)) = self.cell.take().and_then(Arc::into_inner) {
            self.free.give(value);
        }
    }
}

#[test]
fn size_classes_hold_what_they_promise() {
    for bytes in (1..5000).chain([1 << 20, (1 << 20) + 1, 3 << 25]) {
        let class = class_of(bytes);
        assert!(bytes_of(class) >= bytes && bytes_of(class).is_multiple_of(64), "{bytes}");
        assert!(class == 0 || bytes_of(class - 1) < bytes, "{bytes}");
    }
}

#[test]
fn memory_of_a_dropped_value_is_used_again() {
    let free = Arc::new(FreeLists::new());
    let mut t = free.take(1000);
    t.resize(DType::F32, Dims::from([250]));
    let at = t.bytes().as_ptr();
    let held = Held::new(Value::Dense(t), &free);
    let other = held.clone();
    drop(held);
    assert_ne!(free.take(1000).bytes().as_ptr(), at, "another holder still reads it");
    drop(other);
    assert_eq!(free.take(1000).bytes().as_ptr(), at);
}
