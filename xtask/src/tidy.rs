//! Rules of the house that neither rustfmt nor clippy know. Every complaint names the file and what to do.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::files;

/// Which of the project's crates a crate may depend on. `ARCHITECTURE.md` gives the reasons.
const ARROWS: &[(&str, &[&str])] = &[
    ("oarlock-sys", &[]),
    ("oarlock-tensor", &["oarlock-sys"]),
    ("oarlock-ir", &["oarlock-tensor"]),
    ("oarlock-ops-support", &["oarlock-ir", "oarlock-tensor"]),
    // Families of operators do not need each other.
    ("oarlock-ops-array", FAMILY),
    ("oarlock-ops-control", FAMILY),
    ("oarlock-ops-detection", FAMILY),
    ("oarlock-ops-image", FAMILY),
    ("oarlock-ops-math", FAMILY),
    ("oarlock-ops-sequence", FAMILY),
    ("oarlock-ops-training", FAMILY),
    (
        "oarlock-ops",
        &[
            "oarlock-ops-array",
            "oarlock-ops-control",
            "oarlock-ops-detection",
            "oarlock-ops-image",
            "oarlock-ops-math",
            "oarlock-ops-sequence",
            "oarlock-ops-support",
            "oarlock-ops-training",
            "oarlock-ir",
            "oarlock-tensor",
        ],
    ),
    ("oarlock-exec", &["oarlock-ir", "oarlock-tensor"]),
    ("oarlock-io", &["oarlock-ir", "oarlock-tensor", "oarlock-sys"]),
    ("oarlock-net", &["oarlock-ir", "oarlock-tensor", "oarlock-sys"]),
    ("oarlock-transpile", &["oarlock-ir", "oarlock-tensor"]),
    // Parameter servers and collectives do not see each other.
    (
        "oarlock-ps",
        &[
            "oarlock-transpile",
            "oarlock-net",
            "oarlock-io",
            "oarlock-exec",
            "oarlock-ir",
            "oarlock-tensor",
            "oarlock-sys",
        ],
    ),
    (
        "oarlock-collective",
        &[
            "oarlock-transpile",
            "oarlock-net",
            "oarlock-io",
            "oarlock-exec",
            "oarlock-ir",
            "oarlock-tensor",
            "oarlock-sys",
        ],
    ),
    ("oarlock-launch", &["oarlock-transpile", "oarlock-net", "oarlock-ir", "oarlock-sys"]),
    ("oarlock-serve", &["oarlock-ps", "oarlock-io", "oarlock-exec", "oarlock-ops"]),
    (
        "oarlock",
        &[
            "oarlock-sys",
            "oarlock-tensor",
            "oarlock-ir",
            "oarlock-ops",
            "oarlock-exec",
            "oarlock-io",
            "oarlock-net",
            "oarlock-transpile",
            "oarlock-ps",
            "oarlock-collective",
            "oarlock-launch",
            "oarlock-serve",
        ],
    ),
    ("oarlock-cli", &["oarlock"]),
    // Only ever a dev-dependency.
    ("oarlock-testkit", &["oarlock-tensor", "oarlock-ir", "oarlock-io"]),
    ("oarlock-ops-testing", &["oarlock-testkit", "oarlock-exec", "oarlock-ir", "oarlock-tensor"]),
    // The wheel brings the command along.
    ("oarlock-python", &["oarlock", "oarlock-cli"]),
];

/// Arrows of a crate of operators.
const FAMILY: &[&str] = &["oarlock-ops-support", "oarlock-ir", "oarlock-tensor"];

/// Files and directories in which unsafe code may be allowed.
const UNSAFE: [&str; 6] = [
    "crates/oarlock-sys",
    "crates/oarlock-tensor/src/buf.rs",
    "crates/oarlock-tensor/src/simd",
    // Arrays of numpy are read in place.
    "crates/oarlock-python/src/tensor.rs",
    // An allocator that counts, for the test that a warmed-up step allocates nothing.
    "crates/oarlock/tests/allocations.rs",
    // Another, for the tests that no file and no message makes a parser allocate much.
    "crates/oarlock-testkit/src/allocations.rs",
];

const MAX_BYTES: u64 = 2_000_000;

