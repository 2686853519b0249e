//! Integers of 8 bits, signed or not, as quantized inference stores them; shared by the operators that read or write them.

use oarlock_ir::{In, Infer, Io, Kind, Out, Result, VarType, fail};
use oarlock_tensor::{DType, Element, Tensor};

/// The type of an input that must hold integers of 8 bits.
pub(crate) fn expect(cx: &Infer<'_>, slot: &str) -> Result<VarType> {
    let ty = cx.input(slot)?;
    match ty.dtype {
        DType::I8 | DType::U8 => Ok(ty),
        _ => fail!(Kind::DType, "`{}` needs i8 or u8 in {}", cx.op().op_type, cx.describe(slot)),
    }
}

/// The type of an input that must hold signed integers of 8 bits.
pub(crate) fn expect_signed(cx: &Infer<'_>, slot: &str) -> Result<VarType> {
    let ty = cx.input(slot)?;
    match ty.dtype {
        DType::I8 => Ok(ty),
        _ => fail!(Kind::DType, "`{}` needs i8 in {}", cx.op().op_type, cx.describe(slot)),
    }
}

/// A scale that divides or is divided, which cannot be 0.
pub(crate) fn nonzero(name: &str, scale: f32) -> Result<f32> {
    if scale == 0.0 || !scale.is_finite() {
        fail!(Kind::Argument, "attribute `{name}` is {scale}; it must be a number other than 0");
    }
    Ok(scale)
}

/// The nearest integer of 8 bits; halves go to the even one.
pub(crate) fn nearest<T: Element>(x: f32) -> T {
    let (low, high) = if T::DTYPE == DType::U8 { (0.0, 255.0) } else { (-128.0, 127.0) };
    T::from_i64(x.round_ties_even().clamp(low, high) as i64)
}

/// Writes a function of each element of `x` to `out`, which has the sizes and the LoD of `x`.
pub(crate) fn map<A: Element, B: Element>(
    io: &Io<'_>,
    (x, tensor): (In, &Tensor),
    out: Out,
    f: impl Fn(A) -> B,
) -> Result<()> {
    let mut to = io.out_sized(out, B::DTYPE, *tensor.dims())?;
    to.set_lod(tensor.lod().clone());
    let to = io.data_mut::<B>(out, &mut to)?;
    to.iter_mut().zip(io.data::<A>(x, tensor)?).for_each(|(to, x)| *to = f(*x));
    Ok(())
}
