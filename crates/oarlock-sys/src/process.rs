//! Processes that do not outlive the thread that started them, and signals as values.
//!
//! The launcher uses this for the processes of a job. Nothing here knows what the processes do.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::ptr;
use std::time::Duration;

/// Starts a process that leads a process group of its own, and that the system kills when the calling *thread* ends, however
/// that happens: call it from a thread that lives as long as the process may. No signal is held back in it. Before it runs anything it
/// writes `+ `, its number and a line feed to `announce`: the reader of that knows of it before it can have children.
pub fn spawn_bound(command: &mut Command, announce: Option<BorrowedFd<'_>>) -> io::Result<Child> {
    let parent = std::process::id();
    // Open as long as it is borrowed, which is until the process runs.
    let announce = announce.map(|fd| fd.as_raw_fd());
    command.process_group(0);
    let start = move || {
        deliver_signals();
        bind_to(parent)?;
        announce.map_or(Ok(()), announce_itself)
    };
    // SAFETY: between fork and exec only `pthread_sigmask`, `prctl`, `getppid`, `getpid` and `write` are called, which are safe there,
    // and nothing is allocated.
    unsafe { command.pre_exec(start) };
    command.spawn()
}

/// Writes `+ ` and the number of this process. A reader that is gone is no reason not to run.
fn announce_itself(to: RawFd) -> io::Result<()> {
    const LONGEST: usize = 16;
    let mut line = [b' '; LONGEST];
    // SAFETY: `getpid` takes nothing and cannot fail.
    let mut number = unsafe { libc::getpid() }.cast_unsigned();
    let mut at = LONGEST - 1;
    line[at] = b'\n';
    // Ten digits at most: the sign and a space are left over.
    while at > 2 && (number > 0 || at == LONGEST - 1) {
        at -= 1;
        line[at] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    line[at - 2] = b'+';
    let line = &line[at - 2..];
    // SAFETY: the bytes are those of `line`; as few as these are written whole or not at all.
    unsafe { libc::write(to, line.as_ptr().cast(), line.len()) };
    Ok(())
}

/// Signals that the parent holds back would be held back in the child, too, for ever.
fn deliver_signals() {
    let none = empty_set();
    // SAFETY: the set is initialized; the call fails for no set.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut()) };
}

/// Asks the system to kill this process when its parent ends.
#[cfg(target_os = "linux")]
fn bind_to(parent: u32) -> io::Result<()> {
    // SAFETY: this option takes one number and changes nothing but which signal comes when the parent ends.
    if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // The parent may have ended before the call above; then the signal would never come.
    // SAFETY: `getppid` takes nothing and cannot fail.
    if unsafe { libc::getppid() }.cast_unsigned() != parent {
        return Err(io::Error::from_raw_os_error(libc::ECANCELED));
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn bind_to(_: u32) -> io::Result<()> {
    Ok(())
}

/// A signal that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caught {
    /// One that asks this process to end: its number.
    End(i32),
    /// A child of this process ended or stopped.
    Child,
}

/// While it lives, the signals that ask to end (`INT`, `TERM`, `HUP` unless ignored) and those of children wait to be fetched
/// instead of being delivered. This concerns the calling thread and threads that it starts, so take it before other threads run.
#[derive(Debug)]
pub struct Signals {
    set: libc::sigset_t,
    before: libc::sigset_t,
}

impl Signals {
    /// Holds them back from now on.
    pub fn hold() -> io::Result<Signals> {
        // The parent of this process may have let it ignore the end of children, which then could not be waited for.
        // SAFETY: back to the default, which runs no code of ours.
        unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
        let wanted = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP].into_iter().filter(|signal| !is_ignored(*signal));
        let mut set = empty_set();
        for signal in wanted.chain([libc::SIGCHLD]) {
            // SAFETY: the set was initialized, and the number is one of a signal.
            unsafe { libc::sigaddset(&raw mut set, signal) };
        }
        let mut before = empty_set();
        // SAFETY: both sets are initialized and ours.
        match unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, &raw mut before) } {
            0 => Ok(Signals { set, before }),
            code => Err(io::Error::from_raw_os_error(code)),
        }
    }

    /// Waits for one; `None` if none comes in time.
    pub fn wait(&self, patience: Duration) -> Option<Caught> {
        let limit = libc::timespec {
            tv_sec: libc::time_t::try_from(patience.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: patience.subsec_nanos().into(),
        };
        // SAFETY: set and limit are initialized; the details of the signal are not asked for.
        match unsafe { libc::sigtimedwait(&raw const self.set, ptr::null_mut(), &raw const limit) } {
            libc::SIGCHLD => Some(Caught::Child),
            signal if signal > 0 => Some(Caught::End(signal)),
            _ => None,
        }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // SAFETY: the set was filled by `pthread_sigmask`.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, ptr::null_mut()) };
    }
}

