//! When a step of synchronous training is complete: a state machine without clock, socket or thread.
//!
//! Servers feed it what happens to trainers and do what it answers. A round collects one push of every trainer that takes
//! part; the one that completes it makes everybody's step. A push that was counted before is acknowledged and not
//! counted again, so a trainer may repeat a request whose reply it never saw.
//!
//! A trainer that waits for the others elsewhere, in a barrier or a shuffle, has no data for the next step: it pauses, and steps are
//! made without it. When the barrier is complete, all that were in it take part again from one step on, the same at all servers.

use std::fmt;

/// What happens to the others when a trainer is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Policy {
    /// The job ends with an error that names the trainer and the step.
    #[default]
    Fail,
    /// Everybody waits until it is back; it repeats the step it was in.
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

/// Where a trainer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It did not come yet.
    Expected,
    /// It takes part. Of two processes with the same number the later one counts.
    Here { incarnation: u64 },
    /// It went away without a word.
    Lost,
    /// It said that it is done.
    Left,
}

#[derive(Debug, Clone, Copy)]
struct Member {
    place: Place,
    /// The last step of which this server has its push.
    pushed: u64,
    /// The step whose push is here and not made yet; an earlier one if there is none. It counts, whatever happens to its trainer.
    held: u64,
    /// The first step that it takes part in.
    from: u64,
    /// The process that came last.
    incarnation: u64,
    /// The latest pause that this process began, and the latest that ended. It counts them from 1.
    pauses: (u64, u64),
}

impl Member {
    fn is_paused(&self) -> bool {
        self.pauses.0 > self.pauses.1
    }
}

/// [`Member::from`] of one that is back and has not said from when on it takes part.
const NOT_SAID: u64 = u64::MAX;

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A process says that it is this trainer.
    Join {
        /// Which one.
        trainer: usize,
        /// Tells processes with the same number apart.
        incarnation: u64,
    },
    /// All gradients of a trainer's step are here.
    Push {
        /// Whose.
        trainer: usize,
        /// Of which process.
        incarnation: u64,
        /// Which step, counted from 1.
        step: u64,
    },
    /// A trainer is done.
    Leave {
        /// Which one.
        trainer: usize,
        /// Of which process.
        incarnation: u64,
    },
    /// A trainer that came back takes part from a step on: the same at all servers. It may change its mind as long as nobody has
    /// waited for that step.
    Return {
        /// Which one.
        trainer: usize,
        /// Of which process.
        incarnation: u64,
        /// The step.
        from: u64,
        /// How many pauses this process has begun: they are over.
        pauses: u64,
    },
    /// A trainer has no data for now: it waits for the others elsewhere.
    Pause {
        /// Which one.
        trainer: usize,
        /// Of which process.
        incarnation: u64,
        /// Which of the pauses of this process, counted from 1.
        number: u64,
    },
    /// What a trainer waited for is there. Anybody that waited for the same may say so. Nothing happens if that pause has ended, or
    /// the process is not here any more.
    Resume {
        /// Which one.
        trainer: usize,
        /// Of which process.
        incarnation: u64,
        /// Which of its pauses.
        number: u64,
        /// The step from which on it takes part.
        from: u64,
    },
    /// A trainer did not come in time. Nothing happens if it came.
    Absent {
        /// Which one.
        trainer: usize,
    },
    /// A trainer's connection broke or fell silent.
    Lose {
        /// Which one.
        trainer: usize,
        /// Of which process.
        incarnation: u64,
    },
}

/// What to do about it, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Keep what this push brought: it counts.
    Take,
    /// The push counted already; what it brought is dropped.
    Repeat,
    /// Update the parameters from the pushes of these trainers. The step is complete.
    Apply {
        /// The step.
        step: u64,
        /// Whose pushes are in it, ascending.
        of: Vec<usize>,
    },
    /// The request cannot be served.
    Refuse(Refusal),
    /// The job cannot go on.
    Fail(Failure),
    /// A trainer was lost, or never came; the policy says how it goes on.
    Lost(Failure),
    /// Everybody has left.
    Finish,
}

