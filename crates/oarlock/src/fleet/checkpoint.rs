//! Checkpoints of a whole job: what servers keep and where every trainer stands, under one manifest.
//!
//! Workers that are in step do an all-gather, so that all stand after the same step; the others send notifications, and none waits. Either way
//! servers only take a snapshot while the call lasts: they write it afterwards, and a thread of the first worker completes the checkpoint
//! when all have.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::JoinHandle;

use oarlock_exec::Scope;
use oarlock_io::{Position, encode_vars, load_vars_from_bytes, persistables};
use oarlock_ir::{Error, Kind, Name, Result, Runtime, Var};
use oarlock_ps::PsState;
use oarlock_ps::checkpoint::{JobCheckpoint, JobCheckpoints};
use oarlock_ps::client::{Client, SnapshotRequest};
use oarlock_transpile::DistributeTranspiler;

use serde_json::{Value as Json, json};
use tracing::{info, warn};

use crate::high_level::resumed;

/// Where a worker saves.
#[derive(Debug, Clone)]
pub struct JobSaves<'a> {
    /// The programs of the job.
    pub transpiler: &'a DistributeTranspiler,
    /// The folder of all checkpoints: a path or a URL, the same for all processes.
    pub dir: &'a str,
    /// How many to keep.
    pub keep: usize,
}

impl JobSaves<'_> {
    /// Every worker calls it, at the same step if they are in step. Returns as soon as training may go on. An error of the
    /// checkpoint before shows here.
    pub fn save(&self, runtime: &Arc<Runtime>, scope: &Scope, position: &Position) -> Result<()> {
        let (trainer, trainers) = (self.transpiler.trainer_id()?, self.transpiler.trainers()?);
        let own = self.own_state(runtime, scope, position)?;
        let client = Client::of(runtime);
        let servers = self.transpiler.placement()?.servers().to_vec();
        let first = trainer == 0;
        if first {
            finish_checkpoint(runtime)?;
        }
        if !self.transpiler.is_in_step() {
            let states = client.notify(trainer as u32, &servers[0], &own, trainers)?;
            if first {
                let snapshot = self.begin(&client, servers)?;
                self.complete_later(runtime, &client, snapshot, states)?;
            }
            return Ok(());
        }
        let states = all_gather(&client, trainer, trainers, &servers, "checkpoint", &own)?;
        let begun = if first { Some(self.begin(&client, servers.clone())) } else { None };
        // No worker goes on before all servers have their snapshot; the one that could not begin it reports that afterwards.
        all_gather(&client, trainer, trainers, &servers, "checkpoint begun", &[])?;
        match begun {
            Some(snapshot) => self.complete_later(runtime, &client, snapshot?, states),
            None => Ok(()),
        }
    }

    fn begin(&self, client: &Client, servers: Vec<String>) -> Result<SnapshotRequest> {
        let number = JobCheckpoints::at(self.dir)?.next_number()?;
        let snapshot =
            SnapshotRequest { dir: self.dir.to_string(), number, servers, variables: self.transpiler.var_locations()? };
        client.begin_snapshot(0, &snapshot)?;
        Ok(snapshot)
    }

    fn complete_later(
        &self,
        runtime: &Runtime,
        client: &Arc<Client>,
        snapshot: SnapshotRequest,
        states: Vec<Vec<u8>>,
    ) -> Result<()> {
        let (client, keep) = (client.clone(), self.keep);
        let work = move || {
            client.finish_snapshot(0, &snapshot)?;
            JobCheckpoints::at(&snapshot.dir)?.complete(
                snapshot.number,
                &snapshot.variables,
                snapshot.servers.len(),
                &states,
                keep,
            )
        };
        let thread = std::thread::Builder::new().name("oarlock-checkpoint".into()).spawn(work);
        let thread = thread.map_err(|e| Error::new(Kind::Io, format!("no thread for a checkpoint: {e}")))?;
        PsState::of(runtime).set_saving(Some(thread));
        Ok(())
    }

    /// The state from which this worker goes on: its position, where its random numbers stand, and variables that no server keeps.
    fn own_state(&self, runtime: &Runtime, scope: &Scope, position: &Position) -> Result<Vec<u8>> {
        let program = self.transpiler.program()?;
        let away = self.transpiler.var_locations()?;
        let local: Vec<&Var> = persistables(program)
            .into_iter()
            .filter(|var| !away.iter().any(|kept| kept.var.name == var.name) && holds_tensor(scope, &var.name))
            .collect();
        let names: Vec<&str> = local.iter().map(|var| var.name.as_str()).collect();
        let head = json!({
            "epoch": position.epoch, "step": position.step, "notes": position.notes, "seeds": runtime.seeds(), "variables": names,
        });
        let head = head.to_string().into_bytes();
        let mut bytes = (head.len() as u64).to_le_bytes().to_vec();
        bytes.extend(head);
        bytes.extend(encode_vars(&local, scope)?);
        Ok(bytes)
    }

    /// Restores a worker to where the newest checkpoint was taken: after its startup program, which fetches what servers keep.
    /// `None` if there is no checkpoint, or the worker sent no notification before it was taken.
    pub fn restore(&self, runtime: &Runtime, scope: &Scope) -> Result<Option<Position>> {
        let found = JobCheckpoints::at(self.dir)?.latest_intact(&mut |line| warn!("{line}"))?;
        let Some(checkpoint) = found else { return Ok(None) };
        let (trainer, trainers) = (self.transpiler.trainer_id()?, self.transpiler.trainers()?);
        if checkpoint.trainers != trainers {
            let what = format!(
                "checkpoint {} is of {} trainers, and there are {trainers}",
                checkpoint.number, checkpoint.trainers
            );
            return Err(Error::new(Kind::Argument, what).help(
                "positions in the data belong to trainers: start as many, or load with init_server alone and begin a pass anew",
            ));
        }
        let bytes = checkpoint.trainer(trainer)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let bad = || {
            Error::new(Kind::Format, format!("trainer {trainer}'s part of checkpoint {} is damaged", checkpoint.number))
        };
        let (head, rest) = split(&bytes).ok_or_else(bad)?;
        let (position, seeds, names) = parse(&head).ok_or_else(bad)?;
        let program = self.transpiler.program()?;
        let vars: Vec<&Var> =
            names.iter().filter_map(|name| program.vars().find(|var| var.name.as_str() == name)).collect();
        load_vars_from_bytes(rest, &vars, scope)?;
        runtime.set_seeds(seeds);
        let what = resumed(checkpoint.number, self.dir, &position);
        info!(rank = trainer, step = position.step, "trainer {trainer}: {what}");
        Ok(Some(position))
    }
}

