//! The end of this process, with the status that whoever started it will see.

/// Calls `then` with the exit status when this process ends by `exit`, as `main` does when it returns and an interpreter after it was
/// shut down. Not when it is killed or ends by `_exit`, and not in a process that was forked from it. `then` runs in a thread of its own,
/// because variables of the ending thread are gone by then; the process ends after it. False where the system tells no status.
pub fn at_exit(then: impl FnOnce(i32) + Send + 'static) -> bool {
    register(Hook { process: std::process::id(), then: Box::new(then) })
}

struct Hook {
    process: u32,
    then: Box<dyn FnOnce(i32) + Send>,
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn register(hook: Hook) -> bool {
    use std::ffi::{c_int, c_void};

    unsafe extern "C" {
        fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
    }

    extern "C" fn call(status: c_int, argument: *mut c_void) {
        // SAFETY: `argument` is the box that was given away below, and `exit` calls this function once.
        let Hook { process, then } = *unsafe { Box::from_raw(argument.cast::<Hook>()) };
        if process != std::process::id() {
            return;
        }
        let thread = std::thread::Builder::new().name("at exit".into()).spawn(move || then(status));
        if let Ok(thread) = thread {
            // A panic has been printed, and there is nobody left to act on it.
            let _ = thread.join();
        }
    }

    let argument = Box::into_raw(Box::new(hook)).cast::<c_void>();
    // SAFETY: the function has the signature that the call wants, and its code stays where it is: nothing unloads this library.
    if unsafe { on_exit(call, argument) } == 0 {
        return true;
    }
    // SAFETY: the call failed, so that nobody else has the box.
    drop(unsafe { Box::from_raw(argument.cast::<Hook>()) });
    false
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn register(_: Hook) -> bool {
    false
}

/// Runs itself again as a process that ends with status 3.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn the_status_is_told() {
    const ENDS: &str = "OARLOCK_TEST_ENDS";
    #[expect(clippy::disallowed_methods, reason = "how this process knows that it is the one to end")]
    if std::env::var_os(ENDS).is_some() {
        assert!(at_exit(|status| eprintln!("ends with {status}")));
        std::process::exit(3);
    }
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    let ended = again.args(["exit::the_status_is_told", "--exact", "--nocapture"]).env(ENDS, "1").output().unwrap();
    assert_eq!(ended.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&ended.stderr).contains("ends with 3"), "{ended:?}");
}
