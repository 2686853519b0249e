//! One round of an all-to-all exchange of bytes between trainers through the servers, for example of samples in a global shuffle.
//! Each part is a section.
//!
//! Parts for trainer `t` pass through server `t mod servers`, so that the servers share the load.
//!
//! Reply: `all_to_all` (11) with the parts for the trainer that asked, when all trainers have sent theirs.

use std::sync::Arc;

use oarlock_io::data::{Exchange, SampleParts};
use oarlock_ir::{Error, Kind, Result};
use oarlock_net::{Incoming, now};
use oarlock_tensor::{DType, Tensor};

use crate::client::Client;
use crate::protocol::{Message, Sender, ValueWriter, damaged, message, request};
use crate::server::{Call, State};

request! { kind: 11, sender: Sender::ActiveTrainer, profile: "serve exchange", replay: replay }

message! {
    /// The message before the parts.
    pub(crate) struct AllToAll {
        /// The round, counted from 1 over the whole job.
        pub(crate) number: u64,
        /// In the request: the trainer has more to send afterwards. In the reply: some trainer has.
        pub(crate) more: bool,
        /// In the request: the receiver of each part. In the reply: its sender.
        pub(crate) trainers: Vec<u32>,
    }
}

impl AllToAll {
    /// The parts of a message, each with its trainer.
    fn parts<'f>(&self, frame: &'f Incoming) -> Result<Vec<(u32, &'f [u8])>> {
        let part = |(i, trainer): (usize, &u32)| Some((*trainer, frame.section(i)?));
        let parts: Option<Vec<_>> = self.trainers.iter().enumerate().map(part).collect();
        parts.ok_or_else(|| damaged("a part of an exchange is missing"))
    }
}

fn contribute(call: &mut Call<'_>, state: &mut State, round: &AllToAll) -> Result<()> {
    let trainer = call.hello.trainer;
    let parts = round.parts(call.frame)?.into_iter().map(|(to, part)| (to, Arc::new(part.to_vec()))).collect();
    if !state.all_to_all.has(trainer, round.number) {
        call.log()?;
    }
    state.all_to_all.contribute(trainer, round.number, parts, round.more)
}

/// Contributes again.
fn replay(call: &mut Call<'_>) -> Result<()> {
    let round = AllToAll::read(call.frame)?;
    let mut state = call.shared.state.lock();
    contribute(call, &mut state, &round)
}

fn apply(call: &mut Call<'_>) -> Result<()> {
    let (shared, trainer) = (call.shared, call.hello.trainer);
    let round = AllToAll::read(call.frame)?;
    let mut state = shared.state.lock();
    contribute(call, &mut state, &round)?;
    shared.changed.notify_all();
    let deadline = now() + shared.options.deadline;
    let (received, more) = loop {
        if let Some(result) = state.all_to_all.result(trainer, round.number) {
            break result;
        }
        shared.check_going_on(&state)?;
        if let Some(lost) = state.all_to_all.awaited().find(|t| state.step_barrier.has_departed(*t)) {
            return Err(departed(lost, round.number));
        }
        if shared.changed.wait_until(&mut state, deadline).timed_out() {
            let awaited: Vec<usize> = state.all_to_all.awaited().collect();
            return Err(shared.overdue(&format!("round {} of an exchange", round.number), &awaited));
        }
    };
    drop(state);
    let (trainers, parts) = received.into_iter().unzip();
    call.reply.set(REQUEST.kind, &AllToAll { number: round.number, more, trainers });
    call.reply.set_parts(parts);
    Ok(())
}

#[cold]
fn departed(trainer: usize, number: u64) -> Error {
    Error::new(
        Kind::Network,
        format!("trainer {trainer} is gone, and round {number} of an exchange needs every trainer"),
    )
    .help("let all trainers exchange equally often, before any of them ends; see the log of that trainer")
}

/// The trainers of a job, as one of them exchanges bytes with the others.
pub struct TrainerGroup {
    client: Arc<Client>,
    servers: Vec<String>,
    trainer: usize,
    trainers: usize,
    /// More rounds of the same exchange follow.
    under_way: bool,
}

impl TrainerGroup {
    /// Trainer `trainer` of `trainers`, which exchange bytes through these servers.
    pub fn new(client: Arc<Client>, servers: Vec<String>, trainer: usize, trainers: usize) -> Result<TrainerGroup> {
        if servers.is_empty() {
            return Err(Error::new(Kind::Argument, format!("{trainers} trainers have no server to exchange through"))
                .help("trainers exchange samples through parameter servers; without any, give each files of its own"));
        }
        if trainer >= trainers {
            return Err(Error::new(Kind::Argument, format!("this is trainer {trainer}, and there are {trainers}"))
                .help("they are counted from 0"));
        }
        Ok(TrainerGroup { client, servers, trainer, trainers, under_way: false })
    }

