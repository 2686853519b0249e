//! Parameters as they were before the last step, for a trainer that comes back.
//!
//! A trainer may be lost after one server made the step and before another did. It repeats that step, and for that it
//! needs what the parameters were before: from the servers that made it, these copies. Hashed tables keep their rows themselves, those
//! that the step took away, too.

use std::collections::HashMap;

use oarlock_ir::{Error, Kind, Name, Result};
use oarlock_tensor::Value;
use parking_lot::Mutex;

use super::updates::Updates;

/// What the last step changed, as it was before.
pub(super) struct Previous {
    /// Off unless trainers may come back: it costs a copy per step.
    enabled: bool,
    kept: Mutex<HashMap<Name, Kept>>,
}

enum Kept {
    Whole(Value),
    /// Rows, ascending, and their elements.
    Rows(Vec<i64>, Vec<f32>),
}

impl Previous {
    pub(super) fn new(enabled: bool) -> Previous {
        Previous { enabled, kept: Mutex::default() }
    }

    /// Copies what the next step is going to change.
    pub(super) fn keep(&self, updates: &Updates) {
        if !self.enabled {
            return;
        }
        updates.tables.begin_round();
        let mut kept = self.kept.lock();
        for (param, rows) in updates.about_to_change() {
            let Some(var) = updates.scope.find(param) else { continue };
            let value = var.read();
            match rows {
                Some(mut rows) => {
                    let Ok(tensor) = value.dense() else { continue };
                    let Ok(data) = tensor.data::<f32>() else { continue };
                    let (height, width) = tensor.dims().matrix(1);
                    // A trainer may name rows that there are not; the step will refuse them.
                    rows.retain(|row| usize::try_from(*row).is_ok_and(|row| row < height));
                    let old = rows.iter().flat_map(|row| &data[*row as usize * width..][..width]).copied().collect();
                    kept.insert(param.clone(), Kept::Rows(rows, old));
                }
                None => {
                    let old = kept.entry(param.clone()).or_insert_with(|| Kept::Whole(Value::Empty));
                    if let Kept::Rows(..) = old {
                        *old = Kept::Whole(Value::Empty);
                    }
                    if let Kept::Whole(old) = old {
                        // What cannot be copied is no parameter, and nobody asks for it.
                        let _ = old.copy_from(&value);
                    }
                }
            }
        }
    }

    /// Are rows asked for as they were before the last step, and kept so?
    pub(super) fn has_rows_of(&self, after_step: u64, done: u64) -> bool {
        self.enabled && after_step < done
    }

    /// A variable as it was after `after_step` of `done` steps; false if it has not changed since.
    pub(super) fn copy(&self, name: &str, after_step: u64, done: u64, into: &mut Value) -> Result<bool> {
        if after_step + 1 != done || !self.enabled {
            return Err(too_old(name, after_step, done));
        }
        match self.kept.lock().get(name) {
            Some(Kept::Whole(old)) if !old.is_empty() => {
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
        let kept = self.kept.lock();
        let (changed, old) = match kept.get(table) {
            Some(Kept::Rows(changed, old)) => (Some(changed), &old[..]),
            Some(Kept::Whole(old)) => match old.dense().ok().and_then(|tensor| tensor.data::<f32>().ok()) {
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
