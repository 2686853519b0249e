//! Processes that do not outlive who started them, and signals as values.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::ptr;
use std::time::Duration;

/// Starts a process that leads a process group of its own, and that the system kills when the calling *thread* ends, however
/// that happens: call it from a thread that lives as long as the process may. No signal is held back in it. Before it runs anything it
/// writes `+ `, its number and a line feed to `announce`: whoever reads that knows of it before it can have children.
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
    // SAFETY: the bytes are those of `line`; so few of them are written whole or not at all.
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
    // The parent may have ended before the call above; then nobody would ever send the signal.
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
        // Whoever started this process may have let it ignore the end of children, which then could not be waited for.
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

/// Whether this process was told to ignore the signal; `nohup` does that.
fn is_ignored(signal: i32) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: without a new action the call only fills `action`, and says whether it did.
    unsafe {
        libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) == 0
            && action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

#[test]
fn a_bound_process_leads_its_own_group() {
    let signals = Signals::hold().unwrap();
    let (mut read, write) = io::pipe().unwrap();
    let mut child = spawn_bound(Command::new("sleep").arg("100"), Some(std::os::fd::AsFd::as_fd(&write))).unwrap();
    drop(write);
    let mut said = String::new();
    io::Read::read_to_string(&mut read, &mut said).unwrap();
    assert_eq!(said, format!("+ {}\n", child.id()));
    let group = libc::pid_t::try_from(child.id()).unwrap();
    // SAFETY: `getpgid` only looks, and `kill` sends to the child.
    unsafe {
        assert_eq!(libc::getpgid(group), group);
        assert_eq!(libc::kill(group, libc::SIGTERM), 0);
    }
    assert_eq!(child.wait().unwrap().code(), None);
    // Other threads of this test do not hold it back, so the signal may go to them and be ignored.
    assert!(matches!(signals.wait(Duration::from_millis(50)), None | Some(Caught::Child)));
}
