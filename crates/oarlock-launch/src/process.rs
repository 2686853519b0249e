//! One process of a job, with all that it starts: a process group.

use std::fs::File;
use std::io;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::guard::Guard;
use super::now;
use super::output::Output;

/// How long the output of a process that ended may take to arrive.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A running process.
pub(super) struct Process {
    child: Child,
    group: Pid,
    output: Output,
    pub(super) since: Instant,
}

impl Process {
    /// Starts it; the guard is notified before it runs. What it writes goes to `log` and to the screen; nothing is to be read.
    pub(super) fn start(
        mut command: Command,
        log: Option<File>,
        name: String,
        guard: Option<&Guard>,
    ) -> io::Result<Process> {
        let (read, write) = io::pipe()?;
        command.stdin(Stdio::null()).stdout(write.try_clone()?).stderr(write);
        let child = oarlock_sys::spawn_bound(&mut command, guard.and_then(Guard::pipe))?;
        // The command holds this process' ends of the pipe, which would keep it open.
        drop(command);
        let group = Pid::from_child(&child);
        Ok(Process { child, group, output: Output::follow(read, log, name)?, since: now() })
    }

    /// The number of its process group.
    pub(super) fn group(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it did. What it has started and left behind is killed then.
    pub(super) fn ended(&mut self) -> Option<ExitStatus> {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        // An error means that it is not our child any more: then there is nothing left to wait for, either.
        if let Ok(None) = waitid(WaitId::Pid(self.group), look) {
            return None;
        }
        // Until it is waited for, its number stays its own, and no other group can be meant.
        self.signal(Signal::KILL);
        let status = self.child.wait().ok();
        self.output.settle(LAST_WORDS);
        status
    }

    /// Sends a signal to the process and to all that it started.
    pub(super) fn signal(&self, signal: Signal) {
        // A group that is gone needs no signal.
        let _ = kill_process_group(self.group, signal);
    }

    /// The last lines that it wrote.
    pub(super) fn tail(&self) -> Vec<String> {
        self.output.tail()
    }
}

/// The exit code that a shell would give for this end.
pub(super) fn exit_code(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt;
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    u8::try_from(code).unwrap_or(1)
}

/// How it ended, in words.
pub(super) fn how(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("failed with exit code {code}"),
        (None, Some(9)) => "was killed with signal 9 (by hand, or because memory ran out)".to_string(),
        (None, signal) => format!("was ended by signal {}", signal.unwrap_or(0)),
    }
}
