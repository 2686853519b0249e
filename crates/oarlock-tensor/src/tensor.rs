//! Dense tensors.

use std::fmt;
use std::ops::Range;

use crate::buf::Foreign;
use crate::{Buf, DType, Dims, Element, Error, Lod, Result};

/// A dense, row-major tensor with an optional LoD.
#[derive(Clone)]
pub struct Tensor {
    dtype: DType,
    dims: Dims,
    lod: Lod,
    buf: Buf,
}

impl Tensor {
    /// A tensor of no elements, to be filled by [`Tensor::resize`].
    pub const fn new() -> Tensor {
        Tensor { dtype: DType::F32, dims: Dims::EMPTY, lod: Lod::NONE, buf: Buf::new() }
    }

    /// A tensor of zeros.
    pub fn zeros(dtype: DType, dims: impl Into<Dims>) -> Tensor {
        let mut t = Tensor::new();
        t.resize(dtype, dims.into());
        t.buf.bytes_mut().fill(0);
        t
    }

    /// A tensor of these elements.
    pub fn from_slice<T: Element>(dims: impl Into<Dims>, data: &[T]) -> Result<Tensor> {
        let dims = dims.into();
        if dims.numel() != data.len() {
            return Err(Error::Count { dims, found: data.len() });
        }
        let mut t = Tensor::new();
        t.resize(T::DTYPE, dims);
        t.buf.typed_mut::<T>().copy_from_slice(data);
        Ok(t)
    }

    /// A tensor of one element, of Fluid's shape `[1]`.
    pub fn scalar<T: Element>(value: T) -> Tensor {
        let mut t = Tensor::new();
        t.resize(T::DTYPE, Dims::from([1]));
        t.buf.typed_mut::<T>()[0] = value;
        t
    }

    /// A tensor over memory of another owner, read in place; copied when it is misaligned for `dtype`.
    pub fn from_foreign(dtype: DType, dims: Dims, memory: Foreign) -> Result<Tensor> {
        let bytes = (*memory).as_ref();
        if bytes.len() != dims.numel() * dtype.size() {
            return Err(Error::Count { dims, found: bytes.len() / dtype.size() });
        }
        let mut buf = Buf::new();
        if (bytes.as_ptr() as usize).is_multiple_of(dtype.size()) {
            buf = Buf::foreign(memory);
        } else {
            buf.resize(bytes.len());
            buf.bytes_mut().copy_from_slice(bytes);
        }
        Ok(Tensor { dtype, dims, lod: Lod::NONE, buf })
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The sizes.
    pub fn dims(&self) -> &Dims {
        &self.dims
    }

    /// The number of elements.
    pub fn numel(&self) -> usize {
        self.dims.numel()
    }

    /// The number of rows: the first size, 1 for a tensor without dimensions.
    pub fn rows(&self) -> usize {
        self.dims.first().copied().unwrap_or(1)
    }

    /// How rows group into sequences.
    pub fn lod(&self) -> &Lod {
        &self.lod
    }

    /// Replaces the LoD.
    pub fn set_lod(&mut self, lod: Lod) {
        self.lod = lod;
    }

    /// Gives the tensor another type and other sizes, and no LoD. Old contents are lost; memory is kept for reuse.
    pub fn resize(&mut self, dtype: DType, dims: Dims) {
        self.dtype = dtype;
        self.dims = dims;
        self.lod = Lod::NONE;
        self.buf.resize(dims.numel() * dtype.size());
    }

    /// The same elements under other sizes.
    pub fn reshape(&mut self, dims: Dims) -> Result<()> {
        if dims.numel() != self.numel() {
            return Err(Error::Count { dims, found: self.numel() });
        }
        self.dims = dims;
        Ok(())
    }

    /// The elements.
    pub fn data<T: Element>(&self) -> Result<&[T]> {
        self.expect_dtype(T::DTYPE)?;
        Ok(self.buf.typed())
    }

    /// The elements, to write.
    pub fn data_mut<T: Element>(&mut self) -> Result<&mut [T]> {
        self.expect_dtype(T::DTYPE)?;
        Ok(self.buf.typed_mut())
    }

    fn expect_dtype(&self, expected: DType) -> Result<()> {
        if self.dtype == expected { Ok(()) } else { Err(Error::DType { expected, found: self.dtype }) }
    }

    /// The elements as bytes, little-endian, row-major.
    pub fn bytes(&self) -> &[u8] {
        self.buf.bytes()
    }

    /// The elements as bytes, to write.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.buf.bytes_mut()
    }

    /// Becomes a copy of `other`, reusing memory.
    pub fn copy_from(&mut self, other: &Tensor) {
        self.resize(other.dtype, other.dims);
        self.lod = other.lod.clone();
        self.buf.bytes_mut().copy_from_slice(other.bytes());
    }

    /// How many samples a batch holds: sequences of the outermost level, or rows.
    pub fn samples(&self) -> usize {
        self.lod.levels().first().map_or(self.rows(), |level| level.len() - 1)
    }

    /// Becomes a copy of some samples of `other`, reusing memory. Panics if it has fewer.
    pub fn copy_samples(&mut self, other: &Tensor, samples: Range<usize>) {
        let (lod, rows) = other.lod.part(samples);
        let row = other.bytes().len() / other.rows().max(1);
        self.resize(other.dtype, other.dims.with_rows(rows.len()));
        self.buf.bytes_mut().copy_from_slice(&other.bytes()[rows.start * row..rows.end * row]);
        self.lod = lod;
    }

    /// Bytes allocated for the elements.
    pub fn capacity(&self) -> usize {
        self.buf.capacity()
    }

    /// Every element as f64, for printing and tests.
    pub fn to_f64(&self) -> Vec<f64> {
        fn all<T: Element>(t: &Tensor) -> Vec<f64> {
            t.buf.typed::<T>().iter().map(|v| v.to_f64()).collect()
        }
        crate::by_element!(self.dtype, T => all::<T>(self))
    }
}

impl Default for Tensor {
    fn default() -> Tensor {
        Tensor::new()
    }
}

impl PartialEq for Tensor {
    /// Same dtype, sizes, LoD and bits.
    fn eq(&self, other: &Tensor) -> bool {
        self.dtype == other.dtype && self.dims == other.dims && self.lod == other.lod && self.bytes() == other.bytes()
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.dtype, self.dims)?;
        if !self.lod.is_empty() {
            write!(f, " lod {:?}", self.lod)?;
        }
        let all = self.to_f64();
        if all.len() <= 64 { write!(f, " {all:?}") } else { write!(f, " {:?}...", &all[..16]) }
    }
}

#[test]
fn samples_are_rows_or_sequences() {
    let mut t = Tensor::from_slice([4, 1], &[1.0f32, 2.0, 3.0, 4.0]).unwrap();
    let mut part = Tensor::new();
    part.copy_samples(&t, 1..3);
    assert_eq!((t.samples(), part.to_f64()), (4, vec![2.0, 3.0]));
    t.set_lod(Lod::from_lengths(&[vec![1, 3]]));
    part.copy_samples(&t, 1..2);
    assert_eq!((t.samples(), part.to_f64()), (2, vec![2.0, 3.0, 4.0]));
    assert_eq!(part.lod().lengths(), [[3]]);
}
