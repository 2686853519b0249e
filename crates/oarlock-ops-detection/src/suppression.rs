//! Greedy non-maximum suppression: of boxes that overlap, the one with the highest score stays.

use oarlock_tensor::Float;

/// How far kept boxes may overlap.
#[derive(Clone, Copy)]
pub(crate) struct Threshold<T> {
    /// At most by this.
    pub(crate) overlap: T,
    /// The factor of the threshold after each kept box while it is above 0.5; 1 and more leave it alone.
    pub(crate) eta: T,
}

impl Threshold<f32> {
    /// In the type of the boxes.
    pub(crate) fn of<T: Float>(self) -> Threshold<T> {
        Threshold { overlap: T::of(self.overlap.into()), eta: T::of(self.eta.into()) }
    }
}

/// The boxes of `order`, best first, that overlap none of the kept ones by more than the threshold allows.
pub(crate) fn suppress<T: Float>(
    order: impl IntoIterator<Item = usize>,
    threshold: Threshold<T>,
    overlap: impl Fn(usize, usize) -> T,
) -> Vec<usize> {
    let (mut kept, mut limit) = (Vec::<usize>::new(), threshold.overlap);
    for i in order {
        // The comparison is false for NaN, which drops the box.
        if kept.iter().all(|&k| overlap(i, k) <= limit) {
            kept.push(i);
            if threshold.eta < T::ONE && limit > T::of(0.5) {
                limit *= threshold.eta;
            }
        }
    }
    kept
}

/// The indices of the scores above `least`, highest first, of equal ones the first, at most `top` of them.
pub(crate) fn ranked<T: Float>(scores: &[T], least: T, top: Option<usize>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).filter(|&i| scores[i] > least).collect();
    order.sort_by(|&i, &j| descending(scores[i], scores[j]));
    order.truncate(top.unwrap_or(usize::MAX));
    order
}

/// Highest first; NaN, which compares with nothing, goes last so that the order is total.
pub(crate) fn descending<T: Float>(a: T, b: T) -> std::cmp::Ordering {
    b.partial_cmp(&a).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

#[test]
fn kept_boxes_lower_an_adaptive_threshold() {
    let overlap = |_: usize, _: usize| 0.6f32;
    assert_eq!(suppress([3, 1, 2], Threshold { overlap: 0.7, eta: 1.0 }, overlap), [3, 1, 2]);
    assert_eq!(suppress([3, 1, 2], Threshold { overlap: 0.7, eta: 0.9 }, overlap), [3, 1]);
    assert_eq!(ranked(&[0.1, 0.5, f32::NAN, 0.5, 0.9], 0.2, Some(2)), [4, 1]);
}
