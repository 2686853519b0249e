//! What the launcher shows: the lines of all processes, its own notes, and on a terminal one line of progress below them.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Clears the line that the cursor is in.
const CLEAR: &str = "\r\x1b[K";

/// Takes lines from several threads.
pub(super) struct Screen {
    progress: Mutex<Progress>,
    /// Whether there is a terminal to show progress on.
    terminal: bool,
    notes: bool,
}

/// The line at the bottom, if one is shown.
#[derive(Default)]
struct Progress(String);

impl Screen {
    /// The terminal or files that this process writes to. Without `notes` only the lines of processes and failures are shown.
    pub(super) fn new(notes: bool) -> Screen {
        Screen { progress: Mutex::default(), terminal: notes && io::stderr().is_terminal(), notes }
    }

    /// Shows a line of a process.
    pub(super) fn line(&self, from: &str, line: &[u8]) {
        let progress = self.lock();
        self.clear(&progress);
        let mut out = io::stdout().lock();
        // Who read the output may be gone; the logs have all of it.
        let _ = write!(out, "[{from}] ").and_then(|()| out.write_all(line)).and_then(|()| out.write_all(b"\n"));
        drop(out);
        self.draw(&progress);
    }

    /// Says something in the launcher's own name.
    pub(super) fn note(&self, text: impl Display) {
        if self.notes {
            self.alert(text);
        }
    }

    /// Says something that must be known.
    pub(super) fn alert(&self, text: impl Display) {
        let progress = self.lock();
        self.clear(&progress);
        eprintln!("oarlock: {text}");
        self.draw(&progress);
    }

    /// Changes the line of progress; an empty one is none.
    pub(super) fn progress(&self, text: String) {
        let mut progress = self.lock();
        if self.terminal && progress.0 != text {
            self.clear(&progress);
            progress.0 = text;
            self.draw(&progress);
        }
    }

    fn clear(&self, progress: &Progress) {
        if !progress.0.is_empty() {
            eprint!("{CLEAR}");
        }
    }

    fn draw(&self, progress: &Progress) {
        if !progress.0.is_empty() {
            eprint!("{}", progress.0);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        // A thread that panicked while it printed leaves at worst a line of progress that is out of date.
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
