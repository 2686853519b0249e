//! Meetings of trainers at a server: everybody brings a value and gets those of all. A state machine without clock or socket.

use std::collections::BTreeMap;
use std::sync::Arc;

use oarlock_ir::{Error, Kind, Result};
use oarlock_tensor::Tensor;

/// What trainers brought, by their numbers, and how many steps were made when the last of them came.
pub(super) type Brought = Arc<(BTreeMap<usize, Part>, u64)>;

/// What one trainer brought.
#[derive(Debug)]
pub(super) struct Part {
    /// Of which process.
    pub(super) incarnation: u64,
    /// Which of its meetings.
    pub(super) number: u64,
    /// In which step, 0 for none.
    pub(super) step: u64,
    /// The pause of the process, 0 for none.
    pub(super) pause: u64,
    pub(super) value: Tensor,
}

impl Part {
    fn is(&self, other: &Part) -> bool {
        (self.incarnation, self.number) == (other.incarnation, other.number)
    }
}

/// The meeting that is gathering, and the last one: somebody may not have heard of its end yet.
#[derive(Debug, Default)]
pub(super) struct Meetings {
    purpose: String,
    here: BTreeMap<usize, Part>,
    /// The step that those here are in, 0 for none.
    step: u64,
    last: Brought,
    last_step: u64,
    /// Who waited for something else than the last to come: which process, which of its meetings, and why it is not held.
    refused: BTreeMap<usize, ((u64, u64), Error)>,
}

impl Meetings {
    /// A trainer comes, or asks again. Trainers that mean different things do not meet.
    pub(super) fn come(&mut self, trainer: usize, purpose: &str, part: Part) -> Result<()> {
        if self.last.0.get(&trainer).is_some_and(|earlier| earlier.is(&part) || self.was(part.step)) {
            return Ok(());
        }
        if self.refused.get(&trainer).is_some_and(|(of, _)| *of == (part.incarnation, part.number)) {
            return Ok(());
        }
        if let Some(other) = self.here.keys().find(|other| **other != trainer)
            && self.purpose != purpose
        {
            let what = format!("trainer {trainer} is at {purpose}, and trainer {other} at {}", self.purpose);
            let error = Error::new(Kind::Argument, what)
                .help("all trainers must call the same functions of fleet in the same order");
            // Those who wait will not be joined by this one: they hear it, too.
            let waiting = std::mem::take(&mut self.here).into_iter();
            self.refused.extend(waiting.map(|(t, part)| (t, ((part.incarnation, part.number), error.clone()))));
            return Err(error);
        }
        purpose.clone_into(&mut self.purpose);
        self.step = part.step;
        // A process that took over a number comes in place of the earlier one.
        if !self.here.get(&trainer).is_some_and(|earlier| earlier.is(&part)) {
            self.here.insert(trainer, part);
        }
        Ok(())
    }

    /// What all brought to the meeting that this part belongs to, once nobody is missing.
    pub(super) fn result(
        &mut self,
        trainer: usize,
        (number, step): ((u64, u64), u64),
        is_awaited: impl Fn(usize) -> bool,
        is_here: impl Fn(usize, u64) -> bool,
        (of, done): (usize, u64),
    ) -> Option<Brought> {
        if self.missing(is_awaited, is_here, of).is_empty() && !self.here.is_empty() {
            self.last = Arc::new((std::mem::take(&mut self.here), done));
            self.last_step = self.step;
        }
        let same = |part: &Part| (part.incarnation, part.number) == number || self.was(step);
        let mine = self.last.0.get(&trainer).is_some_and(same);
        mine.then(|| self.last.clone())
    }

    /// Why the meeting that a trainer waits in is not held, if so.
    pub(super) fn refused(&mut self, trainer: usize, number: (u64, u64)) -> Option<Error> {
        self.refused.get(&trainer).filter(|(of, _)| *of == number).map(|(_, error)| error.clone())
    }

    /// Was the last meeting that of this step?
    fn was(&self, step: u64) -> bool {
        step != 0 && self.last_step == step
    }

