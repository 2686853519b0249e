//! The rules that every program keeps.
//!
//! They are about structure only; what an operator makes of its arguments is checked by its definition.

use std::collections::BTreeSet;

use crate::{Attr, Block, EMPTY, Error, GRAD, Kind, Name, Op, Program, Result, Slots};

/// Tells whether an operator type is defined.
pub type KnowsOp<'a> = &'a dyn Fn(&str) -> bool;

/// Checks the rules that every program keeps; the error names the block, the operator and the user's line.
///
/// - Block `i` stands at position `i`; its parent and the block it differentiates stand before it.
/// - Names of operators, variables and arguments are not empty, and a variable is listed under its own name.
/// - Every argument that is not `@EMPTY@` is declared in the operator's block or around it (but a block of gradients may
///   read a gradient that nothing computes), and no operator writes a variable twice.
/// - Attributes refer to blocks that exist and stand inside the operator's block.
/// - Every operator type is defined, if `known` is given.
pub fn verify(program: &Program, known: Option<KnowsOp<'_>>) -> Result<()> {
    if program.blocks().is_empty() {
        return Err(broken("the program has no block 0"));
    }
    for (idx, block) in program.blocks().iter().enumerate() {
        check_block(block, idx)?;
    }
    for block in program.blocks() {
        for (at, op) in block.ops.iter().enumerate() {
            check_op(program, block, op, known).map_err(|e| e.at(|| op.place(block.idx, at)))?;
        }
    }
    Ok(())
}

fn broken(what: impl Into<String>) -> Error {
    Error::new(Kind::Verify, what)
}

fn check_block(block: &Block, idx: usize) -> Result<()> {
    if block.idx != idx {
        return Err(broken(format!("block {} stands at position {idx}", block.idx)));
    }
    match block.parent {
        None if idx == 0 => {}
        Some(parent) if parent < idx => {}
        Some(parent) => return Err(broken(format!("block {idx} has parent {parent}, which does not stand before it"))),
        None => return Err(broken(format!("block {idx} has no parent"))),
    }
    if let Some(forward) = block.forward.filter(|f| *f >= idx) {
        return Err(broken(format!("block {idx} differentiates block {forward}, which does not stand before it")));
    }
    for (name, var) in &block.vars {
        if name.is_empty() {
            return Err(broken(format!("block {idx} has a variable without a name")));
        }
        if *name != var.name {
            return Err(broken(format!("block {idx} lists variable `{}` under the name `{name}`", var.name)));
        }
    }
    Ok(())
}

fn check_op(program: &Program, block: &Block, op: &Op, known: Option<KnowsOp<'_>>) -> Result<()> {
    if op.op_type.is_empty() {
        return Err(broken("an operator has no type"));
    }
    if known.is_some_and(|known| !known(&op.op_type)) {
        return Err(Error::new(Kind::Unknown, format!("there is no operator `{}`", op.op_type)));
    }
    check_args(program, block, op)?;
    op.attrs.iter().try_for_each(|(name, attr)| check_attr(program, block, name, attr))
}

fn check_args(program: &Program, block: &Block, op: &Op) -> Result<()> {
    for (slot, name) in args(&op.inputs).chain(args(&op.outputs)) {
        if name.is_empty() {
            return Err(broken("an argument is empty").help(format!("write `{EMPTY}` for no variable")));
        }
        if program.resolve(block.idx, name).is_none() && !may_be_missing(block, op, slot) {
            return Err(broken(format!("variable `{name}` is declared neither in block {} nor around it", block.idx)));
        }
    }
    let mut written = BTreeSet::new();
    match op.outputs.args().find(|name| !written.insert(*name)) {
        Some(name) => Err(broken(format!("variable `{name}` is written twice by one operator"))),
        None => Ok(()),
    }
}

