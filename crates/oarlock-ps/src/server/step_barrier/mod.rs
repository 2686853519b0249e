//! The step barrier: decides when a step of synchronous training is complete. A state machine without clock, socket or thread.
//!
//! A server passes [`Event`]s of trainers to it and does what the returned [`Effect`]s say. A step collects one push of every trainer that
//! takes part; the last push completes it. A duplicate push is acknowledged and not counted again, so a trainer may retry a request
//! whose reply was lost.
//!
//! A trainer that waits for the others in an all-gather has no data for the next step: it pauses, and steps are made without it. When
//! the all-gather is complete, all its trainers take part again from one step on, the same at all servers.

mod event;
mod saved;
#[cfg(test)]
mod tests;

pub use event::{Effect, Event, Failure, Policy, Refusal};

/// Whether a trainer is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    /// It has not joined yet.
    Expected,
    /// It joined. Of two processes with the same number the later one counts.
    Active { incarnation: u64 },
    /// The failure detector declared it lost.
    Lost,
    /// It sent that it is done.
    Left,
}

#[derive(Debug, Clone, Copy)]
struct TrainerState {
    presence: Presence,
    /// The last step of which this server has its push.
    pushed: u64,
    /// The step whose push is here and not made yet; an earlier one if there is none. It counts, whatever happens to its trainer.
    held: u64,
    /// The first step that it takes part in.
    from: u64,
    /// The process that joined last.
    incarnation: u64,
    /// The latest pause that this process began, and the latest that ended. It counts them from 1.
    pauses: (u64, u64),
}

impl TrainerState {
    fn is_paused(&self) -> bool {
        self.pauses.0 > self.pauses.1
    }
}

/// [`TrainerState::from`] of a trainer that must rejoin: it has not agreed on a step yet.
const NOT_AGREED: u64 = u64::MAX;

/// The rounds of one server.
#[derive(Debug, Clone)]
pub struct StepBarrier {
    policy: Policy,
    trainers: Vec<TrainerState>,
    /// Complete steps.
    done: u64,
    failed: Option<Failure>,
}

impl StepBarrier {
    /// For this number of trainers.
    pub fn new(trainers: usize, policy: Policy) -> StepBarrier {
        let state =
            TrainerState { presence: Presence::Expected, pushed: 0, held: 0, from: 0, incarnation: 0, pauses: (0, 0) };
        StepBarrier { policy, trainers: vec![state; trainers], done: 0, failed: None }
    }

    /// For trainers that continue after this number of steps.
    pub fn after(steps: u64, trainers: usize, policy: Policy) -> StepBarrier {
        let mut barrier = StepBarrier::new(trainers, policy);
        barrier.done = steps;
        barrier.trainers.iter_mut().for_each(|state| state.pushed = steps);
        barrier
    }

    /// The number of complete steps.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// The last step of which this server has a trainer's push.
    pub fn pushed(&self, trainer: usize) -> u64 {
        self.trainers.get(trainer).map_or(0, |m| m.pushed)
    }

    /// The trainers whose push the next step waits for.
    pub fn awaited(&self) -> Vec<usize> {
        let missing = |m: &TrainerState| !self.has_push(m) && self.takes_part(m);
        (0..self.trainers.len()).filter(|&t| missing(&self.trainers[t])).collect()
    }

    /// The trainers that have not joined yet, once one has.
    pub fn expected(&self) -> Vec<usize> {
        let begun = self.has_begun();
        (0..self.trainers.len()).filter(|&t| begun && self.trainers[t].presence == Presence::Expected).collect()
    }

    /// Has this process of a trainer left?
    pub fn has_left(&self, trainer: usize, incarnation: u64) -> bool {
        self.trainers.get(trainer).is_some_and(|m| m.presence == Presence::Left && m.incarnation == incarnation)
    }

    /// Has this trainer not joined yet?
    pub fn is_expected(&self, trainer: usize) -> bool {
        self.trainers.get(trainer).is_some_and(|m| m.presence == Presence::Expected)
    }

    /// The number of trainers.
    pub fn trainers(&self) -> usize {
        self.trainers.len()
    }

    /// Is the push of any trainer for the next step here?
    pub fn is_under_way(&self) -> bool {
        self.trainers.iter().any(|state| self.has_push(state))
    }

    /// The number of trainers that are active now.
    pub fn active(&self) -> usize {
        self.trainers.iter().filter(|m| matches!(m.presence, Presence::Active { .. })).count()
    }

    /// Did a trainer leave, or was it lost?
    pub fn has_departed(&self, trainer: usize) -> bool {
        self.trainers.get(trainer).is_some_and(|m| matches!(m.presence, Presence::Left | Presence::Lost))
    }

    /// Has any trainer joined?
    pub fn has_begun(&self) -> bool {
        self.trainers.iter().any(|m| m.presence != Presence::Expected)
    }

