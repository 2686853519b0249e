//! Arithmetic of boxes `[left, top, right, bottom]`.
//!
//! Pixel boxes count their right and bottom pixels, so that a box from 2 to 4 is 3 wide; normalized ones do not.

use oarlock_tensor::Float;

/// A box.
pub(crate) type Box4<T> = [T; 4];

/// What a pixel box is larger than the difference of its sides.
pub(crate) fn border<T: Float>(normalized: bool) -> T {
    if normalized { T::ZERO } else { T::ONE }
}

/// The area of a box; 0 if its sides are exchanged.
pub(crate) fn area<T: Float>(b: &Box4<T>, normalized: bool) -> T {
    if b[2] < b[0] || b[3] < b[1] {
        return T::ZERO;
    }
    let border = border::<T>(normalized);
    (b[2] - b[0] + border) * (b[3] - b[1] + border)
}

/// Intersection over union; 0 of boxes that do not touch.
pub(crate) fn jaccard<T: Float>(a: &Box4<T>, b: &Box4<T>, normalized: bool) -> T {
    if b[0] > a[2] || b[2] < a[0] || b[1] > a[3] || b[3] < a[1] {
        return T::ZERO;
    }
    let border = border::<T>(normalized);
    let width = a[2].min(b[2]) - a[0].max(b[0]) + border;
    let height = a[3].min(b[3]) - a[1].max(b[1]) + border;
    let common = width * height;
    common / (area(a, normalized) + area(b, normalized) - common)
}

/// Intersection over union of each of `rows` with each of `cols`, pixel boxes both.
pub(crate) fn overlaps<T: Float>(rows: &[Box4<T>], cols: &[Box4<T>]) -> Vec<T> {
    let size = |b: &Box4<T>| (b[2] - b[0] + T::ONE) * (b[3] - b[1] + T::ONE);
    let one = |a: &Box4<T>, b: &Box4<T>| {
        let width = (a[2].min(b[2]) - a[0].max(b[0]) + T::ONE).max(T::ZERO);
        let height = (a[3].min(b[3]) - a[1].max(b[1]) + T::ONE).max(T::ZERO);
        let common = width * height;
        if common == T::ZERO { T::ZERO } else { common / (size(a) + size(b) - common) }
    };
    rows.iter().flat_map(|a| cols.iter().map(move |b| one(a, b))).collect()
}

/// Width, height and centre of a box.
pub(crate) fn centred<T: Float>(b: &Box4<T>, normalized: bool) -> Centred<T> {
    let (border, half) = (border::<T>(normalized), T::of(0.5));
    let (w, h) = (b[2] - b[0] + border, b[3] - b[1] + border);
    Centred { x: b[0] + w * half, y: b[1] + h * half, w, h }
}

/// A box by its centre.
#[derive(Clone, Copy)]
pub(crate) struct Centred<T> {
    pub(crate) x: T,
    pub(crate) y: T,
    pub(crate) w: T,
    pub(crate) h: T,
}

impl<T: Float> Centred<T> {
    /// This box moved by the first two of `delta` times its sides, its sides multiplied by the exponentials of the others.
    pub(crate) fn moved(&self, delta: [T; 4]) -> Centred<T> {
        Centred {
            x: delta[0] * self.w + self.x,
            y: delta[1] * self.h + self.y,
            w: delta[2].exp() * self.w,
            h: delta[3].exp() * self.h,
        }
    }

    /// The numbers that move this box to `target`.
    pub(crate) fn delta_to(&self, target: &Centred<T>) -> [T; 4] {
        [
            (target.x - self.x) / self.w,
            (target.y - self.y) / self.h,
            (target.w / self.w).abs().ln(),
            (target.h / self.h).abs().ln(),
        ]
    }

    /// The box by its sides.
    pub(crate) fn sides(&self, normalized: bool) -> Box4<T> {
        let (border, half) = (border::<T>(normalized), T::of(0.5));
        let (w, h) = (self.w * half, self.h * half);
        [self.x - w, self.y - h, self.x + w - border, self.y + h - border]
    }
}

/// A box with its sides brought into `0..=right` and `0..=bottom`.
pub(crate) fn clipped<T: Float>(b: &Box4<T>, right: T, bottom: T) -> Box4<T> {
    let fit = |v: T, high: T| v.min(high).max(T::ZERO);
    [fit(b[0], right), fit(b[1], bottom), fit(b[2], right), fit(b[3], bottom)]
}

#[test]
fn pixel_boxes_count_their_border() {
    let (a, b) = ([0.0f32, 0.0, 2.0, 1.0], [1.0, 0.0, 3.0, 1.0]);
    assert_eq!((area(&a, true), area(&a, false)), (2.0, 6.0));
    assert_eq!((jaccard(&a, &b, true), jaccard(&a, &b, false)), (1.0 / 3.0, 0.5));
    assert_eq!(overlaps(&[a], &[b, [9.0, 9.0, 10.0, 10.0]]), [0.5, 0.0]);
    let centred = centred(&a, false);
    assert_eq!(centred.moved([0.0; 4]).sides(false), a);
    assert_eq!(clipped(&[-1.0, -1.0, 9.0, 3.0], 4.0, 4.0), [0.0, 0.0, 4.0, 3.0]);
}
