//! Numbers that arithmetic operators work on: f32, f64, i32 and i64, with the rules Fluid has for each.

use oarlock_tensor::{Element, simd};

/// A number. Integers wrap around; division of integers truncates and gives 0 for a divisor of 0, which kernels reject beforehand.
pub trait Number: Element + PartialOrd {
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// The least value.
    const LOWEST: Self;
    /// The greatest value.
    const HIGHEST: Self;
    /// `self + other`
    fn plus(self, other: Self) -> Self;
    /// `self - other`
    fn minus(self, other: Self) -> Self;
    /// `self * other`
    fn times(self, other: Self) -> Self;
    /// `self / other`
    fn over(self, other: Self) -> Self;
    /// Integers take the sign of the dividend, as in C; floats that of the divisor.
    fn modulo(self, other: Self) -> Self;
    /// `self` to the power of `exponent`.
    fn to_the(self, exponent: Self) -> Self;
    /// True for NaN.
    fn is_nan(self) -> bool;
    /// True for infinity of either sign.
    fn is_infinite(self) -> bool;

    /// `out = x + y`, element by element; like the following, a vectorised loop for floats.
    fn add_all(out: &mut [Self], x: &[Self], y: &[Self]) {
        zip(out, x, y, Self::plus);
    }
    /// `x += y`
    fn add_to(x: &mut [Self], y: &[Self]) {
        update(x, y, Self::plus);
    }
    /// `out = x - y`
    fn sub_all(out: &mut [Self], x: &[Self], y: &[Self]) {
        zip(out, x, y, Self::minus);
    }
    /// `x -= y`
    fn sub_from(x: &mut [Self], y: &[Self]) {
        update(x, y, Self::minus);
    }
    /// `out = x * y`
    fn mul_all(out: &mut [Self], x: &[Self], y: &[Self]) {
        zip(out, x, y, Self::times);
    }
    /// `x *= y`
    fn mul_by(x: &mut [Self], y: &[Self]) {
        update(x, y, Self::times);
    }
}

/// `out = f(x, y)`, element by element.
pub fn zip<T: Copy, U>(out: &mut [U], x: &[T], y: &[T], f: impl Fn(T, T) -> U) {
    for ((o, x), y) in out.iter_mut().zip(x).zip(y) {
        *o = f(*x, *y);
    }
}

/// `x = f(x, y)`, element by element.
pub fn update<T: Copy>(x: &mut [T], y: &[T], f: impl Fn(T, T) -> T) {
    for (x, y) in x.iter_mut().zip(y) {
        *x = f(*x, *y);
    }
}

macro_rules! floats {
    ($($t:ident),*) => {$(
        impl Number for $t {
            const ZERO: $t = 0.0;
            const ONE: $t = 1.0;
            const LOWEST: $t = $t::NEG_INFINITY;
            const HIGHEST: $t = $t::INFINITY;
            fn plus(self, other: $t) -> $t { self + other }
            fn minus(self, other: $t) -> $t { self - other }
            fn times(self, other: $t) -> $t { self * other }
            fn over(self, other: $t) -> $t { self / other }
            fn modulo(self, other: $t) -> $t {
                let rest = self % other;
                if rest != 0.0 && (other < 0.0) != (rest < 0.0) { rest + other } else { rest }
            }
            fn to_the(self, exponent: $t) -> $t { self.powf(exponent) }
            fn is_nan(self) -> bool { $t::is_nan(self) }
            fn is_infinite(self) -> bool { $t::is_infinite(self) }
            fn add_all(out: &mut [$t], x: &[$t], y: &[$t]) { simd::add(out, x, y) }
            fn add_to(x: &mut [$t], y: &[$t]) { simd::add_assign(x, y) }
            fn sub_all(out: &mut [$t], x: &[$t], y: &[$t]) { simd::sub(out, x, y) }
            fn sub_from(x: &mut [$t], y: &[$t]) { simd::sub_assign(x, y) }
            fn mul_all(out: &mut [$t], x: &[$t], y: &[$t]) { simd::mul(out, x, y) }
            fn mul_by(x: &mut [$t], y: &[$t]) { simd::mul_assign(x, y) }
        }
    )*};
}
floats!(f32, f64);

macro_rules! integers {
    ($($t:ident),*) => {$(
        impl Number for $t {
            const ZERO: $t = 0;
            const ONE: $t = 1;
            const LOWEST: $t = $t::MIN;
            const HIGHEST: $t = $t::MAX;
            fn plus(self, other: $t) -> $t { self.wrapping_add(other) }
            fn minus(self, other: $t) -> $t { self.wrapping_sub(other) }
            fn times(self, other: $t) -> $t { self.wrapping_mul(other) }
            fn over(self, other: $t) -> $t { if other == 0 { 0 } else { self.wrapping_div(other) } }
            fn modulo(self, other: $t) -> $t { if other == 0 { 0 } else { self.wrapping_rem(other) } }
            fn to_the(self, exponent: $t) -> $t { (self as f64).powf(exponent as f64) as $t }
            fn is_nan(self) -> bool { false }
            fn is_infinite(self) -> bool { false }
        }
    )*};
}
integers!(i32, i64);

/// Folds what `term` makes of each value, in sixteen lanes: faster than one by one, rounds less, and always in the
/// same order. `start` must not change what it is combined with.
pub fn fold<T: Copy>(values: &[T], start: T, term: impl Fn(T) -> T, f: impl Fn(T, T) -> T) -> T {
    const LANES: usize = 16;
    let mut lanes = [start; LANES];
    let (whole, rest) = values.as_chunks::<LANES>();
    for chunk in whole {
        for (lane, v) in lanes.iter_mut().zip(chunk) {
            *lane = f(*lane, term(*v));
        }
    }
    for (lane, v) in lanes.iter_mut().zip(rest) {
        *lane = f(*lane, term(*v));
    }
    lanes.iter().fold(start, |all, lane| f(all, *lane))
}

/// Runs an expression with `$T` standing for the number type of a dtype; `$other` is the error for a dtype that is none.
#[macro_export]
macro_rules! by_number {
    ($dtype:expr, $T:ident => $body:expr, $found:ident => $other:expr) => {
        match $dtype {
            $crate::DType::F32 => {
                type $T = f32;
                $body
            }
            $crate::DType::F64 => {
                type $T = f64;
                $body
            }
            $crate::DType::I32 => {
                type $T = i32;
                $body
            }
            $crate::DType::I64 => {
                type $T = i64;
                $body
            }
            $found => $other,
        }
    };
}
#[doc(inline)]
pub use by_number;

#[test]
fn folds_and_integers() {
    assert_eq!(fold(&(1..=100).collect::<Vec<i64>>(), 0, |v| v, i64::plus), 5050);
    assert_eq!(fold(&[], 0.0, |v| v, f32::plus), 0.0);
    assert_eq!((i32::MIN.over(-1), 7.over(0), (-7).over(2), (-7).modulo(3)), (i32::MIN, 0, -3, -1));
    assert_eq!((5.5f32.modulo(-2.0), (-5.5f32).modulo(2.0)), (-0.5, 0.5));
    assert_eq!(3i64.to_the(4), 81);
}
