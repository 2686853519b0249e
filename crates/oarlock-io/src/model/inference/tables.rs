//! Hashed tables inside an inference model: as a dense tensor that Fluid 1.8 loads, or as selected rows.
//!
//! The network declares what its file holds. Fluid 1.8 refuses a file of rows for a variable that is declared as a tensor.

use std::sync::Arc;

use oarlock_ir::{Error, Kind, Name, Program, Result, Var, VarDType, VarKind};
use oarlock_tensor::{DType, Dims, SelectedRows, Tensor, Value};
use parking_lot::RwLock;

use crate::model::vars::{Held, ReadGuard};

/// Takes some rows of a table.
pub type TakeRows<'a> = &'a mut dyn FnMut(&SelectedRows) -> Result<()>;

/// How hashed tables are stored in an inference model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ModelTables {
    /// As a tensor if every id is a row of the declared shape and that shape is at most 1 GiB; otherwise as rows.
    #[default]
    Auto,
    /// As a tensor, or not at all.
    Dense,
    /// As selected rows.
    Rows,
}

impl ModelTables {
    /// By its name: `auto`, `dense` or `rows`.
    pub fn parse(name: &str) -> Option<ModelTables> {
        match name {
            "auto" => Some(ModelTables::Auto),
            "dense" => Some(ModelTables::Dense),
            "rows" => Some(ModelTables::Rows),
            _ => None,
        }
    }

    /// Elements that a tensor may have which is made of rows.
    fn most_elements(self) -> usize {
        match self {
            ModelTables::Auto => 1 << 28,
            ModelTables::Dense => 1 << 32,
            ModelTables::Rows => 0,
        }
    }

    /// Makes a tensor of the rows that `fetch` gives piece by piece; `None` if the table is to be stored as rows.
    pub fn dense(self, var: &Var, fetch: &mut dyn FnMut(TakeRows<'_>) -> Result<()>) -> Result<Option<Tensor>> {
        if self == ModelTables::Rows {
            return Ok(None);
        }
        let mut table = match DenseTable::new(var, self.most_elements()) {
            Ok(table) => table,
            Err(why) => return self.not_dense(&var.name, &why),
        };
        let mut why = None;
        fetch(&mut |rows| {
            if why.is_none() {
                why = table.add(rows)?;
            }
            Ok(())
        })?;
        match why {
            Some(why) => self.not_dense(&var.name, &why),
            None => Ok(Some(table.whole)),
        }
    }

    fn not_dense(self, table: &Name, why: &str) -> Result<Option<Tensor>> {
        if self == ModelTables::Auto {
            return Ok(None);
        }
        let what = format!("table `{table}` cannot be stored as a dense tensor: {why}");
        Err(Error::new(Kind::Unsupported, what)
            .help("set OARLOCK_MODEL_TABLES=rows to store selected rows, one file per variable"))
    }
}

/// A tensor that is filled from rows; rows that never come stay zeros.
struct DenseTable {
    name: Name,
    height: usize,
    width: usize,
    whole: Tensor,
}

impl DenseTable {
    /// Fails with the reason if the variable is no f32 matrix of known, moderate size.
    fn new(var: &Var, most_elements: usize) -> std::result::Result<DenseTable, String> {
        let sizes: Option<Vec<usize>> = var.shape.iter().map(|size| size.known()).collect();
        let sizes = sizes.filter(|sizes| sizes.len() > 1 && matches!(var.dtype, VarDType::Is(DType::F32)));
        let Some(sizes) = sizes else {
            return Err(format!("it is declared {}", var.ty()));
        };
        let elements = sizes.iter().try_fold(1, |all: usize, size| all.checked_mul(*size));
        if elements.is_none_or(|elements| elements > most_elements) {
            return Err(format!("it is declared {}, more than {most_elements} elements", var.ty()));
        }
        let whole = Tensor::zeros(DType::F32, Dims::new(&sizes));
        let width = sizes[1..].iter().product();
        Ok(DenseTable { name: var.name.clone(), height: sizes[0], width, whole })
    }

    /// Copies rows to their places. Returns the reason if an id has no place.
    fn add(&mut self, rows: &SelectedRows) -> Result<Option<String>> {
        let data = rows.value.data::<f32>().map_err(|e| Error::new(Kind::DType, format!("`{}` {e}", self.name)))?;
        if data.len() != rows.rows.len() * self.width {
            let what = format!("rows of `{}` should have {} elements", self.name, self.width);
            return Err(Error::new(Kind::Shape, what));
        }
        let whole = self.whole.data_mut::<f32>().map_err(|e| Error::internal(e.to_string()))?;
        for (id, row) in rows.rows.iter().zip(data.chunks(self.width.max(1))) {
            let Some(at) = usize::try_from(*id).ok().filter(|id| *id < self.height) else {
                return Ok(Some(format!("id {id} is not one of its {} rows", self.height)));
            };
            whole[at * self.width..][..self.width].copy_from_slice(row);
        }
        Ok(None)
    }
}

/// Declares a table as selected rows, because its file will hold them.
pub fn declare_rows(program: &mut Program, table: &Name) {
    if let Some(var) = program.find_var_mut(0, table) {
        var.kind = VarKind::SelectedRows;
    }
}

/// Stores the tables among `held` as asked. The program declares what the files will hold.
pub(super) fn store_tables(program: &mut Program, held: Vec<Held>, tables: ModelTables) -> Result<Vec<Held>> {
    held.into_iter().map(|(name, value)| store_table(program, name, value, tables)).collect()
}

fn store_table(program: &mut Program, name: Name, value: ReadGuard, tables: ModelTables) -> Result<Held> {
    let Some(var) = program.global().var(&name).filter(|var| var.kind == VarKind::Tensor) else {
        return Ok((name, value));
    };
    let rows = match &*value {
        Value::Rows(rows) => rows.clone(),
        Value::Table(table) => table.to_rows().map_err(|e| Error::new(Kind::Argument, format!("`{name}` {e}")))?,
        _ => return Ok((name, value)),
    };
    let stored = match tables.dense(var, &mut |take| take(&rows))? {
        Some(whole) => Value::Dense(whole),
        None => {
            let height = var.shape.iter().next().and_then(|size| size.known()).map_or(rows.height, |n| n as i64);
            declare_rows(program, &name);
            Value::Rows(SelectedRows { height, ..rows })
        }
    };
    Ok((name, Arc::new(RwLock::new(stored)).read_arc()))
}
