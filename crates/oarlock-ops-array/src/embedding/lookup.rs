//! Rows of a table by id, and the two forms of their gradient; shared by embedding lookups.
//!
//! A table is a tensor, some rows of one, or a hashed table. It knows nothing of remote tables: an operator that must ask
//! parameter servers is an error here.

use std::cell::RefMut;
use std::collections::HashMap;

use oarlock_ir::{Error, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Sig, Traits, VarKind, VarType};
use oarlock_ir::{by_float, kernel};
use oarlock_tensor::table::TableVar;
use oarlock_tensor::{DType, Dims, Element, Float, MAX_RANK, SelectedRows, Tensor, Value, simd};

use crate::embedding::hashed_table::TableLookup;

/// `padding_idx` of a lookup without padding.
const NO_PADDING: i64 = -1;

/// The attributes of a lookup; `padding_idx` and `is_sparse` decide, the others describe remote tables.
pub(crate) fn attrs(sig: Sig) -> Sig {
    sig.attr("is_sparse", false, "make the gradient row-sparse")
        .attr("padding_idx", NO_PADDING, "the id whose row is zeros; -1 for none")
        .attr(
            "is_distributed",
            false,
            "rows are found by any id and made on first use: on parameter servers once the program is transpiled",
        )
        .attr("remote_prefetch", false, "ask the parameter servers for the rows")
        .attr("trainer_id", 0, "who asks")
        .attr("epmap", Vec::<String>::new(), "the servers")
        .attr("table_names", Vec::<String>::new(), "the parts of the table on the servers")
        .attr("height_sections", Vec::<i64>::new(), "rows of each part")
        .attr(
            "entry",
            "",
            "which ids get a row on the servers: `count_filter_entry:N`, `probability_entry:P`, or all if empty; \
             `show_click_entry:SHOW:CLICK` names variables that say how often a sample was shown and clicked",
        )
        .attr("evict", "", "which rows go by themselves: `unseen=N`, or `period=N&delete_threshold=S` and so on")
}

/// Inference of a lookup; `index_dims` are the sizes that the output keeps of `Ids`.
pub(crate) fn infer(cx: &mut Infer<'_>, index_dims: Vec<oarlock_ir::Dim>) -> Result<()> {
    let (mut w, ids) = (cx.input("W")?, cx.integer("Ids")?);
    // Rows of small integers can be looked up, but not trained.
    if w.dtype != DType::I8 {
        w = cx.float("W")?;
    }
    if w.shape.rank() != 2 {
        return Err(cx.shape_error(format!("needs a table of two dimensions, but has {}", cx.describe("W"))));
    }
    let mut dims = index_dims;
    dims.push(w.shape[1]);
    cx.set("Out", VarType::tensor(w.dtype, dims).with_lod(ids.lod_level));
    Ok(())
}

/// The gradient operator of a lookup.
pub(crate) struct LookupGrad {
    pub(crate) op_type: &'static str,
    pub(crate) forward: fn() -> Sig,
    pub(crate) prepare: fn(&Prepare<'_>) -> Result<Box<dyn Kernel>>,
}

impl OpDef for LookupGrad {
    fn sig(&self) -> Sig {
        Sig::new(
            self.op_type,
            "W@GRAD[Ids[i]] += Out@GRAD[i]; row-sparse: the rows Ids with the values Out@GRAD, padding included",
        )
        .grad_of(&(self.forward)(), &["Ids", "Out@GRAD", "W"], &["W@GRAD"])
        .traits(Traits::NONE.shape_only(&["W"]))
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let kind = if cx.attrs().bool("is_sparse")? { VarKind::SelectedRows } else { VarKind::Tensor };
        let w = cx.input("W")?;
        cx.set("W@GRAD", w.with_kind(kind).with_lod(0));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        (self.prepare)(p)
    }
}

/// Where the rows come from.
#[derive(Clone, Copy)]
pub struct Lookup {
    /// The table.
    pub table: In,
    /// The ids.
    pub ids: In,
    /// The id whose row is zeros.
    pub padding: Option<i64>,
}

impl Lookup {
    /// The slots `W` and `Ids` and the attribute `padding_idx`.
    pub(crate) fn new(p: &Prepare<'_>) -> Result<Lookup> {
        let padding = Some(p.attrs().int("padding_idx")?).filter(|&id| id != NO_PADDING);
        Ok(Lookup { table: p.input("W")?, ids: p.input("Ids")?, padding })
    }

    /// The error of an id that the table does not have.
    #[cold]
    pub fn unknown_id(&self, io: &Io<'_>, id: i64, at: usize, rows: usize) -> Error {
        let what = format!("holds id {id} at position {at}, but {} has {rows} rows", io.describe(self.table));
        io.error(Kind::Range, self.ids, what).help(format!(
            "ids must be at least 0 and less than {rows}: enlarge the table, or map the ids (id % {rows})"
        ))
    }