/// The newest intact checkpoint of a job, from which a server is made ready. Logs which it is, and which are damaged.
pub fn newest_checkpoint(dir: &str) -> Result<Option<JobCheckpoint>> {
    let found = JobCheckpoints::at(dir)?.latest_intact(&mut |line| warn!("{line}"))?;
    if let Some(JobCheckpoint { number, step, .. }) = &found {
        info!(step, "this server resumes from checkpoint {number} in {dir}: after {step} steps");
    }
    Ok(found)
}

/// Waits until the checkpoint under way is complete; an error of it is returned here.
pub fn finish_checkpoint(runtime: &Runtime) -> Result<()> {
    match PsState::of(runtime).set_saving(None).map(JoinHandle::join) {
        None => Ok(()),
        Some(Ok(result)) => result,
        Some(Err(_)) => Err(Error::internal("the thread of a checkpoint panicked")),
    }
}

fn all_gather(
    client: &Client,
    trainer: usize,
    trainers: usize,
    servers: &[String],
    purpose: &str,
    own: &[u8],
) -> Result<Vec<Vec<u8>>> {
    if trainers == 1 {
        return Ok(vec![own.to_vec()]);
    }
    client.all_gather_bytes(trainer as u32, servers, purpose, own)
}

fn holds_tensor(scope: &Scope, name: &Name) -> bool {
    scope.find(name).is_some_and(|var| var.read().dense().is_ok())
}

fn split(bytes: &[u8]) -> Option<(Json, &[u8])> {
    let (len, rest) = bytes.split_first_chunk::<8>()?;
    let len = usize::try_from(u64::from_le_bytes(*len)).ok()?;
    let head = serde_json::from_slice(rest.get(..len)?).ok()?;
    Some((head, &rest[len..]))
}

fn parse(head: &Json) -> Option<(Position, Option<u64>, Vec<String>)> {
    let text = |(key, value): (&String, &Json)| Some((key.clone(), value.as_str()?.to_string()));
    let notes = head["notes"].as_object()?.iter().map(text).collect::<Option<BTreeMap<_, _>>>()?;
    let names = head["variables"].as_array()?.iter().map(|v| v.as_str().map(str::to_string)).collect::<Option<_>>()?;
    let position = Position { epoch: head["epoch"].as_u64()?, step: head["step"].as_u64()?, notes };
    Some((position, head["seeds"].as_u64(), names))
}
