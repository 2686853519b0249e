//! `oarlock inspect`: what is at a path.

use clap::Args;
use oarlock::io::{self, FileState, Inspection};
use oarlock::ir::{Name, fail};
use oarlock::{Kind, Options, Result};
use serde_json::{Value as Json, json};

use crate::ckpt;
use crate::table::{bytes, table};

#[derive(Args)]
pub(crate) struct Inspect {
    /// A model, a directory of variables or of checkpoints, or a file of variables.
    path: String,
    /// Print the network of a model as text, too.
    #[arg(long)]
    program: bool,
    /// Print how the network of a model is compiled, too: what each pass changes, and the plan.
    #[arg(long)]
    plan: bool,
    /// Print JSON for machines.
    #[arg(long)]
    json: bool,
}

impl Inspect {
    pub(crate) fn run(self) -> Result<String> {
        let found = io::inspect(&self.path)?;
        let plan = if self.plan { Some(plan(&found, &self.path)?) } else { None };
        if self.json {
            let mut all = to_json(&found, self.program);
            if let Some(plan) = plan {
                all["plan"] = plan.into();
            }
            return Ok(format!("{all:#}\n"));
        }
        Ok(to_text(&found, &self.path, self.program) + &plan.map_or(String::new(), |plan| format!("\n{plan}")))
    }
}

/// Explains how the network of a model is compiled for its feeds and fetches.
fn plan(found: &Inspection, path: &str) -> Result<String> {
    let Some(model) = &found.model else {
        fail!(Kind::Argument, "{path} is {}, which has no network to plan", found.what);
    };
    let (feeds, fetches): (Vec<&str>, Vec<&str>) =
        (model.feeds.iter().map(Name::as_str).collect(), model.fetches.iter().map(Name::as_str).collect());
    Options::from_env()?.executor().explain(&model.program, &feeds, &fetches)
}

fn state(state: &FileState) -> &str {
    match state {
        FileState::Good => "good",
        FileState::Unchecked => "unchecked",
        FileState::Damaged(_) => "DAMAGED",
    }
}

fn to_text(found: &Inspection, path: &str, program: bool) -> String {
    let mut text = format!("{path}: {}\n", found.what);
    if let Some(model) = &found.model {
        let list = |names: &[Name]| {
            let one = |n: &Name| match model.program.global().var(n) {
                Some(var) => format!("  {n}: {}\n", var.ty()),
                None => format!("  {n}\n"),
            };
            names.iter().map(one).collect::<String>()
        };
        text += &format!("\nfeeds\n{}\nfetches\n{}", list(&model.feeds), list(&model.fetches));
    }
    if !found.checkpoints.is_empty() {
        text += &format!("\n{}", ckpt::listing(&found.checkpoints));
    }
    if !found.variables.is_empty() {
        let size = |n: Option<usize>| n.map_or("?".to_string(), |n| bytes(n as u64));
        let rows: Vec<[String; 4]> =
            found.variables.iter().map(|v| [v.name.to_string(), v.ty.clone(), size(v.bytes), v.file.clone()]).collect();
        text += &format!("\n{}", table(["variable", "type", ">size", "file"], &rows));
    }
    if !found.files.is_empty() {
        let rows: Vec<[String; 3]> =
            found.files.iter().map(|f| [f.name.clone(), bytes(f.bytes), state(&f.state).to_string()]).collect();
        text += &format!("\n{}", table(["file", ">size", "checksum"], &rows));
        for f in &found.files {
            if let FileState::Damaged(why) = &f.state {
                text += &format!("\n{why}\n");
            }
        }
    }
    match &found.model {
        Some(model) if program => text + "\n" + &model.program.to_text(),
        _ => text,
    }
}

fn to_json(found: &Inspection, program: bool) -> Json {
    let names = |names: &[Name]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    let variables = found
        .variables
        .iter()
        .map(|v| json!({"name": v.name.as_str(), "type": v.ty, "bytes": v.bytes, "file": v.file}));
    let files = found.files.iter().map(|f| {
        let mut entry = json!({"name": f.name, "bytes": f.bytes, "state": state(&f.state).to_lowercase()});
        if let FileState::Damaged(why) = &f.state {
            entry["why"] = why.as_str().into();
        }
        entry
    });
    let mut all = json!({
        "what": found.what,
        "variables": variables.collect::<Vec<_>>(),
        "files": files.collect::<Vec<_>>(),
        "checkpoints": found.checkpoints.iter().map(ckpt::to_json).collect::<Vec<_>>(),
    });
    if let Some(model) = &found.model {
        all["feeds"] = names(&model.feeds).into();
        all["fetches"] = names(&model.fetches).into();
        if program {
            all["program"] = model.program.to_text().into();
        }
    }
    all
}
