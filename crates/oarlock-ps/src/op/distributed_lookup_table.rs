//! `distributed_lookup_table`: rows of a table that lives on servers, for several tensors of ids at once.

use std::cell::Ref;
use std::sync::Arc;

use oarlock_ir::{
    Dim, Error, In, Infer, Io, Kernel, Kind, Name, OpDef, Out, Prepare, Result, VarType, fail, kernel, sig,
};
use oarlock_tensor::{DType, Dims, Tensor};
use oarlock_transpile::ops::{LOOKUP, READ_ONLY};
use parking_lot::{Mutex, MutexGuard};

use super::{COMMUNICATES, fingerprint, servers};
use crate::client::{Client, ReadOnlyClient, Route, RowFetch, RowRequest};

pub(super) const OPS: &[&dyn OpDef] = &[&DistributedLookupTable];

struct DistributedLookupTable;

impl OpDef for DistributedLookupTable {
    sig! {
        LOOKUP: "Outputs[k] = the rows of the table for Ids[k]";
        in* "Ids": "i64 ids";
        in "W": "the table as declared; it is on the servers, and only its width is read";
        out* "Outputs": "one per tensor of ids";
        attr "table_names": "the blocks of the table";
        attr "endpoints": "the server of each block";
        attr "height_sections" = Vec::<i64>::new(), "the rows of each block";
        attr "padding_idx" = -1i64, "the row of this id is zero";
        attr "trainer_id" = 0, "who asks";
        attr "lookup_table_version" = "lookup_table", "which of the two lookups this one replaces";
        attr READ_ONLY = false, "the caller is no trainer: rows that do not exist are zero and are not made";
        attr "dtype" = DType::F32.proto(), "the element type of the rows";
        traits COMMUNICATES;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let table = cx.input("W")?;
        let width = table.shape.last().copied().unwrap_or(Dim::Any);
        let drops_last = cx.attrs().str("lookup_table_version")? == "lookup_table";
        for (n, ids) in cx.inputs("Ids")?.into_iter().enumerate() {
            let mut shape = ids.shape.0.clone();
            if drops_last {
                shape.pop();
            }
            shape.push(width);
            cx.set_nth("Outputs", n, VarType::tensor(table.dtype, shape).with_lod(ids.lod_level));
        }
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let of = TableAttrs::of_lookup(p)?;
        let lookup = RemoteLookup::new(p, p.attrs().bool(READ_ONLY)?, std::slice::from_ref(&of))?;
        kernel(move |io| lookup.run(io))
    }
}

/// The attributes of a lookup for one table.
pub(crate) struct TableAttrs {
    /// How many tensors of ids there are.
    pub(crate) ids: usize,
    pub(crate) names: Vec<String>,
    pub(crate) endpoints: Vec<String>,
    pub(crate) sections: Vec<i64>,
    pub(crate) padding: i64,
    /// The first of two lookups expects ids with a last dimension of 1, which their rows replace.
    pub(crate) drops_last: bool,
}

impl TableAttrs {
    fn of_lookup(p: &Prepare<'_>) -> Result<TableAttrs> {
        let attrs = p.attrs();
        Ok(TableAttrs {
            ids: p.op().inputs.get("Ids").len(),
            names: attrs.strs("table_names")?.to_vec(),
            endpoints: attrs.strs("endpoints")?.to_vec(),
            sections: attrs.ints("height_sections")?,
            padding: attrs.int("padding_idx")?,
            drops_last: attrs.str("lookup_table_version")? == "lookup_table",
        })
    }
}

/// Lookups in one table or several, ready to run: a request to each server, whatever their number.
pub(crate) struct RemoteLookup {
    tables: Vec<OfTable>,
    trainer: u32,
    read_only: bool,
    /// Does the program send what it learns? Then the next step will look rows up, too.
    trains: bool,
    servers: Vec<String>,
    fingerprint: String,
}

struct OfTable {
    ids: Vec<In>,
    outs: Vec<Out>,
    drops_last: bool,
    fetch: Arc<Mutex<RowFetch>>,
}

