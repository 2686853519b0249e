//! Gradients and parameters of several ranks.

use oarlock_collective::{Group, Reduce};
use oarlock_exec::eager::{EagerEngine, EagerTensor};
use oarlock_ir::{Error, Kind, Result, fail};
use oarlock_tensor::{DType, SelectedRows, Tensor, Value};

/// Dense values travel together up to this number of bytes: one exchange costs more than its bytes where they are few.
const BUCKET: usize = 25 << 20;

/// Replaces each tensor by its sum over all ranks, which must give the same tensors in the same order. Rows of sparse gradients are
/// gathered, not made dense.
pub fn all_reduce_tensors(engine: &EagerEngine, group: &Group, tensors: &[EagerTensor]) -> Result<()> {
    let mut start = 0;
    while start < tensors.len() {
        if tensors[start].with_value(|v| matches!(v, Value::Rows(_)))? {
            gather_rows(engine, group, &tensors[start])?;
            start += 1;
            continue;
        }
        let dtype = tensors[start].dtype()?;
        let (mut end, mut bytes) = (start, 0);
        while end < tensors.len() && (end == start || bytes < BUCKET) {
            let fits = tensors[end].with_value(|v| matches!(v, Value::Dense(t) if t.dtype() == dtype))?;
            if !fits {
                break;
            }
            bytes += tensors[end].with_dense(|t| t.bytes().len())?;
            end += 1;
        }
        reduce_bucket(engine, group, dtype, bytes, &tensors[start..end])?;
        start = end;
    }
    Ok(())
}

/// Gives each tensor the value that it has on the rank `root`.
pub fn broadcast_tensors(engine: &EagerEngine, group: &Group, tensors: &[EagerTensor], root: usize) -> Result<()> {
    for tensor in tensors {
        let mut value = tensor.with_dense(Tensor::clone)?;
        match group.broadcast::<u8>(value.bytes_mut(), root) {
            Ok(()) => engine.exchange_value(tensor, value),
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

fn reduce_bucket(
    engine: &EagerEngine,
    group: &Group,
    dtype: DType,
    bytes: usize,
    tensors: &[EagerTensor],
) -> Result<()> {
    let mut joined = Tensor::zeros(dtype, [bytes / dtype.size()]);
    let mut rest = joined.bytes_mut();
    for tensor in tensors {
        rest = tensor.with_dense(|t| {
            let (mine, more) = rest.split_at_mut(t.bytes().len());
            mine.copy_from_slice(t.bytes());
            more
        })?;
    }
    match dtype {
        DType::F32 => group.all_reduce(data::<f32>(&mut joined)?, Reduce::Sum)?,
        DType::F64 => group.all_reduce(data::<f64>(&mut joined)?, Reduce::Sum)?,
        DType::I32 => group.all_reduce(data::<i32>(&mut joined)?, Reduce::Sum)?,
        DType::I64 => group.all_reduce(data::<i64>(&mut joined)?, Reduce::Sum)?,
        other => fail!(Kind::DType, "tensors of {other} cannot be summed over ranks"),
    }
    let mut from = joined.bytes();
    for tensor in tensors {
        let mut value = engine.take_value(tensor)?;
        let to = value.dense_mut().bytes_mut();
        to.copy_from_slice(&from[..to.len()]);
        from = &from[to.len()..];
        engine.exchange_value(tensor, value);
    }
    Ok(())
}

fn data<T: oarlock_tensor::Element>(t: &mut Tensor) -> Result<&mut [T]> {
    t.data_mut::<T>().map_err(|e| Error::internal(e.to_string()))
}

/// Gives a sparse gradient the rows of all ranks, in the order of ranks.
fn gather_rows(engine: &EagerEngine, group: &Group, tensor: &EagerTensor) -> Result<()> {
    let Value::Rows(mine) = engine.take_value(tensor)? else { return Ok(()) };
    let indices: Vec<u8> = mine.rows.iter().flat_map(|row| row.to_le_bytes()).collect();
    let gathered = group.gather(&indices).and_then(|rows| Ok((rows, group.gather(mine.value.bytes())?)));
    let (rows, values) = match gathered {
        Ok(both) => both,
        Err(e) => {
            engine.exchange_value(tensor, Value::Rows(mine));
            return Err(e);
        }
    };
    let row_of = |bytes: &[u8]| bytes.try_into().map(i64::from_le_bytes).unwrap_or_default();
    let rows: Vec<i64> = rows.iter().flat_map(|bytes| bytes.chunks_exact(8).map(row_of)).collect();
    let joined: Vec<u8> = values.concat();
    let mut value = Tensor::new();
    value.resize(mine.value.dtype(), mine.value.dims().with_rows(rows.len()));
    if value.bytes().len() != joined.len() {
        engine.exchange_value(tensor, Value::Rows(mine));
        fail!(Kind::Shape, "ranks have sparse gradients of different widths");
    }
    value.bytes_mut().copy_from_slice(&joined);
    engine.exchange_value(tensor, Value::Rows(SelectedRows { rows, height: mine.height, value }));
    Ok(())
}
