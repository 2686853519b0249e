//! Cases recorded from Fluid 1.8.5: a program before and after a call. Lines with `+` are what the call added.

use std::collections::BTreeMap;

use oarlock_ir::{Attr, Block, Name, Op, Program, Role, Shape, Slots, Var, VarDType, VarKind, VarType};
use oarlock_tensor::DType;

/// A recorded call.
pub(crate) struct Case {
    header: Vec<(String, Vec<Name>)>,
    lines: Vec<(bool, Line)>,
}

enum Line {
    Block(Block),
    Var(Var),
    Op(Op),
}

impl Case {
    pub(crate) fn parse(text: &str) -> Case {
        let (mut header, mut lines) = (Vec::new(), Vec::new());
        let mut in_header = true;
        for line in text.lines() {
            let (new, line) = line.strip_prefix('+').map_or((false, line), |l| (true, l));
            let (word, rest) = line.split_once(' ').expect("a word and more");
            // The header's `block` has one number, a block three.
            in_header &= !(word == "block" && rest.contains(' '));
            if in_header {
                header.push((word.to_string(), rest.split(' ').map(Name::from).collect()));
            } else {
                let line = match word {
                    "block" => Line::Block(parse_block(rest)),
                    "var" => Line::Var(parse_var(rest)),
                    "op" => Line::Op(parse_op(rest)),
                    _ => panic!("what is `{line}`?"),
                };
                lines.push((new, line));
            }
        }
        Case { header, lines }
    }

    /// The words of a header line; none if there is no such line.
    pub(crate) fn words(&self, key: &str) -> Option<Vec<Name>> {
        self.header.iter().find(|(k, _)| k == key).map(|(_, words)| words.clone())
    }

    pub(crate) fn word(&self, key: &str) -> Name {
        self.words(key).expect(key)[0].clone()
    }

    pub(crate) fn number(&self, key: &str) -> usize {
        self.word(key).parse().expect("a number")
    }

    /// Pairs of a variable and its gradient that the call returned.
    pub(crate) fn pairs(&self) -> Vec<(Name, Option<Name>)> {
        let pairs = self.header.iter().filter(|(k, _)| k == "pair");
        pairs.map(|(_, w)| (w[0].clone(), Some(w[1].clone()).filter(|g| *g != "-"))).collect()
    }

    pub(crate) fn before(&self) -> Program {
        let mut program = self.program(false);
        program.backward_passes = self.number("passes");
        // The loss is marked by the call.
        for loss in self.words("loss").unwrap_or_default() {
            let mut ops = program.blocks_mut().iter_mut().flat_map(|b| &mut b.ops);
            let op = ops.find(|op| op.outputs.args().any(|n| *n == loss)).expect("an operator computes the loss");
            op.set_role(Role::FORWARD);
        }
        program
    }

    pub(crate) fn after(&self) -> Program {
        self.program(true)
    }

    fn program(&self, with_new: bool) -> Program {
        let mut blocks: Vec<Block> = Vec::new();
        for (_, line) in self.lines.iter().filter(|(new, _)| with_new || !new) {
            match line {
                Line::Block(b) => blocks.push(b.clone()),
                Line::Var(v) => {
                    blocks.last_mut().expect("a block first").set_var(v.clone());
                }
                Line::Op(op) => blocks.last_mut().expect("a block first").ops.push(op.clone()),
            }
        }
        Program::from_blocks(blocks)
    }
}

fn parse_block(rest: &str) -> Block {
    let numbers: Vec<i64> = rest.split(' ').map(|n| n.parse().expect("a number")).collect();
    let mut block = Block::new(numbers[0] as usize, usize::try_from(numbers[1]).ok());
    block.forward = usize::try_from(numbers[2]).ok();
    block
}