/// Every argument that names a variable, with its slot.
fn args(slots: &Slots) -> impl Iterator<Item = (&Name, &Name)> {
    slots.iter().flat_map(|(slot, args)| args.iter().map(move |arg| (slot, arg))).filter(|(_, arg)| **arg != EMPTY)
}

/// The gradient of a recurrent network reads the gradient of its last state, which nothing computes: there is no next
/// step; and those of unused outputs. Fluid leaves these variables undeclared, and the operator takes them as zero.
fn may_be_missing(block: &Block, op: &Op, slot: &Name) -> bool {
    slot.ends_with(GRAD) && (block.forward.is_some() || !op.sub_blocks().is_empty())
}

fn check_attr(program: &Program, block: &Block, name: &Name, attr: &Attr) -> Result<()> {
    match attr {
        Attr::Block(sub) => check_sub_block(program, block, name, *sub),
        Attr::Blocks(subs) => subs.iter().try_for_each(|sub| check_sub_block(program, block, name, *sub)),
        _ => Ok(()),
    }
}

fn check_sub_block(program: &Program, block: &Block, attr: &Name, sub: usize) -> Result<()> {
    let mut at = program.blocks().get(sub);
    if at.is_none() {
        return Err(broken(format!("attribute `{attr}` refers to block {sub}, which does not exist")));
    }
    // Parents stand before their blocks, as was checked, so this ends.
    while let Some(parent) = at.and_then(|b| b.parent) {
        if parent == block.idx {
            return Ok(());
        }
        at = program.blocks().get(parent);
    }
    Err(broken(format!("attribute `{attr}` refers to block {sub}, which does not stand inside block {}", block.idx)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
        block 0 {
            var c: bool[1]
            var x: f32[?]
            var y: f32[?]
            y = relu(X: x, Y: @EMPTY@) at "train.py:4 in net"
            while(Condition: c, X: [x]) {sub_block: block 1}
        }
        block 1 in 0 {
            y = scale(X: x)
        }"#;

    fn check(from: &str, to: &str) -> String {
        let program = Program::from_text(&GOOD.replace(from, to)).unwrap();
        verify(&program, None).map_or_else(|e| e.to_string(), |()| "good".into())
    }

    #[test]
    fn rules() {
        assert_eq!(check("", ""), "good");
        assert_eq!(check("in 0 {\n", "in 0 forward 0 {\n y = scale_grad(Out@GRAD: z@GRAD)\n"), "good");
        assert_eq!(
            check("relu(X: x", "relu(X: z"),
            "error[verify]: variable `z` is declared neither in block 0 nor around it\n  \
             at train.py:4 in net (`relu`, block 0, op 0)"
        );
        let first = |text: String| text.lines().next().unwrap_or("").to_string();
        let cases = [
            ("y = scale", "A: y, B: y = scale", "variable `y` is written twice by one operator"),
            ("block 1}", "block 2}", "attribute `sub_block` refers to block 2, which does not exist"),
            ("block 1}", "[block 0]}", "attribute `sub_block` refers to block 0, which does not stand inside block 0"),
            ("in 0", "in 1", "block 1 has parent 1, which does not stand before it"),
            ("in 0", "", "block 1 has no parent"),
            ("in 0", "in 0 forward 1", "block 1 differentiates block 1, which does not stand before it"),
            ("X: x)", "X: \"\")", "an argument is empty"),
            ("scale(", "\"\"(", "an operator has no type"),
            ("var c:", "var \"\":", "block 0 has a variable without a name"),
        ];
        for (from, to, expected) in cases {
            assert_eq!(first(check(from, to)), format!("error[verify]: {expected}"));
        }
    }

    #[test]
    fn operators_may_have_to_be_known() {
        let program = Program::from_text(GOOD).unwrap();
        assert!(verify(&program, Some(&|_| true)).is_ok());
        let e = verify(&program, Some(&|name| name != "while")).unwrap_err();
        assert_eq!(e.to_string(), "error[unknown]: there is no operator `while`\n  at (`while`, block 0, op 1)");
    }
}
