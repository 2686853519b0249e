//! Where two programs differ: for tests and for tools that compare programs.

use std::collections::BTreeSet;

use crate::{Attrs, Block, Name, Op, Program, Slots, Var};

/// The first difference between two programs, in words; `None` if they mean the same.
///
/// The order of variables and of attributes does not count, nor does an empty slot against a missing one; attributes
/// named in `ignore_attrs` are not compared.
pub fn diff(a: &Program, b: &Program, ignore_attrs: &[&str]) -> Option<String> {
    if a.blocks().len() != b.blocks().len() {
        return Some(format!("{} blocks against {}", a.blocks().len(), b.blocks().len()));
    }
    let mut pairs = a.blocks().iter().zip(b.blocks());
    pairs.find_map(|(x, y)| diff_block(x, y, ignore_attrs).map(|d| format!("block {}: {d}", x.idx)))
}

fn diff_block(a: &Block, b: &Block, ignore_attrs: &[&str]) -> Option<String> {
    if (a.parent, a.forward) != (b.parent, b.forward) {
        let text = |b: &Block| format!("parent {:?} and forward {:?}", b.parent, b.forward);
        return Some(format!("{} against {}", text(a), text(b)));
    }
    diff_ops(a, b, ignore_attrs).or_else(|| diff_vars(a, b))
}

fn diff_ops(a: &Block, b: &Block, ignore_attrs: &[&str]) -> Option<String> {
    for (i, (x, y)) in a.ops.iter().zip(&b.ops).enumerate() {
        if let Some(d) = diff_op(x, y, ignore_attrs) {
            return Some(format!("op {i} (`{}`): {d}", x.op_type));
        }
    }
    let (longer, word) = if a.ops.len() > b.ops.len() { (a, "second") } else { (b, "first") };
    let extra = longer.ops.get(a.ops.len().min(b.ops.len()))?;
    Some(format!("{} ops against {}; the {word} has no `{}`", a.ops.len(), b.ops.len(), extra.op_type))
}

fn diff_op(a: &Op, b: &Op, ignore_attrs: &[&str]) -> Option<String> {
    if a.op_type != b.op_type {
        return Some(format!("type `{}` against `{}`", a.op_type, b.op_type));
    }
    diff_slots("input", &a.inputs, &b.inputs)
        .or_else(|| diff_slots("output", &a.outputs, &b.outputs))
        .or_else(|| diff_attrs(&a.attrs, &b.attrs, ignore_attrs))
}

fn diff_slots(kind: &str, a: &Slots, b: &Slots) -> Option<String> {
    let slots: BTreeSet<&Name> = a.iter().chain(b.iter()).map(|(slot, _)| slot).collect();
    let slot = slots.into_iter().find(|slot| a.get(slot) != b.get(slot))?;
    Some(format!("{kind} {slot} {:?} against {:?}", a.get(slot), b.get(slot)))
}

/// Compares attributes by their text, in which a NaN equals itself.
fn diff_attrs(a: &Attrs, b: &Attrs, ignore: &[&str]) -> Option<String> {
    let text = |attrs: &Attrs, name: &Name| attrs.get(name).map_or_else(|| "nothing".into(), |v| v.to_string());
    let names: BTreeSet<&Name> = a.iter().chain(b.iter()).map(|(name, _)| name).collect();
    let mut compared = names.into_iter().filter(|name| !ignore.contains(&name.as_str()));
    let name = compared.find(|name| text(a, name) != text(b, name))?;
    Some(format!("attribute {name} {} against {}", text(a, name), text(b, name)))
}

fn diff_vars(a: &Block, b: &Block) -> Option<String> {
    let names: BTreeSet<&Name> = a.vars.keys().chain(b.vars.keys()).collect();
    let text = |block: &Block, name: &Name| block.var(name).map_or_else(|| "nothing".into(), describe);
    let name = names.into_iter().find(|name| text(a, name) != text(b, name))?;
    Some(format!("variable `{name}`: {} against {}", text(a, name), text(b, name)))
}

fn describe(var: &Var) -> String {
    let persistable = if var.persistable { " persistable" } else { "" };
    format!("{:?} {:?} {} lod {}{persistable}", var.kind, var.dtype, var.shape, var.lod_level)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
        block 0 {
            var x: f32[?, 13]
            var w: f32[13, 1] persistable
            var y: f32[?, 1]
            y = mul(X: x, Y: w) {a: 1, b: 2.0, op_role: 0}
        }";

    fn check(from: &str, to: &str, expected: Option<&str>) {
        let a = Program::from_text(TEXT).unwrap();
        let b = Program::from_text(&TEXT.replace(from, to)).unwrap();
        assert_eq!(diff(&a, &b, &["op_role"]).as_deref(), expected, "{from} -> {to}");
    }

    #[test]
    fn order_and_empty_slots_do_not_count() {
        check("{a: 1, b: 2.0, op_role: 0}", "{b: 2.0, a: 1}", None);
        check("Y: w)", "Y: w, Z: [])", None);
        check("var y: f32[?, 1]\n", "", Some("block 0: variable `y`: Tensor Is(F32) [?, 1] lod 0 against nothing"));
    }

    #[test]
    fn says_what_differs() {
        check("mul", "matmul", Some("block 0: op 0 (`mul`): type `mul` against `matmul`"));
        check("X: x", "X: w", Some(r#"block 0: op 0 (`mul`): input X ["x"] against ["w"]"#));
        check("y = ", "Y: y = ", Some(r#"block 0: op 0 (`mul`): output Out ["y"] against []"#));
        check("a: 1", "a: 1L", Some("block 0: op 0 (`mul`): attribute a 1 against 1L"));
        check("y = mul", "relu()\n y = mul", Some("block 0: op 0 (`mul`): type `mul` against `relu`"));
        check("0}", "0}\nrelu()", Some("block 0: 1 ops against 2; the first has no `relu`"));
        check(
            "[?, 13]",
            "[5, 13]",
            Some("block 0: variable `x`: Tensor Is(F32) [?, 13] lod 0 against Tensor Is(F32) [5, 13] lod 0"),
        );
    }
}
