//! A trainer pushes gradients, and gets the values and rows for its next step with the reply: a step is one exchange per server.
//!
//! A synchronous server keeps the gradients until the step barrier is complete; others apply them at once. A push that is repeated
//! after a reconnect (a duplicate) is acknowledged and not applied again: in synchronous training it is known by its step, otherwise by
//! its sequence number within its stream.
//!
//! Reply: `values` (6) with the variables that were asked for, and with rows for the next lookups.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use oarlock_exec::Scope;
use oarlock_ir::{Error, Kind, Name, Result};
use oarlock_net::codec::Reader;
use oarlock_net::{Floats, Incoming, now};
use oarlock_tensor::{Tensor, Value};
use parking_lot::{Mutex, MutexGuard};

use super::lookup::Lookup;
use super::pull::{WantedVars, copy_variables};
use crate::client::{
    Client, FoundRows, ReceivedVars, RowFetch, RowRequest, Step, about_names, read_values, two_at_once,
};
use crate::protocol::{Message, Named, Rounded, Sender, ValueReader, ValueWriter, message, reply, request};
use crate::server::read::ids_of;
use crate::server::step_barrier::{Effect, Event};
use crate::server::{Call, ServerMode};

request! { kind: 3, sender: Sender::Trainer, profile: "serve push", replay: replay }

message! {
    /// The message before the variables of a push.
    pub(crate) struct Push {
        /// The step that this push completes; 0 if the server is not to wait for the other trainers.
        pub(crate) step: u64,
        /// Another part of the same push follows.
        pub(crate) more: bool,
        /// The form of elements in the reply.
        pub(crate) floats: Floats,
        /// The variables for the reply.
        pub(crate) wanted: Vec<String>,
        /// Tables whose rows the reply has, too: the ids for the k-th are the k-th section behind those of the variables. In the
        /// reply it is the k-th section behind those of the values, empty if the server cannot read the rows now.
        pub(crate) tables: Vec<String>,
    }
}

/// The memory of pushes, which a connection keeps from push to push.
#[derive(Default)]
pub(crate) struct PushBuffers {
    vars: Vec<Named>,
    /// The learning rates of the last push; none if they are constant, or all trainers make steps together.
    rates: Option<Scope>,
    /// While a log is replayed: the lookups of pushes whose step is not made yet, by table.
    later: Vec<(String, Vec<i64>)>,
}

/// A push, the number of its variables, and the first section that holds ids of rows.
struct ReadPush {
    push: Push,
    count: usize,
    ids_from: usize,
}

fn apply(call: &mut Call<'_>) -> Result<()> {
    let read = read_push(call)?;
    accept(call, &read)?;
    let ReadPush { push, ids_from, .. } = read;
    match call.shared.updates.mode {
        ServerMode::Sync => wait_for_step(call, push.step)?,
        ServerMode::Geo if push.more => {}
        _ => wait_for_staleness_bound(call)?,
    }
    let bytes = copy_variables(call, &push.wanted, u64::MAX)?;
    prefetch_rows(call, &push, ids_from, bytes)?;
    if call.shared.updates.mode != ServerMode::Sync {
        call.shared.snapshot_log_if_due(None);
    }
    call.reply.set(reply::VALUES, &());
    call.reply.floats = push.floats;
    call.reply.set_row_counts(call.shared.row_counts(&push.tables));
    Ok(())
}

/// Counts a push once: keeps its gradients for the step, or applies them.
fn accept(call: &mut Call<'_>, read: &ReadPush) -> Result<()> {
    match (call.shared.updates.mode, read.push.step) {
        (ServerMode::Sync, 0) => {
            Err(Error::new(Kind::Argument, "a trainer that does not wait sent to a server that does")
                .help("trainers and servers of one job must transpile with the same `sync_mode`"))
        }
        (ServerMode::Sync, step) => keep_for_step(call, step, read.count),
        _ => {
            let applied = apply_once(call, read.count, &read.push);
            // The memory is that of the frame, which the next request needs.
            call.push.vars[..read.count].iter_mut().for_each(|(_, value)| drop_elements(value));
            applied
        }
    }
}

