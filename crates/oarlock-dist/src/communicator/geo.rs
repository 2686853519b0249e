//! GEO: parameters are trained here, by any optimizer; now and then servers learn how far they moved and say how far the
//! others did.
//!
//! Between two runs, when nobody holds the parameters, the way they went is computed or what others did is added; a thread
//! exchanges it with the servers while training goes on.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use oarlock_exec::Scope;
use oarlock_ir::{Error, Io, Kind, Name, Result};
use oarlock_tensor::{Dims, Tensor, Value};
use parking_lot::{Condvar, Mutex};

use super::CommunicatorOptions;
use crate::client::{Client, Inbox};
use crate::op::Sends;
use crate::rowset::RowSet;
use crate::threads::spawn;

/// A parameter that is trained here and shared with others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeoVar {
    /// Its name here.
    pub param: Name,
    /// Only the rows that were looked up are exchanged.
    pub sparse: bool,
    /// Where it is on the servers, in the order of its rows.
    pub blocks: Vec<GeoBlock>,
}

/// Some rows of a parameter, on one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeoBlock {
    /// Its name there.
    pub name: String,
    /// The server.
    pub endpoint: String,
    /// How many rows it has.
    pub rows: usize,
}

pub(super) struct Geo {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    client: Arc<Client>,
    scope: Scope,
    trainer: u32,
    trainers: usize,
    push_nums: usize,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    vars: Vec<Tracked>,
    /// Parameters are in place, and moves are counted from them.
    begun: bool,
    /// Steps since the last exchange was prepared.
    steps: usize,
    running: bool,
    stopping: bool,
    exchange: Exchange,
    failed: Option<Error>,
}

/// Where an exchange is.
enum Exchange {
    /// None is under way.
    Idle,
    /// Moves wait to be sent: by variable the rows, if it is sparse, and how far they went.
    Ready(Vec<Move>),
    /// The thread is talking to servers.
    UnderWay,
    /// What the servers have now.
    Back(Vec<Pulled>),
}

/// How far one variable went: the rows, if it is sparse, and their deltas.
struct Move {
    var: usize,
    rows: Option<Vec<i64>>,
    delta: Vec<f32>,
}

/// What the servers have now of one variable.
struct Pulled {
    var: usize,
    rows: Option<Vec<i64>>,
    values: Vec<f32>,
}

struct Tracked {
    var: GeoVar,
    /// The parameter as servers and this trainer last agreed on it.
    old: Vec<f32>,
    dims: Dims,
    /// Rows that were looked up since the last exchange.
    seen: RowSet,
}

/// How long to wait for a parameter that a run holds.
const PATIENCE: Duration = Duration::from_secs(30);

impl Geo {
    pub(super) fn new(
        vars: Vec<GeoVar>,
        scope: &Scope,
        client: Arc<Client>,
        options: &CommunicatorOptions,
        push_nums: usize,
    ) -> Geo {
        let vars = vars.into_iter().map(|var| Tracked {
            var,
            old: Vec::new(),
            dims: Dims::from([0]),
            seen: RowSet::default(),
        });
        let state = State {
            vars: vars.collect(),
            begun: false,
            steps: 0,
            running: false,
            stopping: false,
            exchange: Exchange::Idle,
            failed: None,
        };
        let shared = Shared {
            client,
            scope: scope.clone(),
            trainer: options.trainer as u32,
            trainers: options.trainers.max(1),
            push_nums: push_nums.max(1),
            state: Mutex::new(state),
            changed: Condvar::new(),
        };
        Geo { shared: Arc::new(shared), thread: Mutex::default() }
    }

    pub(super) fn start(&self) -> Result<()> {
        let mut state = self.shared.state.lock();
        if state.running {
            return Ok(());
        }
        state.running = true;
        state.stopping = false;
        let shared = self.shared.clone();
        let thread = spawn("oarlock-geo", "the communicator", move || shared.exchange_loop())?;
        *self.thread.lock() = Some(thread);
        Ok(())
    }

