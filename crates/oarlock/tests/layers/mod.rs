//! Every layer against what Fluid 1.8 built for the same call: operators, arguments, attributes, parameters, first values, results.
//!
//! `fluid.txt` holds Fluid's programs, one per example, as text without defaults.

mod conv;
mod decode;
mod dense;
mod detection;
mod fill;
mod flow;
mod image;
mod loss;
mod more;
mod schedules;
mod sequence;
mod shape;
mod unary;

use std::collections::{BTreeMap, BTreeSet};

use oarlock::prelude::*;

use crate::fluid::{difference, skipped, without_scope_numbers};

/// An example: Fluid's call, and ours.
pub(crate) struct Case {
    pub(crate) example: &'static str,
    pub(crate) build: fn(&mut Net) -> Result<Vec<VarRef>>,
}

/// `"fluid call" [inputs] |net| our call;` and so on.
macro_rules! cases {
    ($($example:literal [$($input:ident)*] |$net:ident| $build:expr;)*) => {
        vec![$(
            $crate::layers::Case {
                example: $example,
                build: |$net| {
                    $(let $input = $crate::layers::input($net, stringify!($input));)*
                    $crate::layers::outputs($build)
                },
            }
        ),*]
    };
}
pub(crate) use cases;

/// The results of a layer, as a list.
pub(crate) trait Outputs {
    fn list(self) -> Vec<VarRef>;
}

impl Outputs for VarRef {
    fn list(self) -> Vec<VarRef> {
        vec![self]
    }
}

impl Outputs for Vec<VarRef> {
    fn list(self) -> Vec<VarRef> {
        self
    }
}

impl Outputs for (VarRef, VarRef) {
    fn list(self) -> Vec<VarRef> {
        vec![self.0, self.1]
    }
}

impl Outputs for (VarRef, VarRef, VarRef) {
    fn list(self) -> Vec<VarRef> {
        vec![self.0, self.1, self.2]
    }
}

impl<const N: usize> Outputs for [VarRef; N] {
    fn list(self) -> Vec<VarRef> {
        self.into()
    }
}

pub(crate) fn outputs(result: Result<impl Outputs>) -> Result<Vec<VarRef>> {
    result.map(Outputs::list)
}

/// Data of the examples, by name.
pub(crate) fn input(net: &mut Net, name: &str) -> VarRef {
    use DType::{Bool, F32, I32, I64};
    let batch = |shape: &[i64], dtype, lod| Data::of(shape).dtype(dtype).lod_level(lod);
    let fixed = |shape: &[i64], dtype| Data::of(shape).dtype(dtype).append_batch_size(false);
    let data = match name {
        "x" | "x1" | "c" => batch(&[4], F32, 0),
        "x12" => batch(&[12], F32, 0),
        "t3" => batch(&[3, 4], F32, 0),
        "ids" | "tag" | "sids" => batch(&[1], I64, 1),
        "lab" | "lab2" | "len" => batch(&[1], I64, 0),
        "tag32" => batch(&[1], I32, 1),
        "img" => batch(&[3, 8, 8], F32, 0),
        "img2" => batch(&[4, 8, 8], F32, 0),
        "vol" => batch(&[2, 4, 6, 6], F32, 0),
        "seq" => batch(&[4], F32, 1),
        "seq1" => batch(&[1], F32, 1),
        "seq8" => batch(&[8], F32, 1),
        "seq12" => batch(&[12], F32, 1),
        "fx" | "fx2" | "sq2" => fixed(&[2, 3], F32),
        "fi" => fixed(&[2], I64),
        "sq" => fixed(&[3, 3], F32),
        "s2" => fixed(&[2, 3, 4], F32),
        "v3" => fixed(&[3], F32),
        "y1" => batch(&[1], F32, 0),
        "i" | "i2" => batch(&[3], I64, 0),
        "b" | "b2" => batch(&[3], Bool, 0),
        "one" => fixed(&[1], F32),
        "prob" => batch(&[2], F32, 0),
        "z" => batch(&[1, 4], F32, 0),
        "s3" => fixed(&[2, 4, 3], F32),
        "et" => fixed(&[4, 3], F32),
        "gi" => fixed(&[2, 1], I64),
        "mi" => batch(&[1], I32, 0),
        "dl" => batch(&[3, 1], I64, 0),
        "cv" => batch(&[2], F32, 0),
        "bi" => batch(&[3], I64, 2),
        "bs" => batch(&[3], F32, 2),
        "gt" | "gp" => fixed(&[3, 2, 2], I64),
        "tags3" => batch(&[3, 1], I64, 0),
        "pt" | "pc" => batch(&[2], I64, 0),
        "img83" => batch(&[3, 8, 6], F32, 0),
        "imgl" => batch(&[8, 8, 3], F32, 0),
        "n1" => fixed(&[1], I32),
        "n2" => fixed(&[2], I32),
        "n4" => fixed(&[4], I32),
        "gr" => batch(&[8, 8, 2], F32, 0),
        "th" => fixed(&[2, 2, 3], F32),
        "ts" => fixed(&[4, 4, 2, 2], F32),
        "it" => fixed(&[2], I64),
        "fixed4" => fixed(&[4], F32),
        "fgnum" => fixed(&[1], I32),
        "rpnanchor" | "rpnvar" => fixed(&[4, 4, 3, 4], F32),
        other => return detection_input(net, other),
    };
    net.data(name, data).expect("data can be declared")
}

