//! Rows of CSV text into columns. Knows no file: a mistake is a place in the row and what was expected there.

use csv_core::{ReadFieldResult, ReadRecordResult, Reader, ReaderBuilder, Terminator};

use super::multislot::{Fault, Format};
use super::number;
use super::records::Csv;
use crate::dataset::column::{Columns, Values};
use crate::dataset::slots::SlotSpec;

/// Reads the rows of one file.
pub(super) struct CsvRows {
    reader: Reader,
    /// The fields that fill the slots, in the order in which a row asks for them; known after the header.
    wanted: Option<Vec<usize>>,
    row: Fields,
}

/// The fields of one row, without quotes, one behind the other.
#[derive(Default)]
struct Fields {
    text: Vec<u8>,
    ends: Vec<usize>,
    len: usize,
}

impl Fields {
    fn get(&self, index: usize) -> Option<&[u8]> {
        let end = *self.ends[..self.len].get(index)?;
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        Some(&self.text[start..end])
    }
}

/// The state of a row after all the text at hand was read.
pub(super) enum Row {
    /// The row ended after this number of bytes.
    Ends(usize),
    /// A quoted field goes on behind the text.
    GoesOn,
}

/// A field without the white space and the quotes around it.
fn bare(mut field: &[u8]) -> &[u8] {
    field = field.trim_ascii();
    // Quotes behind a space are no quotes to the reader.
    if let [b'"', inner @ .., b'"'] = field {
        field = inner.trim_ascii();
    }
    field
}

fn reader(delimiter: u8) -> Reader {
    // A lone carriage return is white space at the end of a field, not a row's end.
    ReaderBuilder::new().delimiter(delimiter).terminator(Terminator::Any(b'\n')).build()
}

impl CsvRows {
    pub(super) fn new(csv: &Csv) -> CsvRows {
        CsvRows { reader: reader(csv.delimiter), wanted: None, row: Fields::default() }
    }

    /// Reads the row at the start of `text`; `ended` says that nothing follows the text. A blank line is no row.
    pub(super) fn read(
        &mut self,
        csv: &Csv,
        format: &Format,
        text: &[u8],
        ended: bool,
        columns: &mut Columns,
    ) -> Result<Row, (Fault, usize)> {
        // The reader would pass over blank lines together with the row behind them, and no one would count them.
        if text.first() == Some(&b'\n') {
            return Ok(Row::Ends(1));
        }
        let Some(used) = self.split(text, ended) else {
            self.reader.reset();
            if !ended {
                return Ok(Row::GoesOn);
            }
            let at = Places::of(csv, text).last().map_or(0, |start| start);
            return Err((Fault { at, what: "a field in quotes never ends".into() }, text.len()));
        };
        let blank = self.row.len == 1 && self.row.get(0).is_some_and(|field| bare(field).is_empty());
        let done = match &self.wanted {
            _ if blank => Ok(()),
            None if csv.header => self.take_header(csv, format),
            None => self.take_numbers(csv, format).and_then(|()| self.take_row(csv, format, &text[..used], columns)),
            Some(_) => self.take_row(csv, format, &text[..used], columns),
        };
        done.map(|()| Row::Ends(used)).map_err(|fault| (fault, used))
    }

    /// Splits the row at the start of `text` into fields and returns its length. `None`: a quoted field goes on.
    fn split(&mut self, text: &[u8], ended: bool) -> Option<usize> {
        let Fields { text: out, ends, len } = &mut self.row;
        let (mut used, mut filled) = (0, 0);
        *len = 0;
        // The last row of a file needs no newline.
        let mut input = text;
        loop {
            let (result, read, written, fields) = self.reader.read_record(input, &mut out[filled..], &mut ends[*len..]);
            (used, filled, *len) = (used + read, filled + written, *len + fields);
            input = &input[read..];
            match result {
                ReadRecordResult::Record | ReadRecordResult::End => return Some(used.min(text.len())),
                ReadRecordResult::OutputFull => out.resize((out.len() * 2).max(4096), 0),
                ReadRecordResult::OutputEndsFull => ends.resize((ends.len() * 2).max(64), 0),
                ReadRecordResult::InputEmpty if ended && used == text.len() && !text.ends_with(b"\n") => input = b"\n",
                ReadRecordResult::InputEmpty => return None,
            }
        }
    }

