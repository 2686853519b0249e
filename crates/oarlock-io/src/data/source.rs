//! Files to read: names and patterns, compression, pipe commands. Knows nothing of what the bytes mean.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::path::Path;
use std::sync::Arc;

use flate2::bufread::MultiGzDecoder;
use oarlock_ir::{Error, Kind, Result};

use super::pipe::{Cancel, Pipe, Stdin};
use super::zstd::Frames;

/// Where a data set comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Names of files, or patterns such as `train/part-*`. `.gz` and `.zst` files are decompressed.
    pub files: Vec<String>,
    /// A shell command that each file is sent through. Empty or `cat`: the files are read as they are.
    pub pipe_command: String,
}

impl Source {
    /// These files, read as they are.
    pub fn files<S: Into<String>>(files: impl IntoIterator<Item = S>) -> Source {
        Source { files: files.into_iter().map(Into::into).collect(), pipe_command: String::new() }
    }

    /// The files behind names and patterns: in the order given, those of a pattern sorted by name.
    pub fn expand(&self) -> Result<Vec<String>> {
        let mut all = Vec::new();
        for name in &self.files {
            if let Some((scheme, _)) = name.split_once(":/").filter(|(s, _)| is_scheme(s)) {
                let what = format!("{name}: reading from `{scheme}` storage is not supported yet");
                return Err(Error::new(Kind::Unsupported, what).help("copy the files to a local or mounted directory"));
            }
            if name.contains(['*', '?', '[']) && !Path::new(name).exists() {
                all.extend(matches(name)?);
            } else {
                all.push(name.clone());
            }
        }
        if all.is_empty() {
            return Err(Error::new(Kind::Argument, "the dataset has no files").help("give it a list of files"));
        }
        Ok(all)
    }

    fn is_native(&self) -> bool {
        matches!(self.pipe_command.trim(), "" | "cat")
    }

    /// Starts to read a file.
    pub(crate) fn open(&self, name: &str, cancel: &Arc<Cancel>) -> Result<Input> {
        let cannot = |e: io::Error| Error::new(Kind::Io, format!("cannot read {name}: {e}"));
        let file = File::open(name).map_err(cannot)?;
        if file.metadata().map_err(cannot)?.is_dir() {
            let what = format!("cannot read {name}: it is a directory");
            return Err(Error::new(Kind::Io, what).help(format!("use the pattern `{name}/*` for the files in it")));
        }
        let stream: Option<Box<dyn Read + Send>> = match Path::new(name).extension().and_then(|e| e.to_str()) {
            Some("gz") => Some(Box::new(MultiGzDecoder::new(buffered(&file).map_err(cannot)?))),
            Some("zst" | "zstd") => Some(Box::new(Frames::new(buffered(&file).map_err(cannot)?))),
            _ => None,
        };
        if self.is_native() {
            return Ok(stream.map_or(Input::Plain(file), Input::Stream));
        }
        let stdin = stream.map_or_else(|| Stdin::File(file), Stdin::Stream);
        Pipe::start(&self.pipe_command, name, stdin, cancel).map(Input::Pipe)
    }
}

fn buffered(file: &File) -> io::Result<BufReader<File>> {
    Ok(BufReader::with_capacity(1 << 18, file.try_clone()?))
}

/// `hdfs:/path`, `s3://bucket`: a word before the colon, but no path.
fn is_scheme(word: &str) -> bool {
    word.len() > 1 && word.bytes().all(|b| b.is_ascii_alphanumeric())
}

fn matches(pattern: &str) -> Result<Vec<String>> {
    let wrong = |what: String| Error::new(Kind::Argument, format!("the file pattern `{pattern}` {what}"));
    let paths = glob::glob(pattern).map_err(|e| wrong(format!("is malformed: {e}")))?;
    let mut names = Vec::new();
    for path in paths {
        let path = path.map_err(|e| Error::new(Kind::Io, e.to_string()))?;
        if path.is_dir() {
            continue;
        }
        match path.to_str() {
            Some(name) => names.push(name.to_string()),
            None => return Err(wrong(format!("matches {}, whose name is not UTF-8", path.display()))),
        }
    }
    if names.is_empty() {
        return Err(wrong("matches no file".into()).help("patterns are relative to the working directory"));
    }
    names.sort();
    Ok(names)
}

/// A file being read, or the command it is sent through.
pub(crate) enum Input {
    Plain(File),
    Stream(Box<dyn Read + Send>),
    Pipe(Pipe),
}

impl Input {
    /// How many bytes of the file were read, where that is known.
    pub(crate) fn position(&mut self) -> Option<u64> {
        match self {
            Input::Plain(file) => file.stream_position().ok(),
            Input::Stream(_) | Input::Pipe(_) => None,
        }
    }

    /// To be called at the end: was that really the end, or did something fail?
    pub(crate) fn finish(&mut self) -> Result<()> {
        match self {
            Input::Plain(_) | Input::Stream(_) => Ok(()),
            Input::Pipe(pipe) => pipe.finish(),
        }
    }
}

impl Read for Input {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self {
            Input::Plain(file) => file.read(out),
            Input::Stream(stream) => stream.read(out),
            Input::Pipe(pipe) => pipe.read(out),
        }
    }
}
