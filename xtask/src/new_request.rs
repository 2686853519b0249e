//! `cargo xtask new request NAME`: writes a request of parameter servers that compiles, with a test that fails.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::codegen_requests::{self, DIR};

/// The highest kind that only replies have.
const LAST_REPLY: u16 = 13;

/// The arguments of `cargo xtask new`.
pub(crate) fn task(args: &[String]) -> Result<()> {
    match args {
        [what, name] if what == "request" => run(name),
        _ => bail!("unexpected arguments `{}`; known: request NAME", args.join(" ")),
    }
}

/// Writes `request/NAME.rs` with the next free number, and adds it to the generated files.
fn run(name: &str) -> Result<()> {
    let snake = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if !snake || !name.starts_with(|c: char| c.is_ascii_lowercase()) {
        bail!("`{name}` cannot name a request; use lower case, as in `all_gather`");
    }
    let path = format!("{DIR}/{name}.rs");
    if Path::new(&path).exists() {
        bail!("{path} exists already");
    }
    let kinds = codegen_requests::all()?.into_iter().map(|request| request.kind);
    let kind = kinds.chain([LAST_REPLY]).max().unwrap_or(LAST_REPLY) + 1;
    write(&path, &template(name, kind))?;
    for (path, text) in codegen_requests::files()? {
        write(&path, &text)?;
    }
    println!("wrote {path} (kind {kind}); its test fails until the server serves it");
    println!("UPDATE_EXPECT=1 cargo test -p oarlock-ps recorded_bytes records the bytes of its sample");
    Ok(())
}

fn write(path: &str, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {path}"))
}

/// `all_gather` as `AllGather`.
fn type_name(name: &str) -> String {
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    name.split('_').filter(|word| !word.is_empty()).map(capital).collect()
}

fn template(name: &str, kind: u16) -> String {
    let spoken = name.replace('_', " ");
    TEMPLATE
        .replace("@NAME@", name)
        .replace("@SPOKEN@", &spoken)
        .replace("@TYPE@", &type_name(name))
        .replace("@KIND@", &kind.to_string())
}

const TEMPLATE: &str = r#"//! One sentence: which process sends `@NAME@`, and for which purpose.
//!
//! Reply: `done` (10).

use oarlock_ir::{Error, Result};

use crate::client::Client;
use crate::protocol::{Message, Sender, message, request};
use crate::server::Call;

request! { kind: @KIND@, sender: Sender::ActiveTrainer }

message! {
    /// The request. Fields are encoded and decoded in this order.
    pub(crate) struct @TYPE@ {
        pub(crate) number: u64,
    }
}

/// The server's part: change `call.shared.state`, and set `call.reply`.
fn apply(call: &mut Call<'_>) -> Result<()> {
    serve(&@TYPE@::read(call.frame)?)
}

fn serve(request: &@TYPE@) -> Result<()> {
    Err(Error::internal(format!("@NAME@ {} is not served yet", request.number)))
}

impl Client {
    /// The client's method.
    #[expect(dead_code, reason = "a new request has no caller yet")]
    pub(crate) fn @NAME@(&self, trainer: u32, server: &str, number: u64) -> Result<()> {
        let about = || "@SPOKEN@".to_string();
        self.ask(trainer, server, &REQUEST, &@TYPE@ { number }, &about, |_| Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::samples::Sample;

    pub(super) fn samples() -> Vec<Sample> {
        vec![Sample::of("@SPOKEN@", REQUEST.kind, &@TYPE@ { number: 1 })]
    }

    #[test]
    fn @NAME@_is_served() {
        serve(&@TYPE@ { number: 1 }).unwrap();
    }
}
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn template_has_no_place_left_to_fill() {
        let text = template("count_rows", 23);
        assert!(!text.contains('@'), "{text}");
        assert!(text.contains("kind: 23,") && text.contains("struct CountRows {"), "{text}");
    }
}
