//! Columns of Parquet files into slots. Only the columns that slots ask for are read, a row group at a time.

use std::fs::File;
use std::io::Read;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use bytes::Bytes;
use oarlock_ir::{Error, Kind, Result};
use parquet::basic::{ConvertedType, LogicalType, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use super::multislot::{Format, OrFault};
use super::records::TableColumns;
use crate::dataset::column::{Columns, Values};
use crate::dataset::input::source::Input;
use crate::dataset::slots::{SlotSpec, SlotType};

/// Rows that are decoded at a time.
const ROWS: usize = 1024;

/// A file that is not on a disk, or is compressed as a whole, is read into memory; no larger ones.
const LARGEST: u64 = 1 << 30;

/// The rows of one file.
pub(super) struct ParquetRows {
    file: Box<dyn FileReader>,
    /// The next row group.
    group: usize,
    columns: Vec<Leaf>,
    /// Rows that are decoded and were not taken yet.
    ready: usize,
    /// Rows taken.
    row: u64,
}

/// A column that some slot asks for.
struct Leaf {
    name: String,
    index: usize,
    about: Arc<ColumnDescriptor>,
    unsigned: bool,
    reader: Option<ColumnReader>,
    /// The decoded values, and where those of each row end.
    values: Numbers,
    ends: Vec<usize>,
    /// Rows taken from `ends`.
    taken: usize,
}

/// Values as they stand in a file.
enum Numbers {
    Ints(Vec<i64>),
    Floats(Vec<f64>),
}

impl Numbers {
    fn clear(&mut self) {
        match self {
            Numbers::Ints(v) => v.clear(),
            Numbers::Floats(v) => v.clear(),
        }
    }

    fn len(&self) -> usize {
        match self {
            Numbers::Ints(v) => v.len(),
            Numbers::Floats(v) => v.len(),
        }
    }
}

fn failed(name: &str, e: &ParquetError) -> Error {
    Error::new(Kind::Format, format!("{name} cannot be read as a Parquet file: {e}"))
        .help("is it complete? bad rows can be skipped, bad files cannot")
}

/// The library panics at some kinds of damage; to a reader of the file they are damage like any other.
fn guarded<T>(work: impl FnOnce() -> parquet::errors::Result<T>) -> parquet::errors::Result<T> {
    panic::catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(ParquetError::General("it is damaged where its decoder does not expect it".into())))
}

impl ParquetRows {
    pub(super) fn open(input: Input, name: &str, table: &TableColumns, format: &Format) -> Result<ParquetRows> {
        let file: Box<dyn FileReader> = match input {
            Input::Plain(file) => on_disk(file, name)?,
            Input::Stream(stream) => in_memory(stream, name)?,
            Input::Pipe(_) => {
                return Err(Error::new(Kind::Argument, format!("{name}: a pipe command cannot make a Parquet file"))
                    .help("leave out set_pipe_command, or let it print MultiSlot lines"));
            }
        };
        let mut columns: Vec<Leaf> = Vec::new();
        for wanted in table.columns_in_order(&format.slots) {
            // Several slots may be filled by one column.
            if !columns.iter().any(|leaf| leaf.name == wanted) {
                columns.push(leaf(&*file, name, wanted)?);
            }
        }
        check_types(&columns, table, &format.slots, name)?;
        Ok(ParquetRows { file, group: 0, columns, ready: 0, row: 0 })
    }

    /// Adds the next row. `None` at the end of the file.
    pub(super) fn read(
        &mut self,
        name: &str,
        table: &TableColumns,
        slots: &[SlotSpec],
        columns: &mut Columns,
    ) -> Result<Option<OrFault<()>>> {
        if self.ready == 0 && !guarded(|| self.decode()).map_err(|e| failed(name, &e))? {
            return Ok(None);
        }
        self.ready -= 1;
        self.row += 1;
        let leaves = &self.columns;
        let filled = table.fill_row(slots, columns, |_, wanted, values| {
            let found = leaves.iter().find(|leaf| leaf.name == wanted).map_or(0, |leaf| leaf.append(values));
            Ok(found)
        });
        self.columns.iter_mut().for_each(|leaf| leaf.taken += 1);
        Ok(Some(filled))
    }

    /// The number of the row that was read last.
    pub(super) fn row(&self) -> u64 {
        self.row
    }

