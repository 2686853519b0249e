//! `distributed_lookup_table`: rows of a table that lives on servers, for several tensors of ids at once.

use std::cell::Ref;

use oarlock_ir::{
    Dim, Error, In, Infer, Io, Kernel, Kind, Name, Op, OpDef, Out, Prepare, Result, Sig, Traits, VarType, fail, kernel,
};
use oarlock_tensor::{DType, Dims, Tensor};

use super::{COMMUNICATES, fingerprint, servers};
use crate::client::{Client, NO_ROW, Onlooker, Route, RowPlan};

pub(super) const OPS: &[&dyn OpDef] = &[&DistributedLookupTable];

/// Its type.
pub(crate) const LOOKUP: &str = "distributed_lookup_table";

/// The lookups of somebody who only reads.
pub(crate) const READ_ONLY: &str = "oarlock_read_only";

/// A lookup of `ids` in `table`. Where its blocks live is added by attribute.
pub(crate) fn distributed_lookup_table(ids: Vec<Name>, table: &Name, rows: Vec<Name>, dtype: DType) -> Op {
    Op::new(LOOKUP).input("Ids", ids).input("W", [table]).output("Outputs", rows).attr("dtype", dtype.proto())
}

struct DistributedLookupTable;

impl OpDef for DistributedLookupTable {
    fn sig(&self) -> Sig {
        Sig::new(LOOKUP, "Outputs[k] = the rows of the table for Ids[k]")
            .inputs("Ids", "i64 ids")
            .input("W", "the table as declared; it is on the servers, and only its width is read")
            .outputs("Outputs", "one per tensor of ids")
            .required_attr("table_names", "the blocks of the table")
            .required_attr("endpoints", "the server of each block")
            .attr("height_sections", Vec::<i64>::new(), "the rows of each block")
            .attr("padding_idx", -1i64, "the row of this id is zero")
            .attr("trainer_id", 0, "who asks")
            .attr("lookup_table_version", "lookup_table", "which of the two lookups this one replaces")
            .attr(READ_ONLY, false, "whoever asks is no trainer: rows that do not exist are zero and are not made")
            .attr("dtype", DType::F32.proto(), "the element type of the rows")
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
        let mut lookup = RemoteLookup::new(p)?;
        kernel(move |io| lookup.run(io))
    }

    fn traits(&self) -> Traits {
        COMMUNICATES
    }
}

/// A lookup, ready to run.
struct RemoteLookup {
    table: Name,
    ids: Vec<In>,
    outs: Vec<Out>,
    width: usize,
    /// The first of two lookups expects ids with a last dimension of 1, which their rows replace.
    drops_last: bool,
    padding: Option<i64>,
    trainer: u32,
    read_only: bool,
    /// Each part of the table: its server, and its name there.
    parts: Vec<(String, String)>,
    servers: Vec<String>,
    fingerprint: String,
    route: Route,
    plan: RowPlan,
    rows: Vec<f32>,
}

impl RemoteLookup {
    fn new(p: &Prepare<'_>) -> Result<RemoteLookup> {
        let attrs = p.attrs();
        let table = p.op().inputs.get("W").first().cloned().unwrap_or_else(|| "".into());
        if p.dtype("W")? != DType::F32 {
            fail!(Kind::DType, "table `{table}` holds {}, and tables on servers hold f32", p.dtype("W")?);
        }
        let width = p.var("W").and_then(|v| v.shape.last().copied()).and_then(|d| d.known());
        let Some(width) = width else { fail!(Kind::Shape, "table `{table}` does not say how long its rows are") };
        let (names, endpoints) = (attrs.strs("table_names")?, attrs.strs("endpoints")?);
        let sections = attrs.ints("height_sections")?;
        if names.len() != endpoints.len() || !sections.is_empty() && sections.len() != names.len() {
            let what = format!(
                "table `{table}` has {} parts on {} servers, with {} numbers of rows",
                names.len(),
                endpoints.len(),
                sections.len()
            );
            return Err(Error::new(Kind::Argument, what).help("get the program from a transpiler"));
        }
        let padding = attrs.int("padding_idx")?;
        Ok(RemoteLookup {
            ids: p.inputs("Ids")?,
            outs: p.outputs("Outputs")?.into_iter().flatten().collect(),
            width,
            drops_last: attrs.str("lookup_table_version")? == "lookup_table",
            padding: (padding != -1).then_some(padding),
            trainer: attrs.count("trainer_id")? as u32,
            read_only: attrs.bool(READ_ONLY)?,
            parts: endpoints.iter().cloned().zip(names.iter().cloned()).collect(),
            servers: servers(p.program()),
            fingerprint: fingerprint(p.program()),
            route: route(&sections, names.len()),
            plan: RowPlan::default(),
            rows: Vec::new(),
            table,
        })
    }

