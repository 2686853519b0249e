//! Accepts connections, up to a limit, and starts a session for each.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use oarlock_net::spawn;
use oarlock_net::{Closer, Conn, Listener, now};

use super::Shared;
use super::session::Session;

/// Connections at a time. Trainers have some dozens each at most; a peer that opens more must not use up the machine.
const MAX_CONNECTIONS: usize = 8192;

/// How long a server waits after it could accept no connection: usually for a file to be closed.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// A connection that is being served.
struct Open {
    thread: JoinHandle<()>,
    closer: Closer,
    /// Set when the peer has introduced itself.
    known: Arc<AtomicBool>,
}

impl Shared {
    pub(super) fn accept(self: &Arc<Shared>, listener: &Listener) {
        let mut sessions: Vec<Open> = Vec::new();
        while !self.stop.load(Ordering::Acquire) {
            match listener.accept(&self.stop) {
                Ok(Some(conn)) => self.serve(conn, &mut sessions),
                Ok(None) => {}
                Err(e) => {
                    self.unauthenticated.rejected("a peer", &e.report().what, now());
                    std::thread::sleep(ACCEPT_PAUSE);
                }
            }
            sessions.retain(|session| !session.thread.is_finished());
        }
        // A peer that has not introduced itself is not waited for.
        sessions.iter().filter(|session| !session.known.load(Ordering::Acquire)).for_each(|s| s.closer.close());
        for session in sessions {
            // A session that panicked has reported it already.
            let _ = session.thread.join();
        }
    }

    fn serve(self: &Arc<Shared>, conn: Conn, sessions: &mut Vec<Open>) {
        if sessions.len() >= MAX_CONNECTIONS {
            let why = format!("{MAX_CONNECTIONS} are connected");
            self.unauthenticated.rejected(conn.peer(), &why, now());
            return;
        }
        let (shared, closer, known) = (self.clone(), conn.closer(), Arc::<AtomicBool>::default());
        let session = Session::new(shared, conn, known.clone());
        match spawn("oarlock-session", "a connection", move || session.run()) {
            Ok(thread) => sessions.push(Open { thread, closer, known }),
            Err(e) => self.unauthenticated.rejected("a trainer", &e.report().what, now()),
        }
    }
}
