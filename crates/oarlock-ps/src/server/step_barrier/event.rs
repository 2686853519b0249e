//! The events that a step barrier receives from a server, and the effects that it returns.

use std::fmt;

/// The reaction to the loss of a trainer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Policy {
    /// The job ends with an error that names the trainer and the step.
    #[default]
    Fail,
    /// The others wait until it rejoins; it repeats the step it was in.
    Wait,
    /// The others go on without it.
    Shrink,
}

impl Policy {
    /// The policy of this name.
    pub fn parse(name: &str) -> Option<Policy> {
        match name {
            "fail" => Some(Policy::Fail),
            "wait" => Some(Policy::Wait),
            "shrink" => Some(Policy::Shrink),
            _ => None,
        }
    }
}

/// An event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A process joins as this trainer.
    Join {
        /// Its number.
        trainer: usize,
        /// Tells processes with the same number apart.
        incarnation: u64,
    },
    /// All gradients of a trainer's step are here.
    Push {
        /// Its number.
        trainer: usize,
        /// Its process.
        incarnation: u64,
        /// Which step, counted from 1.
        step: u64,
    },
    /// A trainer is done.
    Leave {
        /// Its number.
        trainer: usize,
        /// Its process.
        incarnation: u64,
    },
    /// A trainer that rejoins takes part from a step on: the same at all servers. It may name another step as long as no trainer has
    /// waited for that one.
    Rejoin {
        /// Its number.
        trainer: usize,
        /// Its process.
        incarnation: u64,
        /// The step.
        from: u64,
        /// How many pauses this process has begun: they are over.
        pauses: u64,
    },
    /// A trainer has no data for now: it waits for the others in an all-gather.
    Pause {
        /// Its number.
        trainer: usize,
        /// Its process.
        incarnation: u64,
        /// Counts the pauses of this process from 1.
        number: u64,
    },
    /// The pause of a trainer is over. Every trainer of the same all-gather may send this. Nothing happens if that pause has ended, or
    /// the process is not active any more.
    Resume {
        /// Its number.
        trainer: usize,
        /// Its process.
        incarnation: u64,
        /// The number of the pause.
        number: u64,
        /// The step from which on it takes part.
        from: u64,
    },
    /// A trainer did not join in time. Nothing happens if it did.
    Absent {
        /// Its number.
        trainer: usize,
    },
    /// The failure detector declares a trainer lost.
    Lose {
        /// Its number.
        trainer: usize,
        /// Its process.
        incarnation: u64,
    },
}

/// The reactions to an event, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Keep the gradients of this push: it counts.
    Accept,
    /// The push counted already; its gradients are dropped.
    Duplicate,
    /// Update the parameters from the pushes of these trainers. The step is complete.
    Apply {
        /// The step.
        step: u64,
        /// The trainers whose pushes are in it, ascending.
        of: Vec<usize>,
    },
    /// The request cannot be served.
    Refuse(Refusal),
    /// The job cannot go on.
    Fail(Failure),
    /// A trainer was lost, or never joined; the policy tells how the others go on.
    Lost(Failure),
    /// All trainers have left.
    Finish,
}

/// Why one request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The job has fewer trainers.
    NoSuchTrainer {
        /// Their number.
        trainers: usize,
    },
    /// A later process has the number of this trainer.
    Replaced,
    /// It never joined, or it has left.
    NotHere,
    /// It was lost, and the others went on without it; it must rejoin.
    LeftBehind,
    /// It is in a pause.
    Paused,
    /// Its step does not follow the last one.
    OutOfStep {
        /// The step that comes next.
        expected: u64,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NoSuchTrainer { trainers } => write!(f, "this job has {trainers} trainers, numbered from 0"),
            Refusal::Replaced => f.write_str("another process took over the number of this trainer"),
            Refusal::NotHere => f.write_str("this trainer did not join, or has left"),
            Refusal::LeftBehind => f.write_str("it was lost, and the others went on without it"),
            Refusal::Paused => f.write_str("it waits for the others elsewhere, and makes no step meanwhile"),
            Refusal::OutOfStep { expected } => write!(f, "the next step is {expected}"),
        }
    }
}

/// Why a job cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure {
    /// The trainer that was lost.
    pub trainer: usize,
    /// The step it was in.
    pub step: u64,
    /// It had joined before.
    pub joined: bool,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.joined {
            true => write!(f, "trainer {} was lost in step {}", self.trainer, self.step),
            false => write!(f, "trainer {} never joined", self.trainer),
        }
    }
}
