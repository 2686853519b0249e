//! Letting in whoever comes: a listener that fails for a while (no files are left, say) is tried again, and what was wrong is told.

use std::sync::Arc;
use std::time::Duration;

use oarlock_ir::{Error, Result};
use parking_lot::Mutex;
use tracing::warn;

/// How long until a listener that failed is tried again.
const RETRY: Duration = Duration::from_millis(100);

/// What keeps others from being let in.
#[derive(Clone)]
pub(crate) struct Trouble {
    rank: usize,
    endpoint: String,
    last: Arc<Mutex<Option<Error>>>,
}

impl Trouble {
    pub(crate) fn new(rank: usize, endpoint: &str) -> Trouble {
        Trouble { rank, endpoint: endpoint.to_string(), last: Arc::default() }
    }

    /// Notes what is wrong; it is said once, however long it lasts.
    pub(crate) fn note(&self, error: Error) {
        let mut last = self.last.lock();
        if last.as_ref().is_none_or(|before| before.report().what != error.report().what) {
            warn!(rank = self.rank, endpoint = self.endpoint, "rank {}: {error}", self.rank);
        }
        *last = Some(error);
    }

    /// Adds to the error of one who waited in vain what kept others from being let in.
    pub(crate) fn explain(&self, error: Error) -> Error {
        match &*self.last.lock() {
            Some(cause) => error.note(format!("rank {} could not let others in: {}", self.rank, cause.report().what)),
            None => error,
        }
    }
}

/// Hands over whoever comes, until `next` has nobody more.
pub(crate) fn accept_all<C>(mut next: impl FnMut() -> Result<Option<C>>, trouble: &Trouble, mut greet: impl FnMut(C)) {
    loop {
        match next() {
            Ok(Some(conn)) => greet(conn),
            Ok(None) => return,
            Err(e) => {
                trouble.note(e);
                std::thread::sleep(RETRY);
            }
        }
    }
}

#[test]
fn a_listener_that_fails_is_tried_again_and_said_once() {
    let (endpoint, greeted) = ("a listener without files", Mutex::new(Vec::new()));
    let logged = oarlock_net::testing::Logged::with("endpoint", endpoint);
    let trouble = Trouble::new(3, endpoint);
    let failure = || Err(Error::internal("no files are left"));
    let mut comes = [Ok(Some(1)), failure(), failure(), Ok(Some(2)), Ok(None)].into_iter();
    accept_all(|| comes.next().unwrap_or(Ok(None)), &trouble, |who| greeted.lock().push(who));
    assert_eq!(*greeted.lock(), [1, 2]);
    assert_eq!(logged.lines().len(), 1, "{:?}", logged.lines());
    let late = trouble.explain(Error::internal("nobody came")).to_string();
    assert!(late.contains("rank 3 could not let others in: no files are left"), "{late}");
}
