//! Arithmetic, element by element and by rows.

use multiversion::multiversion;

use crate::Float;

/// `out = a + b`.
#[multiversion(targets = "simd")]
pub fn add<T: Float>(out: &mut [T], a: &[T], b: &[T]) {
    zip(out, a, b, |a, b| a + b);
}

/// `a += b`.
#[multiversion(targets = "simd")]
pub fn add_assign<T: Float>(a: &mut [T], b: &[T]) {
    zip_assign(a, b, |a, b| a + b);
}

/// `out = a - b`.
#[multiversion(targets = "simd")]
pub fn sub<T: Float>(out: &mut [T], a: &[T], b: &[T]) {
    zip(out, a, b, |a, b| a - b);
}

/// `a -= b`.
#[multiversion(targets = "simd")]
pub fn sub_assign<T: Float>(a: &mut [T], b: &[T]) {
    zip_assign(a, b, |a, b| a - b);
}

/// `out = a * b`.
#[multiversion(targets = "simd")]
pub fn mul<T: Float>(out: &mut [T], a: &[T], b: &[T]) {
    zip(out, a, b, |a, b| a * b);
}

/// `a *= b`.
#[multiversion(targets = "simd")]
pub fn mul_assign<T: Float>(a: &mut [T], b: &[T]) {
    zip_assign(a, b, |a, b| a * b);
}

/// `out = a / b`.
#[multiversion(targets = "simd")]
pub fn div<T: Float>(out: &mut [T], a: &[T], b: &[T]) {
    zip(out, a, b, |a, b| a / b);
}

/// `a /= b`.
#[multiversion(targets = "simd")]
pub fn div_assign<T: Float>(a: &mut [T], b: &[T]) {
    zip_assign(a, b, |a, b| a / b);
}

/// `y += a x`.
#[multiversion(targets = "simd")]
pub fn axpy<T: Float>(y: &mut [T], a: T, x: &[T]) {
    zip_assign(y, x, |y, x| y + a * x);
}

/// `y += a b`.
#[multiversion(targets = "simd")]
pub fn mul_add_assign<T: Float>(y: &mut [T], a: &[T], b: &[T]) {
    zip_update(y, a, b, |y, a, b| y + a * b);
}

/// `y -= a b`.
#[multiversion(targets = "simd")]
pub fn mul_sub_assign<T: Float>(y: &mut [T], a: &[T], b: &[T]) {
    zip_update(y, a, b, |y, a, b| y - a * b);
}

/// `x *= a`.
#[multiversion(targets = "simd")]
pub fn scale<T: Float>(x: &mut [T], a: T) {
    map_assign(x, |x| x * a);
}

/// `out = a x + b`.
#[multiversion(targets = "simd")]
pub fn scale_bias<T: Float>(out: &mut [T], x: &[T], a: T, b: T) {
    map(out, x, |x| x * a + b);
}

/// `x = a x + b`.
#[multiversion(targets = "simd")]
pub fn scale_bias_assign<T: Float>(x: &mut [T], a: T, b: T) {
    map_assign(x, |x| x * a + b);
}

/// `out = x x`.
#[multiversion(targets = "simd")]
pub fn square<T: Float>(out: &mut [T], x: &[T]) {
    map(out, x, |x| x * x);
}

/// `out = sqrt x`.
#[multiversion(targets = "simd")]
pub fn sqrt<T: Float>(out: &mut [T], x: &[T]) {
    map(out, x, |x| x.sqrt());
}

/// `out = max(x, 0)`; NaN stays NaN, so that a check for it finds it.
#[multiversion(targets = "simd")]
pub fn relu<T: Float>(out: &mut [T], x: &[T]) {
    map(out, x, positive);
}

/// `x = max(x, 0)`; NaN stays NaN.
#[multiversion(targets = "simd")]
pub fn relu_assign<T: Float>(x: &mut [T]) {
    map_assign(x, positive);
}

/// `dx = dy` where the output `y` of `relu` is positive, else 0.
#[multiversion(targets = "simd")]
pub fn relu_grad<T: Float>(dx: &mut [T], y: &[T], dy: &[T]) {
    zip(dx, y, dy, |y, dy| if y > T::ZERO { dy } else { T::ZERO });
}