    /// Copies the rows of `ids` to `out`, which has room for exactly those.
    fn gather<I: Element, T: Element>(
        &self,
        io: &Io<'_>,
        ids: &[I],
        table: &[T],
        width: usize,
        out: &mut [T],
    ) -> Result<()> {
        let rows = table.len() / width.max(1);
        for (at, (id, out)) in ids.iter().zip(out.chunks_exact_mut(width.max(1))).enumerate() {
            if let Some(soon) = ids.get(at + simd::AHEAD) {
                simd::prefetch(table, (soon.to_i64() as usize).saturating_mul(width), width);
            }
            let id = id.to_i64();
            if self.padding == Some(id) {
                out.fill(T::default());
            } else if id as u64 >= rows as u64 {
                return Err(self.unknown_id(io, id, at, rows));
            } else {
                out.copy_from_slice(&table[id as usize * width..][..width]);
            }
        }
        Ok(())
    }

    /// The same from a table that holds some rows only; rows it does not hold are zeros.
    fn gather_held<I: Element, T: Element>(&self, ids: &[I], held: &Held<'_, T>, out: &mut [T]) {
        for (id, out) in ids.iter().zip(out.chunks_exact_mut(held.width.max(1))) {
            let id = id.to_i64();
            match held.at.get(&id).filter(|_| self.padding != Some(id)) {
                Some(&at) => out.copy_from_slice(&held.values[at * held.width..][..held.width]),
                None => out.fill(T::default()),
            }
        }
    }

    /// Looks the ids up; `out_dims` makes the output's sizes from those of the ids and the width of the table.
    fn run<I: Element, T: Element>(
        &self,
        io: &Io<'_>,
        out: Out,
        found: &mut Found,
        out_dims: fn(&Dims, usize) -> Dims,
    ) -> Result<()> {
        let (table, ids) = (io.value(self.table)?, io.dense(self.ids)?);
        let id_data = io.data::<I>(self.ids, &ids)?;
        if let Value::Table(table) = &*table {
            let mut to = self.sized(io, out, &ids, table.width(), DType::F32, out_dims)?;
            return self.read_table(io, table, id_data, found, io.data_mut::<f32>(out, &mut to)?);
        }
        let (width, whole) = match &*table {
            Value::Rows(r) => (r.width(), &r.value),
            _ => {
                let t = table.dense().map_err(|e| io.about(self.table.0, e))?;
                (t.dims().matrix(1).1, t)
            }
        };
        let values = io.data::<T>(self.table, whole)?;
        let mut to = self.sized(io, out, &ids, width, T::DTYPE, out_dims)?;
        let to = io.data_mut::<T>(out, &mut to)?;
        let Value::Rows(r) = &*table else { return self.gather(io, id_data, values, width, to) };
        let index = &mut found.index;
        index.clear();
        index.extend(r.rows.iter().zip(0..values.len() / width.max(1)).map(|(&id, at)| (id, at)));
        self.gather_held(id_data, &Held { at: index, values, width }, to);
        Ok(())
    }

    /// The output, sized for rows of this width.
    fn sized<'a>(
        &self,
        io: &Io<'a>,
        out: Out,
        ids: &Tensor,
        width: usize,
        dtype: DType,
        out_dims: fn(&Dims, usize) -> Dims,
    ) -> Result<RefMut<'a, Tensor>> {
        if ids.dims().rank() == MAX_RANK {
            return Err(io.error(Kind::Shape, self.ids, "has too many dimensions to add one"));
        }
        let dims = out_dims(ids.dims(), width);
        if dims.numel() != ids.numel() * width {
            let what = format!("has the sizes {}, of which the last must be 1", ids.dims());
            return Err(io.error(Kind::Shape, self.ids, what));
        }
        let mut to = io.out_sized(out, dtype, dims)?;
        to.set_lod(ids.lod().clone());
        Ok(to)
    }

    fn read_table<I: Element>(
        &self,
        io: &Io<'_>,
        table: &TableVar,
        ids: &[I],
        found: &mut Found,
        to: &mut [f32],
    ) -> Result<()> {
        let ids = ids.iter().map(|id| id.to_i64());
        found.table.read(table, ids, self.padding, to).map_err(|e| io.about(self.table.0, e))
    }
}

/// The memory that a lookup keeps from run to run.
#[derive(Clone)]
struct Found {
    index: HashMap<i64, usize>,
    table: TableLookup,
}

/// A table that holds some rows only.
struct Held<'a, T> {
    at: &'a HashMap<i64, usize>,
    values: &'a [T],
    width: usize,
}

