//! Exponentials and their relatives, without branches so that loops over them become vector code.

use multiversion::multiversion;

use super::elementwise::{map, map_assign};
use super::reduce::{max_body, sum_body};
use crate::Float;

/// Functions that loops can apply to many elements at once. For f32 they are polynomials, accurate to 3e-7; for f64 the
/// library's. A loop written elsewhere with these gets the bits of the loops here.
pub trait Math: Float {
    /// `e^x`.
    fn fast_exp(self) -> Self;
    /// The natural logarithm.
    fn fast_ln(self) -> Self;
    /// The hyperbolic tangent.
    fn fast_tanh(self) -> Self;

    /// `1 / (1 + e^-x)`.
    #[inline(always)]
    fn fast_sigmoid(self) -> Self {
        Self::ONE / (Self::ONE + (-self).fast_exp())
    }
}

/// ln 2 in two parts: the first has so few bits that its product with an exponent is exact.
const LN_2: (f32, f32) = (0.693_359_4, -2.121_944_4e-4);

impl Math for f32 {
    #[inline(always)]
    fn fast_exp(self) -> f32 {
        // Beyond these bounds the result is 0 or infinite. Comparisons, not `clamp`, so that NaN passes.
        let x = if self > 89.0 { 89.0 } else { self };
        let x = if x < -104.0 { -104.0 } else { x };
        // e^x = 2^n e^r with n the integer nearest to x / ln 2. Adding 1.5 * 2^23 leaves n in the low bits.
        const ROUND: f32 = 12582912.0;
        let shifted = x * std::f32::consts::LOG2_E + ROUND;
        let n = shifted - ROUND;
        let r = (x - n * LN_2.0) - n * LN_2.1;
        // The Taylor series, in pairs: a shorter chain than one term after another, so more elements are under way at once.
        let r2 = r * r;
        let low = 0.5 + r * (1.0 / 6.0);
        let middle = 1.0 / 24.0 + r * (1.0 / 120.0);
        let high = 1.0 / 720.0 + r * (1.0 / 5040.0);
        let p = (low + r2 * (middle + r2 * high)) * r2 + r + 1.0;
        // Twice half the exponent: 2^n itself may be out of range where the result is infinite or denormal.
        let n = (shifted.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32);
        let half = n >> 1;
        p * power_of_two(half) * power_of_two(n.wrapping_sub(half))
    }

    #[inline(always)]
    fn fast_ln(self) -> f32 {
        // Denormals are scaled up first.
        let tiny = self < f32::MIN_POSITIVE;
        let x = if tiny { self * 8388608.0 } else { self };
        let shift = if tiny { -23.0 } else { 0.0 };
        // x = 2^n m with m in [sqrt 1/2, sqrt 2): the exponent is counted from the mantissa of sqrt 1/2.
        const ROOT: u32 = 0x3f35_04f3;
        let from_root = x.to_bits().wrapping_sub(ROOT);
        let n = ((from_root as i32) >> 23) as f32 + shift;
        let m = f32::from_bits((from_root & 0x007f_ffff).wrapping_add(ROOT));
        // ln m = 2 artanh s.
        let f = m - 1.0;
        let s = f / (2.0 + f);
        let s2 = s * s;
        let p = 1.0 / 9.0;
        let p = p * s2 + 1.0 / 7.0;
        let p = p * s2 + 1.0 / 5.0;
        let p = p * s2 + 1.0 / 3.0;
        let ln_m = 2.0 * s + 2.0 * s * (s2 * p);
        let ln = n * LN_2.0 + (n * LN_2.1 + ln_m);
        let ln = if self == 0.0 { f32::NEG_INFINITY } else { ln };
        let ln = if self < 0.0 { f32::NAN } else { ln };
        // Infinity and NaN are their own logarithms.
        if self < f32::INFINITY { ln } else { self }
    }

