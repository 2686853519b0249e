//! One connection of a server: reads requests, serves them, replies.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use oarlock_exec::Scope;
use oarlock_ir::{Error, Kind, Result};
use oarlock_tensor::{Tensor, Value, simd};

use super::meeting::{Brought, Meetings, Part};
use super::round::{Effect, Event, Refusal};
use super::{ServerMode, Shared, Stream};
use crate::message::{
    Awaited, ComeBack, Cut, Hello, Leave, Lookup, Meet, Met, Named, Notes, Pause, Paused, Pull, Purpose, Push, Resume,
    Resumed, Rounded, RowsOf, SaveTable, Shrink, Trade, ValueReader, ValueWriter, Welcome, damaged, encode_failure,
    encode_held, kind,
};
use oarlock_net::codec::{Reader, Writer};
use oarlock_net::{Conn, Floats, Incoming, Outgoing, READS, Received, now};

/// How often a silent connection looks whether the server stops.
const LOOK_UP: Duration = Duration::from_millis(200);

/// How long a reply may take to be sent.
const SEND_PATIENCE: Duration = Duration::from_secs(60);

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The other end closed it, or this server stops.
    Closed,
    /// Nothing reaches the other end any more.
    Broken,
}

pub(super) struct Session {
    shared: Arc<Shared>,
    conn: Conn,
    /// Set when the peer has said who it is.
    known: Arc<AtomicBool>,
    request: Incoming,
    /// What a push brought; keeps its memory from push to push.
    brought: Vec<Named>,
    /// What a reply brings.
    values: Vec<Named>,
    /// Rows that a reply brings, table by table.
    rows: Vec<Vec<f32>>,
    /// How many rows each of these tables has here, if it is one by id: trainers, who know all servers, see whether that is too many.
    held: Vec<u64>,
    /// The learning rates of the last push; none if they are constant, or all trainers make steps together.
    rates: Option<Scope>,
}

impl Session {
    pub(super) fn new(shared: Arc<Shared>, conn: Conn, known: Arc<AtomicBool>) -> Session {
        Session {
            shared,
            conn,
            known,
            request: Incoming::new(),
            brought: Vec::new(),
            values: Vec::new(),
            rows: Vec::new(),
            held: Vec::new(),
            rates: None,
        }
    }

