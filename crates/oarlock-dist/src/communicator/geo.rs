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
use oarlock_tensor::{DType, Dims, Value, simd};
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
    /// The memory of the last exchange's moves, and of what came back, for the next one.
    spare_moves: Parts,
    spare_pulled: Parts,
    failed: Option<Error>,
}

/// By variable, by block: rows of it if it is sparse, else all of it.
type Parts = Vec<Vec<Value>>;

/// Where an exchange is.
enum Exchange {
    /// None is under way.
    Idle,
    /// How far parameters went waits to be sent.
    Ready(Parts),
    /// The thread is talking to servers.
    UnderWay,
    /// What the servers have now.
    Back(Parts),
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
            spare_moves: Parts::new(),
            spare_pulled: Parts::new(),
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
        let mut moves = std::mem::take(&mut state.spare_moves);
        moves.resize_with(state.vars.len(), Vec::new);
        for (tracked, parts) in state.vars.iter_mut().zip(&mut moves) {
            let name = tracked.var.param.clone();
            let mut done = Ok(());
            self.with_param(&name, |train, _| done = tracked.moves(train, share, parts))?;
            done?;
        }
        state.exchange = Exchange::Ready(moves);
        Ok(())
    }

    /// Adds what others did.
    fn take_in(&self, state: &mut State) -> Result<()> {
        if !matches!(state.exchange, Exchange::Back(_)) {
            return Ok(());
        }
        let Exchange::Back(pulled) = std::mem::replace(&mut state.exchange, Exchange::Idle) else { return Ok(()) };
        for (tracked, parts) in state.vars.iter_mut().zip(&pulled) {
            let name = tracked.var.param.clone();
            let mut done = Ok(());
            self.with_param(&name, |train, _| done = tracked.take_in(train, parts))?;
            done?;
        }
        state.spare_pulled = pulled;
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
        let mut inbox = Inbox::default();
        loop {
            let (mut moves, mut pulled, vars) = {
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
                let vars: Vec<(GeoVar, Dims)> = state.vars.iter().map(|t| (t.var.clone(), t.dims)).collect();
                (moves, std::mem::take(&mut state.spare_pulled), vars)
            };
            let result = self.talk(&mut moves, &vars, &mut inbox, &mut pulled);
            let mut state = self.state.lock();
            state.spare_moves = moves;
            match result {
                Ok(()) => state.exchange = Exchange::Back(pulled),
                Err(e) => {
                    state.failed.get_or_insert(e);
                    self.changed.notify_all();
                    return;
                }
            }
            self.changed.notify_all();
        }
    }

    /// Sends the moves, for which other memory comes back, and fetches what the servers have then.
    fn talk(&self, moves: &mut Parts, vars: &[(GeoVar, Dims)], inbox: &mut Inbox, pulled: &mut Parts) -> Result<()> {
        let step = self.client.step();
        {
            let mut step = step.lock();
            for ((var, _), parts) in vars.iter().zip(moves) {
                for (block, part) in var.blocks.iter().zip(parts) {
                    let name = format!("{}.delta", block.name);
                    step.put(&block.endpoint, &name, |slot| {
                        std::mem::swap(slot, part);
                        Ok(())
                    })?;
                }
            }
        }
        self.client.exchange(self.trainer, None, &BTreeMap::new(), &[])?;
        for (sparse, pull_changed) in [(false, false), (true, true)] {
            let names: Vec<(String, String)> = vars
                .iter()
                .filter(|(var, _)| var.sparse == sparse)
                .flat_map(|(var, _)| var.blocks.iter().map(|b| (b.endpoint.clone(), b.name.clone())))
                .collect();
            self.client.pull_as(self.trainer, &names, pull_changed, inbox)?;
        }
        pulled.resize_with(vars.len(), Vec::new);
        for ((var, dims), parts) in vars.iter().zip(pulled) {
            parts.resize_with(var.blocks.len(), Value::default);
            for (block, part) in var.blocks.iter().zip(parts) {
                if !inbox.take(&block.name, part) {
                    let what = format!("server {} did not send `{}`", block.endpoint, block.name);
                    return Err(Error::new(Kind::Missing, what));
                }
                check_pulled(var, block, dims, part)?;
            }
        }
        Ok(())
    }
}