    /// Does the next step have to wait for this trainer?
    pub fn is_awaited(&self, trainer: usize) -> bool {
        self.trainers.get(trainer).is_some_and(|state| self.takes_part(state))
    }

    /// Does a barrier of all trainers have to wait for this one?
    pub fn is_awaited_at_barrier(&self, trainer: usize) -> bool {
        self.trainers.get(trainer).is_some_and(|state| match state.presence {
            Presence::Active { .. } => state.is_paused() || self.policy == Policy::Wait || self.takes_part(state),
            Presence::Expected => true,
            Presence::Lost => self.policy != Policy::Shrink,
            Presence::Left => false,
        })
    }

    /// Must this trainer agree with the servers on a step before it takes part again?
    pub fn must_rejoin(&self, trainer: usize) -> bool {
        let back =
            |m: &TrainerState| matches!(m.presence, Presence::Active { .. }) && m.from == NOT_AGREED && !m.is_paused();
        self.trainers.get(trainer).is_some_and(back)
    }

    /// Does no trainer take part in the next step?
    pub fn has_no_participants(&self) -> bool {
        !self.trainers.iter().any(|state| self.takes_part(state))
    }

    /// Is the push of a trainer for the next step here?
    fn has_push(&self, state: &TrainerState) -> bool {
        state.held > self.done
    }

    fn takes_part(&self, state: &TrainerState) -> bool {
        let has_data = state.from <= self.done + 1 && !state.is_paused();
        match state.presence {
            Presence::Active { .. } => has_data,
            Presence::Expected => true,
            Presence::Lost => self.policy != Policy::Shrink && has_data,
            Presence::Left => false,
        }
    }

    /// Would this push count?
    pub fn accepts(&self, push: Event) -> bool {
        self.clone().on(push).contains(&Effect::Accept)
    }

    /// Receives an event; returns the reactions to it.
    pub fn on(&mut self, event: Event) -> Vec<Effect> {
        match event {
            Event::Join { trainer, incarnation } => self.join(trainer, incarnation),
            Event::Push { trainer, incarnation, step } => self.push(trainer, incarnation, step),
            Event::Rejoin { trainer, incarnation, from, pauses } => self.rejoin(trainer, incarnation, from, pauses),
            Event::Pause { trainer, incarnation, number } => self.pause(trainer, incarnation, number),
            Event::Resume { trainer, incarnation, number, from } => self.resume(trainer, incarnation, number, from),
            Event::Leave { trainer, incarnation } => self.depart(trainer, incarnation, Presence::Left),
            Event::Lose { trainer, incarnation } => self.depart(trainer, incarnation, Presence::Lost),
            Event::Absent { trainer } => match self.trainers.get(trainer).map(|m| m.presence) {
                Some(Presence::Expected) => self.set_departed(trainer, Presence::Lost),
                _ => Vec::new(),
            },
        }
    }

    fn join(&mut self, trainer: usize, incarnation: u64) -> Vec<Effect> {
        let trainers = self.trainers.len();
        let Some(state) = self.trainers.get_mut(trainer) else {
            return vec![Effect::Refuse(Refusal::NoSuchTrainer { trainers })];
        };
        match state.presence {
            // Incarnations grow with time: the later process is the one that counts.
            Presence::Active { incarnation: other } if other > incarnation => {
                return vec![Effect::Refuse(Refusal::Replaced)];
            }
            // A hello that arrives late: its sender would never be heard of again.
            Presence::Left if state.incarnation == incarnation => return vec![Effect::Refuse(Refusal::NotHere)],
            // Its steps may have been made without it, at some servers.
            Presence::Lost if self.policy == Policy::Shrink => state.from = NOT_AGREED,
            _ => {}
        }
        state.presence = Presence::Active { incarnation };
        if state.incarnation != incarnation {
            // Another process is in no pause. If the earlier one was, steps may have been made without it.
            if state.is_paused() {
                state.from = NOT_AGREED;
            }
            (state.incarnation, state.pauses) = (incarnation, (0, 0));
        }
        Vec::new()
    }

    fn pause(&mut self, trainer: usize, incarnation: u64, number: u64) -> Vec<Effect> {
        if let Some(refusal) = self.rejection(trainer, incarnation) {
            return vec![Effect::Refuse(refusal)];
        }
        let state = &mut self.trainers[trainer];
        state.pauses.0 = state.pauses.0.max(number);
        // Nothing happens if the request is a duplicate and its pause is over.
        self.complete().into_iter().collect()
    }

    fn resume(&mut self, trainer: usize, incarnation: u64, number: u64, from: u64) -> Vec<Effect> {
        if self.rejection(trainer, incarnation).is_some() {
            return Vec::new();
        }
        let expected = self.done + 1;
        let state = &mut self.trainers[trainer];
        let paused = state.is_paused();
        state.pauses.1 = state.pauses.1.max(number);
        if !paused || state.is_paused() {
            return Vec::new();
        }
        if from != expected {
            // It must agree on another step with all servers, as one does that rejoins.
            state.from = NOT_AGREED;
            return vec![Effect::Refuse(Refusal::OutOfStep { expected })];
        }
        (state.from, state.pushed) = (from, from - 1);
        Vec::new()
    }