/// Does again what a push did, with the lookups that came with it: these make rows. In synchronous training they followed the step.
fn replay(call: &mut Call<'_>) -> Result<()> {
    let read = read_push(call)?;
    accept(call, &read)?;
    if call.shared.updates.remembers_fetches() {
        copy_variables(call, &read.push.wanted, u64::MAX)?;
    }
    for (at, table) in read.push.tables.iter().enumerate() {
        call.push.later.push((table.clone(), ids_of(call.frame, read.ids_from + at)?.to_vec()));
    }
    if call.shared.state.lock().step_barrier.is_under_way() {
        return Ok(());
    }
    let lookup = Lookup { after_step: u64::MAX, read_only: false, floats: Floats::F32, tables: Vec::new() };
    let mut rows = Vec::new();
    for (table, ids) in std::mem::take(&mut call.push.later) {
        // A lookup that failed then fails now.
        let _ = call.shared.read_rows(&table, &ids, &lookup, &mut rows);
    }
    Ok(())
}

fn read_push(call: &mut Call<'_>) -> Result<ReadPush> {
    let updates = &call.shared.updates;
    let mut meta = Reader::new(call.frame.meta(), "a push");
    let push = Push::decode(&mut meta)?;
    let mut reader = ValueReader::new(call.frame, &mut meta)?;
    let vars = &mut call.push.vars;
    let mut count = 0;
    while let Some(name) = reader.next(&mut meta)? {
        if !updates.takes(name) {
            return Err(updates.unknown(name));
        }
        if count == vars.len() {
            vars.push(Named::default());
        }
        let (to, value) = &mut vars[count];
        name.clone_into(to);
        match updates.mode {
            // Kept until the step is complete.
            ServerMode::Sync => reader.value(&mut meta, value)?,
            // Applied at once, and then not needed any more.
            _ => reader.borrowed(&mut meta, value)?,
        }
        updates.check(name, value).map_err(|e| e.note(format!("sent by trainer {}", call.hello.trainer)))?;
        count += 1;
    }
    let ids_from = reader.sections_read();
    (0..push.tables.len()).try_for_each(|at| ids_of(call.frame, ids_from + at).map(drop))?;
    Ok(ReadPush { push, count, ids_from })
}

/// Lets go of memory that a value only borrows.
fn drop_elements(value: &mut Value) {
    match value {
        Value::Rows(rows) => rows.value = Tensor::new(),
        other => *other = Value::Empty,
    }
}

/// Applies the gradients of a push, unless it is a duplicate. The log has them first; a snapshot has both or neither.
fn apply_once(call: &mut Call<'_>, count: usize, push: &Push) -> Result<()> {
    let (shared, hello, id) = (call.shared, call.hello, call.frame.id());
    shared.check_active(hello)?;
    let stream = shared.stream((hello.trainer, hello.incarnation, hello.stream));
    let one_at_a_time = stream.busy.lock();
    if id <= stream.last.load(Ordering::Acquire) {
        shared.duplicates.fetch_add(1, Ordering::Relaxed);
        return Ok(());
    }
    let whole = shared.fence.read();
    call.log()?;
    let (trainer, rounded) = (call.trainer(), push.floats != Floats::F32);
    let PushBuffers { vars, rates, .. } = call.push;
    shared.updates.rates_of(&vars[..count], rates)?;
    for (name, value) in &mut vars[..count] {
        shared.updates.apply(trainer, name, value, rates.as_ref())?;
        shared.changed_rows.record(&shared.updates, (trainer, rounded), name, value);
    }
    stream.last.store(id, Ordering::Release);
    drop(whole);
    drop(one_at_a_time);
    // Only GEO pushes in parts: no other trainer gets around the staleness bound.
    if !(push.more && shared.updates.mode == ServerMode::Geo) {
        shared.pushes.fetch_add(1, Ordering::Relaxed);
        shared.state.lock().staleness.pushed(trainer);
    }
    Ok(())
}

