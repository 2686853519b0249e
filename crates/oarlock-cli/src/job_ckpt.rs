//! `oarlock ckpt` on the checkpoints of a job with parameter servers.

use clap::Args;
use oarlock::ps::checkpoint::{JobCheckpoint, JobCheckpoints};
use oarlock::{Error, Kind, Result};
use serde_json::{Value as Json, json};

use crate::table::{bytes, table};

#[derive(Args)]
pub(crate) struct Reshard {
    /// The directory that holds the checkpoints of a job.
    dir: String,
    /// For how many servers to write it.
    #[arg(long)]
    servers: usize,
    /// Which checkpoint; the newest if left out.
    #[arg(long)]
    number: Option<u64>,
    /// Print JSON for machines.
    #[arg(long)]
    json: bool,
}

impl Reshard {
    pub(crate) fn run(self) -> Result<String> {
        if self.servers == 0 {
            return Err(Error::new(Kind::Argument, "--servers must be at least 1"));
        }
        let saved = JobCheckpoints::at(&self.dir)?;
        let found = match self.number {
            Some(number) => saved.open(number)?,
            None => saved.latest()?,
        };
        let Some(found) = found else {
            let what = match self.number {
                Some(number) => format!("there is no complete checkpoint {number} of a job in {}", self.dir),
                None => format!("there is no complete checkpoint of a job in {}", self.dir),
            };
            return Err(
                Error::new(Kind::Missing, what).help("name the directory that fleet.save_checkpoint saves into")
            );
        };
        let number = saved.reshard(&found, self.servers)?;
        let (old, was, servers) = (found.number, found.servers, self.servers);
        if self.json {
            let made = json!({"number": number, "servers": servers, "from": {"number": old, "servers": was}});
            return Ok(format!("{made:#}\n"));
        }
        Ok(format!("checkpoint {number} is checkpoint {old} of {was} servers, rewritten for {servers} servers\n"))
    }
}

/// The checkpoints of a job, as text and for machines; `None` if there are none.
pub(crate) fn list(dir: &str) -> Result<Option<(String, Json)>> {
    let found = JobCheckpoints::at(dir)?.list()?;
    if found.is_empty() {
        return Ok(None);
    }
    let (mut rows, mut json) = (Vec::new(), Vec::new());
    for c in &found {
        let size = c.bytes()?;
        let parts = format!("{} servers, {} trainers", c.servers, c.trainers);
        rows.push([c.number.to_string(), c.step.to_string(), parts, bytes(size)]);
        json.push(
            json!({"number": c.number, "step": c.step, "servers": c.servers, "trainers": c.trainers, "bytes": size}),
        );
    }
    Ok(Some((table([">number", ">step", "of", ">size"], &rows), json.into())))
}

/// Reads every file of the checkpoints of a job.
pub(crate) fn verify(dir: &str, number: Option<u64>) -> Result<Option<(String, Json)>> {
    let found = JobCheckpoints::at(dir)?.list()?;
    let chosen: Vec<&JobCheckpoint> = found.iter().filter(|c| number.is_none_or(|n| n == c.number)).collect();
    if chosen.is_empty() {
        return Ok(None);
    }
    for c in &chosen {
        c.verify().map_err(|e| e.note(format!("in checkpoint {}", c.number)))?;
    }
    let numbers: Vec<u64> = chosen.iter().map(|c| c.number).collect();
    let text = numbers.iter().map(|number| format!("checkpoint {number}: good\n")).collect();
    let json: Vec<Json> = numbers.iter().map(|number| json!({"number": number, "good": true})).collect();
    Ok(Some((text, json.into())))
}
