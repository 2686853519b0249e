//! Files of records, read by several threads: `open_files`.

use std::fs::File;
use std::io::BufReader;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use oarlock_ir::{Error, Kind, Result, VarType};
use oarlock_tensor::Tensor;

use super::prefetch::{Out, Prefetch, PrefetchSource};
use crate::format::recordio::{RecordReader, decode_sample};

/// The files that `open_files` reads.
#[derive(Debug, Clone)]
pub(crate) struct RecordFiles {
    pub(crate) names: Vec<String>,
    /// Threads that read files of their own. One keeps the order of the files.
    pub(crate) threads: usize,
    /// Records that are kept ready.
    pub(crate) buffer: usize,
    /// How often all files are read before the end.
    pub(crate) passes: usize,
    /// The tensors that each record must hold; empty: any.
    pub(crate) types: Vec<VarType>,
}

impl PrefetchSource for Arc<RecordFiles> {
    fn start(&self) -> Result<Prefetch> {
        let next = Arc::new(AtomicUsize::new(0));
        let threads = self.threads.clamp(1, self.names.len().max(1));
        let work = |_| {
            let (files, next) = (self.clone(), next.clone());
            move |out: &Out, stop: &AtomicBool| files.read_some(&next, out, stop)
        };
        Prefetch::start(self.buffer, (0..threads).map(work))
    }

    fn reset(&mut self) -> Result<()> {
        Ok(())
    }
}

impl RecordFiles {
    /// Reads the next file, again and again, until there are no more.
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

    /// Puts every record of a file; false when no more are wanted.
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
