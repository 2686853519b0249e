//! For whom a server waits, told every few seconds. Neither clock nor lock: whoever uses it has both.

use std::time::{Duration, Instant};

use super::ServerMode;
use super::round::Round;

/// How often it is told.
const TELL_EVERY: Duration = Duration::from_secs(10);

/// For whom a server waits now.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Waits {
    /// Trainers that never came so far.
    never_came: Vec<usize>,
    /// A step that has pushes, and the trainers whose push it lacks although they are, or were, here.
    step: Option<(u64, Vec<usize>)>,
}

impl Waits {
    pub(super) fn of(round: &Round, mode: ServerMode) -> Waits {
        let never_came = (0..round.trainers()).filter(|t| round.is_expected(*t)).collect();
        let awaited: Vec<usize> = round.awaited().into_iter().filter(|t| !round.is_expected(*t)).collect();
        let waits = mode == ServerMode::Sync && round.is_under_way() && !awaited.is_empty();
        Waits { never_came, step: waits.then(|| (round.done() + 1, awaited)) }
    }
}

/// Since when a server waits for the same, and when it was told last.
#[derive(Debug)]
pub(super) struct Reminder {
    came: Timer<Vec<usize>>,
    step: Timer<Option<(u64, Vec<usize>)>>,
}

impl Reminder {
    pub(super) fn new(now: Instant) -> Reminder {
        Reminder { came: Timer::new(now), step: Timer::new(now) }
    }

    /// What is to be told now.
    pub(super) fn look(&mut self, waits: &Waits, now: Instant) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(seconds) = self.came.look(&waits.never_came, now)
            && !waits.never_came.is_empty()
        {
            lines.push(format!("waits for {} since {seconds} s: not come yet", names(&waits.never_came)));
        }
        if let Some(seconds) = self.step.look(&waits.step, now)
            && let Some((step, awaited)) = &waits.step
        {
            lines.push(format!("waits in step {step} for {} since {seconds} s", names(awaited)));
        }
        lines
    }
}

fn names(trainers: &[usize]) -> String {
    let numbers: Vec<String> = trainers.iter().map(usize::to_string).collect();
    format!("trainer{} {}", if numbers.len() == 1 { "" } else { "s" }, numbers.join(", "))
}

/// How long something has been the same.
#[derive(Debug)]
struct Timer<T> {
    what: T,
    since: Instant,
    told: Instant,
}

impl<T: PartialEq + Clone + Default> Timer<T> {
    fn new(now: Instant) -> Timer<T> {
        Timer { what: T::default(), since: now, told: now }
    }

    /// For how many seconds, if it is time to tell.
    fn look(&mut self, what: &T, now: Instant) -> Option<u64> {
        if self.what != *what {
            *self = Timer { what: what.clone(), since: now, told: now };
        }
        if now.saturating_duration_since(self.told) < TELL_EVERY {
            return None;
        }
        self.told = now;
        Some(now.saturating_duration_since(self.since).as_secs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::Policy;
    use crate::server::round::Event;

    #[test]
    fn every_ten_seconds_it_is_told_for_whom_a_server_waits() {
        let start = oarlock_net::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut round = Round::new(3, Policy::Fail);
        let mut reminder = Reminder::new(start);
        let mut look = |round: &Round, seconds| reminder.look(&Waits::of(round, ServerMode::Sync), at(seconds));
        assert!(look(&round, 0).is_empty());
        assert_eq!(look(&round, 11), ["waits for trainers 0, 1, 2 since 11 s: not come yet"]);
        (0..2).for_each(|trainer| drop(round.on(Event::Join { trainer, incarnation: 1 })));
        round.on(Event::Push { trainer: 0, incarnation: 1, step: 1 });
        assert!(look(&round, 12).is_empty());
        assert_eq!(
            look(&round, 32),
            ["waits for trainer 2 since 20 s: not come yet", "waits in step 1 for trainer 1 since 20 s"]
        );
        assert!(look(&round, 41).is_empty());
        round.on(Event::Push { trainer: 1, incarnation: 1, step: 1 });
        assert_eq!(look(&round, 42), ["waits for trainer 2 since 30 s: not come yet"]);
    }
}