    /// Exchanges the last steps, too, and stops.
    pub(super) fn stop(&self) -> Result<()> {
        if !self.is_running() {
            return Ok(());
        }
        self.shared.finish_exchange()?;
        let mut state = self.shared.state.lock();
        if state.begun && state.steps > 0 {
            self.shared.prepare(&mut state)?;
            self.shared.changed.notify_all();
            drop(state);
            self.shared.finish_exchange()?;
            state = self.shared.state.lock();
        }
        state.stopping = true;
        state.running = false;
        let failed = state.failed.take();
        drop(state);
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.lock().take() {
            // A thread that panicked has said so already.
            let _ = thread.join();
        }
        failed.map_or(Ok(()), Err)
    }

    pub(super) fn is_running(&self) -> bool {
        self.shared.state.lock().running
    }

    /// Notes the ids that a step looked up.
    pub(super) fn take(&self, io: &Io<'_>, sends: &Sends) -> Result<()> {
        let mut state = self.shared.state.lock();
        if sends.starts() {
            state.begun = false;
            return Ok(());
        }
        state.steps += 1;
        for ((ids, _), table) in sends.inputs.iter().zip(&sends.names) {
            let tensor = io.dense(*ids)?;
            let ids = io.data::<i64>(*ids, &tensor)?;
            if let Some(tracked) = state.vars.iter_mut().find(|t| *t.var.param == **table) {
                let rows = tracked.dims.matrix(1).0;
                for id in ids {
                    // Padding is no row, and what else there is not the lookup has refused.
                    if let Some(row) = usize::try_from(*id).ok().filter(|row| *row < rows) {
                        tracked.seen.mark(row);
                    }
                }
            }
        }
        Ok(())
    }

    /// Between two runs: takes in what came back, and prepares the next exchange when it is due.
    pub(super) fn settle(&self) -> Result<()> {
        let shared = &self.shared;
        let mut state = shared.state.lock();
        if !state.running {
            return Ok(());
        }
        if !state.begun {
            // Before the startup program has run there is nothing to count moves from.
            return if shared.has_values(&state) { shared.begin(&mut state) } else { Ok(()) };
        }
        // Twice as many steps as should go between exchanges: the servers cannot keep up, so training waits.
        while state.steps >= shared.push_nums * 2 && matches!(state.exchange, Exchange::Ready(_) | Exchange::UnderWay) {
            if let Some(e) = &state.failed {
                return Err(e.clone());
            }
            shared.changed.wait_for(&mut state, Duration::from_millis(100));
        }
        if let Some(e) = &state.failed {
            return Err(e.clone());
        }
        if matches!(state.exchange, Exchange::Back(_)) {
            shared.take_in(&mut state)?;
        }
        if state.steps >= shared.push_nums && matches!(state.exchange, Exchange::Idle) {
            shared.prepare(&mut state)?;
            shared.changed.notify_all();
        }
        Ok(())
    }
}

impl Shared {
    /// Remembers where parameters are now.
    fn begin(&self, state: &mut State) -> Result<()> {
        for tracked in &mut state.vars {
            let (old, own_dims) = (&mut tracked.old, &mut tracked.dims);
            self.with_param(&tracked.var.param, |data, dims| {
                old.clear();
                old.extend_from_slice(data);
                *own_dims = *dims;
            })?;
        }
        state.begun = true;
        Ok(())
    }

    fn with_param(&self, name: &Name, work: impl FnOnce(&mut [f32], &Dims)) -> Result<()> {
        let var = self.scope.find(name).ok_or_else(|| missing(name))?;
        let Some(mut value) = var.try_write_for(PATIENCE) else {
            return Err(Error::new(Kind::Timeout, format!("parameter `{name}` was held for {} s", PATIENCE.as_secs())));
        };
        if value.is_empty() {
            return Err(missing(name));
        }
        let tensor = value.dense_mut();
        let dims = *tensor.dims();
        let data = tensor
            .data_mut::<f32>()
            .map_err(|e| Error::new(Kind::DType, format!("GEO shares f32, and `{name}` {e}")))?;
        work(data, &dims);
        Ok(())
    }

