//! All-gather of trainers at a server, which barriers use, too: all trainers contribute a value and get those of all. A state machine
//! without clock or socket.

use std::collections::BTreeMap;
use std::sync::Arc;

use oarlock_io::{decode_tensor, encode_tensor};
use oarlock_ir::{Error, Kind, Result};
use oarlock_net::codec::{Reader, Writer};
use oarlock_tensor::Tensor;

/// The contributions of all trainers, by their numbers, and how many steps were made when the last of them arrived.
pub(crate) type Gathered = Arc<(BTreeMap<usize, Contribution>, u64)>;

/// The contribution of one trainer.
#[derive(Debug)]
pub(crate) struct Contribution {
    /// Its process.
    pub(crate) incarnation: u64,
    /// Counts the all-gathers of the process.
    pub(crate) number: u64,
    /// The step that it is in, 0 for none.
    pub(crate) step: u64,
    /// The pause of the process, 0 for none.
    pub(crate) pause: u64,
    pub(crate) value: Tensor,
}

impl Contribution {
    fn is(&self, other: &Contribution) -> bool {
        (self.incarnation, self.number) == (other.incarnation, other.number)
    }
}

/// The all-gather under way, and the last one: a trainer may not have received its result yet.
#[derive(Debug, Default)]
pub(crate) struct AllGather {
    purpose: String,
    contributions: BTreeMap<usize, Contribution>,
    /// The step that the one under way is in, 0 for none.
    step: u64,
    last: Gathered,
    last_step: u64,
    /// Trainers that waited in another operation than the last to arrive: their process, its all-gather, and the error.
    refused: BTreeMap<usize, ((u64, u64), Error)>,
}

impl AllGather {
    /// Was this contribution made before, to the all-gather under way or to the last one?
    pub(crate) fn has(&self, trainer: usize, process: u64, number: u64) -> bool {
        let same = |part: &Contribution| (part.incarnation, part.number) == (process, number);
        self.contributions.get(&trainer).is_some_and(same) || self.last.0.get(&trainer).is_some_and(same)
    }

    /// Writes it to a snapshot of the server's log.
    pub(crate) fn save(&self, to: &mut Writer) {
        to.str(&self.purpose).u64(self.step);
        save_contributions(&self.contributions, to);
        to.u64(self.last_step).u64(self.last.1);
        save_contributions(&self.last.0, to);
    }

    /// Reads one that was written.
    pub(crate) fn load(&mut self, from: &mut Reader<'_>) -> Result<()> {
        self.purpose = from.str()?.to_string();
        self.step = from.u64()?;
        self.contributions = load_contributions(from)?;
        self.last_step = from.u64()?;
        let done = from.u64()?;
        self.last = Arc::new((load_contributions(from)?, done));
        Ok(())
    }

    /// A trainer contributes, or asks again. It is an error if trainers are in different operations.
    pub(crate) fn contribute(&mut self, trainer: usize, purpose: &str, contribution: Contribution) -> Result<()> {
        if self.last.0.get(&trainer).is_some_and(|earlier| earlier.is(&contribution) || self.was(contribution.step)) {
            return Ok(());
        }
        if self.refused.get(&trainer).is_some_and(|(of, _)| *of == (contribution.incarnation, contribution.number)) {
            return Ok(());
        }
        if let Some(other) = self.contributions.keys().find(|other| **other != trainer)
            && self.purpose != purpose
        {
            let what = format!("trainer {trainer} is at {purpose}, and trainer {other} at {}", self.purpose);
            let error = Error::new(Kind::Argument, what)
                .help("all trainers must call the same functions of fleet in the same order");
            // Those that wait will not be joined by this one: they get the error, too.
            let waiting = std::mem::take(&mut self.contributions).into_iter();
            self.refused.extend(
                waiting.map(|(t, contribution)| (t, ((contribution.incarnation, contribution.number), error.clone()))),
            );
            return Err(error);
        }
        purpose.clone_into(&mut self.purpose);
        self.step = contribution.step;
        // A later process of a trainer replaces the earlier one.
        if !self.contributions.get(&trainer).is_some_and(|earlier| earlier.is(&contribution)) {
            self.contributions.insert(trainer, contribution);
        }
        Ok(())
    }

