//! Rows of CSV text into columns. Knows no file: a mistake is a place in the row and what was expected there.

use std::ops::Range;

use super::multislot::{Fault, Format};
use super::number;
use super::records::Csv;
use crate::dataset::column::{Columns, Values};
use crate::dataset::slots::SlotSpec;

/// Reads the rows of one file.
#[derive(Default)]
pub(super) struct CsvRows {
    /// Which field each wanted column is; known after the header.
    fields: Option<Vec<(String, usize)>>,
    /// The fields of the present row.
    row: Vec<Range<usize>>,
}

/// What became of the text at hand.
pub(super) enum Row {
    /// A row ended after so many bytes.
    Ends(usize),
    /// A quoted field goes on behind the text.
    GoesOn,
}

/// Cuts the row at the start of `text` into fields. `Err` is where a quoted field that never ends begins.
fn cut(text: &[u8], delimiter: u8, fields: &mut Vec<Range<usize>>) -> Result<usize, usize> {
    fields.clear();
    let mut at = 0;
    loop {
        let start = at;
        if text.get(at) == Some(&b'"') {
            at = quoted_end(text, at + 1).ok_or(start)?;
        }
        let rest = text.get(at..).unwrap_or_default();
        at += memchr::memchr2(delimiter, b'\n', rest).unwrap_or(rest.len());
        if text.get(at) == Some(&delimiter) {
            fields.push(start..at);
            at += 1;
            continue;
        }
        let end = if at > start && text[at - 1] == b'\r' { at - 1 } else { at };
        fields.push(start..end);
        return Ok((at + 1).min(text.len()));
    }
}

/// Where a quoted field whose contents begin at `at` ends, behind its last quote.
fn quoted_end(text: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr::memchr(b'"', text.get(at..)?)? + 1;
        match text.get(at) {
            Some(b'"') => at += 1,
            _ => return Some(at),
        }
    }
}

/// A field without the quotes and the white space around it.
fn bare(mut field: &[u8]) -> &[u8] {
    field = field.trim_ascii();
    if let [b'"', inner @ .., b'"'] = field {
        field = inner.trim_ascii();
    }
    field
}

/// A name in the header.
fn name_of(field: &[u8]) -> String {
    String::from_utf8_lossy(bare(field)).replace("\"\"", "\"")
}

impl CsvRows {
    /// Reads the row at the start of `text`; `ended` says that nothing follows the text. A blank line is no row.
    pub(super) fn read(
        &mut self,
        csv: &Csv,
        format: &Format,
        text: &[u8],
        ended: bool,
        columns: &mut Columns,
    ) -> Result<Row, (Fault, usize)> {
        let used = match cut(text, csv.delimiter, &mut self.row) {
            Ok(used) => used,
            Err(_) if !ended => return Ok(Row::GoesOn),
            Err(at) => return Err((Fault { at, what: "a field in quotes never ends".into() }, text.len())),
        };
        let blank = self.row.len() == 1 && bare(&text[self.row[0].clone()]).is_empty();
        let done = match &self.fields {
            _ if blank => Ok(()),
            None if csv.header => self.take_header(csv, format, text),
            None => self.take_numbers(csv, format).and_then(|()| self.take_row(csv, format, text, columns)),
            Some(_) => self.take_row(csv, format, text, columns),
        };
        done.map(|()| Row::Ends(used)).map_err(|fault| (fault, used))
    }

    /// Is it known where the columns are? Before, nothing can be skipped.
    pub(super) fn knows_columns(&self) -> bool {
        self.fields.is_some()
    }

    fn take_header(&mut self, csv: &Csv, format: &Format, text: &[u8]) -> Result<(), Fault> {
        // Some programs begin a file with a mark of its encoding.
        let names: Vec<String> = self.row.iter().map(|f| name_of(&text[f.clone()])).collect();
        let find = |wanted: &str| names.iter().position(|name| name.trim_start_matches('\u{feff}') == wanted);
        let mut fields = Vec::new();
        for wanted in csv.table.wanted(&format.slots) {
            let Some(index) = find(wanted) else {
                let what = format!("there is no column `{wanted}`; the columns are {}", names.join(", "));
                return Err(Fault { at: 0, what });
            };
            fields.push((wanted.to_string(), index));
        }
        self.fields = Some(fields);
        Ok(())
    }

    /// Without a header, columns are called by their numbers.
    fn take_numbers(&mut self, csv: &Csv, format: &Format) -> Result<(), Fault> {
        let mut fields = Vec::new();
        for wanted in csv.table.wanted(&format.slots) {
            let Some(index) = wanted.parse().ok().filter(|index| *index < self.row.len()) else {
                let what =
                    format!("there is no column `{wanted}`; without a header they are 0 to {}", self.row.len() - 1);
                return Err(Fault { at: 0, what });
            };
            fields.push((wanted.to_string(), index));
        }
        self.fields = Some(fields);
        Ok(())
    }

    fn take_row(&mut self, csv: &Csv, format: &Format, text: &[u8], columns: &mut Columns) -> Result<(), Fault> {
        let (fields, row) = (self.fields.as_deref().unwrap_or_default(), &self.row);
        csv.table.fill_row(&format.slots, columns, |slot, name, values| {
            let index = fields.iter().find(|(n, _)| n == name).map_or(usize::MAX, |(_, index)| *index);
            let Some(range) = row.get(index) else {
                let what = format!("column `{name}` is missing: the row has {} fields", row.len());
                return Err(Fault { at: row.last().map_or(0, |last| last.end), what });
            };
            append(slot, name, &text[range.clone()], csv.list, values).map_err(|what| Fault { at: range.start, what })
        })
    }
}

/// Appends the values of a field; says how many there were.
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
