//! Trains a case in one process, and with servers and trainers on threads.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::ops::Range;
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};

use oarlock::fleet::{self, JobSaves, Strategy};
use oarlock::io::{Local, Position, persistables};
use oarlock::prelude::*;
use oarlock::ps::PsState;
use oarlock::ps::checkpoint::JobCheckpoints;
use oarlock::ps::client::{Client, ClientOptions};
use oarlock::ps::saving::{Saver, fetch_whole, load_parts};
use oarlock::ps::server::{Server, ServerOptions};
use oarlock::tensor::{SelectedRows, Value};
use oarlock::transpile::{Arguments, DistributeTranspiler, Trainers, VarLocations};
use oarlock_testkit::{Tolerance, close};

use super::case::{Case, Mode, Model};

/// Which steps of a job are made, from what save on, and what is saved after them.
pub(super) struct Part {
    pub(super) steps: Range<usize>,
    pub(super) load: Option<(How, String)>,
    pub(super) save: Option<(How, String)>,
}

/// How a job is saved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum How {
    /// As one process saves, by the first trainer.
    Persistables,
    /// A checkpoint of the whole job.
    Checkpoint,
}

type Checked = std::result::Result<(), String>;

pub(super) const STEPS: usize = 6;
const BATCH: usize = 8;
const SERVERS: usize = 2;
const PATIENCE: Duration = Duration::from_secs(60);

/// The results of training, and its intermediate values.
pub(super) struct Learned {
    /// The loss of each step of each trainer.
    losses: Vec<Vec<f64>>,
    /// The rates of each update, at each server.
    rates: Vec<Vec<Vec<f64>>>,
    /// Parameters, optimizer state and counters.
    end: BTreeMap<String, Value>,
}

impl Learned {
    /// Says which rates differ from those of one process.
    pub(super) fn compare_rates(&self, expected: &Learned, case: &Case, steps: Range<usize>) -> Checked {
        let turns = if case.counts_pushes() { case.trainers } else { 1 };
        for (at, rates) in self.rates.iter().enumerate() {
            for found in rates {
                near(&format!("the rates of update {at}"), found, &expected.rates[steps.start * turns + at][0], 1e-6)?;
            }
        }
        let most = steps.len() * turns;
        if self.rates.len() == most { Ok(()) } else { Err(format!("{} updates, not {most}", self.rates.len())) }
    }

    /// Says what differs from what one process learned.
    pub(super) fn compare(&self, expected: &Learned, case: &Case, steps: Range<usize>) -> Checked {
        self.compare_rates(expected, case, steps.clone())?;
        if !case.equals_one_process() {
            return self
                .losses
                .iter()
                .flatten()
                .all(|l| l.is_finite())
                .then_some(())
                .ok_or("a loss is not finite".into());
        }
        if !case.is_late() {
            let trainers = self.losses.len() as f64;
            let mean = (0..steps.len()).map(|s| self.losses.iter().map(|of| of[s]).sum::<f64>() / trainers);
            near(
                "the losses",
                &mean.collect::<Vec<f64>>(),
                &expected.losses[0][steps],
                if trainers > 1.0 { 5e-6 } else { 1e-6 },
            )?;
        }
        for (name, expected) in &expected.end {
            let found = self.end.get(name).ok_or_else(|| format!("`{name}` is missing"))?;
            same(found, expected, NEAR[case.trainers - 1]).map_err(|why| format!("`{name}` {why}"))?;
        }
        Ok(())
    }
}

/// Two trainers add up in another order than one, and optimizers that divide by the size of gradients make more of it.
const NEAR: [Tolerance; 2] = [Tolerance::new(2e-5, 1e-6), Tolerance::new(1e-4, 1e-5)];

fn near(what: &str, found: &[f64], expected: &[f64], within: f64) -> Checked {
    let fits = |(a, b): (&f64, &f64)| (a - b).abs() <= within * b.abs().max(1.0);
    if found.len() == expected.len() && found.iter().zip(expected).all(fits) {
        return Ok(());
    }
    Err(format!("{what} are {found:?}, not {expected:?}"))
}

