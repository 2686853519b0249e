//! The slots of a MultiSlot line, in order. Knows no file and no text.

use std::fmt;

use oarlock_ir::{Dim, Error, Kind, Result, Shape, Var, VarDType};
use oarlock_tensor::{DType, Dims};

/// The type of a slot's values. The format has these two and no others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotType {
    /// f32; Fluid calls it `float`.
    Float,
    /// i64; Fluid calls it `uint64` and reads the same bits.
    Id,
}

impl SlotType {
    /// The element type of the slot's tensors.
    pub const fn dtype(self) -> DType {
        match self {
            SlotType::Float => DType::F32,
            SlotType::Id => DType::I64,
        }
    }
}

impl fmt::Display for SlotType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.dtype().name())
    }
}

/// The layout of a slot's values in a tensor.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Layout {
    /// A tensor of this shape, at most one size of which is unknown.
    Dense(Shape),
    /// A tensor `[values, 1]`, divided into samples by its LoD.
    Sparse,
    /// Read over.
    Unused,
}

/// One slot: a group `count v1 ... v_count` in every line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotSpec {
    name: String,
    ty: SlotType,
    layout: Layout,
    /// How many values make one row; a line's count must be a multiple of it.
    row_values: usize,
}

impl SlotSpec {
    /// A slot whose values are ids or numbers without fixed count: a tensor `[values, 1]` with LoD.
    pub fn sparse(name: impl Into<String>, ty: SlotType) -> SlotSpec {
        SlotSpec { name: name.into(), ty, layout: Layout::Sparse, row_values: 1 }
    }

    /// A slot whose values fill a tensor of a shape; the unknown size follows from the number of values in a batch.
    pub fn dense(name: impl Into<String>, ty: SlotType, shape: Shape) -> Result<SlotSpec> {
        let name = name.into();
        let unknown = shape.iter().filter(|d| **d == Dim::Any).count();
        let wrong = |what: String| Error::new(Kind::Shape, format!("slot `{name}`: its shape {shape} {what}"));
        if unknown > 1 {
            let what = format!("has {unknown} unknown sizes, but only one can follow from the number of values");
            return Err(wrong(what).help("declare all sizes but the batch size"));
        }
        let Some(known) = known_values(&shape).filter(|n| *n > 0) else {
            return Err(wrong("holds no values, or too many".into()));
        };
        Dims::try_new(&vec![1; shape.rank()]).map_err(|e| wrong(format!("does not fit: {e}")))?;
        // A shape without unknown size is that of a whole batch, which is checked when the batch is complete.
        let row_values = if unknown == 1 { known } else { 1 };
        Ok(SlotSpec { name, ty, layout: Layout::Dense(shape), row_values })
    }

    /// A slot that is in the file but is not wanted.
    pub fn unused(name: impl Into<String>, ty: SlotType) -> SlotSpec {
        SlotSpec { name: name.into(), ty, layout: Layout::Unused, row_values: 1 }
    }

    /// The slot that fills a variable: dense if the variable has no LoD.
    pub fn from_var(var: &Var) -> Result<SlotSpec> {
        let ty = match var.dtype {
            VarDType::Is(DType::F32) => SlotType::Float,
            VarDType::Is(DType::I64) => SlotType::Id,
            other => {
                let found = match other {
                    VarDType::Is(d) => d.name().to_string(),
                    VarDType::Other(n) => format!("type {n}"),
                };
                let what = format!("variable `{}` is {found}, but a dataset fills float32 and int64 only", var.name);
                return Err(Error::new(Kind::DType, what).help("declare it as one of these and add a `cast`"));
            }
        };
        match var.lod_level {
            0 => SlotSpec::dense(var.name.as_str(), ty, var.shape.clone()),
            _ => Ok(SlotSpec::sparse(var.name.as_str(), ty)),
        }
    }

    /// Its name: that of the variable it fills.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The type of its values.
    pub fn ty(&self) -> SlotType {
        self.ty
    }

