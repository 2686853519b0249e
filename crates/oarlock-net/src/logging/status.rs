//! The standard error output: log lines, and on a terminal a status line below them.

use std::io::{self, IsTerminal, Write};

use parking_lot::{Mutex, MutexGuard};

/// Clears the line that the cursor is in.
const CLEAR: &str = "\r\x1b[K";

/// The status line; empty if there is none.
static STATUS: Mutex<String> = Mutex::new(String::new());

/// Replaces the status line, which stays below all log lines; an empty one is none. Only terminals show it.
pub fn set_status(text: String) {
    let mut status = clear_status();
    *status.0 = if io::stderr().is_terminal() { text } else { String::new() };
}

/// Takes the status line away until the result is dropped: nothing else is logged meanwhile.
pub fn clear_status() -> Cleared {
    let status = STATUS.lock();
    if !status.is_empty() {
        print(CLEAR);
    }
    Cleared(status)
}

/// The status line is not shown, and no line is logged.
#[derive(Debug)]
pub struct Cleared(MutexGuard<'static, String>);

impl Drop for Cleared {
    fn drop(&mut self) {
        if !self.0.is_empty() {
            print(&self.0);
        }
    }
}

/// Writes a complete line in one piece: lines of several processes do not mix.
pub(super) fn write_line(line: &str) {
    let _cleared = clear_status();
    print(line);
}

fn print(text: &str) {
    // The reader may be gone, and there is no other place to say so.
    let _ = io::stderr().write_all(text.as_bytes());
}
