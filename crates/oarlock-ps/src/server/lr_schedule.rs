//! The learning-rate schedule of a server: the block of its program that computes rates, and rates that trainers send.
//!
//! Where all trainers make a step together, the schedule goes on by one with it, and of the rates that trainers sent that of
//! the first trainer counts. In asynchronous training, a push says how many steps its trainer made, or at which rate, and its
//! gradients are applied at exactly the rate that follows from it, whatever else is applied at the same time: each
//! connection keeps the rates of its push in a scope of its own.

use std::collections::BTreeSet;

use oarlock_exec::{Executor, Scope};
use oarlock_ir::{Error, Kind, Name, Program, Result};
use oarlock_tensor::Value;
use parking_lot::Mutex;

use super::updates::Runner;
use crate::protocol::Named;

/// The most steps of one push; no communicator merges more.
const MOST_STEPS: i64 = 1 << 16;

/// The learning rates of a server.
#[derive(Default)]
pub(super) struct LrSchedule {
    schedule: Mutex<Schedule>,
    /// The variables in which trainers send the number of their steps.
    notices: BTreeSet<Name>,
    /// LrSchedule that trainers send, each with what trainers sent for the step under way.
    sent: Vec<(Name, Mutex<Vec<Value>>)>,
    /// The rates that updates read.
    read: Vec<Name>,
}

/// The block that computes the rates of the next step.
#[derive(Default)]
struct Schedule {
    block: Option<Runner>,
    /// It has run: there are rates.
    begun: bool,
}

impl Schedule {
    fn go_on(&mut self, steps: i64, scope: &Scope) -> Result<()> {
        let Some(block) = &self.block else { return Ok(()) };
        (0..steps).try_for_each(|_| block.run(scope))?;
        self.begun |= steps > 0;
        Ok(())
    }
}

impl LrSchedule {
    /// Of a server with this number of trainers.
    pub(super) fn new(notices: Vec<Name>, sent: Vec<Name>, trainers: usize) -> LrSchedule {
        let room = || Mutex::new((0..trainers).map(|_| Value::Empty).collect());
        let sent: Vec<_> = sent.into_iter().map(|name| (name, room())).collect();
        LrSchedule { notices: notices.into_iter().collect(), sent, ..LrSchedule::default() }
    }

    /// Has the schedule computed rates?
    pub(super) fn has_begun(&self) -> bool {
        self.schedule.lock().begun
    }

    /// The schedule goes on where an earlier process was.
    pub(super) fn set_begun(&self, begun: bool) {
        self.schedule.lock().begun = begun;
    }

    /// Adds the block that computes rates from step to step.
    pub(super) fn set_schedule(&mut self, block: Program, executor: Executor) {
        self.schedule.get_mut().block = Some(Runner::new(block, executor));
    }

    /// Notes what an update reads.
    pub(super) fn read_by(&mut self, update: &Program) {
        let schedule = self.schedule.get_mut().block.as_ref();
        let computed = |name: &Name| schedule.is_some_and(|block| writes(block.program(), name));
        let reads = update.blocks().iter().flat_map(|b| &b.ops).flat_map(|op| op.inputs.args());
        for name in reads.filter(|name| computed(name) || self.sent.iter().any(|(sent, _)| sent == *name)) {
            if !self.read.contains(name) {
                self.read.push(name.clone());
            }
        }
    }

    /// Do trainers send such a variable?
    pub(super) fn takes(&self, name: &str) -> bool {
        self.notices.contains(name) || self.sent.iter().any(|(sent, _)| sent == name)
    }

    /// The variables that trainers send.
    pub(super) fn names(&self) -> impl Iterator<Item = &Name> {
        self.notices.iter().chain(self.expected())
    }

    /// The variables that every trainer must send in every step of synchronous training.
    pub(super) fn expected(&self) -> impl Iterator<Item = &Name> {
        self.sent.iter().map(|(name, _)| name)
    }

    /// Checks that a value is a number of steps, or a rate such as the server has.
    pub(super) fn check(&self, name: &str, value: &Value, scope: &Scope) -> Result<()> {
        if self.notices.contains(name) {
            return steps(value).map(drop).ok_or_else(|| wrong(name, "is not a number of steps"));
        }
        let here = scope.tensor(name).ok_or_else(|| {
            Error::new(Kind::Missing, format!("learning rate `{name}` was not initialized"))
                .help("run the server's startup program before its main program")
        })?;
        match value.dense() {
            Ok(sent) if sent.numel() == here.numel() && sent.dtype() == here.dtype() => Ok(()),
            _ => Err(wrong(name, &format!("is not a learning rate of {} as the program has it", here.dtype()))),
        }
    }

    /// Keeps a rate until the step of all trainers is complete; false if it is something else.
    pub(super) fn keep(&self, trainer: usize, name: &str, value: &mut Value) -> bool {
        let Some((_, held)) = self.sent.iter().find(|(sent, _)| sent == name) else { return false };
        if let Some(room) = held.lock().get_mut(trainer) {
            std::mem::swap(room, value);
        }
        true
    }