fn same(found: &Value, expected: &Value, within: Tolerance) -> Checked {
    match (by_id(found), by_id(expected)) {
        // Nothing reads such a state: it never joined the table.
        (Some(found), Some(expected)) if expected.rows.is_empty() => {
            found.value.to_f64().iter().all(|v| *v == 0.0).then_some(()).ok_or("is not zero".into())
        }
        (Some(found), Some(expected)) if found.rows == expected.rows => close(&found.value, &expected.value, within),
        (Some(found), Some(expected)) => Err(format!("has rows {:?}, not {:?}", found.rows, expected.rows)),
        _ => close(found.dense().map_err(|e| e.to_string())?, expected.dense().map_err(|e| e.to_string())?, within),
    }
}

/// The rows of a variable by their ids, if it is a hashed table.
fn by_id(value: &Value) -> Option<SelectedRows> {
    let mut rows = match value {
        Value::Table(table) => table.to_rows().ok()?,
        Value::Rows(rows) => rows.clone(),
        _ => return None,
    };
    let width = rows.width();
    let data = rows.value.data::<f32>().ok()?.to_vec();
    let mut order: Vec<usize> = (0..rows.rows.len()).collect();
    order.sort_by_key(|at| rows.rows[*at]);
    let sorted: Vec<f32> = order.iter().flat_map(|at| data[at * width..][..width].to_vec()).collect();
    rows.rows = order.iter().map(|at| rows.rows[*at]).collect();
    rows.value = Tensor::from_slice([rows.rows.len(), width], &sorted).ok()?;
    Some(rows)
}

fn executor() -> Executor {
    Options { threads: 1, check_nan_inf: false }.executor()
}

fn run(exe: &Executor, program: &Program, feeds: &[(&str, Tensor)], fetch: &[&str], scope: &Scope) -> Result<Vec<f64>> {
    let feeds: Vec<(&str, &Tensor)> = feeds.iter().map(|(name, t)| (*name, t)).collect();
    let found = exe.run(program, &feeds, fetch, scope)?;
    Ok(found.iter().map(|value| value.dense().map_or(f64::NAN, |t| t.to_f64()[0])).collect())
}

fn ends(model: &Model, scope: &Scope) -> BTreeMap<String, Value> {
    let kept = model.net.main.global().vars.values().filter(|var| oarlock::io::is_persistable(var));
    let found = kept.filter_map(|var| Some((var.name.to_string(), scope.find(&var.name)?)));
    found.map(|(name, var)| (name, var.read().try_clone().unwrap())).collect()
}

/// Trains in one process. Where servers count the steps of all trainers, it goes on without comparing parameters.
pub(super) fn alone(case: &Case, model: &Model) -> Result<Learned> {
    let (exe, scope) = (executor(), Scope::new());
    exe.run(&model.net.startup, &[], &[], &scope)?;
    let fetch: Vec<&str> = [&model.loss].into_iter().chain(&model.rates).map(String::as_str).collect();
    let (mut losses, mut rates, mut end) = (Vec::new(), Vec::new(), BTreeMap::new());
    for step in 0..STEPS * if case.counts_pushes() { case.trainers } else { 1 } {
        let mut found = run(&exe, &model.net.main, &case.feed(step, 0, BATCH), &fetch, &scope)?;
        losses.push(found.remove(0));
        rates.push(vec![found]);
        if step + 1 == STEPS {
            end = ends(model, &scope);
        }
    }
    Ok(Learned { losses: vec![losses], rates, end })
}

fn transpile(case: &Case, model: &Model, trainer: usize, servers: &str) -> Result<(DistributeTranspiler, Program)> {
    let (mut main, mut startup) = (model.net.main.clone(), model.net.startup.clone());
    let config = case.config();
    let sync_mode = config.sync_mode;
    let mut transpiler = DistributeTranspiler::new(config);
    transpiler.transpile(Arguments {
        registry: &oarlock::registry(),
        trainer_id: trainer,
        program: &mut main,
        startup_program: &mut startup,
        pservers: servers,
        trainers: Trainers::Count(case.trainers),
        sync_mode,
        current_endpoint: "",
        slice_var_up: None,
        split_method: None,
    })?;
    Ok((transpiler, startup))
}

/// A trainer that is ready.
struct Trainer {
    transpiler: DistributeTranspiler,
    program: Program,
    exe: Executor,
    scope: Scope,
}

