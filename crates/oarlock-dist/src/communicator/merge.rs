//! Several gradients of one variable as one.

use oarlock_ir::{Error, Kind, Result};
use oarlock_tensor::{DType, Tensor, Value, simd};

/// What gradients that are merged become.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Merge {
    /// Their mean: a step as long as one of them.
    #[default]
    Mean,
    /// Their sum: as if each had made its step.
    Sum,
}

/// Adds `more` to `all`. Rows are listed one after the other; whoever applies them adds up repeated ones.
pub(crate) fn add(all: &mut Value, more: &Value) -> Result<()> {
    match (all, more) {
        (Value::Dense(all), Value::Dense(more)) => add_dense(all, more),
        (Value::Rows(all), Value::Rows(more)) => {
            let rows = all.rows.len() + more.rows.len();
            all.rows.extend_from_slice(&more.rows);
            let mut joined = Tensor::new();
            joined.resize(all.value.dtype(), all.value.dims().with_rows(rows));
            let first = all.value.bytes().len();
            let fits = joined.bytes().len() == first + more.value.bytes().len();
            if !fits {
                return Err(mismatch());
            }
            joined.bytes_mut()[..first].copy_from_slice(all.value.bytes());
            joined.bytes_mut()[first..].copy_from_slice(more.value.bytes());
            all.value = joined;
            Ok(())
        }
        _ => Err(mismatch()),
    }
}

fn add_dense(all: &mut Tensor, more: &Tensor) -> Result<()> {
    if all.dtype() != more.dtype() || all.numel() != more.numel() {
        return Err(mismatch());
    }
    match all.dtype() {
        DType::F32 => add_as::<f32>(all, more),
        DType::F64 => add_as::<f64>(all, more),
        DType::I64 => {
            let (Ok(to), Ok(from)) = (all.data_mut::<i64>(), more.data::<i64>()) else { return Err(mismatch()) };
            to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
            Ok(())
        }
        other => Err(Error::new(Kind::DType, format!("gradients of {other} cannot be merged"))),
    }
}

fn add_as<T: oarlock_tensor::Float>(all: &mut Tensor, more: &Tensor) -> Result<()> {
    let (Ok(to), Ok(from)) = (all.data_mut::<T>(), more.data::<T>()) else { return Err(mismatch()) };
    simd::add_assign(to, from);
    Ok(())
}

/// Divides a gradient, but for so many numbers at the end of its rows, which are counts.
pub(crate) fn divide(value: &mut Value, by: usize, counts: usize) {
    let (tensor, width) = match value {
        Value::Dense(tensor) => (tensor, 1),
        Value::Rows(rows) => {
            let width = rows.width();
            (&mut rows.value, width)
        }
        _ => return,
    };
    if by < 2 {
        return;
    }
    if let Ok(data) = tensor.data_mut::<f32>() {
        let factor = 1.0 / by as f32;
        let divided = width.saturating_sub(counts);
        data.chunks_mut(width.max(1)).flat_map(|row| &mut row[..divided]).for_each(|v| *v *= factor);
    } else if let Ok(data) = tensor.data_mut::<f64>() {
        let factor = 1.0 / by as f64;
        data.iter_mut().for_each(|v| *v *= factor);
    }
}

fn mismatch() -> Error {
    Error::new(Kind::Shape, "gradients of one variable that wait to be merged have different sizes or types")
}
