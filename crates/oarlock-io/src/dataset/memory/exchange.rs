//! Samples from trainer to trainer: the shuffle that every trainer takes part in.

use oarlock_ir::{Error, Kind, Result};

use super::budget::Budget;
use super::merge::{line_id, line_id_index};
use super::packed::unpack;
use super::samples::{Packer, Samples};
use crate::dataset::column::Columns;
use crate::dataset::parse::multislot::Format;
use crate::dataset::random::{Random, mix};

/// Bytes that all trainers together send in one round, and the least that one of them sends: a process that forwards them holds them
/// all for some time.
const ROUND: usize = 16 << 20;
const SHARE: usize = 256 << 10;

/// The samples that one trainer sends or receives in one all-to-all exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleParts {
    /// Packed samples, by the trainer they go to or come from.
    pub parts: Vec<Vec<u8>>,
    /// Given: has this trainer more to send? Got: has any?
    pub more: bool,
}

/// Moves bytes between the trainers of a job. All trainers call it the same number of times.
pub trait Exchange {
    /// How many trainers there are.
    fn trainers(&self) -> usize;

    /// The number of this one.
    fn trainer(&self) -> usize;

    /// Sends a part to each trainer and returns what each of them has sent here, in the order of the trainers.
    fn all_to_all(&mut self, round: SampleParts) -> Result<SampleParts>;
}

/// The exchange of a trainer that is the only one.
#[derive(Debug, Clone, Copy)]
pub struct Alone;

impl Exchange for Alone {
    fn trainers(&self) -> usize {
        1
    }

    fn trainer(&self) -> usize {
        0
    }

    fn all_to_all(&mut self, round: SampleParts) -> Result<SampleParts> {
        Ok(round)
    }
}

/// By what a sample's trainer is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShuffleBy {
    /// At random.
    Chance,
    /// By its line id: samples that are to be merged go to one trainer.
    LineId,
}

/// Sends every sample to some trainer and returns what came here, in the order in which it came.
pub(crate) fn exchange(
    mut samples: Samples,
    format: &Format,
    by: ShuffleBy,
    seed: u64,
    peers: &mut dyn Exchange,
    budget: &Budget,
) -> Result<Samples> {
    let id_index = if by == ShuffleBy::LineId { Some(line_id_index(format)?) } else { None };
    let trainers = peers.trainers().max(1);
    let mut random = Random::new(seed);
    let share = (ROUND / trainers).max(SHARE);
    let mut choose = |sample: &[u8]| match id_index {
        Some(index) => (hash(line_id(sample, index)) % trainers as u64) as usize,
        None => random.below(trainers as u64) as usize,
    };
    let mut inbox = Inbox::new(format, budget);
    // In the order of memory, so that what was sent can be forgotten piece by piece.
    samples.order.sort_unstable();
    let mut order = std::mem::take(&mut samples.order).into_iter().peekable();
    loop {
        let mut parts = vec![Vec::new(); trainers];
        let mut bytes = 0;
        while bytes < share
            && let Some(at) = order.next()
        {
            let sample = samples.get(at);
            let part = &mut parts[choose(sample)];
            part.extend((sample.len() as u32).to_le_bytes());
            part.extend_from_slice(sample);
            bytes += sample.len();
            if order.peek().is_none_or(|next| next.chunk != at.chunk) {
                budget.give_back(samples.forget_chunk(at.chunk));
            }
        }
        let got = peers.all_to_all(SampleParts { parts, more: order.peek().is_some() })?;
        got.parts.iter().enumerate().try_for_each(|(from, part)| inbox.receive(from, part))?;
        if !got.more {
            return Ok(inbox.finish());
        }
    }
}

/// Which trainer an id belongs to must not depend on the machine.
fn hash(id: &[u8]) -> u64 {
    id.iter().fold(0, |h, &b| mix(h ^ u64::from(b)))
}

/// Received samples. They are checked before they are used.
struct Inbox<'a> {
    format: &'a Format,
    packer: Packer<'a>,
    order: Vec<super::samples::Address>,
    columns: Columns,
}

impl<'a> Inbox<'a> {
    fn new(format: &'a Format, budget: &'a Budget) -> Inbox<'a> {
        Inbox { format, packer: Packer::new(budget), order: Vec::new(), columns: format.columns() }
    }

    fn receive(&mut self, from: usize, mut part: &[u8]) -> Result<()> {
        let damaged = || {
            Error::new(Kind::Format, format!("trainer {from} sent samples that cannot be read"))
                .help("all trainers must use the same version and the same slots")
        };
        while !part.is_empty() {
            let (len, rest) = part.split_first_chunk::<4>().ok_or_else(damaged)?;
            let (sample, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize).ok_or_else(damaged)?;
            self.columns.clear();
            unpack(&self.format.slots, sample, &mut self.columns).map_err(|_| damaged())?;
            self.order.push(self.packer.push(sample)?);
            part = rest;
        }
        Ok(())
    }

    fn finish(self) -> Samples {
        Samples::join(vec![self.packer], vec![(0, self.order)])
    }
}
