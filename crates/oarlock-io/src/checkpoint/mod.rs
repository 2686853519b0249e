//! Numbered checkpoints of a training run in one folder.
//!
//! A checkpoint is a folder `checkpoint_N` with all persistable variables and where the run stood. It exists once its
//! manifest does; older ones are deleted only after that.

mod diff;

use std::collections::BTreeMap;

use oarlock_ir::{Error, Kind, Name, Program, Result, Var, VarKind, VarType, Vars};
use oarlock_tensor::{DType, Value};
use serde_json::{Value as Json, json};

use crate::model::vars::{Held, hold, persistables, read_vars, set_all, stage_held};
use crate::store::{Store, View};

pub use diff::{Difference, diff_checkpoints};

const STEM: &str = "checkpoint_";
/// All tensors; selected rows have files of their own.
const PARAMS: &str = "__params__";
const STATE: &str = "oarlock.state.json";

/// Where a run stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Position {
    /// Passes over the data that were finished.
    pub epoch: u64,
    /// Steps of the present pass that were finished.
    pub step: u64,
    /// Other state that the run needs to go on as if it had not stopped: the reader's position, the state of random numbers.
    pub notes: BTreeMap<String, String>,
}

/// A complete checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Its number; later ones have higher numbers.
    pub number: u64,
    /// Where the run stood.
    pub position: Position,
    /// Its variables.
    pub variables: Vec<Name>,
    /// Bytes of all its files.
    pub bytes: u64,
}

/// The checkpoints of a folder.
pub struct Checkpoints {
    store: Box<dyn Store>,
}

impl Checkpoints {
    /// The checkpoints of a folder, which need not exist. One run at a time may save into it.
    pub fn new(store: Box<dyn Store>) -> Checkpoints {
        Checkpoints { store }
    }

    /// Saves all persistable variables as the next checkpoint, then deletes all but the newest `keep`. Returns its number.
    pub fn save(&self, program: &Program, values: &dyn Vars, position: &Position, keep: usize) -> Result<u64> {
        let held = hold(&persistables(program), values)?;
        let number = self.numbers()?.last().map_or(0, |last| last + 1);
        let (rows, dense): (Vec<Held>, Vec<Held>) =
            held.into_iter().partition(|(_, v)| matches!(**v, Value::Rows(_) | Value::Table(_)));
        let mut staging = self.folder(number)?.begin()?;
        stage_held(&mut *staging, Some(PARAMS), &dense)?;
        stage_held(&mut *staging, None, &rows)?;
        let state = format!("{:#}\n", state_json(position));
        staging.file(STATE, &[], &mut |out| out.write_all(state.as_bytes()))?;
        staging.commit()?;
        drop((rows, dense));
        self.prune(keep)?;
        Ok(number)
    }

    /// Sets all persistable variables of a program from a checkpoint, or none. Returns where the run stood.
    pub fn load(&self, number: u64, program: &Program, values: &dyn Vars) -> Result<Position> {
        let view = self.view(number)?;
        let (dense, rows): (Vec<&Var>, Vec<&Var>) =
            persistables(program).into_iter().partition(|v| v.kind != VarKind::SelectedRows && !view.has(&v.name));
        let mut loaded = read_vars(&*view, Some(PARAMS), &dense)?;
        loaded.extend(read_vars(&*view, None, &rows)?);
        let position = read_position(&*view)?;
        set_all(values, loaded)?;
        Ok(position)
    }

    /// The complete checkpoints, oldest first.
    pub fn list(&self) -> Result<Vec<Checkpoint>> {
        let mut found = Vec::new();
        for number in self.numbers()? {
            let view = self.folder(number)?.view()?;
            if is_complete(&*view) {
                let variables = variables(&*view)?.iter().map(|v| v.name.clone()).collect();
                let bytes = view.manifest().map_or(0, |m| m.files.values().map(|seal| seal.size).sum());
                found.push(Checkpoint { number, position: read_position(&*view)?, variables, bytes });
            }
        }
        Ok(found)
    }

