//! Several operators of a trainer's program done as one, when it runs.

mod move_into_send;
mod remote_lookups;
mod split_send;

use oarlock_ir::Fusion;

/// All of them.
pub fn fusions() -> impl Iterator<Item = &'static dyn Fusion> {
    remote_lookups::FUSIONS.iter().chain(split_send::FUSIONS).chain(move_into_send::FUSIONS).copied()
}
