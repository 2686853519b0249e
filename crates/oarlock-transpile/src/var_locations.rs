//! The locations on servers of the variables of the program for one machine, for saving and loading them whole.

use indexmap::IndexMap;
use oarlock_ir::{Name, Program, Result, Var};

use super::job::Job;
use super::server::{names, owned};
use super::table::grows;

/// A variable of the program for one machine, and its parts on servers.
#[derive(Debug, Clone, PartialEq)]
pub struct VarLocations {
    /// The variable.
    pub var: Var,
    /// Its parts in the order of their rows; every server has one of a hashed table.
    pub parts: Vec<Part>,
    /// Rows are hashed over the servers.
    pub hashed: bool,
    /// Belongs to the update of a parameter; otherwise to the job, as a learning rate does.
    pub updated: bool,
}

/// Some rows of a variable, on one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The server's index.
    pub server: usize,
    /// Its endpoint.
    pub endpoint: String,
    /// The part's name there.
    pub name: Name,
    /// The first row, counted in the whole.
    pub first_row: usize,
    /// How many rows; none if every server has the whole.
    pub rows: Option<usize>,
}

/// All variables that servers have.
pub(super) fn var_locations(job: &Job, servers: &[Program]) -> Result<Vec<VarLocations>> {
    let mut all: IndexMap<Name, VarLocations> = IndexMap::new();
    for (server, program) in servers.iter().enumerate() {
        for (update, block) in owned(job, server) {
            let whole = &job.var(&update.param)?.shape;
            for (original, name) in names(job, server, update, block) {
                let Some(var) = saved(job, &original).filter(|_| program.global().var(&name).is_some()) else {
                    continue;
                };
                let rows = (var.shape == *whole).then(|| block.rows());
                let part = Part { first_row: block.first_row, rows, ..whole_part(job, server, &name) };
                entry(&mut all, var, true).parts.push(part);
            }
        }
    }
    for (server, program) in servers.iter().enumerate() {
        for name in program.global().vars.keys() {
            let Some(var) = saved(job, name).filter(|_| all.get(name).is_none_or(|k| !k.updated)) else { continue };
            let hashed = grows(job, program, name);
            let locations = entry(&mut all, var, false);
            locations.hashed = hashed;
            locations.parts.push(whole_part(job, server, name));
        }
    }
    let mut all: Vec<VarLocations> = all.into_values().collect();
    all.iter_mut().for_each(|locations| locations.parts.sort_by_key(|part| part.first_row));
    Ok(all)
}

fn entry<'a>(all: &'a mut IndexMap<Name, VarLocations>, var: &Var, updated: bool) -> &'a mut VarLocations {
    let make = || VarLocations { var: var.clone(), parts: Vec::new(), hashed: false, updated };
    all.entry(var.name.clone()).or_insert_with(make)
}

fn whole_part(job: &Job, server: usize, name: &Name) -> Part {
    let endpoint = job.placement.servers()[server].clone();
    Part { server, endpoint, name: name.clone(), first_row: 0, rows: None }
}

/// The variable, if a save on one machine would write it.
fn saved<'a>(job: &'a Job, name: &Name) -> Option<&'a Var> {
    job.main.global().var(name).filter(|var| var.holds_values())
}