    /// Is it known where the columns are? Before, nothing can be skipped.
    pub(super) fn knows_columns(&self) -> bool {
        self.wanted.is_some()
    }

    fn take_header(&mut self, csv: &Csv, format: &Format) -> Result<(), Fault> {
        let names: Vec<String> = (0..self.row.len)
            .filter_map(|index| self.row.get(index))
            .map(|name| String::from_utf8_lossy(bare(name)).into_owned())
            .collect();
        self.find_columns(
            csv,
            format,
            |wanted| names.iter().position(|name| name == wanted),
            || format!("the columns are {}", names.join(", ")),
        )
    }

    /// Without a header, columns are called by their numbers.
    fn take_numbers(&mut self, csv: &Csv, format: &Format) -> Result<(), Fault> {
        let len = self.row.len;
        self.find_columns(
            csv,
            format,
            |wanted| wanted.parse().ok().filter(|index| *index < len),
            || format!("without a header they are 0 to {}", len - 1),
        )
    }

    fn find_columns(
        &mut self,
        csv: &Csv,
        format: &Format,
        find: impl Fn(&str) -> Option<usize>,
        known: impl Fn() -> String,
    ) -> Result<(), Fault> {
        let found = csv.table.columns_in_order(&format.slots).map(|name| {
            find(name).ok_or_else(|| Fault { at: 0, what: format!("there is no column `{name}`; {}", known()) })
        });
        self.wanted = Some(found.collect::<Result<_, _>>()?);
        Ok(())
    }

    fn take_row(&self, csv: &Csv, format: &Format, text: &[u8], columns: &mut Columns) -> Result<(), Fault> {
        let mut wanted = self.wanted.iter().flatten();
        csv.table.fill_row(&format.slots, columns, |slot, name, values| {
            let index = wanted.next().copied().unwrap_or(usize::MAX);
            let Some(field) = self.row.get(index) else {
                let what = format!("column `{name}` is missing: the row has {} fields", self.row.len);
                return Err(Fault { at: text.trim_ascii_end().len(), what });
            };
            append(slot, name, field, csv.list, values)
                .map_err(|what| Fault { at: Places::of(csv, text).nth(index).unwrap_or(0), what })
        })
    }
}

/// Where the fields of a row begin; only messages need it.
struct Places<'a> {
    reader: Reader,
    text: &'a [u8],
    at: usize,
    ended: bool,
}

impl Places<'_> {
    fn of<'a>(csv: &Csv, text: &'a [u8]) -> Places<'a> {
        Places { reader: reader(csv.delimiter), text, at: 0, ended: false }
    }
}

impl Iterator for Places<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.ended {
            return None;
        }
        let (start, mut out) = (self.at, [0; 256]);
        loop {
            let (result, read, _) = self.reader.read_field(&self.text[self.at..], &mut out);
            self.at += read;
            match result {
                ReadFieldResult::OutputFull => {}
                ReadFieldResult::Field { record_end } => self.ended = record_end,
                ReadFieldResult::InputEmpty | ReadFieldResult::End => self.ended = true,
            }
            if result != ReadFieldResult::OutputFull {
                return Some(start);
            }
        }
    }
}

