//! Tables: which columns of a CSV or Parquet file fill which slot, and what stands for values that are not there.

use oarlock_ir::{Error, Kind, Result};

use super::multislot::{Fault, Format, OrFault};
use crate::dataset::column::{Columns, Values};
use crate::dataset::slots::SlotSpec;

/// How the files of a data set hold samples.
#[derive(Debug, Clone, PartialEq)]
pub enum Records {
    /// Lines of text with a group of values for each slot.
    MultiSlot,
    /// Rows of text, fields between delimiters.
    Csv(Csv),
    /// Columns of Parquet files; needs the cargo feature `parquet`.
    Parquet(TableColumns),
}

/// Where the values of slots stand in the rows of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct TableColumns {
    /// For each slot the columns that fill it, one behind the other. A column of lists gives all its values.
    pub columns: Vec<Vec<String>>,
    /// The replacement of a missing value. `None`: 0 in a sparse slot, and a dense slot must not lack any.
    pub missing: Option<f64>,
}

/// Text with rows of fields. A field in double quotes may hold delimiters and newlines; `""` in it is one quote.
#[derive(Debug, Clone, PartialEq)]
pub struct Csv {
    /// Where the values stand.
    pub table: TableColumns,
    /// The delimiter between fields, such as `,`.
    pub delimiter: u8,
    /// The delimiter between the values of one field, such as `|` in `7|12|3`.
    pub list: u8,
    /// Does the first row give the names of the columns? Without it they are `0`, `1` and so on.
    pub header: bool,
}

impl Records {
    fn table(&self) -> Option<&TableColumns> {
        match self {
            Records::MultiSlot => None,
            Records::Csv(csv) => Some(&csv.table),
            Records::Parquet(table) => Some(table),
        }
    }

    /// Can the slots be filled this way?
    pub(super) fn check(&self, format: &Format) -> Result<()> {
        let wrong = |what: String, help: &str| Err(Error::new(Kind::Argument, what).help(help));
        let Some(table) = self.table() else { return Ok(()) };
        if table.columns.len() != format.slots.len() {
            let what = format!("{} lists of columns for {} slots", table.columns.len(), format.slots.len());
            return wrong(what, "name the columns of every slot");
        }
        let mut named = format.slots.iter().zip(&table.columns);
        if let Some((slot, _)) = named.find(|(slot, columns)| slot.is_used() && columns.is_empty()) {
            return wrong(format!("no column fills slot `{}`", slot.name()), "name at least one");
        }
        if !format.leading.is_empty() {
            return wrong("rows of tables have no line ids and no contents".into(), "write MultiSlot lines for those");
        }
        match self {
            Records::Csv(csv) if csv.delimiter == csv.list || [csv.delimiter, csv.list].iter().any(is_taken) => wrong(
                "the delimiters of CSV files must differ from each other, from quotes and from newlines".into(),
                "`,` and `|` are usual",
            ),
            _ => Ok(()),
        }
    }
}

fn is_taken(byte: &u8) -> bool {
    matches!(byte, b'"' | b'\n' | b'\r') || !byte.is_ascii()
}

impl TableColumns {
    /// The columns that fill the used slots, in the order in which [`TableColumns::fill_row`] asks for them.
    pub(super) fn columns_in_order<'a>(&'a self, slots: &'a [SlotSpec]) -> impl Iterator<Item = &'a str> {
        let used = slots.iter().zip(&self.columns).filter(|(slot, _)| slot.is_used());
        used.flat_map(|(_, columns)| columns.iter().map(String::as_str))
    }

    /// Adds one row. `append` appends the values of a column, by its name, to those of a slot, and returns their number.
    pub(super) fn fill_row(
        &self,
        slots: &[SlotSpec],
        columns: &mut Columns,
        mut append: impl FnMut(&SlotSpec, &str, &mut Values) -> OrFault<usize>,
    ) -> OrFault<()> {
        let mut fill = || {
            let used = slots.iter().zip(&self.columns).zip(&mut columns.slots).filter(|((slot, _), _)| slot.is_used());
            for ((slot, names), column) in used {
                let mut count = 0;
                for name in names {
                    let found = append(slot, name, &mut column.values)?;
                    count +=
                        if found == 0 && slot.is_dense() { self.fill_in(name, &mut column.values)? } else { found };
                }
                if count == 0 {
                    column.values.push(self.missing.unwrap_or(0.0));
                    count = 1;
                }
                if !count.is_multiple_of(slot.row_values()) {
                    return Err(Fault { at: 0, what: wrong_count(slot, count) });
                }
                column.lengths.push(count);
            }
            Ok(())
        };
        match fill() {
            Ok(()) => columns.end_row(),
            Err(fault) => {
                columns.cancel_row();
                return Err(fault);
            }
        }
        Ok(())
    }

    /// Puts what stands for a missing value.
    fn fill_in(&self, name: &str, values: &mut Values) -> OrFault<usize> {
        let Some(missing) = self.missing else {
            let what = format!("column `{name}` has no value; `missing` can say what stands for it");
            return Err(Fault { at: 0, what });
        };
        values.push(missing);
        Ok(1)
    }
}

#[cold]
fn wrong_count(slot: &SlotSpec, count: usize) -> String {
    format!("slot `{}` has {count} values, but its shape needs a multiple of {}", slot.name(), slot.row_values())
}
