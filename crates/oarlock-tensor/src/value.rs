//! The value of a variable at run time.

use std::any::Any;
use std::fmt;

use crate::table::TableVar;
use crate::{Error, Result, SelectedRows, Tensor};

/// The value of a variable while a program runs.
#[derive(Default)]
pub enum Value {
    /// Nothing was written yet.
    #[default]
    Empty,
    /// A dense tensor.
    Dense(Tensor),
    /// Some rows of a tall matrix.
    Rows(SelectedRows),
    /// A list of tensors.
    Array(TensorArray),
    /// Sequences by descending length.
    RankTable(RankTable),
    /// A hashed table, or a state of its rows.
    Table(TableVar),
    /// An object that only the operators that share it understand: step scopes, readers, sockets.
    Opaque(Box<dyn Any + Send + Sync>),
}

/// A list of tensors that a loop writes and reads by index. Clearing keeps the tensors' memory.
#[derive(Debug, Clone, Default)]
pub struct TensorArray {
    items: Vec<Tensor>,
    len: usize,
}

impl TensorArray {
    /// An array of these tensors.
    pub fn of(items: Vec<Tensor>) -> TensorArray {
        TensorArray { len: items.len(), items }
    }

    /// The tensors.
    pub fn items(&self) -> &[Tensor] {
        &self.items[..self.len]
    }

    /// The tensors, to write.
    pub fn items_mut(&mut self) -> &mut [Tensor] {
        &mut self.items[..self.len]
    }

    /// Forgets all tensors.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Makes the array `len` long; new entries are empty tensors.
    pub fn resize(&mut self, len: usize) {
        if len > self.items.len() {
            self.items.resize_with(len, Tensor::new);
        }
        for t in &mut self.items[self.len.min(len)..len] {
            t.resize(t.dtype(), crate::Dims::from([0]));
        }
        self.len = len;
    }

    /// The tensor at `index`, to write; the array grows as far as needed.
    pub fn at_mut(&mut self, index: usize) -> &mut Tensor {
        if index >= self.len {
            self.resize(index + 1);
        }
        &mut self.items[index]
    }
}

/// Sequences of one LoD level in order of descending length (stable): (index, length).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RankTable {
    /// Index of the sequence before sorting, and its length.
    pub items: Vec<(usize, usize)>,
    /// The levels of the LoD above and including the ranked one, as given.
    pub outer: crate::Lod,
}

impl Value {
    /// The kind of value, as messages name it.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Empty => "empty",
            Value::Dense(_) => "a tensor",
            Value::Rows(_) => "selected rows",
            Value::Array(_) => "a tensor array",
            Value::RankTable(_) => "a rank table",
            Value::Table(_) => "a hashed table",
            Value::Opaque(_) => "an internal object",
        }
    }

    fn not(&self, expected: &'static str) -> Error {
        Error::Kind { expected, found: self.kind() }
    }

    /// The dense tensor it must be.
    pub fn dense(&self) -> Result<&Tensor> {
        match self {
            Value::Dense(t) => Ok(t),
            other => Err(other.not("a tensor")),
        }
    }

    /// The dense tensor to write, replacing whatever else it was.
    pub fn dense_mut(&mut self) -> &mut Tensor {
        if !matches!(self, Value::Dense(_)) {
            *self = Value::Dense(Tensor::new());
        }
        match self {
            Value::Dense(t) => t,
            _ => unreachable!("made dense above"),
        }
    }

    /// The selected rows it must be.
    pub fn rows(&self) -> Result<&SelectedRows> {
        match self {
            Value::Rows(r) => Ok(r),
            other => Err(other.not("selected rows")),
        }
    }

    /// The selected rows to write, replacing whatever else it was.
    pub fn rows_mut(&mut self) -> &mut SelectedRows {
        if !matches!(self, Value::Rows(_)) {
            *self = Value::Rows(SelectedRows::new());
        }
        match self {
            Value::Rows(r) => r,
            _ => unreachable!("made rows above"),
        }
    }

    /// The array it must be.
    pub fn array(&self) -> Result<&TensorArray> {
        match self {
            Value::Array(a) => Ok(a),
            other => Err(other.not("a tensor array")),
        }
    }

    /// The array to write, replacing whatever else it was.
    pub fn array_mut(&mut self) -> &mut TensorArray {
        if !matches!(self, Value::Array(_)) {
            *self = Value::Array(TensorArray::default());
        }
        match self {
            Value::Array(a) => a,
            _ => unreachable!("made an array above"),
        }
    }

    /// The rank table it must be.
    pub fn rank_table(&self) -> Result<&RankTable> {
        match self {
            Value::RankTable(t) => Ok(t),
            other => Err(other.not("a rank table")),
        }
    }

    /// Nothing written yet?
    pub fn is_empty(&self) -> bool {
        matches!(self, Value::Empty)
    }

    /// The table it must be.
    pub fn table(&self) -> Result<&TableVar> {
        match self {
            Value::Table(t) => Ok(t),
            other => Err(other.not("a hashed table")),
        }
    }

    /// Becomes what was loaded. A table stays a table and takes the rows.
    pub fn load(&mut self, loaded: Value) -> Result<()> {
        match (self, loaded) {
            (Value::Table(table), Value::Rows(rows)) => return table.load(rows),
            (to, loaded) => *to = loaded,
        }
        Ok(())
    }

    /// A copy, for values that can be copied: everything but internal objects. That of a table is its rows.
    pub fn try_clone(&self) -> Result<Value> {
        Ok(match self {
            Value::Empty => Value::Empty,
            Value::Dense(t) => Value::Dense(t.clone()),
            Value::Rows(r) => Value::Rows(r.clone()),
            Value::Array(a) => Value::Array(TensorArray::of(a.items().to_vec())),
            Value::RankTable(t) => Value::RankTable(t.clone()),
            Value::Table(t) => Value::Rows(t.to_rows()?),
            Value::Opaque(_) => return Err(self.not("a value that can be copied")),
        })
    }

    /// Becomes a copy of `other`, reusing memory where both are of one kind.
    pub fn copy_from(&mut self, other: &Value) -> Result<()> {
        match other {
            Value::Dense(t) => self.dense_mut().copy_from(t),
            Value::Rows(r) => self.rows_mut().copy_from(r),
            other => *self = other.try_clone()?,
        }
        Ok(())
    }

    /// Bytes allocated for elements.
    pub fn capacity(&self) -> usize {
        match self {
            Value::Dense(t) => t.capacity(),
            Value::Rows(r) => r.value.capacity() + r.rows.capacity() * size_of::<i64>(),
            Value::Array(a) => a.items.iter().map(Tensor::capacity).sum(),
            _ => 0,
        }
    }
}

impl From<Tensor> for Value {
    fn from(t: Tensor) -> Value {
        Value::Dense(t)
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Dense(t) => t.fmt(f),
            Value::Rows(r) => r.fmt(f),
            Value::Array(a) => f.debug_list().entries(a.items()).finish(),
            Value::RankTable(t) => t.fmt(f),
            other => f.write_str(other.kind()),
        }
    }
}
