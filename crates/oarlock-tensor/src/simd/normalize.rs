//! Loops of normalisation: deviations from a mean, summed and led back.

use multiversion::multiversion;

use super::reduce::{LANES, tree};
use crate::Float;

/// The sum of `(x - mean)^2`.
#[multiversion(targets = "simd")]
pub fn sum_of_squared_deviations<T: Float>(x: &[T], mean: T) -> T {
    let (chunks, rest) = x.as_chunks::<LANES>();
    let mut lanes = [T::ZERO; LANES];
    for chunk in chunks {
        for l in 0..LANES {
            let d = chunk[l] - mean;
            lanes[l] += d * d;
        }
    }
    let sum = if chunks.is_empty() { T::ZERO } else { tree(lanes, |a, b| a + b) };
    rest.iter().fold(sum, |sum, v| sum + (*v - mean) * (*v - mean))
}

/// The sum of `a (x - mean)`.
#[multiversion(targets = "simd")]
pub fn dot_deviations<T: Float>(a: &[T], x: &[T], mean: T) -> T {
    assert_eq!(a.len(), x.len(), "slices of different lengths");
    let ((a, a_rest), (x, x_rest)) = (a.as_chunks::<LANES>(), x.as_chunks::<LANES>());
    let mut lanes = [T::ZERO; LANES];
    for (a, x) in a.iter().zip(x) {
        for l in 0..LANES {
            lanes[l] += a[l] * (x[l] - mean);
        }
    }
    let sum = if a.is_empty() { T::ZERO } else { tree(lanes, |a, b| a + b) };
    a_rest.iter().zip(x_rest).fold(sum, |sum, (a, x)| sum + *a * (*x - mean))
}

/// `out = a d + b (x - mean) + c`: the gradient of a normalised slice.
#[multiversion(targets = "simd")]
pub fn normalize_grad<T: Float>(out: &mut [T], d: &[T], x: &[T], mean: T, [a, b, c]: [T; 3]) {
    assert!(out.len() == d.len() && d.len() == x.len(), "slices of different lengths");
    for ((out, d), x) in out.iter_mut().zip(d).zip(x) {
        *out = *d * a + (*x - mean) * b + c;
    }
}

#[test]
fn sums_and_gradients_equal_their_definitions() {
    for len in [0, 1, 31, 32, 100] {
        // Small integers: every order of summation gives the same.
        let x: Vec<f64> = (0..len).map(|i| (i % 7) as f64).collect();
        let a: Vec<f64> = (0..len).map(|i| (i % 5) as f64 - 2.0).collect();
        let squares: f64 = x.iter().map(|x| (x - 3.0) * (x - 3.0)).sum();
        let dots: f64 = a.iter().zip(&x).map(|(a, x)| a * (x - 3.0)).sum();
        assert_eq!(sum_of_squared_deviations(&x, 3.0), squares);
        assert_eq!(dot_deviations(&a, &x, 3.0), dots);
        let mut out = vec![0.0; len];
        normalize_grad(&mut out, &a, &x, 3.0, [2.0, -1.0, 0.5]);
        assert!(out.iter().zip(&a).zip(&x).all(|((out, a), x)| *out == 2.0 * a - (x - 3.0) + 0.5));
    }
}
