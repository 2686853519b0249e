//! One connection of a server: reads requests, serves them, replies.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use oarlock_ir::{Error, Kind, Result};
use oarlock_tensor::Value;

use super::round::{Effect, Event};
use super::{ServerMode, Shared};
use crate::message::{
    Hello, Leave, Lookup, Named, Pull, Purpose, Push, Trade, ValueReader, ValueWriter, Welcome, encode_failure, kind,
};
use crate::wire::codec::{Reader, Writer};
use crate::wire::{Conn, Incoming, Outgoing, Received, now};

/// How often a silent connection looks whether the server stops.
const LOOK_UP: Duration = Duration::from_millis(200);

/// How long a reply may take to be sent.
const SEND_PATIENCE: Duration = Duration::from_secs(60);

pub(super) struct Session {
    shared: Arc<Shared>,
    conn: Conn,
    request: Incoming,
    /// What a push brought; keeps its memory from push to push.
    brought: Vec<Named>,
    /// What a reply brings.
    values: Vec<Named>,
    rows: Vec<f32>,
}

impl Session {
    pub(super) fn new(shared: Arc<Shared>, conn: Conn) -> Session {
        Session { shared, conn, request: Incoming::new(), brought: Vec::new(), values: Vec::new(), rows: Vec::new() }
    }

    /// Serves until the connection closes or the server stops.
    pub(super) fn run(mut self) {
        match self.greet() {
            Ok(Some(hello)) => {
                self.serve(&hello);
                if hello.purpose == Purpose::Life {
                    self.shared.closed(hello.trainer, hello.incarnation);
                }
            }
            Ok(None) => {}
            Err(e) => {
                let peer = self.conn.peer().to_string();
                self.shared.options.log.line(format!("warning: {peer} was turned away: {}", e.report().what));
                // A stranger may not even listen.
                let _ = self.fail(0, &e);
            }
        }
    }

    /// Reads who connects. `None` if the connection closes before it says so.
    fn greet(&mut self) -> Result<Option<Hello>> {
        match self.conn.recv(&mut self.request, now() + GREETING)? {
            Received::Frame => {}
            Received::Closed => return Ok(None),
            Received::TimedOut => return Err(Error::new(Kind::Timeout, "it connected and said nothing")),
        }
        if self.request.kind() != kind::HELLO {
            return Err(Error::new(Kind::Format, format!("it began with a frame of kind {}", self.request.kind())));
        }
        let hello = Hello::decode(&mut Reader::new(self.request.meta(), "a message"))?;
        let options = &self.shared.options;
        hello.check(&options.fingerprint, &self.shared.updates.endpoint)?;
        let welcome = self.join(&hello)?;
        let mut meta = Writer::new();
        welcome.encode(&mut meta);
        self.send(kind::WELCOME, 0, meta.as_bytes(), &[])?;
        Ok(Some(hello))
    }

    fn join(&self, hello: &Hello) -> Result<Welcome> {
        let (trainer, incarnation) = (hello.trainer as usize, hello.incarnation);
        let mut state = self.shared.state.lock();
        if hello.purpose != Purpose::Look {
            let effects = self.shared.note(&mut state, Event::Join { trainer, incarnation });
            refused(&effects, hello)?;
            state.seen[trainer] = Some((incarnation, now()));
        }
        let served = self.shared.served.lock().get(&stream(hello)).copied().unwrap_or(0);
        Ok(Welcome {
            trainers: self.shared.updates.trainers as u32,
            done: state.round.done(),
            pushed: state.round.pushed(trainer),
            served,
        })
    }

    fn serve(&mut self, hello: &Hello) {
        while !self.shared.stop.load(Ordering::Acquire) {
            match self.conn.recv(&mut self.request, now() + LOOK_UP) {
                Ok(Received::TimedOut) => continue,
                Ok(Received::Closed) => return,
                Ok(Received::Frame) => {}
                Err(e) => {
                    self.shared.options.log.line(format!("warning: {e}"));
                    return;
                }
            }
            if hello.purpose != Purpose::Look {
                self.shared.seen(hello.trainer, hello.incarnation);
            }
            let id = self.request.id();
            let sent = match self.answer(hello) {
                Ok(()) => Ok(()),
                Err(e) => self.fail(id, &e),
            };
            if sent.is_err() {
                return;
            }
        }
    }

