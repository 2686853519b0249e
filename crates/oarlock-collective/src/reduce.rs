//! Reductions: the values of several ranks become one.

use std::cmp::Ordering;
use std::fmt;

use bytemuck::Pod;
use oarlock_ir::{Error, Kind, Result};
use oarlock_sys::SharedMemory;
use oarlock_tensor::{DType, bf16, f16};

/// A reduction of the values of several ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduce {
    /// Their sum.
    Sum,
    /// Their product.
    Prod,
    /// The largest; nan if one of them is.
    Max,
    /// The smallest; nan if one of them is.
    Min,
}

impl fmt::Display for Reduce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reduce::Sum => "sum",
            Reduce::Prod => "product",
            Reduce::Max => "max",
            Reduce::Min => "min",
        })
    }
}

/// A number that can be reduced. Every function gives the same bits in either order of its arguments.
trait Number: Pod {
    fn add(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn max(self, other: Self) -> Self;
    fn min(self, other: Self) -> Self;
}

macro_rules! integers {
    ($($t:ty),*) => {$(
        impl Number for $t {
            fn add(self, other: Self) -> Self { self.wrapping_add(other) }
            fn mul(self, other: Self) -> Self { self.wrapping_mul(other) }
            fn max(self, other: Self) -> Self { Ord::max(self, other) }
            fn min(self, other: Self) -> Self { Ord::min(self, other) }
        }
    )*};
}
integers!(i8, u8, i16, i32, i64);

/// `total_cmp` tells zeros by their sign, so that all workers keep the same one.
macro_rules! floats {
    ($($t:ty, $nan:expr, $add:expr, $mul:expr);*) => {$(
        impl Number for $t {
            fn add(self, other: Self) -> Self { $add(self, other) }
            fn mul(self, other: Self) -> Self { $mul(self, other) }
            fn max(self, other: Self) -> Self {
                if self.is_nan() || other.is_nan() { return $nan; }
                if self.total_cmp(&other) == Ordering::Less { other } else { self }
            }
            fn min(self, other: Self) -> Self {
                if self.is_nan() || other.is_nan() { return $nan; }
                if self.total_cmp(&other) == Ordering::Greater { other } else { self }
            }
        }
    )*};
}
floats!(
    f32, f32::NAN, |a, b| a + b, |a, b| a * b;
    f64, f64::NAN, |a, b| a + b, |a, b| a * b;
    f16, f16::NAN, |a: f16, b: f16| f16::from_f32(a.to_f32() + b.to_f32()), |a: f16, b: f16| f16::from_f32(a.to_f32() * b.to_f32());
    bf16, bf16::NAN, |a: bf16, b: bf16| bf16::from_f32(a.to_f32() + b.to_f32()), |a: bf16, b: bf16| bf16::from_f32(a.to_f32() * b.to_f32())
);

/// Joins `more` into `into`, number by number.
pub(crate) type Fold = fn(&mut [u8], &[u8]);

/// Joins what shared memory has at a place into `into`, number by number.
pub(crate) type FoldShared = fn(&SharedMemory, usize, &mut [u8]);

impl Reduce {
    /// The function for numbers of this type; true and false cannot be reduced.
    pub(crate) fn fold(self, dtype: DType) -> Result<Fold> {
        Ok(match dtype {
            DType::F32 => self.of::<f32>(),
            DType::F64 => self.of::<f64>(),
            DType::F16 => self.of::<f16>(),
            DType::BF16 => self.of::<bf16>(),
            DType::I8 => self.of::<i8>(),
            DType::U8 => self.of::<u8>(),
            DType::I16 => self.of::<i16>(),
            DType::I32 => self.of::<i32>(),
            DType::I64 => self.of::<i64>(),
            other => {
                return Err(Error::new(Kind::DType, format!("the {self} of {other} values is not defined"))
                    .help("cast them to int32 or float32 first"));
            }
        })
    }

    /// The same for what is in shared memory.
    pub(crate) fn fold_shared(self, dtype: DType) -> Result<FoldShared> {
        Ok(match dtype {
            DType::F32 => self.shared_of::<f32>(),
            DType::F64 => self.shared_of::<f64>(),
            DType::F16 => self.shared_of::<f16>(),
            DType::BF16 => self.shared_of::<bf16>(),
            DType::I8 => self.shared_of::<i8>(),
            DType::U8 => self.shared_of::<u8>(),
            DType::I16 => self.shared_of::<i16>(),
            DType::I32 => self.shared_of::<i32>(),
            DType::I64 => self.shared_of::<i64>(),
            other => return self.fold(other).map(|_| -> FoldShared { |_, _, _| {} }),
        })
    }

