//! The return of a trainer without which the others went on: it agrees with all servers on a step from which on it takes part.
//!
//! Others make steps meanwhile. The step is chosen some way ahead; a server that has passed it already refuses, and a later one is tried.
//! A server that agreed waits for the trainer at that step, so from then on nobody can get far ahead of it.

use std::sync::atomic::Ordering;

use oarlock_ir::{Error, Kind, Result};

use super::{Client, Request};
use crate::message::{ComeBack, kind};
use oarlock_net::codec::{Reader, Writer};
use oarlock_net::now;

/// How many steps ahead of the servers the first try is, and the last.
const AHEAD: (u64, u64) = (2, 1 << 20);

impl Client {
    /// Comes back; returns how many steps are made then. The parameters that servers have are those after these steps, and stay so
    /// until this trainer takes part in the next.
    pub(super) fn come_back(&self, trainer: u32, servers: &[String]) -> Result<u64> {
        let (deadline, mut ahead) = (self.deadline(), AHEAD.0);
        while now() < deadline {
            self.options.check_interrupted()?;
            let stand = self.ask_to_come_back(trainer, servers, 0, false)?;
            let done = stand.iter().map(|server| server.done).max().unwrap_or(0);
            // Where nobody trains, nobody will pass the next step either.
            let from = done + if stand.iter().all(|server| server.idle) { 1 } else { ahead };
            if self.agree(trainer, servers, from)? {
                let note = format!("trainer {trainer} came back and takes part again from step {from} on");
                self.options.log.line(note);
                return Ok(from - 1);
            }
            ahead = (ahead * 2).min(AHEAD.1);
        }
        let seconds = self.options.deadline.as_secs();
        let what =
            format!("trainer {trainer} came back, and could not agree with the servers on a step in {seconds} s");
        Err(Error::new(Kind::Timeout, what).help("see what the other trainers do"))
    }

    /// Takes part from a step on and waits until it is the next; false if a server has passed it, or it will never come.
    fn agree(&self, trainer: u32, servers: &[String], from: u64) -> Result<bool> {
        if self.ask_to_come_back(trainer, servers, from, false)?.iter().any(|server| server.from == 0) {
            return Ok(false);
        }
        let deadline = self.deadline();
        while now() < deadline {
            self.options.check_interrupted()?;
            let stand = self.ask_to_come_back(trainer, servers, from, true)?;
            if stand.iter().all(|server| server.done + 1 >= from) {
                return Ok(true);
            }
            if stand.iter().all(|server| server.idle) {
                return Ok(false);
            }
        }
        Ok(false)
    }

    fn ask_to_come_back(&self, trainer: u32, servers: &[String], from: u64, wait: bool) -> Result<Vec<ComeBack>> {
        let mut meta = Writer::new();
        ComeBack { from, wait, pauses: self.pauses.load(Ordering::Acquire), ..ComeBack::default() }.encode(&mut meta);
        let about = || "its return".to_string();
        let request = Request { kind: kind::COME_BACK, meta: meta.as_bytes(), sections: &[], about: &about };
        let ask = |server: &String| {
            self.ask_one(trainer, server, &request, |reply| {
                ComeBack::decode(&mut Reader::new(reply.meta(), "a message"))
            })
        };
        servers.iter().map(ask).collect()
    }
}
