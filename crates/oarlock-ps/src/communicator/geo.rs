//! GEO: parameters are trained here, by any optimizer; now and then servers learn how far they moved and say how far the
//! others did.
//!
//! Between two runs, when no operator holds the parameters, their delta is computed or the deltas of others are added; a thread
//! exchanges it with the servers while training goes on.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use oarlock_exec::Scope;
use oarlock_ir::{Error, Io, Kind, Name, Result};
use oarlock_tensor::{DType, Dims, Tensor, Value, simd};
use parking_lot::{Condvar, Mutex};

use super::CommunicatorOptions;
use crate::client::{Client, ReceivedVars};
use crate::op::Sends;
use crate::request::pull::rows_in;
use crate::rowset::RowSet;
use oarlock_net::spawn;
use oarlock_transpile::{GeoBlock, GeoVar};

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
    /// Bytes of a table's rows in one message.
    at_once: u64,
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
    /// The memory of the last exchange's deltas and replies, for the next one.
    spare_moves: Moves,
    spare_pulled: Pulls,
    failed: Option<Error>,
}

/// How far parameters went, by variable, by block.
type Moves = Vec<Vec<Way>>;

/// The values of servers, by variable, by block.
type Pulls = Vec<Vec<Pulled>>;

/// How far a block went: all of it, or if it is sparse, rows of it, some at a time.
#[derive(Default)]
struct Way {
    pieces: Vec<Value>,
    /// The number of pieces in use; the others are memory for larger deltas.
    used: usize,
}

/// The values of a server for a block: all of it, or if it is sparse, rows that others changed.
#[derive(Default)]
struct Pulled {
    whole: Value,
    rows: Vec<i64>,
    values: Vec<f32>,
}

/// Bytes of a table's rows in one message: they stay in a cache from the network to the table, need little memory at either end, and no
/// table is too large for a frame.
const AT_ONCE: u64 = 2 << 20;

/// This share of the largest frame is enough for rows at once, where frames are small.
const OF_FRAME: u64 = 16;

/// Where an exchange is.
enum Exchange {
    /// None is under way.
    ZeroWeightStep,
    /// How far parameters went waits to be sent.
    Ready(Moves),
    /// The thread is talking to servers.
    UnderWay,
    /// The values of the servers now.
    Back(Pulls),
}