impl Trainer {
    fn new(case: &Case, model: &Model, trainer: usize, servers: &str) -> Result<Trainer> {
        let (transpiler, startup) = transpile(case, model, trainer, servers)?;
        let (program, exe, scope) = (transpiler.get_trainer_program()?, executor(), Scope::new());
        let options = ClientOptions { deadline: PATIENCE, ..ClientOptions::default() };
        PsState::of(exe.runtime()).set_client(Some(Arc::new(Client::new(options))));
        exe.run(&startup, &[], &[], &scope)?;
        if let Mode::Fleet(strategy) = case.mode {
            let options = fleet::communicator_options(strategy, &transpiler, &BTreeMap::new(), 1)?;
            fleet::start_communicator(exe.runtime(), &program, &scope, options)?;
        }
        Ok(Trainer { transpiler, program, exe, scope })
    }

    fn resume(&self, part: &Part) -> Result<()> {
        let Some((How::Checkpoint, dir)) = &part.load else { return Ok(()) };
        JobSaves { transpiler: &self.transpiler, dir, keep: 1 }.restore(self.exe.runtime(), &self.scope).map(drop)
    }

    fn save(&self, part: &Part, trainer: usize) -> Result<()> {
        let client = Client::of(self.exe.runtime());
        match &part.save {
            Some((How::Persistables, dir)) if trainer == 0 => {
                let away = self.transpiler.away()?;
                let saver = Saver { away: &away, client: &client, trainer, scope: &self.scope };
                saver.save_vars(&Local::at(dir), None, &persistables(self.transpiler.program()?))
            }
            Some((How::Checkpoint, dir)) => {
                let saves = JobSaves { transpiler: &self.transpiler, dir, keep: 1 };
                let position = Position { epoch: 0, step: part.steps.end as u64, notes: BTreeMap::new() };
                saves.save(self.exe.runtime(), &self.scope, &position)?;
                fleet::finish_checkpoint(self.exe.runtime())
            }
            _ => Ok(()),
        }
    }

    /// The values at the servers, or, with GEO, at this trainer.
    fn end(&self, case: &Case, model: &Model, trainer: usize) -> Result<BTreeMap<String, Value>> {
        fleet::stop_communicator(self.exe.runtime())?;
        let client = Client::of(self.exe.runtime());
        let end = if case.mode == Mode::Fleet(Strategy::Geo) {
            ends(model, &self.scope)
        } else {
            let kept = self.transpiler.var_locations()?;
            ends(model, &fetch_whole(&kept.iter().collect::<Vec<&VarLocations>>(), &client, trainer, &self.scope)?)
        };
        client.leave()?;
        Ok(end)
    }
}

/// Trains with trainers and servers.
pub(super) fn together(case: &Case, model: &Model) -> Result<Learned> {
    part(case, model, &Part { steps: 0..STEPS, load: None, save: None })
}

/// Trains a part of a job.
pub(super) fn part(case: &Case, model: &Model, part: &Part) -> Result<Learned> {
    loop {
        match attempt(case, model, part) {
            // Another process was faster to take a port that was free.
            Err(e) if e.report().what.starts_with("cannot listen on") => {}
            result => return result,
        }
    }
}

fn attempt(case: &Case, model: &Model, part: &Part) -> Result<Learned> {
    let held: Vec<TcpListener> = (0..SERVERS).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let endpoints: Vec<String> = held.iter().map(|l| l.local_addr().unwrap().to_string()).collect();
    let list = endpoints.join(",");
    let (transpiler, _) = transpile(case, model, 0, &list)?;
    drop(held);
    let mut servers = Vec::new();
    for (at, endpoint) in endpoints.iter().enumerate() {
        let (program, startup) = transpiler.get_pserver_programs(endpoint)?;
        let (exe, scope) = (executor(), Scope::new());
        exe.run(&startup, &[], &[], &scope)?;
        match &part.load {
            Some((How::Persistables, dir)) => {
                drop(load_parts(&Local::at(dir), None, &transpiler.var_locations()?, at, None, &scope)?);
            }
            Some((How::Checkpoint, dir)) => {
                let checkpoint = JobCheckpoints::at(dir)?.latest()?.expect("a checkpoint");
                checkpoint.load(&transpiler.var_locations()?, at, SERVERS, &scope)?;
            }
            None => {}
        }
        let options = ServerOptions { deadline: PATIENCE, ..ServerOptions::default() };
        servers.push((Server::start(&program, &scope, exe.options(), exe.runtime(), options)?, scope));
    }
    let job = Job {
        part,
        case,
        model,
        servers: &servers,
        list: &list,
        barrier: Barrier::new(case.trainers),
        rates: Mutex::default(),
    };
    let done = std::thread::scope(|threads| {
        let job = &job;
        let all: Vec<_> = (0..case.trainers).map(|t| threads.spawn(move || job.train(t))).collect();
        all.into_iter().map(|t| t.join().unwrap()).collect::<Result<Vec<_>>>()
    });
    let rates = job.rates.into_inner().unwrap();
    let done = done?;
    for (server, _) in servers {
        server.wait(|| false)?;
    }
    let (losses, mut ends): (Vec<_>, Vec<_>) = done.into_iter().unzip();
    Ok(Learned { losses, rates, end: ends.swap_remove(0) })
}

