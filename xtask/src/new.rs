//! Writes the skeleton of a new thing, with a test that fails until the thing works.
//!
//! A kind of thing is one row of [`KINDS`] and its template, a file in `new/`. In templates `NAME` stands for the name
//! and `TypeName` for the name as a Rust type. A test makes one thing of each kind in a scratch tree and compiles it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::{codegen, new_pass, new_request};

/// A kind of thing that can be made.
struct Kind {
    name: &'static str,
    /// Its arguments, as the help shows them.
    args: &'static str,
    /// The file to write, below the root of the repository, and its text.
    file: MakeFile,
}

/// Makes a file from the root of the repository and the arguments: its path below the root, and its text.
type MakeFile = fn(&Path, &[&str]) -> Result<(PathBuf, String)>;

const KINDS: [Kind; 2] =
    [Kind { name: "op", args: "FAMILY NAME", file: operator }, Kind { name: "fusion", args: "NAME", file: fusion }];

pub(crate) fn run(args: &[String]) -> Result<()> {
    // These two write into lists of other files, too.
    match args.first().map(String::as_str) {
        Some("pass") => return new_pass::task(args),
        Some("request") => return new_request::task(args),
        _ => {}
    }
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let path = write(Path::new("."), &args)?;
    println!("new: wrote {}; its test fails until the skeleton is filled in", path.display());
    codegen::run(&[])
}

/// Writes the file and returns its path below `root`.
fn write(root: &Path, args: &[&str]) -> Result<PathBuf> {
    let kind = args.first().and_then(|name| KINDS.iter().find(|kind| kind.name == *name));
    let Some(kind) = kind.filter(|kind| kind.args.split(' ').count() == args.len() - 1) else {
        let known: Vec<String> = KINDS.iter().map(|kind| format!("`new {} {}`", kind.name, kind.args)).collect();
        bail!("expected {}, `new pass NAME` or `new request NAME`", known.join(", "));
    };
    let (path, text) = (kind.file)(root, &args[1..])?;
    let at = root.join(&path);
    if at.exists() {
        bail!("{} exists already", path.display());
    }
    fs::write(&at, text).with_context(|| format!("cannot write {}", at.display()))?;
    Ok(path)
}

fn operator(root: &Path, args: &[&str]) -> Result<(PathBuf, String)> {
    let (family, name) = (args[0], args[1]);
    let mut families = codegen::families(root)?;
    families.retain(|dir| dir.ends_with(family));
    let [dir] = &families[..] else {
        bail!("there is no family `{family}`: a directory in crates/oarlock-ops-*/src/");
    };
    Ok((dir.join(file_name(name)?), fill(include_str!("new/op.rs.template"), name)))
}

fn fusion(_: &Path, args: &[&str]) -> Result<(PathBuf, String)> {
    let dir = Path::new("crates/oarlock-ops/src/fusion");
    Ok((dir.join(file_name(args[0])?), fill(include_str!("new/fusion.rs.template"), args[0])))
}

/// The file of a thing: a keyword takes a `_`.
fn file_name(name: &str) -> Result<String> {
    let module = [name.to_string(), format!("{name}_")].into_iter().find(|module| codegen::is_module_name(module));
    let module = module.with_context(|| format!("`{name}` must be of lower-case letters, digits and `_`"))?;
    Ok(format!("{module}.rs"))
}

fn fill(template: &str, name: &str) -> String {
    let words = name.split('_').filter(|word| !word.is_empty());
    let type_name: String = words.map(|word| word[..1].to_uppercase() + &word[1..]).collect();
    template.replace("TypeName", &type_name).replace("NAME", name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{files, process};

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the root of the repository")
    }

    /// A workspace with a copy of one crate; the others are those of the repository, and so is the target directory.
    fn scratch(package: &str) -> PathBuf {
        let (root, scratch) = (root(), root().join("target/new").join(package));
        fs::remove_dir_all(&scratch).or_else(|_| fs::create_dir_all(&scratch)).expect("a scratch directory");
        let here = format!("\"crates/{package}\"");
        let manifest = files::read(&root.join("Cargo.toml")).expect("a manifest");
        let manifest = manifest
            .replace("\"crates/*\", \"xtask\"", &here)
            .replace("path = \"crates/", &format!("path = \"{}/crates/", root.display()))
            .replace(&format!("\"{}/crates/{package}\"", root.display()), &here);
        fs::create_dir_all(&scratch).expect("a scratch directory");
        fs::write(scratch.join("Cargo.toml"), manifest).expect("a manifest");
        fs::copy(root.join("Cargo.lock"), scratch.join("Cargo.lock")).expect("a lock file");
        fs::copy(root.join("rustfmt.toml"), scratch.join("rustfmt.toml")).expect("settings of rustfmt");
        copy(&root.join("crates").join(package), &scratch.join("crates").join(package));
        scratch
    }

    fn copy(from: &Path, to: &Path) {
        if from.is_dir() {
            fs::create_dir_all(to).expect("a directory");
            files::list(from).expect("a list").iter().for_each(|path| copy(path, &to.join(path.file_name().unwrap())));
        } else {
            fs::copy(from, to).expect("a copy");
        }
    }

    /// Makes a thing in a copy of `package` and compiles it with its tests.
    fn makes(package: &str, args: &[&str], path: &str) {
        let scratch = scratch(package);
        assert_eq!(write(&scratch, args).unwrap(), Path::new(path));
        codegen::write_tables(&scratch).unwrap();
        let check = &mut process::cargo();
        check.args(["check", "-q", "--offline", "-p", package, "--lib", "--profile", "test"]);
        let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| root().join("target").into());
        check.current_dir(&scratch).env("CARGO_TARGET_DIR", target);
        process::run(check).unwrap();
    }

    #[test]
    fn new_operator_compiles() {
        let path = "crates/oarlock-ops-control/src/control/my_move.rs";
        makes("oarlock-ops-control", &["op", "control", "my_move"], path);
    }

    #[test]
    fn new_fusion_compiles() {
        makes("oarlock-ops", &["fusion", "my_pair"], "crates/oarlock-ops/src/fusion/my_pair.rs");
    }

    #[test]
    fn mistaken_arguments_are_named() {
        let error = |args: &[&str]| write(&root(), args).unwrap_err().to_string();
        assert_eq!(
            error(&["op", "relu"]),
            "expected `new op FAMILY NAME`, `new fusion NAME`, `new pass NAME` or `new request NAME`"
        );
        assert!(error(&["op", "nowhere", "relu"]).contains("no family `nowhere`"));
        assert!(error(&["op", "activation", "relu"]).contains("relu.rs exists already"));
        assert!(error(&["fusion", "Relu"]).contains("`Relu` must be of lower-case letters"));
    }

    #[test]
    fn keyword_takes_an_underscore() {
        assert_eq!(file_name("while").unwrap(), "while_.rs");
        assert_eq!(fill("TypeName NAME", "top_k_v2"), "TopKV2 top_k_v2");
    }
}
