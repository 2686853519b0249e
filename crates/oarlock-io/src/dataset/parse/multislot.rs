//! Lines of MultiSlot text into columns. Knows no file: a mistake is a place in the line and what was expected there.
//!
//! A line is a group `count v1 ... v_count` for each slot, with white space between all of them. The parser looks at each
//! byte once and allocates nothing as long as the columns have room.

use std::fmt;

use oarlock_ir::{Error, Kind};

use super::number::{self, NotANumber, is_blank, token_end};
use super::records::Records;
use crate::dataset::column::{Columns, Values};
use crate::dataset::slots::SlotSpec;

/// A text that stands in front of the slots, as a group `1 text`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leading {
    /// The line id of the sample; samples can be merged by it.
    LineId,
    /// Anything the user wants to find again next to the sample.
    Content,
    /// The key of a search log; it identifies the sample where there is no line id.
    LogKey,
}

/// The treatment of a malformed line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadLines {
    /// It ends the run.
    Fail,
    /// It is left out and counted.
    Skip,
}

/// The treatment of text behind the last slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extra {
    /// The line is a bad one: most likely the file has more slots than the program.
    Refuse,
    /// It is ignored, as Fluid does.
    Ignore,
}

/// The format of the lines of a data set.
#[derive(Debug, Clone)]
pub struct Format {
    /// Texts in front of the slots, in order.
    pub leading: Vec<Leading>,
    /// The slots, in order.
    pub slots: Vec<SlotSpec>,
    /// The treatment of bad lines.
    pub bad_lines: BadLines,
    /// The treatment of text behind the last slot.
    pub extra: Extra,
    /// How files hold all this.
    pub records: Records,
}

impl Format {
    /// Lines of these slots and nothing else; a bad line ends the run.
    pub fn strict(slots: Vec<SlotSpec>) -> Format {
        Format {
            leading: Vec::new(),
            slots,
            bad_lines: BadLines::Fail,
            extra: Extra::Refuse,
            records: Records::MultiSlot,
        }
    }

    /// Is there something to read, and has every slot a name of its own?
    pub(crate) fn check(&self) -> oarlock_ir::Result<()> {
        if !self.slots.iter().any(SlotSpec::is_used) {
            return Err(Error::new(Kind::Argument, "the dataset has no slots")
                .help("name the variables that the file fills, in the order in which they stand in a line"));
        }
        for (i, slot) in self.slots.iter().enumerate() {
            if self.slots[..i].iter().any(|s| s.name() == slot.name()) {
                return Err(Error::new(Kind::Argument, format!("slot `{}` is listed twice", slot.name())));
            }
        }
        self.records.check(self)
    }

    pub(crate) fn columns(&self) -> Columns {
        Columns::new(&self.slots, self.leading.len())
    }
}

/// An error in a line, and the byte where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) at: usize,
    pub(crate) what: String,
}

/// A value, or what is wrong with the line or row that should give it.
pub(crate) type OrFault<T> = std::result::Result<T, Fault>;

/// Text and a position in it.
struct LineCursor<'a> {
    text: &'a [u8],
    at: usize,
}

/// Parses the line at the start of `text` into one more row of `columns`; returns how many bytes it took, its newline
/// included. On a fault the columns are as before.
#[inline]
pub(crate) fn line(format: &Format, text: &[u8], columns: &mut Columns) -> Result<usize, Fault> {
    let mut cursor = LineCursor { text, at: 0 };
    match cursor.row(format, columns) {
        Ok(()) => {
            columns.end_row();
            Ok(cursor.at)
        }
        Err(fault) => {
            columns.cancel_row();
            Err(fault)
        }
    }
}

