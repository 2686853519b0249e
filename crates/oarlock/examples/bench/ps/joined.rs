//! Training in one process with the batches of all trainers joined: what training in step must equal.

use std::path::Path;
use std::sync::Arc;

use oarlock::data::{Batch, BatchSource, Dataset};
use oarlock::prelude::*;

use super::cluster::{PASSES, Part, TRAINERS, dataset};
use super::networks::Network;

/// The AUC of the last pass.
pub(crate) fn auc_of_joined(network: Network, optimizer: &str, seed: usize, data: &Path) -> Result<f64> {
    let built = network.build(optimizer, seed as i32)?;
    let (exe, scope) = (Options { threads: 1, check_nan_inf: false }.executor(), Scope::new());
    exe.run(&built.net.startup, &[], &[], &scope)?;
    let mut auc = 0.0;
    for _ in 0..PASSES {
        Part::forget(&built.counts, &scope);
        let sets = (0..TRAINERS).map(|t| dataset(network, data, |file| file % TRAINERS == t));
        let sets = sets.collect::<Result<Vec<_>>>()?;
        let names: Vec<&str> = sets[0].slots().iter().map(|slot| slot.name()).collect();
        let mut sources: Vec<Box<dyn BatchSource>> = Vec::new();
        for set in &sets {
            sources.extend(set.begin(1, Arc::default())?.sources);
        }
        let mut batches: Vec<Batch> = sources.iter().map(|_| Batch::new()).collect();
        while next(&mut sources, &mut batches)? {
            let joined: Vec<Tensor> = (0..names.len()).map(|at| join(&batches, at)).collect();
            let feeds: Vec<(&str, &Tensor)> = names.iter().copied().zip(&joined).collect();
            exe.run(&built.net.main, &feeds, &[], &scope)?;
        }
        auc = Part::auc(&built.counts, &scope);
    }
    Ok(auc)
}

/// A batch of every trainer; false when one of them has no more.
fn next(sources: &mut [Box<dyn BatchSource>], batches: &mut [Batch]) -> Result<bool> {
    for (source, batch) in sources.iter_mut().zip(batches) {
        if !source.next(batch)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The samples of all batches, one after the other.
fn join(batches: &[Batch], slot: usize) -> Tensor {
    let parts: Vec<&Tensor> = batches.iter().map(|batch| &batch.tensors()[slot]).collect();
    let rows = parts.iter().map(|part| part.rows()).sum();
    let mut all = Tensor::zeros(parts[0].dtype(), parts[0].dims().with_rows(rows));
    let bytes = parts.iter().flat_map(|part| part.bytes()).copied().collect::<Vec<u8>>();
    all.bytes_mut().copy_from_slice(&bytes);
    all
}