    /// Serves until the connection closes or the server stops.
    pub(super) fn run(mut self) {
        match self.greet() {
            Ok(Some(hello)) => {
                self.known.store(true, Ordering::Release);
                if hello.purpose == Purpose::Life
                    && let Err(e) = self.conn.watch_closely()
                {
                    let peer = self.conn.peer().to_string();
                    self.shared.options.log.line(format!("warning: the loss of {peer} would be noticed late: {e}"));
                }
                let end = self.serve(&hello);
                if hello.purpose != Purpose::Look {
                    self.shared.closed(&hello, end);
                }
            }
            Ok(None) => {}
            Err(e) => {
                self.shared.strangers.turned_away(self.conn.peer(), &e.report().what, now());
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
        if hello.purpose != Purpose::Look && self.conn.hello()? == READS {
            return Err(Error::new(Kind::Format, "it said that it only reads, and then that it trains"));
        }
        let options = &self.shared.options;
        hello.check(&options.fingerprint, &self.shared.updates.endpoint)?;
        let welcome = self.join(&hello)?;
        let mut meta = Writer::new();
        welcome.encode(&mut meta);
        if let Err(e) = self.send(kind::WELCOME, 0, meta.as_bytes(), &[]) {
            if hello.purpose != Purpose::Look {
                self.shared.closed(&hello, End::Broken);
            }
            return Err(e);
        }
        Ok(Some(hello))
    }

    fn join(&self, hello: &Hello) -> Result<Welcome> {
        let (trainer, incarnation) = (hello.trainer as usize, hello.incarnation);
        let mut state = self.shared.state.lock();
        if hello.purpose != Purpose::Look {
            // One that left and did not hear that it may leaves again: it is welcome, and takes part in nothing.
            if !state.round.has_left(trainer, incarnation) {
                let effects = self.shared.note(&mut state, Event::Join { trainer, incarnation });
                refused(&effects, hello)?;
                state.seen[trainer] = Some((incarnation, now()));
            }
            *state.connections.entry((hello.trainer, incarnation)).or_default() += 1;
        }
        let mut back = state.round.is_back(trainer);
        if back && self.shared.updates.mode != ServerMode::Sync {
            // Where nobody waits, it takes part at once.
            let from = state.round.done() + 1;
            self.shared.note(&mut state, Event::Return { trainer, incarnation, from, pauses: 0 });
            let state = &mut *state;
            state.pace.came_back(trainer, |t| state.round.is_awaited(t));
            back = false;
        }
        Ok(Welcome { pushed: state.round.pushed(trainer), back })
    }

    fn serve(&mut self, hello: &Hello) -> End {
        while !self.shared.stop.load(Ordering::Acquire) {
            match self.conn.recv(&mut self.request, now() + LOOK_UP) {
                Ok(Received::TimedOut) => continue,
                Ok(Received::Closed) => return End::Closed,
                Ok(Received::Frame) => {}
                Err(e) => {
                    self.shared.options.log.line(format!("warning: {e}"));
                    return End::Broken;
                }
            }
            if hello.purpose != Purpose::Look {
                self.shared.seen(hello.trainer, hello.incarnation);
            }
            let id = self.request.id();
            let answered = match (self.shared.profile.clone(), kind::name(self.request.kind())) {
                (Some(profile), Some(name)) => profile.time(name, || self.answer(hello)),
                _ => self.answer(hello),
            };
            let sent = match answered {
                Ok(()) => Ok(()),
                Err(e) => self.fail(id, &e),
            };
            if sent.is_err() {
                return End::Broken;
            }
        }
        End::Closed
    }

    /// Serves the request that was read last.
    fn answer(&mut self, hello: &Hello) -> Result<()> {
        match self.request.kind() {
            kind::PING => self.send(kind::DONE, self.request.id(), &[], &[]),
            kind::PUSH if hello.purpose == Purpose::Work => self.push(hello),
            kind::PULL => self.pull(hello),
            kind::LOOKUP => self.look_up(hello),
            kind::TABLES => self.tables(),
            kind::ROWS => self.rows(),
            kind::MEET if hello.purpose == Purpose::Work => self.meet(hello),
            kind::CUT if hello.purpose == Purpose::Work => self.cut(hello),
            kind::SAVE_TABLE if hello.purpose == Purpose::Work => self.save_table(hello),
            kind::NOTE if hello.purpose == Purpose::Work => self.note(hello),
            kind::COME_BACK if hello.purpose == Purpose::Work => self.come_back(hello),
            kind::PAUSE if hello.purpose == Purpose::Work => self.pause(hello),
            kind::RESUME if hello.purpose == Purpose::Work => self.resume(hello),
            kind::SHRINK if hello.purpose == Purpose::Work => self.shrink(hello),
            kind::TRADE if hello.purpose == Purpose::Work => self.trade(hello),
            kind::LEAVE if hello.purpose == Purpose::Work => self.leave(hello),
            other => Err(Error::new(Kind::Format, format!("a server does not serve frames of kind {other}"))
                .help("trainers and servers must be of one release of Oarlock")),
        }
    }

    fn push(&mut self, hello: &Hello) -> Result<()> {
        let (push, count, ids_from) = self.read_push(hello)?;
        match (self.shared.updates.mode, push.step) {
            (ServerMode::Sync, 0) => {
                return Err(Error::new(Kind::Argument, "a trainer that does not wait sent to a server that does")
                    .help("trainers and servers of one job must transpile with the same `sync_mode`"));
            }
            (ServerMode::Sync, step) => self.push_and_wait(hello, step, count)?,
            _ => {
                let applied = self.apply_now(hello, count, &push);
                // The memory is the request's, which the next one needs.
                self.brought[..count].iter_mut().for_each(|(_, value)| drop_elements(value));
                applied?;
            }
        }
        let bytes = self.copy_values(&push.wants, u64::MAX, hello)?;
        self.read_ahead(&push, ids_from, bytes)?;
        self.send_values(push.wants.len(), push.floats)
    }

    /// Reads the rows that the next step of whoever pushed looks up. What cannot be given now stays empty: the push is applied, and
    /// the lookup itself will say what is wrong.
    fn read_ahead(&mut self, push: &Push, ids_from: usize, mut bytes: u64) -> Result<()> {
        let lookup = Lookup { after_step: u64::MAX, read_only: false, floats: push.floats, tables: Vec::new() };
        self.rows.resize_with(push.tables.len(), Vec::new);
        let mut fits = true;
        for (at, (table, rows)) in push.tables.iter().zip(&mut self.rows).enumerate() {
            // Nothing is read that no frame could carry: tables named again and again must not fill the memory.
            let read =
                fits && self.shared.read_rows(table, ids_of(&self.request, ids_from + at)?, &lookup, rows).is_ok();
            bytes += 4 * rows.len() as u64;
            fits = fits && self.shared.check_size(bytes).is_ok();
            if !(read && fits) {
                *rows = Vec::new();
            }
        }
        self.note_held(&push.tables);
        Ok(())
    }

    fn note_held(&mut self, tables: &[String]) {
        self.held.clear();
        self.held.extend(tables.iter().map(|table| self.shared.updates.tables.rows(table).unwrap_or(0)));
    }

    fn bring_no_rows(&mut self) {
        self.rows.clear();
        self.held.clear();
    }

    /// What a push says, how many variables it brought, and the first section that holds ids of rows.
    fn read_push(&mut self, hello: &Hello) -> Result<(Push, usize, usize)> {
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
            match self.shared.updates.mode {
                // Kept until the step is complete.
                ServerMode::Sync => reader.value(&mut meta, value)?,
                // Applied at once, and then not needed any more.
                _ => reader.lent(&mut meta, value)?,
            }
            self.shared.updates.check(name, value).map_err(|e| e.note(format!("sent by trainer {}", hello.trainer)))?;
            count += 1;
        }
        let ids_from = reader.sections_read();
        (0..push.tables.len()).try_for_each(|at| ids_of(&self.request, ids_from + at).map(drop))?;
        Ok((push, count, ids_from))
    }

    /// Applies what a push brought, unless it is a repeat.
    fn apply_now(&mut self, hello: &Hello, count: usize, push: &Push) -> Result<()> {
        self.shared.check_here(hello)?;
        let stream = self.shared.applied.lock().entry(stream(hello)).or_default().clone();
        let mut applied = stream.lock();
        let id = self.request.id();
        if id <= *applied {
            self.shared.repeats.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        let whole = self.shared.fence.read();
        let (trainer, rounded) = (hello.trainer as usize, push.floats != Floats::F32);
        self.shared.updates.rates_of(&self.brought[..count], &mut self.rates)?;
        for (name, value) in &mut self.brought[..count] {
            self.shared.updates.apply(trainer, name, value, self.rates.as_ref())?;
            self.shared.changes.note(&self.shared.updates, (trainer, rounded), name, value);
        }
        *applied = id;
        drop(whole);
        drop(applied);
        // Only GEO pushes in pieces: nobody else gets around the bound on how far it may be ahead.
        if push.more && self.shared.updates.mode == ServerMode::Geo {
            return Ok(());
        }
        self.shared.pushes.fetch_add(1, Ordering::Relaxed);
        self.shared.keep_pace(hello)
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
            let trainer = hello.trainer as usize;
            self.brought[..count].iter_mut().for_each(|(name, value)| shared.updates.keep(trainer, name, value));
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
                let awaited = state.round.awaited();
                let never_came: Vec<usize> =
                    awaited.iter().copied().filter(|trainer| state.round.is_expected(*trainer)).collect();
                if never_came.is_empty() {
                    return Err(shared.overdue(&format!("step {step}"), &awaited));
                }
                never_came.into_iter().for_each(|trainer| drop(shared.note(&mut state, Event::Absent { trainer })));
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
        if let Some(bytes) = pull.changed_only {
            return self.reply_changed(&pull.names, bytes, hello);
        }
        self.reply_values(&pull.names, pull.after_step, Floats::F32, hello)
    }

    /// Sends copies of variables.
    fn reply_values(&mut self, names: &[String], after_step: u64, floats: Floats, hello: &Hello) -> Result<()> {
        self.copy_values(names, after_step, hello)?;
        self.bring_no_rows();
        self.send_values(names.len(), floats)
    }

    /// Copies variables for a reply, so that nobody waits for a slow reader; returns how many bytes they are.
    fn copy_values(&mut self, names: &[String], after_step: u64, hello: &Hello) -> Result<u64> {
        self.values.resize_with(names.len().max(self.values.len()), Named::default);
        let mut bytes = 0;
        for (name, (to, value)) in names.iter().zip(&mut self.values) {
            name.clone_into(to);
            self.shared.copy_after(name, after_step, value)?;
            bytes += size(value);
            self.shared.check_size(bytes)?;
            if hello.purpose == Purpose::Work {
                self.shared.updates.remember(hello.trainer as usize, name, value)?;
            }
        }
        if !names.is_empty() {
            self.shared.note_fetch(hello, false);
        }
        Ok(bytes)
    }

    /// Sends rows that others changed since this trainer asked last, of each table as many as fit into so many bytes.
    fn reply_changed(&mut self, names: &[String], bytes: u64, hello: &Hello) -> Result<()> {
        self.shared.check_here(hello)?;
        let who = (hello.trainer as usize, self.request.id());
        let most = self.shared.options.net.max_frame / (2 * names.len().max(1) as u64);
        self.values.resize_with(names.len().max(self.values.len()), Named::default);
        let mut gathered = 0;
        for (name, (to, value)) in names.iter().zip(&mut self.values) {
            name.clone_into(to);
            self.shared.changes.rows_for(&self.shared.updates, who, name, bytes.min(most), value)?;
            gathered += size(value);
            // Every name brings a row at least: a long list of them must not fill the memory.
            self.shared.check_size(gathered)?;
        }
        self.bring_no_rows();
        self.send_values(names.len(), Floats::F32)
    }

    /// Sends the first values, and rows behind them.
    fn send_values(&mut self, count: usize, floats: Floats) -> Result<()> {
        let mut rooms: Vec<Vec<u16>> = vec![Vec::new(); self.rows.len()];
        let rounded = Rounded::of(floats, self.values[..count].iter().map(|(_, value)| value));
        let mut meta = Writer::new();
        let mut values = ValueWriter::default();
        values.write(&mut meta, self.values[..count].iter().map(|(n, v)| (n.as_str(), v)), &rounded)?;
        encode_held(&self.held, &mut meta);
        for (rows, room) in self.rows.iter().zip(&mut rooms) {
            values.add_section(floats.encode(rows, room));
        }
        let out =
            Outgoing { kind: kind::VALUES, id: self.request.id(), meta: meta.as_bytes(), sections: values.sections() };
        self.conn.send(&out, now() + SEND_PATIENCE)
    }

    /// Sends rows of tables.
    fn look_up(&mut self, hello: &Hello) -> Result<()> {
        self.shared.lookups.fetch_add(1, Ordering::Relaxed);
        let lookup = Lookup::decode(&mut Reader::new(self.request.meta(), "a message"))?;
        self.rows.resize_with(lookup.tables.len(), Vec::new);
        let mut bytes = 0;
        for (at, (table, rows)) in lookup.tables.iter().zip(&mut self.rows).enumerate() {
            self.shared.read_rows(table, ids_of(&self.request, at)?, &lookup, rows)?;
            bytes += 4 * rows.len() as u64;
            self.shared.check_size(bytes)?;
        }
        self.shared.note_fetch(hello, true);
        self.note_held(&lookup.tables);
        let mut meta = Writer::new();
        encode_held(&self.held, &mut meta);
        let mut rooms: Vec<Vec<u16>> = vec![Vec::new(); self.rows.len()];
        let rows: Vec<&[u8]> =
            self.rows.iter().zip(&mut rooms).map(|(rows, room)| lookup.floats.encode(rows, room)).collect();
        let out = Outgoing { kind: kind::VALUES, id: self.request.id(), meta: meta.as_bytes(), sections: &rows };
        self.conn.send(&out, now() + SEND_PATIENCE)
    }

    /// Sends rows of a table, some shards of it.
    fn rows(&mut self) -> Result<()> {
        let asked = RowsOf::decode(&mut Reader::new(self.request.meta(), "a message"))?;
        let mut rows = Value::Empty;
        // Whatever is asked for, no more is copied than a frame can carry: anybody who may read could fill the memory otherwise.
        let enough = asked.enough.min(self.shared.options.net.max_frame / 2);
        let next = self.shared.updates.tables.copy_from(&asked.name, asked.from as usize, enough, &mut rows)?;
        self.shared.check_size(size(&rows))?;
        let mut meta = Writer::new();
        meta.u32(next as u32);
        let mut values = ValueWriter::default();
        let rounded = Rounded::of(Floats::F32, std::iter::once(&rows));
        values.write(&mut meta, std::iter::once((asked.name.as_str(), &rows)), &rounded)?;
        let out =
            Outgoing { kind: kind::ROWS, id: self.request.id(), meta: meta.as_bytes(), sections: values.sections() };
        self.conn.send(&out, now() + SEND_PATIENCE)
    }

    /// Says what can be asked for rows of.
    fn tables(&mut self) -> Result<()> {
        let mut meta = Writer::new();
        self.shared.updates.served().encode(&mut meta);
        self.send(kind::TABLES, self.request.id(), meta.as_bytes(), &[])
    }

    /// Saves what this server keeps, or says whether it has.
    fn cut(&mut self, hello: &Hello) -> Result<()> {
        self.shared.check_here(hello)?;
        self.check_may_write()?;
        let cut = Cut::decode(&mut Reader::new(self.request.meta(), "a checkpoint"))?;
        let id = self.request.id();
        if self.shared.cut(&cut)? {
            return self.send(kind::DONE, id, &[], &[]);
        }
        let mut meta = Writer::new();
        Awaited { trainers: Vec::new() }.encode(&mut meta);
        self.send(kind::AWAITED, id, meta.as_bytes(), &[])
    }

    /// A trainer names the folder that a server writes into. Nobody on another machine may who has not proved to belong to the job.
    fn check_may_write(&self) -> Result<()> {
        let near = self.conn.peer().parse::<SocketAddr>().is_ok_and(|peer| peer.ip().to_canonical().is_loopback());
        if near || self.shared.options.net.token.is_some() || self.shared.options.net.tls.is_some() {
            return Ok(());
        }
        let what = format!("{} asks server {} to write files", self.conn.peer(), self.shared.updates.endpoint);
        Err(Error::new(Kind::Argument, format!("{what}, and this job has no token"))
            .help("set OARLOCK_TOKEN to the same secret in all processes of the job"))
    }

    /// Saves the rows of one table.
    fn save_table(&mut self, hello: &Hello) -> Result<()> {
        self.shared.check_here(hello)?;
        self.check_may_write()?;
        let save = SaveTable::decode(&mut Reader::new(self.request.meta(), "a save"))?;
        self.shared.save_table(&save)?;
        self.send(kind::DONE, self.request.id(), &[], &[])
    }

    /// A trainer that came back says from when on it takes part, or waits until it can.
    fn come_back(&mut self, hello: &Hello) -> Result<()> {
        self.shared.check_here(hello)?;
        let mut back = ComeBack::decode(&mut Reader::new(self.request.meta(), "a message"))?;
        let (trainer, incarnation, from) = (hello.trainer as usize, hello.incarnation, back.from);
        let shared = self.shared.clone();
        let mut state = shared.state.lock();
        if from > 0 {
            let effects = shared.note(&mut state, Event::Return { trainer, incarnation, from, pauses: back.pauses });
            back.from = if refused(&effects, hello).is_ok() { from } else { 0 };
        }
        let until = now() + MEET_PATIENCE;
        while back.wait && back.from > 0 && state.round.done() + 1 < from && !state.round.is_idle() {
            shared.check_going_on(&state)?;
            if shared.changed.wait_until(&mut state, until).timed_out() {
                break;
            }
        }
        (back.done, back.idle) = (state.round.done(), state.round.is_idle());
        drop(state);
        let mut meta = Writer::new();
        back.encode(&mut meta);
        self.send(kind::COME_BACK, self.request.id(), meta.as_bytes(), &[])
    }

    /// Takes stale rows away.
    fn shrink(&mut self, hello: &Hello) -> Result<()> {
        self.shared.check_here(hello)?;
        let mut shrink = Shrink::decode(&mut Reader::new(self.request.meta(), "a message"))?;
        let call = (hello.trainer, hello.incarnation, shrink.number);
        shrink.gone = self.shared.last_shrink.once(call, || self.shared.updates.tables.shrink(shrink.stale));
        let mut meta = Writer::new();
        shrink.encode(&mut meta);
        self.send(kind::SHRINK, self.request.id(), meta.as_bytes(), &[])
    }

    /// Keeps where a trainer stands; replies with what all said.
    fn note(&mut self, hello: &Hello) -> Result<()> {
        self.shared.check_here(hello)?;
        let note = self.request.section(0).unwrap_or_default().to_vec();
        let notes = {
            let mut state = self.shared.state.lock();
            state.notes.insert(hello.trainer, note);
            state.notes.clone()
        };
        let mut meta = Writer::new();
        Notes { trainers: notes.keys().copied().collect() }.encode(&mut meta);
        let sections: Vec<&[u8]> = notes.values().map(Vec::as_slice).collect();
        self.send(kind::NOTE, self.request.id(), meta.as_bytes(), &sections)
    }

    /// A trainer meets the others. Waits a while for those who are missing, then says who they are.
    fn meet(&mut self, hello: &Hello) -> Result<()> {
        self.shared.check_here(hello)?;
        let mut meta = Reader::new(self.request.meta(), "a meeting");
        let meet = Meet::decode(&mut meta)?;
        let mut reader = ValueReader::new(&self.request, &mut meta)?;
        let mut value = Value::Empty;
        if reader.next(&mut meta)?.is_none() {
            return Err(Error::new(Kind::Format, "a trainer came to a meeting with nothing"));
        }
        reader.value(&mut meta, &mut value)?;
        let value = match value {
            Value::Dense(tensor) => tensor,
            other => return Err(Error::new(Kind::Format, format!("a meeting is no place for {}", other.kind()))),
        };
        match self.shared.gather(hello, &meet, value)? {
            Ok(brought) => self.send_met(&brought),
            Err(missing) => {
                let mut meta = Writer::new();
                Awaited { trainers: missing.iter().map(|t| *t as u32).collect() }.encode(&mut meta);
                self.send(kind::AWAITED, self.request.id(), meta.as_bytes(), &[])
            }
        }
    }

    /// Sends what all brought to a meeting.
    fn send_met(&mut self, brought: &Brought) -> Result<()> {
        let (parts, done) = &**brought;
        let pause = |(trainer, part): (&usize, &Part)| {
            let paused = Paused { trainer: *trainer as u32, incarnation: part.incarnation, number: part.pause };
            (part.pause > 0).then_some(paused)
        };
        let mut meta = Writer::new();
        Met { done: *done, paused: parts.iter().filter_map(pause).collect() }.encode(&mut meta);
        let named = |(trainer, part): (&usize, &Part)| (trainer.to_string(), Value::Dense(part.value.clone()));
        let all: Vec<Named> = parts.iter().map(named).collect();
        self.shared.check_size(all.iter().map(|(_, value)| size(value)).sum())?;
        let mut values = ValueWriter::default();
        let rounded = Rounded::of(Floats::F32, all.iter().map(|(_, value)| value));
        values.write(&mut meta, all.iter().map(|(name, value)| (name.as_str(), value)), &rounded)?;
        self.send(kind::MEET, self.request.id(), meta.as_bytes(), values.sections())
    }

    /// A trainer is about to wait for the others elsewhere: no step waits for it meanwhile.
    fn pause(&mut self, hello: &Hello) -> Result<()> {
        self.shared.check_here(hello)?;
        let Pause { number } = Pause::decode(&mut Reader::new(self.request.meta(), "a message"))?;
        let event = Event::Pause { trainer: hello.trainer as usize, incarnation: hello.incarnation, number };
        let effects = self.shared.note(&mut self.shared.state.lock(), event);
        refused(&effects, hello)?;
        self.send_resumed(true)
    }

    /// What trainers waited for is there: all of them take part again.
    fn resume(&mut self, hello: &Hello) -> Result<()> {
        self.shared.check_here(hello)?;
        let resume = Resume::decode(&mut Reader::new(self.request.meta(), "a message"))?;
        let taken = {
            let mut state = self.shared.state.lock();
            // Where nobody waits for the end of a step, steps are not counted.
            let from = if self.shared.updates.mode == ServerMode::Sync { resume.from } else { state.round.done() + 1 };
            let mut resumed = Vec::new();
            for Paused { trainer, incarnation, number } in resume.of {
                let trainer = trainer as usize;
                let before = state.round.is_awaited(trainer);
                self.shared.note(&mut state, Event::Resume { trainer, incarnation, number, from });
                if !before && state.round.is_awaited(trainer) {
                    resumed.push(trainer);
                }
            }
            state.pace.level(&resumed);
            !state.round.is_back(hello.trainer as usize)
        };
        self.send_resumed(taken)
    }

    fn send_resumed(&mut self, taken: bool) -> Result<()> {
        let mut meta = Writer::new();
        Resumed { taken }.encode(&mut meta);
        self.send(kind::RESUME, self.request.id(), meta.as_bytes(), &[])
    }

    /// Takes a trainer's parts of an exchange, waits for those of the others, and replies with what is for this one.
    fn trade(&mut self, hello: &Hello) -> Result<()> {
        self.shared.check_here(hello)?;
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
        let (trainer, incarnation) = (hello.trainer as usize, hello.incarnation);
        let id = self.request.id();
        self.send(kind::DONE, id, &[], &[])?;
        let mut state = self.shared.state.lock();
        if state.round.stranger(trainer, incarnation).is_none() {
            state.seen[trainer] = None;
            self.shared.applied.lock().retain(|of, _| (of.0, of.1) != (hello.trainer, incarnation));
            self.shared.note(&mut state, Event::Leave { trainer, incarnation });
        }
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

/// How long a meeting waits before it tells a trainer who is missing.
const MEET_PATIENCE: Duration = Duration::from_secs(3);

/// How long a connection may take to say who it is.
const GREETING: Duration = Duration::from_secs(10);

fn stream(hello: &Hello) -> Stream {
    (hello.trainer, hello.incarnation, hello.stream)
}

/// The ids of rows in a section of a request.
fn ids_of(request: &Incoming, section: usize) -> Result<&[i64]> {
    let bytes = request.section(section).ok_or_else(|| damaged("the ids of a lookup are missing"))?;
    bytemuck::try_cast_slice(bytes).map_err(|_| damaged("the ids of a lookup are cut off"))
}

/// The bytes of a value, as far as they matter for the size of a frame.
fn size(value: &Value) -> u64 {
    match value {
        Value::Rows(rows) => (rows.value.bytes().len() + 8 * rows.rows.len()) as u64,
        other => other.dense().map_or(0, |tensor| tensor.bytes().len() as u64),
    }
}

/// Lets go of memory that a value only reads.
fn drop_elements(value: &mut Value) {
    match value {
        Value::Rows(rows) => rows.value = Tensor::new(),
        other => *other = Value::Empty,
    }
}

/// The refusal among the effects of a request, as an error.
fn refused(effects: &[Effect], hello: &Hello) -> Result<()> {
    match effects.iter().find_map(|e| if let Effect::Refuse(r) = e { Some(r) } else { None }) {
        None => Ok(()),
        Some(refusal) => Err(refusal_error(*refusal, hello)),
    }
}

#[cold]
fn refusal_error(refusal: Refusal, hello: &Hello) -> Error {
    Error::new(Kind::Argument, format!("trainer {} is refused: {refusal}", hello.trainer))
        .help("every trainer of a job needs a number of its own (PADDLE_TRAINER_ID)")
}

#[cold]
fn never_comes(trainer: usize, number: u64) -> Error {
    Error::new(
        Kind::Network,
        format!("trainer {trainer} is gone, and round {number} of an exchange needs every trainer"),
    )
    .help("let all trainers exchange equally often, before any of them ends; see the log of that trainer")
}

impl super::State {
    /// The meetings of a step, or the others.
    fn meetings(&mut self, in_step: bool) -> &mut Meetings {
        if in_step { &mut self.in_step } else { &mut self.meetings }
    }

    /// Who has not come to the meeting that is gathering.
    fn missing(&self, in_step: bool, of: usize) -> Vec<usize> {
        let is_here = |t: usize, incarnation: u64| self.round.stranger(t, incarnation).is_none();
        match in_step {
            true => self.in_step.missing(|t| self.round.is_awaited(t), is_here, of),
            false => self.meetings.missing(|t| self.round.is_awaited_at_barrier(t), is_here, of),
        }
    }
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

    /// A process that was lost, left or was replaced changes nothing any more; nor does anybody once the job has failed.
    fn check_here(&self, hello: &Hello) -> Result<()> {
        if hello.purpose == Purpose::Look {
            return Err(Error::new(Kind::Argument, "who only looks has no place among the trainers"));
        }
        let state = self.state.lock();
        if let Some(failed) = &state.failed {
            return Err(failed.clone());
        }
        match state.round.stranger(hello.trainer as usize, hello.incarnation) {
            None => Ok(()),
            Some(refusal) => Err(refusal_error(refusal, hello)),
        }
    }

    /// Counts the push of a trainer that does not wait for the others; waits until it is not too far ahead of them.
    fn keep_pace(&self, hello: &Hello) -> Result<()> {
        let trainer = hello.trainer as usize;
        let mut state = self.state.lock();
        state.pace.pushed(trainer);
        let Some(bound) = self.updates.max_staleness else { return Ok(()) };
        self.changed.notify_all();
        let deadline = now() + self.options.deadline;
        while let Some(slowest) = state.pace.ahead_of(trainer, bound, |t| state.round.is_awaited(t)) {
            self.check_going_on(&state)?;
            if self.changed.wait_until(&mut state, deadline).timed_out() {
                let seconds = self.options.deadline.as_secs();
                let what =
                    format!("trainer {trainer} is {bound} steps ahead and waited {seconds} s for trainer {slowest}");
                return Err(Error::new(Kind::Timeout, what)
                    .note(format!("at server {}", self.updates.endpoint))
                    .help("see what that trainer does; FLAGS_rpc_deadline (milliseconds) sets how long to wait"));
            }
        }
        Ok(())
    }

    /// A trainer got parameters: its next gradients come from these.
    fn note_fetch(&self, hello: &Hello, only_rows: bool) {
        if self.updates.mode != ServerMode::Sync && hello.purpose == Purpose::Work {
            self.state.lock().pace.fetched(hello.trainer as usize, only_rows);
        }
    }

    /// What all brought to a meeting, or who is missing.
    fn gather(&self, hello: &Hello, meet: &Meet, value: Tensor) -> Result<std::result::Result<Brought, Vec<usize>>> {
        let (trainer, number) = (hello.trainer as usize, ((hello.incarnation, meet.number), meet.step));
        let in_step = meet.step > 0;
        let part =
            Part { incarnation: hello.incarnation, number: meet.number, step: meet.step, pause: meet.pause, value };
        let mut guard = self.state.lock();
        if let Err(error) = guard.meetings(in_step).come(trainer, &meet.purpose, part) {
            self.changed.notify_all();
            return Err(error);
        }
        let until = now() + MEET_PATIENCE;
        loop {
            let state = &mut *guard;
            if let Some(failed) = &state.failed {
                return Err(failed.clone());
            }
            if let Some(error) = state.meetings(in_step).refused(trainer, number.0) {
                return Err(error);
            }
            let of = (self.updates.trainers, state.round.done());
            let round = &state.round;
            let is_here = |t: usize, incarnation: u64| round.stranger(t, incarnation).is_none();
            let brought = match in_step {
                true => state.in_step.result(trainer, number, |t| round.is_awaited(t), is_here, of),
                false => state.meetings.result(trainer, number, |t| round.is_awaited_at_barrier(t), is_here, of),
            };
            if let Some(brought) = brought {
                self.changed.notify_all();
                return Ok(Ok(brought));
            }
            if self.stop.load(Ordering::Acquire) || self.changed.wait_until(&mut guard, until).timed_out() {
                return Ok(Err(guard.missing(in_step, self.updates.trainers)));
            }
        }
    }

    /// No reply is larger than a frame may be; a peer cannot make a server gather more.
    fn check_size(&self, bytes: u64) -> Result<()> {
        let most = self.options.net.max_frame;
        if bytes <= most {
            return Ok(());
        }
        let what = format!("server {} was asked for more than {most} bytes at once", self.updates.endpoint);
        Err(Error::new(Kind::Range, what).help("ask for less at a time, or raise OARLOCK_MAX_FRAME in all processes"))
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
        if let Some(width) = self.updates.tables.width(table) {
            self.check_size(4 * (ids.len() * width) as u64)?;
            let done = self.state.lock().round.done();
            if !lookup.read_only && self.previous.has_rows_of(lookup.after_step, done) {
                return self.updates.tables.read_before_round(table, ids, into);
            }
            return self.updates.tables.read(table, ids, lookup.read_only, into);
        }
        let var = self.updates.scope.find(table).ok_or_else(|| self.no_variable(table))?;
        let value = var.read();
        let tensor = value.dense().map_err(|e| Error::new(Kind::Argument, format!("table `{table}` {e}")))?;
        let data = tensor.data::<f32>().map_err(|e| Error::new(Kind::DType, format!("table `{table}` {e}")))?;
        let (rows, width) = tensor.dims().matrix(1);
        self.check_size(4 * (ids.len() * width) as u64)?;
        into.clear();
        into.reserve(ids.len() * width);
        for (at, id) in ids.iter().enumerate() {
            if let Some(&soon) = ids.get(at + simd::AHEAD) {
                simd::prefetch(data, (soon as usize).saturating_mul(width), width);
            }
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
