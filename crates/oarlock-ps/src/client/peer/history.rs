//! The history that a server had when a trainer last talked to it, and the comparison with the one that it has now.
//!
//! A server without a log that is restarted on the same address has none of the updates that it acknowledged; neither has one whose log
//! was cut short. A trainer that went on with it would train on, and the result would lack these updates. So it is refused by name.

use std::sync::atomic::{AtomicU64, Ordering};

use oarlock_ir::{Error, Kind, Result};
use parking_lot::Mutex;

use crate::request::hello::{ServerIdentity, Welcome};

/// What a trainer knows of a server's history.
#[derive(Default)]
pub(super) struct History {
    known: Mutex<Known>,
    /// The number of pushes that the server acknowledged.
    pushes: AtomicU64,
}

#[derive(Default)]
struct Known {
    server: Option<ServerIdentity>,
    /// The last step of synchronous training that the server had of this trainer.
    pushed: u64,
}

impl History {
    /// Does the server keep a log, as far as it is known?
    pub(super) fn has_log(&self) -> bool {
        self.known.lock().server.as_ref().is_some_and(|server| server.has_log)
    }

    /// The server acknowledged a push, of this step if steps are counted.
    pub(super) fn count_push(&self, step: u64) {
        self.pushes.fetch_add(1, Ordering::Relaxed);
        if step > 0 {
            self.known.lock().pushed = step;
        }
    }

    /// Compares a server with what is known of it, and remembers it.
    pub(super) fn check(&self, endpoint: &str, welcome: &Welcome) -> Result<()> {
        let mut known = self.known.lock();
        let now = &welcome.server;
        if let Some(before) = &known.server {
            if before.lineage != now.lineage {
                return Err(self.without_history(endpoint, before, welcome));
            }
            if now.epoch < before.epoch {
                return Err(overtaken(endpoint, before, now));
            }
            if welcome.pushed < known.pushed {
                return Err(shortened(endpoint, now, known.pushed - welcome.pushed));
            }
        }
        known.pushed = known.pushed.max(welcome.pushed);
        known.server = Some(now.clone());
        Ok(())
    }

    /// Compares the last push of a stream that the server applied with the last one that it acknowledged.
    pub(super) fn check_stream(&self, endpoint: &str, acknowledged: u64, welcome: &Welcome) -> Result<()> {
        match welcome.applied {
            Some(applied) if applied < acknowledged => Err(shortened(
                endpoint,
                &welcome.server,
                self.pushes.load(Ordering::Relaxed).saturating_sub(welcome.pushes),
            )),
            _ => Ok(()),
        }
    }

    #[cold]
    fn without_history(&self, endpoint: &str, before: &ServerIdentity, welcome: &Welcome) -> Error {
        let (lost, has) = (grouped(self.pushes.load(Ordering::Relaxed)), grouped(welcome.pushes));
        let what = format!(
            "{} of this job came back without its log: it has {has} of {lost} pushes of this trainer; the updates that it lacks are lost",
            name(endpoint, before)
        );
        let help = match before.has_log {
            true => {
                "restart it with the log that it had (OARLOCK_SERVER_LOG, OARLOCK_JOB_ID), or start the job again from its last checkpoint"
            }
            false => {
                "start the job again from its last checkpoint; with OARLOCK_SERVER_LOG, or under `oarlock launch`, servers keep a log and come back with it"
            }
        };
        Error::new(Kind::Network, what)
            .note(format!("its history was {}, and is {} now", before.lineage, welcome.server.lineage))
            .help(help)
    }
}

#[cold]
fn overtaken(endpoint: &str, before: &ServerIdentity, now: &ServerIdentity) -> Error {
    let what = format!(
        "{} of this job came back as an older process: start {} of its history, after start {}",
        name(endpoint, before),
        now.epoch,
        before.epoch
    );
    Error::new(Kind::Network, what).help("two processes serve as one server: end the older one")
}

#[cold]
fn shortened(endpoint: &str, server: &ServerIdentity, lost: u64) -> Error {
    let what = format!(
        "{} of this job came back with a part of its log: {} pushes that it acknowledged are not in it",
        name(endpoint, server),
        grouped(lost.max(1))
    );
    Error::new(Kind::Network, what).help(
        "start the job again from its last checkpoint; a log survives a loss of power only with --durability power (OARLOCK_DURABILITY)",
    )
}

fn name(endpoint: &str, server: &ServerIdentity) -> String {
    match server.number {
        Some(number) => format!("server {number} ({endpoint})"),
        None => format!("server {endpoint}"),
    }
}

/// A number with commas between groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn welcome(lineage: &str, epoch: u64, pushed: u64) -> Welcome {
        let server = ServerIdentity { number: Some(1), lineage: lineage.into(), epoch, has_log: true };
        Welcome { pushed, must_rejoin: false, server, pushes: pushed, applied: Some(pushed) }
    }

    fn refusal(history: &History, welcome: &Welcome) -> String {
        history.check("a:1", welcome).unwrap_err().report().what.clone()
    }

    #[test]
    fn server_with_another_history_is_refused_by_name() {
        let history = History::default();
        history.check("a:1", &welcome("x", 1, 0)).unwrap();
        (0..4211).for_each(|_| history.count_push(0));
        assert_eq!(
            refusal(&history, &welcome("y", 1, 0)),
            "server 1 (a:1) of this job came back without its log: it has 0 of 4,211 pushes of this trainer; \
             the updates that it lacks are lost"
        );
        history.check("a:1", &welcome("x", 2, 0)).unwrap();
    }

    #[test]
    fn server_that_lacks_an_acknowledged_push_is_refused() {
        let history = History::default();
        history.check("a:1", &welcome("x", 2, 7)).unwrap();
        assert!(refusal(&history, &welcome("x", 1, 7)).contains("came back as an older process"));
        history.count_push(7);
        assert!(refusal(&history, &welcome("x", 3, 5)).contains("2 pushes that it acknowledged are not in it"));
        history.check_stream("a:1", 7, &welcome("x", 3, 7)).unwrap();
        history.check_stream("a:1", 7, &Welcome { applied: None, ..welcome("x", 3, 0) }).unwrap();
        assert!(history.check_stream("a:1", 8, &welcome("x", 3, 7)).is_err());
    }

    #[test]
    fn numbers_have_commas() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
