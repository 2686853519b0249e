//! Rounds in which trainers exchange bytes: who has brought what, and what each gets. No clock, socket or thread.
//!
//! Everybody brings a round before anybody gets it. The result of the last round is kept until its trainer brings the next
//! one, so a request whose reply was lost can be repeated.

use std::sync::Arc;

use oarlock_ir::{Error, Kind, Result};

/// Bytes and the trainer they go to, or come from.
pub(super) type Part = (u32, Arc<Vec<u8>>);

#[derive(Debug)]
pub(super) struct Trades {
    /// Complete rounds.
    done: u64,
    /// What each trainer brought to the next one, and whether it has more.
    brought: Vec<Option<(Vec<Part>, bool)>>,
    /// What each trainer gets from the last one.
    got: Vec<Vec<Part>>,
    more: bool,
}

impl Trades {
    pub(super) fn new(trainers: usize) -> Trades {
        Trades { done: 0, brought: vec![None; trainers], got: vec![Vec::new(); trainers], more: false }
    }

    /// A trainer brings its parts of a round. What it brought before is not replaced: it is the same.
    pub(super) fn bring(&mut self, trainer: u32, number: u64, parts: Vec<Part>, more: bool) -> Result<()> {
        if number == self.done {
            return Ok(());
        }
        let trainers = self.brought.len();
        if number != self.done + 1 || trainer as usize >= trainers {
            let what = format!("trainer {trainer} is in round {number} of exchanges, the others in {}", self.done + 1);
            return Err(Error::new(Kind::Argument, what)
                .help("all trainers must exchange equally often; one that was started again cannot repeat it"));
        }
        if let Some((to, _)) = parts.iter().find(|(to, _)| *to as usize >= trainers) {
            let what = format!("trainer {trainer} sends to trainer {to}, but there are {trainers}");
            return Err(Error::new(Kind::Argument, what).help("give all processes the same number of trainers"));
        }
        self.got[trainer as usize].clear();
        self.brought[trainer as usize].get_or_insert((parts, more));
        if self.brought.iter().all(Option::is_some) {
            self.complete();
        }
        Ok(())
    }

    fn complete(&mut self) {
        self.done += 1;
        self.more = false;
        for (from, brought) in self.brought.iter_mut().enumerate() {
            let (parts, more) = brought.take().unwrap_or_default();
            self.more |= more;
            parts.into_iter().for_each(|(to, part)| self.got[to as usize].push((from as u32, part)));
        }
    }

    /// What a trainer gets from a round, in the order of those who sent it, and whether anybody has more; `None` while somebody
    /// is missing.
    pub(super) fn result(&self, trainer: u32, number: u64) -> Option<(Vec<Part>, bool)> {
        (self.done >= number).then(|| (self.got[trainer as usize].clone(), self.more))
    }

    /// Who has not brought the next round yet.
    pub(super) fn awaited(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.brought.len()).filter(|t| self.brought[*t].is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(to: u32, byte: u8) -> Part {
        (to, Arc::new(vec![byte]))
    }

    fn bytes(parts: &[Part]) -> Vec<(u32, u8)> {
        parts.iter().map(|(from, bytes)| (*from, bytes[0])).collect()
    }

    #[test]
    fn everybody_gets_what_was_meant_for_it() {
        let mut trades = Trades::new(2);
        trades.bring(1, 1, vec![part(0, 10), part(1, 11)], false).unwrap();
        assert_eq!((trades.result(1, 1), trades.awaited().collect::<Vec<_>>()), (None, vec![0]));
        trades.bring(0, 1, vec![part(1, 1)], true).unwrap();
        let (got, more) = trades.result(1, 1).unwrap();
        assert_eq!((bytes(&got), more), (vec![(0, 1), (1, 11)], true));
        assert_eq!(bytes(&trades.result(0, 1).unwrap().0), [(1, 10)]);
    }

    #[test]
    fn a_repeat_changes_nothing() {
        let mut trades = Trades::new(2);
        trades.bring(0, 1, vec![part(1, 1)], false).unwrap();
        trades.bring(0, 1, vec![part(1, 2)], false).unwrap();
        trades.bring(1, 1, Vec::new(), false).unwrap();
        assert_eq!(bytes(&trades.result(1, 1).unwrap().0), [(0, 1)]);
        // The other one is ahead, and this one asks again for what it never saw.
        trades.bring(0, 2, vec![part(1, 3)], false).unwrap();
        trades.bring(1, 1, Vec::new(), false).unwrap();
        assert_eq!(bytes(&trades.result(1, 1).unwrap().0), [(0, 1)]);
    }

    #[test]
    fn who_is_out_of_step_is_told_so() {
        let mut trades = Trades::new(2);
        (0..2).for_each(|t| trades.bring(t, 1, Vec::new(), false).unwrap());
        let error = trades.bring(0, 3, Vec::new(), false).unwrap_err().to_string();
        assert!(error.contains("trainer 0 is in round 3 of exchanges, the others in 2"), "{error}");
        let error = trades.bring(0, 2, vec![part(2, 0)], false).unwrap_err().to_string();
        assert!(error.contains("sends to trainer 2, but there are 2"), "{error}");
    }
}
