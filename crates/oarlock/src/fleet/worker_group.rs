//! Collectives of workers besides gradients: through the first server, or trivially for a worker alone.

use oarlock_ir::{Error, Kind, Result, Runtime};
use oarlock_ps::client::Client;
use oarlock_tensor::{DType, Tensor};

/// How the numbers of workers become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fold {
    /// Their sum.
    Sum,
    /// The largest.
    Max,
    /// The smallest.
    Min,
}

impl Fold {
    /// By its name: `sum`, `max` or `min`.
    pub fn parse(name: &str) -> Result<Fold> {
        match name {
            "sum" => Ok(Fold::Sum),
            "max" => Ok(Fold::Max),
            "min" => Ok(Fold::Min),
            _ => Err(Error::new(Kind::Argument, format!("there is no all_reduce of mode {name:?}"))
                .help("modes are sum, max and min")),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Fold::Sum => "sum",
            Fold::Max => "max",
            Fold::Min => "min",
        }
    }
}

/// A worker among the others.
#[derive(Debug, Clone)]
pub struct WorkerGroup {
    /// Its number.
    pub worker: usize,
    /// How many there are.
    pub workers: usize,
    /// The servers; the first one serves the collectives.
    pub servers: Vec<String>,
}

impl WorkerGroup {
    /// The values of all workers, in the order of their numbers.
    pub fn all_gather(&self, runtime: &Runtime, value: &Tensor) -> Result<Vec<Tensor>> {
        self.contribute(runtime, "all_gather", value)
    }

    /// Waits for all workers.
    pub fn barrier(&self, runtime: &Runtime) -> Result<()> {
        self.contribute(runtime, "barrier", &Tensor::zeros(DType::I32, [1])).map(drop)
    }

    /// The numbers of all workers, joined element by element in the order of workers: all get the same bits. Sums of `float32`
    /// are added up as `float64`.
    pub fn all_reduce(&self, runtime: &Runtime, value: &Tensor, fold: Fold) -> Result<Tensor> {
        let all = self.contribute(runtime, &format!("all_reduce({})", fold.name()), value)?;
        join(&all, fold)
    }

    fn contribute(&self, runtime: &Runtime, purpose: &str, value: &Tensor) -> Result<Vec<Tensor>> {
        if self.workers <= 1 {
            return Ok(vec![value.clone()]);
        }
        if self.servers.is_empty() {
            let what = format!("{purpose} among {} workers needs a server", self.workers);
            return Err(Error::new(Kind::Unsupported, what).help("launch the job with --server_num"));
        }
        Client::of(runtime).all_gather(self.worker as u32, &self.servers, purpose, value)
    }
}

fn join(all: &[Tensor], fold: Fold) -> Result<Tensor> {
    let Some(first) = all.first() else { return Err(Error::internal("an all-gather without values")) };
    if let Some((worker, other)) =
        all.iter().enumerate().find(|(_, t)| t.dims() != first.dims() || t.dtype() != first.dtype())
    {
        let what = format!(
            "worker 0 contributed {}{}, and worker {worker} {}{}",
            first.dtype(),
            first.dims(),
            other.dtype(),
            other.dims()
        );
        return Err(Error::new(Kind::Shape, what).help("pass arrays of one shape and element type"));
    }
    match first.dtype() {
        DType::F32 => by_element(all, |v: f32| f64::from(v), |v| v as f32, fold, |a, b| a + b),
        DType::F64 => by_element(all, |v: f64| v, |v| v, fold, |a, b| a + b),
        DType::I64 => by_element(all, |v: i64| v, |v| v, fold, i64::wrapping_add),
        DType::I32 => by_element(all, |v: i32| v, |v| v, fold, i32::wrapping_add),
        other => {
            Err(Error::new(Kind::DType, format!("{other} cannot be joined"))
                .help("pass float32, float64, int32 or int64"))
        }
    }
}

fn by_element<T: oarlock_tensor::Element, A: Copy + PartialOrd>(
    all: &[Tensor],
    widen: impl Fn(T) -> A,
    narrow: impl Fn(A) -> T,
    fold: Fold,
    add: impl Fn(A, A) -> A,
) -> Result<Tensor> {
    let bad = |e: oarlock_tensor::Error| Error::internal(e.to_string());
    let parts = all.iter().map(|t| t.data::<T>().map_err(bad)).collect::<Result<Vec<&[T]>>>()?;
    let pick = |a: A, b: A| match fold {
        Fold::Sum => add(a, b),
        Fold::Max => {
            if b > a {
                b
            } else {
                a
            }
        }
        Fold::Min => {
            if b < a {
                b
            } else {
                a
            }
        }
    };
    let at = |i: usize| parts.iter().map(|part| widen(part[i])).reduce(&pick);
    let joined: Vec<T> = (0..parts[0].len()).filter_map(at).map(narrow).collect();
    Tensor::from_slice(*all[0].dims(), &joined).map_err(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensors(rows: &[&[i64]]) -> Vec<Tensor> {
        rows.iter().map(|row| Tensor::from_slice([row.len()], row).unwrap()).collect()
    }

    #[test]
    fn numbers_are_joined_by_element() {
        let all = tensors(&[&[1, 5], &[3, 2]]);
        let joined = |fold| join(&all, fold).unwrap().data::<i64>().unwrap().to_vec();
        assert_eq!((joined(Fold::Sum), joined(Fold::Max), joined(Fold::Min)), (vec![4, 7], vec![3, 5], vec![1, 2]));
        let small: Vec<Tensor> = (0..3).map(|_| Tensor::from_slice([1], &[16_777_217_f32 / 3.0]).unwrap()).collect();
        assert_eq!(join(&small, Fold::Sum).unwrap().data::<f32>().unwrap(), [16_777_216.0]);
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let error = join(&tensors(&[&[1, 5], &[3]]), Fold::Sum).unwrap_err();
        assert_eq!(error.report().what, "worker 0 contributed i64[2], and worker 1 i64[1]");
        assert!(Fold::parse("mean").unwrap_err().to_string().contains("modes are sum, max and min"));
    }
}
