//! A request at a server: the connection that it came over, its frame, its reply; and the checks that requests share.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use oarlock_ir::{Error, Kind, Result};
use oarlock_net::Incoming;

use super::reply::Reply;
use super::step_barrier::{Effect, Refusal};
use super::{Shared, State};
use crate::request::hello::Hello;
use crate::request::push::PushBuffers;

/// A request that is being served.
pub(crate) struct Call<'a> {
    pub(crate) shared: &'a Arc<Shared>,
    pub(crate) hello: &'a Hello,
    pub(crate) frame: &'a Incoming,
    /// The address of the peer.
    pub(crate) peer: &'a str,
    pub(crate) reply: &'a mut Reply,
    pub(crate) push: &'a mut PushBuffers,
    /// The record of the request in the log of the server, 0 for none.
    pub(crate) logged: &'a mut u64,
}

impl Call<'_> {
    /// The trainer that sent it.
    pub(crate) fn trainer(&self) -> usize {
        self.hello.trainer as usize
    }

    /// Appends the request to the log of the server, if it keeps one. What the request changes is changed afterwards.
    pub(crate) fn log(&mut self) -> Result<()> {
        if let Some(log) = self.shared.log.get() {
            *self.logged = log.append_request(self.hello, self.frame)?;
        }
        Ok(())
    }

    /// Returns the refusal among the effects of an event as an error.
    pub(crate) fn check_refused(&self, effects: &[Effect]) -> Result<()> {
        match effects.iter().find_map(|e| if let Effect::Refuse(r) = e { Some(r) } else { None }) {
            None => Ok(()),
            Some(refusal) => Err(refusal_error(*refusal, self.hello)),
        }
    }

    /// The sender names the folder that a server writes into. From another machine only peers that proved to belong to the job may.
    pub(crate) fn check_may_write_files(&self) -> Result<()> {
        let local = self.peer.parse::<SocketAddr>().is_ok_and(|peer| peer.ip().to_canonical().is_loopback());
        let net = &self.shared.options.net;
        if local || net.token.is_some() || net.tls.is_some() {
            return Ok(());
        }
        let what = format!("{} asks server {} to write files", self.peer, self.shared.updates.endpoint);
        Err(Error::new(Kind::Argument, format!("{what}, and this job has no token"))
            .help("set OARLOCK_TOKEN to the same secret in all processes of the job"))
    }
}

#[cold]
fn refusal_error(refusal: Refusal, hello: &Hello) -> Error {
    Error::new(Kind::Argument, format!("trainer {} is refused: {refusal}", hello.trainer))
        .help("every trainer of a job needs a number of its own (PADDLE_TRAINER_ID)")
}

impl Shared {
    /// A process that was lost, left or was replaced changes nothing any more; nor does any process once the job has failed.
    pub(crate) fn check_active(&self, hello: &Hello) -> Result<()> {
        if hello.is_read_only() {
            return Err(Error::new(Kind::Argument, "a reader sent a request that only trainers may send"));
        }
        let state = self.state.lock();
        if let Some(failed) = &state.failed {
            return Err(failed.clone());
        }
        match state.step_barrier.rejection(hello.trainer as usize, hello.incarnation) {
            None => Ok(()),
            Some(refusal) => Err(refusal_error(refusal, hello)),
        }
    }

    /// Fails if waiting has become pointless: the job failed, or the server stops.
    pub(crate) fn check_going_on(&self, state: &State) -> Result<()> {
        if let Some(failed) = &state.failed {
            return Err(failed.clone());
        }
        if self.stop.load(Ordering::Acquire) {
            return Err(Error::new(Kind::Network, "the server stops"));
        }
        Ok(())
    }

    /// No reply is larger than a frame may be; a peer cannot make a server gather more.
    pub(crate) fn check_size(&self, bytes: u64) -> Result<()> {
        let most = self.options.net.max_frame;
        if bytes <= most {
            return Ok(());
        }
        let what = format!("server {} was asked for more than {most} bytes at once", self.updates.endpoint);
        Err(Error::new(Kind::Range, what).help("ask for less at a time, or raise OARLOCK_MAX_FRAME in all processes"))
    }

    #[cold]
    pub(crate) fn overdue(&self, what: &str, awaited: &[usize]) -> Error {
        let trainers: Vec<String> = awaited.iter().map(usize::to_string).collect();
        let seconds = self.options.deadline.as_secs();
        Error::new(Kind::Timeout, format!("{what} waited {seconds} s for trainer {}", trainers.join(", ")))
            .note(format!("at server {}", self.updates.endpoint))
            .help("see what that trainer does; FLAGS_rpc_deadline (milliseconds) sets how long to wait")
    }
}
