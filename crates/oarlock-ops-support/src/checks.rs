//! Checks of sizes that kernels share: each returns an error that names the variable.

use oarlock_ir::{Error, In, Io, Kind, Result};
use oarlock_tensor::{Element, Tensor};

/// The elements of a gradient that must have the size of what it is the gradient of.
pub fn sized<'t, T: Element>(io: &Io<'_>, slot: In, tensor: &'t Tensor, numel: usize) -> Result<&'t [T]> {
    let data = io.data::<T>(slot, tensor)?;
    if data.len() == numel {
        return Ok(data);
    }
    let what = format_args!("has {} elements, but the result of the forward operator has {numel}", data.len());
    Err(io.error(Kind::Shape, slot, what))
}

/// Checks that a gradient has one number per row.
pub fn check_rows(io: &Io<'_>, input: In, found: usize, rows: usize) -> Result<()> {
    if found == rows {
        return Ok(());
    }
    Err(io.error(Kind::Shape, input, format_args!("has {found} elements, but there are {rows} rows")))
}

/// A tensor that must have these sizes, whatever it is for: `what` says what they are.
pub fn expect_dims(io: &Io<'_>, input: In, t: &Tensor, dims: &[usize], what: &str) -> Result<()> {
    if t.dims()[..] == *dims {
        return Ok(());
    }
    Err(wrong_dims(io, input, t, dims, what))
}

#[cold]
fn wrong_dims(io: &Io<'_>, input: In, t: &Tensor, dims: &[usize], what: &str) -> Error {
    io.error(Kind::Shape, input, format_args!("is {}, but must be {dims:?} ({what})", t.dims()))
}

/// A gradient must be as large as what it is the gradient of.
pub fn expect_elements(io: &Io<'_>, input: In, t: &Tensor, expected: usize) -> Result<()> {
    if t.numel() == expected {
        return Ok(());
    }
    let what = format!("is {}, which has {} elements, but the forward operator wrote {expected}", t.dims(), t.numel());
    Err(io.error(Kind::Shape, input, what))
}