    /// All-gather: sends the same bytes to all; returns those of all, in the order of the trainers.
    pub fn all_gather(&mut self, own: &[u8]) -> Result<Vec<Vec<u8>>> {
        let round = SampleParts { parts: vec![own.to_vec(); self.trainers], more: false };
        Ok(self.all_to_all(round)?.parts)
    }
}

impl Exchange for TrainerGroup {
    fn trainers(&self) -> usize {
        self.trainers
    }

    fn trainer(&self) -> usize {
        self.trainer
    }

    fn all_to_all(&mut self, round: SampleParts) -> Result<SampleParts> {
        // Another trainer may still train. A barrier comes first: it may take as long as it does, and steps go on meanwhile.
        if self.trainers > 1 && !self.under_way {
            self.client.barrier_before_exchange(self.trainer as u32, &self.servers)?;
        }
        let mut received = SampleParts { parts: vec![Vec::new(); self.trainers], more: false };
        received.more = self.client.all_to_all(self.trainer as u32, &self.servers, &round, |from, part| {
            let to = received.parts.get_mut(from as usize).ok_or_else(|| unknown_sender(from))?;
            to.extend_from_slice(part);
            Ok(())
        })?;
        self.under_way = received.more;
        Ok(received)
    }
}

#[cold]
fn unknown_sender(from: u32) -> Error {
    Error::new(Kind::Format, format!("samples came from trainer {from}, which this job does not have"))
        .help("give all processes the same number of trainers")
}

/// The exchanges that a trainer made.
#[derive(Default)]
pub(crate) struct Exchanges {
    done: u64,
    /// An exchange failed: servers may have come to different ends of it.
    broken: bool,
}

impl Exchanges {
    fn check(&self) -> Result<()> {
        if self.broken {
            return Err(Error::new(Kind::Network, "an exchange between trainers failed before")
                .help("start the job again: what the trainers hold no longer fits together"));
        }
        Ok(())
    }
}

impl Client {
    fn barrier_before_exchange(&self, trainer: u32, servers: &[String]) -> Result<()> {
        let mut exchanges = self.trainer_exchanges.lock();
        exchanges.check()?;
        let all = self.all_gather(trainer, servers, "an exchange between trainers", &Tensor::zeros(DType::U8, [1]));
        exchanges.broken = all.is_err();
        all.map(drop)
    }

    /// One round: sends every trainer its part, and passes the parts of the others to `take`, with their senders. Returns whether
    /// a trainer has more.
    fn all_to_all(
        &self,
        trainer: u32,
        servers: &[String],
        round: &SampleParts,
        mut take: impl FnMut(u32, &[u8]) -> Result<()>,
    ) -> Result<bool> {
        let mut exchanges = self.trainer_exchanges.lock();
        exchanges.check()?;
        let number = exchanges.done + 1;
        let mut requests = Vec::new();
        for (s, server) in servers.iter().enumerate() {
            let here = |to: &usize| to % servers.len() == s && !round.parts[*to].is_empty();
            let to: Vec<usize> = (0..round.parts.len()).filter(here).collect();
            let trainers = to.iter().map(|t| *t as u32).collect();
            let meta = AllToAll { number, more: round.more, trainers }.to_meta();
            let parts = to.iter().map(|t| round.parts[*t].as_slice()).collect();
            requests.push((server.as_str(), meta, ValueWriter::of_sections(parts)));
        }
        // Until it has succeeded: a caller that catches the error must not go on in another round than the others.
        exchanges.broken = true;
        let mut more = false;
        let about = || format!("round {number} of an exchange between trainers");
        self.ask_all(trainer, &REQUEST, &requests, &about, |_, reply| {
            let round = AllToAll::read(reply)?;
            more |= round.more;
            round.parts(reply)?.into_iter().try_for_each(|(from, part)| take(from, part))
        })?;
        (exchanges.done, exchanges.broken) = (number, false);
        Ok(more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::samples::Sample;

    pub(super) fn samples() -> Vec<Sample> {
        let round = AllToAll { number: 3, more: true, trainers: vec![0, 2] };
        let decode = |frame: &Incoming| AllToAll::read(frame)?.parts(frame).map(drop);
        vec![Sample::with_sections("all to all", REQUEST.kind, round.to_meta(), &[b"some samples", b"others"], decode)]
    }

    #[test]
    fn failed_exchange_fails_all_later_ones() {
        let mut exchanges = Exchanges::default();
        exchanges.check().unwrap();
        exchanges.broken = true;
        assert_eq!(exchanges.check().unwrap_err().report().what, "an exchange between trainers failed before");
    }
}