/// Why one request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// There are only so many trainers.
    NoSuchTrainer {
        /// How many.
        trainers: usize,
    },
    /// A later process took over this number.
    Replaced,
    /// It never joined, or it has left.
    NotHere,
    /// It was lost, and the others went on without it; it takes part again from a later step on.
    GoneOn,
    /// It waits for the others elsewhere.
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
            Refusal::GoneOn => f.write_str("it was lost, and the others went on without it"),
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
    /// Did it ever come?
    pub came: bool,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.came {
            true => write!(f, "trainer {} was lost in step {}", self.trainer, self.step),
            false => write!(f, "trainer {} never came", self.trainer),
        }
    }
}

/// The rounds of one server.
#[derive(Debug, Clone)]
pub struct Round {
    policy: Policy,
    members: Vec<Member>,
    /// Complete steps.
    done: u64,
    failed: Option<Failure>,
}

impl Round {
    /// For so many trainers.
    pub fn new(trainers: usize, policy: Policy) -> Round {
        let member = Member { place: Place::Expected, pushed: 0, held: 0, from: 0, incarnation: 0, pauses: (0, 0) };
        Round { policy, members: vec![member; trainers], done: 0, failed: None }
    }

    /// For trainers who go on after so many steps.
    pub fn after(steps: u64, trainers: usize, policy: Policy) -> Round {
        let mut round = Round::new(trainers, policy);
        round.done = steps;
        round.members.iter_mut().for_each(|member| member.pushed = steps);
        round
    }

    /// How many steps are complete.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// The last step of which this server has a trainer's push.
    pub fn pushed(&self, trainer: usize) -> u64 {
        self.members.get(trainer).map_or(0, |m| m.pushed)
    }

    /// The trainers whose push the next step waits for.
    pub fn awaited(&self) -> Vec<usize> {
        let missing = |m: &Member| !self.has_push(m) && self.takes_part(m);
        (0..self.members.len()).filter(|&t| missing(&self.members[t])).collect()
    }

    /// The trainers that did not come yet, once one is here.
    pub fn expected(&self) -> Vec<usize> {
        let begun = self.has_begun();
        (0..self.members.len()).filter(|&t| begun && self.members[t].place == Place::Expected).collect()
    }

    /// Has this process of a trainer left?
    pub fn has_left(&self, trainer: usize, incarnation: u64) -> bool {
        self.members.get(trainer).is_some_and(|m| m.place == Place::Left && m.incarnation == incarnation)
    }

    /// Did this trainer never come so far?
    pub fn is_expected(&self, trainer: usize) -> bool {
        self.members.get(trainer).is_some_and(|m| m.place == Place::Expected)
    }

    /// How many trainers there are.
    pub fn trainers(&self) -> usize {
        self.members.len()
    }

    /// Is the push of any trainer for the next step here?
    pub fn is_under_way(&self) -> bool {
        self.members.iter().any(|member| self.has_push(member))
    }

    /// How many trainers are here now.
    pub fn here(&self) -> usize {
        self.members.iter().filter(|m| matches!(m.place, Place::Here { .. })).count()
    }

    /// Did a trainer leave, or was it lost?
    pub fn is_gone(&self, trainer: usize) -> bool {
        self.members.get(trainer).is_some_and(|m| matches!(m.place, Place::Left | Place::Lost))
    }

    /// Did any trainer come?
    pub fn has_begun(&self) -> bool {
        self.members.iter().any(|m| m.place != Place::Expected)
    }

    /// Does the next step have to wait for this trainer?
    pub fn is_awaited(&self, trainer: usize) -> bool {
        self.members.get(trainer).is_some_and(|member| self.takes_part(member))
    }

    /// Does a barrier of all trainers have to wait for this one?
    pub fn is_awaited_at_barrier(&self, trainer: usize) -> bool {
        self.members.get(trainer).is_some_and(|member| match member.place {
            Place::Here { .. } => member.is_paused() || self.policy == Policy::Wait || self.takes_part(member),
            Place::Expected => true,
            Place::Lost => self.policy != Policy::Shrink,
            Place::Left => false,
        })
    }

    /// Did a trainer come back without having said from which step on it takes part?
    pub fn is_back(&self, trainer: usize) -> bool {
        let back = |m: &Member| matches!(m.place, Place::Here { .. }) && m.from == NOT_SAID && !m.is_paused();
        self.members.get(trainer).is_some_and(back)
    }

    /// Does nobody take part in the next step?
    pub fn is_idle(&self) -> bool {
        !self.members.iter().any(|member| self.takes_part(member))
    }

