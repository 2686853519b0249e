use crate::{DType, Dims};

/// An error of a single tensor; callers add the operator and the variable.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The caller asked for elements of another type than the tensor holds.
    #[error("holds {found}, but {expected} is needed")]
    DType {
        /// The type the caller asked for.
        expected: DType,
        /// The type the tensor holds.
        found: DType,
    },
    /// The number of elements does not fit the dimensions.
    #[error("{found} elements do not fill {dims}")]
    Count {
        /// The dimensions to fill.
        dims: Dims,
        /// How many elements there are.
        found: usize,
    },
    /// More dimensions than a tensor can have.
    #[error("{0} dimensions are more than the {max} a tensor can have", max = crate::MAX_RANK)]
    Rank(usize),
    /// Offsets that are not a level of detail.
    #[error("LoD level {level} {why}")]
    Lod {
        /// Which level, outermost 0.
        level: usize,
        /// The error in it.
        why: String,
    },
    /// The value is not of the kind that is needed (a dense tensor, selected rows, an array...).
    #[error("is {found}, but {expected} is needed")]
    Kind {
        /// The kind that is needed.
        expected: &'static str,
        /// The kind found.
        found: &'static str,
    },
    /// A table of rows may not hold another one.
    #[error(
        "table `{table}` holds {limit} rows, which is its limit; make the table larger, evict rows that are not used, \
         or admit fewer ids"
    )]
    TableFull {
        /// The table's name.
        table: String,
        /// The most rows it may hold.
        limit: u64,
    },
    /// A table of rows was described or used in a way that it cannot be.
    #[error("table `{table}`: {why}")]
    Table {
        /// The table's name.
        table: String,
        /// The error, and its remedy.
        why: String,
    },
}

/// Result of an operation on one tensor.
pub type Result<T> = std::result::Result<T, Error>;