impl Tracked {
    /// How far the parameter went, into the parts of its blocks.
    fn moves(&mut self, train: &[f32], share: f32, parts: &mut Vec<Value>) -> Result<()> {
        let (width, old) = (width(&self.dims), &mut self.old);
        if train.len() != old.len() {
            let what = format!("parameter `{}` changed its size while it is shared", self.var.param);
            return Err(Error::new(Kind::Shape, what).help("load parameters before fleet.init_worker()"));
        }
        let seen = self.var.sparse.then(|| self.seen.take());
        parts.resize_with(self.var.blocks.len(), Value::default);
        let mut first = 0;
        for (block, part) in self.var.blocks.iter().zip(parts) {
            let (from, end) = (first, first + block.rows);
            first = end;
            let Some(seen) = &seen else {
                let tensor = part.dense_mut();
                tensor.resize(DType::F32, self.dims.with_rows(block.rows));
                let range = from * width..end * width;
                simd::step_towards(elements(tensor)?, &mut old[range.clone()], &train[range], share);
                continue;
            };
            let of_block = |row: usize| seen.partition_point(|s| (*s as usize) < row);
            let seen = &seen[of_block(from)..of_block(end)];
            let selected = part.rows_mut();
            selected.height = block.rows as i64;
            selected.rows.clear();
            selected.rows.extend(seen.iter().map(|row| row - from as i64));
            selected.value.resize(DType::F32, self.dims.with_rows(seen.len()));
            for (row, way) in seen.iter().zip(elements(&mut selected.value)?.chunks_exact_mut(width.max(1))) {
                let range = *row as usize * width..(*row as usize + 1) * width;
                simd::step_towards(way, &mut old[range.clone()], &train[range], share);
            }
        }
        Ok(())
    }

    /// Follows what the servers have now, which [`check_pulled`] has looked at.
    fn take_in(&mut self, train: &mut [f32], parts: &[Value]) -> Result<()> {
        let (width, old) = (width(&self.dims), &mut self.old);
        let mut first = 0;
        for (block, part) in self.var.blocks.iter().zip(parts) {
            match part {
                Value::Rows(selected) => {
                    let values = selected.value.data::<f32>().map_err(wrong)?.chunks_exact(width.max(1));
                    for (row, values) in selected.rows.iter().zip(values) {
                        let start = (first + *row as usize) * width;
                        let range = start..start + width;
                        simd::follow(&mut train[range.clone()], &mut old[range], values);
                    }
                }
                other => {
                    let values = other.dense().and_then(|t| t.data::<f32>()).map_err(wrong)?;
                    let range = first * width..first * width + values.len();
                    simd::follow(&mut train[range.clone()], &mut old[range], values);
                }
            }
            first += block.rows;
        }
        Ok(())
    }
}

fn elements(tensor: &mut oarlock_tensor::Tensor) -> Result<&mut [f32]> {
    tensor.data_mut::<f32>().map_err(wrong)
}

#[cold]
fn wrong(e: oarlock_tensor::Error) -> Error {
    Error::internal(e.to_string())
}

/// Elements of one row.
fn width(dims: &Dims) -> usize {
    dims.matrix(1).1
}

/// What a server sent of a block must fit it.
fn check_pulled(var: &GeoVar, block: &GeoBlock, dims: &Dims, part: &Value) -> Result<()> {
    let width = width(dims);
    let fits = match part {
        Value::Rows(selected) => {
            let known = |row: &i64| (*row as u64) < block.rows as u64;
            let elements = selected.value.data::<f32>().map_or(0, <[f32]>::len);
            var.sparse && elements == selected.rows.len() * width && selected.rows.iter().all(known)
        }
        Value::Dense(tensor) => {
            !var.sparse && tensor.data::<f32>().is_ok_and(|values| values.len() == block.rows * width)
        }
        _ => false,
    };
    if fits {
        return Ok(());
    }
    let what =
        format!("server {} sent `{}`, which does not fit the parameter `{}`", block.endpoint, block.name, var.param);
    Err(Error::new(Kind::Shape, what).help("start all processes of a job with the same script and settings"))
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
