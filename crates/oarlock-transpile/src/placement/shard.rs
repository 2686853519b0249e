//! Which server holds a row of a hashed table.
//!
//! A table is partitioned into virtual shards by a mix of the id, and shards are dealt out to servers: a shard is what is locked,
//! saved and moved as one.

use oarlock_tensor::table::{SHARDS, shard_of};

/// The server of an id, which is any 64-bit number: shards go to servers in equal runs.
pub fn server_of_id(id: i64, servers: usize) -> usize {
    shard_of(id) * servers / SHARDS
}

#[test]
fn ids_spread_evenly() {
    let mut counts = [0usize; 3];
    (-30_000..30_000).for_each(|id| counts[server_of_id(id, 3)] += 1);
    assert!(counts.iter().all(|count| (18_000..22_000).contains(count)), "{counts:?}");
    assert_eq!(server_of_id(i64::MIN, 1), 0);
}
