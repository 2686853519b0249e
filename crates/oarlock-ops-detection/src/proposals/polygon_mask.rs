//! Pixels inside a polygon, by the rule of the COCO tools: edges are drawn on a grid five times as fine, and a pixel of a column
//! changes sides at each crossing of its centre line.

/// Steps of the fine grid in a pixel.
const FINE: f64 = 5.0;

/// The farthest a corner may lie from the box; beyond it, only the border matters.
const FAR: f64 = 1e5;

/// The pixels, row after row, of a square of `side` pixels that lie inside a polygon given by corners in pixels.
pub(crate) fn polygon_mask(corners: &[[f32; 2]], side: usize) -> Vec<bool> {
    let line = outline(corners);
    let mut changes: Vec<usize> = line.windows(2).filter_map(|pair| crossing(pair[0], pair[1], side)).collect();
    changes.sort_unstable();
    // Columns one after the other: between an odd crossing and the next, pixels are inside.
    let mut columns = vec![false; side * side];
    for pair in changes.chunks(2) {
        let end = pair.get(1).copied().unwrap_or(side * side);
        columns[pair[0]..end].iter_mut().for_each(|pixel| *pixel = true);
    }
    (0..side * side).map(|i| columns[i % side * side + i / side]).collect()
}

/// The points of the fine grid that the edges pass, in order.
fn outline(corners: &[[f32; 2]]) -> Vec<(i64, i64)> {
    let fine = |v: f32| (FINE * f64::from(v).clamp(-FAR, FAR) + 0.5) as i64;
    let points: Vec<(i64, i64)> = corners.iter().map(|c| (fine(c[0]), fine(c[1]))).collect();
    let mut line = Vec::new();
    for (i, &from) in points.iter().enumerate() {
        let to = points[(i + 1) % points.len()];
        let (dx, dy) = ((to.0 - from.0).abs(), (to.1 - from.1).abs());
        let flip = dx >= dy && from.0 > to.0 || dx < dy && from.1 > to.1;
        let (start, end) = if flip { (to, from) } else { (from, to) };
        let steps = dx.max(dy);
        let slope = |rise: i64| if steps == 0 { 0.0 } else { rise as f64 / steps as f64 };
        for d in 0..=steps {
            let t = if flip { steps - d } else { d };
            line.push(if dx >= dy {
                (start.0 + t, (start.1 as f64 + slope(end.1 - start.1) * t as f64 + 0.5) as i64)
            } else {
                ((start.0 as f64 + slope(end.0 - start.0) * t as f64 + 0.5) as i64, start.1 + t)
            });
        }
    }
    line
}

/// Where a step of the outline crosses the centre line of a column of pixels: the number of the pixel below, columns one after the
/// other.
fn crossing(from: (i64, i64), to: (i64, i64), side: usize) -> Option<usize> {
    if from.0 == to.0 {
        return None;
    }
    let centre = |v: i64| (v as f64 + 0.5) / FINE - 0.5;
    let x = centre(if to.0 < from.0 { to.0 } else { to.0 - 1 });
    if x.floor() != x || x < 0.0 || x > side as f64 - 1.0 {
        return None;
    }
    let y = centre(from.1.min(to.1)).clamp(0.0, side as f64).ceil();
    Some(x as usize * side + y as usize)
}

#[test]
fn square_fills_its_pixels() {
    let mask = polygon_mask(&[[1.0, 1.0], [3.0, 1.0], [3.0, 4.0], [1.0, 4.0]], 4);
    let rows: Vec<Vec<u8>> = mask.chunks(4).map(|row| row.iter().map(|b| u8::from(*b)).collect()).collect();
    assert_eq!(rows, [[0, 0, 0, 0], [0, 1, 1, 0], [0, 1, 1, 0], [0, 1, 1, 0]]);
    assert_eq!(polygon_mask(&[], 2), [false; 4]);
    assert!(
        polygon_mask(&[[-1e30, -1e30], [1e30, -1e30], [1e30, 1e30], [-1e30, 1e30]], 2).iter().all(|inside| *inside)
    );
}
