//! Rounding to a few levels between -scale and scale; shared by the operators that simulate quantized inference.

use oarlock_ir::{AttrView, In, Io, Kind, Out, Result, fail};
use oarlock_tensor::{Float, Tensor};

/// The greatest level of `bit_length` bits, of which one is the sign.
pub(crate) fn greatest(attrs: &AttrView<'_>) -> Result<f64> {
    of_bits("bit_length", attrs.int("bit_length")?)
}

/// The greatest level of this number of bits, which stands in attribute `name`.
pub(crate) fn of_bits(name: &str, bits: i64) -> Result<f64> {
    match bits {
        1..=16 => Ok(((1i64 << (bits - 1)) - 1) as f64),
        _ => fail!(Kind::Argument, "attribute `{name}` is {bits}; it must be from 1 to 16"),
    }
}

/// The greatest absolute value; 0 without elements.
pub(crate) fn abs_max<T: Float>(x: &[T]) -> T {
    x.iter().fold(T::ZERO, |max, v| max.max(v.abs()))
}

/// The levels of one tensor or channel.
#[derive(Clone, Copy)]
pub(crate) struct Levels<T> {
    scale: T,
    /// The greatest level.
    greatest: T,
    /// Levels per unit.
    factor: T,
}

impl<T: Float> Levels<T> {
    pub(crate) fn new(scale: T, greatest: f64) -> Levels<T> {
        // A tensor of zeros has scale 0, by which nothing can be divided.
        let divisor = if scale.f64() <= 1e-30 { scale + T::of(1e-6) } else { scale };
        let greatest = T::of(greatest);
        Levels { scale, greatest, factor: greatest * (T::ONE / divisor) }
    }

    /// The level of a number; numbers beyond the scale have the greatest.
    pub(crate) fn level(&self, x: T) -> T {
        let bounded = match x {
            x if x < -self.scale => -self.scale,
            x if x > self.scale => self.scale,
            x => x,
        };
        (self.factor * bounded).round()
    }

    /// The number that a level stands for.
    pub(crate) fn number(&self, level: T) -> T {
        self.scale / self.greatest * level
    }
}

/// Writes a function of each element of `x` to `out`, which has the sizes and the LoD of `x`.
pub(crate) fn map<T: Float>(io: &Io<'_>, (x, tensor): (In, &Tensor), out: Out, f: impl Fn(T) -> T) -> Result<()> {
    let mut to = io.out_sized(out, T::DTYPE, *tensor.dims())?;
    to.set_lod(tensor.lod().clone());
    let to = io.data_mut::<T>(out, &mut to)?;
    to.iter_mut().zip(io.data::<T>(x, tensor)?).for_each(|(to, x)| *to = f(*x));
    Ok(())
}

/// Writes one number.
pub(crate) fn set<T: Float>(io: &Io<'_>, out: Out, value: T) -> Result<()> {
    let mut to = io.out_sized(out, T::DTYPE, [1].into())?;
    io.data_mut::<T>(out, &mut to)?[0] = value;
    Ok(())
}

/// A scale, which must be one number.
pub(crate) fn scale<T: Float>(io: &Io<'_>, input: In) -> Result<T> {
    Ok(T::of(io.scalar(input)?))
}