    /// The values of all trainers in the all-gather of this contribution, once none is missing.
    pub(crate) fn result(
        &mut self,
        trainer: usize,
        (number, step): ((u64, u64), u64),
        is_awaited: impl Fn(usize) -> bool,
        is_active: impl Fn(usize, u64) -> bool,
        (of, done): (usize, u64),
    ) -> Option<Gathered> {
        if self.missing(is_awaited, is_active, of).is_empty() && !self.contributions.is_empty() {
            self.last = Arc::new((std::mem::take(&mut self.contributions), done));
            self.last_step = self.step;
        }
        let same =
            |contribution: &Contribution| (contribution.incarnation, contribution.number) == number || self.was(step);
        let mine = self.last.0.get(&trainer).is_some_and(same);
        mine.then(|| self.last.clone())
    }

    /// The error of the all-gather that a trainer waits in, if it failed.
    pub(crate) fn refused(&mut self, trainer: usize, number: (u64, u64)) -> Option<Error> {
        self.refused.get(&trainer).filter(|(of, _)| *of == number).map(|(_, error)| error.clone())
    }

    /// Was the last all-gather that of this step?
    fn was(&self, step: u64) -> bool {
        step != 0 && self.last_step == step
    }

    /// The trainers that have not contributed yet. One that did and was lost since has not, if it is awaited: it will contribute again.
    pub(crate) fn missing(
        &self,
        is_awaited: impl Fn(usize) -> bool,
        is_active: impl Fn(usize, u64) -> bool,
        of: usize,
    ) -> Vec<usize> {
        let contributed =
            |t: &usize| self.contributions.get(t).is_some_and(|contribution| is_active(*t, contribution.incarnation));
        (0..of).filter(|t| is_awaited(*t) && !contributed(t)).collect()
    }
}

fn save_contributions(parts: &BTreeMap<usize, Contribution>, to: &mut Writer) {
    let parts: Vec<(&usize, &Contribution)> = parts.iter().collect();
    to.list(&parts, |to, (trainer, part)| {
        to.u64(**trainer as u64).u64(part.incarnation).u64(part.number).u64(part.step).u64(part.pause);
        let mut value = Vec::new();
        encode_tensor(&part.value, &mut value);
        to.bytes(&value);
    });
}