    /// How much of the file was read, from 0 to 1.
    pub(super) fn fraction(&self) -> f64 {
        let all = self.file.metadata().file_metadata().num_rows().max(1);
        self.row as f64 / all as f64
    }

    /// Decodes the next rows of every column; false at the end of the file.
    fn decode(&mut self) -> parquet::errors::Result<bool> {
        loop {
            let mut rows = None;
            for leaf in &mut self.columns {
                let read = leaf.decode()?;
                if rows.is_some_and(|rows| rows != read) {
                    return Err(ParquetError::General("its columns have different numbers of rows".into()));
                }
                rows = Some(read);
            }
            self.ready = rows.unwrap_or(0);
            if self.ready > 0 {
                return Ok(true);
            }
            if self.group == self.file.num_row_groups() {
                return Ok(false);
            }
            let group = self.file.get_row_group(self.group)?;
            for leaf in &mut self.columns {
                leaf.reader = Some(group.get_column_reader(leaf.index)?);
            }
            self.group += 1;
        }
    }
}

fn on_disk(file: File, name: &str) -> Result<Box<dyn FileReader>> {
    Ok(Box::new(guarded(|| SerializedFileReader::new(file)).map_err(|e| failed(name, &e))?))
}

fn in_memory(stream: Box<dyn Read + Send>, name: &str) -> Result<Box<dyn FileReader>> {
    let mut bytes = Vec::new();
    let read = stream.take(LARGEST + 1).read_to_end(&mut bytes);
    read.map_err(|e| Error::new(Kind::Io, format!("cannot read {name}: {e}")))?;
    if bytes.len() as u64 > LARGEST {
        let what = format!("{name}: a Parquet file that is not on a disk may have at most {LARGEST} bytes");
        return Err(Error::new(Kind::Range, what).help("copy it to a disk, or split it into several files"));
    }
    Ok(Box::new(guarded(|| SerializedFileReader::new(Bytes::from(bytes))).map_err(|e| failed(name, &e))?))
}

/// Finds a column by its name, or by its whole path such as `ids.list.element`.
fn leaf(file: &dyn FileReader, name: &str, wanted: &str) -> Result<Leaf> {
    let schema = file.metadata().file_metadata().schema_descr();
    let named = |about: &ColumnDescriptor| about.path().string() == wanted || about.path().parts()[0] == wanted;
    let found: Vec<usize> = (0..schema.num_columns()).filter(|i| named(&schema.column(*i))).collect();
    let wrong = |what: String, help: String| Err(Error::new(Kind::Missing, format!("{name}: {what}")).help(help));
    let paths = |of: &[usize]| of.iter().map(|i| schema.column(*i).path().string()).collect::<Vec<_>>().join(", ");
    let &[index] = &found[..] else {
        return match found.is_empty() {
            true => {
                let all: Vec<usize> = (0..schema.num_columns()).collect();
                wrong(format!("there is no column `{wanted}`"), format!("the columns are {}", paths(&all)))
            }
            false => wrong(format!("column `{wanted}` has several parts"), format!("name one of {}", paths(&found))),
        };
    };
    let about = schema.column(index);
    let values = match about.physical_type() {
        Type::BOOLEAN | Type::INT32 | Type::INT64 => Numbers::Ints(Vec::new()),
        Type::FLOAT | Type::DOUBLE => Numbers::Floats(Vec::new()),
        other => {
            return wrong(
                format!("column `{wanted}` holds {other}, not numbers"),
                "turn it into ids or numbers".into(),
            );
        }
    };
    if about.max_rep_level() > 1 {
        return wrong(format!("column `{wanted}` holds lists of lists"), "slots take lists of numbers".into());
    }
    if about.converted_type() == ConvertedType::DECIMAL
        || matches!(about.logical_type_ref(), Some(LogicalType::Decimal(_)))
    {
        return wrong(format!("column `{wanted}` holds decimals"), "write it as a column of doubles".into());
    }
    let unsigned = match about.logical_type_ref() {
        Some(LogicalType::Integer(int)) => !int.is_signed,
        _ => about.converted_type() == ConvertedType::UINT_32,
    };
    Ok(Leaf { name: wanted.into(), index, about, unsigned, reader: None, values, ends: Vec::new(), taken: 0 })
}