    /// Who has not come yet. One that came and died since has not, if it is awaited: it will come again.
    pub(super) fn missing(
        &self,
        is_awaited: impl Fn(usize) -> bool,
        is_here: impl Fn(usize, u64) -> bool,
        of: usize,
    ) -> Vec<usize> {
        let came = |t: &usize| self.here.get(t).is_some_and(|part| is_here(*t, part.incarnation));
        (0..of).filter(|t| is_awaited(*t) && !came(t)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(incarnation: u64, number: u64) -> Part {
        Part { incarnation, number, step: 0, pause: 0, value: Tensor::zeros(oarlock_tensor::DType::F32, [1]) }
    }

    fn come(meetings: &mut Meetings, trainer: usize, number: u64) -> Option<usize> {
        meetings.come(trainer, "barrier", part(1, number)).unwrap();
        meetings.result(trainer, ((1, number), 0), |_| true, |_, _| true, (2, 0)).map(|all| all.0.len())
    }

    #[test]
    fn the_last_one_ends_it_and_all_hear_of_it() {
        let mut meetings = Meetings::default();
        assert_eq!(come(&mut meetings, 1, 1), None);
        assert_eq!(meetings.missing(|_| true, |_, _| true, 2), [0]);
        assert_eq!(come(&mut meetings, 0, 1), Some(2));
        // Trainer 0 is at the next meeting already when trainer 1 asks again.
        assert_eq!(come(&mut meetings, 0, 2), None);
        assert_eq!(come(&mut meetings, 1, 1), Some(2));
        assert_eq!(come(&mut meetings, 1, 2), Some(2));
        assert_eq!(come(&mut meetings, 0, 2), Some(2));
    }

    #[test]
    fn who_left_is_not_waited_for() {
        let mut meetings = Meetings::default();
        meetings.come(0, "barrier", part(1, 1)).unwrap();
        assert!(meetings.result(0, ((1, 1), 0), |_| true, |_, _| true, (2, 0)).is_none());
        assert_eq!(meetings.result(0, ((1, 1), 0), |trainer| trainer == 0, |_, _| true, (2, 0)).unwrap().0.len(), 1);
    }

    #[test]
    fn a_later_process_comes_in_place_of_an_earlier() {
        let mut meetings = Meetings::default();
        meetings.come(0, "barrier", part(1, 5)).unwrap();
        meetings.come(0, "barrier", part(2, 1)).unwrap();
        meetings.come(1, "barrier", part(1, 1)).unwrap();
        assert_eq!(meetings.result(0, ((2, 1), 0), |_| true, |_, _| true, (2, 0)).unwrap().0[&0].incarnation, 2);
    }

    #[test]
    fn one_that_died_there_is_awaited_until_it_comes_again() {
        let mut meetings = Meetings::default();
        meetings.come(0, "barrier", part(1, 1)).unwrap();
        meetings.come(1, "barrier", part(1, 1)).unwrap();
        let is_here = |trainer, incarnation| trainer == 1 || incarnation == 2;
        assert!(meetings.result(1, ((1, 1), 0), |_| true, is_here, (2, 0)).is_none());
        assert_eq!(meetings.missing(|_| true, is_here, 2), [0]);
        meetings.come(0, "barrier", part(2, 1)).unwrap();
        assert_eq!(meetings.result(1, ((1, 1), 0), |_| true, is_here, (2, 0)).unwrap().0[&0].incarnation, 2);
    }

    /// Trainer 1 dies after the meeting of a step and before its push; the others are past the meeting when it comes back.
    #[test]
    fn who_repeats_a_step_hears_what_its_meeting_gave() {
        let mut meetings = Meetings::default();
        let in_step = |incarnation, number, step| Part { step, ..part(incarnation, number) };
        meetings.come(0, "norm", in_step(1, 1, 4)).unwrap();
        meetings.come(1, "norm", in_step(1, 1, 4)).unwrap();
        assert!(meetings.result(1, ((1, 1), 4), |_| true, |_, _| true, (2, 0)).is_some());
        meetings.come(1, "norm", in_step(2, 1, 4)).unwrap();
        assert_eq!(meetings.result(1, ((2, 1), 4), |_| true, |_, _| true, (2, 0)).unwrap().0[&1].incarnation, 1);
        // The next step is another meeting.
        meetings.come(1, "norm", in_step(2, 2, 5)).unwrap();
        assert!(meetings.result(1, ((2, 2), 5), |_| true, |_, _| true, (2, 0)).is_none());
        meetings.come(0, "norm", in_step(1, 2, 5)).unwrap();
        assert_eq!(meetings.result(1, ((2, 2), 5), |_| true, |_, _| true, (2, 0)).unwrap().0.len(), 2);
    }

    #[test]
    fn different_things_do_not_meet() {
        let mut meetings = Meetings::default();
        meetings.come(0, "barrier", part(1, 1)).unwrap();
        let error = meetings.come(1, "all_reduce sum", part(1, 1)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "error[argument]: trainer 1 is at all_reduce sum, and trainer 0 at barrier\n  \
             help: all trainers must call the same functions of fleet in the same order"
        );
        assert_eq!(meetings.refused(0, (1, 1)).unwrap().to_string(), error.to_string(), "the other one hears it, too");
        assert!(meetings.refused(0, (1, 2)).is_none());
    }
}
