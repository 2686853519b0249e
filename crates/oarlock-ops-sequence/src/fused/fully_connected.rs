//! The fully connected layer that several inference operators end in: `y = activation(x w + bias)`.

use oarlock_ir::{Error, In, Io, Kind, Result};
use oarlock_tensor::gemm::{GemmElem, Mat, Then, gemm_then};
use oarlock_tensor::simd::Math;
use oarlock_tensor::{Pool, Tensor};

use crate::recurrent::steps::Activation;

/// `y = activation(x w + bias)`, a row of `y` per row of `x`.
pub(crate) fn layer<T: Math + GemmElem>(
    pool: &Pool,
    y: &mut [T],
    x: Mat<'_, T>,
    w: Mat<'_, T>,
    bias: Option<&[T]>,
    act: Activation,
) {
    let then = match (bias, act) {
        (Some(bias), Activation::Relu) => return gemm_then(pool, y, x, w, Then::AddRelu(bias)),
        (Some(bias), _) => Then::Add(bias),
        (None, _) => Then::Nothing,
    };
    gemm_then(pool, y, x, w, then);
    act.apply(y);
}

/// The weights of a layer for rows of `columns` numbers.
pub(crate) fn weights<'t, T: Math>(io: &Io<'_>, slot: In, t: &'t Tensor, columns: usize) -> Result<Mat<'t, T>> {
    match t.dims()[..] {
        [rows, n] if rows == columns && n > 0 => Ok(Mat::new(io.data(slot, t)?, rows, n)),
        _ => Err(wrong(io, slot, t, format_args!("a matrix of {columns} rows is needed"))),
    }
}

/// The bias of a layer of `n` columns.
pub(crate) fn bias<'t, T: Math>(io: &Io<'_>, slot: In, t: &'t Tensor, n: usize) -> Result<&'t [T]> {
    if t.numel() == n {
        return io.data(slot, t);
    }
    Err(wrong(io, slot, t, format_args!("{n} numbers are needed")))
}

#[cold]
fn wrong(io: &Io<'_>, slot: In, t: &Tensor, need: std::fmt::Arguments<'_>) -> Error {
    io.error(Kind::Shape, slot, format_args!("is {}, but {need}", t.dims()))
}
