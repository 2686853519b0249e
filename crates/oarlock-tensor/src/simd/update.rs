//! The arithmetic of the optimizers, on parameters and their state.
//!
//! Element by element, so whole parameters, slices of them and single rows of a table are updated alike.

use multiversion::multiversion;

use super::prefetch::{AHEAD, prefetch};
use crate::Float;

/// Plain gradient descent.
#[multiversion(targets = "simd")]
pub fn sgd<T: Float>(param: &mut [T], grad: &[T], rate: T) {
    assert_eq!(param.len(), grad.len(), "slices of different lengths");
    for (p, g) in param.iter_mut().zip(grad) {
        *p -= rate * *g;
    }
}

/// Plain gradient descent of the rows `ids[range]` of a table, one after the other, so that a row named twice is updated twice. Their
/// gradients are rows of `width` elements, `stride` apart from the first element of `grads` on; with a stride of 0 all have the same.
///
/// Panics if the table has no such row or there are not enough gradients.
#[multiversion(targets = "simd")]
pub fn sgd_rows<T: Float>(
    table: &mut [T],
    width: usize,
    (ids, range): (&[i64], std::ops::Range<usize>),
    (grads, stride): (&[T], usize),
    rate: T,
) {
    for (i, at) in range.enumerate() {
        if let Some(&soon) = ids.get(at + AHEAD) {
            prefetch(table, (soon as usize).saturating_mul(width), width);
        }
        let row = &mut table[ids[at] as usize * width..][..width];
        for (p, g) in row.iter_mut().zip(&grads[i * stride..][..width]) {
            *p -= rate * *g;
        }
    }
}

/// How far `now` is from `before`, times `share`; `before` goes that way.
#[multiversion(targets = "simd")]
pub fn step_towards<T: Float>(way: &mut [T], before: &mut [T], now: &[T], share: T) {
    assert!(way.len() == now.len() && before.len() == now.len(), "slices of different lengths");
    for ((way, before), now) in way.iter_mut().zip(before).zip(now) {
        *way = (*now - *before) * share;
        *before += *way;
    }
}

/// Moves `own` as far as `after` is from `before`, which becomes `after`.
#[multiversion(targets = "simd")]
pub fn follow<T: Float>(own: &mut [T], before: &mut [T], after: &[T]) {
    assert!(own.len() == after.len() && before.len() == after.len(), "slices of different lengths");
    for ((own, before), after) in own.iter_mut().zip(before).zip(after) {
        *own += *after - *before;
        *before = *after;
    }
}

/// Momentum: the velocity decays by `momentum` and takes up the gradient; the parameter follows it.
#[multiversion(targets = "simd")]
pub fn momentum<T: Float>(param: &mut [T], velocity: &mut [T], grad: &[T], rate: T, momentum: T) {
    assert!(param.len() == grad.len() && velocity.len() == grad.len(), "slices of different lengths");
    for ((p, v), g) in param.iter_mut().zip(velocity).zip(grad) {
        *v = momentum * *v + *g;
        *p -= rate * *v;
    }
}

/// Nesterov's momentum: the parameter looks one decay ahead.
#[multiversion(targets = "simd")]
pub fn nesterov<T: Float>(param: &mut [T], velocity: &mut [T], grad: &[T], rate: T, momentum: T) {
    assert!(param.len() == grad.len() && velocity.len() == grad.len(), "slices of different lengths");
    for ((p, v), g) in param.iter_mut().zip(velocity).zip(grad) {
        *v = momentum * *v + *g;
        *p -= (*g + momentum * *v) * rate;
    }
}

/// The constants of Adam for one step.
#[derive(Debug, Clone, Copy)]
pub struct Adam<T> {
    /// The learning rate with the corrections for this step.
    pub rate: T,
    /// Decay of the mean of gradients.
    pub beta1: T,
    /// Decay of the mean of squared gradients.
    pub beta2: T,
    /// Added to the root.
    pub epsilon: T,
}

