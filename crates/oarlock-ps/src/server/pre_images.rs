//! Pre-images: parameters as they were before the last step, so that a trainer that rejoins can repeat it (rollback).
//!
//! A trainer may be lost after one server made the step and before another did. It repeats that step, and needs the parameters from
//! before it: from the servers that made it, these copies. Hashed tables keep pre-images of their rows themselves, of evicted ones, too.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use oarlock_ir::{Error, Kind, Name, Result};
use oarlock_tensor::Value;
use parking_lot::Mutex;

use super::updates::Updates;

/// The values that the last step changed, as they were before.
pub(super) struct PreImages {
    /// Off unless trainers may rejoin: it costs a copy per step.
    enabled: bool,
    images: Mutex<HashMap<Name, PreImage>>,
    /// The steps that were made when this process began: of these it has no pre-images.
    begun_after: AtomicU64,
}

enum PreImage {
    Whole(Value),
    /// Rows, ascending, and their elements.
    Rows(Vec<i64>, Vec<f32>),
}

impl PreImages {
    pub(super) fn new(enabled: bool) -> PreImages {
        PreImages { enabled, images: Mutex::default(), begun_after: AtomicU64::new(0) }
    }

    /// A snapshot was restored: of the steps before it there are no pre-images.
    pub(super) fn begin_after(&self, steps: u64) {
        self.begun_after.store(steps, Ordering::Relaxed);
    }

    /// Copies the values that the next step is going to change.
    pub(super) fn keep(&self, updates: &Updates) {
        if !self.enabled {
            return;
        }
        updates.tables.begin_step();
        let mut images = self.images.lock();
        for (param, rows) in updates.about_to_change() {
            let Some(var) = updates.scope.find(param) else { continue };
            let value = var.read();
            match rows {
                Some(mut rows) => {
                    let Ok(tensor) = value.dense() else { continue };
                    let Ok(data) = tensor.data::<f32>() else { continue };
                    let (height, width) = tensor.dims().matrix(1);
                    // A trainer may name rows that do not exist; the step will refuse them.
                    rows.retain(|row| usize::try_from(*row).is_ok_and(|row| row < height));
                    let old = rows.iter().flat_map(|row| &data[*row as usize * width..][..width]).copied().collect();
                    images.insert(param.clone(), PreImage::Rows(rows, old));
                }
                None => {
                    let old = images.entry(param.clone()).or_insert_with(|| PreImage::Whole(Value::Empty));
                    if let PreImage::Rows(..) = old {
                        *old = PreImage::Whole(Value::Empty);
                    }
                    if let PreImage::Whole(old) = old {
                        // A value that cannot be copied is no parameter, and is never pulled.
                        let _ = old.copy_from(&value);
                    }
                }
            }
        }
    }

    /// Are rows asked for as they were before the last step, and images so?
    pub(super) fn has_rows_of(&self, after_step: u64, done: u64) -> bool {
        self.enabled && after_step < done
    }

    /// A variable as it was after `after_step` of `done` steps; false if it has not changed since.
    pub(super) fn copy(&self, name: &str, after_step: u64, done: u64, into: &mut Value) -> Result<bool> {
        if after_step + 1 != done || !self.enabled || done <= self.begun_after.load(Ordering::Relaxed) {
            return Err(too_old(name, after_step, done));
        }
        match self.images.lock().get(name) {
            Some(PreImage::Whole(old)) if !old.is_empty() => {
                into.copy_from(old).map_err(|e| Error::new(Kind::Argument, format!("`{name}` {e}")))?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Replaces rows that the last step changed, if they are asked for as they were before it.
    pub(super) fn overlay_rows(
        &self,
        table: &str,
        ids: &[i64],
        after_step: u64,
        done: u64,
        width: usize,
        rows: &mut [f32],
    ) {
        if !self.has_rows_of(after_step, done) {
            return;
        }
        let images = self.images.lock();
        let (changed, old) = match images.get(table) {
            Some(PreImage::Rows(changed, old)) => (Some(changed), &old[..]),
            Some(PreImage::Whole(old)) => match old.dense().ok().and_then(|tensor| tensor.data::<f32>().ok()) {
                Some(old) => (None, old),
                None => return,
            },
            None => return,
        };
        for (id, row) in ids.iter().zip(rows.chunks_mut(width.max(1))) {
            let at = match changed {
                Some(changed) => changed.binary_search(id).ok(),
                None => usize::try_from(*id).ok(),
            };
            if let Some(old) = at.and_then(|at| old.get(at * width..(at + 1) * width)) {
                row.copy_from_slice(old);
            }
        }
    }
}

#[cold]
fn too_old(name: &str, after_step: u64, done: u64) -> Error {
    let what = format!("`{name}` is asked for as it was after step {after_step}, but {done} steps are complete");
    Error::new(Kind::Missing, what)
        .help("start the job again from its last checkpoint; OARLOCK_ON_LOSS=wait keeps what a returning trainer needs")
}