    /// Does it fill a tensor of a declared shape?
    pub fn is_dense(&self) -> bool {
        matches!(self.layout, Layout::Dense(_))
    }

    /// Does it fill a variable at all?
    pub fn is_used(&self) -> bool {
        self.layout != Layout::Unused
    }

    /// How many values make one row; 1 unless the slot is dense.
    #[inline]
    pub(crate) fn row_values(&self) -> usize {
        self.row_values
    }

    /// The sizes of a tensor of this number of values.
    pub(crate) fn dims(&self, values: usize) -> Result<Dims> {
        let Layout::Dense(shape) = &self.layout else { return Ok(Dims::from([values, 1])) };
        let mut dims = Dims::new(&[]);
        // `dense` has checked that the shape is within the possible number of dimensions.
        shape.iter().for_each(|d| dims.push(d.known().unwrap_or(values / self.row_values)));
        if dims.numel() != values {
            let what = format!("slot `{}`: {values} values do not fill its shape {shape}", self.name);
            return Err(Error::new(Kind::Shape, what)
                .help("declare the batch size as unknown (-1): a batch, and the last one above all, can be smaller"));
        }
        Ok(dims)
    }
}

/// The product of the known sizes, if it can be counted.
fn known_values(shape: &Shape) -> Option<usize> {
    shape.iter().filter_map(|d| d.known()).try_fold(1, usize::checked_mul)
}

#[cfg(test)]
mod tests {
    use oarlock_ir::VarType;

    use super::*;

    fn dense(sizes: &[i64]) -> Result<SlotSpec> {
        SlotSpec::dense("x", SlotType::Float, Shape::from_i64(sizes))
    }

    #[test]
    fn the_unknown_size_follows_from_the_values() {
        assert_eq!(dense(&[-1, 3]).unwrap().dims(6).unwrap(), Dims::from([2, 3]));
        assert_eq!(dense(&[2, -1, 3]).unwrap().dims(12).unwrap(), Dims::from([2, 2, 3]));
        assert_eq!(dense(&[-1]).unwrap().dims(5).unwrap(), Dims::from([5]));
        assert_eq!(SlotSpec::sparse("x", SlotType::Id).dims(4).unwrap(), Dims::from([4, 1]));
        assert_eq!(dense(&[2, 3]).unwrap().dims(6).unwrap(), Dims::from([2, 3]));
        assert_eq!(
            dense(&[2, 3]).unwrap().dims(3).unwrap_err().to_string(),
            "error[shape]: slot `x`: 3 values do not fill its shape [2, 3]\n  help: declare the batch size as unknown \
             (-1): a batch, and the last one above all, can be smaller"
        );
    }

    #[test]
    fn shapes_that_cannot_be_filled_are_refused() {
        assert!(dense(&[-1, -1]).unwrap_err().to_string().contains("[?, ?] has 2 unknown sizes"));
        assert!(dense(&[-1, 0]).is_err());
        assert!(dense(&[i64::MAX, i64::MAX]).is_err());
        assert!(dense(&[1; 10]).unwrap_err().to_string().contains("10 dimensions"));
    }

    #[test]
    fn a_variable_says_which_slot_it_needs() {
        let var = |dtype, lod| Var::new("x", VarType::tensor(dtype, Shape::from_i64(&[-1, 1])).with_lod(lod));
        assert!(SlotSpec::from_var(&var(DType::F32, 0)).unwrap().is_dense());
        assert_eq!(SlotSpec::from_var(&var(DType::I64, 1)).unwrap(), SlotSpec::sparse("x", SlotType::Id));
        assert_eq!(
            SlotSpec::from_var(&var(DType::I32, 0)).unwrap_err().to_string(),
            "error[dtype]: variable `x` is int32, but a dataset fills float32 and int64 only\n  help: declare it as one \
             of these and add a `cast`"
        );
    }
}
