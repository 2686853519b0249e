//! Admission: which ids get a row. Programs say it by the attribute `entry` of a lookup; ids that wait are counted here,
//! and the counts are saved with the table, so that admission goes on from where it was.

use super::arena::Header;
use super::{HashedTable, Retention, SHARDS};

/// Which ids get a row when they are read for training. Until then an id reads as the row would start, and updates of it
/// are dropped.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Admission {
    /// Every id, at once.
    Always,
    /// An id that was read this many times, this time included. Ids that wait cost about 30 bytes each.
    Count(u32),
    /// An id gets its row with this probability each time it is read. Nothing is kept about ids without a row.
    Probability(f64),
}

impl Admission {
    /// Reads the attribute `entry`: `count_filter_entry:N`, `probability_entry:P`, or nothing for every id.
    pub fn parse(text: &str) -> Option<Admission> {
        match text.split_once(':') {
            None => text.is_empty().then_some(Admission::Always),
            Some(("count_filter_entry", count)) => count.parse().ok().map(Admission::Count),
            Some(("probability_entry", probability)) => probability.parse().ok().map(Admission::Probability),
            Some(_) => None,
        }
    }
}

/// Admission and retention of the rows of a table, as its lookups give them by their attributes `entry` and `evict`.
#[derive(Debug, Clone, PartialEq)]
pub struct RowPolicy {
    /// Which ids get a row.
    pub admission: Admission,
    /// Which rows are kept.
    pub retention: Retention,
}

/// The count of numbers that follow the gradient of a row where shows and clicks come with it.
pub const SHOWN: usize = 2;

/// The beginning of `entry` if shows and clicks come from variables of the program.
const SHOW_CLICK: &str = "show_click_entry:";

impl RowPolicy {
    /// Reads `entry` (`count_filter_entry:N`, `probability_entry:P`, `show_click_entry:SHOW:CLICK` or nothing) and `evict`
    /// (see [`Retention::parse`]). The error says what is wrong.
    pub fn parse(entry: &str, evict: &str) -> Result<RowPolicy, String> {
        let mut retention = Retention::parse(evict).map_err(|why| format!("evict = {evict:?}: {why}"))?;
        let admission = match show_click(entry) {
            Some(_) => {
                retention.score.get_or_insert_default().told = true;
                Admission::Always
            }
            None => Admission::parse(entry).ok_or_else(|| {
                format!(
                    "entry = {entry:?}: say `count_filter_entry:N`, `probability_entry:P` or `show_click_entry:SHOW:CLICK`"
                )
            })?,
        };
        Ok(RowPolicy { admission, retention })
    }
}

/// The variables that hold shows and clicks, if `entry` names them.
pub fn show_click(entry: &str) -> Option<(&str, &str)> {
    entry.strip_prefix(SHOW_CLICK)?.split_once(':').filter(|(show, click)| !show.is_empty() && !click.is_empty())
}

/// The state of admission: ids that wait for a row, and coins that were tossed about others.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AdmissionState {
    /// The ids: when each was last seen, and how often. In no particular order.
    pub waiting: Vec<(i64, Header)>,
    /// Shards, by number, and how many coins were tossed there.
    pub tosses: Vec<(usize, u64)>,
}

impl HashedTable {
    /// Returns the state of admission.
    pub fn admission_state(&self) -> AdmissionState {
        let mut all = AdmissionState::default();
        for number in 0..SHARDS {
            let shard = self.enter(number);
            all.waiting.extend(shard.waiting());
            if shard.tosses() > 0 {
                all.tosses.push((number, shard.tosses()));
            }
        }
        all
    }

    /// Sets the state of admission, for loading. Ids that have a row do not wait; numbers of shards beyond the last mean nothing.
    pub fn set_admission_state(&self, all: &AdmissionState) {
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
    use super::super::{Missing, RowInit, Spec};
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
    fn a_loaded_table_continues_the_counts_of_waiting_ids() {
        let before = table(Admission::Count(3));
        look_up(&before, &[5, 900]);
        look_up(&before, &[5]);
        let after = table(Admission::Count(3));
        after.set_admission_state(&before.admission_state());
        assert_eq!(look_up(&after, &[5, 900]), 1);
        assert_eq!(look_up(&after, &[900]), 1);
    }

    #[test]
    fn a_loaded_table_continues_admission_by_probability() {
        let ids: Vec<i64> = (0..4000).collect();
        let before = table(Admission::Probability(0.2));
        look_up(&before, &ids);
        let after = table(Admission::Probability(0.2));
        for shard in 0..SHARDS {
            before.for_each_row(shard, |id, header, w, s| after.insert(id, header, w, s).unwrap()).unwrap();
        }
        after.set_admission_state(&before.admission_state());
        assert_eq!(look_up(&before, &ids), look_up(&after, &ids));
        assert_eq!(before.admission_state(), after.admission_state());
    }

    #[test]
    fn admission_and_retention_are_read_from_the_attributes() {
        let rules = RowPolicy::parse("show_click_entry:show:click", "unseen=9").unwrap();
        assert_eq!((rules.admission, rules.retention.unseen), (Admission::Always, Some(9)));
        assert!(rules.retention.score.is_some_and(|score| score.told && score.period.is_none()));
        assert_eq!(show_click("show_click_entry:a:b"), Some(("a", "b")));
        assert_eq!(RowPolicy::parse("", "").unwrap().retention, Retention::default());
        assert_eq!(RowPolicy::parse("count_filter_entry:3", "").unwrap().admission, Admission::Count(3));
        assert!(RowPolicy::parse("show_click_entry:a", "").unwrap_err().starts_with("entry = \"show_click_entry:a\""));
        assert_eq!(RowPolicy::parse("", "old").unwrap_err(), "evict = \"old\": `old` is not known");
    }
}
