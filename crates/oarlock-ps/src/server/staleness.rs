//! The staleness bound of asynchronous training: how many pushes trainers are apart, and how old the parameters are that their
//! gradients come from. A state machine without clock or lock.

use std::fmt;

use oarlock_ir::Result;
use oarlock_net::codec::{Reader, Writer};

/// The pushes of all trainers of a server.
#[derive(Debug, Clone)]
pub(crate) struct StalenessBound {
    trainers: Vec<Trainer>,
    /// Pushes of all trainers.
    total: u64,
    staleness: Staleness,
}

#[derive(Debug, Clone, Copy, Default)]
struct Trainer {
    /// Its own pushes.
    pushes: u64,
    /// How many pushes the parameters held that it fetched last.
    fetched: u64,
    /// It fetches whole variables, not only rows.
    whole: bool,
}

/// How many pushes of others came between the parameters that gradients were computed from and their own push.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Staleness {
    /// Pushes that were counted.
    pub pushes: u64,
    /// Of all of them together.
    pub sum: u64,
    /// Of the worst.
    pub most: u64,
}

impl StalenessBound {
    pub(crate) fn new(trainers: usize) -> StalenessBound {
        StalenessBound { trainers: vec![Trainer::default(); trainers], total: 0, staleness: Staleness::default() }
    }

    /// A trainer pushed.
    pub(crate) fn pushed(&mut self, trainer: usize) {
        let Some(own) = self.trainers.get_mut(trainer) else { return };
        let stale = self.total - own.fetched;
        own.pushes += 1;
        // Its own update does not make its parameters older.
        own.fetched += 1;
        self.total += 1;
        self.staleness.pushes += 1;
        self.staleness.sum += stale;
        self.staleness.most = self.staleness.most.max(stale);
    }

    /// A trainer fetched parameters, or only rows of tables. Rows are looked up later in a step, so where there are other
    /// parameters, it is these whose age counts.
    pub(crate) fn fetched(&mut self, trainer: usize, only_rows: bool) {
        if let Some(own) = self.trainers.get_mut(trainer)
            && !(only_rows && own.whole)
        {
            own.fetched = self.total;
            own.whole = !only_rows;
        }
    }

    /// Writes it to a snapshot of the server's log.
    pub(crate) fn save(&self, to: &mut Writer) {
        to.list(&self.trainers, |to, trainer| {
            to.u64(trainer.pushes).u64(trainer.fetched).bool(trainer.whole);
        });
        to.u64(self.total).u64(self.staleness.pushes).u64(self.staleness.sum).u64(self.staleness.most);
    }

    /// Reads one that was written, of the same number of trainers.
    pub(crate) fn load(&mut self, from: &mut Reader<'_>) -> Result<()> {
        let trainers =
            from.list(|from| Ok(Trainer { pushes: from.u64()?, fetched: from.u64()?, whole: from.bool()? }))?;
        self.trainers.iter_mut().zip(trainers).for_each(|(to, trainer)| *to = trainer);
        self.total = from.u64()?;
        self.staleness = Staleness { pushes: from.u64()?, sum: from.u64()?, most: from.u64()? };
        Ok(())
    }

    /// How often a trainer pushed.
    pub(crate) fn pushes(&self, trainer: usize) -> u64 {
        self.trainers.get(trainer).map_or(0, |t| t.pushes)
    }

    /// A trainer takes part again after the others went on without it: as if it stood where the slowest of them does.
    pub(crate) fn rejoined(&mut self, trainer: usize, take_part: impl Fn(usize) -> bool) {
        let others = self.trainers.iter().enumerate().filter(|(t, _)| *t != trainer && take_part(*t));
        let slowest = others.map(|(_, t)| t.pushes).min().unwrap_or(0);
        if let Some(own) = self.trainers.get_mut(trainer) {
            own.pushes = own.pushes.max(slowest);
        }
    }

    /// These trainers continue together after an all-gather: none of them is ahead of another.
    pub(crate) fn align(&mut self, trainers: &[usize]) {
        let most = trainers.iter().map(|t| self.pushes(*t)).max().unwrap_or(0);
        for trainer in trainers {
            if let Some(own) = self.trainers.get_mut(*trainer) {
                own.pushes = most;
            }
        }
    }

    /// The trainer that this one is more than `bound` pushes ahead of, if there is one among those that `take_part`.
    pub(crate) fn ahead_of(&self, trainer: usize, bound: u64, take_part: impl Fn(usize) -> bool) -> Option<usize> {
        let own = self.trainers.get(trainer)?.pushes;
        let others = self.trainers.iter().enumerate().filter(|(t, _)| take_part(*t));
        let (slowest, its) = others.min_by_key(|(_, t)| t.pushes)?;
        (own > its.pushes + bound).then_some(slowest)
    }

    pub(crate) fn stats(&self) -> Staleness {
        self.staleness
    }
}

impl fmt::Display for Staleness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mean = self.sum as f64 / self.pushes.max(1) as f64;
        write!(f, "gradients were {mean:.2} pushes old on average, {} at most", self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pushes_of_others_make_parameters_stale() {
        let mut bound = StalenessBound::new(2);
        bound.fetched(0, false);
        bound.pushed(0);
        bound.pushed(0);
        assert_eq!(bound.stats(), Staleness { pushes: 2, sum: 0, most: 0 });
        bound.pushed(1);
        assert_eq!(bound.stats(), Staleness { pushes: 3, sum: 2, most: 2 });
        bound.fetched(0, true);
        bound.pushed(0);
        assert_eq!(bound.stats(), Staleness { pushes: 4, sum: 3, most: 2 });
        bound.fetched(0, false);
        bound.pushed(0);
        assert_eq!(bound.stats(), Staleness { pushes: 5, sum: 3, most: 2 });
    }

    #[test]
    fn slowest_participating_trainer_bounds_the_others() {
        let mut bound = StalenessBound::new(3);
        (0..3).for_each(|_| bound.pushed(0));
        bound.pushed(1);
        assert_eq!(bound.ahead_of(0, 2, |_| true), Some(2));
        assert_eq!(bound.ahead_of(0, 2, |t| t != 2), None);
        assert_eq!(bound.ahead_of(0, 1, |t| t != 2), Some(1));
        assert_eq!(bound.ahead_of(1, 1, |_| true), None);
        // One that was lost while they went on does not bound them.
        bound.rejoined(2, |_| true);
        assert_eq!((bound.pushes(2), bound.ahead_of(0, 2, |_| true)), (1, None));
        bound.rejoined(0, |_| true);
        assert_eq!(bound.pushes(0), 3);
    }
}