    fn run(&mut self, io: &Io<'_>) -> Result<()> {
        let ids: Vec<Ref<'_, Tensor>> = self.ids.iter().map(|x| io.dense(*x)).collect::<Result<_>>()?;
        let mut lists: Vec<&[i64]> = Vec::with_capacity(ids.len());
        for (input, tensor) in self.ids.iter().zip(&ids) {
            lists.push(io.data::<i64>(*input, tensor)?);
        }
        self.plan.plan(lists.iter().copied(), self.padding, &self.route, self.parts.len(), &self.table)?;
        self.fetch(io)?;
        let mut at = 0;
        for ((out, tensor), list) in self.outs.iter().zip(&ids).zip(&lists) {
            self.write(io, *out, tensor, at)?;
            at += list.len();
        }
        Ok(())
    }

    fn fetch(&mut self, io: &Io<'_>) -> Result<()> {
        if self.read_only {
            return self.fetch_from(&Onlooker::of(io.runtime()).0, io);
        }
        let client = Client::of(io.runtime());
        client.resume(self.trainer, &self.servers, &self.fingerprint)?;
        self.fetch_from(&client, io)
    }

    fn fetch_from(&mut self, client: &Client, io: &Io<'_>) -> Result<()> {
        let width = self.width;
        self.rows.resize(self.plan.rows() * width, 0.0);
        let asked: Vec<(usize, &str, &str, &[i64])> = self
            .parts
            .iter()
            .zip(&self.plan.parts)
            .enumerate()
            .filter(|(_, (_, (ids, _)))| !ids.is_empty())
            .map(|(part, ((server, name), (ids, _)))| (part, server.as_str(), name.as_str(), &ids[..]))
            .collect();
        let questions: Vec<(&str, &str, &[i64])> = asked.iter().map(|(_, s, n, ids)| (*s, *n, *ids)).collect();
        let (rows, plan) = (&mut self.rows, &self.plan);
        client.look_up(self.trainer, &questions, |k, found| {
            let (part, server, _, ids) = asked[k];
            if found.len() != ids.len() * width {
                let what = format!("server {server} sent {} elements for {} rows of {width}", found.len(), ids.len());
                return Err(io.op_error(Kind::Shape, what));
            }
            for (row, values) in plan.parts[part].1.iter().zip(found.chunks_exact(width.max(1))) {
                rows[*row as usize * width..][..width].copy_from_slice(values);
            }
            Ok(())
        })
    }

    /// Writes the rows of one tensor of ids, which begins at `at` among all ids.
    fn write(&self, io: &Io<'_>, out: Out, ids: &Tensor, at: usize) -> Result<()> {
        let keep = ids.dims().rank() - usize::from(self.drops_last && ids.dims().rank() > 0);
        let mut dims = Dims::new(&ids.dims()[..keep]);
        dims.push(self.width);
        let mut tensor = io.out_sized(out, DType::F32, dims)?;
        tensor.set_lod(ids.lod().clone());
        let data = io.data_mut::<f32>(out, &mut tensor)?;
        let rows_of = &self.plan.row_of[at..at + ids.numel()];
        for (row, to) in rows_of.iter().zip(data.chunks_exact_mut(self.width.max(1))) {
            match *row {
                NO_ROW => to.fill(0.0),
                row => to.copy_from_slice(&self.rows[row as usize * self.width..][..self.width]),
            }
        }
        Ok(())
    }
}

/// Where rows are: by range if parts say how many rows they have, else by id.
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