    fn rejoin(&mut self, trainer: usize, incarnation: u64, from: u64, pauses: u64) -> Vec<Effect> {
        if let Some(refusal) = self.rejection(trainer, incarnation) {
            return vec![Effect::Refuse(refusal)];
        }
        let expected = self.done + 1;
        let state = &mut self.trainers[trainer];
        // A duplicate may arrive in a later pause.
        if pauses < state.pauses.0 || state.from == from && !state.is_paused() {
            return Vec::new();
        }
        if from < expected {
            return vec![Effect::Refuse(Refusal::OutOfStep { expected })];
        }
        (state.from, state.pushed) = (from, from - 1);
        state.pauses.1 = state.pauses.1.max(pauses);
        // Others may have waited for it, at a step that it named before.
        self.complete().into_iter().collect()
    }

    fn push(&mut self, trainer: usize, incarnation: u64, step: u64) -> Vec<Effect> {
        if let Some(refusal) = self.rejection(trainer, incarnation) {
            return vec![Effect::Refuse(refusal)];
        }
        if let Some(failure) = self.failed {
            return vec![Effect::Fail(failure)];
        }
        let done = self.done;
        let state = &mut self.trainers[trainer];
        if state.from == NOT_AGREED && !state.is_paused() {
            return vec![Effect::Refuse(Refusal::LeftBehind)];
        }
        if step <= state.pushed {
            return vec![Effect::Duplicate];
        }
        if state.is_paused() {
            return vec![Effect::Refuse(Refusal::Paused)];
        }
        if step < state.from {
            return vec![Effect::Refuse(Refusal::LeftBehind)];
        }
        if step != done + 1 {
            return vec![Effect::Refuse(Refusal::OutOfStep { expected: done + 1 })];
        }
        (state.pushed, state.held) = (step, step);
        let mut effects = vec![Effect::Accept];
        effects.extend(self.complete());
        effects
    }

    /// Why a request of this process cannot count, if so.
    pub fn rejection(&self, trainer: usize, incarnation: u64) -> Option<Refusal> {
        match self.trainers.get(trainer).map(|m| m.presence) {
            None => Some(Refusal::NoSuchTrainer { trainers: self.trainers.len() }),
            Some(Presence::Active { incarnation: other }) if other == incarnation => None,
            Some(Presence::Active { .. }) => Some(Refusal::Replaced),
            Some(_) => Some(Refusal::NotHere),
        }
    }

    /// Completes the step if no push is missing.
    fn complete(&mut self) -> Option<Effect> {
        let of: Vec<usize> = (0..self.trainers.len()).filter(|&t| self.has_push(&self.trainers[t])).collect();
        let complete = !of.is_empty() && self.awaited().is_empty();
        self.done += u64::from(complete);
        let effect = complete.then_some(Effect::Apply { step: self.done, of });
        self.skip_empty_steps();
        effect
    }

    /// Skips steps that no trainer takes part in, up to the first that one has agreed on: before its trainers were lost, one server may
    /// have made a step more than another.
    fn skip_empty_steps(&mut self) {
        if !self.has_no_participants() || self.trainers.iter().any(|m| self.has_push(m)) {
            return;
        }
        let returns = |m: &&TrainerState| match m.presence {
            Presence::Active { .. } => true,
            Presence::Lost => self.policy != Policy::Shrink,
            Presence::Expected | Presence::Left => false,
        };
        let agreed = |m: &&TrainerState| m.from != NOT_AGREED && !m.is_paused();
        let next = self.trainers.iter().filter(returns).filter(agreed).map(|m| m.from).min();
        self.done = next.map_or(self.done, |next| self.done.max(next - 1));
    }

    fn depart(&mut self, trainer: usize, incarnation: u64, to: Presence) -> Vec<Effect> {
        if self.rejection(trainer, incarnation).is_some() {
            return Vec::new();
        }
        self.set_departed(trainer, to)
    }

    /// A trainer does not take part any more, for now or for good.
    fn set_departed(&mut self, trainer: usize, to: Presence) -> Vec<Effect> {
        let joined = self.trainers[trainer].presence != Presence::Expected;
        self.trainers[trainer].presence = to;
        let mut effects = Vec::new();
        if to == Presence::Lost {
            let failure = Failure { trainer, step: self.done + 1, joined };
            effects.push(Effect::Lost(failure));
            if self.policy == Policy::Fail {
                self.failed.get_or_insert(failure);
                effects.push(Effect::Fail(failure));
                return effects;
            }
        }
        effects.extend(self.complete());
        let gone = |m: &TrainerState| {
            m.presence == Presence::Left || m.presence == Presence::Lost && self.policy == Policy::Shrink
        };
        if self.trainers.iter().all(gone) {
            effects.push(Effect::Finish);
        }
        effects
    }
}
