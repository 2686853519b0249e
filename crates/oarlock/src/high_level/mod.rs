//! Training as a whole: a [`Trainer`] builds a network, trains it epoch by epoch, tells of events, and goes on where it was
//! interrupted; an [`Inferencer`] predicts with what was trained.
//!
//! A trainer works in steps that do not know each other: build the programs, run the startup program, recover what was saved,
//! and loop. Where a program runs is decided between the first two; here it is this process.

mod inferencer;
mod recovery;
mod trainer;

pub use inferencer::Inferencer;
pub(crate) use recovery::resumed;
pub use recovery::{CheckpointConfig, Recovery};
pub use trainer::{Batch, Event, Trainer, TrainerSetup};