impl RemoteLookup {
    /// Of an operator whose slots hold the ids and rows of these tables one after the other.
    pub(crate) fn new(p: &Prepare<'_>, read_only: bool, of: &[TableAttrs]) -> Result<RemoteLookup> {
        let (ids, outs) = (p.inputs("Ids")?, p.outputs("Outputs")?);
        if ids.len() != outs.len() || ids.len() != of.iter().map(|attrs| attrs.ids).sum::<usize>() {
            fail!(Kind::Argument, "`{}` has {} tensors of ids and {} of rows", p.op().op_type, ids.len(), outs.len());
        }
        let (mut tables, mut from) = (Vec::new(), 0);
        for (table, attrs) in of.iter().enumerate() {
            let mine = from..from + attrs.ids;
            from = mine.end;
            tables.push(OfTable {
                ids: ids[mine.clone()].to_vec(),
                outs: outs[mine.clone()].iter().flatten().copied().collect(),
                drops_last: attrs.drops_last,
                fetch: Arc::new(Mutex::new(fetch(p, table, attrs, &p.op().inputs.get("Ids")[mine])?)),
            });
        }
        Ok(RemoteLookup {
            tables,
            trainer: p.attrs().count("trainer_id")? as u32,
            read_only,
            trains: !read_only && p.program().global().ops.iter().any(|op| op.op_type == "send"),
            servers: servers(p.program()),
            fingerprint: fingerprint(p.program()),
        })
    }

    pub(crate) fn run(&self, io: &Io<'_>) -> Result<()> {
        let mut fetches: Vec<MutexGuard<'_, RowFetch>> = self.tables.iter().map(|table| table.fetch.lock()).collect();
        self.fetch(io, &mut fetches)?;
        if !self.read_only {
            fetches.iter_mut().try_for_each(|fetch| self.check_limit(io, fetch))?;
        }
        let written = self.tables.iter().zip(&fetches).try_for_each(|(table, fetch)| table.write(io, fetch));
        fetches.iter_mut().for_each(|fetch| fetch.release());
        written
    }

    /// Are there no more rows than the table was declared for? Servers that a step does not ask may have fewer than they once said.
    fn check_limit(&self, io: &Io<'_>, fetch: &mut RowFetch) -> Result<()> {
        if fetch.check_limit().is_ok() {
            return Ok(());
        }
        let found = Client::of(io.runtime()).look_up(self.trainer, &fetch.counts())?;
        fetch.recount(&found);
        fetch.check_limit()
    }