/// Lint levels below `deny`; unfinished code; switched-off tests. Without `(`, `!` and `#[`, so that this file does not
/// accuse itself.
const LEVELS: [&str; 3] = ["allow", "expect", "warn"];
const MACROS: [&str; 2] = ["todo", "unimplemented"];
const ATTRIBUTES: [&str; 2] = ["ignore", "should_panic"];

pub(crate) fn run() -> Result<()> {
    let mut faults = Vec::new();
    let map = files::read(Path::new("ARCHITECTURE.md"))?;
    for dir in files::list(Path::new("crates"))?.iter().filter(|path| path.is_dir()) {
        let name = dir.file_name().unwrap_or_default().to_string_lossy();
        let manifest = files::read(&dir.join("Cargo.toml"))?;
        faults.extend(manifest_faults(&name, &manifest));
        if !map.contains(&format!("`{name}`")) {
            faults.push(format!("ARCHITECTURE.md does not mention `{name}`: add it to the table of crates"));
        }
    }
    for path in files::walk()? {
        let bytes = fs::metadata(&path).with_context(|| format!("cannot look at {}", path.display()))?.len();
        faults.extend(size_fault(&path, bytes));
        if path.extension().is_some_and(|ext| ext == "rs") {
            faults.extend(source_faults(&path, &files::read(&path)?));
        }
    }
    if !faults.is_empty() {
        bail!("the tree is not tidy:\n  {}", faults.join("\n  "));
    }
    println!("tidy: arrows, unsafe code, unfinished code, file sizes and the map are in order");
    Ok(())
}

/// The faults of a crate's manifest: arrows that are not in the table, lints of its own.
fn manifest_faults(name: &str, manifest: &str) -> Vec<String> {
    let file = format!("crates/{name}/Cargo.toml");
    let mut faults = Vec::new();
    match ARROWS.iter().find(|(from, _)| *from == name) {
        None => {
            faults.push(format!("{file}: `{name}` has no row in ARROWS of xtask/src/tidy.rs; decide what it may use"))
        }
        Some((_, allowed)) => {
            for to in dependencies(manifest).iter().filter(|to| !allowed.contains(&to.as_str())) {
                faults.push(format!("{file}: `{name}` may not depend on `{to}` (it may use: {})", allowed.join(", ")));
            }
        }
    }
    if !manifest.contains("[lints]\nworkspace = true") {
        faults.push(format!("{file}: lacks `[lints]` with `workspace = true`; the lints are the same everywhere"));
    }
    faults
}

/// The project's crates that a manifest depends on, tests aside.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut counts = false;
    for line in manifest.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.starts_with('[') {
            // `[dependencies]`, `[build-dependencies]`, `[target.'…'.dependencies]`, `[dependencies.oarlock-ir]`
            counts = line.contains("dependencies") && !line.contains("dev-dependencies");
        }
        if counts {
            let words = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
            found.extend(words.filter(|w| *w == "oarlock" || w.starts_with("oarlock-")).map(str::to_string));
        }
    }
    found
}

fn size_fault(path: &Path, bytes: u64) -> Option<String> {
    let why = "generate it, shrink it, or fetch it when it is needed";
    (bytes > MAX_BYTES).then(|| format!("{}: {bytes} bytes, more than {MAX_BYTES}; {why}", path.display()))
}

/// The faults of a Rust file, line by line.
fn source_faults(path: &Path, text: &str) -> Vec<String> {
    let may_be_unsafe = UNSAFE.iter().any(|place| path.starts_with(place));
    let mut faults = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let mut fault = |what: String| faults.push(format!("{}:{}: {what}", path.display(), number + 1));
        let (code, comment) = line.split_once("//").unwrap_or((line, ""));
        if !may_be_unsafe && LEVELS.iter().any(|level| code.contains(&format!("{level}(unsafe_code"))) {
            fault(format!("unsafe code may live only in {}", UNSAFE.join(", ")));
        }
        for name in MACROS.iter().filter(|name| code.contains(&format!("{name}!"))) {
            fault(format!("`{name}!`: finish it, or return an error that says what is not supported"));
        }
        for name in ATTRIBUTES.iter().filter(|name| has_attribute(code, name)) {
            fault(format!("`{name}`: repair the test, or print `skipped: reason` where it cannot run"));
        }
        if comment.contains("```ignore") {
            fault("an example that is not compiled: use ```text, or repair it".to_string());
        }
    }
    faults
}

