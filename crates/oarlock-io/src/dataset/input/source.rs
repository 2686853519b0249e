//! Files to read: names and patterns, compression, pipe commands. Knows nothing of what the bytes mean.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::path::Path;
use std::sync::Arc;

use flate2::bufread::MultiGzDecoder;
use oarlock_ir::{Error, Kind, Result};

use super::pipe::{Cancel, Pipe, Stdin};
use crate::format::zstd::Frames;
use crate::store::{is_hdfs, open_around_with, open_store_with};

/// Where a data set comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Names of files, or patterns such as `train/part-*`; `hdfs://host/train/part-*` where there is a `hadoop`
    /// command, and `s3://bucket/train/part-*` with the feature `storage`. `.gz` and `.zst` files are decompressed.
    pub files: Vec<String>,
    /// A shell command that each file is sent through. Empty or `cat`: the files are read as they are.
    pub pipe_command: String,
    /// Settings of Hadoop for files of HDFS, such as `hadoop.job.ugi`.
    pub hadoop: Vec<(String, String)>,
}

impl Source {
    /// These files, read as they are.
    pub fn files<S: Into<String>>(files: impl IntoIterator<Item = S>) -> Source {
        let files = files.into_iter().map(Into::into).collect();
        Source { files, pipe_command: String::new(), hadoop: Vec::new() }
    }

    /// The files behind names and patterns: in the order given, those of a pattern sorted by name.
    pub fn expand(&self) -> Result<Vec<String>> {
        let mut all = Vec::new();
        for name in &self.files {
            let is_pattern = name.contains(['*', '?', '[']);
            if is_remote(name)? {
                if is_pattern { all.extend(self.remote_matches(name)?) } else { all.push(name.clone()) }
            } else if is_pattern && !Path::new(name).exists() {
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
        let file =
            if is_remote(name)? { Stdin::Stream(self.open_remote(name)?) } else { Stdin::File(open_local(name)?) };
        let stdin = match Path::new(name).extension().and_then(|e| e.to_str()) {
            Some("gz") => Stdin::Stream(Box::new(MultiGzDecoder::new(buffered(file)))),
            Some("zst" | "zstd") => Stdin::Stream(Box::new(Frames::new(buffered(file)))),
            _ => file,
        };
        match stdin {
            Stdin::File(file) if self.is_native() => Ok(Input::Plain(file)),
            Stdin::Stream(stream) if self.is_native() => Ok(Input::Stream(stream)),
            stdin => Pipe::start(&self.pipe_command, name, stdin, cancel).map(Input::Pipe),
        }
    }

    /// The files of an object store behind a pattern, which must be in the last part of the name.
    fn remote_matches(&self, pattern: &str) -> Result<Vec<String>> {
        let wrong = |what: String| Error::new(Kind::Argument, format!("the file pattern `{pattern}` {what}"));
        let Some((folder, last)) = pattern.rsplit_once('/').filter(|(folder, _)| !folder.contains(['*', '?', '[']))
        else {
            return Err(wrong("has a wildcard before its last part".into()).help("list the folders one by one"));
        };
        let last = glob::Pattern::new(last).map_err(|e| wrong(format!("is malformed: {e}")))?;
        let files = open_store_with(folder, &self.hadoop)?.view()?.files()?;
        let direct = files.iter().filter(|name| !name.contains('/') && last.matches(name));
        let found: Vec<String> = direct.map(|name| format!("{folder}/{name}")).collect();
        if found.is_empty() {
            return Err(wrong("matches no file".into()));
        }
        Ok(found)
    }

    /// A file that is not on a disk.
    fn open_remote(&self, name: &str) -> Result<Box<dyn Read + Send>> {
        let (store, file) = open_around_with(name, &self.hadoop)?;
        Ok(store.view()?.open(&file)?.into_reader())
    }
}

fn open_local(name: &str) -> Result<File> {
    let cannot = |e: io::Error| Error::new(Kind::Io, format!("cannot read {name}: {e}"));
    let file = File::open(name).map_err(|e| {
        let is_missing = e.kind() == io::ErrorKind::NotFound;
        let error = cannot(e);
        if is_missing { error.help(where_it_was_looked_for(name)) } else { error }
    })?;
    if file.metadata().map_err(cannot)?.is_dir() {
        let what = format!("cannot read {name}: it is a directory");
        return Err(Error::new(Kind::Io, what).help(format!("use the pattern `{name}/*` for the files in it")));
    }
    Ok(file)
}

/// Advice for a file that is missing.
fn where_it_was_looked_for(name: &str) -> String {
    let list = "check the list of files";
    match std::env::current_dir() {
        Ok(here) if Path::new(name).is_relative() => {
            format!("{list}: names are relative to the working directory, {}", here.display())
        }
        _ => format!("{list}; patterns such as `part-*` name all files that are there"),
    }
}

fn buffered(file: Stdin) -> BufReader<Box<dyn Read + Send>> {
    let file: Box<dyn Read + Send> = match file {
        Stdin::File(file) => Box::new(file),
        Stdin::Stream(stream) => stream,
    };
    BufReader::with_capacity(1 << 18, file)
}

/// Is it a URL of an object store or of HDFS? What merely looks like a URL of another kind is an error.
fn is_remote(name: &str) -> Result<bool> {
    let Some((scheme, rest)) = name.split_once(":/").filter(|(s, _)| is_scheme(s)) else { return Ok(false) };
    if rest.starts_with('/') || is_hdfs(name) {
        return Ok(true);
    }
    let what = format!("{name}: files of `{scheme}` cannot be read directly");
    Err(Error::new(Kind::Unsupported, what)
        .help("mount it and use the directory, or write two slashes as in s3://bucket/file"))
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
