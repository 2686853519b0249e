//! Log lines about unauthenticated peers that were rejected: the first of a minute by address, then their number. A port scan, or a
//! trainer of another job that tries again and again, must not fill the disk or hide other lines.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tracing::warn;

/// The number of peers of a minute that are named.
const NAMED: usize = 5;

const MINUTE: Duration = Duration::from_secs(60);

/// The peers that were rejected.
pub(super) struct Unauthenticated {
    /// The endpoint of the server.
    endpoint: String,
    minute: Mutex<Minute>,
}

/// A minute that began with the first of them.
#[derive(Default)]
struct Minute {
    began: Option<Instant>,
    named: usize,
    unnamed: usize,
}

impl Unauthenticated {
    pub(super) fn new(endpoint: &str) -> Unauthenticated {
        Unauthenticated { endpoint: endpoint.to_string(), minute: Mutex::default() }
    }

    /// `peer` was rejected now, because of `why`.
    pub(super) fn rejected(&self, peer: &str, why: &str, now: Instant) {
        self.check(now);
        if self.minute.lock().names(now) {
            warn!(role = "server", endpoint = %self.endpoint, peer, "{peer} was rejected: {why}");
        }
    }

    /// Logs how many more there were, once their minute is over. To be called from time to time.
    pub(super) fn check(&self, now: Instant) {
        let unnamed = self.minute.lock().over(now);
        self.count(unnamed, " in the last minute");
    }

    /// Logs how many more there were in a minute that ends with the server.
    pub(super) fn end(&self) {
        let unnamed = std::mem::take(&mut *self.minute.lock()).unnamed;
        self.count(unnamed, "");
    }

    fn count(&self, unnamed: usize, when: &str) {
        let endpoint = self.endpoint.as_str();
        match unnamed {
            0 => {}
            1 => warn!(role = "server", endpoint, "... and 1 more was rejected{when}"),
            n => warn!(role = "server", endpoint, "... and {n} more were rejected{when}"),
        }
    }
}

impl Minute {
    /// One more: is it named?
    fn names(&mut self, now: Instant) -> bool {
        self.began.get_or_insert(now);
        let names = self.named < NAMED;
        *(if names { &mut self.named } else { &mut self.unnamed }) += 1;
        names
    }

    /// How many were not named, if the minute is over.
    fn over(&mut self, now: Instant) -> usize {
        match self.began {
            Some(began) if now.saturating_duration_since(began) >= MINUTE => std::mem::take(self).unnamed,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use oarlock_net::now;
    use oarlock_net::testing::Logged;

    use super::*;

    /// The messages of the events that were logged, with their levels.
    fn messages(logged: &Logged) -> Vec<String> {
        logged.lines().iter().map(|line| line.split(" [(").next().unwrap_or(line).to_string()).collect()
    }

    #[test]
    fn first_rejected_peers_of_a_minute_are_named_and_the_others_counted() {
        let endpoint = "first-of-a-minute:1";
        let (unauthenticated, logged) = (Unauthenticated::new(endpoint), Logged::with("endpoint", endpoint));
        let start = now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        (0..1000).for_each(|i| {
            unauthenticated.rejected(&format!("10.0.0.1:{i}"), "it connected and sent nothing", at(i / 20))
        });
        unauthenticated.check(at(59));
        assert_eq!(logged.lines().len(), NAMED);
        assert_eq!(messages(&logged)[0], "WARN 10.0.0.1:0 was rejected: it connected and sent nothing");
        assert!(logged.lines()[0].contains("(\"peer\", String(\"10.0.0.1:0\"))"), "{:?}", logged.lines()[0]);
        unauthenticated.check(at(60));
        unauthenticated.check(at(61));
        assert_eq!(messages(&logged)[NAMED..], ["WARN ... and 995 more were rejected in the last minute"]);
        // The next one begins a minute of its own.
        (0..7).for_each(|i| unauthenticated.rejected(&format!("b:{i}"), "no", at(70)));
        unauthenticated.rejected("c:1", "no", at(130));
        assert_eq!(
            messages(&logged)[2 * NAMED + 1..],
            ["WARN ... and 2 more were rejected in the last minute", "WARN c:1 was rejected: no"]
        );
    }

    #[test]
    fn rejected_peers_of_the_last_minute_are_counted_at_the_end() {
        let endpoint = "counted-at-the-end:1";
        let (unauthenticated, logged) = (Unauthenticated::new(endpoint), Logged::with("endpoint", endpoint));
        unauthenticated.end();
        assert!(logged.lines().is_empty());
        (0..NAMED + 1).for_each(|i| unauthenticated.rejected(&format!("b:{i}"), "no", now()));
        unauthenticated.end();
        unauthenticated.end();
        assert_eq!(messages(&logged)[NAMED..], ["WARN ... and 1 more was rejected"]);
    }
}
