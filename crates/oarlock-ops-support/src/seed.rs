//! The seed of operators that draw random numbers.

use oarlock_ir::Io;

/// The seed of an attribute; 0 asks for another one in every run.
pub fn seed_or_fresh(io: &Io<'_>, seed: i64) -> u64 {
    // Negative seeds wrap to 32 bits, as in the runs whose seeds programs carry.
    if seed == 0 { io.runtime().fresh_seed() } else { u64::from(seed as u32) }
}
