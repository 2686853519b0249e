//! Several gradients of one variable as one.

use oarlock_ir::{Error, Kind, Result};
use oarlock_tensor::merge::RowOrder;
use oarlock_tensor::{DType, Dims, SelectedRows, Tensor, Value, simd};

/// The way in which gradients are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Merge {
    /// Their mean: a step as long as one of them.
    #[default]
    Mean,
    /// Their sum: as if each had made its step.
    Sum,
}

/// Makes the first of several gradients, of which there is one, their sum. Rows are listed once, ascending: a row that a batch names
/// often is sent once. `room` is memory for that.
pub(crate) fn join(values: &mut [Value], room: &mut Value) -> Result<()> {
    if values.iter().all(|value| value.rows().is_ok_and(|rows| rows.value.dtype() == DType::F32)) {
        return join_rows(values, room);
    }
    let Some((all, more)) = values.split_first_mut() else { return Ok(()) };
    more.iter().try_for_each(|more| add(all, more))
}

fn join_rows(values: &mut [Value], room: &mut Value) -> Result<()> {
    let parts: Vec<&SelectedRows> = values.iter().filter_map(|value| value.rows().ok()).collect();
    let Some(first) = parts.first() else { return Ok(()) };
    if parts.len() == 1 && first.rows.is_sorted_by(|a, b| a < b) {
        return Ok(());
    }
    let width = parts.iter().map(|part| part.width()).max().unwrap_or(0);
    let mut numbers = Vec::with_capacity(parts.len());
    for part in &parts {
        let of_part = part.value.data::<f32>().map_err(|_| mismatch())?;
        if of_part.len() != part.rows.len() * width {
            return Err(mismatch());
        }
        numbers.push(of_part);
    }
    let mut order = RowOrder::default();
    let distinct = order.sort(parts.iter().map(|part| &part.rows[..]));
    let all = room.rows_mut();
    all.height = first.height;
    all.value.resize(DType::F32, Dims::from([distinct, width]));
    let sums = all.value.data_mut::<f32>().map_err(|_| mismatch())?;
    order.gather(width, &numbers, &mut all.rows, sums);
    std::mem::swap(&mut values[0], room);
    Ok(())
}

/// Adds `more` to `all`. Rows are listed one after the other; the server adds up duplicates.
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

/// Divides a gradient, except for the `counts` numbers at the end of its rows.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(ids: &[i64], numbers: &[f32]) -> Value {
        let value = Tensor::from_slice([ids.len(), numbers.len() / ids.len()], numbers).unwrap();
        Value::Rows(SelectedRows { rows: ids.to_vec(), height: 10, value })
    }

    fn joined<const N: usize>(mut values: [Value; N]) -> Result<Value> {
        let mut room = rows(&[3], &[5.0, 6.0, 7.0]);
        join(&mut values, &mut room)?;
        Ok(values.into_iter().next().unwrap_or_default())
    }

    #[test]
    fn duplicate_rows_are_merged_into_one() {
        let all = joined([rows(&[4, 1, 4], &[1.0, 2.0, 3.0]), rows(&[1, 7], &[10.0, 20.0])]).unwrap();
        assert_eq!(all.rows().unwrap(), rows(&[1, 4, 7], &[12.0, 4.0, 20.0]).rows().unwrap());
        let one = joined([rows(&[5, 5], &[1.0, 2.0, 3.0, 4.0])]).unwrap();
        assert_eq!(one.rows().unwrap(), rows(&[5], &[4.0, 6.0]).rows().unwrap());
        let same = joined([rows(&[5, 6], &[1.0, 2.0])]).unwrap();
        assert_eq!(same.rows().unwrap(), rows(&[5, 6], &[1.0, 2.0]).rows().unwrap());
    }

    #[test]
    fn tensors_are_added_and_mismatched_sizes_are_errors() {
        let tensor = |numbers: &[f32]| Value::Dense(Tensor::from_slice([numbers.len()], numbers).unwrap());
        let sum = joined([tensor(&[1.0, 2.0]), tensor(&[3.0, 5.0])]).unwrap();
        assert_eq!(sum.dense().unwrap().data::<f32>().unwrap(), [4.0, 7.0]);
        assert!(joined([tensor(&[1.0, 2.0]), tensor(&[3.0])]).is_err());
        assert!(joined([rows(&[1], &[1.0]), tensor(&[3.0])]).is_err());
        assert!(joined([rows(&[1], &[1.0, 2.0]), rows(&[1], &[3.0])]).is_err());
        assert!(joined([]).is_ok());
    }
}
