//! A trainer's part of an all-gather at a server: all trainers contribute a value, and all get the values of all. A barrier is an
//! all-gather whose values have no meaning.
//!
//! Reply: `all_gather` (12) with the values, named by the trainers' numbers; or, after some seconds, `awaited` (13) with the trainers
//! that are missing: the sender asks again, and can log for which trainers it waits.

use std::sync::atomic::Ordering;
use std::time::Duration;

use oarlock_ir::{Error, Kind, Result};
use oarlock_net::codec::Reader;
use oarlock_net::{Floats, Incoming, now};
use oarlock_tensor::{Tensor, Value};
use tracing::info;

use super::pause::Paused;
use crate::checkpoint::as_tensor;
use crate::client::{Client, Request};
use crate::protocol::{Message, Named, Rounded, Sender, ValueReader, ValueWriter, message, reply, request};
use crate::server::all_gather::{Contribution, Gathered};
use crate::server::read::size;
use crate::server::{Call, State};

request! { kind: 12, sender: Sender::ActiveTrainer, profile: "serve barrier", replay: replay }

message! {
    /// The message before the value.
    pub(crate) struct AllGather {
        /// Counts the all-gathers of this process from 1: a request that is repeated contributes once.
        pub(crate) number: u64,
        /// The step that it is part of, 0 for none. A trainer that rejoins and repeats a step gets the values that the step had.
        pub(crate) step: u64,
        /// The pause of this process meanwhile, 0 for none.
        pub(crate) pause: u64,
        /// The operation. All trainers must be in the same.
        pub(crate) purpose: String,
    }
}

message! {
    /// The reply before the values, when all have contributed.
    pub(crate) struct AllGathered {
        /// Steps that the server had made by then.
        pub(crate) done: u64,
        /// The trainers that are in a pause, and in which.
        pub(crate) paused: Vec<Paused>,
    }
}

message! {
    /// The reply while trainers are missing.
    pub(crate) struct Awaited {
        pub(crate) trainers: Vec<u32>,
    }
}

/// How long a server waits before it replies that trainers are missing.
pub(crate) const REPLY_AFTER: Duration = Duration::from_secs(3);

fn apply(call: &mut Call<'_>) -> Result<()> {
    let (message, value) = read_contribution(call.frame)?;
    match gather(call, &message, value)? {
        Ok(gathered) => set_gathered(call, &gathered),
        Err(missing) => {
            let trainers = missing.iter().map(|t| *t as u32).collect();
            call.reply.set(reply::AWAITED, &Awaited { trainers });
            Ok(())
        }
    }
}

fn read_contribution(frame: &Incoming) -> Result<(AllGather, Tensor)> {
    let mut meta = Reader::new(frame.meta(), "an all-gather");
    let message = AllGather::decode(&mut meta)?;
    let mut reader = ValueReader::new(frame, &mut meta)?;
    let mut value = Value::Empty;
    if reader.next(&mut meta)?.is_none() {
        return Err(Error::new(Kind::Format, "an all-gather has no value"));
    }
    reader.value(&mut meta, &mut value)?;
    match value {
        Value::Dense(tensor) => Ok((message, tensor)),
        other => Err(Error::new(Kind::Format, format!("the value of an all-gather is {}, not a tensor", other.kind()))),
    }
}

/// Contributes again, and completes the all-gather if that was the last contribution.
fn replay(call: &mut Call<'_>) -> Result<()> {
    let (message, value) = read_contribution(call.frame)?;
    let mut state = call.shared.state.lock();
    contribute(call, &mut state, &message, value)?;
    result(call, &mut state, &message);
    Ok(())
}

fn contribute(call: &mut Call<'_>, state: &mut State, message: &AllGather, value: Tensor) -> Result<()> {
    let (trainer, incarnation) = (call.trainer(), call.hello.incarnation);
    let AllGather { number, step, pause, .. } = *message;
    let all_gather = state.all_gather(step > 0);
    if !all_gather.has(trainer, incarnation, number) {
        call.log()?;
    }
    all_gather.contribute(trainer, &message.purpose, Contribution { incarnation, number, step, pause, value })
}

/// The contributions of all trainers, if none is missing.
fn result(call: &Call<'_>, state: &mut State, message: &AllGather) -> Option<Gathered> {
    let (shared, trainer) = (call.shared, call.trainer());
    let of = ((call.hello.incarnation, message.number), message.step);
    let barrier = &state.step_barrier;
    let trainers = (shared.updates.trainers, barrier.done());
    let is_active = |t: usize, incarnation: u64| barrier.rejection(t, incarnation).is_none();
    match message.step > 0 {
        true => state.step_all_gather.result(trainer, of, |t| barrier.is_awaited(t), is_active, trainers),
        false => state.all_gather.result(trainer, of, |t| barrier.is_awaited_at_barrier(t), is_active, trainers),
    }
}

