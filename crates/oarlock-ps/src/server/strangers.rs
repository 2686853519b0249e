//! What a server's log says of those who were turned away: the first of a minute by name, then how many there were. Whoever scans
//! ports, or a trainer of another job that tries again and again, must not fill the disk or hide what else is said.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use oarlock_net::Log;

/// So many of a minute are named.
const NAMED: usize = 5;

const MINUTE: Duration = Duration::from_secs(60);

/// Those who were turned away.
pub(super) struct Strangers {
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

impl Strangers {
    pub(super) fn new(log: Log) -> Strangers {
        Strangers { log, minute: Mutex::default() }
    }

    /// `who` was turned away now, because of `why`.
    pub(super) fn turned_away(&self, who: &str, why: &str, now: Instant) {
        self.look(now);
        if self.minute.lock().names(now) {
            self.log.line(format!("warning: {who} was turned away: {why}"));
        }
    }

    /// Says how many more there were, once their minute is over. To be called from time to time.
    pub(super) fn look(&self, now: Instant) {
        let unnamed = self.minute.lock().over(now);
        self.count(unnamed, " in the last minute");
    }

    /// Says how many more there were in a minute that ends with the server.
    pub(super) fn end(&self) {
        let unnamed = std::mem::take(&mut *self.minute.lock()).unnamed;
        self.count(unnamed, "");
    }

    fn count(&self, unnamed: usize, when: &str) {
        match unnamed {
            0 => {}
            1 => self.log.line(format!("warning: ... and 1 more was turned away{when}")),
            n => self.log.line(format!("warning: ... and {n} more were turned away{when}")),
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

    fn strangers() -> (Strangers, Arc<Mutex<Vec<String>>>) {
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let sink = lines.clone();
        (Strangers::new(Log::new(move |line| sink.lock().push(line.to_string()))), lines)
    }

    #[test]
    fn the_first_of_a_minute_are_named_and_the_others_counted() {
        let (strangers, lines) = strangers();
        let start = now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        (0..1000)
            .for_each(|i| strangers.turned_away(&format!("10.0.0.1:{i}"), "it connected and said nothing", at(i / 20)));
        strangers.look(at(59));
        assert_eq!(lines.lock().len(), NAMED);
        assert_eq!(lines.lock()[0], "warning: 10.0.0.1:0 was turned away: it connected and said nothing");
        strangers.look(at(60));
        strangers.look(at(61));
        assert_eq!(lines.lock()[NAMED..], ["warning: ... and 995 more were turned away in the last minute"]);
        // The next one begins a minute of its own, whoever looks in between.
        lines.lock().clear();
        (0..7).for_each(|i| strangers.turned_away(&format!("b:{i}"), "no", at(70)));
        strangers.turned_away("c:1", "no", at(130));
        let said = lines.lock().clone();
        assert_eq!(
            said[NAMED..],
            ["warning: ... and 2 more were turned away in the last minute", "warning: c:1 was turned away: no"]
        );
    }

    #[test]
    fn those_of_the_last_minute_are_counted_at_the_end() {
        let (strangers, lines) = strangers();
        strangers.end();
        assert!(lines.lock().is_empty());
        (0..NAMED + 1).for_each(|i| strangers.turned_away(&format!("b:{i}"), "no", now()));
        strangers.end();
        strangers.end();
        assert_eq!(lines.lock()[NAMED..], ["warning: ... and 1 more was turned away"]);
    }
}