/// Data of the examples of object detection; `tools/layer_programs.py` has the same.
fn detection_input(net: &mut Net, name: &str) -> VarRef {
    use DType::{F32, I32};
    let (shape, dtype, lod): (&[i64], _, _) = match name {
        "map1" => (&[8, 4, 4], F32, 0),
        "map2" => (&[8, 2, 2], F32, 0),
        "map3" => (&[8, 1, 1], F32, 0),
        "pic" => (&[3, 64, 64], F32, 0),
        "boxes" => (&[4], F32, 1),
        "priors" | "pvar" => (&[4], F32, 0),
        "codes" => (&[20, 4], F32, 0),
        "confs" => (&[20, 3], F32, 0),
        "info" => (&[3], F32, 0),
        "cls32" | "crowd" | "negs" => (&[1], I32, 1),
        "overlap" => (&[20], F32, 1),
        "matches" => (&[20], I32, 0),
        "rows3" => (&[1, 4], F32, 1),
        "allcodes" => (&[8], F32, 0),
        "scores2" => (&[2], F32, 0),
        "score3" => (&[3, 20], F32, 0),
        "score1" => (&[1, 20], F32, 0),
        "rpnscore" => (&[3, 4, 4], F32, 0),
        "rpnmove" => (&[12, 4, 4], F32, 0),
        "quads" => (&[8], F32, 1),
        "segms" => (&[2], F32, 3),
        "ymap" => (&[21, 4, 4], F32, 0),
        "ybox" => (&[5, 4], F32, 0),
        "ylabel" => (&[5], I32, 0),
        "yscore" => (&[5], F32, 0),
        "size2" => (&[2], I32, 0),
        "dloff" => (&[18, 2, 2], F32, 0),
        "dlmask" => (&[9, 2, 2], F32, 0),
        "moves" => (&[2, 2, 2], F32, 0),
        "logits" => (&[20, 1], F32, 0),
        "lab32" => (&[1], I32, 0),
        "fscore" => (&[1], F32, 1),
        other => panic!("no data named {other}"),
    };
    net.data(name, Data::of(shape).dtype(dtype).lod_level(lod)).expect("data can be declared")
}

/// The program that Fluid built.
struct Expected {
    returns: Vec<String>,
    main: Program,
    startup: Program,
}

/// Fluid's programs by example.
fn expected() -> BTreeMap<&'static str, Expected> {
    let mut all = BTreeMap::new();
    for part in include_str!("fluid.txt").split("=== ").skip(1) {
        let (example, rest) = part.split_once('\n').expect("an example");
        let (returns, programs) = rest.split_once('\n').expect("what it returns");
        let (main, startup) = programs.split_once("--- startup\n").expect("two programs");
        let read = |text: &str| Program::from_text(text).unwrap_or_else(|e| panic!("{example}: {e}"));
        let returns = returns.split_whitespace().skip(1).map(String::from).collect();
        all.insert(example, Expected { returns, main: read(main), startup: read(startup) });
    }
    all
}