    /// Serves the request that was read last.
    fn answer(&mut self, hello: &Hello) -> Result<()> {
        match self.request.kind() {
            kind::PING => self.send(kind::DONE, self.request.id(), &[], &[]),
            kind::PUSH if hello.purpose == Purpose::Work => self.push(hello),
            kind::PULL => self.pull(hello),
            kind::LOOKUP => self.look_up(hello),
            kind::TRADE if hello.purpose == Purpose::Work => self.trade(hello),
            kind::LEAVE => self.leave(hello),
            other => Err(Error::new(Kind::Format, format!("a server does not serve frames of kind {other}"))
                .help("trainers and servers must be of one release of Oarlock")),
        }
    }

    fn push(&mut self, hello: &Hello) -> Result<()> {
        let (push, count) = self.read_push()?;
        match (self.shared.updates.mode, push.step) {
            (ServerMode::Sync, 0) => {
                return Err(Error::new(Kind::Argument, "a trainer that does not wait sent to a server that does")
                    .help("trainers and servers of one job must transpile with the same `sync_mode`"));
            }
            (ServerMode::Sync, step) => self.push_and_wait(hello, step, count)?,
            _ => self.apply_now(hello, count)?,
        }
        self.reply_values(&push.wants, u64::MAX, hello)
    }

    /// What a push says, and how many variables it brought.
    fn read_push(&mut self) -> Result<(Push, usize)> {
        let mut meta = Reader::new(self.request.meta(), "a push");
        let push = Push::decode(&mut meta)?;
        let mut reader = ValueReader::new(&self.request, &mut meta)?;
        let mut count = 0;
        while let Some(name) = reader.next(&mut meta)? {
            if !self.shared.updates.takes(name) {
                return Err(self.shared.updates.unknown(name));
            }
            if count == self.brought.len() {
                self.brought.push(Named::default());
            }
            let (to, value) = &mut self.brought[count];
            name.clone_into(to);
            reader.value(&mut meta, value)?;
            count += 1;
        }
        Ok((push, count))
    }