fn empty_set() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the call initializes the set and cannot fail for a valid pointer.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        set.assume_init()
    }
}

/// Whether this process ignores the signal; `nohup` does that.
fn is_ignored(signal: i32) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: without a new action the call only fills `action`, and says whether it did.
    unsafe {
        libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) == 0
            && action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Read;
    use std::os::fd::AsFd;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Stdio;

    use super::*;
    use crate::rerun::{again, part};

    fn sleeper() -> Command {
        let mut command = Command::new("sleep");
        command.arg("1000");
        command
    }

    fn is_held(signal: i32) -> bool {
        let mut mask = empty_set();
        // SAFETY: without a new set the call only fills `mask`, which is initialized.
        unsafe {
            libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), &raw mut mask);
            libc::sigismember(&raw const mask, signal) == 1
        }
    }

    #[test]
    fn a_bound_process_announces_itself_and_leads_its_own_group() {
        let (mut read, write) = io::pipe().unwrap();
        let mut child = spawn_bound(&mut sleeper(), Some(write.as_fd())).unwrap();
        drop(write);
        let mut line = String::new();
        read.read_to_string(&mut line).unwrap();
        assert_eq!(line, format!("+ {}\n", child.id()));
        let group = libc::pid_t::try_from(child.id()).unwrap();
        // SAFETY: `getpgid` only looks.
        assert_eq!(unsafe { libc::getpgid(group) }, group);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_bound_process_receives_signals_that_its_parent_holds_back() {
        let _held = Signals::hold().unwrap();
        let mut child = spawn_bound(&mut sleeper(), None).unwrap();
        // SAFETY: `kill` sends to the child, which has not been waited for.
        assert_eq!(unsafe { libc::kill(libc::pid_t::try_from(child.id()).unwrap(), libc::SIGTERM) }, 0);
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGTERM));
    }

    #[test]
    fn a_bound_process_is_killed_when_the_thread_that_started_it_ends() {
        let start = || spawn_bound(&mut sleeper(), None).unwrap();
        let mut child = std::thread::spawn(start).join().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
    }

    #[test]
    fn a_bound_process_is_killed_when_its_parent_is_killed() {
        if part().is_some() {
            let mut child = spawn_bound(&mut sleeper(), Some(io::stderr().as_fd())).unwrap();
            child.wait().unwrap();
            return;
        }
        let mut parent = again("process::tests::a_bound_process_is_killed_when_its_parent_is_killed", "parent")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut from = parent.stderr.take().unwrap();
        let mut announced = [0; 2];
        from.read_exact(&mut announced).unwrap();
        assert_eq!(&announced, b"+ ");
        parent.kill().unwrap();
        parent.wait().unwrap();
        // The pipe ends when the last process that can write into it is gone.
        from.read_to_end(&mut Vec::new()).unwrap();
    }

    #[test]
    fn a_held_signal_is_returned_by_wait() {
        let signals = Signals::hold().unwrap();
        // SAFETY: sends to this thread, which holds the signal back.
        unsafe { libc::pthread_kill(libc::pthread_self(), libc::SIGTERM) };
        let caught = std::iter::repeat_with(|| signals.wait(Duration::from_secs(60)));
        // Children of other tests may end meanwhile.
        assert_eq!(caught.flatten().find(|caught| *caught != Caught::Child), Some(Caught::End(libc::SIGTERM)));
    }

    #[test]
    fn wait_returns_none_when_no_signal_comes() {
        let signals = Signals::hold().unwrap();
        assert!(matches!(signals.wait(Duration::ZERO), None | Some(Caught::Child)));
    }

    #[test]
    fn dropped_signals_restore_the_mask() {
        assert!(!is_held(libc::SIGTERM));
        let signals = Signals::hold().unwrap();
        assert!(is_held(libc::SIGTERM));
        drop(signals);
        assert!(!is_held(libc::SIGTERM));
    }

    #[test]
    fn an_ignored_signal_is_not_held() {
        // SAFETY: no code of ours runs on this signal, and no other test uses it.
        unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) };
        let _signals = Signals::hold().unwrap();
        // SIGINT may be ignored, too: shells do that for programs in the background.
        assert!(!is_held(libc::SIGHUP) && is_held(libc::SIGTERM));
    }
}