/// The kernel of a lookup; `out_dims` makes the output's sizes from those of the ids and the width of the table.
pub(crate) fn lookup_kernel(p: &Prepare<'_>, out_dims: fn(&Dims, usize) -> Dims) -> Result<Box<dyn Kernel>> {
    if p.attrs().bool("remote_prefetch")? && !p.attrs().strs("epmap")?.is_empty() {
        let what =
            format!("`{}` asks parameter servers for its rows, but runs without a client for them", p.op().op_type);
        return Err(Error::new(Kind::Unsupported, what)
            .help("run the trainer's program through fleet, or the program before it was transpiled"));
    }
    let (lookup, out) = (Lookup::new(p)?, p.output("Out")?);
    let mut found = Found { index: HashMap::new(), table: TableLookup::new(p)? };
    let small_ids = p.dtype("Ids")? == DType::I32;
    match p.dtype("W")? {
        DType::I8 if small_ids => return kernel(move |io| lookup.run::<i32, i8>(io, out, &mut found, out_dims)),
        DType::I8 => return kernel(move |io| lookup.run::<i64, i8>(io, out, &mut found, out_dims)),
        _ => {}
    }
    by_float!(p.float("W")?, T => match p.dtype("Ids")? {
        DType::I32 => kernel(move |io| lookup.run::<i32, T>(io, out, &mut found, out_dims)),
        _ => kernel(move |io| lookup.run::<i64, T>(io, out, &mut found, out_dims)),
    })
}

/// The kernel of the gradient of a lookup.
pub(crate) fn grad_kernel(p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
    let grad = GradSlots { lookup: Lookup::new(p)?, dout: p.input("Out@GRAD")?, dw: p.output("W@GRAD")? };
    let (sparse, ids) = (p.attrs().bool("is_sparse")?, p.dtype("Ids")?);
    by_float!(p.float("W")?, T => match (sparse, ids) {
        (true, DType::I32) => kernel(move |io| grad.sparse::<i32, T>(io)),
        (true, _) => kernel(move |io| grad.sparse::<i64, T>(io)),
        (false, DType::I32) => kernel(move |io| grad.dense::<i32, T>(io)),
        (false, _) => kernel(move |io| grad.dense::<i64, T>(io)),
    })
}

#[derive(Clone, Copy)]
struct GradSlots {
    lookup: Lookup,
    dout: In,
    dw: Out,
}

impl GradSlots {
    /// The gradient must have one row per id.
    fn check(&self, io: &Io<'_>, dout: &Tensor, ids: &Tensor, width: usize) -> Result<()> {
        if dout.numel() == ids.numel() * width {
            return Ok(());
        }
        let what = format!("is {}, but there are {} ids and rows of {width}", dout.dims(), ids.numel());
        Err(io.error(Kind::Shape, self.dout, what))
    }

    fn sparse<I: Element, T: Float>(&self, io: &Io<'_>) -> Result<()> {
        let (ids, dout, whole) = (io.dense(self.lookup.ids)?, io.dense(self.dout)?, table_dims(io, self.lookup.table)?);
        self.check(io, &dout, &ids, whole[1])?;
        let mut dw = io.write(self.dw)?;
        let SelectedRows { rows, height, value } = dw.rows_mut();
        rows.clear();
        rows.extend(io.data::<I>(self.lookup.ids, &ids)?.iter().map(|id| id.to_i64()));
        *height = whole[0] as i64;
        value.resize(T::DTYPE, Dims::from([rows.len(), whole[1]]));
        io.data_mut::<T>(self.dw, value)?.copy_from_slice(io.data::<T>(self.dout, &dout)?);
        Ok(())
    }

    fn dense<I: Element, T: Float>(&self, io: &Io<'_>) -> Result<()> {
        let (ids, dout, whole) = (io.dense(self.lookup.ids)?, io.dense(self.dout)?, table_dims(io, self.lookup.table)?);
        let [rows, width] = [whole[0], whole[1]];
        self.check(io, &dout, &ids, width)?;
        let mut dw = io.out_sized(self.dw, T::DTYPE, whole)?;
        let dw = io.data_mut::<T>(self.dw, &mut dw)?;
        dw.fill(T::ZERO);
        let values = io.data::<T>(self.dout, &dout)?.chunks_exact(width.max(1));
        for (at, (id, value)) in io.data::<I>(self.lookup.ids, &ids)?.iter().zip(values).enumerate() {
            let id = id.to_i64();
            if self.lookup.padding == Some(id) {
                continue;
            }
            if id as u64 >= rows as u64 {
                return Err(self.lookup.unknown_id(io, id, at, rows));
            }
            simd::add_assign(&mut dw[id as usize * width..][..width], value);
        }
        Ok(())
    }
}

/// The rows and the width of a table; one whose rows are on servers is here in name only.
pub fn table_dims(io: &Io<'_>, table: In) -> Result<Dims> {
    let value = io.value(table)?;
    let dims = match &*value {
        Value::Rows(r) => r.whole_dims(),
        Value::Table(t) => {
            let limit = t.table().and_then(|table| table.limit()).unwrap_or_default();
            return Ok(Dims::from([limit as usize, t.width()]));
        }
        _ => *value.dense().map_err(|e| io.about(table.0, e))?.dims(),
    };
    let (rows, width) = dims.matrix(1);
    Ok(Dims::from([rows, width]))
}
