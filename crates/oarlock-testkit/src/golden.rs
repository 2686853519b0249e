use std::path::PathBuf;

/// The full set of golden data, if `OARLOCK_GOLDEN` names its directory.
#[expect(clippy::disallowed_methods, reason = "the one place where tests look for golden data")]
pub fn golden_dir() -> Option<PathBuf> {
    std::env::var_os("OARLOCK_GOLDEN").map(PathBuf::from)
}

/// Says that a test cannot run here; the test runner counts these lines.
#[expect(clippy::print_stdout, reason = "test output")]
pub fn skip(reason: &str) {
    println!("skipped: {reason}");
}
