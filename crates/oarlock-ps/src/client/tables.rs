//! Reading tables of servers that run, without being one of their trainers.

use std::sync::Arc;
use std::time::Duration;

use oarlock_io::TableFiles;
use oarlock_ir::{Error, Kind, Result, Runtime, Var};
use oarlock_tensor::table::SHARDS;
use oarlock_tensor::{SelectedRows, Value};

use super::{Client, ClientOptions, Request};
use crate::message::{RowsOf, Served, Tables, ValueReader, kind};
use oarlock_net::codec::{Reader, Writer};
use oarlock_net::{Incoming, READS};
use oarlock_transpile::RemoteTable;
use oarlock_transpile::placement::block_name;

/// After so long without a connection, a server that is to be read is gone.
const GONE: Duration = Duration::from_secs(6);

/// Somebody who only reads: no server counts it as a trainer, and no row is made for it.
pub(crate) struct Onlooker(pub(crate) Client);

impl Onlooker {
    /// The onlooker of a runtime; made when it is first needed.
    pub(crate) fn of(runtime: &Runtime) -> Arc<Onlooker> {
        let mut options = ClientOptions::of(runtime);
        // Servers that are to be read run already: nobody waits for their start.
        options.deadline = options.deadline.min(options.reconnect);
        options.reconnect = options.reconnect.min(GONE);
        // Which job they are of, only who launched it knows; the token, if they have one, must be known.
        if options.net.job.is_empty() {
            options.net.hello = READS.to_vec();
        }
        runtime.get_or_provide(|| Onlooker(Client::looking(options)))
    }
}

/// Finds tables on the servers of a job that runs. All servers must be named, in any order.
pub fn find_tables(runtime: &Runtime, servers: &[String], tables: &[&Var]) -> Result<Vec<RemoteTable>> {
    if servers.is_empty() {
        return Err(Error::new(Kind::Argument, "no server is named").help("name all servers of the job: `host:port`"));
    }
    let onlooker = Onlooker::of(runtime);
    let mut all: Vec<(String, Tables)> = Vec::new();
    for server in servers {
        all.push((server.clone(), onlooker.0.ask_tables(server)?));
    }
    check_complete(&all)?;
    all.sort_by_key(|(_, says)| says.server);
    tables.iter().map(|table| find(&all, table)).collect()
}

impl Client {
    /// Fetches the rows of a table from a server, some after the other: all that it keeps of `name`.
    pub(crate) fn fetch_rows(
        &self,
        trainer: u32,
        server: &str,
        name: &str,
        take: &mut dyn FnMut(&SelectedRows) -> Result<()>,
    ) -> Result<()> {
        let enough = self.options.tables.part_bytes.min(FETCHED_AT_ONCE) as u64;
        let (about, mut from) = (|| format!("rows of `{name}`"), 0);
        while from < SHARDS {
            let mut meta = Writer::new();
            RowsOf { name: name.to_string(), from: from as u32, enough }.encode(&mut meta);
            let request = Request { kind: kind::ROWS, meta: meta.as_bytes(), sections: &[], about: &about };
            let (next, rows) = self.ask_one(trainer, server, &request, read_rows)?;
            if next <= from {
                return Err(Error::new(Kind::Format, format!("server {server} sent rows of nothing")));
            }
            take(&rows)?;
            from = next;
        }
        Ok(())
    }

    /// How tables are saved.
    pub(crate) fn table_files(&self) -> TableFiles {
        self.options.tables
    }

    fn ask_tables(&self, server: &str) -> Result<Tables> {
        let about = || "the list of its tables".to_string();
        let request = Request { kind: kind::TABLES, meta: &[], sections: &[], about: &about };
        self.ask_one(0, server, &request, |reply| Tables::decode(&mut Reader::new(reply.meta(), "a list of tables")))
    }
}

/// Bytes of rows that one reply brings, about.
const FETCHED_AT_ONCE: usize = 32 << 20;

fn read_rows(reply: &Incoming) -> Result<(usize, SelectedRows)> {
    let mut meta = Reader::new(reply.meta(), "rows of a table");
    let next = meta.u32()? as usize;
    let mut values = ValueReader::new(reply, &mut meta)?;
    let mut value = Value::Empty;
    if values.next(&mut meta)?.is_some() {
        values.value(&mut meta, &mut value)?;
    }
    match value {
        Value::Rows(rows) => Ok((next, rows)),
        other => Err(Error::new(Kind::Format, format!("a server sent {} as rows of a table", other.kind()))),
    }
}

/// Where a row is follows from how many servers there are: one that is left out would be noticed by nobody.
fn check_complete(all: &[(String, Tables)]) -> Result<()> {
    for (at, (server, says)) in all.iter().enumerate() {
        let count = says.servers as usize;
        if count > 0 && count != all.len() {
            let what = format!("{} servers are named, and the job of server {server} has {count}", all.len());
            return Err(Error::new(Kind::Argument, what).help("name all servers of one job"));
        }
        if let Some((other, _)) = all[..at].iter().find(|(_, o)| o.server.is_some() && o.server == says.server) {
            let number = says.server.unwrap_or_default();
            let what = format!("{other} and {server} are both server {number} of their job");
            return Err(Error::new(Kind::Argument, what).help("name all servers of one job, each once"));
        }
    }
    Ok(())
}

/// Every server has rows of a hashed table; other tables are cut into blocks, each on one server.
fn find(all: &[(String, Tables)], table: &Var) -> Result<RemoteTable> {
    let name = &table.name;
    let entry = |says: &Tables, name: &str| says.tables.iter().find(|t| t.name == name).cloned();
    let hashed: Vec<(String, Served)> =
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

fn place(table: &Var, parts: Vec<(String, String, Served)>) -> Result<RemoteTable> {
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
