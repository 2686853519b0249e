//! Tests that need a process of their own: the test runs itself again, and the new process sees which part it plays.

use std::process::Command;

const PART: &str = "OARLOCK_TEST_SYS_PART";

/// A command that runs one test of this crate again, as a process with this part.
pub(crate) fn again(test: &str, part: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture"]).env(PART, part);
    command
}

/// The part of this process, if it was started by [`again`].
#[expect(clippy::disallowed_methods, reason = "the one place where a test learns which process it is")]
pub(crate) fn part() -> Option<String> {
    std::env::var(PART).ok()
}