    /// How far parameters went since the last exchange, divided among all trainers.
    fn prepare(&self, state: &mut State) -> Result<()> {
        state.steps = 0;
        let share = 1.0 / self.trainers as f32;
        let mut moves = Vec::new();
        for (var, tracked) in state.vars.iter_mut().enumerate() {
            let rows = tracked.var.sparse.then(|| tracked.seen.take());
            let (old, width, name) = (&mut tracked.old, width(&tracked.dims), &tracked.var.param);
            let mut delta = Vec::new();
            let mut resized = false;
            self.with_param(name, |train, _| {
                resized = train.len() != old.len();
                if resized {
                    return;
                }
                let mut go = |at: std::ops::Range<usize>| {
                    for (old, train) in old[at.clone()].iter_mut().zip(&train[at]) {
                        let way = (train - *old) * share;
                        *old += way;
                        delta.push(way);
                    }
                };
                match &rows {
                    None => go(0..train.len()),
                    Some(rows) => rows.iter().for_each(|row| go(*row as usize * width..(*row as usize + 1) * width)),
                }
            })?;
            if resized {
                return Err(Error::new(Kind::Shape, format!("parameter `{name}` changed its size while it is shared"))
                    .help("load parameters before fleet.init_worker()"));
            }
            moves.push(Move { var, rows, delta });
        }
        state.exchange = Exchange::Ready(moves);
        Ok(())
    }

    /// Adds what others did.
    fn take_in(&self, state: &mut State) -> Result<()> {
        let Exchange::Back(pulled) = std::mem::replace(&mut state.exchange, Exchange::Idle) else { return Ok(()) };
        for got in pulled {
            let tracked = &mut state.vars[got.var];
            let (old, width) = (&mut tracked.old, width(&tracked.dims));
            self.with_param(&tracked.var.param, |train, _| {
                let mut add = |at: usize, values: &[f32]| {
                    let range = at..at + values.len();
                    if range.end > train.len() {
                        return;
                    }
                    for ((train, old), now) in train[range.clone()].iter_mut().zip(&mut old[range]).zip(values) {
                        *train += now - *old;
                        *old = *now;
                    }
                };
                match &got.rows {
                    None => add(0, &got.values),
                    Some(rows) => {
                        for (row, values) in rows.iter().zip(got.values.chunks_exact(width.max(1))) {
                            add(*row as usize * width, values);
                        }
                    }
                }
            })?;
        }
        Ok(())
    }

    /// Waits until no exchange is under way and takes in the last.
    fn finish_exchange(&self) -> Result<()> {
        let mut state = self.state.lock();
        while matches!(state.exchange, Exchange::Ready(_) | Exchange::UnderWay) {
            if let Some(e) = &state.failed {
                return Err(e.clone());
            }
            self.changed.wait_for(&mut state, Duration::from_millis(100));
        }
        self.take_in(&mut state)
    }

    fn exchange_loop(&self) {
        loop {
            let (moves, vars) = {
                let mut state = self.state.lock();
                loop {
                    if let Exchange::Ready(_) = state.exchange {
                        break;
                    }
                    if state.stopping {
                        return;
                    }
                    self.changed.wait(&mut state);
                }
                let Exchange::Ready(moves) = std::mem::replace(&mut state.exchange, Exchange::UnderWay) else { return };
                (moves, state.vars.iter().map(|t| (t.var.clone(), t.dims)).collect::<Vec<_>>())
            };
            let result = self.talk(&moves, &vars);
            let mut state = self.state.lock();
            match result {
                Ok(pulled) => state.exchange = Exchange::Back(pulled),
                Err(e) => {
                    state.failed.get_or_insert(e);
                    self.changed.notify_all();
                    return;
                }
            }
            self.changed.notify_all();
        }
    }

