//! The Python functions of layers and their reference pages, from the declarations in `crates/oarlock/src/layers`.
//!
//! A declaration is a signature and a documentation with `Args:`, `Returns:`, `Raises:` and `Example:`. An argument without
//! documentation, a documented one that does not exist, and an unknown type are errors here.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::files;

/// Directory of the declarations.
const RUST: &str = "crates/oarlock/src/layers";
/// Directory of the Python functions, a file per module of `fluid.layers`.
const PYTHON: &str = "python/oarlock/fluid/layers/_generated";
/// Directory of the reference, a page per module.
const DOCS: &str = "docs/api";

/// The Python classes of optimizers.
const OPTIMIZERS: &str = "python/oarlock/fluid/_generated_optimizers.py";
/// The module under which the classes of optimizers are declared.
const OPTIMIZER: &str = "optimizer";
/// The module of layers that Fluid keeps in `contrib.layers`.
const CONTRIB: &str = "contrib";

/// Arguments that mean the same wherever they occur; a declaration need not document them.
const SHARED: [(&str, &str, &str); 7] = [
    ("name", "str", "prefix of the names of its variables."),
    ("use_cudnn", "bool", "accepted; computation is on the CPU."),
    (
        "learning_rate",
        "float or Variable",
        "the rate: a number, a Variable that the program computes, or a scheduler of ``paddle.optimizer.lr``.",
    ),
    ("parameter_list", "list", "the parameters to train; ``None``: all trainable ones."),
    (
        "regularization",
        "object",
        "``fluid.regularizer.L1Decay`` or ``L2Decay`` of all parameters that have none of their own.",
    ),
    (
        "grad_clip",
        "object",
        "``fluid.clip.GradientClipByValue``, ``GradientClipByNorm`` or ``GradientClipByGlobalNorm``.",
    ),
    ("act", "str", "an activation applied to the result, such as ``relu`` or ``softmax``."),
];

/// Types of arguments, as declarations say them, and as Python does.
const TYPES: [(&str, &str); 19] = [
    ("Variable", "Variable"),
    ("Variable or list", "Union[Variable, Sequence[Variable]]"),
    ("list of Variable", "Sequence[Variable]"),
    ("int", "int"),
    ("float", "float"),
    ("bool", "bool"),
    ("str", "str"),
    ("dict", "Mapping[str, Any]"),
    ("VarType", "Any"),
    ("list", "Sequence[Any]"),
    ("tuple", "Sequence[Any]"),
    ("False", "bool"),
    ("ParamAttr", "ParamLike"),
    ("ParamAttr or list", "Union[ParamLike, Sequence[ParamLike]]"),
    ("Initializer", "Initializer"),
    ("dtype", "DTypeLike"),
    ("numpy.ndarray", "ArrayLike"),
    ("callable", "Callable[..., Any]"),
    ("object", "Any"),
];

/// A parameter of a Python function.
struct Param {
    name: String,
    default: Option<String>,
}

struct Layer {
    module: String,
    name: String,
    /// The name by which the core knows it.
    core: String,
    /// `None` stands for the `*` before arguments that are given by name only.
    params: Vec<Option<Param>>,
    summary: String,
    /// Name, type and text.
    args: Vec<(String, String, String)>,
    returns: String,
    raises: Option<String>,
    example: Option<String>,
}

/// The module of layers: every file of its directory, with what the file makes public and the layers it declares.
pub(crate) fn module(root: &Path) -> Result<(String, String)> {
    let (mut mods, mut uses, mut lists) = (String::new(), String::new(), String::new());
    for path in files::list(&root.join(RUST))? {
        let name = files::stem(&path);
        let text = if path.is_dir() { files::read(&path.join("mod.rs"))? } else { files::read(&path)? };
        if name == "mod" {
            continue;
        }
        writeln!(mods, "mod {name};")?;
        if text
            .lines()
            .any(|line| ["pub struct ", "pub enum ", "pub trait ", "pub use "].iter().any(|p| line.starts_with(p)))
            || text.contains("\noptions! {")
        {
            writeln!(uses, "pub use {name}::*;")?;
        }
        if text.contains("\ndeclare! {") {
            writeln!(lists, "{name}::DECLARED,")?;
        }
        // A family of several files: each declares its own layers.
        for part in if path.is_dir() { files::list(&path)? } else { Vec::new() } {
            if files::stem(&part) != "mod" && files::read(&part)?.contains("\ndeclare! {") {
                writeln!(lists, "{name}::{}::DECLARED,", files::stem(&part))?;
            }
        }
    }
    let text = format!(
        "//! Layers: methods of [`Net`](crate::Net) that append operators, one file per family, with the options they take and\n\
         //! the declarations from which Python's functions are made. Arguments, defaults, operators and names of variables are\n\
         //! Fluid's.\n//!\n//! This list of files is written by `cargo xtask codegen`; do not edit.\n\n\
         {mods}\n{uses}\n/// The declared layers, file by file.\n\
         pub(crate) const DECLARED: &[&[crate::declare::Declaration]] = &[\n{lists}];\n"
    );
    Ok((format!("{RUST}/mod.rs"), text))
}