/// Waits until a trainer that does not wait for the others is not too far ahead of them.
fn wait_for_staleness_bound(call: &Call<'_>) -> Result<()> {
    let (shared, trainer) = (call.shared, call.trainer());
    let Some(bound) = shared.updates.max_staleness else { return Ok(()) };
    let mut state = shared.state.lock();
    shared.changed.notify_all();
    let deadline = now() + shared.options.deadline;
    while let Some(slowest) = state.staleness.ahead_of(trainer, bound, |t| state.step_barrier.is_awaited(t)) {
        shared.check_going_on(&state)?;
        if shared.changed.wait_until(&mut state, deadline).timed_out() {
            let seconds = shared.options.deadline.as_secs();
            let what = format!("trainer {trainer} is {bound} steps ahead and waited {seconds} s for trainer {slowest}");
            return Err(Error::new(Kind::Timeout, what)
                .note(format!("at server {}", shared.updates.endpoint))
                .help("see what that trainer does; FLAGS_rpc_deadline (milliseconds) sets how long to wait"));
        }
    }
    Ok(())
}

/// Keeps the gradients of a push, unless it is a duplicate, and makes the step if they complete it.
fn keep_for_step(call: &mut Call<'_>, step: u64, count: usize) -> Result<()> {
    check_complete(call, count)?;
    let (shared, trainer) = (call.shared, call.trainer());
    let mut state = shared.state.lock();
    let event = Event::Push { trainer, incarnation: call.hello.incarnation, step };
    if state.failed.is_none() && state.step_barrier.accepts(event) {
        call.log()?;
    }
    let effects = shared.on_event(&mut state, event);
    call.check_refused(&effects)?;
    let counter = if effects.contains(&Effect::Accept) { &shared.pushes } else { &shared.duplicates };
    counter.fetch_add(1, Ordering::Relaxed);
    if effects.contains(&Effect::Accept) {
        call.push.vars[..count].iter_mut().for_each(|(name, value)| shared.updates.keep(trainer, name, value));
    }
    if let Some(of) = effects.iter().find_map(|e| if let Effect::Apply { of, .. } = e { Some(of) } else { None }) {
        shared.make_step(&mut state, of);
        shared.snapshot_log_if_due(Some(&mut state));
    }
    Ok(())
}

/// Waits until a step is complete.
fn wait_for_step(call: &Call<'_>, step: u64) -> Result<()> {
    let shared = call.shared;
    let mut state = shared.state.lock();
    let deadline = now() + shared.options.deadline;
    loop {
        if let Some(failed) = &state.failed {
            return Err(failed.clone());
        }
        if state.step_barrier.done() >= step {
            return Ok(());
        }
        shared.check_going_on(&state)?;
        if shared.changed.wait_until(&mut state, deadline).timed_out() {
            let awaited = state.step_barrier.awaited();
            let absent: Vec<usize> =
                awaited.iter().copied().filter(|trainer| state.step_barrier.is_expected(*trainer)).collect();
            if absent.is_empty() {
                return Err(shared.overdue(&format!("step {step}"), &awaited));
            }
            absent.into_iter().for_each(|trainer| shared.lose(&mut state, Event::Absent { trainer }));
        }
    }
}

/// A push must have every gradient that the step needs of this trainer.
fn check_complete(call: &Call<'_>, count: usize) -> Result<()> {
    let vars = &call.push.vars[..count];
    let missing = |name: &&Name| !vars.iter().any(|(n, _)| n == name.as_str());
    match call.shared.updates.expected_of(call.trainer()).find(missing) {
        None => Ok(()),
        Some(name) => {
            let what = format!("the push of trainer {} lacks `{name}`", call.hello.trainer);
            Err(Error::new(Kind::Missing, what)
                .help("trainers and servers of one job must transpile the same program in the same way"))
        }
    }
}

