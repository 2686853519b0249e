use oarlock_tensor::Tensor;

/// How far two numbers may be apart: `|a - b| <= abs + rel * |b|`.
#[derive(Debug, Clone, Copy)]
pub struct Tolerance {
    /// Part that grows with the expected value.
    pub rel: f64,
    /// Fixed part.
    pub abs: f64,
}

impl Tolerance {
    /// A tolerance.
    pub const fn new(rel: f64, abs: f64) -> Tolerance {
        Tolerance { rel, abs }
    }

    /// The same bits.
    pub const EXACT: Tolerance = Tolerance::new(0.0, 0.0);
}

/// Are two tensors of one dtype, size and LoD, with elements within the tolerance? Says what differs first.
pub fn close(found: &Tensor, expected: &Tensor, tol: Tolerance) -> Result<(), String> {
    if found.dtype() != expected.dtype() || found.dims() != expected.dims() {
        return Err(format!("is {}{}, expected {}{}", found.dtype(), found.dims(), expected.dtype(), expected.dims()));
    }
    if found.lod() != expected.lod() {
        return Err(format!("has LoD {:?}, expected {:?}", found.lod(), expected.lod()));
    }
    let pairs = found.to_f64().into_iter().zip(expected.to_f64());
    for (i, (a, b)) in pairs.enumerate() {
        let same = a == b || (a.is_nan() && b.is_nan());
        // A nan or an infinity on one side alone is never near.
        let near = (a - b).is_finite() && (a - b).abs() <= tol.abs + tol.rel * b.abs();
        if !same && !near {
            return Err(format!("element {i} is {a}, expected {b}"));
        }
    }
    Ok(())
}

/// Fails the test unless [`close`].
#[track_caller]
pub fn assert_close(what: &str, found: &Tensor, expected: &Tensor, tol: Tolerance) {
    if let Err(e) = close(found, expected, tol) {
        panic!("{what} {e}");
    }
}