/// Appends the values of a field; returns their number.
fn append(slot: &SlotSpec, name: &str, field: &[u8], list: u8, values: &mut Values) -> Result<usize, String> {
    let field = bare(field);
    if field.is_empty() {
        return Ok(0);
    }
    let mut count = 0;
    for value in field.split(|b| *b == list) {
        let value = value.trim_ascii();
        let whole = |end: usize| end == value.len();
        let parsed = match values {
            Values::Float(v) => number::float(value, 0).ok().filter(|(_, end)| whole(*end)).map(|(x, _)| v.push(x)),
            Values::Id(v) => number::id(value, 0).ok().filter(|(_, end)| whole(*end)).map(|(x, _)| v.push(x)),
        };
        if parsed.is_none() {
            let shown = String::from_utf8_lossy(&value[..value.len().min(40)]).into_owned();
            return Err(format!("column `{name}`: expected a value of type {}, found `{shown}`", slot.ty()));
        }
        count += 1;
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::super::records::{Records, TableColumns};
    use super::*;
    use crate::dataset::slots::SlotType;

    /// The rows that were read, errors as they come.
    type Rows = Vec<Result<usize, (usize, String)>>;

    /// Reads all rows of a text whose columns `a` and `b` hold ids.
    fn read(text: &str, ended: bool) -> (Rows, usize) {
        let columns = vec![vec!["a".to_string()], vec!["b".to_string()]];
        let table = TableColumns { columns, missing: None };
        let csv = Csv { table, delimiter: b',', list: b'|', header: true };
        let slots = vec![SlotSpec::sparse("a", SlotType::Id), SlotSpec::sparse("b", SlotType::Id)];
        let format = Format { records: Records::Csv(csv.clone()), ..Format::strict(slots) };
        let (mut rows, mut into, mut at, mut found) = (CsvRows::new(&csv), format.columns(), 0, Vec::new());
        while at < text.len() {
            match rows.read(&csv, &format, &text.as_bytes()[at..], ended, &mut into) {
                Ok(Row::GoesOn) => break,
                Ok(Row::Ends(used)) => {
                    at += used;
                    found.push(Ok(used));
                }
                Err((fault, used)) => {
                    at += used;
                    found.push(Err((fault.at, fault.what)));
                }
            }
        }
        (found, into.rows())
    }

    #[test]
    fn blank_lines_end_by_themselves() {
        let (found, rows) = read("a,b\n\n\r\n1,2\r\n", true);
        assert_eq!((found, rows), (vec![Ok(4), Ok(1), Ok(2), Ok(5)], 1));
    }

    #[test]
    fn the_last_row_needs_no_newline() {
        assert_eq!(read("a,b\n1,2\n3,\"4\"", true), (vec![Ok(4), Ok(4), Ok(5)], 2));
    }

    #[test]
    fn a_quoted_field_goes_on_behind_the_text_or_never_ends() {
        assert_eq!(read("a,b\n1,\"2\n", false), (vec![Ok(4)], 0));
        let never = Err((2, "a field in quotes never ends".to_string()));
        assert_eq!(read("a,b\n1,\"2\n", true), (vec![Ok(4), never.clone()], 0));
        assert_eq!(read("a,b\n1,\"2", true), (vec![Ok(4), never], 0));
    }

    #[test]
    fn a_byte_order_mark_before_the_header_is_ignored() {
        assert_eq!(read("\u{feff}\"a\",b\n1,2\n", true).1, 1);
    }

    #[test]
    fn long_rows_of_many_fields_are_read() {
        let (header, ones) = (vec!["x"; 500].join(","), vec!["123456789"; 500].join(","));
        let note = "many words, ".repeat(2000);
        let (found, rows) = read(&format!("{header},note,a,b\n{ones},\"{note}\",1,2\n"), true);
        assert_eq!((found.len(), rows), (2, 1));
        let (found, _) = read(&format!("{header},note,a,b\n{ones},\"{note}\",1,x\n"), true);
        let at = ones.len() + note.len() + 6;
        assert_eq!(found[1], Err((at, "column `b`: expected a value of type int64, found `x`".to_string())));
    }
}