/// `dy = 0` where the output `y` of `relu` is not positive.
#[multiversion(targets = "simd")]
pub fn relu_grad_assign<T: Float>(dy: &mut [T], y: &[T]) {
    zip_assign(dy, y, |dy, y| if y > T::ZERO { dy } else { T::ZERO });
}

/// `dy *= y (1 - y)`: the gradient of a sigmoid by its output `y`.
#[multiversion(targets = "simd")]
pub fn sigmoid_grad_assign<T: Float>(dy: &mut [T], y: &[T]) {
    zip_assign(dy, y, |dy, y| dy * y * (T::ONE - y));
}

/// `dy *= 1 - y y`: the gradient of a hyperbolic tangent by its output `y`.
#[multiversion(targets = "simd")]
pub fn tanh_grad_assign<T: Float>(dy: &mut [T], y: &[T]) {
    zip_assign(dy, y, |dy, y| dy * (T::ONE - y * y));
}

/// Adds `bias` to every row of `x`.
#[multiversion(targets = "simd")]
pub fn add_bias<T: Float>(x: &mut [T], bias: &[T]) {
    rows(x, bias, |x, b| x + b);
}

/// Adds `bias` to every row of `x`, then takes `relu`: the bits of `add_bias` and `relu_assign`, in one pass.
#[multiversion(targets = "simd")]
pub fn add_bias_relu<T: Float>(x: &mut [T], bias: &[T]) {
    rows(x, bias, |x, b| positive(x + b));
}

#[inline(always)]
fn positive<T: Float>(x: T) -> T {
    if x < T::ZERO { T::ZERO } else { x }
}

#[inline(always)]
pub(super) fn map<T: Float>(out: &mut [T], x: &[T], f: impl Fn(T) -> T) {
    assert_eq!(out.len(), x.len(), "slices of different lengths");
    for (out, x) in out.iter_mut().zip(x) {
        *out = f(*x);
    }
}

#[inline(always)]
pub(super) fn map_assign<T: Float>(x: &mut [T], f: impl Fn(T) -> T) {
    for x in x {
        *x = f(*x);
    }
}

#[inline(always)]
fn zip<T: Float>(out: &mut [T], a: &[T], b: &[T], f: impl Fn(T, T) -> T) {
    assert!(out.len() == a.len() && a.len() == b.len(), "slices of different lengths");
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        *out = f(*a, *b);
    }
}

#[inline(always)]
fn zip_assign<T: Float>(a: &mut [T], b: &[T], f: impl Fn(T, T) -> T) {
    assert_eq!(a.len(), b.len(), "slices of different lengths");
    for (a, b) in a.iter_mut().zip(b) {
        *a = f(*a, *b);
    }
}

#[inline(always)]
fn zip_update<T: Float>(y: &mut [T], a: &[T], b: &[T], f: impl Fn(T, T, T) -> T) {
    assert!(y.len() == a.len() && a.len() == b.len(), "slices of different lengths");
    for ((y, a), b) in y.iter_mut().zip(a).zip(b) {
        *y = f(*y, *a, *b);
    }
}

