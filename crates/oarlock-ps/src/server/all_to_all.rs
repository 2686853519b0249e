//! All-to-all exchange of bytes between trainers, round by round. A state machine without clock, socket or thread.
//!
//! A round is complete when all trainers have contributed their parts. The result of the last round is kept until its trainer contributes
//! to the next one, so a request whose reply was lost can be retried.

use std::sync::Arc;

use oarlock_ir::{Error, Kind, Result};
use oarlock_net::codec::{Reader, Writer};

/// Bytes and the trainer they go to, or come from.
pub(crate) type Part = (u32, Arc<Vec<u8>>);

#[derive(Debug)]
pub(crate) struct AllToAll {
    /// Complete rounds.
    done: u64,
    /// The parts of each trainer for the next one, and whether it has more.
    contributed: Vec<Option<(Vec<Part>, bool)>>,
    /// The parts for each trainer from the last one.
    received: Vec<Vec<Part>>,
    more: bool,
}

impl AllToAll {
    pub(crate) fn new(trainers: usize) -> AllToAll {
        AllToAll { done: 0, contributed: vec![None; trainers], received: vec![Vec::new(); trainers], more: false }
    }

    /// Was the contribution of a trainer to this round made before?
    pub(crate) fn has(&self, trainer: u32, number: u64) -> bool {
        number <= self.done || self.contributed.get(trainer as usize).is_none_or(Option::is_some)
    }

    /// Writes it to a snapshot of the server's log.
    pub(crate) fn save(&self, to: &mut Writer) {
        to.u64(self.done).bool(self.more);
        to.list(&self.contributed, |to, contributed| {
            to.bool(contributed.is_some());
            let (parts, more) = contributed.as_ref().map_or((&[][..], false), |(parts, more)| (&parts[..], *more));
            to.bool(more);
            save_parts(parts, to);
        });
        to.list(&self.received, |to, parts| save_parts(parts, to));
    }

    /// Reads one that was written, of the same number of trainers.
    pub(crate) fn load(&mut self, from: &mut Reader<'_>) -> Result<()> {
        (self.done, self.more) = (from.u64()?, from.bool()?);
        let contributed = from.list(|from| {
            let (some, more) = (from.bool()?, from.bool()?);
            let parts = load_parts(from)?;
            Ok(some.then_some((parts, more)))
        })?;
        let received = from.list(load_parts)?;
        self.contributed.iter_mut().zip(contributed).for_each(|(to, contributed)| *to = contributed);
        self.received.iter_mut().zip(received).for_each(|(to, received)| *to = received);
        Ok(())
    }

    /// A trainer contributes its parts to a round. A duplicate changes nothing.
    pub(crate) fn contribute(&mut self, trainer: u32, number: u64, parts: Vec<Part>, more: bool) -> Result<()> {
        if number == self.done {
            return Ok(());
        }
        let trainers = self.contributed.len();
        if number != self.done + 1 || trainer as usize >= trainers {
            let what = format!("trainer {trainer} is in round {number} of exchanges, the others in {}", self.done + 1);
            return Err(Error::new(Kind::Argument, what)
                .help("all trainers must exchange equally often; one that was started again cannot repeat it"));
        }
        if let Some((to, _)) = parts.iter().find(|(to, _)| *to as usize >= trainers) {
            let what = format!("trainer {trainer} sends to trainer {to}, but there are {trainers}");
            return Err(Error::new(Kind::Argument, what).help("give all processes the same number of trainers"));
        }
        self.received[trainer as usize].clear();
        self.contributed[trainer as usize].get_or_insert((parts, more));
        if self.contributed.iter().all(Option::is_some) {
            self.complete();
        }
        Ok(())
    }

    fn complete(&mut self) {
        self.done += 1;
        self.more = false;
        for (from, contributed) in self.contributed.iter_mut().enumerate() {
            let (parts, more) = contributed.take().unwrap_or_default();
            self.more |= more;
            parts.into_iter().for_each(|(to, part)| self.received[to as usize].push((from as u32, part)));
        }
    }

    /// The parts for a trainer from a round, in the order of their senders, and whether a trainer has more; `None` while one is
    /// missing.
    pub(crate) fn result(&self, trainer: u32, number: u64) -> Option<(Vec<Part>, bool)> {
        (self.done >= number).then(|| (self.received[trainer as usize].clone(), self.more))
    }

    /// The trainers that have not contributed to the next round yet.
    pub(crate) fn awaited(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.contributed.len()).filter(|t| self.contributed[*t].is_none())
    }
}

fn save_parts(parts: &[Part], to: &mut Writer) {
    to.list(parts, |to, (trainer, bytes)| {
        to.u32(*trainer).bytes(bytes);
    });
}

fn load_parts(from: &mut Reader<'_>) -> Result<Vec<Part>> {
    from.list(|from| Ok((from.u32()?, Arc::new(from.bytes()?.to_vec()))))
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
    fn every_trainer_receives_its_parts() {
        let mut exchange = AllToAll::new(2);
        exchange.contribute(1, 1, vec![part(0, 10), part(1, 11)], false).unwrap();
        assert_eq!((exchange.result(1, 1), exchange.awaited().collect::<Vec<_>>()), (None, vec![0]));
        exchange.contribute(0, 1, vec![part(1, 1)], true).unwrap();
        let (got, more) = exchange.result(1, 1).unwrap();
        assert_eq!((bytes(&got), more), (vec![(0, 1), (1, 11)], true));
        assert_eq!(bytes(&exchange.result(0, 1).unwrap().0), [(1, 10)]);
    }

    #[test]
    fn duplicate_contribution_changes_nothing() {
        let mut exchange = AllToAll::new(2);
        exchange.contribute(0, 1, vec![part(1, 1)], false).unwrap();
        exchange.contribute(0, 1, vec![part(1, 2)], false).unwrap();
        exchange.contribute(1, 1, Vec::new(), false).unwrap();
        assert_eq!(bytes(&exchange.result(1, 1).unwrap().0), [(0, 1)]);
        // The other one is ahead, and this one asks again for what it never saw.
        exchange.contribute(0, 2, vec![part(1, 3)], false).unwrap();
        exchange.contribute(1, 1, Vec::new(), false).unwrap();
        assert_eq!(bytes(&exchange.result(1, 1).unwrap().0), [(0, 1)]);
    }

    #[test]
    fn contribution_to_another_round_is_an_error() {
        let mut exchange = AllToAll::new(2);
        (0..2).for_each(|t| exchange.contribute(t, 1, Vec::new(), false).unwrap());
        let error = exchange.contribute(0, 3, Vec::new(), false).unwrap_err().to_string();
        assert!(error.contains("trainer 0 is in round 3 of exchanges, the others in 2"), "{error}");
        let error = exchange.contribute(0, 2, vec![part(2, 0)], false).unwrap_err().to_string();
        assert!(error.contains("sends to trainer 2, but there are 2"), "{error}");
    }
}