    #[inline(always)]
    fn fast_tanh(self) -> f32 {
        // Near 0 a continued fraction, elsewhere 1 - 2 / (e^2x + 1), which would cancel near 0.
        let x = self.abs();
        let x2 = x * x;
        let near = x * (945.0 + x2 * (105.0 + x2)) / (945.0 + x2 * (420.0 + x2 * 15.0));
        let far = 1.0 - 2.0 / ((x + x).fast_exp() + 1.0);
        let y = if x < 0.625 { near } else { far };
        y.copysign(self)
    }
}

/// 2^n for -126 <= n <= 127.
#[inline(always)]
fn power_of_two(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127) as u32) << 23)
}

impl Math for f64 {
    #[inline(always)]
    fn fast_exp(self) -> f64 {
        self.exp()
    }

    #[inline(always)]
    fn fast_ln(self) -> f64 {
        self.ln()
    }

    #[inline(always)]
    fn fast_tanh(self) -> f64 {
        self.tanh()
    }
}

/// `out = e^x`.
#[multiversion(targets = "simd")]
pub fn exp<T: Math>(out: &mut [T], x: &[T]) {
    map(out, x, T::fast_exp);
}

/// `x = e^x`.
#[multiversion(targets = "simd")]
pub fn exp_assign<T: Math>(x: &mut [T]) {
    map_assign(x, T::fast_exp);
}

/// `out = ln x`.
#[multiversion(targets = "simd")]
pub fn ln<T: Math>(out: &mut [T], x: &[T]) {
    map(out, x, T::fast_ln);
}

/// `x = ln x`.
#[multiversion(targets = "simd")]
pub fn ln_assign<T: Math>(x: &mut [T]) {
    map_assign(x, T::fast_ln);
}

/// `out = tanh x`.
#[multiversion(targets = "simd")]
pub fn tanh<T: Math>(out: &mut [T], x: &[T]) {
    map(out, x, T::fast_tanh);
}

/// `x = tanh x`.
#[multiversion(targets = "simd")]
pub fn tanh_assign<T: Math>(x: &mut [T]) {
    map_assign(x, T::fast_tanh);
}

/// `out = 1 / (1 + e^-x)`.
#[multiversion(targets = "simd")]
pub fn sigmoid<T: Math>(out: &mut [T], x: &[T]) {
    map(out, x, T::fast_sigmoid);
}

/// `x = 1 / (1 + e^-x)`.
#[multiversion(targets = "simd")]
pub fn sigmoid_assign<T: Math>(x: &mut [T]) {
    map_assign(x, T::fast_sigmoid);
}

/// Softmax of every row of `x` of `cols` elements. No output is exactly 0: exponents are kept from falling below -64.
pub fn softmax_rows<T: Math>(out: &mut [T], x: &[T], cols: usize) {
    out.copy_from_slice(x);
    softmax_rows_assign(out, cols);
}