    /// Applies what a push brought, unless it is a repeat.
    fn apply_now(&mut self, hello: &Hello, count: usize) -> Result<()> {
        let id = self.request.id();
        if self.shared.served.lock().get(&stream(hello)).is_some_and(|served| id <= *served) {
            self.shared.repeats.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        for (name, value) in &mut self.brought[..count] {
            self.shared.changes.note(&self.shared.updates, hello.trainer as usize, name, value);
            self.shared.updates.apply(hello.trainer as usize, name, value)?;
        }
        self.shared.served.lock().insert(stream(hello), id);
        self.shared.pushes.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Keeps what a push brought, and waits until the step is complete.
    fn push_and_wait(&mut self, hello: &Hello, step: u64, count: usize) -> Result<()> {
        self.check_complete(hello, count)?;
        let shared = self.shared.clone();
        let mut state = shared.state.lock();
        let event = Event::Push { trainer: hello.trainer as usize, incarnation: hello.incarnation, step };
        let effects = shared.note(&mut state, event);
        refused(&effects, hello)?;
        let counter = if effects.contains(&Effect::Take) { &shared.pushes } else { &shared.repeats };
        counter.fetch_add(1, Ordering::Relaxed);
        if effects.contains(&Effect::Take) {
            self.brought[..count].iter_mut().for_each(|(name, value)| shared.updates.keep(name, value));
        }
        if let Some(of) = effects.iter().find_map(|e| if let Effect::Apply { of, .. } = e { Some(of) } else { None }) {
            shared.make_step(&mut state, of);
        }
        let deadline = now() + shared.options.deadline;
        loop {
            if let Some(failed) = &state.failed {
                return Err(failed.clone());
            }
            if state.round.done() >= step {
                return Ok(());
            }
            shared.check_going_on(&state)?;
            if shared.changed.wait_until(&mut state, deadline).timed_out() {
                return Err(shared.overdue(&format!("step {step}"), &state.round.awaited()));
            }
        }
    }

    /// Every gradient that the step needs of this trainer must be there.
    fn check_complete(&self, hello: &Hello, count: usize) -> Result<()> {
        let brought = &self.brought[..count];
        let missing = |name: &&oarlock_ir::Name| !brought.iter().any(|(n, _)| n == name.as_str());
        match self.shared.updates.expected_of(hello.trainer as usize).find(missing) {
            None => Ok(()),
            Some(name) => {
                let what = format!("the push of trainer {} lacks `{name}`", hello.trainer);
                Err(Error::new(Kind::Missing, what)
                    .help("trainers and servers of one job must transpile the same program in the same way"))
            }
        }
    }

    fn pull(&mut self, hello: &Hello) -> Result<()> {
        let pull = Pull::decode(&mut Reader::new(self.request.meta(), "a message"))?;
        if pull.changed_only {
            return self.reply_changed(&pull.names, hello);
        }
        self.reply_values(&pull.names, pull.after_step, hello)
    }

    /// Sends copies of variables, so that nobody waits for a slow reader.
    fn reply_values(&mut self, names: &[String], after_step: u64, hello: &Hello) -> Result<()> {
        self.values.resize_with(names.len().max(self.values.len()), Named::default);
        for (name, (to, value)) in names.iter().zip(&mut self.values) {
            name.clone_into(to);
            self.shared.copy_after(name, after_step, value)?;
            self.shared.updates.remember(hello.trainer as usize, name, value)?;
        }
        self.send_values(names.len())
    }

    /// Sends the rows that others changed since this trainer asked last.
    fn reply_changed(&mut self, names: &[String], hello: &Hello) -> Result<()> {
        let id = self.request.id();
        self.values.resize_with(names.len().max(self.values.len()), Named::default);
        for (name, (to, value)) in names.iter().zip(&mut self.values) {
            name.clone_into(to);
            self.shared.changes.rows_for(&self.shared.updates, hello.trainer as usize, name, id, value)?;
        }
        self.send_values(names.len())
    }

    fn send_values(&mut self, count: usize) -> Result<()> {
        let mut meta = Writer::new();
        let mut values = ValueWriter::default();
        values.write(&mut meta, self.values[..count].iter().map(|(n, v)| (n.as_str(), v)))?;
        let out =
            Outgoing { kind: kind::VALUES, id: self.request.id(), meta: meta.as_bytes(), sections: values.sections() };
        self.conn.send(&out, now() + SEND_PATIENCE)
    }

    fn look_up(&mut self, _hello: &Hello) -> Result<()> {
        let lookup = Lookup::decode(&mut Reader::new(self.request.meta(), "a message"))?;
        let [table] = &lookup.tables[..] else {
            return Err(Error::new(Kind::Format, format!("a lookup in {} tables at once", lookup.tables.len())));
        };
        let ids: &[i64] = bytemuck::try_cast_slice(self.request.section(0).unwrap_or_default())
            .map_err(|_| Error::new(Kind::Format, "the ids of a lookup are cut off"))?;
        self.shared.read_rows(table, ids, &lookup, &mut self.rows)?;
        let rows: &[u8] = bytemuck::cast_slice(&self.rows);
        let out = Outgoing { kind: kind::VALUES, id: self.request.id(), meta: &[], sections: &[rows] };
        self.conn.send(&out, now() + SEND_PATIENCE)
    }

    /// Takes a trainer's parts of an exchange, waits for those of the others, and replies with what is for this one.
    fn trade(&mut self, hello: &Hello) -> Result<()> {
        let trade = Trade::decode(&mut Reader::new(self.request.meta(), "a message"))?;
        let parts = trade.parts(&self.request)?.into_iter().map(|(to, part)| (to, Arc::new(part.to_vec()))).collect();
        let shared = self.shared.clone();
        let mut state = shared.state.lock();
        state.trades.bring(hello.trainer, trade.number, parts, trade.more)?;
        shared.changed.notify_all();
        let deadline = now() + shared.options.deadline;
        let (got, more) = loop {
            if let Some(result) = state.trades.result(hello.trainer, trade.number) {
                break result;
            }
            shared.check_going_on(&state)?;
            if let Some(gone) = state.trades.awaited().find(|t| state.round.is_gone(*t)) {
                return Err(never_comes(gone, trade.number));
            }
            if shared.changed.wait_until(&mut state, deadline).timed_out() {
                let awaited: Vec<usize> = state.trades.awaited().collect();
                return Err(shared.overdue(&format!("round {} of an exchange", trade.number), &awaited));
            }
        };
        drop(state);
        let mut meta = Writer::new();
        Trade { number: trade.number, more, trainers: got.iter().map(|(from, _)| *from).collect() }.encode(&mut meta);
        let sections: Vec<&[u8]> = got.iter().map(|(_, part)| part.as_slice()).collect();
        self.send(kind::TRADE, self.request.id(), meta.as_bytes(), &sections)
    }

    fn leave(&mut self, hello: &Hello) -> Result<()> {
        Leave::decode(&mut Reader::new(self.request.meta(), "a message"))?;
        let trainer = hello.trainer as usize;
        let id = self.request.id();
        self.send(kind::DONE, id, &[], &[])?;
        let mut state = self.shared.state.lock();
        state.seen[trainer] = None;
        self.shared.note(&mut state, Event::Leave { trainer, incarnation: hello.incarnation });
        Ok(())
    }

    fn fail(&mut self, id: u64, error: &Error) -> Result<()> {
        let mut meta = Writer::new();
        encode_failure(error, &mut meta);
        self.send(kind::FAILED, id, meta.as_bytes(), &[])
    }

    fn send(&mut self, kind: u16, id: u64, meta: &[u8], sections: &[&[u8]]) -> Result<()> {
        self.conn.send(&Outgoing { kind, id, meta, sections }, now() + SEND_PATIENCE)
    }
}

/// How long a connection may take to say who it is.
const GREETING: Duration = Duration::from_secs(10);

fn stream(hello: &Hello) -> (u32, u64, u32) {
    (hello.trainer, hello.incarnation, hello.stream)
}

/// The refusal among the effects of a request, as an error.
fn refused(effects: &[Effect], hello: &Hello) -> Result<()> {
    match effects.iter().find_map(|e| if let Effect::Refuse(r) = e { Some(r) } else { None }) {
        None => Ok(()),
        Some(refusal) => Err(Error::new(Kind::Argument, format!("trainer {} is refused: {refusal}", hello.trainer))
            .help("every trainer of a job needs a number of its own (PADDLE_TRAINER_ID)")),
    }
}

#[cold]
fn never_comes(trainer: usize, number: u64) -> Error {
    Error::new(
        Kind::Network,
        format!("trainer {trainer} is gone, and round {number} of an exchange needs every trainer"),
    )
    .help("let all trainers exchange equally often, before any of them ends; see the log of that trainer")
}

impl Shared {
    /// Is there any sense in waiting?
    fn check_going_on(&self, state: &super::State) -> Result<()> {
        if let Some(failed) = &state.failed {
            return Err(failed.clone());
        }
        if self.stop.load(Ordering::Acquire) {
            return Err(Error::new(Kind::Network, "the server stops"));
        }
        Ok(())
    }

    #[cold]
    fn overdue(&self, what: &str, awaited: &[usize]) -> Error {
        let who: Vec<String> = awaited.iter().map(usize::to_string).collect();
        let seconds = self.options.deadline.as_secs();
        Error::new(Kind::Timeout, format!("{what} waited {seconds} s for trainer {}", who.join(", ")))
            .note(format!("at server {}", self.updates.endpoint))
            .help("see what that trainer does; FLAGS_rpc_deadline (milliseconds) sets how long to wait")
    }

    /// A variable as it was after so many steps.
    fn copy_after(&self, name: &str, after_step: u64, into: &mut Value) -> Result<()> {
        let done = self.state.lock().round.done();
        if after_step >= done || !self.previous.copy(name, after_step, done, into)? {
            self.copy(name, into)?;
        }
        Ok(())
    }

    /// Rows of a table.
    fn read_rows(&self, table: &str, ids: &[i64], lookup: &Lookup, into: &mut Vec<f32>) -> Result<()> {
        if self.updates.tables.has(table) {
            return self.updates.tables.read(table, ids, lookup.read_only, into);
        }
        let var = self.updates.scope.find(table).ok_or_else(|| self.no_variable(table))?;
        let value = var.read();
        let tensor = value.dense().map_err(|e| Error::new(Kind::Argument, format!("table `{table}` {e}")))?;
        let data = tensor.data::<f32>().map_err(|e| Error::new(Kind::DType, format!("table `{table}` {e}")))?;
        let (rows, width) = tensor.dims().matrix(1);
        into.clear();
        into.reserve(ids.len() * width);
        for id in ids {
            let Some(row) = usize::try_from(*id).ok().filter(|row| *row < rows) else {
                let what = format!(
                    "row {id} of `{table}` is asked of server {}, which holds {rows} rows",
                    self.updates.endpoint
                );
                return Err(
                    Error::new(Kind::Range, what).help("trainers and servers must agree on the size of the table")
                );
            };
            into.extend_from_slice(&data[row * width..][..width]);
        }
        let done = self.state.lock().round.done();
        self.previous.overlay_rows(table, ids, lookup.after_step, done, width, into);
        Ok(())
    }
}