    fn talk(&self, moves: &[Move], vars: &[(GeoVar, Dims)]) -> Result<Vec<Pulled>> {
        let step = self.client.step();
        {
            let mut step = step.lock();
            for moved in moves {
                let (var, dims) = &vars[moved.var];
                let mut first = 0;
                for block in &var.blocks {
                    let name = format!("{}.delta", block.name);
                    step.put(&block.endpoint, &name, |slot| delta_of(moved, first, dims.with_rows(block.rows), slot))?;
                    first += block.rows;
                }
            }
        }
        self.client.exchange(self.trainer, None, &BTreeMap::new())?;
        let mut inbox = Inbox::default();
        for (sparse, pull_changed) in [(false, false), (true, true)] {
            let names: Vec<(String, String)> = vars
                .iter()
                .filter(|(var, _)| var.sparse == sparse)
                .flat_map(|(var, _)| var.blocks.iter().map(|b| (b.endpoint.clone(), b.name.clone())))
                .collect();
            self.client.pull_as(self.trainer, &names, pull_changed, &mut inbox)?;
        }
        vars.iter().enumerate().map(|(var, (geo, dims))| joined(var, geo, width(dims), &mut inbox)).collect()
    }
}

/// Elements of one row.
fn width(dims: &Dims) -> usize {
    dims.matrix(1).1
}

/// The part of a move that belongs to a block of these sizes whose first row is `first`.
fn delta_of(moved: &Move, first: usize, block: Dims, slot: &mut Value) -> Result<()> {
    let (rows, width) = block.matrix(1);
    let wrong = |e: oarlock_tensor::Error| Error::internal(e.to_string());
    let Some(listed) = &moved.rows else {
        let part = &moved.delta[first * width..(first + rows) * width];
        *slot = Value::Dense(Tensor::from_slice(block, part).map_err(wrong)?);
        return Ok(());
    };
    let end = first + rows;
    let from = listed.partition_point(|row| (*row as usize) < first);
    let to = listed.partition_point(|row| (*row as usize) < end);
    let selected = slot.rows_mut();
    selected.height = rows as i64;
    selected.rows = listed[from..to].iter().map(|row| row - first as i64).collect();
    selected.value =
        Tensor::from_slice(block.with_rows(to - from), &moved.delta[from * width..to * width]).map_err(wrong)?;
    Ok(())
}

/// What the servers have of a variable, joined.
fn joined(var: usize, geo: &GeoVar, width: usize, inbox: &mut Inbox) -> Result<Pulled> {
    let (mut rows, mut values, mut first) = (Vec::new(), Vec::new(), 0);
    for block in &geo.blocks {
        let mut value = Value::Empty;
        if !inbox.take(&block.name, &mut value) {
            return Err(Error::new(Kind::Missing, format!("server {} did not send `{}`", block.endpoint, block.name)));
        }
        let tensor = match &value {
            Value::Rows(selected) => {
                rows.extend(selected.rows.iter().map(|row| row + first));
                &selected.value
            }
            other => other.dense().map_err(|e| Error::new(Kind::Format, format!("`{}` {e}", block.name)))?,
        };
        values.extend_from_slice(
            tensor.data::<f32>().map_err(|e| Error::new(Kind::DType, format!("`{}` {e}", block.name)))?,
        );
        first += block.rows as i64;
    }
    if geo.sparse && values.len() != rows.len() * width {
        return Err(Error::new(Kind::Shape, format!("rows of `{}` arrived with another width", geo.param)));
    }
    Ok(Pulled { var, rows: geo.sparse.then_some(rows), values })
}

impl Shared {
    /// Are all parameters in place?
    fn has_values(&self, state: &State) -> bool {
        state.vars.iter().all(|t| self.scope.find(&t.var.param).is_some_and(|var| !var.read().is_empty()))
    }
}

fn missing(name: &Name) -> Error {
    Error::new(Kind::Missing, format!("parameter `{name}` has no value in this scope"))
        .help("run fleet.startup_program before training")
}
