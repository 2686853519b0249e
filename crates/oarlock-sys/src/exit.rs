//! A function that is called when this process ends, with the exit status that its parent will see.
//!
//! Knows nothing of the reasons why a process ends.

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
            // A panic has been printed, and no caller is left to act on it.
            let _ = thread.join();
        }
    }

    let argument = Box::into_raw(Box::new(hook)).cast::<c_void>();
    // SAFETY: the function has the signature that the call wants, and its code stays where it is: nothing unloads this library.
    if unsafe { on_exit(call, argument) } == 0 {
        return true;
    }
    // SAFETY: the call failed, so that the box is still ours.
    drop(unsafe { Box::from_raw(argument.cast::<Hook>()) });
    false
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn register(_: Hook) -> bool {
    false
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use std::process::Output;

    use super::*;
    use crate::rerun::{again, part};

    fn tell() {
        assert!(at_exit(|status| eprintln!("ends with {status}")));
    }

    fn ended(test: &str) -> (Output, usize) {
        let output = again(test, "ends").output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).matches("ends with").count();
        (output, told)
    }

    #[test]
    fn the_exit_status_is_passed_to_the_function() {
        if part().is_some() {
            tell();
            std::process::exit(3);
        }
        let (output, told) = ended("exit::tests::the_exit_status_is_passed_to_the_function");
        assert_eq!((output.status.code(), told), (Some(3), 1));
        assert!(String::from_utf8_lossy(&output.stderr).contains("ends with 3"), "{output:?}");
    }

    #[test]
    fn a_process_that_ends_without_exit_calls_nothing() {
        if part().is_some() {
            tell();
            // SAFETY: ends the process at once.
            unsafe { libc::_exit(4) };
        }
        let (output, told) = ended("exit::tests::a_process_that_ends_without_exit_calls_nothing");
        assert_eq!((output.status.code(), told), (Some(4), 0), "{output:?}");
    }

    #[test]
    fn a_forked_process_does_not_call_the_function_of_its_parent() {
        if part().is_some() {
            tell();
            let mut status = 0;
            // SAFETY: the forked process only ends; its parent waits for it.
            unsafe {
                match libc::fork() {
                    0 => libc::exit(5),
                    child => libc::waitpid(child, &raw mut status, 0),
                };
            }
            std::process::exit(libc::WEXITSTATUS(status) + 1);
        }
        let (output, told) = ended("exit::tests::a_forked_process_does_not_call_the_function_of_its_parent");
        assert_eq!((output.status.code(), told), (Some(6), 1), "{output:?}");
    }
}
