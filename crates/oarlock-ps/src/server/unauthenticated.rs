//! Log lines about unauthenticated peers that were rejected: the first of a minute by address, then their number. A port scan, or a
//! trainer of another job that tries again and again, must not fill the disk or hide other lines.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use oarlock_net::Log;

/// The number of peers of a minute that are named.
const NAMED: usize = 5;

const MINUTE: Duration = Duration::from_secs(60);

/// The peers that were rejected.
pub(super) struct Unauthenticated {
    log: Log,
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
    pub(super) fn new(log: Log) -> Unauthenticated {
        Unauthenticated { log, minute: Mutex::default() }
    }

    /// `peer` was rejected now, because of `why`.
    pub(super) fn rejected(&self, peer: &str, why: &str, now: Instant) {
        self.check(now);
        if self.minute.lock().names(now) {
            self.log.line(format!("warning: {peer} was rejected: {why}"));
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
        match unnamed {
            0 => {}
            1 => self.log.line(format!("warning: ... and 1 more was rejected{when}")),
            n => self.log.line(format!("warning: ... and {n} more were rejected{when}")),
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
    use std::sync::Arc;

    use super::*;
    use oarlock_net::now;

    fn unauthenticated() -> (Unauthenticated, Arc<Mutex<Vec<String>>>) {
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let sink = lines.clone();
        (Unauthenticated::new(Log::new(move |line| sink.lock().push(line.to_string()))), lines)
    }

    #[test]
    fn first_rejected_peers_of_a_minute_are_named_and_the_others_counted() {
        let (unauthenticated, lines) = unauthenticated();
        let start = now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        (0..1000).for_each(|i| {
            unauthenticated.rejected(&format!("10.0.0.1:{i}"), "it connected and sent nothing", at(i / 20))
        });
        unauthenticated.check(at(59));
        assert_eq!(lines.lock().len(), NAMED);
        assert_eq!(lines.lock()[0], "warning: 10.0.0.1:0 was rejected: it connected and sent nothing");
        unauthenticated.check(at(60));
        unauthenticated.check(at(61));
        assert_eq!(lines.lock()[NAMED..], ["warning: ... and 995 more were rejected in the last minute"]);
        // The next one begins a minute of its own.
        lines.lock().clear();
        (0..7).for_each(|i| unauthenticated.rejected(&format!("b:{i}"), "no", at(70)));
        unauthenticated.rejected("c:1", "no", at(130));
        let said = lines.lock().clone();
        assert_eq!(
            said[NAMED..],
            ["warning: ... and 2 more were rejected in the last minute", "warning: c:1 was rejected: no"]
        );
    }

    #[test]
    fn rejected_peers_of_the_last_minute_are_counted_at_the_end() {
        let (unauthenticated, lines) = unauthenticated();
        unauthenticated.end();
        assert!(lines.lock().is_empty());
        (0..NAMED + 1).for_each(|i| unauthenticated.rejected(&format!("b:{i}"), "no", now()));
        unauthenticated.end();
        unauthenticated.end();
        assert_eq!(lines.lock()[NAMED..], ["warning: ... and 1 more was rejected"]);
    }
}
