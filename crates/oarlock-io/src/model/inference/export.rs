//! Extraction of an inference model from a training program, as `save_inference_model` does it.

use std::collections::HashSet;

use oarlock_ir::{Attr, EMPTY, Error, Kind, Name, Op, Program, Result, Role, Var, VarKind, VarType, prune};
use oarlock_tensor::DType;

use super::{FEED, FETCH, InferenceModel};

impl InferenceModel {
    /// The part of `program` that computes `targets` from `feeds`; the program itself stays as it is.
    ///
    /// Each target gets a `scale` by 1 behind it: readers of the model know its outputs by that operator's names.
    pub fn export(program: &Program, feeds: &[&str], targets: &[&str]) -> Result<InferenceModel> {
        let mut copy = program.clone();
        for op in &mut copy.global_mut().ops {
            op.is_target = false;
            if op.attrs.get("op_device").is_some() {
                op.attrs.set("op_device", "");
            }
        }
        copy.global_mut().ops.retain(|op| op.op_type != FEED && op.op_type != FETCH);
        let fetches = append_scales(&mut copy, targets)?;
        let fetch_names: Vec<&str> = fetches.iter().map(Name::as_str).collect();
        let mut pruned = prune(&copy, feeds, &fetch_names)?;
        drop_readers(&mut pruned);
        for op in pruned.blocks_mut().iter_mut().flat_map(|b| &mut b.ops) {
            if op.attrs.get("is_test").is_some() {
                op.attrs.set("is_test", true);
            }
        }
        prepend_feeds(&mut pruned, feeds)?;
        append_fetches(&mut pruned, &fetches);
        InferenceModel::of(pruned)
    }
}

fn append_scales(program: &mut Program, targets: &[&str]) -> Result<Vec<Name>> {
    if targets.is_empty() {
        return Err(Error::new(Kind::Argument, "an inference model without targets computes nothing")
            .help("name the variables to predict"));
    }
    let mut fetches = Vec::with_capacity(targets.len());
    for (i, target) in targets.iter().enumerate() {
        let ty = program.expect_var(0, target)?.ty();
        let name = free_name(program, &format!("save_infer_model/scale_{i}.tmp_"));
        program.global_mut().set_var(Var::new(name.clone(), ty));
        let scale = Op::new("scale")
            .input("X", [*target])
            .input("ScaleTensor", [EMPTY; 0])
            .output("Out", [&name])
            .attr("scale", 1.0f32)
            .attr("bias", 0.0f32)
            .attr("bias_after_scale", true);
        program.global_mut().ops.push(with_common_attrs(scale));
        fetches.push(name);
    }
    Ok(fetches)
}

/// The first name of a row that no variable has.
fn free_name(program: &Program, stem: &str) -> Name {
    let mut names = (0..).map(|k| Name::from(format!("{stem}{k}")));
    let taken = |name: &Name| program.global().vars.contains_key(name);
    names.find(|name| !taken(name)).unwrap_or_else(|| stem.into())
}

/// The attributes that every operator of a saved program carries.
fn with_common_attrs(op: Op) -> Op {
    op.attr("op_role", Role::FORWARD.0)
        .attr("op_role_var", Attr::Strings(Vec::new()))
        .attr("op_namescope", "/")
        .attr("op_callstack", Attr::Strings(Vec::new()))
        .attr("op_device", "")
}

/// Removes readers, and the operators that make them and read from them: a model is fed.
fn drop_readers(program: &mut Program) {
    let block = program.global_mut();
    let readers: HashSet<Name> =
        block.vars.values().filter(|var| var.kind == VarKind::Reader).map(|var| var.name.clone()).collect();
    block.ops.retain(|op| !op.inputs.args().chain(op.outputs.args()).any(|name| readers.contains(name)));
    block.vars.retain(|name, _| !readers.contains(name));
}

/// Each feed is put before the earlier ones: that is the order files have.
fn prepend_feeds(program: &mut Program, feeds: &[&str]) -> Result<()> {
    for (i, feed) in feeds.iter().enumerate() {
        if feeds[..i].contains(feed) {
            return Err(Error::new(Kind::Argument, format!("`{feed}` is fed twice")).help("list every feed once"));
        }
        if program.global().var(feed).is_none() {
            let what = format!("the targets do not depend on the feed `{feed}`");
            return Err(Error::new(Kind::Argument, what).help("leave it out, or add the target that needs it"));
        }
        let op = Op::new(FEED).input("X", [FEED]).output("Out", [*feed]).attr("col", i as i32);
        program.global_mut().ops.insert(0, with_common_attrs(op));
    }
    if !feeds.is_empty() {
        add_list(program, FEED, VarKind::FeedList);
    }
    Ok(())
}

fn append_fetches(program: &mut Program, fetches: &[Name]) {
    for (i, fetch) in fetches.iter().enumerate() {
        let op = Op::new(FETCH).input("X", [fetch]).output("Out", [FETCH]).attr("col", i as i32);
        program.global_mut().ops.push(with_common_attrs(op));
    }
    add_list(program, FETCH, VarKind::FetchList);
}

/// Declares the variable through which values enter or leave.
pub(super) fn add_list(program: &mut Program, name: &str, kind: VarKind) {
    let mut list = Var::new(name, VarType::tensor(DType::F32, vec![]).with_kind(kind));
    list.persistable = true;
    program.global_mut().set_var(list);
}