fn has_attribute(code: &str, name: &str) -> bool {
    let conditional = code.contains("#[cfg_attr(") && code.contains(&format!(", {name}"));
    conditional || code.contains(&format!("#[{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINTS: &str = "[lints]\nworkspace = true\n";

    #[test]
    fn arrows_outside_the_table_are_named() {
        let allowed = format!("[dependencies]\noarlock-ir.workspace = true\nanyhow = \"1\"\n{LINTS}");
        assert_eq!(manifest_faults("oarlock-ops", &allowed), [""; 0]);
        let forbidden = format!("[dependencies]\noarlock-ops.workspace = true\n{LINTS}");
        assert_eq!(
            manifest_faults("oarlock-exec", &forbidden),
            ["crates/oarlock-exec/Cargo.toml: `oarlock-exec` may not depend on `oarlock-ops` \
              (it may use: oarlock-ir, oarlock-tensor)"]
        );
    }

    #[test]
    fn a_new_crate_needs_a_row_and_the_common_lints() {
        let faults = manifest_faults("oarlock-misc", "[dependencies]\n");
        assert_eq!(faults.len(), 2, "{faults:?}");
        assert!(faults[0].contains("has no row in ARROWS") && faults[1].contains("lacks `[lints]`"), "{faults:?}");
    }

    #[test]
    fn every_way_to_write_a_dependency_is_seen_and_tests_are_exempt() {
        let manifest = "[package]\nname = \"oarlock-x\"\n[dependencies]\na = { package = \"oarlock-a\", version = \"1\" }\n\
            # oarlock-comment\n[target.'cfg(unix)'.dependencies]\noarlock-b.workspace = true\n[dependencies.oarlock-c]\n\
            path = \"../oarlock-c\"\n[build-dependencies]\noarlock = \"1\"\n[dev-dependencies]\noarlock-d = \"1\"\n\
            [dev-dependencies.oarlock-e]\nversion = \"1\"\n[features]\nf = [\"oarlock-f\"]\n";
        let found: Vec<String> = dependencies(manifest).into_iter().collect();
        assert_eq!(found, ["oarlock", "oarlock-a", "oarlock-b", "oarlock-c"]);
    }

    #[test]
    fn unsafe_code_stays_in_its_places() {
        let text = &format!("#![{}(unsafe_code, reason = \"\")]\n", LEVELS[0]);
        for place in ["crates/oarlock-tensor/src/buf.rs", "crates/oarlock-tensor/src/simd/exp.rs"] {
            assert_eq!(source_faults(Path::new(place), text), [""; 0]);
        }
        let faults = source_faults(Path::new("crates/oarlock-tensor/src/buffer.rs"), text);
        assert_eq!(faults.len(), 1);
        assert!(faults[0].starts_with("crates/oarlock-tensor/src/buffer.rs:1: unsafe code may live only in"));
        assert_eq!(source_faults(Path::new("crates/a/src/lib.rs"), "#![forbid(unsafe_code)]\n"), [""; 0]);
    }

    #[test]
    fn unfinished_code_and_switched_off_tests_are_named() {
        let [todo, ignore] = [MACROS[0], ATTRIBUTES[0]];
        let bad =
            format!("fn f() {{ {todo}!() }}\n#[{ignore} = \"slow\"]\n#[cfg_attr(miri, {ignore})]\n//! ```{ignore}\n");
        let faults = source_faults(Path::new("a.rs"), &bad);
        let lines: Vec<&str> = faults.iter().map(|f| f.split(": ").next().unwrap()).collect();
        assert_eq!(lines, ["a.rs:1", "a.rs:2", "a.rs:3", "a.rs:4"]);
        let good = format!("// no {todo}! here\nlet {ignore} = 1;\n");
        assert_eq!(source_faults(Path::new("a.rs"), &good), [""; 0]);
    }

    #[test]
    fn large_files_are_named() {
        assert_eq!(size_fault(Path::new("a.bin"), MAX_BYTES), None);
        assert!(size_fault(Path::new("a.bin"), MAX_BYTES + 1).is_some());
    }
}
