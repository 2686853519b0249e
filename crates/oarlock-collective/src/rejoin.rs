//! Rejoining an elastic group: a restarted rank connects to the coordinator of the group that is at work, which makes all ranks
//! form the group again between two steps.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use oarlock_ir::Result;
use parking_lot::Mutex;

use crate::group::GroupOptions;
use crate::listener::{ListenErrors, accept_all};
use crate::rendezvous::{FOR_REJOIN, Hello};
use oarlock_net::spawn;
use oarlock_net::{Conn, Listener, now};

/// How long each rank may take to answer.
const ANSWER: Duration = Duration::from_millis(500);

/// The port of a coordinator on which ranks ask to rejoin.
pub(crate) struct RejoinListener {
    rejoin_requested: Arc<Mutex<BTreeSet<usize>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl RejoinListener {
    pub(crate) fn open(options: &GroupOptions) -> Result<RejoinListener> {
        let listener = Listener::bind(&options.endpoints[options.rank], &options.net)?;
        let (rejoin_requested, stop) = (Arc::<Mutex<BTreeSet<usize>>>::default(), Arc::<AtomicBool>::default());
        let world = options.endpoints.len();
        let (requests, stopping) = (rejoin_requested.clone(), stop.clone());
        let errors = ListenErrors::new(options.rank, &options.endpoints[options.rank]);
        let thread = spawn("oarlock-rejoin", "ranks that rejoin", move || {
            accept_all(
                || listener.accept(&stopping),
                &errors,
                |mut conn| {
                    // A rank that asks joins when the group is formed again, and tries until then.
                    if let Ok(Hello { rank, .. }) = conn.hello().and_then(|hello| Hello::decode(hello, world)) {
                        requests.lock().insert(rank);
                    }
                },
            );
        })?;
        Ok(RejoinListener { rejoin_requested, stop, thread: Some(thread) })
    }

    /// The ranks that have asked to rejoin.
    pub(crate) fn rejoin_requested(&self) -> Vec<usize> {
        self.rejoin_requested.lock().iter().copied().collect()
    }
}

impl Drop for RejoinListener {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            // It looks at `stop` many times a second.
            let _ = thread.join();
        }
    }
}

/// The coordinator of a group that is at work; none if there is no such group. While a group is being formed again any of its
/// ranks may answer; then the caller is not accepted, and asks again.
pub(crate) fn find_coordinator(options: &GroupOptions) -> Option<usize> {
    let net = options.net_for(FOR_REJOIN, &[0; 16]);
    let until = now() + options.heartbeat_timeout * 2;
    while now() < until && options.check_unfinished().is_ok() {
        for (rank, endpoint) in options.endpoints.iter().enumerate().filter(|(rank, _)| *rank != options.rank) {
            if Conn::connect(endpoint, &net, now() + ANSWER).is_ok() {
                return Some(rank);
            }
        }
    }
    None
}