    /// The number of the newest complete checkpoint.
    pub fn latest(&self) -> Result<Option<u64>> {
        for number in self.numbers()?.into_iter().rev() {
            if self.is_complete(number)? {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    /// The number of the newest complete checkpoint whose files are as they were saved. `warn` is called for damaged ones after it.
    pub fn latest_intact(&self, warn: &mut dyn FnMut(String)) -> Result<Option<u64>> {
        let open = |number| match self.is_complete(number)? {
            true => self.verify(number).map(|()| Some(number)),
            false => Ok(None),
        };
        first_intact(self.numbers()?.into_iter().rev(), &self.store.describe(), open, warn)
    }

    /// Reads every file of a checkpoint and compares its checksum.
    pub fn verify(&self, number: u64) -> Result<()> {
        let view = self.view(number)?;
        let names: Vec<&String> = view.manifest().into_iter().flat_map(|m| m.files.keys()).collect();
        names.into_iter().try_for_each(|name| view.open(name)?.verify())
    }

    /// How the variables of two checkpoints differ, by name; those that are equal are not listed.
    pub fn diff(&self, first: u64, second: u64) -> Result<Vec<(Name, Difference)>> {
        diff::diff_views(&*self.view(first)?, &*self.view(second)?)
    }

    /// Deletes all but the newest `keep` complete checkpoints (at least one stays), and what killed saves left before
    /// the newest. Returns the numbers of those deleted.
    pub fn prune(&self, keep: usize) -> Result<Vec<u64>> {
        let (mut kept, mut old) = (0, Vec::new());
        for number in self.numbers()?.into_iter().rev() {
            match self.is_complete(number) {
                Ok(true) if kept < keep.max(1) => kept += 1,
                Ok(true) => old.push(number),
                // One that is newer than all complete ones may be of a save under way.
                Ok(false) if kept > 0 => old.push(number),
                // What cannot be read is left for its owner to look at.
                Ok(false) | Err(_) => {}
            }
        }
        old.reverse();
        old.iter().try_for_each(|number| self.store.remove_folder(&format!("{STEM}{number}")))?;
        Ok(old)
    }

    /// Deletes all checkpoints, the oldest first.
    pub fn clear(&self) -> Result<()> {
        self.numbers()?.iter().try_for_each(|number| self.store.remove_folder(&format!("{STEM}{number}")))
    }

    fn is_complete(&self, number: u64) -> Result<bool> {
        Ok(is_complete(&*self.folder(number)?.view()?))
    }

    fn folder(&self, number: u64) -> Result<Box<dyn Store>> {
        self.store.folder(&format!("{STEM}{number}"))
    }

    /// The numbers of all checkpoints, complete or not, ascending.
    fn numbers(&self) -> Result<Vec<u64>> {
        let folders = self.store.folders()?;
        let mut numbers: Vec<u64> = folders.iter().filter_map(|f| f.strip_prefix(STEM)?.parse().ok()).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    fn view(&self, number: u64) -> Result<Box<dyn View>> {
        let missing = || {
            let what = format!("there is no complete checkpoint {number} in {}", self.store.describe());
            Err(Error::new(Kind::Missing, what).help("list the checkpoints to see which there are"))
        };
        if !self.numbers()?.contains(&number) {
            return missing();
        }
        let view = self.folder(number)?.view()?;
        if is_complete(&*view) { Ok(view) } else { missing() }
    }
}

/// The first of some numbered checkpoints that `open` finds complete and undamaged. Damaged ones are passed over, and `warn` is called for
/// them; if there are no others, the first one's damage is the error: no run should start anew without knowing.
pub fn first_intact<T>(
    numbers: impl Iterator<Item = u64>,
    folder: &str,
    mut open: impl FnMut(u64) -> Result<Option<T>>,
    warn: &mut dyn FnMut(String),
) -> Result<Option<T>> {
    let mut damage = None;
    for number in numbers {
        match open(number) {
            Ok(None) => {}
            Ok(found) => return Ok(found),
            Err(e) if matches!(e.kind(), Kind::Format | Kind::Missing) => {
                warn(format!("checkpoint {number} in {folder} is damaged, an older one is used: {}", e.report().what));
                damage = damage.or(Some(e));
            }
            Err(e) => return Err(e),
        }
    }
    match damage {
        Some(e) => Err(e.help(format!("no checkpoint in {folder} is intact: delete them to start anew"))),
        None => Ok(None),
    }
}

fn is_complete(view: &dyn View) -> bool {
    view.manifest().is_some_and(|m| m.files.contains_key(STATE))
}

fn state_json(position: &Position) -> Json {
    json!({"epoch": position.epoch, "step": position.step, "notes": position.notes})
}

fn read_position(view: &dyn View) -> Result<Position> {
    let file = view.open(STATE)?;
    let origin = file.origin().to_string();
    let read = |state: Json| -> Option<Position> {
        let text = |(k, v): (&String, &Json)| Some((k.clone(), v.as_str()?.to_string()));
        let notes = state["notes"].as_object()?.iter().map(text).collect::<Option<_>>()?;
        Some(Position { epoch: state["epoch"].as_u64()?, step: state["step"].as_u64()?, notes })
    };
    let state = serde_json::from_slice(&file.bytes()?).ok().and_then(read);
    state.ok_or_else(|| Error::new(Kind::Format, format!("{origin} does not say where the run stood")))
}

/// The variables of a checkpoint, which take what they hold.
fn variables(view: &dyn View) -> Result<Vec<Var>> {
    let Some(manifest) = view.manifest() else { return Ok(Vec::new()) };
    let any = |name: &str, kind| {
        let mut var = Var::new(name, VarType::tensor(DType::F32, vec![]).with_kind(kind));
        var.dtype = oarlock_ir::VarDType::Other(-1);
        var
    };
    let dense = manifest.files.get(PARAMS).into_iter().flat_map(|seal| &seal.variables);
    let rows = manifest.files.keys().filter(|name| ![PARAMS, STATE].contains(&name.as_str()));
    let all = dense.map(|n| any(n, VarKind::Tensor)).chain(rows.map(|n| any(n, VarKind::SelectedRows)));
    Ok(all.collect())
}
