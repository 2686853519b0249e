//! A read-only client: it reads tables of servers that run, without being one of their trainers.

use std::sync::Arc;
use std::time::Duration;

use oarlock_io::TableFiles;
use oarlock_ir::{Error, Kind, Result, Runtime, Var};

use super::{Client, ClientOptions};
use crate::PsState;
use crate::request::tables::{ServedTable, Tables};
use oarlock_net::READS;
use oarlock_transpile::RemoteTable;
use oarlock_transpile::placement::block_name;

/// A server without a connection for this time is gone.
const GONE: Duration = Duration::from_secs(6);

/// A client that only reads: no server counts it as a trainer, and no row is made for it.
pub(crate) struct ReadOnlyClient(pub(crate) Client);

impl ReadOnlyClient {
    /// The read-only client of a runtime; made when it is first needed.
    pub(crate) fn of(runtime: &Runtime) -> Arc<ReadOnlyClient> {
        let mut options = ClientOptions::of(runtime);
        // Servers that are to be read run already: this does not wait for their start.
        options.deadline = options.deadline.min(options.reconnect);
        options.reconnect = options.reconnect.min(GONE);
        // A reader need not know the job id; the token, if the job has one, it must know.
        if options.net.job.is_empty() {
            options.net.hello = READS.to_vec();
        }
        PsState::of(runtime).reader_or_make(|| ReadOnlyClient(Client::read_only(options)))
    }
}

/// Finds tables on the servers of a job that runs. All servers must be named, in any order.
pub fn find_tables(runtime: &Runtime, servers: &[String], tables: &[&Var]) -> Result<Vec<RemoteTable>> {
    if servers.is_empty() {
        return Err(Error::new(Kind::Argument, "no server is named").help("name all servers of the job: `host:port`"));
    }
    let reader = ReadOnlyClient::of(runtime);
    let mut all: Vec<(String, Tables)> = Vec::new();
    for server in servers {
        all.push((server.clone(), reader.0.tables_of(server)?));
    }
    check_complete(&all)?;
    all.sort_by_key(|(_, says)| says.server());
    tables.iter().map(|table| find(&all, table)).collect()
}

impl Client {
    /// The layout of saved tables.
    pub(crate) fn table_files(&self) -> TableFiles {
        self.options.tables
    }
}

/// Where a row is follows from how many servers there are: one that is left out would go unnoticed.
fn check_complete(all: &[(String, Tables)]) -> Result<()> {
    for (at, (server, says)) in all.iter().enumerate() {
        let count = says.servers as usize;
        if count > 0 && count != all.len() {
            let what = format!("{} servers are named, and the job of server {server} has {count}", all.len());
            return Err(Error::new(Kind::Argument, what).help("name all servers of one job"));
        }
        if let Some((other, _)) = all[..at].iter().find(|(_, o)| o.server().is_some() && o.server() == says.server()) {
            let number = says.server().unwrap_or_default();
            let what = format!("{other} and {server} are both server {number} of their job");
            return Err(Error::new(Kind::Argument, what).help("name all servers of one job, each once"));
        }
    }
    Ok(())
}

/// Every server has rows of a hashed table; other tables are partitioned into blocks, each on one server.
fn find(all: &[(String, Tables)], table: &Var) -> Result<RemoteTable> {
    let name = &table.name;
    let entry = |says: &Tables, name: &str| says.tables.iter().find(|t| t.name == name).cloned();
    let hashed: Vec<(String, ServedTable)> =
        all.iter().filter_map(|(at, says)| Some((at.clone(), entry(says, name).filter(|t| t.hashed)?))).collect();
    if hashed.len() == all.len() {
        return place(table, hashed.into_iter().map(|(at, part)| (at, name.to_string(), part)).collect());
    }
    let on_some = |name: &str| all.iter().find_map(|(at, says)| Some((at.clone(), entry(says, name)?)));
    let mut parts = Vec::new();
    match on_some(name) {
        Some((at, part)) => parts.push((at, name.to_string(), part)),
        None => {
            let blocks = (0..).map(|index| block_name(name, index).to_string());
            parts.extend(blocks.map_while(|block| on_some(&block).map(|(at, part)| (at, block, part))));
        }
    }
    place(table, parts)
}

fn place(table: &Var, parts: Vec<(String, String, ServedTable)>) -> Result<RemoteTable> {
    let name = &table.name;
    if parts.is_empty() {
        return Err(Error::new(Kind::Missing, format!("the model looks rows up in `{name}`, which no server has"))
            .help("name the servers of the job that trains this model"));
    }
    let width: Option<usize> =
        table.shape.iter().skip(1).try_fold(1, |all: usize, size| all.checked_mul(size.known()?));
    if let Some((server, _, part)) = parts.iter().find(|(_, _, part)| Some(part.width as usize) != width) {
        let what = format!("server {server} keeps rows of {} elements for `{name}`", part.width);
        let error = Error::new(Kind::Shape, format!("{what}, and the model declares {}", table.shape));
        return Err(error.help("load the model that these servers train"));
    }
    let hashed = parts.iter().all(|(_, _, part)| part.hashed);
    let rows = parts.iter().fold(0_u64, |all, (_, _, part)| all.saturating_add(part.rows));
    let declared = table.shape.first().and_then(|size| size.known());
    if !hashed && declared.is_some_and(|declared| declared as u64 != rows) {
        let what = format!("the servers keep {rows} rows of `{name}`, and the model declares {}", table.shape);
        return Err(Error::new(Kind::Shape, what).help("name all servers of the job that trains this model"));
    }
    let sections = if hashed { Vec::new() } else { parts.iter().map(|(_, _, part)| part.rows as i64).collect() };
    let parts = parts.into_iter().map(|(server, part, _)| (server, part)).collect();
    Ok(RemoteTable { name: name.clone(), parts, sections })
}
