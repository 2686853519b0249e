//! Sizes of a tensor, held inline so that a step allocates nothing for shapes.

use std::fmt;
use std::ops::{Deref, DerefMut};

use crate::{Error, Result};

/// The most dimensions a tensor can have.
pub const MAX_RANK: usize = 9;

/// The sizes of a tensor, outermost first. A scalar of Fluid is `[1]`; the empty list is a tensor of one element too.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dims {
    len: u8,
    sizes: [usize; MAX_RANK],
}

impl Dims {
    /// The sizes of a tensor without elements: `[0]`.
    pub const EMPTY: Dims = Dims { len: 1, sizes: [0; MAX_RANK] };

    /// Copies a list of sizes. The caller knows that it is short (a literal, another tensor's dims shortened or extended by one).
    ///
    /// # Panics
    /// If `sizes` has more than [`MAX_RANK`] entries; use [`Dims::try_new`] for outside data.
    pub fn new(sizes: &[usize]) -> Dims {
        Dims::try_new(sizes).expect("a list of sizes within MAX_RANK")
    }

    /// Copies a list of sizes that came from outside.
    pub fn try_new(sizes: &[usize]) -> Result<Dims> {
        if sizes.len() > MAX_RANK {
            return Err(Error::Rank(sizes.len()));
        }
        let mut dims = Dims { len: sizes.len() as u8, sizes: [0; MAX_RANK] };
        dims.sizes[..sizes.len()].copy_from_slice(sizes);
        Ok(dims)
    }

    /// The number of elements.
    pub fn numel(&self) -> usize {
        self.iter().product()
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.len as usize
    }

    /// The product of the sizes before `axis`, and of those from `axis` on: the matrix Fluid sees in a tensor.
    pub fn matrix(&self, axis: usize) -> (usize, usize) {
        let axis = axis.min(self.rank());
        (self[..axis].iter().product(), self[axis..].iter().product())
    }

    /// Appends a size.
    ///
    /// # Panics
    /// If there are [`MAX_RANK`] already.
    pub fn push(&mut self, size: usize) {
        self.sizes[self.len as usize] = size;
        self.len += 1;
    }

    /// These sizes with another first one; `[n]` for a tensor without dimensions.
    pub fn with_rows(mut self, rows: usize) -> Dims {
        if self.len == 0 {
            self.len = 1;
        }
        self.sizes[0] = rows;
        self
    }
}

impl Deref for Dims {
    type Target = [usize];
    fn deref(&self) -> &[usize] {
        &self.sizes[..self.len as usize]
    }
}

impl DerefMut for Dims {
    fn deref_mut(&mut self) -> &mut [usize] {
        &mut self.sizes[..self.len as usize]
    }
}

impl<const N: usize> From<[usize; N]> for Dims {
    fn from(sizes: [usize; N]) -> Dims {
        Dims::new(&sizes)
    }
}

impl fmt::Display for Dims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, d) in self.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{d}")?;
        }
        f.write_str("]")
    }
}

impl fmt::Debug for Dims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
