//! The values of a run, by index.

use std::cell::{Ref, RefCell, RefMut};
use std::sync::Arc;

use oarlock_tensor::Value;
use parking_lot::{ArcRwLockReadGuard, ArcRwLockWriteGuard, RawRwLock, RwLock};

use crate::Name;

/// A variable that outlives runs; a scope holds these.
pub type SharedVar = Arc<RwLock<Value>>;

/// Named variables that outlive runs, as files save and load them. A scope is one; so is any map of names.
pub trait Vars {
    /// The variable of this name, if there is one.
    fn find(&self, name: &str) -> Option<SharedVar>;

    /// The variable of this name, made if there is none.
    fn find_or_create(&self, name: &str) -> SharedVar;

    /// Notes that variables were loaded, so that a program that initialises them again can be warned of.
    fn loaded(&self, _names: &[Name]) {}
}

/// Where the value of a slot is.
#[derive(Default)]
pub enum Cell {
    /// In the frame itself: a temporary.
    #[default]
    Vacant,
    /// In the frame itself: a temporary.
    Local(Value),
    /// In a scope, locked for this run, only read.
    Read(ArcRwLockReadGuard<RawRwLock, Value>),
    /// In a scope, locked for this run.
    Write(ArcRwLockWriteGuard<RawRwLock, Value>),
    /// In a scope, locked for this run and borrowed by several frames at once.
    Borrowed(Arc<Cell>),
}

static EMPTY: Value = Value::Empty;

impl Cell {
    /// The value.
    pub fn value(&self) -> &Value {
        match self {
            Cell::Vacant => &EMPTY,
            Cell::Local(v) => v,
            Cell::Read(g) => g,
            Cell::Write(g) => g,
            Cell::Borrowed(cell) => cell.value(),
        }
    }

    /// Another cell with the same value, which both can only read until the other one is gone and the
    /// [borrow has ended](Cell::end_borrow).
    pub fn borrow(&mut self) -> Cell {
        let shared = match std::mem::take(self) {
            Cell::Borrowed(cell) => cell,
            cell => Arc::new(cell),
        };
        *self = Cell::Borrowed(shared.clone());
        Cell::Borrowed(shared)
    }

    /// Ends the borrow; nothing changes while another cell still has the value.
    pub fn end_borrow(&mut self) {
        *self = match std::mem::take(self) {
            Cell::Borrowed(cell) => Arc::try_unwrap(cell).unwrap_or_else(Cell::Borrowed),
            cell => cell,
        };
    }

    /// The value to write; `None` if it was locked only for reading.
    pub fn value_mut(&mut self) -> Option<&mut Value> {
        if let Cell::Vacant = self {
            *self = Cell::Local(Value::Empty);
        }
        match self {
            Cell::Local(v) => Some(v),
            Cell::Write(g) => Some(g),
            Cell::Read(_) | Cell::Borrowed(_) | Cell::Vacant => None,
        }
    }
}

/// The values of one run, one cell per slot. Cells can be borrowed independently, so a kernel reads some while it writes others;
/// nothing is locked per operator. One thread runs a frame.
pub struct Frame {
    cells: Vec<RefCell<Cell>>,
}

impl Frame {
    /// A frame of `slots` empty slots.
    pub fn new(slots: usize) -> Frame {
        let mut cells = Vec::new();
        cells.resize_with(slots, RefCell::default);
        Frame { cells }
    }

    /// Replaces a cell.
    pub fn put(&mut self, slot: usize, cell: Cell) {
        *self.cells[slot].get_mut() = cell;
    }

    /// The cell of a slot.
    pub fn cell_mut(&mut self, slot: usize) -> &mut Cell {
        self.cells[slot].get_mut()
    }

    /// Borrows a cell; `None` while it is being written.
    pub fn read(&self, slot: usize) -> Option<Ref<'_, Value>> {
        self.cells[slot].try_borrow().ok().map(|c| Ref::map(c, Cell::value))
    }

    /// Borrows a cell to write; `None` while it is borrowed otherwise or if it may not be written.
    pub fn write(&self, slot: usize) -> Option<RefMut<'_, Value>> {
        let cell = self.cells[slot].try_borrow_mut().ok()?;
        RefMut::filter_map(cell, Cell::value_mut).ok()
    }

    /// Exchanges the values of two slots; false if one of them is borrowed or may not be written.
    pub fn swap(&self, a: usize, b: usize) -> bool {
        match (self.write(a), self.write(b)) {
            (Some(mut a), Some(mut b)) => {
                std::mem::swap(&mut *a, &mut *b);
                true
            }
            _ => false,
        }
    }

    /// The number of slots.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// No slots at all?
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Bytes allocated for temporaries.
    pub fn local_bytes(&self) -> usize {
        let local = |c: &RefCell<Cell>| match c.try_borrow().as_deref() {
            Ok(Cell::Local(v)) => v.capacity(),
            _ => 0,
        };
        self.cells.iter().map(local).sum()
    }
}

#[test]
fn borrowed_value_can_be_read_by_all_and_written_after_the_borrow() {
    let mut cell = Cell::Local(Value::Dense(oarlock_tensor::Tensor::scalar(1.0f32)));
    let other = cell.borrow();
    assert_eq!(other.value().dense().ok(), cell.value().dense().ok());
    assert!(cell.value_mut().is_none());
    cell.end_borrow();
    assert!(cell.value_mut().is_none(), "the other cell still has it");
    drop(other);
    cell.end_borrow();
    assert!(cell.value_mut().is_some());
}