    /// The rates of a step that these trainers made together.
    pub(super) fn step(&self, of: &[usize], scope: &Scope) -> Result<()> {
        for (name, held) in &self.sent {
            if let Some(value) = of.iter().min().and_then(|first| held.lock().get_mut(*first).map(std::mem::take)) {
                *scope.var(name).write() = value;
            }
        }
        self.schedule.lock().go_on(1, scope)
    }

    /// The rates of a push, for updates that run in `own`. Nothing if all rates are constant.
    pub(super) fn of_push(&self, pushed: &[Named], scope: &Scope, own: &mut Option<Scope>) -> Result<()> {
        if self.notices.is_empty() && self.sent.is_empty() {
            return Ok(());
        }
        let mut schedule = self.schedule.lock();
        let rates = pushed.iter().filter(|(name, _)| self.expected().any(|rate| rate.as_str() == name));
        for (name, value) in rates {
            copy(value, &scope.var(name))?;
        }
        let made = pushed.iter().filter(|(name, _)| self.notices.contains(name.as_str()));
        let mut made: i64 = made.filter_map(|(_, value)| steps(value)).sum();
        if made == 0 && !schedule.begun {
            // A step that a trainer broke off may send less than all: there is no rate yet.
            made = 1;
        }
        schedule.go_on(made, scope)?;
        let own = own.get_or_insert_with(|| scope.child());
        for name in &self.read {
            if let Some(value) = scope.find(name) {
                copy(&value.read(), &own.var(name))?;
            }
        }
        Ok(())
    }
}

/// Copies the rates of a push to where an update finds them.
pub(super) fn copy_rates(rates: Option<&Scope>, to: &Scope) -> Result<()> {
    let Some(rates) = rates else { return Ok(()) };
    for name in rates.names() {
        copy(&rates.var(&name).read(), &to.var(&name))?;
    }
    Ok(())
}

fn copy(value: &Value, to: &oarlock_ir::SharedVar) -> Result<()> {
    to.write().copy_from(value).map_err(|e| Error::new(Kind::Argument, format!("a learning rate {e}")))
}

fn writes(program: &Program, name: &Name) -> bool {
    program.blocks().iter().flat_map(|b| &b.ops).any(|op| op.outputs.args().any(|out| out == name))
}

/// How many steps a notice says were made.
fn steps(value: &Value) -> Option<i64> {
    let &[steps] = value.dense().ok()?.data::<i64>().ok()? else { return None };
    (1..=MOST_STEPS).contains(&steps).then_some(steps)
}

fn wrong(name: &str, why: &str) -> Error {
    Error::new(Kind::Argument, format!("`{name}` {why}"))
        .help("trainers and servers of one job must transpile the same program in the same way")
}

#[cfg(test)]
mod tests {
    use oarlock_tensor::Tensor;

    use super::*;

    #[test]
    fn a_notice_is_a_small_positive_number() {
        let rates = LrSchedule::new(vec!["n".into()], vec!["lr".into()], 2);
        let scope = Scope::new();
        scope.set("lr", Tensor::from_slice([1], &[0.5f32]).unwrap());
        let check =
            |name: &str, value: Tensor| rates.check(name, &Value::Dense(value), &scope).map_err(|e| e.to_string());
        for (steps, good) in [(1, true), (MOST_STEPS, true), (0, false), (-1, false), (MOST_STEPS + 1, false)] {
            assert_eq!(check("n", Tensor::from_slice([1], &[steps]).unwrap()).is_ok(), good, "{steps}");
        }
        assert_eq!(
            check("n", Tensor::from_slice([2], &[1i64, 1]).unwrap()).unwrap_err(),
            "error[argument]: `n` is not a number of steps\n  \
             help: trainers and servers of one job must transpile the same program in the same way"
        );
        assert!(check("lr", Tensor::from_slice([1], &[0.1f32]).unwrap()).is_ok());
        let error = check("lr", Tensor::from_slice([2], &[0.1f32, 0.1]).unwrap()).unwrap_err();
        assert!(error.contains("`lr` is not a learning rate of f32"), "{error}");
    }

    #[test]
    fn learning_rate_of_the_first_trainer_counts_in_a_step() {
        let rates = LrSchedule::new(Vec::new(), vec!["lr".into()], 3);
        let scope = Scope::new();
        for (trainer, rate) in [(2, 0.2f32), (1, 0.1)] {
            let mut value = Value::Dense(Tensor::scalar(rate));
            assert!(rates.keep(trainer, "lr", &mut value));
        }
        rates.step(&[1, 2], &scope).unwrap();
        assert_eq!(scope.tensor("lr"), Some(Tensor::scalar(0.1f32)));
    }
}
