//! Files of records, read by several threads: `open_files`.

use std::fs::File;
use std::io::BufReader;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use oarlock_ir::{Error, Kind, Result, VarType};
use oarlock_tensor::Tensor;

use super::TensorReader;
use super::prefetch::{Ahead, Out};
use crate::format::recordio::{RecordReader, decode_sample};

/// What `open_files` reads.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    pub(crate) names: Vec<String>,
    /// Threads that read files of their own. One keeps the order of the files.
    pub(crate) threads: usize,
    /// Records that are kept ready.
    pub(crate) buffer: usize,
    /// How often all files are read before the end.
    pub(crate) passes: usize,
    /// What each record must hold; empty: anything.
    pub(crate) types: Vec<VarType>,
}

/// A reader of files.
pub(crate) struct FilesReader {
    files: Arc<Files>,
    ahead: Option<Ahead>,
}

impl FilesReader {
    pub(crate) fn new(files: Files) -> FilesReader {
        FilesReader { files: Arc::new(files), ahead: None }
    }

    fn start(&self) -> Result<Ahead> {
        let next = Arc::new(AtomicUsize::new(0));
        let threads = self.files.threads.clamp(1, self.files.names.len().max(1));
        let work = |_| {
            let (files, next) = (self.files.clone(), next.clone());
            move |out: &Out, stop: &AtomicBool| files.read_some(&next, out, stop)
        };
        Ahead::start(self.files.buffer, (0..threads).map(work))
    }
}

impl Files {
    /// Reads whichever file is next, until there are no more.
    fn read_some(&self, next: &AtomicUsize, out: &Out, stop: &AtomicBool) {
        let all = self.names.len() * self.passes.max(1);
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= all || stop.load(Ordering::Relaxed) {
                return;
            }
            match self.read_file(&self.names[at % self.names.len()], out) {
                Ok(true) => {}
                Ok(false) => return,
                Err(e) => {
                    out.put(Err(e));
                    return;
                }
            }
        }
    }

    /// Puts every record of a file; false when nobody wants more.
    fn read_file(&self, name: &str, out: &Out) -> Result<bool> {
        let file = File::open(name).map_err(|e| Error::new(Kind::Io, format!("cannot read {name}: {e}")))?;
        let mut records = RecordReader::new(BufReader::new(file), name);
        while let Some(record) = records.next_record()? {
            let tensors = decode_sample(record, name)?;
            self.check(name, &tensors)?;
            if !out.put(Ok(tensors)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn check(&self, name: &str, tensors: &[Tensor]) -> Result<()> {
        if self.types.is_empty() {
            return Ok(());
        }
        let wrong = |what: String| Error::new(Kind::Format, format!("{name}: {what}"));
        if tensors.len() != self.types.len() {
            let what = format!("a record has {} tensors, but {} are read", tensors.len(), self.types.len());
            return Err(wrong(what).help("`open_files` must list the shapes, levels and types of what was written"));
        }
        for (i, (t, ty)) in tensors.iter().zip(&self.types).enumerate() {
            if t.dtype() != ty.dtype {
                return Err(wrong(format!("tensor {i} of a record is {}, but {} is read", t.dtype(), ty.dtype)));
            }
        }
        Ok(())
    }
}

impl TensorReader for FilesReader {
    fn next(&mut self, stop: &AtomicBool) -> Result<Option<Vec<Tensor>>> {
        if self.ahead.is_none() {
            self.ahead = Some(self.start()?);
        }
        self.ahead.as_mut().map_or(Ok(None), |ahead| ahead.next(stop))
    }

    fn peek(&mut self, look: &mut dyn FnMut(&[Tensor])) {
        if let Some(ahead) = &mut self.ahead {
            ahead.peek(look);
        }
    }

    fn reset(&mut self) -> Result<()> {
        self.ahead = None;
        Ok(())
    }

    fn reads_ahead(&self) -> bool {
        true
    }
}
