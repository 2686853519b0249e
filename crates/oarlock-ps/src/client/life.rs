//! Shows servers that a trainer is alive: a connection to each that carries nothing but a beat.
//!
//! A long step is silent on the connections that do the work; only this one tells it from a machine that went away.

use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::peer::Peer;
use crate::message::{Purpose, kind};
use oarlock_net::Log;
use oarlock_net::spawn;
use oarlock_net::{Conn, Incoming, Outgoing, Received, now};

/// The beats of one trainer.
pub(super) struct Life {
    shared: Arc<Shared>,
    every: Duration,
    log: Log,
    threads: Mutex<Vec<JoinHandle<()>>>,
    watched: Mutex<Vec<Weak<Peer>>>,
}

#[derive(Default)]
struct Shared {
    stopped: Mutex<bool>,
    wake: Condvar,
}

impl Life {
    pub(super) fn new(every: Duration, log: Log) -> Life {
        Life { shared: Arc::default(), every, log, threads: Mutex::default(), watched: Mutex::default() }
    }

    /// Shows this server that the trainer is alive, from now on.
    pub(super) fn watch(&self, peer: &Arc<Peer>, patience: Duration) {
        let mut watched = self.watched.lock();
        if watched.iter().any(|w| w.ptr_eq(&Arc::downgrade(peer))) {
            return;
        }
        watched.push(Arc::downgrade(peer));
        let (peer, shared, every) = (Arc::downgrade(peer), self.shared.clone(), self.every);
        let beat = move || Beat { peer, shared, every, patience }.run();
        match spawn("oarlock-life", "showing servers that this trainer is alive", beat) {
            Ok(thread) => self.threads.lock().push(thread),
            Err(e) => self.log.line(format!("warning: {e}")),
        }
    }

    /// Stops all beats and waits for their threads.
    pub(super) fn stop(&self) {
        *self.shared.stopped.lock() = true;
        self.shared.wake.notify_all();
        for thread in std::mem::take(&mut *self.threads.lock()) {
            // A beat that panicked has said so already.
            let _ = thread.join();
        }
    }
}

struct Beat {
    peer: Weak<Peer>,
    shared: Arc<Shared>,
    every: Duration,
    patience: Duration,
}

impl Beat {
    fn run(&self) {
        let mut conn: Option<Conn> = None;
        let mut sequence = 0;
        loop {
            let Some(peer) = self.peer.upgrade() else { return };
            if conn.is_none() {
                // Requests report what is wrong with a server; a beat only tries again.
                conn = peer.open(Purpose::Life, u32::MAX, now() + self.every * 2).ok().map(|(conn, _)| conn);
            }
            sequence += 1;
            if let Some(live) = &mut conn
                && !self.beat(live, sequence)
            {
                conn = None;
            }
            if self.pause() {
                return;
            }
        }
    }

    /// Waits for the next beat; true when it is time to stop.
    fn pause(&self) -> bool {
        let mut stopped = self.shared.stopped.lock();
        if !*stopped {
            self.shared.wake.wait_for(&mut stopped, self.every);
        }
        *stopped
    }

    fn beat(&self, conn: &mut Conn, sequence: u64) -> bool {
        let deadline = now() + self.patience;
        let out = Outgoing { kind: kind::PING, id: sequence, meta: &[], sections: &[] };
        let mut reply = Incoming::new();
        conn.send(&out, deadline).is_ok() && matches!(conn.recv(&mut reply, deadline), Ok(Received::Frame))
    }
}
