//! `cargo xtask new pass NAME`: the skeleton of a pass that runs in every compilation, with a test that fails until it is written.
//!
//! A pass is one file in `crates/oarlock-ir/src/pass/`. It is exported by its crate, called in the list of `oarlock-exec`, and named
//! with its reason in `oarlock::pipeline`; a test of that list fails if one of them is missing.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

const PASS_DIR: &str = "crates/oarlock-ir/src/pass";

/// Where the pass is mentioned: the file, the line before which (`true`) or after which its own line belongs, and that line.
const MENTIONS: [(&str, &str, bool, &str); 4] = [
    ("crates/oarlock-ir/src/pass/mod.rs", "mod prune;\n", true, "mod NAME;\n"),
    ("crates/oarlock-ir/src/pass/mod.rs", "pub use prune::prune;\n", true, "pub use NAME::NAME;\n"),
    (
        "crates/oarlock-exec/src/plan/passes.rs",
        "    // `cargo xtask new pass` puts",
        true,
        "    (\"NAME\", |program, _, options| oarlock_ir::NAME(program, &options.registry)),\n",
    ),
    (
        "crates/oarlock/src/pipeline.rs",
        "    stage(\"declare_gradients\",",
        false,
        "    stage(\"NAME\", \"what it does, and why it stands where it does\"),\n",
    ),
];

/// The command: `pass NAME`.
pub(crate) fn task(args: &[String]) -> Result<()> {
    match args {
        [kind, name] if kind == "pass" => run(Path::new("."), name),
        _ => bail!("expected `pass NAME`, not `{}`", args.join(" ")),
    }
}

/// Writes the skeleton of the pass `name` into the tree at `root`.
pub(crate) fn run(root: &Path, name: &str) -> Result<()> {
    let is_name = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.contains('_')
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if !is_name {
        bail!("a pass is called verb_noun, as in drop_ports; `{name}` is not");
    }
    let file = root.join(PASS_DIR).join(format!("{name}.rs"));
    if file.exists() {
        bail!("{} exists", file.display());
    }
    fs::write(&file, SKELETON.replace("NAME", name)).with_context(|| format!("cannot write {}", file.display()))?;
    for (path, anchor, before, line) in MENTIONS {
        insert(&root.join(path), anchor, before, &line.replace("NAME", name))?;
    }
    insert(&root.join("crates/oarlock-ir/src/lib.rs"), "pub use program::", true, &format!("pub use pass::{name};\n"))
}

/// Inserts a line before or after the one that begins with `anchor`.
fn insert(path: &Path, anchor: &str, before: bool, line: &str) -> Result<()> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let Some(start) = text.find(anchor) else { bail!("{} has no line `{}`", path.display(), anchor.trim()) };
    let end = text[start..].find('\n').map_or(text.len(), |n| start + n + 1);
    let at = if before { start } else { end };
    fs::write(path, format!("{}{line}{}", &text[..at], &text[at..]))
        .with_context(|| format!("cannot write {}", path.display()))
}

const SKELETON: &str = r#"//! Says what the pass changes in a program, and why.

use crate::{Program, Registry, Result};

/// Says what the pass changes.
pub fn NAME(program: &mut Program, registry: &Registry) -> Result<()> {
    for block in program.blocks_mut() {
        // Asks an operator's definition, never matches its name.
        block.ops.retain(|op| registry.traits(&op.op_type).port.is_none());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn NAME_gives_the_expected_program() {
        let mut program = Program::from_text("block 0 {\nvar x: f32[?]\nvar y: f32[?]\ny = relu(X: x)\n}").unwrap();
        NAME(&mut program, &Registry::new([], [])).unwrap();
        crate::verify(&program, None).unwrap();
        // The program as the pass should leave it. When the pass is right, UPDATE_EXPECT=1 writes the text.
        expect![[""]].assert_eq(&program.summary());
    }
}
"#;

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// A tree that holds copies of the files that the generator edits.
    fn scratch(name: &str) -> PathBuf {
        let (root, here) =
            (std::env::temp_dir().join(format!("oarlock-{name}-{}", std::process::id())), Path::new(".."));
        for path in MENTIONS.map(|m| m.0).into_iter().chain(["crates/oarlock-ir/src/lib.rs"]) {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::copy(here.join(path), root.join(path)).unwrap();
        }
        root
    }

    #[test]
    fn new_pass_is_mentioned_once_in_every_list() {
        let root = scratch("new-pass");
        run(&root, "drop_nothing").unwrap();
        let read = |path: &str| fs::read_to_string(root.join(path)).unwrap();
        for (path, _, _, line) in MENTIONS {
            assert_eq!(read(path).matches(&line.replace("NAME", "drop_nothing")).count(), 1, "{path}");
        }
        assert_eq!(read("crates/oarlock-ir/src/lib.rs").matches("pub use pass::drop_nothing;").count(), 1);
        assert!(read("crates/oarlock-ir/src/pass/drop_nothing.rs").contains("pub fn drop_nothing("));
        assert!(run(&root, "drop_nothing").unwrap_err().to_string().ends_with("drop_nothing.rs exists"));
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn name_of_a_pass_is_a_verb_and_a_noun() {
        for bad in ["prune", "Drop_ports", "drop-ports", ""] {
            let text = run(Path::new("."), bad).unwrap_err().to_string();
            assert_eq!(text, format!("a pass is called verb_noun, as in drop_ports; `{bad}` is not"));
        }
    }
}