struct Tracked {
    var: GeoVar,
    /// The parameter as servers and this trainer last agreed on it: a tensor, for tables belong on huge pages.
    old: Tensor,
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
            old: Tensor::default(),
            dims: Dims::from([0]),
            seen: RowSet::default(),
        });
        let state = State {
            vars: vars.collect(),
            begun: false,
            steps: 0,
            running: false,
            stopping: false,
            exchange: Exchange::ZeroWeightStep,
            spare_moves: Moves::new(),
            spare_pulled: Pulls::new(),
            failed: None,
        };
        let shared = Shared {
            at_once: AT_ONCE.min(client.max_frame() / OF_FRAME),
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
            // A thread that panicked has reported it already.
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

    /// Between two runs: adds the values of the servers, and prepares the next exchange when it is due.
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
        if state.steps >= shared.push_nums && matches!(state.exchange, Exchange::ZeroWeightStep) {
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
            let mut done = Ok(());
            self.with_param(&tracked.var.param, |data, dims| {
                old.resize(DType::F32, *dims);
                done = elements(old).map(|old| old.copy_from_slice(data));
                *own_dims = *dims;
            })?;
            done?;
        }
        state.begun = true;
        // The parameters came from the servers, as a whole; from now on it is only how far they move.
        self.client.trim();
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
        for (tracked, ways) in state.vars.iter_mut().zip(&mut moves) {
            let name = tracked.var.param.clone();
            let mut done = Ok(());
            self.with_param(&name, |train, _| done = tracked.moves(train, share, self.at_once, ways))?;
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
        let Exchange::Back(pulled) = std::mem::replace(&mut state.exchange, Exchange::ZeroWeightStep) else {
            return Ok(());
        };
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
        let mut received = ReceivedVars::default();
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
            let result = self.talk(&mut moves, &vars, &mut received, &mut pulled);
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

    /// Sends the moves, and fetches what the servers have then. The memory of both serves the next exchange.
    fn talk(
        &self,
        moves: &mut Moves,
        vars: &[(GeoVar, Dims)],
        received: &mut ReceivedVars,
        pulled: &mut Pulls,
    ) -> Result<()> {
        let rounds = moves.iter().flatten().map(|way| way.used).max().unwrap_or(0);
        for round in 0..rounds {
            self.lend(moves, vars, round)?;
            self.client.step().lock().more = endpoints_after(round, moves, vars);
            let sent = self.client.exchange(self.trainer, None, &BTreeMap::new(), &[]);
            self.lend(moves, vars, round)?;
            self.client.step().lock().clear();
            sent?;
        }
        pulled.resize_with(vars.len(), Vec::new);
        for ((var, dims), parts) in vars.iter().zip(pulled) {
            parts.resize_with(var.blocks.len(), Pulled::default);
            match var.sparse {
                true => self.pull_rows(var, dims, received, parts)?,
                false => self.pull_whole(var, dims, received, parts)?,
            }
        }
        Ok(())
    }

    /// Exchanges a piece of each move for what waits to be sent: once before they are sent, and once more to have their memory back.
    fn lend(&self, moves: &mut Moves, vars: &[(GeoVar, Dims)], round: usize) -> Result<()> {
        let step = self.client.step();
        let mut step = step.lock();
        for ((var, _), ways) in vars.iter().zip(moves) {
            for (block, way) in var.blocks.iter().zip(ways) {
                let Some(piece) = way.pieces[..way.used].get_mut(round) else { continue };
                let name = format!("{}.delta", block.name);
                step.put(&block.endpoint, &name, |slot| {
                    std::mem::swap(slot, piece);
                    Ok(())
                })?;
            }
        }
        Ok(())
    }

    fn pull_whole(&self, var: &GeoVar, dims: &Dims, received: &mut ReceivedVars, parts: &mut [Pulled]) -> Result<()> {
        let names: Vec<(String, String)> = var.blocks.iter().map(|b| (b.endpoint.clone(), b.name.clone())).collect();
        for (block, part) in var.blocks.iter().zip(&mut *parts) {
            received.give_back(&block.name, &mut part.whole);
        }
        self.client.pull(self.trainer, &names, received)?;
        for (block, part) in var.blocks.iter().zip(parts) {
            take(received, block, &mut part.whole)?;
            check_pulled(var, block, dims, &part.whole)?;
        }
        Ok(())
    }

    /// Fetches the rows that others changed, some at a time.
    fn pull_rows(&self, var: &GeoVar, dims: &Dims, received: &mut ReceivedVars, parts: &mut [Pulled]) -> Result<()> {
        let most = rows_in(self.at_once, width(dims));
        parts.iter_mut().for_each(Pulled::clear);
        let mut left: Vec<usize> = (0..var.blocks.len()).collect();
        while !left.is_empty() {
            let blocks = left.iter().map(|at| &var.blocks[*at]);
            let names: Vec<(String, String)> = blocks.map(|b| (b.endpoint.clone(), b.name.clone())).collect();
            self.client.pull_changed(self.trainer, &names, self.at_once, received)?;
            let mut more = Vec::new();
            for at in left {
                let (block, part) = (&var.blocks[at], &mut parts[at]);
                let mut came = Value::Empty;
                take(received, block, &mut came)?;
                check_pulled(var, block, dims, &came)?;
                // Others go on changing rows: a trainer that has as many as the block has waits for the next exchange.
                if part.add(&came)? == most && part.rows.len() < block.rows {
                    more.push(at);
                }
            }
            left = more;
        }
        Ok(())
    }
}

/// The servers that get more after a round.
fn endpoints_after(round: usize, moves: &Moves, vars: &[(GeoVar, Dims)]) -> Vec<String> {
    let ways = vars.iter().zip(moves).flat_map(|((var, _), ways)| var.blocks.iter().zip(ways));
    ways.filter(|(_, way)| way.used > round + 1).map(|(block, _)| block.endpoint.clone()).collect()
}

/// Takes what a server sent of a block.
fn take(received: &mut ReceivedVars, block: &GeoBlock, into: &mut Value) -> Result<()> {
    if received.take(&block.name, into) {
        return Ok(());
    }
    Err(Error::new(Kind::Missing, format!("server {} did not send `{}`", block.endpoint, block.name)))
}

impl Way {
    /// The next piece to write.
    fn piece(&mut self) -> &mut Value {
        if self.used == self.pieces.len() {
            self.pieces.push(Value::Empty);
        }
        self.used += 1;
        &mut self.pieces[self.used - 1]
    }
}

impl Pulled {
    fn clear(&mut self) {
        self.rows.clear();
        self.values.clear();
    }

    /// Adds rows, whose memory is that of a reply, which the next one needs. Returns how many there were.
    fn add(&mut self, came: &Value) -> Result<usize> {
        let came = came.rows().map_err(wrong)?;
        self.rows.extend_from_slice(&came.rows);
        self.values.extend_from_slice(came.value.data::<f32>().map_err(wrong)?);
        Ok(came.rows.len())
    }
}

impl Tracked {
    /// How far the parameter went, by block; of a table in pieces of this number of bytes.
    fn moves(&mut self, train: &[f32], share: f32, at_once: u64, ways: &mut Vec<Way>) -> Result<()> {
        let (width, old) = (width(&self.dims), elements(&mut self.old)?);
        if train.len() != old.len() {
            let what = format!("parameter `{}` changed its size while it is shared", self.var.param);
            return Err(Error::new(Kind::Shape, what).help("load parameters before fleet.init_worker()"));
        }
        let seen = self.var.sparse.then(|| self.seen.take());
        ways.resize_with(self.var.blocks.len(), Way::default);
        let mut first = 0;
        for (block, way) in self.var.blocks.iter().zip(ways) {
            let (from, end) = (first, first + block.rows);
            first = end;
            way.used = 0;
            let Some(seen) = &seen else {
                let tensor = way.piece().dense_mut();
                tensor.resize(DType::F32, self.dims.with_rows(block.rows));
                let range = from * width..end * width;
                simd::step_towards(elements(tensor)?, &mut old[range.clone()], &train[range], share);
                continue;
            };
            let of_block = |row: usize| seen.partition_point(|s| (*s as usize) < row);
            for rows in seen[of_block(from)..of_block(end)].chunks(rows_in(at_once, width)) {
                let piece = way.piece().rows_mut();
                piece.height = block.rows as i64;
                piece.rows.clear();
                piece.rows.extend(rows.iter().map(|row| row - from as i64));
                piece.value.resize(DType::F32, self.dims.with_rows(rows.len()));
                for (row, to) in rows.iter().zip(elements(&mut piece.value)?.chunks_exact_mut(width.max(1))) {
                    let range = *row as usize * width..(*row as usize + 1) * width;
                    simd::step_towards(to, &mut old[range.clone()], &train[range], share);
                }
            }
        }
        Ok(())
    }

    /// Follows what the servers have now, which [`check_pulled`] has looked at.
    fn take_in(&mut self, train: &mut [f32], parts: &[Pulled]) -> Result<()> {
        let (width, old) = (width(&self.dims), elements(&mut self.old)?);
        let mut first = 0;
        for (block, part) in self.var.blocks.iter().zip(parts) {
            if self.var.sparse {
                for (row, values) in part.rows.iter().zip(part.values.chunks_exact(width.max(1))) {
                    let start = (first + *row as usize) * width;
                    let range = start..start + width;
                    simd::follow(&mut train[range.clone()], &mut old[range], values);
                }
            } else {
                let values = part.whole.dense().and_then(|t| t.data::<f32>()).map_err(wrong)?;
                let range = first * width..first * width + values.len();
                simd::follow(&mut train[range.clone()], &mut old[range], values);
            }
            first += block.rows;
        }
        Ok(())
    }
}

fn elements(tensor: &mut Tensor) -> Result<&mut [f32]> {
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

/// Checks that the values of a server fit their block.
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
