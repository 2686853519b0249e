//! Which server holds a row of a hashed table.
//!
//! Ids are mixed and cut into virtual shards, and shards are dealt out to servers: a shard is what is locked, saved and
//! moved as one.

/// Virtual shards of every table.
pub const SHARDS: usize = 1024;

/// The shard of an id: any 64-bit number is one.
pub fn shard_of_id(id: i64) -> usize {
    // The finalizer of SplitMix64: neighbouring ids end up far from each other.
    let mut x = id as u64;
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((x ^ (x >> 31)) % SHARDS as u64) as usize
}

/// The server of an id: shards go to servers in equal runs.
pub fn server_of_id(id: i64, servers: usize) -> usize {
    shard_of_id(id) * servers / SHARDS
}

#[test]
fn ids_spread_evenly() {
    let mut counts = [0usize; 3];
    (-30_000..30_000).for_each(|id| counts[server_of_id(id, 3)] += 1);
    assert!(counts.iter().all(|count| (18_000..22_000).contains(count)), "{counts:?}");
    assert_eq!(server_of_id(i64::MIN, 1), 0);
}
