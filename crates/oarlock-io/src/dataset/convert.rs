//! `slot:value` text into MultiSlot text: `click:0 dense_feature:0.5 dense_feature:1 1:737395 2:210498`.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use oarlock_ir::{Error, Kind};

use super::input::source::Source;
use super::parse::file_rows::each_line;

/// A summary of a conversion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Converted {
    /// Samples written.
    pub samples: u64,
    /// The slots, in the order in which they stand in a line now.
    pub slots: Vec<String>,
    /// The files written.
    pub files: Vec<PathBuf>,
}

/// Converts every file of `source` into one of the same name in `dir`. The slots are those of the first line, in its order,
/// unless they are given. A slot that a line does not mention is padded with a single 0.
pub fn convert(source: &Source, dir: &Path, slots: Option<Vec<String>>) -> oarlock_ir::Result<Converted> {
    let mut converter = Converter { slots: slots.unwrap_or_default(), values: Vec::new() };
    let mut done = Converted { samples: 0, slots: Vec::new(), files: Vec::new() };
    fs::create_dir_all(dir).map_err(|e| cannot_write(dir, e))?;
    for name in source.expand()? {
        let path = target(dir, &name, &done.files)?;
        let part = path.with_extension("part");
        let mut out = BufWriter::new(fs::File::create(&part).map_err(|e| cannot_write(&part, e))?);
        each_line(source, &name, |number, text| {
            let line = converter.line(text).map_err(|(at, what)| {
                Error::new(Kind::Format, format!("{name}:{number}:{}: {what}", at + 1))
                    .help("name all slots, in order, if the first line does not have them all")
            })?;
            out.write_all(line.as_bytes()).map_err(|e| cannot_write(&part, e))?;
            done.samples += 1;
            Ok(ControlFlow::Continue(()))
        })?;
        out.flush().and_then(|()| fs::rename(&part, &path)).map_err(|e| cannot_write(&path, e))?;
        done.files.push(path);
    }
    done.slots = converter.slots;
    Ok(done)
}

fn cannot_write(path: &Path, e: io::Error) -> Error {
    Error::new(Kind::Io, format!("cannot write {}: {e}", path.display()))
}

/// The file to write: the name without directory and compression. Never one that is read or was written before.
fn target(dir: &Path, name: &str, written: &[PathBuf]) -> oarlock_ir::Result<PathBuf> {
    let base = Path::new(name).file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let plain = base.trim_end_matches(".gz").trim_end_matches(".zst").trim_end_matches(".zstd");
    let path = dir.join(plain);
    let same =
        |other: &Path| fs::canonicalize(other).ok().zip(fs::canonicalize(&path).ok()).is_some_and(|(a, b)| a == b);
    if written.contains(&path) || same(Path::new(name)) {
        let what = format!("{} would be written over", path.display());
        return Err(
            Error::new(Kind::Argument, what).help("write to another directory, or convert the files one by one")
        );
    }
    Ok(path)
}

struct Converter {
    /// Empty until the first line, if it decides.
    slots: Vec<String>,
    /// The values of each slot in the present line.
    values: Vec<Vec<String>>,
}

impl Converter {
    /// A line in the other form; or what is wrong with it, and where.
    fn line(&mut self, text: &[u8]) -> Result<String, (usize, String)> {
        let text = std::str::from_utf8(text).map_err(|e| (e.valid_up_to(), "the text is not UTF-8".to_string()))?;
        let first = self.slots.is_empty();
        self.values.iter_mut().for_each(Vec::clear);
        for word in text.split_ascii_whitespace() {
            // Where the word stands: both are parts of one text.
            let at = word.as_ptr() as usize - text.as_ptr() as usize;
            let pair = word.rsplit_once(':').filter(|(slot, value)| !slot.is_empty() && !value.is_empty());
            let (slot, value) = pair.ok_or_else(|| (at, format!("expected `slot:value`, found `{word}`")))?;
            let known = self.slots.iter().position(|s| s == slot);
            let index = match known {
                Some(index) => index,
                None if first => {
                    self.slots.push(slot.to_string());
                    self.slots.len() - 1
                }
                None => return Err((at, format!("slot `{slot}` is not one of the {} slots", self.slots.len()))),
            };
            self.values.resize_with(self.slots.len(), Vec::new);
            self.values[index].push(value.to_string());
        }
        if self.slots.is_empty() {
            return Err((0, "the first line is empty".to_string()));
        }
        self.values.resize_with(self.slots.len(), Vec::new);
        let groups = self.values.iter().map(|values| match values.len() {
            0 => "1 0".to_string(),
            n => format!("{n} {}", values.join(" ")),
        });
        Ok(groups.collect::<Vec<_>>().join(" ") + "\n")
    }
}

#[test]
fn lines_are_regrouped_and_padded() {
    let mut converter = Converter { slots: Vec::new(), values: Vec::new() };
    assert_eq!(converter.line(b"click:0 d:0.5 a:b:7 d:1").unwrap(), "1 0 2 0.5 1 1 7\n");
    assert_eq!(converter.slots, ["click", "d", "a:b"]);
    assert_eq!(converter.line(b"a:b:8 click:1").unwrap(), "1 1 1 0 1 8\n");
    assert_eq!(converter.line(b"click:1 x:8").unwrap_err(), (8, "slot `x` is not one of the 3 slots".to_string()));
    assert_eq!(converter.line(b"click:1  8").unwrap_err(), (9, "expected `slot:value`, found `8`".to_string()));
    assert_eq!(converter.line(b"click:\xff").unwrap_err().0, 6);
}