    /// Is the push of a trainer for the next step here?
    fn has_push(&self, member: &Member) -> bool {
        member.held > self.done
    }

    fn takes_part(&self, member: &Member) -> bool {
        let has_data = member.from <= self.done + 1 && !member.is_paused();
        match member.place {
            Place::Here { .. } => has_data,
            Place::Expected => true,
            Place::Lost => self.policy != Policy::Shrink && has_data,
            Place::Left => false,
        }
    }

    /// Takes note of an event; says what to do.
    pub fn on(&mut self, event: Event) -> Vec<Effect> {
        match event {
            Event::Join { trainer, incarnation } => self.join(trainer, incarnation),
            Event::Push { trainer, incarnation, step } => self.push(trainer, incarnation, step),
            Event::Return { trainer, incarnation, from, pauses } => self.come_back(trainer, incarnation, from, pauses),
            Event::Pause { trainer, incarnation, number } => self.pause(trainer, incarnation, number),
            Event::Resume { trainer, incarnation, number, from } => self.resume(trainer, incarnation, number, from),
            Event::Leave { trainer, incarnation } => self.go(trainer, incarnation, Place::Left),
            Event::Lose { trainer, incarnation } => self.go(trainer, incarnation, Place::Lost),
            Event::Absent { trainer } => match self.members.get(trainer).map(|m| m.place) {
                Some(Place::Expected) => self.gone(trainer, Place::Lost),
                _ => Vec::new(),
            },
        }
    }

    fn join(&mut self, trainer: usize, incarnation: u64) -> Vec<Effect> {
        let trainers = self.members.len();
        let Some(member) = self.members.get_mut(trainer) else {
            return vec![Effect::Refuse(Refusal::NoSuchTrainer { trainers })];
        };
        match member.place {
            // Incarnations grow with time: the later process is the one that counts.
            Place::Here { incarnation: other } if other > incarnation => {
                return vec![Effect::Refuse(Refusal::Replaced)];
            }
            // A greeting that arrives late: nobody would hear of its sender again.
            Place::Left if member.incarnation == incarnation => return vec![Effect::Refuse(Refusal::NotHere)],
            // Its steps may have been made without it, at some servers.
            Place::Lost if self.policy == Policy::Shrink => member.from = NOT_SAID,
            _ => {}
        }
        member.place = Place::Here { incarnation };
        if member.incarnation != incarnation {
            // Another process is in no pause. If the earlier one was, steps may have been made without it.
            if member.is_paused() {
                member.from = NOT_SAID;
            }
            (member.incarnation, member.pauses) = (incarnation, (0, 0));
        }
        Vec::new()
    }

    fn pause(&mut self, trainer: usize, incarnation: u64, number: u64) -> Vec<Effect> {
        if let Some(refusal) = self.stranger(trainer, incarnation) {
            return vec![Effect::Refuse(refusal)];
        }
        let member = &mut self.members[trainer];
        member.pauses.0 = member.pauses.0.max(number);
        // Nothing happens if the request was repeated and its pause is over.
        self.complete().into_iter().collect()
    }

    fn resume(&mut self, trainer: usize, incarnation: u64, number: u64, from: u64) -> Vec<Effect> {
        if self.stranger(trainer, incarnation).is_some() {
            return Vec::new();
        }
        let expected = self.done + 1;
        let member = &mut self.members[trainer];
        let paused = member.is_paused();
        member.pauses.1 = member.pauses.1.max(number);
        if !paused || member.is_paused() {
            return Vec::new();
        }
        if from != expected {
            // It must agree on another step with all servers, as one does that comes back.
            member.from = NOT_SAID;
            return vec![Effect::Refuse(Refusal::OutOfStep { expected })];
        }
        (member.from, member.pushed) = (from, from - 1);
        Vec::new()
    }

    fn come_back(&mut self, trainer: usize, incarnation: u64, from: u64, pauses: u64) -> Vec<Effect> {
        if let Some(refusal) = self.stranger(trainer, incarnation) {
            return vec![Effect::Refuse(refusal)];
        }
        let expected = self.done + 1;
        let member = &mut self.members[trainer];
        // A request that was repeated may arrive in a later pause.
        if pauses < member.pauses.0 || member.from == from && !member.is_paused() {
            return Vec::new();
        }
        if from < expected {
            return vec![Effect::Refuse(Refusal::OutOfStep { expected })];
        }
        (member.from, member.pushed) = (from, from - 1);
        member.pauses.1 = member.pauses.1.max(pauses);
        // Others may have waited for it, at a step that it named before.
        self.complete().into_iter().collect()
    }