#[inline(always)]
fn rows<T: Float>(x: &mut [T], bias: &[T], f: impl Fn(T, T) -> T) {
    if x.is_empty() {
        return;
    }
    assert!(!bias.is_empty() && x.len().is_multiple_of(bias.len()), "not a whole number of rows");
    for row in x.chunks_exact_mut(bias.len()) {
        for (x, b) in row.iter_mut().zip(bias) {
            *x = f(*x, *b);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(len: usize) -> (Vec<f32>, Vec<f32>) {
        let a = (0..len).map(|i| (i as f32 * 0.37).sin() * 3.0).collect();
        let b = (0..len).map(|i| (i as f32 * 0.73).cos() * 2.0 + 3.0).collect();
        (a, b)
    }

    #[test]
    fn loops_equal_their_definitions_at_any_length() {
        type Case = (fn(&mut [f32], &[f32], &[f32]), fn(&mut [f32], &[f32]), fn(f32, f32) -> f32);
        let cases: [Case; 4] = [
            (add, add_assign, |a, b| a + b),
            (sub, sub_assign, |a, b| a - b),
            (mul, mul_assign, |a, b| a * b),
            (div, div_assign, |a, b| a / b),
        ];
        for len in [0, 1, 7, 16, 33, 1000] {
            let (a, b) = numbers(len);
            for (apart, in_place, definition) in cases {
                let want: Vec<f32> = a.iter().zip(&b).map(|(a, b)| definition(*a, *b)).collect();
                let mut out = vec![0.0; len];
                apart(&mut out, &a, &b);
                assert_eq!(out, want);
                out.copy_from_slice(&a);
                in_place(&mut out, &b);
                assert_eq!(out, want);
            }
            let mut y = a.clone();
            axpy(&mut y, 0.3, &b);
            assert!(y.iter().zip(a.iter().zip(&b)).all(|(y, (a, b))| *y == a + 0.3 * b));
            y.copy_from_slice(&a);
            mul_add_assign(&mut y, &a, &b);
            assert!(y.iter().zip(a.iter().zip(&b)).all(|(y, (a, b))| *y == a + a * b));
            mul_sub_assign(&mut y, &a, &b);
            assert!(y.iter().zip(a.iter().zip(&b)).all(|(y, (a, b))| *y == (a + a * b) - a * b));
            scale_bias(&mut y, &a, 0.3, -1.0);
            let mut z = a.clone();
            scale_bias_assign(&mut z, 0.3, -1.0);
            assert!(y.iter().zip(&z).zip(&a).all(|((y, z), a)| y == z && *y == a * 0.3 - 1.0));
            scale(&mut z, 2.0);
            assert!(z.iter().zip(&y).all(|(z, y)| *z == y * 2.0));
            square(&mut y, &a);
            sqrt(&mut z, &y);
            assert!(y.iter().zip(&z).zip(&a).all(|((y, z), a)| *y == a * a && *z == y.sqrt()));
        }
    }

    #[test]
    fn relu_and_its_gradient() {
        let x = [-1.0f32, 0.0, 2.0, f32::NAN];
        let mut y = [9.0; 4];
        relu(&mut y, &x);
        assert_eq!(y[..3], [0.0, 0.0, 2.0]);
        assert!(y[3].is_nan());
        let mut in_place = x;
        relu_assign(&mut in_place);
        assert_eq!(in_place[..3], y[..3]);
        let mut dx = [9.0; 4];
        relu_grad(&mut dx, &y, &[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(dx, [0.0, 0.0, 3.0, 0.0]);
        let mut dy = [1.0, 2.0, 3.0, 4.0];
        relu_grad_assign(&mut dy, &y);
        assert_eq!(dy, dx);
    }

    #[test]
    fn gradients_are_computed_from_outputs() {
        let mut d = [2.0f32, -1.0];
        sigmoid_grad_assign(&mut d, &[0.5, 0.25]);
        assert_eq!(d, [0.5, -0.1875]);
        tanh_grad_assign(&mut d, &[0.5, -1.0]);
        assert_eq!(d, [0.375, 0.0]);
    }

    #[test]
    fn bias_goes_to_every_row() {
        let mut x = [1.0f64, -5.0, 0.5, -2.0, 3.0, -9.0];
        let mut fused = x;
        add_bias(&mut x, &[1.0, 2.0, 3.0]);
        assert_eq!(x, [2.0, -3.0, 3.5, -1.0, 5.0, -6.0]);
        add_bias_relu(&mut fused, &[1.0, 2.0, 3.0]);
        relu_assign(&mut x);
        assert_eq!(x, fused);
        add_bias::<f32>(&mut [], &[]);
    }

    #[test]
    fn slices_of_other_lengths_are_refused() {
        assert!(std::panic::catch_unwind(|| add(&mut [0.0; 2], &[0.0; 3], &[0.0; 3])).is_err());
        assert!(std::panic::catch_unwind(|| add_bias(&mut [0.0; 4], &[0.0; 3])).is_err());
    }
}