/// Ids are whole numbers: a column of fractions fills no slot of them.
fn check_types(columns: &[Leaf], table: &TableColumns, slots: &[SlotSpec], name: &str) -> Result<()> {
    for (slot, names) in slots.iter().zip(&table.columns).filter(|(slot, _)| slot.is_used()) {
        let mut asked = columns.iter().filter(|leaf| names.contains(&leaf.name));
        if slot.ty() == SlotType::Id
            && let Some(leaf) = asked.find(|leaf| matches!(leaf.values, Numbers::Floats(_)))
        {
            let what = format!("{name}: column `{}` holds fractions, but slot `{}` is int64", leaf.name, slot.name());
            return Err(Error::new(Kind::DType, what).help("declare the variable as float32, or write whole numbers"));
        }
    }
    Ok(())
}

impl Leaf {
    /// Decodes some more rows of the present row group; says how many.
    fn decode(&mut self) -> parquet::errors::Result<usize> {
        self.values.clear();
        self.ends.clear();
        self.taken = 0;
        let mut levels = Levels::of(&self.about);
        let unsigned = self.unsigned;
        let int = move |v: i32| if unsigned { i64::from(v as u32) } else { i64::from(v) };
        match (&mut self.reader, &mut self.values) {
            (Some(ColumnReader::BoolColumnReader(r)), Numbers::Ints(v)) => decode(r, &mut levels, v, i64::from)?,
            (Some(ColumnReader::Int32ColumnReader(r)), Numbers::Ints(v)) => decode(r, &mut levels, v, int)?,
            (Some(ColumnReader::Int64ColumnReader(r)), Numbers::Ints(v)) => decode(r, &mut levels, v, |x| x)?,
            (Some(ColumnReader::FloatColumnReader(r)), Numbers::Floats(v)) => decode(r, &mut levels, v, f64::from)?,
            (Some(ColumnReader::DoubleColumnReader(r)), Numbers::Floats(v)) => decode(r, &mut levels, v, |x| x)?,
            (None, _) => return Ok(0),
            _ => return Err(ParquetError::General(format!("column `{}` changed its type", self.name))),
        }
        levels.ends(self.values.len(), &mut self.ends);
        if self.ends.last().copied().unwrap_or(0) != self.values.len() {
            return Err(ParquetError::General(format!("column `{}` has values that belong to no row", self.name)));
        }
        Ok(self.ends.len())
    }

    /// Appends the values of the present row to those of a slot; says how many there were.
    fn append(&self, values: &mut Values) -> usize {
        let start = if self.taken == 0 { 0 } else { self.ends[self.taken - 1] };
        let range = start..self.ends[self.taken];
        let count = range.len();
        match (&self.values, values) {
            (Numbers::Ints(from), Values::Id(to)) => to.extend_from_slice(&from[range]),
            (Numbers::Ints(from), Values::Float(to)) => to.extend(from[range].iter().map(|v| *v as f32)),
            (Numbers::Floats(from), Values::Float(to)) => to.extend(from[range].iter().map(|v| *v as f32)),
            // Refused when the file was opened.
            (Numbers::Floats(from), Values::Id(to)) => to.extend(from[range].iter().map(|v| *v as i64)),
        }
        count
    }
}

/// The levels of Parquet beside values: where lists begin, and which values are there.
struct Levels {
    definition: Vec<i16>,
    repetition: Vec<i16>,
    /// The level of a value that is there.
    full: i16,
}

impl Levels {
    fn of(about: &ColumnDescriptor) -> Levels {
        Levels { definition: Vec::new(), repetition: Vec::new(), full: about.max_def_level() }
    }

    /// Where the values of each row end.
    fn ends(&self, values: usize, ends: &mut Vec<usize>) {
        if self.definition.is_empty() {
            ends.extend(1..=values);
            return;
        }
        let mut at = 0;
        for (i, level) in self.definition.iter().enumerate() {
            at += usize::from(*level == self.full);
            match self.repetition.get(i) {
                // Another value of the same list.
                Some(1..) => {
                    if let Some(end) = ends.last_mut() {
                        *end = at;
                    }
                }
                _ => ends.push(at),
            }
        }
    }
}

fn decode<T: DataType, V>(
    reader: &mut ColumnReaderImpl<T>,
    levels: &mut Levels,
    into: &mut Vec<V>,
    convert: impl Fn(T::T) -> V,
) -> parquet::errors::Result<()> {
    let mut values = Vec::new();
    reader.read_records(ROWS, Some(&mut levels.definition), Some(&mut levels.repetition), &mut values)?;
    into.extend(values.into_iter().map(convert));
    Ok(())
}