    fn push(&mut self, trainer: usize, incarnation: u64, step: u64) -> Vec<Effect> {
        if let Some(refusal) = self.stranger(trainer, incarnation) {
            return vec![Effect::Refuse(refusal)];
        }
        if let Some(failure) = self.failed {
            return vec![Effect::Fail(failure)];
        }
        let done = self.done;
        let member = &mut self.members[trainer];
        if member.from == NOT_SAID && !member.is_paused() {
            return vec![Effect::Refuse(Refusal::GoneOn)];
        }
        if step <= member.pushed {
            return vec![Effect::Repeat];
        }
        if member.is_paused() {
            return vec![Effect::Refuse(Refusal::Paused)];
        }
        if step < member.from {
            return vec![Effect::Refuse(Refusal::GoneOn)];
        }
        if step != done + 1 {
            return vec![Effect::Refuse(Refusal::OutOfStep { expected: done + 1 })];
        }
        (member.pushed, member.held) = (step, step);
        let mut effects = vec![Effect::Take];
        effects.extend(self.complete());
        effects
    }

    /// Why a request of this process cannot count, if so.
    pub fn stranger(&self, trainer: usize, incarnation: u64) -> Option<Refusal> {
        match self.members.get(trainer).map(|m| m.place) {
            None => Some(Refusal::NoSuchTrainer { trainers: self.members.len() }),
            Some(Place::Here { incarnation: other }) if other == incarnation => None,
            Some(Place::Here { .. }) => Some(Refusal::Replaced),
            Some(_) => Some(Refusal::NotHere),
        }
    }

    /// Completes the step if nobody is missing.
    fn complete(&mut self) -> Option<Effect> {
        let of: Vec<usize> = (0..self.members.len()).filter(|&t| self.has_push(&self.members[t])).collect();
        let complete = !of.is_empty() && self.awaited().is_empty();
        self.done += u64::from(complete);
        let effect = complete.then_some(Effect::Apply { step: self.done, of });
        self.pass_over();
        effect
    }

    /// Passes over steps that nobody takes part in, up to the first for which somebody is announced: before its trainers were lost, one
    /// server may have made a step more than another.
    fn pass_over(&mut self) {
        if !self.is_idle() || self.members.iter().any(|m| self.has_push(m)) {
            return;
        }
        let comes = |m: &&Member| match m.place {
            Place::Here { .. } => true,
            Place::Lost => self.policy != Policy::Shrink,
            Place::Expected | Place::Left => false,
        };
        let announced = |m: &&Member| m.from != NOT_SAID && !m.is_paused();
        let next = self.members.iter().filter(comes).filter(announced).map(|m| m.from).min();
        self.done = next.map_or(self.done, |next| self.done.max(next - 1));
    }

    fn go(&mut self, trainer: usize, incarnation: u64, to: Place) -> Vec<Effect> {
        if self.stranger(trainer, incarnation).is_some() {
            return Vec::new();
        }
        self.gone(trainer, to)
    }

