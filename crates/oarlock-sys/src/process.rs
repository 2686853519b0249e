//! Processes that do not outlive who started them, and signals as values.

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::ptr;
use std::time::Duration;

/// Starts a process that leads a process group of its own, and that the system kills when the calling *thread* ends, however
/// that happens: call it from a thread that lives as long as the process may. No signal is held back in it.
pub fn spawn_bound(command: &mut Command) -> io::Result<Child> {
    let parent = std::process::id();
    command.process_group(0);
    let start = move || {
        deliver_signals();
        bind_to(parent)
    };
    // SAFETY: between fork and exec only `pthread_sigmask`, `prctl` and `getppid` are called, which are safe there, and nothing
    // is allocated.
    unsafe { command.pre_exec(start) };
    command.spawn()
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
    let mut child = spawn_bound(Command::new("sleep").arg("100")).unwrap();
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