    fn shared_of<T: Number>(self) -> FoldShared {
        match self {
            Reduce::Sum => |memory, at, into| each_shared::<T>(memory, at, into, T::add),
            Reduce::Prod => |memory, at, into| each_shared::<T>(memory, at, into, T::mul),
            Reduce::Max => |memory, at, into| each_shared::<T>(memory, at, into, T::max),
            Reduce::Min => |memory, at, into| each_shared::<T>(memory, at, into, T::min),
        }
    }

    fn of<T: Number>(self) -> Fold {
        match self {
            Reduce::Sum => |into, more| each::<T>(into, more, T::add),
            Reduce::Prod => |into, more| each::<T>(into, more, T::mul),
            Reduce::Max => |into, more| each::<T>(into, more, T::max),
            Reduce::Min => |into, more| each::<T>(into, more, T::min),
        }
    }
}

/// Buffers of tensors and of frames are aligned, and split at multiples of 64 bytes; a user's slice may still be at any place.
fn each<T: Number>(into: &mut [u8], more: &[u8], join: impl Fn(T, T) -> T) {
    if let (Ok(into), Ok(more)) = (bytemuck::try_cast_slice_mut::<u8, T>(into), bytemuck::try_cast_slice::<u8, T>(more))
    {
        for (a, b) in into.iter_mut().zip(more) {
            *a = join(*a, *b);
        }
        return;
    }
    for (a, b) in into.chunks_exact_mut(size_of::<T>()).zip(more.chunks_exact(size_of::<T>())) {
        let joined = join(bytemuck::pod_read_unaligned(a), bytemuck::pod_read_unaligned(b));
        a.copy_from_slice(bytemuck::bytes_of(&joined));
    }
}

/// Aligned numbers are joined where they are; others by way of a copy.
fn each_shared<T: Number>(memory: &SharedMemory, at: usize, into: &mut [u8], join: impl Fn(T, T) -> T) {
    match bytemuck::try_cast_slice_mut::<u8, T>(into) {
        Ok(into) => memory.join_into(at, into, join),
        Err(_) => {
            let mut there = vec![0; into.len()];
            memory.read(at, &mut there);
            each::<T>(into, &there, join);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fold(how: Reduce, a: &[f32], b: &[f32]) -> Vec<f32> {
        let mut into = a.to_vec();
        how.fold(DType::F32).unwrap()(bytemuck::cast_slice_mut(&mut into), bytemuck::cast_slice(b));
        into
    }

    #[test]
    fn numbers_are_joined() {
        let (a, b) = ([1.0, -2.0, 3.0], [4.0, 5.0, -6.0]);
        assert_eq!(fold(Reduce::Sum, &a, &b), [5.0, 3.0, -3.0]);
        assert_eq!(fold(Reduce::Prod, &a, &b), [4.0, -10.0, -18.0]);
        assert_eq!(fold(Reduce::Max, &a, &b), [4.0, 5.0, 3.0]);
        assert_eq!(fold(Reduce::Min, &a, &b), [1.0, -2.0, -6.0]);
    }

    #[test]
    fn the_order_of_two_does_not_matter_bit_by_bit() {
        let (a, b) = ([0.0, -0.0, f32::NAN, 1.0], [-0.0, 0.0, 1.0, -f32::NAN]);
        for how in [Reduce::Max, Reduce::Min] {
            let bits = |v: Vec<f32>| v.into_iter().map(f32::to_bits).collect::<Vec<_>>();
            assert_eq!(bits(fold(how, &a, &b)), bits(fold(how, &b, &a)));
            assert!(fold(how, &a, &b)[2].is_nan() && fold(how, &a, &b)[3].is_nan());
        }
    }

    #[test]
    fn unaligned_bytes_are_joined_too() {
        let (mut into, more) = (vec![0_u8; 9], vec![1_u8; 9]);
        Reduce::Sum.fold(DType::I32).unwrap()(&mut into[1..], &more[1..]);
        assert_eq!(into, [0, 1, 1, 1, 1, 1, 1, 1, 1]);
        assert!(Reduce::Sum.fold(DType::Bool).unwrap_err().to_string().contains("the sum of bool values"));
    }
}