/// Reads the rows that the next step of the sender looks up. Rows that cannot be read now stay empty: the push is applied, and the
/// lookup itself will return the error.
fn prefetch_rows(call: &mut Call<'_>, push: &Push, ids_from: usize, mut bytes: u64) -> Result<()> {
    let (shared, frame) = (call.shared, call.frame);
    let lookup = Lookup { after_step: u64::MAX, read_only: false, floats: push.floats, tables: Vec::new() };
    let mut fits = true;
    for (at, (table, rows)) in push.tables.iter().zip(call.reply.rows(push.tables.len())).enumerate() {
        // Rows that no frame could carry are not read: tables named again and again must not fill the memory.
        let read = fits && shared.read_rows(table, ids_of(frame, ids_from + at)?, &lookup, rows).is_ok();
        bytes += 4 * rows.len() as u64;
        fits = fits && shared.check_size(bytes).is_ok();
        if !(read && fits) {
            *rows = Vec::new();
        }
    }
    Ok(())
}

impl Client {
    /// Pushes the gradients that wait for each server, and receives what is wanted from it: one exchange per server, all at
    /// once. With `barrier` the servers wait for the other trainers, and the values that arrive are the result of the whole step. The
    /// rows of `prefetch` come along.
    pub(crate) fn exchange(
        &self,
        trainer: u32,
        barrier: Option<&[String]>,
        wanted: &WantedVars,
        prefetch: &[Arc<Mutex<RowFetch>>],
    ) -> Result<()> {
        let step = self.step();
        let mut step = step.lock();
        let mut prefetch: Vec<MutexGuard<'_, RowFetch>> = prefetch.iter().map(|fetch| fetch.lock()).collect();
        let result = self.exchange_step(trainer, barrier, wanted, &mut step, &mut prefetch);
        step.clear();
        result
    }

