//! Eviction of rows that are not needed any more from the hashed tables of a job's servers.

use oarlock_ir::{Error, Kind, Result, Runtime};
use oarlock_ps::client::{Client, Stale};
use oarlock_tensor::Tensor;
use oarlock_transpile::DistributeTranspiler;

use super::WorkerGroup;

/// Evicts stale rows from the hashed tables of all servers; returns how many. Every worker calls it, between the same
/// steps if workers are in step: none goes on before it is done.
pub fn evict(runtime: &Runtime, transpiler: &DistributeTranspiler, stale: Stale) -> Result<u64> {
    if stale == Stale::default() {
        return Err(Error::new(Kind::Argument, "it is not said which rows are stale")
            .help("give a threshold, a number of steps, a count or a score"));
    }
    let servers = transpiler.placement()?.servers().to_vec();
    let group = WorkerGroup { worker: transpiler.trainer_id()?, workers: transpiler.trainers()?, servers };
    group.barrier(runtime)?;
    let gone = match group.worker {
        0 => Client::of(runtime).evict(0, &group.servers, stale),
        _ => Ok(0),
    };
    // The others wait for the first worker, also if it could not do it.
    let count = Tensor::scalar(gone.as_ref().map_or(-1, |gone| *gone as i64));
    let all = group.all_gather(runtime, &count)?;
    let gone = gone?;
    let first = all.first().and_then(|count| count.data::<i64>().ok()?.first().copied()).unwrap_or(gone as i64);
    u64::try_from(first).map_err(|_| {
        Error::new(Kind::Network, "the first worker could not evict rows of the tables")
            .help("see its log for the reason")
    })
}