fn load_contributions(from: &mut Reader<'_>) -> Result<BTreeMap<usize, Contribution>> {
    let parts = from.list(|from| {
        let trainer = from.u64()? as usize;
        let (incarnation, number, step, pause) = (from.u64()?, from.u64()?, from.u64()?, from.u64()?);
        let (value, _) = decode_tensor(from.bytes()?, "a saved all-gather")?;
        Ok((trainer, Contribution { incarnation, number, step, pause, value }))
    })?;
    Ok(parts.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contribution(incarnation: u64, number: u64) -> Contribution {
        Contribution { incarnation, number, step: 0, pause: 0, value: Tensor::zeros(oarlock_tensor::DType::F32, [1]) }
    }

    fn come(all_gather: &mut AllGather, trainer: usize, number: u64) -> Option<usize> {
        all_gather.contribute(trainer, "barrier", contribution(1, number)).unwrap();
        all_gather.result(trainer, ((1, number), 0), |_| true, |_, _| true, (2, 0)).map(|all| all.0.len())
    }

    #[test]
    fn last_contribution_completes_it_and_all_get_the_result() {
        let mut all_gather = AllGather::default();
        assert_eq!(come(&mut all_gather, 1, 1), None);
        assert_eq!(all_gather.missing(|_| true, |_, _| true, 2), [0]);
        assert_eq!(come(&mut all_gather, 0, 1), Some(2));
        // Trainer 0 is in the next all-gather already when trainer 1 asks again.
        assert_eq!(come(&mut all_gather, 0, 2), None);
        assert_eq!(come(&mut all_gather, 1, 1), Some(2));
        assert_eq!(come(&mut all_gather, 1, 2), Some(2));
        assert_eq!(come(&mut all_gather, 0, 2), Some(2));
    }

    #[test]
    fn trainer_that_left_is_not_awaited_in_an_all_gather() {
        let mut all_gather = AllGather::default();
        all_gather.contribute(0, "barrier", contribution(1, 1)).unwrap();
        assert!(all_gather.result(0, ((1, 1), 0), |_| true, |_, _| true, (2, 0)).is_none());
        assert_eq!(all_gather.result(0, ((1, 1), 0), |trainer| trainer == 0, |_, _| true, (2, 0)).unwrap().0.len(), 1);
    }

    #[test]
    fn later_process_replaces_the_contribution_of_an_earlier_one() {
        let mut all_gather = AllGather::default();
        all_gather.contribute(0, "barrier", contribution(1, 5)).unwrap();
        all_gather.contribute(0, "barrier", contribution(2, 1)).unwrap();
        all_gather.contribute(1, "barrier", contribution(1, 1)).unwrap();
        assert_eq!(all_gather.result(0, ((2, 1), 0), |_| true, |_, _| true, (2, 0)).unwrap().0[&0].incarnation, 2);
    }

    #[test]
    fn trainer_lost_in_an_all_gather_is_awaited_until_it_contributes_again() {
        let mut all_gather = AllGather::default();
        all_gather.contribute(0, "barrier", contribution(1, 1)).unwrap();
        all_gather.contribute(1, "barrier", contribution(1, 1)).unwrap();
        let is_active = |trainer, incarnation| trainer == 1 || incarnation == 2;
        assert!(all_gather.result(1, ((1, 1), 0), |_| true, is_active, (2, 0)).is_none());
        assert_eq!(all_gather.missing(|_| true, is_active, 2), [0]);
        all_gather.contribute(0, "barrier", contribution(2, 1)).unwrap();
        assert_eq!(all_gather.result(1, ((1, 1), 0), |_| true, is_active, (2, 0)).unwrap().0[&0].incarnation, 2);
    }

    /// Trainer 1 dies after the all-gather of a step and before its push; the others are past it when it rejoins.
    #[test]
    fn trainer_that_repeats_a_step_gets_the_values_of_its_all_gather() {
        let mut all_gather = AllGather::default();
        let in_step = |incarnation, number, step| Contribution { step, ..contribution(incarnation, number) };
        all_gather.contribute(0, "norm", in_step(1, 1, 4)).unwrap();
        all_gather.contribute(1, "norm", in_step(1, 1, 4)).unwrap();
        assert!(all_gather.result(1, ((1, 1), 4), |_| true, |_, _| true, (2, 0)).is_some());
        all_gather.contribute(1, "norm", in_step(2, 1, 4)).unwrap();
        assert_eq!(all_gather.result(1, ((2, 1), 4), |_| true, |_, _| true, (2, 0)).unwrap().0[&1].incarnation, 1);
        // The next step has another all-gather.
        all_gather.contribute(1, "norm", in_step(2, 2, 5)).unwrap();
        assert!(all_gather.result(1, ((2, 2), 5), |_| true, |_, _| true, (2, 0)).is_none());
        all_gather.contribute(0, "norm", in_step(1, 2, 5)).unwrap();
        assert_eq!(all_gather.result(1, ((2, 2), 5), |_| true, |_, _| true, (2, 0)).unwrap().0.len(), 2);
    }

    #[test]
    fn trainers_in_different_operations_get_an_error() {
        let mut all_gather = AllGather::default();
        all_gather.contribute(0, "barrier", contribution(1, 1)).unwrap();
        let error = all_gather.contribute(1, "all_reduce sum", contribution(1, 1)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "error[argument]: trainer 1 is at all_reduce sum, and trainer 0 at barrier\n  \
             help: all trainers must call the same functions of fleet in the same order"
        );
        assert_eq!(all_gather.refused(0, (1, 1)).unwrap().to_string(), error.to_string(), "the other one gets it, too");
        assert!(all_gather.refused(0, (1, 2)).is_none());
    }
}
