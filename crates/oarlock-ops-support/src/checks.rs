//! Checks of the sizes of inputs; an error names the variable, the sizes found and those expected.

use oarlock_ir::{Error, In, Io, Kind, Result};
use oarlock_tensor::{Element, Tensor};

/// The elements of a gradient, which must be as many as those of the variable it belongs to.
pub fn sized<'t, T: Element>(io: &Io<'_>, input: In, tensor: &'t Tensor, expected: usize) -> Result<&'t [T]> {
    let data = io.data::<T>(input, tensor)?;
    expect_elements(io, input, data.len(), expected)?;
    Ok(data)
}

/// Checks that an input has as many elements as the operator needs.
pub fn expect_elements(io: &Io<'_>, input: In, found: usize, expected: usize) -> Result<()> {
    expect(found == expected, || {
        io.error(Kind::Shape, input, format_args!("has {found} elements, but needs {expected}"))
    })
}

/// Checks the sizes of an input; `what` says what they stand for.
pub fn expect_dims(io: &Io<'_>, input: In, tensor: &Tensor, dims: &[usize], what: &str) -> Result<()> {
    expect(tensor.dims()[..] == *dims, || {
        io.error(Kind::Shape, input, format_args!("is {}, but must be {dims:?} ({what})", tensor.dims()))
    })
}

fn expect(holds: bool, error: impl FnOnce() -> Error) -> Result<()> {
    if holds { Ok(()) } else { Err(error()) }
}
