//! Waiting for servers before a trainer begins.

use std::time::{Duration, Instant};

use oarlock_ir::{Error, Kind, Result};
use tracing::info;

use super::{ClientOptions, Identity, Peer, incarnation};
use oarlock_net::{Failure, UNKNOWN_NAME, now};

/// How long one request to a server takes at most.
const ASK: Duration = Duration::from_millis(500);

/// How often it is said for whom a trainer waits.
const SAY: Duration = Duration::from_secs(3);

/// Waits until every server answers. Says every few seconds which ones do not, and gives up at the deadline of the options; at
/// once if a server refuses this process.
pub fn wait_for_servers(endpoints: &[String], options: &ClientOptions) -> Result<()> {
    let start = now();
    let deadline = start + options.deadline;
    let identity = Identity { trainer: 0, incarnation: incarnation(), read_only: true };
    let mut missing: Vec<Peer> = endpoints.iter().map(|e| Peer::new(e, identity, options)).collect();
    let mut say = start + SAY;
    loop {
        let mut last = None;
        let mut still = Vec::new();
        for peer in missing {
            let until = deadline.min(now() + ASK);
            match peer.probe(until) {
                Ok(()) => continue,
                // A busy server may take longer than one request for its part of the handshake.
                Err(Failure::Final(e)) if now() < until => return Err(e),
                Err(Failure::Unknown(e)) if start.elapsed() > UNKNOWN_NAME => return Err(e),
                Err(failure) => last = Some(failure.into_error()),
            }
            still.push(peer);
        }
        missing = still;
        let Some(last) = last else { return Ok(()) };
        options.check_interrupted()?;
        if now() >= deadline {
            return Err(gave_up(&missing, &last, start));
        }
        if now() >= say {
            let waited = start.elapsed().as_secs();
            let limit = options.deadline.as_secs();
            info!(seconds = waited, "waiting for {} ({waited} s of at most {limit} s)", names(&missing));
            say += SAY;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn names(peers: &[Peer]) -> String {
    let names: Vec<&str> = peers.iter().map(|p| p.endpoint.as_str()).collect();
    format!("server{} {}", if names.len() > 1 { "s" } else { "" }, names.join(", "))
}

fn gave_up(missing: &[Peer], last: &Error, start: Instant) -> Error {
    let waited = start.elapsed().as_secs();
    Error::new(Kind::Timeout, format!("{} did not answer in {waited} s", names(missing)))
        .note(last.report().what.clone())
        .help("start the servers of this job and look at their logs; FLAGS_rpc_deadline (milliseconds) sets how long to wait")
}
