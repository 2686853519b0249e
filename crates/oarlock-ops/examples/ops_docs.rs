//! Prints docs/ops.md: every operator, from its own file. Run by `cargo xtask codegen`.
#![expect(clippy::print_stdout, reason = "printing is its job")]

use oarlock_ir::{Attr, Entry, Grad, Op, Program, Registry, SlotSig};

fn main() {
    let registry = Registry::new(oarlock_ops::ops(), []);
    let (gradients, ops): (Vec<_>, Vec<_>) = registry.types().into_iter().partition(|op_type| is_gradient(op_type));
    println!("# Operators\n");
    println!(
        "Written by `cargo xtask codegen` from the operators' own files (`crates/oarlock-ops-*/src/*/`); do not edit."
    );
    println!("{} operators, {} of them gradients.\n", ops.len() + gradients.len(), gradients.len());
    println!("Slots in *italics* may be left out; `[]` marks slots that take several variables.\n");
    for entry in ops.iter().filter_map(|op_type| registry.get(op_type)) {
        print_op(entry);
    }
    println!("# Gradient operators\n");
    println!("Put into programs by `append_backward`. Their attributes are those of the operator they belong to.\n");
    for sig in gradients.iter().filter_map(|op_type| registry.get(op_type)).map(|entry| &entry.sig) {
        println!(
            "- **`{}`**: {}. Reads {}; writes {}.",
            sig.op_type,
            plain(sig.doc),
            list(&sig.inputs),
            list(&sig.outputs)
        );
    }
    println!("\n# Unsupported operators\n");
    println!("Known from Fluid 1.8 and not defined here; a program that has one gets an error with the reason.\n");
    for group in oarlock_ops::UNSUPPORTED {
        let ops: Vec<String> = group.ops.iter().map(|op| format!("`{op}`")).collect();
        println!("- {}: {}.", group.reason, ops.join(", "));
    }
}

fn is_gradient(op_type: &str) -> bool {
    op_type.contains("_grad")
}

fn print_op(entry: &Entry) {
    let (sig, traits) = (&entry.sig, entry.traits);
    println!("## `{}`\n\n{}\n", sig.op_type, sig.doc);
    println!("| | | |\n|---|---|---|");
    for s in &sig.inputs {
        println!("| in | {} | {} |", slot(s), cell(s.doc));
    }
    for s in &sig.outputs {
        println!("| out | {} | {} |", slot(s), cell(s.doc));
    }
    for a in &sig.attrs {
        let default = a.default.as_ref().map_or_else(|| "must be set".to_string(), |d| format!("default {}", value(d)));
        println!("| attr | `{}` | {} ({}) |", a.name, cell(a.doc), cell(&default));
    }
    println!();
    match gradient(entry) {
        Some(grads) => println!("Gradient: {grads}."),
        None if traits.gradient_free => println!("No gradient flows through it."),
        None => println!("It has no gradient."),
    }
    for (input, output) in traits.in_place {
        println!("`{output}` may overwrite `{input}`.");
    }
    println!();
}

/// The gradient operators it emits, asked with one variable in every slot.
fn gradient(entry: &Entry) -> Option<String> {
    let sig = &entry.sig;
    let mut op = Op::new(sig.op_type);
    for s in &sig.inputs {
        op.inputs.set(s.name, vec![s.name.into()]);
    }
    for s in &sig.outputs {
        op.outputs.set(s.name, vec![s.name.into()]);
    }
    let mut program = Program::new();
    let (forward, gradients) = (program.add_block(0), program.add_block(0));
    program.block_mut(gradients).forward = Some(forward);
    let mut g = Grad::new(&program, &op, &|_| false, Some(gradients));
    entry.grad(&mut g).ok()?;
    let types: Vec<String> = g.into_ops().iter().map(|o| format!("`{}`", o.op_type)).collect();
    (!types.is_empty()).then(|| types.join(", "))
}

fn slot(s: &SlotSig) -> String {
    let name = format!("`{}`{}", s.name, if s.many { "[]" } else { "" });
    if s.optional { format!("*{name}*") } else { name }
}

fn list(slots: &[SlotSig]) -> String {
    if slots.is_empty() { "nothing".to_string() } else { slots.iter().map(slot).collect::<Vec<_>>().join(", ") }
}

fn plain(doc: &str) -> &str {
    doc.trim_end_matches('.')
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn value(a: &Attr) -> String {
    format!("`{a}`")
}
