//! Ends what the processes of a job have started if the launcher is killed and cannot do it.
//!
//! The system kills the processes themselves (`oarlock_sys::spawn_bound`), but not their children: the program behind a shell
//! script, the workers of a data loader. The guard is a shell that reads which process groups there are. When the launcher dies,
//! its end of the pipe closes, and the guard kills the groups that are left.

use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};

/// `+ 12` and `- 12` on a line: group 12 exists, or exists no more.
const SCRIPT: &str = r#"
groups=
while read -r change group; do
    case $change in
        +) groups="$groups $group " ;;
        -) groups="${groups%% $group *} ${groups#* $group }" ;;
    esac
done
for group in $groups; do kill -9 "-$group"; done
"#;

/// The guard; dropped, it ends.
pub(super) struct Guard {
    shell: Child,
    pipe: Option<ChildStdin>,
}

impl Guard {
    /// Starts it; `None` on a system without a shell, where it does less harm to go without than not to start.
    pub(super) fn start() -> Option<Guard> {
        let mut shell = Command::new("sh");
        shell.args(["-c", SCRIPT]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // In a group of its own: it must survive what is sent to the launcher's.
        let mut shell = shell.process_group(0).spawn().ok()?;
        let pipe = shell.stdin.take();
        Some(Guard { shell, pipe })
    }

    /// Where processes announce themselves. If the launcher told of them, it could be killed before it has.
    pub(super) fn pipe(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    /// A process group is gone.
    pub(super) fn remove(&mut self, group: u32) {
        if let Some(pipe) = &mut self.pipe {
            // A guard that was killed from outside cannot be reached, and the job goes on without it.
            let _ = writeln!(pipe, "- {group}");
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.pipe.take());
        // It ends by itself now; waiting only keeps it from staying behind as a zombie.
        let _ = self.shell.wait();
    }
}

#[cfg(test)]
use oarlock_sys::spawn_bound;

#[test]
fn what_is_left_is_killed_when_the_pipe_closes() {
    let mut guard = Guard::start().expect("there is a shell");
    let sleeper = || spawn_bound(Command::new("sleep").arg("100"), guard.pipe()).expect("sleep starts");
    let (mut removed, mut left, mut other) = (sleeper(), sleeper(), sleeper());
    guard.remove(removed.id());
    drop(guard);
    assert_eq!(left.wait().expect("it was started").code(), None);
    assert_eq!(other.wait().expect("it was started").code(), None);
    assert!(removed.try_wait().expect("it was started").is_none());
    removed.kill().expect("it runs");
    removed.wait().expect("it was killed");
}
