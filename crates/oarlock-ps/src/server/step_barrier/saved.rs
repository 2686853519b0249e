//! The step barrier in a snapshot of the server's log.

use oarlock_ir::Result;
use oarlock_net::codec::{Reader, Writer, damaged};

use super::{Presence, StepBarrier, TrainerState};

impl StepBarrier {
    /// Writes it, at a moment at which no push waits for a step.
    pub(crate) fn save(&self, to: &mut Writer) {
        to.u64(self.done);
        to.list(&self.trainers, |to, trainer| {
            let presence = match trainer.presence {
                Presence::Expected => 0,
                Presence::Active { .. } => 1,
                Presence::Lost => 2,
                Presence::Left => 3,
            };
            to.u8(presence).u64(trainer.pushed).u64(trainer.from).u64(trainer.incarnation);
            to.u64(trainer.pauses.0).u64(trainer.pauses.1);
        });
    }

    /// Reads one that was written, of the same number of trainers.
    pub(crate) fn load(&mut self, from: &mut Reader<'_>) -> Result<()> {
        let done = from.u64()?;
        let trainers = from.list(|from| {
            let presence = from.u8()?;
            let (pushed, first, incarnation) = (from.u64()?, from.u64()?, from.u64()?);
            let presence = match presence {
                0 => Presence::Expected,
                1 => Presence::Active { incarnation },
                2 => Presence::Lost,
                3 => Presence::Left,
                other => return Err(damaged(format!("a trainer of unknown presence {other}"))),
            };
            // Pushes of steps that are not made are in the log.
            Ok(TrainerState { presence, pushed, held: 0, from: first, incarnation, pauses: (from.u64()?, from.u64()?) })
        })?;
        if trainers.len() != self.trainers.len() {
            return Err(damaged(format!("{} trainers, and this job has {}", trainers.len(), self.trainers.len())));
        }
        (self.done, self.trainers) = (done, trainers);
        Ok(())
    }

    /// The processes of trainers that have joined.
    pub(crate) fn processes(&self) -> Vec<Option<u64>> {
        let process = |state: &TrainerState| match state.presence {
            Presence::Active { incarnation } => Some(incarnation),
            _ => None,
        };
        self.trainers.iter().map(process).collect()
    }
}
