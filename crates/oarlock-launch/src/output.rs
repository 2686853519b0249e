//! The output of a process: to its log as it comes, to the screen line by line, and the last lines in memory.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, PipeReader, Read, Write};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use oarlock_net::logging::clear_status;
use tracing::warn;

/// Lines that are kept to be shown if the process fails.
const KEPT: usize = 20;

/// A line that is longer is shown in parts.
const LONGEST: usize = 1 << 16;

/// The output of one process.
pub(super) struct Output {
    tail: Arc<Mutex<VecDeque<String>>>,
    /// Closed when no process can write to the pipe any more.
    open: Receiver<()>,
}

impl Output {
    /// Reads the pipe in a thread of its own, until it is closed.
    pub(super) fn follow(pipe: PipeReader, log: Option<File>, name: String) -> io::Result<Output> {
        let tail = Arc::<Mutex<VecDeque<String>>>::default();
        let (alive, open) = mpsc::channel::<()>();
        let mut copy = Copy { log, name, tail: tail.clone(), line: Vec::new() };
        thread::Builder::new().name("oarlock-output".into()).spawn(move || {
            copy.all(pipe);
            drop(alive);
        })?;
        Ok(Output { tail, open })
    }

    /// Waits until everything was read. A process that escaped from its group may keep the pipe open: it is not waited for long.
    pub(super) fn settle(&self, patience: Duration) {
        let _ = self.open.recv_timeout(patience);
    }

    /// The last lines.
    pub(super) fn tail(&self) -> Vec<String> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

struct Copy {
    log: Option<File>,
    name: String,
    tail: Arc<Mutex<VecDeque<String>>>,
    /// The beginning of a line whose end has not come yet.
    line: Vec<u8>,
}

impl Copy {
    fn all(&mut self, mut pipe: PipeReader) {
        let mut chunk = [0; 8192];
        loop {
            match pipe.read(&mut chunk) {
                Ok(0) => break,
                Ok(bytes) => self.chunk(&chunk[..bytes]),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => {
                    warn!(process = self.name, "the output of {} cannot be read: {e}", self.name);
                    break;
                }
            }
        }
        if !self.line.is_empty() {
            self.end_line();
        }
    }

    fn chunk(&mut self, bytes: &[u8]) {
        if let Some(Err(e)) = self.log.as_mut().map(|log| log.write_all(bytes)) {
            warn!(process = self.name, "the log of {} cannot be written, it goes on without: {e}", self.name);
            self.log = None;
        }
        for byte in bytes {
            match byte {
                // Bars that a program draws over and over end with a return only.
                b'\n' | b'\r' if self.line.is_empty() => {}
                b'\n' | b'\r' => self.end_line(),
                _ => self.line.push(*byte),
            }
            if self.line.len() >= LONGEST {
                self.end_line();
            }
        }
    }

    fn end_line(&mut self) {
        show(&self.name, &self.line);
        let mut tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        if tail.len() == KEPT {
            tail.pop_front();
        }
        tail.push_back(String::from_utf8_lossy(&self.line).into_owned());
        self.line.clear();
    }
}

/// Prints a line of a process.
fn show(name: &str, line: &[u8]) {
    let _cleared = clear_status();
    let mut out = io::stdout().lock();
    // The reader of the output may be gone; the logs have all of it.
    let _ = write!(out, "[{name}] ").and_then(|()| out.write_all(line)).and_then(|()| out.write_all(b"\n"));
}