    fn exchange_step(
        &self,
        trainer: u32,
        barrier: Option<&[String]>,
        wanted: &WantedVars,
        step: &mut Step,
        prefetch: &mut [MutexGuard<'_, RowFetch>],
    ) -> Result<()> {
        let mut _alone = None;
        let number = match barrier {
            Some(servers) => {
                _alone = Some(self.barrier.try_lock().ok_or_else(two_at_once)?);
                self.resume(trainer, servers, "")?;
                self.done() + 1
            }
            None => 0,
        };
        let mut arrived = Prefetched::default();
        let row_requests = row_requests(prefetch);
        let endpoints = endpoints(step, barrier, wanted, &row_requests);
        let outgoing =
            |endpoint: &String| step.outgoing.iter().find(|o| o.endpoint == *endpoint).map_or(&[][..], |o| o.vars());
        let floats = self.options.floats;
        let rounded: Vec<Rounded> =
            endpoints.iter().map(|e| Rounded::of(floats, outgoing(e).iter().map(|(_, value)| value))).collect();
        let (mut requests, mut asked) = (Vec::new(), Vec::new());
        for (endpoint, rounded) in endpoints.iter().zip(&rounded) {
            let of_it: Vec<&(usize, RowRequest<'_>)> =
                row_requests.iter().filter(|(_, r)| r.server == endpoint).collect();
            let tables = of_it.iter().map(|(_, r)| r.table.to_string()).collect();
            let wanted = wanted.get(endpoint).cloned().unwrap_or_default();
            let push = Push { step: number, more: step.more.contains(endpoint), floats, wanted, tables };
            let mut meta = push.to_meta();
            let mut values = ValueWriter::default();
            values.write(&mut meta, outgoing(endpoint).iter().map(|(n, v)| (n.as_str(), v)), rounded)?;
            of_it.iter().for_each(|(_, r)| values.add_section(bytemuck::cast_slice(r.ids)));
            requests.push((endpoint.as_str(), meta, values));
            asked.push(of_it);
        }
        let about = || match number {
            0 => about_names("its push of ", step.outgoing.iter().flat_map(|o| o.vars()).map(|(n, _)| n.as_str()), 0),
            _ => format!("the push of step {number}"),
        };
        let received = &mut step.received;
        let done = self.ask_all(trainer, &REQUEST, &requests, &about, |server, reply| {
            self.take_reply(reply, received, &asked[server], &mut arrived)
        });
        let exchange = self.servers_changed();
        done?;
        arrived.store(prefetch, exchange)?;
        for endpoint in endpoints.iter().filter(|endpoint| !step.more.contains(endpoint)) {
            self.peer(endpoint, trainer).count_push(number);
        }
        if number > 0 {
            self.done.store(number, Ordering::Release);
        }
        Ok(())
    }

    /// The servers hold other values than were fetched before. Returns the number of this change.
    pub(crate) fn servers_changed(&self) -> u64 {
        self.exchanges.fetch_add(1, Ordering::AcqRel) + 1
    }

    fn take_reply(
        &self,
        reply: &Incoming,
        received: &mut ReceivedVars,
        asked: &[&(usize, RowRequest<'_>)],
        arrived: &mut Prefetched,
    ) -> Result<()> {
        let (first, row_counts) = read_values(reply, received, false)?;
        for (at, (fetch, request)) in asked.iter().enumerate() {
            match reply.section(first + at).unwrap_or_default() {
                // The lookup itself will ask, and get the error.
                [] => arrived.incomplete.push(*fetch),
                _ => {
                    let row_count = row_counts.get(at).copied().unwrap_or(0);
                    let found = FoundRows::new(reply, first + at, self.options.floats, row_count)?;
                    arrived.rows.push((*fetch, request.part, found));
                }
            }
        }
        Ok(())
    }
}

/// Rows that come with an exchange, kept apart from their fetches, which say what was asked for.
#[derive(Default)]
struct Prefetched {
    /// The fetch that they are for, and the part that they came from.
    rows: Vec<(usize, usize, FoundRows)>,
    /// Fetches some of whose rows did not come.
    incomplete: Vec<usize>,
}

impl Prefetched {
    fn store(self, fetches: &mut [MutexGuard<'_, RowFetch>], exchange: u64) -> Result<()> {
        for (fetch, part, found) in self.rows {
            fetches[fetch].take(part, found)?;
        }
        let complete = fetches.iter_mut().enumerate().filter(|(at, _)| !self.incomplete.contains(at));
        complete.for_each(|(_, fetch)| fetch.came_with(exchange));
        Ok(())
    }
}

/// The rows to prefetch, each with the position of its fetch.
fn row_requests<'a>(fetches: &'a [MutexGuard<'_, RowFetch>]) -> Vec<(usize, RowRequest<'a>)> {
    fetches.iter().enumerate().flat_map(|(at, fetch)| fetch.requests().map(move |r| (at, r))).collect()
}

/// All servers that something is sent to, or asked of.
fn endpoints(
    step: &Step,
    barrier: Option<&[String]>,
    wanted: &WantedVars,
    row_requests: &[(usize, RowRequest<'_>)],
) -> Vec<String> {
    let mut endpoints: Vec<String> =
        step.outgoing.iter().filter(|o| !o.vars().is_empty()).map(|o| o.endpoint.clone()).collect();
    endpoints.extend(barrier.unwrap_or_default().iter().cloned());
    endpoints.extend(wanted.keys().cloned());
    endpoints.extend(row_requests.iter().map(|(_, request)| request.server.to_string()));
    endpoints.sort_unstable();
    endpoints.dedup();
    endpoints
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::samples::{IDS, Sample, decode_values, dense, names, rows, with_values};

    pub(super) fn samples() -> Vec<Sample> {
        let vars = [("w@GRAD".to_string(), dense()), ("emb@GRAD".to_string(), rows())];
        let push = Push { step: 5, more: true, floats: Floats::Bf16, wanted: names(), tables: vec!["emb".into()] };
        vec![with_values("push", REQUEST.kind, push.to_meta(), &vars, (&[IDS], &[]), decode_values::<Push>)]
    }

    #[test]
    fn every_server_that_is_sent_to_or_asked_is_named_once() {
        let mut step = Step::default();
        step.put("b:1", "w@GRAD", |_| Ok(())).unwrap();
        let servers = ["a:1".to_string(), "b:1".to_string()];
        let wanted = WantedVars::from([("c:1".to_string(), names())]);
        let asked = [(0, RowRequest { part: 0, server: "b:1", table: "emb", ids: &[] })];
        assert_eq!(endpoints(&step, Some(&servers), &wanted, &asked), ["a:1", "b:1", "c:1"]);
    }
}
