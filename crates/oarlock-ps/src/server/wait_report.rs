//! The wait report: every few seconds a server logs the trainers that it waits for. A state machine without clock or lock.

use std::time::{Duration, Instant};

use super::ServerMode;
use super::step_barrier::StepBarrier;

/// How often it is logged.
const REPORT_EVERY: Duration = Duration::from_secs(10);

/// The trainers that a server waits for now.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct WaitReport {
    /// Trainers that have not joined yet.
    not_joined: Vec<usize>,
    /// A step that has pushes, and the trainers whose push it lacks although they joined.
    step: Option<(u64, Vec<usize>)>,
}

impl WaitReport {
    pub(super) fn of(round: &StepBarrier, mode: ServerMode) -> WaitReport {
        let not_joined = (0..round.trainers()).filter(|t| round.is_expected(*t)).collect();
        let awaited: Vec<usize> = round.awaited().into_iter().filter(|t| !round.is_expected(*t)).collect();
        let waits = mode == ServerMode::Sync && round.is_under_way() && !awaited.is_empty();
        WaitReport { not_joined, step: waits.then(|| (round.done() + 1, awaited)) }
    }
}

/// Since when a server waits for the same, and when that was logged last.
#[derive(Debug)]
pub(super) struct Reminder {
    joined: Timer<Vec<usize>>,
    step: Timer<Option<(u64, Vec<usize>)>>,
}

impl Reminder {
    pub(super) fn new(now: Instant) -> Reminder {
        Reminder { joined: Timer::new(now), step: Timer::new(now) }
    }

    /// The lines to log now.
    pub(super) fn check(&mut self, report: &WaitReport, now: Instant) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(seconds) = self.joined.check(&report.not_joined, now)
            && !report.not_joined.is_empty()
        {
            lines.push(format!("waits for {} since {seconds} s: not joined yet", names(&report.not_joined)));
        }
        if let Some(seconds) = self.step.check(&report.step, now)
            && let Some((step, awaited)) = &report.step
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
    reported: Instant,
}

impl<T: PartialEq + Clone + Default> Timer<T> {
    fn new(now: Instant) -> Timer<T> {
        Timer { what: T::default(), since: now, reported: now }
    }

    /// For how many seconds, if it is time to log it.
    fn check(&mut self, what: &T, now: Instant) -> Option<u64> {
        if self.what != *what {
            *self = Timer { what: what.clone(), since: now, reported: now };
        }
        if now.saturating_duration_since(self.reported) < REPORT_EVERY {
            return None;
        }
        self.reported = now;
        Some(now.saturating_duration_since(self.since).as_secs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::Policy;
    use crate::server::step_barrier::Event;

    #[test]
    fn awaited_trainers_are_logged_every_ten_seconds() {
        let start = oarlock_net::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut round = StepBarrier::new(3, Policy::Fail);
        let mut reminder = Reminder::new(start);
        let mut check =
            |round: &StepBarrier, seconds| reminder.check(&WaitReport::of(round, ServerMode::Sync), at(seconds));
        assert!(check(&round, 0).is_empty());
        assert_eq!(check(&round, 11), ["waits for trainers 0, 1, 2 since 11 s: not joined yet"]);
        (0..2).for_each(|trainer| drop(round.on(Event::Join { trainer, incarnation: 1 })));
        round.on(Event::Push { trainer: 0, incarnation: 1, step: 1 });
        assert!(check(&round, 12).is_empty());
        assert_eq!(
            check(&round, 32),
            ["waits for trainer 2 since 20 s: not joined yet", "waits in step 1 for trainer 1 since 20 s"]
        );
        assert!(check(&round, 41).is_empty());
        round.on(Event::Push { trainer: 1, incarnation: 1, step: 1 });
        assert_eq!(check(&round, 42), ["waits for trainer 2 since 30 s: not joined yet"]);
    }
}
