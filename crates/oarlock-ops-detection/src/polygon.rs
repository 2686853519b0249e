//! Polygons as lists of points: area, and how much two of them overlap.

use oarlock_tensor::Float;

type Point = (f64, f64);

fn points<T: Float>(polygon: &[T]) -> Vec<Point> {
    polygon.chunks_exact(2).map(|p| (p[0].f64(), p[1].f64())).collect()
}

/// The edges of a closed polygon.
fn edges(points: &[Point]) -> impl Iterator<Item = (Point, Point)> + '_ {
    points.iter().zip(points.iter().cycle().skip(1)).map(|(a, b)| (*a, *b))
}

fn area(points: &[Point]) -> f64 {
    if points.len() < 3 {
        return 0.0;
    }
    edges(points).map(|(a, b)| a.0 * b.1 - a.1 * b.0).sum::<f64>().abs() / 2.0
}

/// Intersection over union of two polygons, given as x, y, x, y, ...
pub(crate) fn overlap<T: Float>(a: &[T], b: &[T]) -> T {
    let (a, b) = (points(a), points(b));
    let (area_a, area_b) = (area(&a), area(&b));
    if area_a == 0.0 || area_b == 0.0 {
        return T::ZERO;
    }
    let common = common_area(&a, &b);
    if common == 0.0 { T::ZERO } else { T::of(common / (area_a + area_b - common)) }
}

/// The area that lies inside both polygons, by the even-odd rule.
///
/// Between two neighbouring heights at which there is a corner or a crossing, edges are straight and do not cross, so the
/// common width changes linearly: its value in the middle times the height is the exact area.
fn common_area(a: &[Point], b: &[Point]) -> f64 {
    let span = |p: &[Point], of: fn(&Point) -> f64| {
        p.iter().map(of).fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
    };
    for of in [(|p| p.0) as fn(&Point) -> f64, |p| p.1] {
        let ((a_low, a_high), (b_low, b_high)) = (span(a, of), span(b, of));
        if a_low.max(b_low) >= a_high.min(b_high) {
            return 0.0;
        }
    }
    let mut heights: Vec<f64> = a.iter().chain(b).map(|p| p.1).collect();
    for e in edges(a).chain(edges(b)) {
        heights.extend(edges(a).chain(edges(b)).filter_map(|f| crossing(e, f)));
    }
    heights.sort_by(f64::total_cmp);
    let slab = |w: &[f64]| (w[1] - w[0]) * common_width(a, b, (w[0] + w[1]) / 2.0);
    heights.windows(2).filter(|w| w[1] > w[0]).map(slab).sum()
}

/// The height at which two edges cross.
fn crossing((a, b): (Point, Point), (c, d): (Point, Point)) -> Option<f64> {
    let (ab, cd) = ((b.0 - a.0, b.1 - a.1), (d.0 - c.0, d.1 - c.1));
    let cross = ab.0 * cd.1 - ab.1 * cd.0;
    let t = ((c.0 - a.0) * cd.1 - (c.1 - a.1) * cd.0) / cross;
    let u = ((c.0 - a.0) * ab.1 - (c.1 - a.1) * ab.0) / cross;
    ((0.0..=1.0).contains(&t) && (0.0..=1.0).contains(&u)).then_some(a.1 + t * ab.1)
}

/// How much of the horizontal line at `y` lies inside both polygons.
fn common_width(a: &[Point], b: &[Point], y: f64) -> f64 {
    let cuts = |polygon: &[Point], of: usize| {
        let cut = |(p, q): (Point, Point)| {
            ((p.1 <= y) != (q.1 <= y)).then(|| (p.0 + (y - p.1) / (q.1 - p.1) * (q.0 - p.0), of))
        };
        edges(polygon).filter_map(cut).collect::<Vec<_>>()
    };
    let mut cuts = [cuts(a, 0), cuts(b, 1)].concat();
    cuts.sort_by(|p, q| p.0.total_cmp(&q.0));
    let (mut inside, mut width) = ([false; 2], 0.0);
    for w in cuts.windows(2) {
        inside[w[0].1] = !inside[w[0].1];
        if inside == [true; 2] {
            width += w[1].0 - w[0].0;
        }
    }
    width
}

#[test]
fn overlap_of_squares_triangles_and_notches() {
    let square = [0.0f32, 0.0, 2.0, 0.0, 2.0, 2.0, 0.0, 2.0];
    assert_eq!(overlap(&square, &square), 1.0);
    let moved = square.map(|v| v + 1.0);
    assert!((overlap(&square, &moved) - 1.0 / 7.0).abs() < 1e-6);
    let diamond = [1.0f32, -1.0, 3.0, 1.0, 1.0, 3.0, -1.0, 1.0];
    // The diamond of area 8 covers the square of area 4.
    assert!((overlap(&diamond, &square) - 0.5).abs() < 1e-6);
    let notched = [0.0f32, 0.0, 1.0, 1.0, 2.0, 0.0, 2.0, 2.0];
    let inside = [0.8f32, 0.0, 1.2, 0.0, 1.2, 0.5, 0.8, 0.5];
    assert_eq!(overlap(&notched, &inside), 0.0);
    assert_eq!(overlap(&square, &[9.0f32, 9.0, 10.0, 9.0, 10.0, 10.0, 9.0, 10.0]), 0.0);
    assert_eq!(overlap(&square, &[1.0f32; 8]), 0.0);
}
