//! How many rows of a table with a limit one of several servers may hold.
//!
//! Ids are dealt out by a mix of them, so that a server's part of any set of ids is its share of it, give or take: no server knows
//! how many rows the others hold, and one that takes no more than a share and some more can tell by itself that there are too many.
//! That keeps memory in bounds; trainers, which get the row counts of all servers, compare the sum with the limit.

use oarlock_ir::{Error, Kind};
use oarlock_tensor::table::SHARDS;

/// The limit of a table, and how many servers share it.
#[derive(Clone, Copy)]
pub(super) struct RowLimit {
    rows: Option<u64>,
    servers: usize,
}

impl RowLimit {
    /// Of a table that is declared with this number of rows; 0 servers if their number is not known.
    pub(super) fn new(rows: Option<u64>, servers: u32) -> RowLimit {
        RowLimit { rows, servers: (servers as usize).clamp(1, SHARDS) }
    }

    /// The most rows for all servers.
    pub(super) fn declared(self) -> Option<u64> {
        self.rows
    }

    /// The most rows for one server. Eight standard deviations above its share: chance does not reach so far.
    pub(super) fn of_server(self) -> Option<u64> {
        let rows = self.rows?;
        let shards = SHARDS.div_ceil(self.servers) as u128;
        let share = (u128::from(rows) * shards).div_ceil(SHARDS as u128) as u64;
        let more = 8 * (share.isqrt() + 1);
        Some(rows.min(share.saturating_add(more)))
    }

    /// An error of a table, with what its limit means on a server.
    pub(super) fn explain(self, error: oarlock_tensor::Error) -> Error {
        let full = matches!(error, oarlock_tensor::Error::TableFull { .. });
        let error = Error::new(Kind::Range, error.to_string());
        match self.rows {
            Some(rows) if full && self.servers > 1 => {
                error.note(format!("{} servers share a table of {rows} rows", self.servers))
            }
            _ => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oarlock_transpile::placement::server_of_id;

    #[test]
    fn any_ids_fit_if_they_are_no_more_than_the_limit() {
        for servers in [1, 2, 3, 7, 100] {
            for rows in [1, 64, 1000, 50_000] {
                for stride in [1, 8, 1 << 40] {
                    let mut counts = vec![0; servers];
                    (0..rows).for_each(|i| counts[server_of_id(i * stride - 5, servers)] += 1u64);
                    let most = RowLimit::new(Some(rows as u64), servers as u32).of_server().unwrap();
                    assert!(counts.iter().all(|n| *n <= most), "{servers} {rows} {stride}: {counts:?} and {most}");
                }
            }
        }
    }

    #[test]
    fn a_server_takes_little_more_than_its_share() {
        assert_eq!(RowLimit::new(Some(1_000_000), 4).of_server(), Some(254_008));
        assert_eq!(RowLimit::new(Some(1_000_000), 0).of_server(), Some(1_000_000));
        assert_eq!(RowLimit::new(Some(u64::MAX), 2).of_server().map(|n| n < u64::MAX), Some(true));
        assert_eq!(RowLimit::new(None, 2).of_server(), None);
    }
}