fn parse_var(rest: &str) -> Var {
    let words: Vec<&str> = rest.split(' ').collect();
    let kind = KINDS.iter().find(|(_, word)| *word == words[1]).expect("a kind").0;
    let dtype = DType::ALL.into_iter().find(|d| d.to_string() == words[2]).expect("a dtype");
    let sizes = words[3].trim_matches(['[', ']']).split(',').filter(|n| !n.is_empty());
    let sizes: Vec<i64> = sizes.map(|n| n.parse().expect("a size")).collect();
    let mut var = Var::new(words[0], VarType::tensor(dtype, Shape::from_i64(&sizes)).with_kind(kind));
    var.meta.stop_gradient = words.contains(&"stop");
    var.meta.is_parameter = words.contains(&"param") || words.contains(&"frozen");
    var.meta.trainable = !words.contains(&"frozen");
    var
}

const KINDS: [(VarKind, &str); 6] = [
    (VarKind::Tensor, "tensor"),
    (VarKind::SelectedRows, "rows"),
    (VarKind::TensorArray, "array"),
    (VarKind::StepScopes, "scopes"),
    (VarKind::RankTable, "ranks"),
    (VarKind::Raw, "raw"),
];

fn parse_op(rest: &str) -> Op {
    let parts: Vec<&str> = rest.split('|').map(str::trim).collect();
    let mut op = Op::new(parts[0]);
    op.inputs = parse_slots(parts[1]);
    op.outputs = parse_slots(parts[2]);
    for (name, value) in parts[3].split_whitespace().map(|a| a.split_once(':').expect("name:value")) {
        op.attrs.set(name, parse_attr(name, value));
    }
    op
}

fn parse_slots(text: &str) -> Slots {
    let slots = text.split_whitespace().map(|s| s.split_once('=').expect("slot=arguments"));
    slots.map(|(slot, args)| (slot, args.split(',').filter(|a| !a.is_empty()))).collect()
}

fn parse_attr(name: &str, value: &str) -> Attr {
    match name {
        "sub_block" => Attr::Block(value.parse().expect("a block")),
        "op_role_var" | "original_output_grad" => value.split(',').map(String::from).collect::<Vec<_>>().into(),
        "shape" => value.split(',').map(|n| n.parse().expect("a size")).collect::<Vec<i64>>().into(),
        "value" => value.parse::<f32>().expect("a float").into(),
        "is_sparse" | "force_cpu" => (value == "true").into(),
        _ => value.parse::<i32>().expect("an int").into(),
    }
}

/// Blocks and operators as text, one line each, for comparison.
pub(crate) fn ops_as_text(program: &Program) -> String {
    let mut text = String::new();
    for b in program.blocks() {
        text += &format!("block {} in {:?}, gradients of {:?}\n", b.idx, b.parent, b.forward);
        for op in &b.ops {
            let attrs: BTreeMap<_, _> = op.attrs.iter().filter(|a| is_recorded(op, a)).collect();
            text += &format!("  {} {:?} -> {:?} {attrs:?}\n", op.op_type, filled(&op.inputs), filled(&op.outputs));
        }
    }
    text
}

/// A slot without arguments says as little as none.
fn filled(slots: &Slots) -> Vec<(&Name, &[Name])> {
    slots.iter().filter(|(_, args)| !args.is_empty()).collect()
}

/// The recorded attributes; an empty `op_role_var` says as little as none.
pub(crate) fn is_recorded(op: &Op, (name, value): &(&Name, &Attr)) -> bool {
    match name.as_str() {
        "op_role" | "sub_block" | "is_sparse" | "original_output_grad" => true,
        "op_role_var" => **value != Attr::Strings(Vec::new()),
        "shape" | "value" | "dtype" | "force_cpu" => op.op_type == "fill_constant",
        _ => false,
    }
}

/// Variables as text, sorted: their order means nothing.
pub(crate) fn vars_as_text(program: &Program) -> String {
    let mut text = String::new();
    for b in program.blocks() {
        let mut lines: Vec<String> = b.vars.values().map(|v| var_as_text(b.idx, v)).collect();
        lines.sort();
        text += &lines.concat();
    }
    text
}

fn var_as_text(block: usize, var: &Var) -> String {
    let dtype = match var.dtype {
        VarDType::Is(d) => d.to_string(),
        VarDType::Other(n) => n.to_string(),
    };
    format!("{block} {} {:?} {dtype}{}\n", var.name, var.kind, var.shape)
}
