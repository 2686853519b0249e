//! A user's command that turns a file into lines. It is started in a process group of its own, so that everything it
//! starts can be ended with it.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use oarlock_ir::{Error, Kind, Result};
use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process_group};

/// Lets another thread end the command that a reader is waiting for. One reader runs one command at a time.
#[derive(Debug, Default)]
pub(crate) struct Cancel {
    running: Mutex<PipeProcess>,
}

#[derive(Debug, Default)]
struct PipeProcess {
    cancelled: bool,
    child: Option<Child>,
}

impl Cancel {
    /// Ends the present command, and refuses to start another one.
    pub(crate) fn cancel(&self) {
        let mut running = self.running.lock();
        running.cancelled = true;
        running.kill();
    }
}

impl PipeProcess {
    fn kill(&mut self) {
        if let Some(child) = &mut self.child {
            // The child has not been waited for yet, so its number is still its own. A failure means that it has ended.
            kill_process_group(Pid::from_child(child), Signal::KILL).ok();
        }
    }
}

/// The standard input of a command.
pub(crate) enum Stdin {
    /// A file, directly.
    File(File),
    /// Bytes that have to be decompressed first.
    Stream(Box<dyn Read + Send>),
}

/// A running command, to read from.
pub(crate) struct Pipe {
    stdout: ChildStdout,
    cancel: Arc<Cancel>,
    feeder: Option<JoinHandle<io::Result<u64>>>,
    command: String,
    file: String,
}

impl Pipe {
    pub(crate) fn start(command: &str, file: &str, stdin: Stdin, cancel: &Arc<Cancel>) -> Result<Pipe> {
        let mut shell = Command::new(shell());
        shell.arg("-c").arg(command).stdout(Stdio::piped()).process_group(0);
        let stream = match stdin {
            Stdin::File(f) => {
                shell.stdin(f);
                None
            }
            Stdin::Stream(stream) => {
                shell.stdin(Stdio::piped());
                Some(stream)
            }
        };
        let (stdout, stdin) = spawn(&mut shell, cancel).map_err(|e| {
            let kind = if e.kind() == io::ErrorKind::Interrupted { Kind::Interrupted } else { Kind::Io };
            Error::new(kind, format!("{file}: cannot start the pipe command `{command}`: {e}"))
        })?;
        let feeder = stream.zip(stdin).map(|(mut stream, mut stdin)| {
            thread::spawn(move || match io::copy(&mut stream, &mut stdin) {
                // A command need not read everything; `head` does not.
                Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(0),
                done => done,
            })
        });
        Ok(Pipe { stdout, cancel: cancel.clone(), feeder, command: command.to_string(), file: file.to_string() })
    }

    /// To be called at the end of the output: did the command succeed?
    pub(crate) fn finish(&mut self) -> Result<()> {
        let Pipe { command, file, cancel, feeder, .. } = self;
        let failed = |how: String| Error::new(Kind::Io, format!("{file}: the pipe command `{command}` failed: {how}"));
        let status = wait(cancel).map_err(|e| failed(e.to_string()))?;
        match feeder.take().map_or(Ok(Ok(0)), JoinHandle::join) {
            Ok(Ok(_)) => {}
            Ok(Err(e)) => return Err(Error::new(Kind::Io, format!("cannot read {file}: {e}"))),
            Err(_) => return Err(Error::internal(format!("{file}: the thread that decompresses it panicked"))),
        }
        match status {
            Some(status) if !status.success() => Err(failed(status.to_string()).help(format!(
                "try it by hand: `( {command} ) < {file}`; what it printed to standard error is shown above"
            ))),
            _ => Ok(()),
        }
    }
}

impl Read for Pipe {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.stdout.read(out)
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        self.cancel.running.lock().kill();
        wait(&self.cancel).ok();
        if let Some(feeder) = self.feeder.take() {
            // Ends with the command that it writes to; what it says no longer matters.
            feeder.join().ok();
        }
    }
}

/// Fluid runs commands with bash, so scripts may use its syntax; where there is none, the plain shell must do.
fn shell() -> &'static str {
    if Path::new("/bin/bash").exists() { "/bin/bash" } else { "/bin/sh" }
}

fn spawn(shell: &mut Command, cancel: &Cancel) -> io::Result<(ChildStdout, Option<ChildStdin>)> {
    let mut running = cancel.running.lock();
    if running.cancelled {
        return Err(io::ErrorKind::Interrupted.into());
    }
    let mut child = shell.spawn()?;
    let stdin = child.stdin.take();
    let stdout = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    running.child = Some(child);
    Ok((stdout, stdin))
}

/// Waits for the end of the command, if there is one. By looking again and again, because a blocking wait would hold the
/// lock that [`Cancel::cancel`] needs, and without the lock it could hit another process with the same number.
fn wait(cancel: &Cancel) -> io::Result<Option<ExitStatus>> {
    let mut pause = Duration::from_micros(50);
    loop {
        {
            let mut running = cancel.running.lock();
            let Some(child) = &mut running.child else { return Ok(None) };
            if let Some(status) = child.try_wait()? {
                running.child = None;
                return Ok(Some(status));
            }
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}