impl LineCursor<'_> {
    fn row(&mut self, format: &Format, columns: &mut Columns) -> Result<(), Fault> {
        for (leading, texts) in format.leading.iter().zip(&mut columns.texts) {
            texts.push(self.text(*leading)?);
        }
        for (slot, column) in format.slots.iter().zip(&mut columns.slots) {
            let count = self.count(slot)?;
            if !slot.is_used() {
                (0..count).try_for_each(|i| self.pass_over(slot, count, i))?;
                continue;
            }
            match &mut column.values {
                Values::Float(values) => {
                    for i in 0..count {
                        values.push(self.value(slot, count, i, number::float)?);
                    }
                }
                Values::Id(values) => {
                    for i in 0..count {
                        values.push(self.value(slot, count, i, number::id)?);
                    }
                }
            }
            column.lengths.push(count);
        }
        self.end(format)
    }

    /// To the next byte that is no white space. A newline is never passed.
    #[inline(always)]
    fn skip_blanks(&mut self) {
        while self.text.get(self.at).is_some_and(|&b| is_blank(b)) {
            self.at += 1;
        }
    }

    fn at_line_end(&self) -> bool {
        self.text.get(self.at).is_none_or(|&b| b == b'\n')
    }

    #[inline(always)]
    fn count(&mut self, slot: &SlotSpec) -> Result<usize, Fault> {
        self.skip_blanks();
        match number::unsigned(self.text, self.at) {
            Ok((n, end)) if n > 0 && (n == slot.row_values() as u64 || n % slot.row_values() as u64 == 0) => {
                self.at = end;
                Ok(n as usize)
            }
            found => Err(self.bad_count(slot, found.map(|(n, _)| n))),
        }
    }

    #[inline(always)]
    fn value<T>(
        &mut self,
        slot: &SlotSpec,
        count: usize,
        index: usize,
        parse: impl Fn(&[u8], usize) -> Result<(T, usize), NotANumber>,
    ) -> Result<T, Fault> {
        self.skip_blanks();
        match parse(self.text, self.at) {
            Ok((value, end)) => {
                self.at = end;
                Ok(value)
            }
            Err(why) => Err(self.bad_value(slot, count, index, why)),
        }
    }

    fn pass_over(&mut self, slot: &SlotSpec, count: usize, index: usize) -> Result<(), Fault> {
        self.skip_blanks();
        if self.at_line_end() {
            return Err(self.bad_value(slot, count, index, NotANumber::Malformed));
        }
        self.at = token_end(self.text, self.at);
        Ok(())
    }

    fn text(&mut self, leading: Leading) -> Result<&[u8], Fault> {
        self.skip_blanks();
        match number::unsigned(self.text, self.at) {
            Ok((1, end)) => self.at = end,
            _ => return Err(self.fault(format_args!("expected `1` and the {leading}, found {}", self.found()))),
        }
        self.skip_blanks();
        if self.at_line_end() {
            return Err(self.fault(format_args!("expected the {leading}, found {}", self.found())));
        }
        let start = self.at;
        self.at = token_end(self.text, start);
        Ok(&self.text[start..self.at])
    }

    #[inline(always)]
    fn end(&mut self, format: &Format) -> Result<(), Fault> {
        self.skip_blanks();
        if !self.at_line_end() {
            if format.extra == Extra::Refuse {
                let n = format.slots.len();
                return Err(
                    self.fault(format_args!("expected the end of the line after {n} slots, found {}", self.found()))
                );
            }
            self.at = line_end(self.text, self.at);
        }
        // Past the newline, if the text does not end without one.
        self.at = (self.at + 1).min(self.text.len());
        Ok(())
    }

    fn fault(&self, what: impl fmt::Display) -> Fault {
        Fault { at: self.at, what: what.to_string() }
    }

    #[cold]
    fn bad_count(&self, slot: &SlotSpec, found: Result<u64, NotANumber>) -> Fault {
        let name = slot.name();
        match found {
            Ok(0) => self.fault(format_args!(
                "slot `{name}` has no values; write one that means none, such as `1 0`, as padding"
            )),
            Ok(n) => self.fault(format_args!(
                "slot `{name}` has {n} values, but its shape needs a multiple of {}",
                slot.row_values()
            )),
            Err(_) => {
                self.fault(format_args!("expected the number of values of slot `{name}`, found {}", self.found()))
            }
        }
    }

    #[cold]
    fn bad_value(&self, slot: &SlotSpec, count: usize, index: usize, why: NotANumber) -> Fault {
        let place = format!("value {} of {count} of slot `{}`", index + 1, slot.name());
        match why {
            NotANumber::TooLarge => self.fault(format_args!("{place}: {} does not fit into 64 bits", self.found())),
            NotANumber::Malformed => {
                self.fault(format_args!("expected {place}, of type {}, found {}", slot.ty(), self.found()))
            }
        }
    }

    /// The token at the present position, as messages show it.
    fn found(&self) -> String {
        const SHOWN: usize = 40;
        let token = &self.text[self.at..token_end(self.text, self.at)];
        match token.len() {
            0 => "the end of the line".to_string(),
            n if n > SHOWN => format!("`{}...`", String::from_utf8_lossy(&token[..SHOWN])),
            _ => format!("`{}`", String::from_utf8_lossy(token)),
        }
    }
}