struct Job<'a> {
    part: &'a Part,
    case: &'a Case,
    model: &'a Model,
    servers: &'a [(Server, Scope)],
    list: &'a str,
    barrier: Barrier,
    /// The rates of each update, at each server.
    rates: Mutex<Vec<Vec<Vec<f64>>>>,
}

impl Job<'_> {
    /// Makes the steps of one trainer. Without sync trainers take turns, so that it is known which update is which.
    fn train(&self, t: usize) -> Result<(Vec<f64>, BTreeMap<String, Value>)> {
        let case = self.case;
        let mut made = Trainer::new(case, self.model, t, self.list).and_then(|trainer| {
            trainer.resume(self.part)?;
            Ok(trainer)
        });
        let mut losses = Vec::new();
        let turns = if case.counts_pushes() { case.trainers } else { 1 };
        for turn in self.part.steps.start * turns..self.part.steps.end * turns {
            let mine = turns == 1 || turn % turns == t;
            if let Some(trainer) = made.as_ref().ok().filter(|_| mine) {
                match self.step(trainer, t, turn / turns) {
                    Ok(loss) => losses.push(loss),
                    // The others are met all the same.
                    Err(e) => made = Err(e),
                }
            }
            self.barrier.wait();
            let notes = if turns == 1 { t == 0 } else { mine };
            if made.is_ok() && notes && !self.is_geo() {
                self.note_rates();
            }
            self.barrier.wait();
        }
        let trainer = made?;
        trainer.save(self.part, t)?;
        self.barrier.wait();
        let end = trainer.end(case, self.model, t)?;
        Ok((losses, end))
    }

    fn step(&self, trainer: &Trainer, t: usize, step: usize) -> Result<f64> {
        let count = if self.case.counts_pushes() { BATCH } else { BATCH / self.case.trainers };
        let from = if self.case.counts_pushes() { 0 } else { t * count };
        let before = self.pushes();
        let feeds = self.case.feed(step, from, count);
        let mut fetch = vec![self.model.loss.as_str()];
        if self.is_geo() {
            fetch.extend(self.model.rates.iter().map(String::as_str));
        }
        let found = run(&trainer.exe, &trainer.program, &feeds, &fetch, &trainer.scope)?;
        if self.is_geo() && t == 0 {
            self.rates.lock().unwrap().push(vec![found[1..].to_vec()]);
        }
        if self.case.is_late() {
            // Sent beside the computation: wait until it is there.
            let until = Instant::now() + PATIENCE;
            while self.pushes().iter().zip(&before).any(|(now, before)| now == before) && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        Ok(found[0])
    }

    fn pushes(&self) -> Vec<u64> {
        self.servers.iter().map(|(server, _)| server.summary().pushes).collect()
    }

    /// The rates of the last update.
    fn note_rates(&self) {
        let read = |scope: &Scope| -> Vec<f64> {
            let of = |name: &String| scope.tensor(name).map_or(f64::NAN, |t| t.to_f64()[0]);
            self.model.rates.iter().map(of).collect()
        };
        let rates = self.servers.iter().map(|(_, scope)| read(scope)).collect();
        self.rates.lock().unwrap().push(rates);
    }

    /// With GEO every trainer counts its own steps.
    fn is_geo(&self) -> bool {
        self.case.mode == Mode::Fleet(Strategy::Geo)
    }
}
