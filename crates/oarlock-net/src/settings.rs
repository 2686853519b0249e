//! Settings from environment variables, read in one place.

use std::time::Duration;

use oarlock_ir::{Error, Kind, Result};

/// Looks up a variable by name: [`env_var`], or a closure of a test.
pub type Get<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The value of an environment variable; nothing if it is empty.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place of trainers, servers and collective workers that reads the environment"
)]
pub fn env_var(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()).filter(|value| !value.is_empty())
}

/// A variable that is 0 or 1.
pub fn flag(get: Get<'_>, name: &str) -> Result<Option<bool>> {
    match get(name).as_deref().map(str::trim) {
        None => Ok(None),
        Some("0" | "false" | "False") => Ok(Some(false)),
        Some("1" | "true" | "True") => Ok(Some(true)),
        Some(other) => Err(Error::new(Kind::Argument, format!("{name} must be 0 or 1, but it is {other:?}"))),
    }
}

/// A variable that is a positive number of milliseconds.
pub fn millis(get: Get<'_>, name: &str) -> Result<Option<Duration>> {
    let Some(value) = get(name) else { return Ok(None) };
    match value.trim().parse::<u64>() {
        Ok(millis) if millis > 0 => Ok(Some(Duration::from_millis(millis))),
        _ => Err(Error::new(Kind::Argument, format!("{name} must be a number of milliseconds, but it is {value:?}"))),
    }
}
