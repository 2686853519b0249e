//! Writes the files that can be derived: the tables of operators and fusions, the operators' documentation and that of the options.
//!
//! An operator or a fusion is one file; no list is edited by hand. The results are committed, so that a reader and an editor
//! see plain modules, and `--check` tells when they are stale.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::{files, process};

/// The tables of one kind of thing: directories in which every file defines some.
struct Kind {
    /// The trait of the things, from `oarlock-ir`.
    name: &'static str,
    /// The constant of each file that lists its things.
    list: &'static str,
    doc: &'static str,
}

const OPERATORS: Kind =
    Kind { name: "OpDef", list: "OPS", doc: "The operators of every file, in the order of the files." };
const FUSIONS: Kind = Kind {
    name: "Fusion",
    list: "FUSIONS",
    doc: "The fusions of every file. Their order means nothing: `oarlock::pipeline` has the order in which they run.",
};

/// The directories of operators below `root`, one per family.
pub(crate) fn families(root: &Path) -> Result<Vec<PathBuf>> {
    let mut families = Vec::new();
    for dir in files::list(&root.join("crates"))? {
        if files::stem(&dir).starts_with("oarlock-ops-") {
            families.extend(files::list(&dir.join("src"))?.into_iter().filter(|path| path.is_dir()));
        }
    }
    families.iter().map(|dir| Ok(dir.strip_prefix(root)?.to_path_buf())).collect()
}

/// All tables below `root`: the directory, and the kind of things its files define.
fn tables(root: &Path) -> Result<Vec<(PathBuf, &'static Kind)>> {
    let fusions = PathBuf::from("crates/oarlock-ops/src/fusion");
    let mut tables: Vec<_> = families(root)?.into_iter().map(|family| (family, &OPERATORS)).collect();
    tables.extend(root.join(&fusions).is_dir().then_some((fusions, &FUSIONS)));
    Ok(tables)
}

/// Writes the tables below `root`.
#[cfg(test)]
pub(crate) fn write_tables(root: &Path) -> Result<()> {
    generate_tables(root, &Mode::Write, &mut Vec::new())
}

fn generate_tables(root: &Path, mode: &Mode, stale: &mut Vec<String>) -> Result<()> {
    for (dir, kind) in tables(root)? {
        let dir = root.join(dir);
        put(mode, &dir.join("mod.rs"), &rustfmt(&module(kind, &entries(&dir, kind)?))?, stale)?;
    }
    Ok(())
}

/// Documents that a compiled program prints: the file, and the example.
const DOCS: [(&str, &str); 2] = [("docs/ops.md", "ops_docs"), ("docs/options.md", "options_docs")];

/// The example that prints the declarations of layers.
const LAYERS: &str = "layers_docs";

enum Mode {
    Write,
    Check,
}

pub(crate) fn run(args: &[String]) -> Result<()> {
    match args {
        [] => generate(&Mode::Write),
        [flag] if flag == "--check" => check(),
        _ => bail!("unexpected arguments `{}`; known: --check", args.join(" ")),
    }
}

/// Fails when a generated file is not what `cargo xtask codegen` would write.
pub(crate) fn check() -> Result<()> {
    generate(&Mode::Check)
}

fn generate(mode: &Mode) -> Result<()> {
    let mut stale = Vec::new();
    generate_tables(Path::new("."), mode, &mut stale)?;
    let (path, text) = crate::codegen_layers::module(Path::new("."))?;
    put(mode, Path::new(&path), &rustfmt(&text)?, &mut stale)?;
    for (path, text) in crate::codegen_requests::files()? {
        put(mode, Path::new(&path), &text, &mut stale)?;
    }
    // The documentation is printed by what it documents, compiled, so it comes after the tables.
    process::run(
        process::cargo()
            .args(["build", "-q"])
            .args(process::whole())
            .args(DOCS.map(|(_, name)| format!("--example={name}")))
            .arg(format!("--example={LAYERS}")),
    )?;
    for (path, example) in DOCS {
        let text = process::output(&mut Command::new(example_path(example)?))?;
        put(mode, Path::new(path), &text, &mut stale)?;
    }
    let declared = process::output(&mut Command::new(example_path(LAYERS)?))?;
    for (path, text) in crate::codegen_layers::generated(&declared)? {
        put(mode, Path::new(&path), &text, &mut stale)?;
    }
    match (mode, stale.is_empty()) {
        (Mode::Check, false) => bail!("stale: {}; run `cargo xtask codegen` and commit the result", stale.join(", ")),
        (_, true) => println!("codegen: everything is fresh"),
        (Mode::Write, false) => println!("codegen: wrote {}", stale.join(", ")),
    }
    Ok(())
}

/// Where cargo puts an example: beside this program, which it built in the same profile.
fn example_path(name: &str) -> Result<PathBuf> {
    let this = std::env::current_exe().context("cannot find this program")?;
    Ok(this.with_file_name("examples").join(name))
}