/// The files, from what the example `layers_docs` prints.
pub(crate) fn generated(printed: &str) -> Result<Vec<(String, String)>> {
    let mut modules: BTreeMap<String, Vec<Layer>> = BTreeMap::new();
    for record in printed.split_terminator('\x0c') {
        let (signature, doc) = record.split_once('\n').context("a declaration without documentation")?;
        // A name that begins with `_` is an operator of Variables; framework.py calls it.
        if !signature.starts_with('_') {
            let layer = Layer::parse(signature, doc).with_context(|| format!("the declaration of {signature}"))?;
            modules.entry(layer.module.clone()).or_default().push(layer);
        }
    }
    let mut files = Vec::new();
    for (module, layers) in &mut modules {
        layers.sort_by(|a, b| a.name.cmp(&b.name));
        match module.as_str() {
            OPTIMIZER => files.push((OPTIMIZERS.to_string(), classes(layers)?)),
            _ => files.push((format!("{PYTHON}/{module}.py"), python(layers)?)),
        }
        files.push((format!("{DOCS}/{module}.md"), page(module, layers)));
    }
    files.push((format!("{DOCS}/README.md"), index(&modules)));
    Ok(files)
}

impl Layer {
    fn parse(signature: &str, doc: &str) -> Result<Layer> {
        let (path, rest) = signature.split_once('(').context("it has no arguments in parentheses")?;
        let (module, core) = path.split_once('.').context("it names no module, as in nn.relu(x)")?;
        let (core, name) = match module {
            OPTIMIZER => core.split_once('.').context("it names no class, as in optimizer.sgd.SGD(x)")?,
            "fluid" => (path, core),
            _ => (core, core),
        };
        let params = params(rest.strip_suffix(')').context("the parenthesis is not closed")?);
        let mut sections = sections(doc);
        let summary = sections.remove("").unwrap_or_default();
        if summary.is_empty() {
            bail!("it does not say what the layer computes");
        }
        let args = arguments(&params, &sections.remove("Args").unwrap_or_default())?;
        let returns = sections.remove("Returns").unwrap_or_else(|| "Variable: the result.".to_string());
        let (raises, example) = (sections.remove("Raises"), sections.remove("Example"));
        if let Some(unknown) = sections.keys().next() {
            bail!("unknown section `{unknown}:`");
        }
        Ok(Layer {
            module: module.into(),
            name: name.into(),
            core: core.into(),
            params,
            summary,
            args,
            returns,
            raises,
            example,
        })
    }

    fn python_type(&self, name: &str) -> Result<String> {
        let said = self.args.iter().find(|(n, ..)| n == name).map_or("object", |(_, ty, _)| ty);
        python_type(said).with_context(|| format!("{}: argument `{name}`", self.name))
    }

    /// `x: Variable, name: Optional[str] = None`
    fn typed_params(&self) -> Result<Vec<String>> {
        self.params.iter().map(|param| self.typed_param(param.as_ref())).collect()
    }

    fn typed_param(&self, param: Option<&Param>) -> Result<String> {
        let Some(param) = param else {
            return Ok("*".to_string());
        };
        let ty = self.python_type(&param.name)?;
        Ok(match param.default.as_deref() {
            None => format!("{}: {ty}", param.name),
            Some("None") => format!("{}: Optional[{ty}] = None", param.name),
            Some(default) => format!("{}: {ty} = {default}", param.name),
        })
    }

    /// `fc(x, size, name=None)`
    fn plain(&self) -> String {
        let param = |param: &Option<Param>| match param {
            None => "*".to_string(),
            Some(Param { name, default: None }) => name.clone(),
            Some(Param { name, default: Some(default) }) => format!("{name}={default}"),
        };
        format!("{}({})", self.name, self.params.iter().map(param).collect::<Vec<_>>().join(", "))
    }