/// Waits for the contributions of all trainers; returns them, or the trainers that are missing.
fn gather(
    call: &mut Call<'_>,
    message: &AllGather,
    value: Tensor,
) -> Result<std::result::Result<Gathered, Vec<usize>>> {
    let (shared, trainer) = (call.shared, call.trainer());
    let (in_step, of) = (message.step > 0, (call.hello.incarnation, message.number));
    let mut guard = shared.state.lock();
    if let Err(error) = contribute(call, &mut guard, message, value) {
        shared.changed.notify_all();
        return Err(error);
    }
    let until = now() + REPLY_AFTER;
    loop {
        let state = &mut *guard;
        if let Some(failed) = &state.failed {
            return Err(failed.clone());
        }
        if let Some(error) = state.all_gather(in_step).refused(trainer, of) {
            return Err(error);
        }
        if let Some(gathered) = result(call, state, message) {
            shared.changed.notify_all();
            return Ok(Ok(gathered));
        }
        if shared.stop.load(Ordering::Acquire) || shared.changed.wait_until(&mut guard, until).timed_out() {
            return Ok(Err(guard.missing(in_step, shared.updates.trainers)));
        }
    }
}

fn set_gathered(call: &mut Call<'_>, gathered: &Gathered) -> Result<()> {
    let (contributions, done) = &**gathered;
    let pause = |(trainer, part): (&usize, &Contribution)| {
        let paused = Paused { trainer: *trainer as u32, incarnation: part.incarnation, number: part.pause };
        (part.pause > 0).then_some(paused)
    };
    let paused = contributions.iter().filter_map(pause).collect();
    let named = |(trainer, part): (&usize, &Contribution)| (trainer.to_string(), Value::Dense(part.value.clone()));
    let all: Vec<Named> = contributions.iter().map(named).collect();
    call.shared.check_size(all.iter().map(|(_, value)| size(value)).sum())?;
    call.reply.set(REQUEST.kind, &AllGathered { done: *done, paused });
    call.reply.set_vars(all);
    Ok(())
}

/// How long other trainers may take. They send heartbeats meanwhile, so it can be long: one may have more data than another.
const TIMEOUT: Duration = Duration::from_secs(6 * 3600);

/// How often a trainer logs for which trainers it waits.
const LOG_EVERY: Duration = Duration::from_secs(10);

impl Client {
    /// Contributes a value to an all-gather of all trainers, at the first of all `servers`; returns the value of each, in the order
    /// of their numbers. `purpose` names the operation, and is the same for all.
    ///
    /// Meanwhile this trainer has no data: the steps of those that still train do not wait for it. All that took part in it take
    /// part in steps again from the same step on.
    pub fn all_gather(&self, trainer: u32, servers: &[String], purpose: &str, value: &Tensor) -> Result<Vec<Tensor>> {
        // A thread that is in a step keeps this trainer in its steps.
        let Some(_alone) = self.barrier.try_lock() else {
            return Ok(self.all_gather_at(trainer, first(servers)?, purpose, (0, 0), value, TIMEOUT)?.0);
        };
        self.resume(trainer, servers, "")?;
        let pause = self.pauses.fetch_add(1, Ordering::AcqRel) + 1;
        self.pause(trainer, servers, pause)?;
        // Until it takes part again: a caller that catches an error and goes on must agree on a step with all servers.
        self.left_out.store(true, Ordering::Release);
        let (all, gathered) = self.all_gather_at(trainer, first(servers)?, purpose, (0, pause), value, TIMEOUT)?;
        self.take_part(trainer, servers, gathered)?;
        Ok(all)
    }

    /// The same for bytes.
    pub fn all_gather_bytes(
        &self,
        trainer: u32,
        servers: &[String],
        purpose: &str,
        bytes: &[u8],
    ) -> Result<Vec<Vec<u8>>> {
        let all = self.all_gather(trainer, servers, purpose, &as_tensor(bytes))?;
        Ok(all.iter().map(|tensor| tensor.bytes().to_vec()).collect())
    }

    /// The same in the middle of a step. A process that rejoins and repeats the step gets the values that the step had.
    pub(crate) fn all_gather_in_step(
        &self,
        trainer: u32,
        server: &str,
        purpose: &str,
        value: &Tensor,
    ) -> Result<Vec<Tensor>> {
        let step = (self.done() + 1, 0);
        Ok(self.all_gather_at(trainer, server, purpose, step, value, self.options.deadline)?.0)
    }

