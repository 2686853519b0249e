//! Integers of a tensor, of either width.

use oarlock_ir::{In, Io, Kind, Result};
use oarlock_tensor::{DType, Tensor};

/// The elements of an i32 or i64 tensor.
#[derive(Clone, Copy)]
pub enum Ints<'t> {
    /// Of an i32 tensor.
    Narrow(&'t [i32]),
    /// Of an i64 tensor.
    Wide(&'t [i64]),
}

impl<'t> Ints<'t> {
    /// The elements of an input.
    pub fn of(io: &Io<'_>, input: In, tensor: &'t Tensor) -> Result<Ints<'t>> {
        match tensor.dtype() {
            DType::I32 => Ok(Ints::Narrow(io.data(input, tensor)?)),
            DType::I64 => Ok(Ints::Wide(io.data(input, tensor)?)),
            d => Err(io.error(Kind::DType, input, format!("holds {d}, but i32 or i64 is needed"))),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Ints::Narrow(v) => v.len(),
            Ints::Wide(v) => v.len(),
        }
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The one at `index`, which must be less than [`Ints::len`].
    pub fn at(&self, index: usize) -> i64 {
        match self {
            Ints::Narrow(v) => v[index] as i64,
            Ints::Wide(v) => v[index],
        }
    }

    /// All of them.
    pub fn iter(self) -> impl Iterator<Item = i64> + 't {
        (0..self.len()).map(move |i| self.at(i))
    }

    /// The one at `index`, which the operator needs to be at least 0.
    pub fn count(&self, io: &Io<'_>, input: In, index: usize) -> Result<usize> {
        let v = self.at(index);
        match usize::try_from(v) {
            Ok(n) => Ok(n),
            Err(_) => {
                Err(io.error(Kind::Range, input, format!("holds {v} at position {index}, which must not be negative")))
            }
        }
    }
}