    /// A trainer does not take part any more, for now or for good.
    fn gone(&mut self, trainer: usize, to: Place) -> Vec<Effect> {
        let came = self.members[trainer].place != Place::Expected;
        self.members[trainer].place = to;
        let mut effects = Vec::new();
        if to == Place::Lost {
            let failure = Failure { trainer, step: self.done + 1, came };
            effects.push(Effect::Lost(failure));
            if self.policy == Policy::Fail {
                self.failed.get_or_insert(failure);
                effects.push(Effect::Fail(failure));
                return effects;
            }
        }
        effects.extend(self.complete());
        let gone = |m: &Member| m.place == Place::Left || m.place == Place::Lost && self.policy == Policy::Shrink;
        if self.members.iter().all(gone) {
            effects.push(Effect::Finish);
        }
        effects
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(trainers: usize, policy: Policy) -> Round {
        let mut round = Round::new(trainers, policy);
        for trainer in 0..trainers {
            assert_eq!(round.on(Event::Join { trainer, incarnation: 1 }), []);
        }
        round
    }

    fn push(round: &mut Round, trainer: usize, step: u64) -> Vec<Effect> {
        round.on(Event::Push { trainer, incarnation: 1, step })
    }

    fn apply(step: u64, of: &[usize]) -> Effect {
        Effect::Apply { step, of: of.to_vec() }
    }

    #[test]
    fn the_last_push_completes_the_step() {
        let mut round = joined(2, Policy::Fail);
        assert_eq!(push(&mut round, 1, 1), [Effect::Take]);
        assert_eq!(round.awaited(), [0]);
        assert_eq!(push(&mut round, 0, 1), [Effect::Take, apply(1, &[0, 1])]);
        assert_eq!(round.done(), 1);
    }

    #[test]
    fn a_repeated_push_is_not_counted_again() {
        let mut round = joined(2, Policy::Fail);
        push(&mut round, 0, 1);
        assert_eq!(push(&mut round, 0, 1), [Effect::Repeat], "before the step is complete");
        push(&mut round, 1, 1);
        assert_eq!(push(&mut round, 0, 1), [Effect::Repeat], "and after it");
        assert_eq!(push(&mut round, 0, 3), [Effect::Refuse(Refusal::OutOfStep { expected: 2 })]);
    }

    #[test]
    fn who_leaves_is_not_waited_for() {
        let mut round = joined(2, Policy::Fail);
        push(&mut round, 0, 1);
        let effects = round.on(Event::Leave { trainer: 1, incarnation: 1 });
        assert_eq!(effects, [apply(1, &[0])]);
        assert_eq!(push(&mut round, 0, 2), [Effect::Take, apply(2, &[0])]);
        assert!(round.has_left(1, 1) && !round.has_left(1, 2) && !round.has_left(0, 1));
        let late = round.on(Event::Join { trainer: 1, incarnation: 1 });
        assert_eq!(late, [Effect::Refuse(Refusal::NotHere)], "of the same process");
        assert_eq!(round.on(Event::Leave { trainer: 0, incarnation: 1 }), [Effect::Finish]);
    }

    #[test]
    fn a_loss_ends_the_job() {
        let mut round = joined(2, Policy::Fail);
        push(&mut round, 0, 1);
        let failure = Failure { trainer: 1, step: 1, came: true };
        let lost = round.on(Event::Lose { trainer: 1, incarnation: 1 });
        assert_eq!(lost, [Effect::Lost(failure), Effect::Fail(failure)]);
        assert_eq!(push(&mut round, 0, 1), [Effect::Fail(failure)]);
        assert_eq!(failure.to_string(), "trainer 1 was lost in step 1");
    }

    #[test]
    fn one_that_never_came_was_not_lost() {
        let mut round = Round::new(2, Policy::Fail);
        round.on(Event::Join { trainer: 0, incarnation: 1 });
        assert_eq!((round.expected(), round.is_expected(1)), (vec![1], true));
        let absent = round.on(Event::Absent { trainer: 1 });
        let failure = Failure { trainer: 1, step: 1, came: false };
        assert_eq!(absent, [Effect::Lost(failure), Effect::Fail(failure)]);
        assert_eq!(failure.to_string(), "trainer 1 never came");
    }

    #[test]
    fn or_the_others_go_on_without() {
        let mut round = joined(2, Policy::Shrink);
        push(&mut round, 0, 1);
        let lost = round.on(Event::Lose { trainer: 1, incarnation: 1 });
        assert_eq!(lost, [Effect::Lost(Failure { trainer: 1, step: 1, came: true }), apply(1, &[0])]);
        assert_eq!(push(&mut round, 0, 2), [Effect::Take, apply(2, &[0])]);
    }

    #[test]
    fn who_comes_back_says_from_when_on_it_takes_part() {
        let mut round = joined(2, Policy::Shrink);
        round.on(Event::Lose { trainer: 1, incarnation: 1 });
        let come = |round: &mut Round, from| round.on(Event::Return { trainer: 1, incarnation: 2, from, pauses: 0 });
        assert_eq!(come(&mut round, 4), [Effect::Refuse(Refusal::NotHere)], "before it joins");
        assert_eq!(round.on(Event::Join { trainer: 1, incarnation: 2 }), []);
        assert!(round.is_back(1));
        let early = round.on(Event::Push { trainer: 1, incarnation: 2, step: 1 });
        assert_eq!(early, [Effect::Refuse(Refusal::GoneOn)]);
        assert_eq!(push(&mut round, 0, 1), [Effect::Take, apply(1, &[0])], "nobody waits for it yet");
        assert_eq!(come(&mut round, 1), [Effect::Refuse(Refusal::OutOfStep { expected: 2 })], "too late for that");
        assert_eq!(come(&mut round, 3), []);
        assert_eq!(push(&mut round, 0, 2), [Effect::Take, apply(2, &[0])]);
        assert_eq!(push(&mut round, 0, 3), [Effect::Take]);
        assert_eq!(round.awaited(), [1]);
        // Another server had made that step already: a later one is agreed on.
        assert_eq!(come(&mut round, 4), [apply(3, &[0])]);
        assert_eq!(push(&mut round, 0, 4), [Effect::Take]);
        let joined = round.on(Event::Push { trainer: 1, incarnation: 2, step: 4 });
        assert_eq!(joined, [Effect::Take, apply(4, &[0, 1])]);
        assert_eq!(come(&mut round, 4), [], "a repeat");
        round.on(Event::Leave { trainer: 0, incarnation: 1 });
        assert!(!round.is_idle());
        assert_eq!(round.on(Event::Leave { trainer: 1, incarnation: 2 }), [Effect::Finish]);
    }

    #[test]
    fn or_they_wait_for_its_return() {
        let mut round = joined(2, Policy::Wait);
        push(&mut round, 0, 1);
        let lost = round.on(Event::Lose { trainer: 1, incarnation: 1 });
        assert_eq!(lost, [Effect::Lost(Failure { trainer: 1, step: 1, came: true })]);
        assert_eq!(round.awaited(), [1]);
        round.on(Event::Join { trainer: 1, incarnation: 2 });
        let back = round.on(Event::Push { trainer: 1, incarnation: 2, step: 1 });
        assert_eq!(back, [Effect::Take, apply(1, &[0, 1])]);
    }

    #[test]
    fn a_push_that_is_here_counts_even_if_its_trainer_is_lost() {
        let mut round = joined(2, Policy::Shrink);
        push(&mut round, 1, 1);
        round.on(Event::Lose { trainer: 1, incarnation: 1 });
        assert_eq!(push(&mut round, 0, 1), [Effect::Take, apply(1, &[0, 1])]);
    }

    fn pause(round: &mut Round, trainer: usize, number: u64) -> Vec<Effect> {
        round.on(Event::Pause { trainer, incarnation: 1, number })
    }

    fn resume(round: &mut Round, trainer: usize, number: u64, from: u64) -> Vec<Effect> {
        round.on(Event::Resume { trainer, incarnation: 1, number, from })
    }

    #[test]
    fn steps_are_made_without_a_trainer_that_pauses() {
        let mut round = joined(2, Policy::Fail);
        push(&mut round, 0, 1);
        push(&mut round, 1, 1);
        assert_eq!(push(&mut round, 0, 2), [Effect::Take]);
        assert_eq!(pause(&mut round, 1, 1), [apply(2, &[0])]);
        assert_eq!((round.is_awaited(1), round.is_awaited_at_barrier(1), round.is_back(1)), (false, true, false));
        assert_eq!(push(&mut round, 1, 3), [Effect::Refuse(Refusal::Paused)]);
        assert_eq!(push(&mut round, 0, 3), [Effect::Take, apply(3, &[0])]);
        // Trainer 0 comes to the same barrier; whichever is first to go on says it for both.
        assert_eq!(pause(&mut round, 0, 1), []);
        assert!(round.is_idle());
        (0..2).for_each(|trainer| assert_eq!(resume(&mut round, trainer, 1, 4), []));
        assert_eq!(push(&mut round, 0, 4), [Effect::Take]);
        assert_eq!(round.awaited(), [1]);
        assert_eq!(resume(&mut round, 1, 1, 4), [], "it says so, too");
        assert_eq!(pause(&mut round, 1, 1), [], "a request that arrives late");
        assert_eq!(push(&mut round, 1, 4), [Effect::Take, apply(4, &[0, 1])]);
    }

    #[test]
    fn a_later_pause_outlasts_the_end_of_an_earlier_one() {
        let mut round = joined(2, Policy::Fail);
        (0..2).for_each(|trainer| assert_eq!(pause(&mut round, trainer, 1), []));
        // Trainer 1 is at the next barrier already when trainer 0 goes on after this one.
        pause(&mut round, 1, 2);
        (0..2).for_each(|trainer| assert_eq!(resume(&mut round, trainer, 1, 1), []));
        assert_eq!(push(&mut round, 0, 1), [Effect::Take, apply(1, &[0])]);
        assert_eq!(resume(&mut round, 1, 2, 1), [Effect::Refuse(Refusal::OutOfStep { expected: 2 })]);
        assert!(round.is_back(1), "it has to agree on a step with all servers");
    }

    #[test]
    fn a_process_that_replaces_one_in_a_pause_says_from_when_on_it_takes_part() {
        let mut round = joined(2, Policy::Wait);
        pause(&mut round, 1, 1);
        round.on(Event::Lose { trainer: 1, incarnation: 1 });
        assert_eq!(push(&mut round, 0, 1), [Effect::Take, apply(1, &[0])], "it had no data");
        assert!(round.is_awaited_at_barrier(1));
        round.on(Event::Join { trainer: 1, incarnation: 2 });
        assert!(round.is_back(1));
        assert_eq!(resume(&mut round, 1, 1, 2), [], "the pause of the earlier process");
        assert!(round.is_back(1));
        assert_eq!(round.on(Event::Return { trainer: 1, incarnation: 2, from: 2, pauses: 0 }), []);
        assert_eq!(push(&mut round, 0, 2), [Effect::Take]);
        assert_eq!(round.awaited(), [1]);
        let paused = round.on(Event::Pause { trainer: 1, incarnation: 2, number: 1 });
        assert_eq!(paused, [apply(2, &[0])]);
        let late = round.on(Event::Return { trainer: 1, incarnation: 2, from: 3, pauses: 0 });
        assert_eq!((late, round.is_awaited(1)), (Vec::new(), false), "a request that arrives late");
    }

    /// A process comes back, goes on after its last push, and pauses before the others have pushed.
    #[test]
    fn a_push_that_is_here_counts_even_if_its_trainer_pauses() {
        let mut round = joined(2, Policy::Wait);
        push(&mut round, 0, 1);
        round.on(Event::Join { trainer: 0, incarnation: 2 });
        assert_eq!(round.on(Event::Pause { trainer: 0, incarnation: 2, number: 1 }), []);
        assert_eq!(push(&mut round, 1, 1), [Effect::Take, apply(1, &[0, 1])]);
        assert_eq!(push(&mut round, 1, 2), [Effect::Take, apply(2, &[1])]);
    }

    /// One server made a step more than this one before all of their trainers were lost or paused.
    #[test]
    fn steps_that_nobody_takes_part_in_are_passed_over() {
        let mut round = joined(2, Policy::Shrink);
        pause(&mut round, 0, 1);
        round.on(Event::Lose { trainer: 1, incarnation: 1 });
        round.on(Event::Join { trainer: 1, incarnation: 2 });
        assert_eq!(round.on(Event::Return { trainer: 1, incarnation: 2, from: 3, pauses: 0 }), []);
        assert_eq!(round.done(), 2);
        let pushed = round.on(Event::Push { trainer: 1, incarnation: 2, step: 3 });
        assert_eq!(pushed, [Effect::Take, apply(3, &[1])]);
    }

    #[test]
    fn an_older_process_is_fenced_off() {
        let mut round = joined(1, Policy::Wait);
        round.on(Event::Join { trainer: 0, incarnation: 7 });
        assert_eq!(push(&mut round, 0, 1), [Effect::Refuse(Refusal::Replaced)]);
        assert_eq!(round.on(Event::Join { trainer: 0, incarnation: 3 }), [Effect::Refuse(Refusal::Replaced)]);
        assert_eq!(round.on(Event::Lose { trainer: 0, incarnation: 1 }), [], "its end is nobody's loss");
        let text = Refusal::NoSuchTrainer { trainers: 1 }.to_string();
        assert_eq!(text, "this job has 1 trainers, numbered from 0");
        assert_eq!(
            round.on(Event::Join { trainer: 1, incarnation: 1 }),
            [Effect::Refuse(Refusal::NoSuchTrainer { trainers: 1 })]
        );
    }
}
