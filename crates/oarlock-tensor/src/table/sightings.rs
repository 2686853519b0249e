//! What a table knows of ids that have no row yet: for saving, so that admission goes on from where it was.

use super::arena::Header;
use super::{HashedTable, SHARDS};

/// Ids that wait for a row, and coins that were tossed about others.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sightings {
    /// The ids: when each was last seen, and how often. In no particular order.
    pub waiting: Vec<(i64, Header)>,
    /// Shards, by number, and how many coins were tossed there.
    pub tosses: Vec<(usize, u64)>,
}

impl HashedTable {
    /// What is known now.
    pub fn sightings(&self) -> Sightings {
        let mut all = Sightings::default();
        for number in 0..SHARDS {
            let shard = self.enter(number);
            all.waiting.extend(shard.waiting());
            if shard.tosses() > 0 {
                all.tosses.push((number, shard.tosses()));
            }
        }
        all
    }

    /// Takes over what was known, for loading. Ids that have a row do not wait; numbers of shards beyond the last mean nothing.
    pub fn set_sightings(&self, all: &Sightings) {
        for (id, header) in &all.waiting {
            let mut shard = self.enter(super::shard_of(*id));
            if shard.find(*id).is_none() {
                shard.wait(*id, *header);
            }
        }
        for (number, tosses) in all.tosses.iter().filter(|(number, _)| *number < SHARDS) {
            self.enter(*number).set_tosses(*tosses);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Admission, Missing, Retention, RowInit, Spec};
    use super::*;

    fn table(admission: Admission) -> HashedTable {
        let init = RowInit::Constant(1.0);
        let (name, state) = ("t".to_string(), Vec::new());
        let retention = Retention::default();
        let spec = Spec { name, width: 1, state, init, seed: 3, max_rows: None, admission, retention, history: 0 };
        HashedTable::new(spec).unwrap()
    }

    fn look_up(table: &HashedTable, ids: &[i64]) -> u64 {
        table.read(ids, &mut vec![0.0; ids.len()], Missing::Create).unwrap().created
    }

    #[test]
    fn a_table_counts_on_from_what_was_saved() {
        let before = table(Admission::Count(3));
        look_up(&before, &[5, 900]);
        look_up(&before, &[5]);
        let after = table(Admission::Count(3));
        after.set_sightings(&before.sightings());
        assert_eq!(look_up(&after, &[5, 900]), 1);
        assert_eq!(look_up(&after, &[900]), 1);
    }

    #[test]
    fn coins_fall_as_they_would_have() {
        let ids: Vec<i64> = (0..4000).collect();
        let before = table(Admission::Probability(0.2));
        look_up(&before, &ids);
        let after = table(Admission::Probability(0.2));
        for shard in 0..SHARDS {
            before.for_each_row(shard, |id, header, w, s| after.insert(id, header, w, s).unwrap()).unwrap();
        }
        after.set_sightings(&before.sightings());
        assert_eq!(look_up(&before, &ids), look_up(&after, &ids));
        assert_eq!(before.sightings(), after.sightings());
    }
}
