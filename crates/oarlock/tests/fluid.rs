//! Comparing programs with those of Fluid 1.8.

use std::collections::BTreeSet;
use std::path::PathBuf;

use oarlock::{Program, Registry};
use oarlock_ir::{Attr, Block, Name, Op, diff};
use oarlock_testkit::{Npz, golden_dir, skip};

/// Attributes that are compared besides an operator's own, with their values for an ordinary operator.
fn bookkeeping() -> [(&'static str, Attr); 3] {
    [("op_role", 0.into()), ("op_role_var", Attr::Strings(Vec::new())), ("op_namescope", "/".into())]
}

/// Outputs that Fluid declares otherwise than its kernels write them. Ours are declared as they are written.
const DECLARED_OTHERWISE: [(&str, &str); 56] = [
    // f32 and sequences, but declared as f64 without LoD.
    ("filter_by_instag", "LossWeight"),
    // Three numbers per row and sequences, but declared with two and without LoD.
    ("filter_by_instag", "IndexMap"),
    // Integers, but declared with the dtype of the input.
    ("max_pool2d_with_index", "Mask"),
    ("max_pool3d_with_index", "Mask"),
    // One bool, but declared with the dtype of the input.
    ("isinf", "Out"),
    ("isnan", "Out"),
    // Integers, but declared with the dtype of the input, and without sizes unless it is used.
    ("sequence_pool", "MaxIndex"),
    // As long as the longest sequence, but declared with length 1.
    ("sequence_pad", "Out"),
    // One number per tensor, but declared without sizes.
    ("tensor_array_to_tensor", "OutIndex"),
    // As large as the target, but declared with no elements.
    ("expand_as", "Out"),
    // Sequences, but declared without LoD.
    ("sequence_slice", "Out"),
    // The sizes of `X` and a 0, in another order; no operator reads the declaration.
    ("cross_entropy2", "XShape"),
    // Classes, but declared with the dtype of the probabilities.
    ("sampling_id", "Out"),
    // Numbers, but declared as integers.
    ("edit_distance", "Out"),
    // Of known rank, but declared without sizes.
    ("hierarchical_sigmoid", "PreOut"),
    ("warpctc", "WarpCTCGrad"),
    ("beam_search_decode", "SentenceIds"),
    ("beam_search_decode", "SentenceScores"),
    // Integers, but declared with a dtype by accident.
    ("sample_logits", "LabelsDim"),
    // As large as a variable says, but declared as large as an attribute or the input.
    ("bilinear_interp", "Out"),
    ("pad2d", "Out"),
    // As many rows as are selected, but declared with all.
    ("get_tensor_from_selected_rows", "Out"),
    // Sequences, but declared without LoD.
    ("filter_by_instag", "Out"),
    // As many as stay, but declared as many as there are, some without LoD.
    ("multiclass_nms", "Out"),
    ("multiclass_nms2", "Out"),
    ("matrix_nms", "Out"),
    ("locality_aware_nms", "Out"),
    ("retinanet_detection_output", "Out"),
    ("collect_fpn_proposals", "FpnRois"),
    // As many as the layer says, but declared without a number.
    ("density_prior_box", "Boxes"),
    ("density_prior_box", "Variances"),
    // i32, but declared as i64 and as many as there are.
    ("multiclass_nms2", "Index"),
    ("matrix_nms", "Index"),
    // i64, but declared as i32; one without its size.
    ("roi_pool", "Argmax"),
    ("generate_proposals", "RpnRoisLod"),
    // Numbers, but declared as integers.
    ("yolov3_loss", "ObjectnessMask"),
    ("deformable_psroi_pooling", "TopCount"),
    // Sequences, but declared without LoD.
    ("mine_hard_examples", "NegIndices"),
    ("generate_proposals", "RpnRois"),
    ("generate_proposals", "RpnRoiProbs"),
    ("generate_proposal_labels", "Rois"),
    ("generate_proposal_labels", "LabelsInt32"),
    ("generate_proposal_labels", "BboxTargets"),
    ("generate_proposal_labels", "BboxInsideWeights"),
    ("generate_proposal_labels", "BboxOutsideWeights"),
    ("rpn_target_assign", "LocationIndex"),
    ("rpn_target_assign", "ScoreIndex"),
    ("rpn_target_assign", "TargetLabel"),
    ("rpn_target_assign", "TargetBBox"),
    ("rpn_target_assign", "BBoxInsideWeight"),
    ("retinanet_target_assign", "LocationIndex"),
    ("retinanet_target_assign", "ScoreIndex"),
    ("retinanet_target_assign", "TargetLabel"),
    ("retinanet_target_assign", "TargetBBox"),
    ("retinanet_target_assign", "BBoxInsideWeight"),
    ("retinanet_target_assign", "ForegroundNumber"),
];

/// Slots and attributes whose order is the accident of a Python set, with the gradients that follow it.
const SETS: [(&str, &[&str]); 6] = [
    ("while", &["X", "Out"]),
    ("while_grad", &["X", "X@GRAD", "Out", "Out@GRAD", "original_output_grad"]),
    ("conditional_block", &["Input", "Out"]),
    ("conditional_block_grad", &["Input", "Input@GRAD", "Out", "Out@GRAD"]),
    ("recurrent", &["parameters"]),
    ("recurrent_grad", &["parameters", "parameters@GRAD"]),
];

/// The program with only what counts: attributes that differ from their defaults, arguments of sets in order.
pub(crate) fn plain(program: &Program, registry: &Registry) -> Program {
    let mut program = program.clone();
    for block in program.blocks_mut() {
        block.ops.iter_mut().for_each(|op| plain_op(op, registry));
    }
    program
}

fn plain_op(op: &mut Op, registry: &Registry) {
    sort_sets(op);
    let Some(entry) = registry.get(&op.op_type) else { return };
    let set: Vec<_> = op.attrs.iter().map(|(n, v)| (n.clone(), v.clone())).collect();
    for (name, value) in set {
        let sig = entry.sig.attrs.iter().find(|a| a.name == name.as_str());
        let counts = match sig {
            Some(sig) => sig.default.as_ref() != Some(&value),
            None => bookkeeping().iter().any(|(n, ordinary)| name == *n && value != *ordinary),
        };
        if !counts {
            op.attrs.remove(&name);
        }
    }
}

fn sort_sets(op: &mut Op) {
    let Some((_, sets)) = SETS.iter().find(|(op_type, _)| op.op_type == *op_type) else { return };
    let is_set = |name: &Name| sets.contains(&name.as_str());
    op.inputs.iter_mut().filter(|(slot, _)| is_set(slot)).for_each(|(_, args)| args.sort());
    op.outputs.iter_mut().filter(|(slot, _)| is_set(slot)).for_each(|(_, args)| args.sort());
    for (_, value) in op.attrs.iter_mut().filter(|(name, _)| is_set(name)) {
        if let Attr::Strings(list) = value {
            list.sort();
        }
    }
}

/// Does a program have operators that do not exist here? Says so.
pub(crate) fn skipped(what: &str, program: &Program, registry: &Registry) -> bool {
    let ops = program.blocks().iter().flat_map(|b| &b.ops);
    let missing: BTreeSet<&str> = ops.map(|op| op.op_type.as_str()).filter(|t| registry.get(t).is_none()).collect();
    if !missing.is_empty() {
        skip(&format!("{what}: there is no operator {}", missing.iter().copied().collect::<Vec<_>>().join(", ")));
    }
    !missing.is_empty()
}

/// The first difference between a program and the one that Fluid built.
pub(crate) fn difference(found: &Program, expected: &Program, registry: &Registry) -> Option<String> {
    let (mut found, expected) = (plain(found, registry), plain(expected, registry));
    for (block, theirs) in found.blocks_mut().iter_mut().zip(expected.blocks()) {
        declare_otherwise(block, theirs);
    }
    diff(&found, &expected, &["op_callstack", "op_device"])
}

/// Takes over the declarations of [`DECLARED_OTHERWISE`].
fn declare_otherwise(block: &mut Block, theirs: &Block) {
    let listed = |op: &Op| DECLARED_OTHERWISE.into_iter().filter(|(t, _)| op.op_type == *t).map(|(_, s)| s).collect();
    let names: Vec<Name> = block
        .ops
        .iter()
        .flat_map(|op| {
            let slots: Vec<&str> = listed(op);
            slots.into_iter().flat_map(|s| op.outputs.get(s).to_vec()).collect::<Vec<_>>()
        })
        .collect();
    for var in names.iter().filter_map(|n| theirs.var(n)) {
        block.set_var(var.clone());
    }
}

/// Without the numbers of name scopes, for programs of a process that had built others before.
pub(crate) fn without_scope_numbers(mut program: Program) -> Program {
    for op in program.blocks_mut().iter_mut().flat_map(|b| &mut b.ops) {
        if let Some(Attr::String(scope)) = op.attrs.get("op_namescope").cloned() {
            let stem = |part: &str| part.trim_end_matches(|c: char| c == '_' || c.is_ascii_digit()).to_string();
            let parts: Vec<String> = scope.split('/').map(stem).collect();
            op.attrs.set("op_namescope", parts.join("/"));
        }
    }
    program
}

/// Fails unless a program is what Fluid built.
pub(crate) fn assert_same(what: &str, found: &Program, expected: &Program, registry: &Registry) {
    if let Some(text) = difference(found, expected, registry) {
        panic!("{what}: {text}");
    }
}

/// A program in Fluid's file format.
pub(crate) fn read(what: &str, bytes: &[u8]) -> Program {
    Program::from_bytes(bytes).unwrap_or_else(|e| panic!("{what}: {e}"))
}

/// The archive of a golden program: kept here, of the full set, or the copy that `oarlock-ops` keeps for its own tests.
pub(crate) fn program_archive(name: &str) -> Npz {
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/programs").join(format!("{name}.npz"));
    if own.exists() {
        return Npz::read(own);
    }
    let here = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../oarlock-ops/tests/golden/programs");
    let dir = golden_dir().map_or_else(here, |d| d.join("ops/programs"));
    Npz::read(dir.join(format!("{name}.npz")))
}
