//! How a worker comes back to a group that is at work: it knocks at the first worker, which lets all form the group anew between
//! two steps.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use oarlock_ir::Result;
use parking_lot::Mutex;

use crate::group::GroupOptions;
use crate::listener::{Trouble, accept_all};
use crate::rendezvous::{FOR_KNOCK, rank_of};
use oarlock_net::spawn;
use oarlock_net::{Conn, Listener, now};

/// How long each of the others has to answer.
const ANSWER: Duration = Duration::from_millis(500);

/// Where those who come late knock.
pub(crate) struct Door {
    knocked: Arc<Mutex<BTreeSet<usize>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Door {
    pub(crate) fn open(options: &GroupOptions) -> Result<Door> {
        let listener = Listener::bind(&options.endpoints[options.rank], &options.net)?;
        let (knocked, stop) = (Arc::<Mutex<BTreeSet<usize>>>::default(), Arc::<AtomicBool>::default());
        let (heard, stopping) = (knocked.clone(), stop.clone());
        let trouble = Trouble::new(options.rank, &options.endpoints[options.rank]);
        let thread = spawn("oarlock-door", "workers that come back", move || {
            accept_all(
                || listener.accept(&stopping),
                &trouble,
                |mut conn| {
                    // A stranger is not let in; one that comes back is let in when the group is formed anew, and tries until then.
                    if let Ok(rank) = conn.hello().and_then(rank_of) {
                        heard.lock().insert(rank);
                    }
                },
            );
        })?;
        Ok(Door { knocked, stop, thread: Some(thread) })
    }

    pub(crate) fn knocked(&self) -> Vec<usize> {
        self.knocked.lock().iter().copied().collect()
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            // It looks at `stop` many times a second.
            let _ = thread.join();
        }
    }
}

/// The rank of the worker that decides in a group that is at work; none if there is no such group. While a group is being formed
/// anew any of its workers may answer; then the caller is not let in, and asks again.
pub(crate) fn find_first(options: &GroupOptions) -> Option<usize> {
    let net = options.net_for(FOR_KNOCK, &[0; 16]);
    let until = now() + options.silence * 2;
    while now() < until && options.check_unfinished().is_ok() {
        for (rank, endpoint) in options.endpoints.iter().enumerate().filter(|(rank, _)| *rank != options.rank) {
            if Conn::connect(endpoint, &net, now() + ANSWER).is_ok() {
                return Some(rank);
            }
        }
    }
    None
}
