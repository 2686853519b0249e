//! A listener that goes on after errors: one that fails for a while (no files are left, say) is tried again, and the error is
//! logged once.

use std::sync::Arc;
use std::time::Duration;

use oarlock_ir::{Error, Result};
use parking_lot::Mutex;
use tracing::warn;

/// How long until a listener that failed is tried again.
const RETRY: Duration = Duration::from_millis(100);

/// The errors of a listener, shared by its threads.
#[derive(Clone)]
pub(crate) struct ListenErrors {
    rank: usize,
    endpoint: String,
    last: Arc<Mutex<Option<Error>>>,
}

impl ListenErrors {
    pub(crate) fn new(rank: usize, endpoint: &str) -> ListenErrors {
        ListenErrors { rank, endpoint: endpoint.to_string(), last: Arc::default() }
    }

    /// Keeps an error; it is logged once, however long it lasts.
    pub(crate) fn note(&self, error: Error) {
        let mut last = self.last.lock();
        if last.as_ref().is_none_or(|before| before.report().what != error.report().what) {
            warn!(rank = self.rank, endpoint = self.endpoint, "rank {}: {error}", self.rank);
        }
        *last = Some(error);
    }

    /// Adds the last error of the listener to that of a rank that waited for others in vain.
    pub(crate) fn explain(&self, error: Error) -> Error {
        match &*self.last.lock() {
            Some(cause) => {
                error.note(format!("rank {} could not accept connections: {}", self.rank, cause.report().what))
            }
            None => error,
        }
    }
}

/// Gives each connection to `greet`, until `next` has no more.
pub(crate) fn accept_all<C>(
    mut next: impl FnMut() -> Result<Option<C>>,
    errors: &ListenErrors,
    mut greet: impl FnMut(C),
) {
    loop {
        match next() {
            Ok(Some(conn)) => greet(conn),
            Ok(None) => return,
            Err(e) => {
                errors.note(e);
                std::thread::sleep(RETRY);
            }
        }
    }
}

#[test]
fn failing_listener_is_tried_again_and_its_error_logged_once() {
    let (endpoint, greeted) = ("a listener without files", Mutex::new(Vec::new()));
    let logged = oarlock_net::testing::Logged::with("endpoint", endpoint);
    let errors = ListenErrors::new(3, endpoint);
    let failure = || Err(Error::internal("no files are left"));
    let mut arrivals = [Ok(Some(1)), failure(), failure(), Ok(Some(2)), Ok(None)].into_iter();
    accept_all(|| arrivals.next().unwrap_or(Ok(None)), &errors, |conn| greeted.lock().push(conn));
    assert_eq!(*greeted.lock(), [1, 2]);
    assert_eq!(logged.lines().len(), 1, "{:?}", logged.lines());
    let late = errors.explain(Error::internal("no rank joined")).to_string();
    assert!(late.contains("rank 3 could not accept connections: no files are left"), "{late}");
}
