//! Trainers exchange bytes with each other through the servers: samples of a global shuffle, and what a barrier or a sum needs.
//!
//! What goes to trainer `t` passes server `t mod servers`, so the servers share the load.

use std::sync::Arc;

use oarlock_io::data::{Exchange, SampleParts};
use oarlock_ir::{Error, Kind, Result};
use oarlock_tensor::{DType, Tensor};

use super::Client;
use crate::message::{Trade, ValueWriter, kind};
use oarlock_net::codec::{Reader, Writer};

/// The trainers of a job, as one of them meets the others.
pub struct Partners {
    client: Arc<Client>,
    servers: Vec<String>,
    trainer: usize,
    trainers: usize,
    /// More rounds of the same exchange follow.
    under_way: bool,
}

impl Partners {
    /// Trainer `trainer` of `trainers`, which meet at these servers.
    pub fn new(client: Arc<Client>, servers: Vec<String>, trainer: usize, trainers: usize) -> Result<Partners> {
        if servers.is_empty() {
            return Err(Error::new(Kind::Argument, format!("{trainers} trainers have no server at which to meet"))
                .help("trainers exchange samples through parameter servers; without any, give each files of its own"));
        }
        if trainer >= trainers {
            return Err(Error::new(Kind::Argument, format!("this is trainer {trainer}, and there are {trainers}"))
                .help("they are counted from 0"));
        }
        Ok(Partners { client, servers, trainer, trainers, under_way: false })
    }

    /// The same bytes to everybody; returns those of all, in the order of the trainers.
    pub fn gather(&mut self, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
        let round = SampleParts { parts: vec![mine.to_vec(); self.trainers], more: false };
        Ok(self.all_to_all(round)?.parts)
    }
}

impl Exchange for Partners {
    fn trainers(&self) -> usize {
        self.trainers
    }

    fn trainer(&self) -> usize {
        self.trainer
    }

    fn all_to_all(&mut self, round: SampleParts) -> Result<SampleParts> {
        // One may still train when another is here. They meet first: that may take as long as it does, and steps go on meanwhile.
        if self.trainers > 1 && !self.under_way {
            self.client.meet_to_trade(self.trainer as u32, &self.servers)?;
        }
        let mut got = SampleParts { parts: vec![Vec::new(); self.trainers], more: false };
        got.more = self.client.trade(self.trainer as u32, &self.servers, &round, |from, part| {
            let to = got.parts.get_mut(from as usize).ok_or_else(|| from_nobody(from))?;
            to.extend_from_slice(part);
            Ok(())
        })?;
        self.under_way = got.more;
        Ok(got)
    }
}

#[cold]
fn from_nobody(from: u32) -> Error {
    Error::new(Kind::Format, format!("samples came from trainer {from}, which this job does not have"))
        .help("give all processes the same number of trainers")
}

/// How far the exchanges of a trainer came.
#[derive(Default)]
pub(super) struct Trades {
    done: u64,
    /// An exchange failed: servers may have come to different ends of it.
    broken: bool,
}

impl Trades {
    fn check(&self) -> Result<()> {
        if self.broken {
            return Err(Error::new(Kind::Network, "an exchange between trainers failed before")
                .help("start the job again: what the trainers hold no longer fits together"));
        }
        Ok(())
    }
}

impl Client {
    fn meet_to_trade(&self, trainer: u32, servers: &[String]) -> Result<()> {
        let mut trades = self.trades.lock();
        trades.check()?;
        let met = self.meet(trainer, servers, "an exchange between trainers", &Tensor::zeros(DType::U8, [1]));
        trades.broken = met.is_err();
        met.map(drop)
    }

    /// One round: gives every trainer its part, and hands `take` what they gave, by who gave it. Has anybody more?
    fn trade(
        &self,
        trainer: u32,
        servers: &[String],
        round: &SampleParts,
        mut take: impl FnMut(u32, &[u8]) -> Result<()>,
    ) -> Result<bool> {
        let mut trades = self.trades.lock();
        trades.check()?;
        let number = trades.done + 1;
        let mut requests = Vec::new();
        for (s, server) in servers.iter().enumerate() {
            let here = |to: &usize| to % servers.len() == s && !round.parts[*to].is_empty();
            let to: Vec<usize> = (0..round.parts.len()).filter(here).collect();
            let mut meta = Writer::new();
            Trade { number, more: round.more, trainers: to.iter().map(|t| *t as u32).collect() }.encode(&mut meta);
            let parts = to.iter().map(|t| round.parts[*t].as_slice()).collect();
            requests.push((server.as_str(), kind::TRADE, meta, ValueWriter::of_sections(parts)));
        }
        // Until it has succeeded: whoever catches the error must not go on in another round than the others.
        trades.broken = true;
        let mut more = false;
        let about = || format!("round {number} of an exchange between trainers");
        self.ask_all(trainer, &requests, &about, |_, reply| {
            let trade = Trade::decode(&mut Reader::new(reply.meta(), "a message"))?;
            more |= trade.more;
            trade.parts(reply)?.into_iter().try_for_each(|(from, part)| take(from, part))
        })?;
        (trades.done, trades.broken) = (number, false);
        Ok(more)
    }
}
