//! `oarlock ckpt`: list, verify, compare, rewrite and delete checkpoints.

use std::path::Path;

use clap::{Args, Subcommand};
use oarlock::io::{Checkpoint, Checkpoints, Difference, diff_checkpoints, open_store};
use oarlock::{Error, Kind, Result};
use serde_json::{Value as Json, json};

use crate::job_ckpt::{self, Reshard};
use crate::table::{bytes, table};

#[derive(Subcommand)]
pub(crate) enum Ckpt {
    /// List the complete checkpoints of a directory.
    List(Dir),
    /// Read every file of the checkpoints and compare its checksum.
    Verify(Verify),
    /// Show which variables differ between two checkpoints, and by how much.
    Diff(Diff),
    /// Delete all but the newest checkpoints, and what killed saves left.
    Prune(Prune),
    /// Rewrite a checkpoint of a job for another number of servers, as the next one.
    Reshard(Reshard),
}

#[derive(Args)]
pub(crate) struct Dir {
    /// The directory that holds `checkpoint_0`, `checkpoint_1` and so on.
    dir: String,
    /// Print JSON for machines.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(crate) struct Verify {
    #[command(flatten)]
    dir: Dir,
    /// Only this checkpoint.
    #[arg(long)]
    number: Option<u64>,
}

#[derive(Args)]
pub(crate) struct Diff {
    /// The folder of one checkpoint, such as `ckpt/checkpoint_0`.
    a: String,
    /// The folder of the other.
    b: String,
    /// Print JSON for machines.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(crate) struct Prune {
    #[command(flatten)]
    dir: Dir,
    /// How many to keep.
    #[arg(long, default_value_t = 1)]
    keep: usize,
}

impl Dir {
    fn open(&self) -> Result<Checkpoints> {
        // Listing a folder that is not there finds nothing; a mistyped path should not pass for that.
        if !self.dir.contains(":/") && !Path::new(&self.dir).is_dir() {
            let what = format!("there is no directory {}", self.dir);
            return Err(
                Error::new(Kind::Missing, what).help("name the directory that a trainer saves checkpoints into")
            );
        }
        Ok(Checkpoints::new(open_store(&self.dir)?))
    }

    fn show(&self, text: String, json: Json) -> String {
        show(self.json, text, &json)
    }
}

fn show(as_json: bool, text: String, json: &Json) -> String {
    if as_json { format!("{json:#}\n") } else { text }
}

impl Ckpt {
    /// Does it; returns what to print, and the exit code.
    pub(crate) fn run(self) -> Result<(String, u8)> {
        let text = match self {
            Ckpt::List(dir) => list(&dir),
            Ckpt::Verify(verify) => return verify.run(),
            Ckpt::Diff(diff) => diff.run(),
            Ckpt::Prune(prune) => prune.run(),
            Ckpt::Reshard(reshard) => reshard.run(),
        };
        Ok((text?, 0))
    }
}

/// The checkpoints as a table.
pub(crate) fn listing(found: &[Checkpoint]) -> String {
    let row = |c: &Checkpoint| {
        [
            c.number.to_string(),
            c.position.epoch.to_string(),
            c.position.step.to_string(),
            c.variables.len().to_string(),
            bytes(c.bytes),
        ]
    };
    let rows: Vec<[String; 5]> = found.iter().map(row).collect();
    table([">number", ">epoch", ">step", ">variables", ">size"], &rows)
}

/// A checkpoint for machines.
pub(crate) fn to_json(c: &Checkpoint) -> Json {
    let variables: Vec<&str> = c.variables.iter().map(|n| n.as_str()).collect();
    json!({"number": c.number, "epoch": c.position.epoch, "step": c.position.step, "variables": variables, "bytes": c.bytes})
}

fn list(dir: &Dir) -> Result<String> {
    let found = dir.open()?.list()?;
    if let Some((text, json)) = job_ckpt::list(&dir.dir)? {
        return Ok(dir.show(text, json));
    }
    let json: Vec<Json> = found.iter().map(to_json).collect();
    let text = if found.is_empty() { "no complete checkpoints\n".to_string() } else { listing(&found) };
    Ok(dir.show(text, json.into()))
}

impl Verify {
    fn run(self) -> Result<(String, u8)> {
        let checkpoints = self.dir.open()?;
        if let Some((text, json)) = job_ckpt::verify(&self.dir.dir, self.number)? {
            return Ok((self.dir.show(text, json), 0));
        }
        let numbers = match self.number {
            Some(number) => vec![number],
            None => checkpoints.list()?.iter().map(|c| c.number).collect(),
        };
        let (mut text, mut json, mut damaged) = (String::new(), Vec::new(), Vec::new());
        for number in numbers {
            match checkpoints.verify(number) {
                Ok(()) => {
                    text += &format!("checkpoint {number}: good\n");
                    json.push(json!({"number": number, "good": true}));
                }
                Err(e) => {
                    json.push(json!({"number": number, "good": false, "why": e.report().what}));
                    damaged.push(e.note(format!("in checkpoint {number}")));
                }
            }
        }
        // Machines read the list; people see what is wrong, and both see it by the exit code.
        let bad = !damaged.is_empty();
        match damaged.into_iter().next() {
            Some(e) if !self.dir.json => Err(e),
            _ => Ok((self.dir.show(text, json.into()), u8::from(bad))),
        }
    }
}

impl Diff {
    fn run(self) -> Result<String> {
        let found = diff_checkpoints(&*open_store(&self.a)?, &*open_store(&self.b)?)?;
        let rows: Vec<[String; 2]> = found.iter().map(|(name, d)| [name.to_string(), d.to_string()]).collect();
        let json: Vec<Json> = found.iter().map(|(name, d)| difference_json(name.as_str(), d)).collect();
        let text = match rows.is_empty() {
            true => "both hold the same values\n".to_string(),
            false => table(["variable", "difference"], &rows),
        };
        Ok(show(self.json, text, &json.into()))
    }
}

fn difference_json(name: &str, difference: &Difference) -> Json {
    let mut entry = json!({"variable": name, "difference": difference.to_string()});
    if let Difference::Values { count, largest } = difference {
        entry["count"] = (*count).into();
        entry["largest"] = (*largest).into();
    }
    entry
}

impl Prune {
    fn run(self) -> Result<String> {
        let gone = self.dir.open()?.prune(self.keep)?;
        let text = match gone.is_empty() {
            true => "nothing to delete\n".to_string(),
            false => gone.iter().map(|n| format!("deleted checkpoint {n}\n")).collect(),
        };
        Ok(self.dir.show(text, json!({"deleted": gone})))
    }
}
