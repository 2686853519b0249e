//! How far trainers that do not wait for each other are apart, and how old the parameters are that their gradients come
//! from. Neither clock nor lock: whoever uses it has both.

use std::fmt;

/// The paces of all trainers of a server.
#[derive(Debug, Clone)]
pub(super) struct Pace {
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

impl Pace {
    pub(super) fn new(trainers: usize) -> Pace {
        Pace { trainers: vec![Trainer::default(); trainers], total: 0, staleness: Staleness::default() }
    }

    /// A trainer pushed.
    pub(super) fn pushed(&mut self, trainer: usize) {
        let Some(own) = self.trainers.get_mut(trainer) else { return };
        let stale = self.total - own.fetched;
        own.pushes += 1;
        // Its own update does not make what it knows older.
        own.fetched += 1;
        self.total += 1;
        self.staleness.pushes += 1;
        self.staleness.sum += stale;
        self.staleness.most = self.staleness.most.max(stale);
    }

    /// A trainer fetched parameters, or only rows of tables. Rows are looked up later in a step, so where there are other
    /// parameters, it is these whose age counts.
    pub(super) fn fetched(&mut self, trainer: usize, only_rows: bool) {
        if let Some(own) = self.trainers.get_mut(trainer)
            && !(only_rows && own.whole)
        {
            own.fetched = self.total;
            own.whole = !only_rows;
        }
    }

    /// How often a trainer pushed.
    pub(super) fn pushes(&self, trainer: usize) -> u64 {
        self.trainers.get(trainer).map_or(0, |t| t.pushes)
    }

    /// A trainer takes part again after the others went on without it: as if it stood where the slowest of them does.
    pub(super) fn came_back(&mut self, trainer: usize, take_part: impl Fn(usize) -> bool) {
        let others = self.trainers.iter().enumerate().filter(|(t, _)| *t != trainer && take_part(*t));
        let slowest = others.map(|(_, t)| t.pushes).min().unwrap_or(0);
        if let Some(own) = self.trainers.get_mut(trainer) {
            own.pushes = own.pushes.max(slowest);
        }
    }

    /// These trainers begin anew together: none of them is ahead of another.
    pub(super) fn level(&mut self, trainers: &[usize]) {
        let most = trainers.iter().map(|t| self.pushes(*t)).max().unwrap_or(0);
        for trainer in trainers {
            if let Some(own) = self.trainers.get_mut(*trainer) {
                own.pushes = most;
            }
        }
    }

    /// The trainer that this one is more than `bound` pushes ahead of, if there is one among those that `take_part`.
    pub(super) fn ahead_of(&self, trainer: usize, bound: u64, take_part: impl Fn(usize) -> bool) -> Option<usize> {
        let own = self.trainers.get(trainer)?.pushes;
        let others = self.trainers.iter().enumerate().filter(|(t, _)| take_part(*t));
        let (slowest, its) = others.min_by_key(|(_, t)| t.pushes)?;
        (own > its.pushes + bound).then_some(slowest)
    }

    pub(super) fn staleness(&self) -> Staleness {
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
    fn only_what_others_pushed_makes_parameters_old() {
        let mut pace = Pace::new(2);
        pace.fetched(0, false);
        pace.pushed(0);
        pace.pushed(0);
        assert_eq!(pace.staleness(), Staleness { pushes: 2, sum: 0, most: 0 });
        pace.pushed(1);
        assert_eq!(pace.staleness(), Staleness { pushes: 3, sum: 2, most: 2 });
        pace.fetched(0, true);
        pace.pushed(0);
        assert_eq!(pace.staleness(), Staleness { pushes: 4, sum: 3, most: 2 });
        pace.fetched(0, false);
        pace.pushed(0);
        assert_eq!(pace.staleness(), Staleness { pushes: 5, sum: 3, most: 2 });
    }

    #[test]
    fn the_slowest_that_takes_part_holds_the_others_up() {
        let mut pace = Pace::new(3);
        (0..3).for_each(|_| pace.pushed(0));
        pace.pushed(1);
        assert_eq!(pace.ahead_of(0, 2, |_| true), Some(2));
        assert_eq!(pace.ahead_of(0, 2, |t| t != 2), None);
        assert_eq!(pace.ahead_of(0, 1, |t| t != 2), Some(1));
        assert_eq!(pace.ahead_of(1, 1, |_| true), None);
        // One that was away while they went on does not hold them up.
        pace.came_back(2, |_| true);
        assert_eq!((pace.pushes(2), pace.ahead_of(0, 2, |_| true)), (1, None));
        pace.came_back(0, |_| true);
        assert_eq!(pace.pushes(0), 3);
    }
}