/// Where the line that `at` is in ends: its newline or the end of the text.
pub(crate) fn line_end(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    memchr::memchr(b'\n', rest).map_or(text.len(), |n| at + n)
}

impl fmt::Display for Leading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Leading::LineId => "line id",
            Leading::Content => "content",
            Leading::LogKey => "log key",
        })
    }
}

#[cfg(test)]
mod tests {
    use oarlock_ir::Shape;
    use proptest::prelude::*;

    use super::*;
    use crate::dataset::batch::Batch;
    use crate::dataset::slots::SlotType;

    fn slots() -> Vec<SlotSpec> {
        vec![
            SlotSpec::dense("d", SlotType::Float, Shape::from_i64(&[-1, 2])).unwrap(),
            SlotSpec::sparse("ids", SlotType::Id),
        ]
    }

    fn faults(format: &Format, text: &str) -> (usize, String) {
        let mut columns = format.columns();
        let fault = line(format, text.as_bytes(), &mut columns).unwrap_err();
        assert_eq!(columns.slots[0].lengths.total() + columns.slots[1].lengths.total(), 0);
        (fault.at, fault.what)
    }

    #[test]
    fn faults_say_where_and_what() {
        let strict = Format::strict(slots());
        let case =
            |text: &str, at: usize, what: &str| assert_eq!(faults(&strict, text), (at, what.to_string()), "{text}");
        case("2 1 x 1 7\n", 4, "expected value 2 of 2 of slot `d`, of type float32, found `x`");
        case("2 1 2 1 7.5\n", 8, "expected value 1 of 1 of slot `ids`, of type int64, found `7.5`");
        case("2 1 2 2 7 \n1 1", 10, "expected value 2 of 2 of slot `ids`, of type int64, found the end of the line");
        case("2 1 2", 5, "expected the number of values of slot `ids`, found the end of the line");
        case("2 1 2 0\n", 6, "slot `ids` has no values; write one that means none, such as `1 0`, as padding");
        case("2 1 2 -1 7\n", 6, "expected the number of values of slot `ids`, found `-1`");
        case("3 1 2 3 1 7\n", 0, "slot `d` has 3 values, but its shape needs a multiple of 2");
        case("2 1 2 1 7 1 8\n", 10, "expected the end of the line after 2 slots, found `1`");
        case(
            "2 1 2 1 99999999999999999999",
            8,
            "value 1 of 1 of slot `ids`: `99999999999999999999` does not fit into 64 bits",
        );
        case(
            "99999999999999999999999 1",
            0,
            "expected the number of values of slot `d`, found `99999999999999999999999`",
        );
        case("\n", 0, "expected the number of values of slot `d`, found the end of the line");
        let mut with_id = Format::strict(slots());
        with_id.leading = vec![Leading::LineId];
        assert_eq!(faults(&with_id, "2 a b\n"), (0, "expected `1` and the line id, found `2`".to_string()));
        assert_eq!(faults(&with_id, "1 \n"), (2, "expected the line id, found the end of the line".to_string()));
    }