    /// Fetches all rows, but for those that came with the last exchange.
    fn fetch(&self, io: &Io<'_>, fetches: &mut [MutexGuard<'_, RowFetch>]) -> Result<()> {
        if self.read_only {
            let missing = self.plan_missing(io, fetches, None)?;
            return self.ask(&ReadOnlyClient::of(io.runtime()).0, fetches, &missing);
        }
        let client = Client::of(io.runtime());
        if self.trains && io.runtime().replica().is_none() {
            io.runtime().next_batches().want();
            let step = client.step();
            let mut step = step.lock();
            self.tables.iter().for_each(|table| step.looked_up(&table.fetch));
        }
        let missing = self.plan_missing(io, fetches, Some(client.exchanges()))?;
        if missing.is_empty() {
            return Ok(());
        }
        client.resume(self.trainer, &self.servers, &self.fingerprint)?;
        self.ask(&client, fetches, &missing)
    }

    /// Finds out what to ask for the tables whose rows are not here as they are after the last exchange; returns which those are.
    fn plan_missing(
        &self,
        io: &Io<'_>,
        fetches: &mut [MutexGuard<'_, RowFetch>],
        last_exchange: Option<u64>,
    ) -> Result<Vec<usize>> {
        let mut missing = Vec::new();
        for (at, (table, fetch)) in self.tables.iter().zip(fetches).enumerate() {
            let tensors = table.tensors(io)?;
            let lists = table.lists(io, &tensors)?;
            if !last_exchange.is_some_and(|last| fetch.holds(lists.iter().copied(), last)) {
                fetch.plan(lists.iter().copied())?;
                missing.push(at);
            }
        }
        Ok(missing)
    }

    fn ask(&self, client: &Client, fetches: &mut [MutexGuard<'_, RowFetch>], missing: &[usize]) -> Result<()> {
        let of_table = |at: &usize| fetches[*at].requests().map(|q| ((*at, q.part), q)).collect::<Vec<_>>();
        let (places, asked): (Vec<(usize, usize)>, Vec<RowRequest<'_>>) = missing.iter().flat_map(of_table).unzip();
        let found = client.look_up(self.trainer, &asked)?;
        places.into_iter().zip(found).try_for_each(|((table, part), rows)| fetches[table].take(part, rows))
    }
}

impl OfTable {
    fn tensors<'a>(&self, io: &'a Io<'_>) -> Result<Vec<Ref<'a, Tensor>>> {
        self.ids.iter().map(|x| io.dense(*x)).collect()
    }

    fn lists<'a>(&self, io: &Io<'_>, tensors: &'a [Ref<'_, Tensor>]) -> Result<Vec<&'a [i64]>> {
        self.ids.iter().zip(tensors).map(|(input, tensor)| io.data::<i64>(*input, tensor)).collect()
    }

    /// Writes the rows of all ids.
    fn write(&self, io: &Io<'_>, fetch: &RowFetch) -> Result<()> {
        let mut at = 0;
        for (out, ids) in self.outs.iter().zip(&self.tensors(io)?) {
            let keep = ids.dims().rank() - usize::from(self.drops_last && ids.dims().rank() > 0);
            let mut dims = Dims::new(&ids.dims()[..keep]);
            dims.push(fetch.width);
            let mut tensor = io.out_sized(*out, DType::F32, dims)?;
            tensor.set_lod(ids.lod().clone());
            fetch.write(at, io.data_mut::<f32>(*out, &mut tensor)?);
            at += ids.numel();
        }
        Ok(())
    }
}

/// The rows to fetch of the table at a position of `W`, and their servers.
fn fetch(p: &Prepare<'_>, table: usize, attrs: &TableAttrs, ids: &[Name]) -> Result<RowFetch> {
    let name = p.op().inputs.get("W").get(table).cloned().unwrap_or_else(|| "".into());
    let Some(ty) = p.program().global().var(&name).map(oarlock_ir::Var::ty) else {
        fail!(Kind::Missing, "table `{name}` is not declared");
    };
    if ty.dtype != DType::F32 {
        fail!(Kind::DType, "table `{name}` holds {}, and tables on servers hold f32", ty.dtype);
    }
    let Some(width) = ty.shape.last().copied().and_then(|d| d.known()) else {
        fail!(Kind::Shape, "table `{name}` does not say how long its rows are")
    };
    let (parts, endpoints, sections) = (attrs.names.len(), attrs.endpoints.len(), attrs.sections.len());
    if parts != endpoints || sections != 0 && sections != parts {
        let what = format!("table `{name}` has {parts} parts on {endpoints} servers, with {sections} numbers of rows");
        return Err(Error::new(Kind::Argument, what).help("get the program from a transpiler"));
    }
    let at = attrs.endpoints.iter().cloned().zip(attrs.names.iter().cloned()).collect();
    let mut fetch = RowFetch::new(name, ids.to_vec(), width, at, route(&attrs.sections, parts));
    fetch.padding = (attrs.padding != -1).then_some(attrs.padding);
    if attrs.sections.is_empty() {
        fetch.limit = ty.shape.first().copied().and_then(|d| d.known()).map(|rows| rows as u64);
    }
    Ok(fetch)
}

/// Where rows are: by range if parts say how many rows they have, else hashed.
fn route(sections: &[i64], parts: usize) -> Route {
    if sections.is_empty() {
        return Route::Hashed(parts);
    }
    let mut starts = vec![0];
    for rows in sections {
        starts.push(starts.last().copied().unwrap_or(0) + rows);
    }
    Route::Ranges(starts)
}
