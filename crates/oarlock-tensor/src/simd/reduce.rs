//! Reductions, in an order that depends on nothing but the length.

use multiversion::multiversion;

use crate::Float;

/// Partial results kept side by side: enough for four of the narrower vector registers, which hides the latency of an addition.
pub(super) const LANES: usize = 32;

/// The sum of all elements.
#[multiversion(targets = "simd")]
pub fn sum<T: Float>(x: &[T]) -> T {
    sum_body(x)
}

#[inline(always)]
pub(super) fn sum_body<T: Float>(x: &[T]) -> T {
    let (chunks, rest) = x.as_chunks::<LANES>();
    let mut lanes = [T::ZERO; LANES];
    for chunk in chunks {
        for l in 0..LANES {
            lanes[l] += chunk[l];
        }
    }
    let sum = if chunks.is_empty() { T::ZERO } else { tree(lanes, |a, b| a + b) };
    rest.iter().fold(sum, |sum, v| sum + *v)
}

/// The sum of products of elements of `a` and `b`.
#[multiversion(targets = "simd")]
pub fn dot<T: Float>(a: &[T], b: &[T]) -> T {
    assert_eq!(a.len(), b.len(), "slices of different lengths");
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut lanes = [T::ZERO; LANES];
    for (a, b) in a.iter().zip(b) {
        for l in 0..LANES {
            lanes[l] += a[l] * b[l];
        }
    }
    let sum = if a.is_empty() { T::ZERO } else { tree(lanes, |a, b| a + b) };
    a_rest.iter().zip(b_rest).fold(sum, |sum, (a, b)| sum + *a * *b)
}

/// The sum of squares.
pub fn sum_of_squares<T: Float>(x: &[T]) -> T {
    dot(x, x)
}

/// The greatest element, minus infinity if there is none. NaN is passed over.
#[multiversion(targets = "simd")]
pub fn max<T: Float>(x: &[T]) -> T {
    max_body(x)
}

#[inline(always)]
pub(super) fn max_body<T: Float>(x: &[T]) -> T {
    extreme(x, -T::INFINITY, |a, b| if b > a { b } else { a })
}

/// The least element, infinity if there is none. NaN is passed over.
#[multiversion(targets = "simd")]
pub fn min<T: Float>(x: &[T]) -> T {
    extreme(x, T::INFINITY, |a, b| if b < a { b } else { a })
}

#[inline(always)]
fn extreme<T: Float>(x: &[T], start: T, pick: impl Fn(T, T) -> T) -> T {
    let (chunks, rest) = x.as_chunks::<LANES>();
    let mut lanes = [start; LANES];
    for chunk in chunks {
        for l in 0..LANES {
            lanes[l] = pick(lanes[l], chunk[l]);
        }
    }
    let best = if chunks.is_empty() { start } else { tree(lanes, &pick) };
    rest.iter().fold(best, |best, v| pick(best, *v))
}

/// Folds the upper half onto the lower until one is left.
#[inline(always)]
pub(super) fn tree<T: Float>(lanes: [T; LANES], f: impl Fn(T, T) -> T) -> T {
    // Seeing both, the compiler would arrange the lanes in the loop before for the folding here, and ruin that loop.
    let mut lanes = std::hint::black_box(lanes);
    let mut half = LANES / 2;
    while half > 0 {
        for l in 0..half {
            lanes[l] = f(lanes[l], lanes[l + half]);
        }
        half /= 2;
    }
    lanes[0]
}

/// Adds the sum of each column of `x`, a matrix with rows as long as `out`, to `out`: row after row.
#[multiversion(targets = "simd")]
pub fn add_column_sums<T: Float>(out: &mut [T], x: &[T]) {
    if x.is_empty() {
        return;
    }
    let cols = out.len();
    assert!(cols > 0 && x.len().is_multiple_of(cols), "not a whole number of rows");
    // Four rows per pass over `out`, in their order.
    let mut groups = x.chunks_exact(4 * cols);
    for group in groups.by_ref() {
        let (ab, cd) = group.split_at(2 * cols);
        let ((a, b), (c, d)) = (ab.split_at(cols), cd.split_at(cols));
        for ((((out, a), b), c), d) in out.iter_mut().zip(a).zip(b).zip(c).zip(d) {
            *out = *out + *a + *b + *c + *d;
        }
    }
    for row in groups.remainder().chunks_exact(cols) {
        for (out, v) in out.iter_mut().zip(row) {
            *out += *v;
        }
    }
}

/// `out` becomes the sum of each column of `x`, a matrix with rows as long as `out`: row after row.
pub fn column_sums<T: Float>(out: &mut [T], x: &[T]) {
    out.fill(T::ZERO);
    add_column_sums(out, x);
}

/// The index of the first element that is NaN or infinite.
#[multiversion(targets = "simd")]
pub fn first_non_finite<T: Float>(x: &[T]) -> Option<usize> {
    // Whole chunks are judged without branches; only a bad one is searched.
    const CHUNK: usize = 256;
    let bad = |chunk: &[T]| chunk.iter().fold(false, |bad, v| bad | !v.is_finite());
    let chunk = x.chunks(CHUNK).position(bad)?;
    let inside = x[chunk * CHUNK..].iter().position(|v| !v.is_finite())?;
    Some(chunk * CHUNK + inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reductions_equal_their_definitions() {
        for len in [0usize, 1, 31, 32, 33, 100, 1000] {
            // Small integers, so every order gives the same.
            let x: Vec<f32> = (0..len).map(|i| (i * 7 % 23) as f32 - 11.0).collect();
            let y: Vec<f32> = (0..len).map(|i| (i * 5 % 13) as f32 - 6.0).collect();
            assert_eq!(sum(&x), x.iter().sum::<f32>());
            assert_eq!(dot(&x, &y), x.iter().zip(&y).map(|(a, b)| a * b).sum::<f32>());
            assert_eq!(sum_of_squares(&x), x.iter().map(|a| a * a).sum::<f32>());
            assert_eq!(max(&x), x.iter().fold(f32::NEG_INFINITY, |a, b| a.max(*b)));
            assert_eq!(min(&x), x.iter().fold(f32::INFINITY, |a, b| a.min(*b)));
        }
    }

    #[test]
    fn columns_are_summed_row_after_row() {
        for rows in [0, 1, 4, 7] {
            let x: Vec<f32> = (0..rows * 5).map(|i| (i as f32 * 0.7).sin()).collect();
            let mut want = [0.0f32; 5];
            x.chunks(5).for_each(|row| row.iter().zip(&mut want).for_each(|(v, w)| *w += v));
            let mut got = [9.0; 5];
            column_sums(&mut got, &x);
            assert_eq!(got, want);
        }
    }

    #[test]
    fn finds_the_first_bad_element() {
        let mut x = vec![1.0f32; 1000];
        assert_eq!(first_non_finite(&x), None);
        assert_eq!(first_non_finite::<f64>(&[]), None);
        x[999] = f32::NAN;
        x[700] = f32::NEG_INFINITY;
        assert_eq!(first_non_finite(&x), Some(700));
    }
}