impl<T: Float> Adam<T> {
    /// The constants for a step in which the powers of the decays are `power1` and `power2`.
    pub fn new(rate: T, (beta1, beta2): (T, T), (power1, power2): (T, T), epsilon: T) -> Self {
        Adam { rate: rate * (T::ONE - power2).sqrt() / (T::ONE - power1), beta1, beta2, epsilon }
    }
}

/// Adam.
#[multiversion(targets = "simd")]
pub fn adam<T: Float>(param: &mut [T], mean: &mut [T], square: &mut [T], grad: &[T], step: Adam<T>) {
    let len = grad.len();
    assert!(param.len() == len && mean.len() == len && square.len() == len, "slices of different lengths");
    let Adam { rate, beta1, beta2, epsilon } = step;
    let (new1, new2) = (T::ONE - beta1, T::ONE - beta2);
    for (((p, m), v), g) in param.iter_mut().zip(mean).zip(square).zip(grad) {
        *m = beta1 * *m + new1 * *g;
        *v = beta2 * *v + new2 * *g * *g;
        *p -= rate * (*m / (v.sqrt() + epsilon));
    }
}

/// Adagrad: the rate falls with the sum of squared gradients.
#[multiversion(targets = "simd")]
pub fn adagrad<T: Float>(param: &mut [T], moment: &mut [T], grad: &[T], rate: T, epsilon: T) {
    assert!(param.len() == grad.len() && moment.len() == grad.len(), "slices of different lengths");
    for ((p, m), g) in param.iter_mut().zip(moment).zip(grad) {
        *m += *g * *g;
        *p -= rate * *g / (m.sqrt() + epsilon);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const P: [f64; 3] = [1.0, -2.0, 3.0];
    const G: [f64; 3] = [0.5, 0.25, -1.0];

    #[test]
    fn optimizer_loops_equal_steps_by_hand() {
        let mut p = P;
        sgd(&mut p, &G, 0.1);
        assert_eq!(p, [0.95, -2.025, 3.1]);

        let (mut p, mut v) = (P, [0.0; 3]);
        momentum(&mut p, &mut v, &G, 0.5, 0.5);
        momentum(&mut p, &mut v, &G, 0.5, 0.5);
        assert_eq!(v, [0.75, 0.375, -1.5]);
        assert_eq!(p, [0.375, -2.3125, 4.25]);

        let (mut p, mut v) = (P, [0.0; 3]);
        nesterov(&mut p, &mut v, &G, 0.5, 0.5);
        assert_eq!(p, [0.625, -2.1875, 3.75]);

        let (mut p, mut m) = (P, [0.0; 3]);
        adagrad(&mut p, &mut m, &G, 0.5, 0.0);
        assert_eq!((p, m), ([0.5, -2.5, 3.5], [0.25, 0.0625, 1.0]));
    }

    #[test]
    fn the_first_step_of_adam_is_the_rate() {
        // With the corrections, mean / root is the sign of the gradient whatever its size.
        let (mut p, mut m, mut v) = (P, [0.0; 3], [0.0; 3]);
        let step = Adam::new(0.01, (0.9, 0.999), (0.9, 0.999), 0.0);
        adam(&mut p, &mut m, &mut v, &G, step);
        for (p, want) in p.iter().zip([0.99, -2.01, 3.01]) {
            assert!((p - want).abs() < 1e-12, "{p} is not {want}");
        }
    }

    #[test]
    fn bits_of_an_update_do_not_depend_on_its_partition() {
        let numbers = |scale: f32| (0..101).map(|i| (i as f32 * scale).sin()).collect::<Vec<f32>>();
        let (g, p) = (numbers(0.31), numbers(0.77));
        let step = Adam::new(0.01f32, (0.9, 0.999), (0.9, 0.999), 1e-8);
        let (mut whole, mut m, mut v) = (p.clone(), vec![0.1; 101], vec![0.2; 101]);
        adam(&mut whole, &mut m, &mut v, &g, step);
        let (mut parts, mut m, mut v) = (p, vec![0.1; 101], vec![0.2; 101]);
        for r in [0..3, 3..50, 50..101] {
            adam(&mut parts[r.clone()], &mut m[r.clone()], &mut v[r.clone()], &g[r], step);
        }
        assert_eq!(whole, parts);
    }
}
