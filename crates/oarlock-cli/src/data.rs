//! `oarlock data`: make, describe and convert data sets.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use oarlock::data::{self, BadLines, CriteoOptions, SlotSpec, SlotType, Source};
use oarlock::{Error, Kind, Result};

#[derive(Subcommand)]
pub(crate) enum Data {
    /// Write a made-up data set that can be learnt from. The same options give the same files.
    Gen(Gen),
    /// Describe a MultiSlot data set: samples, values per slot, different ids, share of clicks.
    Stat(Stat),
    /// Convert `slot:value` text to MultiSlot text.
    Convert(Convert),
}

#[derive(Args)]
pub(crate) struct Gen {
    /// Which data set.
    kind: Made,
    /// Samples to write.
    #[arg(long)]
    samples: u64,
    /// Directory to write to.
    #[arg(long)]
    out: PathBuf,
    /// Files to write, `part-00000` and so on. The samples do not depend on it.
    #[arg(long, default_value_t = 4)]
    files: u64,
    /// Which samples to draw; use another seed for the samples to test with.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Clone, Copy, ValueEnum)]
enum Made {
    /// A click log: a label, 13 numbers, 26 ids.
    Criteo,
}

/// The files to read.
#[derive(Args)]
struct Input {
    /// Files or patterns; `.gz` and `.zst` files are decompressed.
    #[arg(required = true)]
    files: Vec<String>,
    /// A shell command that each file is sent through.
    #[arg(long, default_value = "")]
    pipe: String,
}

impl Input {
    fn source(self) -> Source {
        Source { pipe_command: self.pipe, ..Source::files(self.files) }
    }
}

#[derive(Args)]
pub(crate) struct Stat {
    #[command(flatten)]
    input: Input,
    /// The slots in order, such as `label:int64,dense:float32`. Guessed if left out.
    #[arg(long, value_delimiter = ',')]
    slots: Vec<String>,
    /// Leave bad lines out and count them instead of stopping at the first.
    #[arg(long)]
    skip_bad_lines: bool,
}

#[derive(Args)]
pub(crate) struct Convert {
    #[command(flatten)]
    input: Input,
    /// Directory to write to; the files keep their names.
    #[arg(long)]
    out: PathBuf,
    /// The slots in the order to write them; those of the first line if left out.
    #[arg(long, value_delimiter = ',')]
    slots: Vec<String>,
}

impl Data {
    /// Does it, and returns what to print.
    pub(crate) fn run(self) -> Result<String> {
        match self {
            Data::Gen(command) => command.run(),
            Data::Stat(command) => command.run(),
            Data::Convert(command) => command.run(),
        }
    }
}

impl Gen {
    fn run(self) -> Result<String> {
        let options = CriteoOptions { samples: self.samples, files: self.files, seed: self.seed };
        let made = match self.kind {
            Made::Criteo => data::write_criteo(&self.out, options)?,
        };
        let rate = 100.0 * made.clicks as f64 / self.samples as f64;
        let Gen { samples, files, .. } = self;
        let (bytes, auc) = (made.bytes, made.best_auc);
        Ok(format!(
            "{samples} samples in {files} files, {bytes} bytes\n{rate:.2} % clicks, best possible AUC {auc:.4}\n"
        ))
    }
}

impl Stat {
    fn run(self) -> Result<String> {
        let slots: Vec<SlotSpec> = self.slots.iter().map(|s| slot(s)).collect::<Result<_>>()?;
        let bad_lines = if self.skip_bad_lines { BadLines::Skip } else { BadLines::Fail };
        let stat = data::describe(&self.input.source(), (!slots.is_empty()).then_some(slots), bad_lines)?;
        Ok(match &stat.first_skipped {
            None => stat.to_string(),
            Some(error) => format!("{stat}\nthe first bad line: {error}\n"),
        })
    }
}

impl Convert {
    fn run(self) -> Result<String> {
        let slots = (!self.slots.is_empty()).then_some(self.slots);
        let done = data::convert(&self.input.source(), &self.out, slots)?;
        let (samples, files) = (done.samples, done.files.len());
        Ok(format!("{samples} samples in {files} files\nslots: {}\n", done.slots.join(", ")))
    }
}

/// A slot written as `name:type`.
fn slot(text: &str) -> Result<SlotSpec> {
    let (name, ty) = text.rsplit_once(':').unwrap_or((text, "int64"));
    let ty = match ty {
        "int64" | "uint64" => SlotType::Id,
        "float32" | "float" => SlotType::Float,
        other => {
            let what = format!("`{text}`: a slot has no type `{other}`");
            return Err(Error::new(Kind::Argument, what).help("write `name:int64` or `name:float32`"));
        }
    };
    Ok(SlotSpec::sparse(name, ty))
}

#[test]
fn slots_are_written_with_their_types() {
    assert_eq!(slot("label").unwrap(), SlotSpec::sparse("label", SlotType::Id));
    assert_eq!(slot("a:b:float32").unwrap(), SlotSpec::sparse("a:b", SlotType::Float));
    assert_eq!(
        slot("x:double").unwrap_err().to_string(),
        "error[argument]: `x:double`: a slot has no type `double`\n  help: write `name:int64` or `name:float32`"
    );
}