    fn all_gather_at(
        &self,
        trainer: u32,
        server: &str,
        purpose: &str,
        (step, pause): (u64, u64),
        value: &Tensor,
        timeout: Duration,
    ) -> Result<(Vec<Tensor>, AllGathered)> {
        let value = &Value::Dense(value.clone());
        let mut number = self.all_gathers.lock();
        *number += 1;
        let mut meta = AllGather { number: *number, step, pause, purpose: purpose.to_string() }.to_meta();
        let mut values = ValueWriter::default();
        let rounded = Rounded::of(Floats::F32, [value].into_iter());
        values.write(&mut meta, [("", value)].into_iter(), &rounded)?;
        let about = || format!("the other trainers at {purpose}");
        let request = Request { kind: REQUEST.kind, meta: meta.as_bytes(), sections: values.sections(), about: &about };
        let peer = self.peer(server, trainer);
        let mut link = peer.take();
        let (begun, mut logged) = (now(), now());
        loop {
            peer.ask(&mut link, &request, self.deadline())?;
            if link.reply.kind() != reply::AWAITED {
                let gathered = read_gathered(&link.reply)?;
                peer.give_back(link);
                return Ok(gathered);
            }
            let missing = Awaited::read(&link.reply)?.trainers;
            let missing = missing.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
            if begun.elapsed() > timeout {
                let seconds = timeout.as_secs();
                return Err(Error::new(
                    Kind::Timeout,
                    format!("trainer {trainer} waited {seconds} s for trainer {missing} at {purpose}"),
                )
                .help("see what that trainer does"));
            }
            if logged.elapsed() > LOG_EVERY {
                logged = now();
                let seconds = begun.elapsed().as_secs();
                info!(
                    role = "trainer",
                    rank = trainer,
                    peer = server,
                    "trainer {trainer} waits for trainer {missing} at {purpose} ({seconds} s)"
                );
            }
        }
    }
}

fn read_gathered(reply: &Incoming) -> Result<(Vec<Tensor>, AllGathered)> {
    let mut meta = Reader::new(reply.meta(), "an all-gather");
    let gathered = AllGathered::decode(&mut meta)?;
    let mut reader = ValueReader::new(reply, &mut meta)?;
    let mut all = Vec::new();
    while reader.next(&mut meta)?.is_some() {
        let mut value = Value::Empty;
        reader.value(&mut meta, &mut value)?;
        all.push(value.dense().map_err(|e| Error::new(Kind::Format, format!("a trainer's value {e}")))?.clone());
    }
    Ok((all, gathered))
}

fn first(servers: &[String]) -> Result<&str> {
    let none = || Error::new(Kind::Argument, "no server is named for an all-gather of the trainers");
    servers.first().map(String::as_str).ok_or_else(none)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::samples::{Sample, dense, rows, with_values};

    fn message() -> AllGather {
        AllGather { number: 3, step: 4, pause: 2, purpose: "barrier".into() }
    }

    pub(super) fn samples() -> Vec<Sample> {
        let paused = vec![Paused { trainer: 1, incarnation: 7, number: 2 }];
        let gathered = AllGathered { done: 8, paused }.to_meta();
        let (own, of_0) = ([(String::new(), dense())], [("0".to_string(), dense())]);
        let contributed = |frame: &Incoming| read_contribution(frame).map(drop);
        vec![
            with_values("all gather", REQUEST.kind, message().to_meta(), &own, (&[], &[]), contributed),
            with_values("all gathered", REQUEST.kind, gathered, &of_0, (&[], &[]), |f| read_gathered(f).map(drop)),
            Sample::of("awaited", reply::AWAITED, &Awaited { trainers: vec![1, 4] }),
        ]
    }

    #[test]
    fn only_one_tensor_can_be_contributed() {
        let of = |vars: &[Named]| {
            let decode = |_: &Incoming| Ok(());
            with_values("", REQUEST.kind, message().to_meta(), vars, (&[], &[]), decode).frame()
        };
        assert_eq!(read_contribution(&of(&[(String::new(), dense())])).unwrap().1.numel(), 6);
        let error = read_contribution(&of(&[])).unwrap_err();
        assert_eq!(error.report().what, "an all-gather has no value");
        let error = read_contribution(&of(&[(String::new(), rows())])).unwrap_err();
        assert!(error.report().what.starts_with("the value of an all-gather is "), "{error}");
    }
}