    fn return_type(&self) -> &'static str {
        match self.returns.split(':').next().unwrap_or_default() {
            "Variable" => "Variable",
            "tuple" => "Tuple[Variable, ...]",
            "list" => "List[Variable]",
            "None" => "None",
            _ => "Any",
        }
    }

    /// The call as users write it.
    fn path(&self) -> String {
        match self.module.as_str() {
            "fluid" => format!("fluid.{}", self.name),
            OPTIMIZER => format!("fluid.optimizer.{}", self.name),
            CONTRIB => format!("fluid.contrib.layers.{}", self.name),
            _ => format!("fluid.layers.{}", self.name),
        }
    }
}

/// Splits at commas outside of brackets and quotes.
fn params(text: &str) -> Vec<Option<Param>> {
    let (mut parts, mut depth, mut quoted) = (vec![String::new()], 0, false);
    for c in text.chars() {
        match c {
            '\'' | '"' => quoted = !quoted,
            '[' | '(' | '{' if !quoted => depth += 1,
            ']' | ')' | '}' if !quoted => depth -= 1,
            ',' if !quoted && depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut().expect("it begins with one part").push(c);
    }
    let param = |part: &str| match part.split_once('=') {
        _ if part == "*" => None,
        Some((name, default)) => Some(Param { name: name.into(), default: Some(default.into()) }),
        None => Some(Param { name: part.into(), default: None }),
    };
    parts.iter().map(|p| p.trim()).filter(|p| !p.is_empty()).map(param).collect()
}

/// The text of every section, without its indentation; the summary under the empty name.
fn sections(doc: &str) -> BTreeMap<String, String> {
    let (mut found, mut current) = (BTreeMap::<String, String>::new(), String::new());
    for line in doc.lines() {
        let line = line.strip_prefix(' ').unwrap_or(line);
        match line.strip_suffix(':') {
            Some(title @ ("Args" | "Returns" | "Raises" | "Example")) => current = title.to_string(),
            _ => {
                let text = found.entry(current.clone()).or_default();
                text.push_str(if current.is_empty() { line } else { line.strip_prefix("    ").unwrap_or(line) });
                text.push('\n');
            }
        }
    }
    found.into_iter().map(|(title, text)| (title, text.trim_matches('\n').to_string())).collect()
}

/// Name, type and text of every parameter, in their order.
fn arguments(params: &[Option<Param>], text: &str) -> Result<Vec<(String, String, String)>> {
    let mut said: Vec<(String, String, String)> = Vec::new();
    for line in text.lines() {
        let head = line.split_once("): ").and_then(|(head, text)| Some((head.split_once(" (")?, text)));
        match head {
            Some(((name, ty), text)) if !name.contains(' ') => said.push((name.into(), ty.into(), text.into())),
            _ => {
                let last = said.last_mut().with_context(|| format!("`{line}` is not `name (type): text`"))?;
                last.2.push('\n');
                last.2.push_str(line.trim_start());
            }
        }
    }
    let mut args = Vec::new();
    for Param { name, .. } in params.iter().flatten() {
        let shared = SHARED.iter().find(|(n, ..)| n == name).map(|&(n, ty, text)| (n.into(), ty.into(), text.into()));
        match said.iter().position(|(n, ..)| n == name) {
            Some(at) => args.push(said.remove(at)),
            None => args.push(shared.with_context(|| format!("argument `{name}` is not documented"))?),
        }
    }
    if let Some((name, ..)) = said.first() {
        bail!("`{name}` is documented, but it is no argument");
    }
    Ok(args)
}

fn python_type(said: &str) -> Result<String> {
    let whole = |said: &str| TYPES.iter().find(|(name, _)| *name == said).map(|(_, ty)| (*ty).to_string());
    if let Some(ty) = whole(said) {
        return Ok(ty);
    }
    let mut parts = Vec::new();
    for part in said.replace(" or ", ", ").split(", ") {
        let ty = whole(part).with_context(|| format!("`{part}` is no type that xtask/src/codegen_layers.rs knows"))?;
        if !parts.contains(&ty) {
            parts.push(ty);
        }
    }
    Ok(format!("Union[{}]", parts.join(", ")))
}

fn indented(text: &str, by: &str) -> String {
    text.lines().map(|line| if line.is_empty() { "\n".to_string() } else { format!("{by}{line}\n") }).collect()
}

fn python(layers: &[Layer]) -> Result<String> {
    let names: Vec<String> = layers.iter().map(|l| format!("\"{}\"", l.name)).collect();
    let mut text = String::from(
        "\"\"\"Written by `cargo xtask codegen` from the declarations in crates/oarlock/src/layers; do not edit.\"\"\"\n\n\
         from __future__ import annotations\n\n\
         from ... import core\n\
         from .._call import layer\n\
         from ._types import *  # noqa: F403\n\n",
    );
    writeln!(text, "__all__ = [\n{}]\n", wrapped(&names.join(", ")))?;
    for layer in layers {
        let params = layer.typed_params()?.join(", ");
        let one_line = format!("def {}({params}) -> {}:", layer.name, layer.return_type());
        if one_line.len() <= 120 {
            writeln!(text, "\n{one_line}")?;
        } else {
            writeln!(text, "\ndef {}(\n{}) -> {}:", layer.name, wrapped(&params), layer.return_type())?;
        }
        text.push_str(&indented(&docstring(layer), "    "));
        writeln!(text, "    return layer(\"{}\", locals())\n", layer.core)?;
    }
    Ok(text.trim_end().to_string() + "\n")
}

/// Classes of optimizers, each also under its short name.
fn classes(rules: &[Layer]) -> Result<String> {
    let short = |rule: &Layer| rule.name.trim_end_matches("Optimizer").to_string();
    let names: Vec<String> =
        rules.iter().flat_map(|r| [format!("\"{}\"", short(r)), format!("\"{}\"", r.name)]).collect();
    let mut text = String::from(
        "\"\"\"Written by `cargo xtask codegen` from the declarations in crates/oarlock/src/optimizer/rules; do not edit.\"\"\"\n\n\
         from __future__ import annotations\n\n\
         from ._optimizer import Optimizer\n\
         from .layers._generated._types import *  # noqa: F403\n\n",
    );
    writeln!(text, "__all__ = [\n{}]\n", wrapped(&names.join(", ")))?;
    for rule in rules {
        writeln!(text, "\nclass {}(Optimizer):", rule.name)?;
        text.push_str(&indented(&docstring(rule), "    "));
        writeln!(text, "\n    _rule = \"{}\"", rule.core)?;
        let params = rule.typed_params()?.join(", ");
        writeln!(text, "\n    def __init__(\n        self,\n{}    ) -> None:", indented(&wrapped(&params), "    "))?;
        text.push_str(
            "        super().__init__(**{k: v for k, v in locals().items() if k not in (\"self\", \"__class__\")})\n\n",
        );
    }
    for rule in rules {
        writeln!(text, "{}{} = {}", if rule.name == rules[0].name { "\n" } else { "" }, short(rule), rule.name)?;
    }
    Ok(text)
}

/// Lines of at most 120 characters, indented, broken after commas outside of brackets.
fn wrapped(list: &str) -> String {
    let (mut lines, mut line, mut depth) = (String::new(), String::new(), 0);
    let mut part = String::new();
    let mut flush = |part: &mut String, line: &mut String| {
        if line.len() + part.len() > 114 {
            let _ = writeln!(lines, "    {}", line.trim_end());
            line.clear();
        }
        line.push_str(part);
        part.clear();
    };
    for c in list.chars() {
        match c {
            '[' | '(' => depth += 1,
            ']' | ')' => depth -= 1,
            _ => {}
        }
        part.push(c);
        if c == ' ' && depth == 0 && part.ends_with(", ") {
            flush(&mut part, &mut line);
        }
    }
    flush(&mut part, &mut line);
    let _ = writeln!(lines, "    {},", line.trim_end());
    lines
}

fn docstring(layer: &Layer) -> String {
    let mut doc = format!("\"\"\"{}\n", layer.summary);
    if !layer.args.is_empty() {
        doc.push_str("\nArgs:\n");
        for (name, ty, text) in &layer.args {
            let mut lines = text.lines();
            let _ = writeln!(doc, "    {name} ({ty}): {}", lines.next().unwrap_or_default());
            lines.for_each(|line| doc.push_str(&format!("        {line}\n")));
        }
    }
    if layer.module != OPTIMIZER {
        let _ = write!(doc, "\nReturns:\n{}", indented(&layer.returns, "    "));
    }
    if let Some(raises) = &layer.raises {
        let _ = write!(doc, "\nRaises:\n{}", indented(raises, "    "));
    }
    if let Some(example) = &layer.example {
        let _ = write!(doc, "\nExample:\n{}", indented(example, "    "));
    }
    // A backslash in a docstring would be an escape.
    doc.replace('\\', "\\\\") + "\"\"\""
}

fn page(module: &str, layers: &[Layer]) -> String {
    let title = match module {
        "fluid" => "fluid".to_string(),
        OPTIMIZER => "fluid.optimizer".to_string(),
        CONTRIB => "fluid.contrib.layers".to_string(),
        _ => format!("fluid.layers.{module}"),
    };
    let mut text =
        format!("# {title}\n\nWritten by `cargo xtask codegen` from the declarations of layers; do not edit.\n");
    for layer in layers {
        let _ =
            write!(text, "\n## {}\n\n```text\n{}\n```\n\n{}\n\n", layer.name, layer.plain(), markdown(&layer.summary));
        for (name, ty, doc) in &layer.args {
            let _ = writeln!(text, "- `{name}` ({ty}): {}", markdown(&doc.replace('\n', " ")));
        }
        if module != OPTIMIZER {
            let _ = write!(text, "\nReturns {}\n", markdown(&layer.returns.replace('\n', " ")));
        }
        if let Some(raises) = &layer.raises {
            let _ = write!(text, "\nRaises {}\n", markdown(&raises.replace('\n', " ")));
        }
        if let Some(example) = &layer.example {
            let _ = write!(text, "\n```pycon\n{example}\n```\n");
        }
    }
    text
}

fn index(modules: &BTreeMap<String, Vec<Layer>>) -> String {
    let mut text = String::from(
        "# Layers and optimizers\n\nWritten by `cargo xtask codegen` from their declarations; do not edit.\n\n| name | |\n|---|---|\n",
    );
    let mut all: Vec<&Layer> = modules.values().flatten().collect();
    all.sort_by_key(|layer| layer.path());
    for layer in all {
        let first = layer.summary.split_inclusive(". ").next().unwrap_or_default().trim().replace('\n', " ");
        let link = format!("{}.md#{}", layer.module, layer.name.to_lowercase());
        let _ = writeln!(text, "| [`{}`]({link}) | {} |", layer.path(), markdown(&first).replace('|', "\\|"));
    }
    text
}

/// Docstrings quote code with two backticks, Markdown with one.
fn markdown(text: &str) -> String {
    text.replace("``", "`")
}

#[cfg(test)]
mod tests {
    use super::*;

    const RELU: &str = "nn.relu(x, name=None)\n max(x, 0).\n\n Args:\n     x (Variable): any\n         shape.\n\n \
                        Returns:\n     Variable: like ``x``.\n\n Example:\n     >>> relu(x)\n\x0c";

    #[test]
    fn a_declaration_becomes_a_function_and_a_page() {
        let files = generated(RELU).unwrap();
        let (path, text) = &files[0];
        assert_eq!(path, "python/oarlock/fluid/layers/_generated/nn.py");
        let expected = "def relu(x: Variable, name: Optional[str] = None) -> Variable:\n    \"\"\"max(x, 0).\n\n    Args:\n        \
                        x (Variable): any\n            shape.\n        name (str): prefix of the names of its variables.\n\n    \
                        Returns:\n        Variable: like ``x``.\n\n    Example:\n        >>> relu(x)\n    \"\"\"\n    \
                        return layer(\"relu\", locals())\n";
        assert!(text.ends_with(expected), "{text}");
        assert!(files[1].1.contains("- `x` (Variable): any shape.\n"), "{}", files[1].1);
    }

    #[test]
    fn arguments_and_documentation_must_agree() {
        let error = |text: &str| format!("{:#}", generated(text).expect_err("it is wrong"));
        assert!(error("nn.f(x)\n Text.\n\x0c").contains("argument `x` is not documented"));
        assert!(
            error("nn.f()\n Text.\n\n Args:\n     x (int): a.\n\x0c")
                .contains("`x` is documented, but it is no argument")
        );
        assert!(error("nn.f(x)\n Text.\n\n Args:\n     x (num): a.\n\x0c").contains("`num` is no type"));
    }

    #[test]
    fn defaults_may_hold_commas() {
        let params = params("x, axes=[0, 1], mode='a,b', *, y=(1, 2)");
        let shown: Vec<_> =
            params.iter().map(|p| p.as_ref().map_or("*", |p| p.default.as_deref().unwrap_or("-"))).collect();
        assert_eq!(shown, ["-", "[0, 1]", "'a,b'", "*", "(1, 2)"]);
    }
}