fn all_cases() -> Vec<Case> {
    let families = [
        dense::cases(),
        decode::cases(),
        unary::cases(),
        loss::cases(),
        conv::cases(),
        shape::cases(),
        fill::cases(),
        sequence::cases(),
        flow::cases(),
        schedules::cases(),
        more::cases(),
        image::cases(),
        detection::cases(),
    ];
    families.into_iter().flatten().collect()
}

/// Layers whose programs say the same in other words. Where the batch size is unknown, Fluid gives up on products of sizes: it
/// declares `[?, ?, 4]` where we know `[?, 88, 4]`, and does not see that the first size of a flattened factor is unknown, on which the
/// attribute `axis` of a product depends. Losses and gradients are compared with Fluid's in `python/tests/training/test_detection.py`.
const DIFFER_HARMLESSLY: [&str; 2] = ["multi_box_head(", "ssd_loss("];

/// Why a case is not what Fluid built.
fn check(case: &Case, expected: &Expected) -> std::result::Result<(), String> {
    let mut net = Net::new();
    let registry = net.registry().clone();
    if skipped(case.example, &expected.main, &registry) {
        return Ok(());
    }
    let found = (case.build)(&mut net).map_err(|e| e.to_string())?;
    let names: Vec<&str> = found.iter().map(|v| v.name().as_str()).collect();
    if names != expected.returns {
        return Err(format!("returns {names:?}, expected {:?}", expected.returns));
    }
    if DIFFER_HARMLESSLY.iter().any(|layer| case.example.starts_with(layer)) {
        return Ok(());
    }
    for (what, ours, theirs) in [("main", &net.main, &expected.main), ("startup", &net.startup, &expected.startup)] {
        if let Some(text) = difference(&without_scope_numbers(ours.clone()), theirs, &registry) {
            return Err(format!("{what}: {text}"));
        }
    }
    Ok(())
}

#[test]
fn layers_build_what_fluid_builds() {
    let mut expected = expected();
    let mut wrong = Vec::new();
    for case in all_cases() {
        let Some(theirs) = expected.remove(case.example) else {
            wrong.push(format!("{}: fluid.txt does not have it", case.example));
            continue;
        };
        if let Err(text) = check(&case, &theirs) {
            wrong.push(format!("{}: {text}", case.example));
        }
    }
    wrong.extend(expected.keys().map(|example| format!("{example}: no case builds it")));
    assert!(wrong.is_empty(), "{} of the examples differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// Layers without an example, and why.
const WITHOUT_EXAMPLE: [(&str, &[&str]); 6] = [
    ("tests/programs.rs compares whole programs with them", &["While", "Switch", "IfElse", "DynamicRNN", "StaticRNN"]),
    (
        "tests/recurrent.rs compares whole programs with them",
        &["rnn", "dynamic_decode", "GRUCell", "LSTMCell", "BeamSearchDecoder"],
    ),
    ("Fluid's own function fails under Python 3", &["hash"]),
    ("readers belong to the Python package", &["py_reader", "double_buffer", "read_file", "create_py_reader_by_data"]),
    ("it calls Python", &["py_func"]),
    ("Fluid's result has no dimension, ours has one", &["rank"]),
];

/// The functions that the examples call.
fn called(examples: &str) -> BTreeSet<&str> {
    let parts = examples.split('(').map(|part| part.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next());
    parts.flatten().collect()
}

#[test]
fn every_layer_has_an_example() {
    let lines = include_str!("fluid.txt").lines().filter_map(|line| line.strip_prefix("=== "));
    let examples = lines.collect::<Vec<_>>().join("\n");
    let called = called(&examples);
    let excused: BTreeSet<&str> = WITHOUT_EXAMPLE.iter().flat_map(|(_, layers)| layers.iter().copied()).collect();
    let signatures = include_str!("../../../../python/tests/api/signatures.txt").lines();
    let layers = signatures.filter_map(|line| line.strip_prefix("fluid.layers.")?.split('(').next());
    let missing: Vec<&str> = layers.filter(|name| !called.contains(name) && !excused.contains(name)).collect();
    assert!(missing.is_empty(), "layers without an example of Fluid's program: {missing:?}");
    let both: Vec<&&str> = excused.iter().filter(|name| called.contains(**name)).collect();
    assert!(both.is_empty(), "layers with an example, so they need no excuse: {both:?}");
}