    #[test]
    fn unused_slots_and_extra_text_are_read_over() {
        let mut format = Format::strict(slots());
        format.slots.insert(1, SlotSpec::unused("u", SlotType::Float));
        format.slots.push(SlotSpec::unused("last", SlotType::Id));
        format.extra = Extra::Ignore;
        let mut columns = format.columns();
        let text = b"2 1 2 3 a b c 1 7 1 x 9 9\n";
        assert_eq!(line(&format, text, &mut columns), Ok(text.len()));
        let mut batch = Batch::new();
        columns.take(&format.slots, &mut batch).unwrap();
        assert_eq!(batch.tensors().len(), 2);
        assert_eq!(batch.tensors()[1].data::<i64>().unwrap(), [7]);
        assert!(line(&format, b"2 1 2 3 a b", &mut columns).is_err());
    }

    #[test]
    fn a_fault_leaves_earlier_rows_alone() {
        let format = Format::strict(slots());
        let mut columns = format.columns();
        line(&format, b"2 1 2 1 7", &mut columns).unwrap();
        line(&format, b"4 1 2 3 4 3 7 8 x", &mut columns).unwrap_err();
        line(&format, b"2 5 6 2 8 9", &mut columns).unwrap();
        let mut batch = Batch::new();
        columns.take(&format.slots, &mut batch).unwrap();
        assert_eq!(batch.tensors()[0].data::<f32>().unwrap(), [1., 2., 5., 6.]);
        assert_eq!(batch.tensors()[1].data::<i64>().unwrap(), [7, 8, 9]);
        assert_eq!(batch.tensors()[1].lod().levels(), [[0, 1, 3]]);
    }

    proptest! {
        #[test]
        fn random_bytes_never_panic(text in prop::collection::vec(any::<u8>(), 0..60)) {
            let format = Format::strict(slots());
            drop(line(&format, &text, &mut format.columns()));
        }

        #[test]
        fn nearly_right_lines_never_panic(text in "[0-9 .\\-\t\ne]{0,40}") {
            let format = Format::strict(slots());
            let mut columns = format.columns();
            if let Ok(used) = line(&format, text.as_bytes(), &mut columns) {
                prop_assert!(used <= text.len() && columns.rows() == 1);
            }
        }

        #[test]
        fn printed_samples_come_back(
            rows in prop::collection::vec((prop::collection::vec(any::<[f32; 2]>(), 1..3), prop::collection::vec(any::<i64>(), 1..5)), 1..5),
            blanks in "[ \t]{1,3}",
        ) {
            let format = Format::strict(slots());
            let mut columns = format.columns();
            for (dense, ids) in &rows {
                let mut words = vec![(dense.len() * 2).to_string()];
                words.extend(dense.iter().flatten().map(|v| format!("{v:e}")));
                words.push(ids.len().to_string());
                words.extend(ids.iter().map(i64::to_string));
                let text = words.join(&blanks);
                prop_assert_eq!(line(&format, text.as_bytes(), &mut columns), Ok(text.len()));
            }
            let mut batch = Batch::new();
            columns.take(&format.slots, &mut batch).unwrap();
            let dense: Vec<f32> = rows.iter().flat_map(|r| r.0.iter().flatten().copied()).collect();
            let ids: Vec<i64> = rows.iter().flat_map(|r| r.1.iter().copied()).collect();
            let lengths = rows.iter().map(|r| r.1.len()).collect();
            prop_assert_eq!(batch.tensors()[0].data::<f32>().unwrap(), &dense[..]);
            prop_assert_eq!(batch.tensors()[1].data::<i64>().unwrap(), &ids[..]);
            prop_assert_eq!(batch.tensors()[1].lod().clone(), oarlock_tensor::Lod::from_lengths(&[lengths]));
        }
    }
}