/// `softmax_rows` in place.
#[multiversion(targets = "simd")]
pub fn softmax_rows_assign<T: Math>(x: &mut [T], cols: usize) {
    if x.is_empty() {
        return;
    }
    assert!(cols > 0 && x.len().is_multiple_of(cols), "not a whole number of rows");
    let least = T::of(-64.0);
    // Many short rows at once, so that exponentials always run over long slices; few enough to stay in the cache.
    for rows in x.chunks_mut((4096 / cols).max(1) * cols) {
        for row in rows.chunks_exact_mut(cols) {
            let max = max_body(row);
            map_assign(row, |v| v - max);
        }
        map_assign(rows, |v| (if v < least { least } else { v }).fast_exp());
        for row in rows.chunks_exact_mut(cols) {
            let inverse = T::ONE / sum_body(row);
            map_assign(row, |v| v * inverse);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest error of `f` relative to `exact`, over many arguments from `low` to `high`.
    fn error(f: fn(f32) -> f32, exact: fn(f64) -> f64, low: f32, high: f32) -> f64 {
        let steps = 400_000;
        (0..=steps).fold(0.0, |worst: f64, i| {
            let x = low + (high - low) * (i as f32 / steps as f32);
            let want = exact(x.into());
            let error = if want == 0.0 { f64::from(f(x)).abs() } else { (f64::from(f(x)) / want - 1.0).abs() };
            worst.max(error)
        })
    }

    fn exact_sigmoid(x: f64) -> f64 {
        1.0 / (1.0 + (-x).exp())
    }

    #[test]
    fn fast_math_has_small_errors() {
        assert!(error(f32::fast_exp, f64::exp, -87.0, 88.7) < 1.5e-7);
        assert!(error(f32::fast_ln, f64::ln, 1e-3, 0.9) < 2e-7);
        assert!(error(f32::fast_ln, f64::ln, 0.9, 1.1) < 2e-7);
        assert!(error(f32::fast_ln, f64::ln, 1.1, 1e6) < 2e-7);
        assert!(error(f32::fast_tanh, f64::tanh, -20.0, 20.0) < 3e-7);
        assert!(error(f32::fast_tanh, f64::tanh, -0.7, 0.7) < 3e-7);
        assert!(error(f32::fast_sigmoid, exact_sigmoid, -80.0, 20.0) < 3e-7);
    }

    #[test]
    fn vector_math_is_right_at_the_ends_of_its_range() {
        assert_eq!(0f32.fast_exp(), 1.0);
        assert_eq!(89f32.fast_exp(), f32::INFINITY);
        assert_eq!(f32::INFINITY.fast_exp(), f32::INFINITY);
        assert_eq!(f32::NEG_INFINITY.fast_exp(), 0.0);
        assert!((f64::from((-100f32).fast_exp()) - (-100f64).exp()).abs() < 1e-45, "denormal results");
        assert_eq!(1f32.fast_ln(), 0.0);
        assert_eq!(0f32.fast_ln(), f32::NEG_INFINITY);
        assert_eq!(f32::INFINITY.fast_ln(), f32::INFINITY);
        assert!((1e-42f32.fast_ln() - 1e-42f32.ln()).abs() < 1e-5, "denormal arguments");
        assert!((-1f32).fast_ln().is_nan());
        assert_eq!((0f32.fast_tanh(), (-50f32).fast_tanh(), f32::INFINITY.fast_tanh()), (0.0, -1.0, 1.0));
        assert_eq!((f32::NEG_INFINITY.fast_sigmoid(), 0f32.fast_sigmoid(), 100f32.fast_sigmoid()), (0.0, 0.5, 1.0));
        for f in [f32::fast_exp, f32::fast_ln, f32::fast_tanh, f32::fast_sigmoid] {
            assert!(f(f32::NAN).is_nan());
        }
    }

    #[test]
    fn vector_loops_give_the_bits_of_one_element() {
        let x: Vec<f32> = (0..1003).map(|i| i as f32 * 0.173 - 80.0).collect();
        type Case = (fn(&mut [f32], &[f32]), fn(&mut [f32]), fn(f32) -> f32);
        let cases: [Case; 4] = [
            (exp, exp_assign, f32::fast_exp),
            (ln, ln_assign, f32::fast_ln),
            (tanh, tanh_assign, f32::fast_tanh),
            (sigmoid, sigmoid_assign, f32::fast_sigmoid),
        ];
        for (apart, in_place, one) in cases {
            let (mut out, mut same) = (vec![0.0; x.len()], x.clone());
            apart(&mut out, &x);
            in_place(&mut same);
            for ((out, same), x) in out.iter().zip(&same).zip(&x) {
                let want = one(*x);
                assert!(
                    want.is_nan() || (out.to_bits() == want.to_bits() && same.to_bits() == want.to_bits()),
                    "at {x}"
                );
            }
        }
    }

    #[test]
    fn softmax_of_rows() {
        let x = [1.0f32, 2.0, 3.0, -1000.0, 0.0, 0.0];
        let mut y = [0.0; 6];
        softmax_rows(&mut y, &x, 3);
        let want = [0.09003057, 0.24472847, 0.66524096, 8.0190e-29, 0.5, 0.5];
        for (y, want) in y.iter().zip(want) {
            assert!((y / want - 1.0).abs() < 1e-4, "{y} is not {want}");
        }
        softmax_rows::<f32>(&mut [], &[], 3);
    }
}