/// Notes `path` as stale when it does not hold `text`, and in write mode writes it.
fn put(mode: &Mode, path: &Path, text: &str, stale: &mut Vec<String>) -> Result<()> {
    if path.exists() && files::read(path)? == text {
        return Ok(());
    }
    stale.push(path.display().to_string());
    if matches!(mode, Mode::Write) {
        let dir = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
        fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// One file of a table's directory.
struct Entry {
    module: String,
    /// False for what several files of a family share.
    has_list: bool,
    /// Other crates use something of it.
    is_public: bool,
}

fn entries(dir: &Path, kind: &Kind) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for path in files::list(dir)? {
        if path.is_dir() {
            bail!("{} is a directory: {} is flat, one file per entry", path.display(), dir.display());
        }
        let module = files::stem(&path);
        if module == "mod" || path.extension().is_none_or(|ext| ext != "rs") {
            continue;
        }
        if !is_module_name(&module) {
            bail!("{}: `{module}` cannot name a module; a keyword takes a `_`, as in while_.rs", path.display());
        }
        let text = files::read(&path)?;
        let has_list = text.lines().any(|line| defines(line, kind.list));
        let is_public = text.lines().any(|line| line.starts_with("pub ") || line.starts_with("    pub "));
        entries.push(Entry { module, has_list, is_public });
    }
    Ok(entries)
}

/// Macros of families of operators that write the list of a file.
const WRITE_LIST: [&str; 4] = ["binary! {", "formula! {", "predicate! {", "reduction! {"];

/// Does this line of a file define its list, by itself or by the macro of its family?
fn defines(line: &str, list: &str) -> bool {
    line.contains(&format!("const {list}:")) && !line.starts_with("        ")
        || WRITE_LIST.iter().any(|m| line.starts_with(m))
}

pub(crate) fn is_module_name(name: &str) -> bool {
    const KEYWORDS: &str = " abstract as async await become box break const continue crate do dyn else enum extern false \
        final fn for gen if impl in let loop macro match mod move mut override priv pub ref return self static struct \
        super trait true try type typeof unsafe unsized use virtual where while yield ";
    let snake = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    snake && !name.starts_with(|c: char| c.is_ascii_digit()) && !KEYWORDS.contains(&format!(" {name} "))
}

fn module(kind: &Kind, entries: &[Entry]) -> String {
    let Kind { name, list, doc } = kind;
    let visibility = |e: &Entry| if e.is_public { "pub" } else { "pub(crate)" };
    let mods: String = entries.iter().map(|e| format!("{} mod {};\n", visibility(e), e.module)).collect();
    let lists: String = entries.iter().filter(|e| e.has_list).map(|e| format!("{}::{list},\n", e.module)).collect();
    format!(
        "//! Generated by `cargo xtask codegen` from the files of this directory; do not edit.\n\n\
         use oarlock_ir::{name};\n\n{mods}\n/// {doc}\npub(crate) const ALL: &[&[&dyn {name}]] = &[\n{lists}];\n"
    )
}

/// The text as `cargo fmt` would leave it.
fn rustfmt(text: &str) -> Result<String> {
    let mut command = Command::new("rustfmt");
    let settings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../rustfmt.toml");
    command.args(["--edition", "2024", "--config-path"]).arg(settings).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().context("cannot start rustfmt; `rustup component add rustfmt` installs it")?;
    let mut stdin = child.stdin.take().context("rustfmt's input was not piped")?;
    stdin.write_all(text.as_bytes()).context("cannot write to rustfmt")?;
    drop(stdin); // the end of the input
    let out = child.wait_with_output().context("cannot wait for rustfmt")?;
    if !out.status.success() {
        bail!("rustfmt refused generated code ({})", out.status);
    }
    String::from_utf8(out.stdout).context("rustfmt printed something that is not UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(module: &str, has_list: bool, is_public: bool) -> Entry {
        Entry { module: module.to_string(), has_list, is_public }
    }

    #[test]
    fn a_table_lists_the_files_that_have_a_list() {
        let text = module(
            &OPERATORS,
            &[entry("formula", false, true), entry("relu", true, false), entry("while_", true, false)],
        );
        assert_eq!(
            text,
            "//! Generated by `cargo xtask codegen` from the files of this directory; do not edit.\n\n\
             use oarlock_ir::OpDef;\n\npub mod formula;\npub(crate) mod relu;\npub(crate) mod while_;\n\n\
             /// The operators of every file, in the order of the files.\n\
             pub(crate) const ALL: &[&[&dyn OpDef]] = &[\nrelu::OPS,\nwhile_::OPS,\n];\n"
        );
    }

    #[test]
    fn file_names_are_module_names() {
        for good in ["relu", "while_", "top_k_v2", "conv2d", "_x"] {
            assert!(is_module_name(good), "{good}");
        }
        for bad in ["while", "type", "top-k", "2d", "Relu", "a.b"] {
            assert!(!is_module_name(bad), "{bad}");
        }
    }
}
