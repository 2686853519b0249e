//! A heartbeat: a trainer is alive, even if a long step keeps its other connections silent.
//!
//! Reply: `done` (10).

use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use oarlock_ir::Result;
use oarlock_net::spawn;
use oarlock_net::{Conn, Incoming, Outgoing, Received, now};
use parking_lot::{Condvar, Mutex};
use tracing::warn;

use super::hello::Purpose;
use crate::client::Peer;
use crate::protocol::{Message, Sender, request};
use crate::server::Call;

request! { kind: 8, sender: Sender::Anyone }

/// The connection loop has noted the time already, as for every request.
fn apply(call: &mut Call<'_>) -> Result<()> {
    <()>::read(call.frame)
}

/// The heartbeats of one trainer: a connection and a thread for each server.
pub(crate) struct Heartbeat {
    shared: Arc<Shared>,
    every: Duration,
    threads: Mutex<Vec<JoinHandle<()>>>,
    servers: Mutex<Vec<Weak<Peer>>>,
}

#[derive(Default)]
struct Shared {
    stopped: Mutex<bool>,
    wake: Condvar,
}

impl Heartbeat {
    pub(crate) fn new(every: Duration) -> Heartbeat {
        Heartbeat { shared: Arc::default(), every, threads: Mutex::default(), servers: Mutex::default() }
    }

    /// Sends heartbeats to a server from now on.
    pub(crate) fn start(&self, peer: &Arc<Peer>, timeout: Duration) {
        let mut servers = self.servers.lock();
        if servers.iter().any(|server| server.ptr_eq(&Arc::downgrade(peer))) {
            return;
        }
        servers.push(Arc::downgrade(peer));
        let (peer, shared, every) = (Arc::downgrade(peer), self.shared.clone(), self.every);
        let beat = move || Beat { peer, shared, every, timeout }.run();
        match spawn("oarlock-beat", "the heartbeats of this trainer", beat) {
            Ok(thread) => self.threads.lock().push(thread),
            Err(e) => warn!(role = "trainer", "{e}"),
        }
    }

    /// Stops all heartbeats and waits for their threads.
    pub(crate) fn stop(&self) {
        *self.shared.stopped.lock() = true;
        self.shared.wake.notify_all();
        for thread in std::mem::take(&mut *self.threads.lock()) {
            // A thread that panicked has reported it already.
            let _ = thread.join();
        }
    }
}

struct Beat {
    peer: Weak<Peer>,
    shared: Arc<Shared>,
    every: Duration,
    timeout: Duration,
}

impl Beat {
    fn run(&self) {
        let mut conn: Option<Conn> = None;
        let mut sequence = 0;
        loop {
            let Some(peer) = self.peer.upgrade() else { return };
            if conn.is_none() {
                // Requests report the errors of a server; a heartbeat only tries again.
                conn = peer.open(Purpose::Heartbeat, u32::MAX, now() + self.every * 2).ok().map(|(conn, _)| conn);
            }
            sequence += 1;
            if let Some(live) = &mut conn
                && !self.beat(live, sequence)
            {
                conn = None;
            }
            if self.wait() {
                return;
            }
        }
    }

    /// Waits for the next heartbeat; true when it is time to stop.
    fn wait(&self) -> bool {
        let mut stopped = self.shared.stopped.lock();
        if !*stopped {
            self.shared.wake.wait_for(&mut stopped, self.every);
        }
        *stopped
    }

    fn beat(&self, conn: &mut Conn, sequence: u64) -> bool {
        let deadline = now() + self.timeout;
        let out = Outgoing { kind: REQUEST.kind, id: sequence, meta: &[], sections: &[] };
        let mut reply = Incoming::new();
        conn.send(&out, deadline).is_ok() && matches!(conn.recv(&mut reply, deadline), Ok(Received::Frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::samples::Sample;
    use crate::server::Policy;
    use crate::server::testing::TestServer;

    pub(super) fn samples() -> Vec<Sample> {
        vec![Sample::of("heartbeat", REQUEST.kind, &())]
    }

    #[test]
    fn heartbeat_sets_the_time_at_which_a_trainer_was_seen() {
        let server = TestServer::start(1, Policy::Fail);
        let client = server.join(0);
        let peer = client.peer(server.endpoint(), 0);
        let timeout = Duration::from_secs(60);
        let (mut conn, _) = peer.open(Purpose::Heartbeat, u32::MAX, now() + timeout).unwrap();
        let beat = Beat { peer: Arc::downgrade(&peer), shared: Arc::default(), every: timeout, timeout };
        let before = now();
        assert!(beat.beat(&mut conn, 1));
        let (incarnation, seen) = server.shared().state.lock().seen[0].unwrap();
        assert!(seen >= before);
        assert_eq!(incarnation, client.identity.lock().incarnation);
    }
}
