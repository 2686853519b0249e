//! Checks that we may ship what we depend on, and that it comes from the public registry.
//!
//! cargo-deny does this where it is installed. Elsewhere our own check does, from the same `deny.toml`, so that a
//! machine without the tool is not a machine without the check.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::{files, process};

pub(crate) fn run() -> Result<()> {
    if process::exists("cargo-deny") {
        // Not `advisories`: it changes from day to day and needs the network.
        process::run(process::cargo().args(["deny", "check", "bans", "licenses", "sources"]))?;
        println!("licences: checked by cargo-deny");
        return Ok(());
    }
    let allowed = allow_list(&files::read(Path::new("deny.toml"))?)?;
    let mut tree = process::cargo();
    tree.args(["tree", "--workspace", "--all-features", "--target", "all", "--edges", "normal,build,dev"]);
    let packages = process::output(tree.args(["--prefix", "none", "--format", "{p}|{l}"]))?;
    // Members are set apart by empty lines; a package that was listed before is marked with a star.
    let lines = packages.lines().filter(|line| !line.is_empty());
    let packages: BTreeSet<&str> = lines.map(|line| line.trim_end_matches(" (*)")).collect();
    let faults: Vec<String> = packages.iter().filter_map(|line| package_fault(line, &allowed)).collect();
    if !faults.is_empty() {
        bail!("dependencies we may not ship:\n  {}", faults.join("\n  "));
    }
    println!("licences: {} packages checked against deny.toml (cargo-deny is not installed)", packages.len());
    Ok(())
}

/// The strings of `allow = [ … ]` under `[licenses]`.
fn allow_list(deny: &str) -> Result<Vec<String>> {
    let section = deny.split_once("[licenses]").map(|(_, rest)| rest);
    let list = section.and_then(|text| text.split_once("allow = [")).and_then(|(_, rest)| rest.split_once(']'));
    let (list, _) = list.context("deny.toml has no `allow = [ ... ]` under `[licenses]`")?;
    Ok(list.split('"').skip(1).step_by(2).map(str::to_string).collect())
}

/// The fault of a line `name version (where from)|licence`.
fn package_fault(line: &str, allowed: &[String]) -> Option<String> {
    let (package, licence) = line.split_once('|').unwrap_or((line, ""));
    if package.contains("://") {
        return Some(format!("{package}: not from the public registry"));
    }
    match Expression::new(licence).permits(allowed) {
        Some(true) => None,
        Some(false) => Some(format!("{package}: licence `{licence}` is not in deny.toml")),
        None => Some(format!("{package}: its licence `{licence}` is not an SPDX expression")),
    }
}

/// An SPDX licence expression, read from left to right: `AND` binds more than `OR`, `/` is the old way to write `OR`.
struct Expression {
    /// Reversed: the next word is the last.
    words: Vec<String>,
}

impl Expression {
    fn new(text: &str) -> Expression {
        let spaced = text.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
        Expression { words: spaced.split_whitespace().rev().map(str::to_string).collect() }
    }

    /// Whether the allowed licences suffice; nothing when the text makes no sense.
    fn permits(mut self, allowed: &[String]) -> Option<bool> {
        let answer = self.any(allowed)?;
        self.words.is_empty().then_some(answer)
    }

    fn any(&mut self, allowed: &[String]) -> Option<bool> {
        let mut answer = self.all(allowed)?;
        while self.take("OR") {
            answer |= self.all(allowed)?;
        }
        Some(answer)
    }

    fn all(&mut self, allowed: &[String]) -> Option<bool> {
        let mut answer = self.one(allowed)?;
        while self.take("AND") {
            answer &= self.one(allowed)?;
        }
        Some(answer)
    }

    fn one(&mut self, allowed: &[String]) -> Option<bool> {
        if self.take("(") {
            let answer = self.any(allowed)?;
            return self.take(")").then_some(answer);
        }
        let mut name = self.words.pop().filter(|word| !["OR", "AND", "WITH", ")"].contains(&word.as_str()))?;
        if self.take("WITH") {
            name = format!("{name} WITH {}", self.words.pop()?);
        }
        Some(allowed.contains(&name))
    }

    fn take(&mut self, word: &str) -> bool {
        self.words.pop_if(|next| next == word).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_allow_list_is_that_of_the_licences() {
        let deny = "[other]\nallow = [\"x\"]\n[licenses]\nallow = [\n    \"MIT\",\n    \"A WITH B\",\n]\n[bans]\nallow = [\"y\"]\n";
        assert_eq!(allow_list(deny).unwrap(), ["MIT", "A WITH B"]);
        assert!(allow_list("[bans]\n").is_err());
    }

    #[test]
    fn licence_expressions() {
        let allowed = ["MIT", "Apache-2.0", "A WITH B"].map(str::to_string);
        for (text, answer) in [
            ("MIT", Some(true)),
            ("GPL-3.0", Some(false)),
            ("GPL-3.0 OR MIT", Some(true)),
            ("Unlicense/MIT", Some(true)),
            ("GPL-3.0 AND MIT", Some(false)),
            ("MIT OR GPL-3.0 AND GPL-2.0", Some(true)),
            ("(MIT OR GPL-3.0) AND GPL-2.0", Some(false)),
            ("(MIT OR Apache-2.0) AND A WITH B", Some(true)),
            ("A", Some(false)),
            ("", None),
            ("MIT OR", None),
            ("(MIT", None),
            ("MIT MIT", None),
        ] {
            assert_eq!(Expression::new(text).permits(&allowed), answer, "{text}");
        }
    }

    #[test]
    fn faults_name_the_package() {
        let allowed = ["MIT".to_string()];
        assert_eq!(package_fault("a v1.0.0|MIT", &allowed), None);
        assert_eq!(
            package_fault("a v1.0.0|GPL-3.0", &allowed).unwrap(),
            "a v1.0.0: licence `GPL-3.0` is not in deny.toml"
        );
        let fault = package_fault("a v1.0.0 (https://example.org/a.git#0123)|MIT", &allowed).unwrap();
        assert_eq!(fault, "a v1.0.0 (https://example.org/a.git#0123): not from the public registry");
    }
}
