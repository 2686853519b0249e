//! Several operators of a trainer's program done as one, when it runs.

mod hand_over;
mod remote_lookups;
mod split_send;

use oarlock_ir::Fusion;

/// All of them.
pub fn fusions() -> impl Iterator<Item = &'static dyn Fusion> {
    remote_lookups::FUSIONS.iter().chain(split_send::FUSIONS).chain(hand_over::FUSIONS).copied()
}
