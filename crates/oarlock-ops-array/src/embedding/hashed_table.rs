//! Hashed embedding tables among the variables of a scope: an embedding with `is_distributed` trains one where there are no servers.
//!
//! A startup program makes the table without rows; lookups and optimizers find it where they would find a tensor.

use oarlock_ir::{Error, Io, Kernel, Kind, Prepare, Result, Var, fail, kernel};
use oarlock_tensor::table::{Admission, Missing, Retention, RowInit, RowPolicy, Spec, TableVar};
use oarlock_tensor::{DType, Value};

/// If `Out` is to be a table, or a state of its rows, the kernel that makes it: without rows, which start from `init` later.
pub(crate) fn start(p: &Prepare<'_>, init: RowInit, seed: u64) -> Result<Option<Box<dyn Kernel>>> {
    let Some(var) = p.out_vars("Out").into_iter().flatten().next().filter(|var| var.meta.is_distributed) else {
        return Ok(None);
    };
    let (out, width) = (p.output("Out")?, width(var)?);
    if p.attrs().dtype("dtype")? != DType::F32 {
        fail!(Kind::DType, "table `{}` is to be made of {}, and its rows hold f32", var.name, var.ty().dtype);
    }
    if let (RowInit::Constant(initial), false) = (init, var.meta.is_parameter) {
        return kernel(move |io| put(io, out, TableVar::state(width, initial))).map(Some);
    }
    let spec = Spec {
        name: var.name.to_string(),
        width,
        state: Vec::new(),
        init,
        seed,
        max_rows: var.shape.first().and_then(|rows| rows.known()).map(|rows| rows as u64),
        admission: Admission::Always,
        retention: Retention::default(),
        history: 0,
    };
    let table = move || TableVar::weights(spec.clone()).map_err(|e| Error::new(Kind::Argument, e.to_string()));
    kernel(move |io| put(io, out, table()?)).map(Some)
}

fn put(io: &Io<'_>, out: oarlock_ir::Out, table: TableVar) -> Result<()> {
    *io.write(out)? = Value::Table(table);
    Ok(())
}

fn width(var: &Var) -> Result<usize> {
    let sizes = var.shape.iter().skip(1).map(|size| size.known());
    match sizes.reduce(|all, size| Some(all? * size?)).flatten().filter(|width| *width > 0) {
        Some(width) => Ok(width),
        None => fail!(Kind::Shape, "table `{}` is declared {}, without the size of its rows", var.name, var.shape),
    }
}

/// How an operator looks rows up in its table, if `W` turns out to be one.
#[derive(Clone)]
pub(crate) struct TableLookup {
    missing: Missing,
    rules: RowPolicy,
    /// Each id once, and its row.
    ids: Vec<i64>,
    rows: Vec<f32>,
}

impl TableLookup {
    /// Of a lookup. A program that does not train the table only reads it.
    pub(crate) fn new(p: &Prepare<'_>) -> Result<TableLookup> {
        let attrs = p.attrs();
        let Some(table) = p.var("W") else { fail!(Kind::Missing, "a lookup without a table") };
        if table.meta.is_distributed && attrs.bool("is_distributed")? && !attrs.bool("is_sparse")? {
            let what = format!("table `{}` is distributed, but its gradient is dense", table.name);
            return Err(Error::new(Kind::Argument, what).help("set is_sparse=True together with is_distributed=True"));
        }
        let mut ops = p.program().blocks().iter().flat_map(|block| &block.ops);
        let trained = ops.any(|op| op.inputs.get("Param").contains(&table.name));
        let rules = RowPolicy::parse(attrs.str("entry")?, attrs.str("evict")?);
        let rules = rules.map_err(|why| Error::new(Kind::Argument, format!("table `{}`: {why}", table.name)))?;
        let missing = if trained { Missing::Create } else { Missing::Zero };
        Ok(TableLookup { missing, rules, ids: Vec::new(), rows: Vec::new() })
    }

    /// Copies the rows of `ids` to `out`; that of `padding` is zeros.
    pub(crate) fn read(
        &mut self,
        table: &TableVar,
        ids: impl Iterator<Item = i64> + Clone,
        padding: Option<i64>,
        out: &mut [f32],
    ) -> oarlock_tensor::Result<()> {
        let Some(rows) = table.table() else { return Ok(()) };
        let width = table.width();
        if self.missing == Missing::Create {
            rows.follow(&self.rules)?;
        }
        self.ids.clear();
        self.ids.extend(ids.clone().filter(|id| padding != Some(*id)));
        // As servers see it: an id of a batch counts once.
        self.ids.sort_unstable();
        self.ids.dedup();
        self.rows.resize(self.ids.len() * width, 0.0);
        rows.read(&self.ids, &mut self.rows, self.missing)?;
        for (id, to) in ids.zip(out.chunks_exact_mut(width)) {
            match self.ids.binary_search(&id) {
                Ok(at) => to.copy_from_slice(&self.rows[at * width..][..width]),
                Err(_) => to.fill(0.0),
            }
        }
        Ok(())
    }
}
