//! Bytes into columns: MultiSlot lines, rows of CSV files, columns of Parquet files.
//!
//! A parser appends the values of one sample to [`Columns`](crate::dataset::column::Columns), or says what is wrong with
//! the line. [`file_rows`] applies the rule for bad lines. Parsers know no files, no threads and no batches.

pub(crate) mod csv;
pub(crate) mod file_rows;
pub(crate) mod multislot;
pub(crate) mod number;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
pub(crate) mod records;
