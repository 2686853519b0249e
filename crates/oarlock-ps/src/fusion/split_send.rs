//! A gradient that is split and then sent is split where it is queued for sending: `split_byref` or `split_selected_rows` and the `send` of
//! all parts become one `send`, which saves a copy of every gradient.

use oarlock_ir::{Attr, FuseBlock, Fusion, Name, Op, Pattern};

use oarlock_transpile::ops::strings;

use crate::op::SPLIT_HERE;

pub(super) const FUSIONS: &[&dyn Fusion] = &[&SPLIT_SEND];

const SPLIT_SEND: Pattern = Pattern { name: "split_send", after: &[], ops: &[], find: send_of };

/// The operator at `i`, if it snapshots a gradient for one `send`: where that is, and what does both.
fn send_of(g: &FuseBlock<'_>, i: usize) -> Option<(Vec<usize>, usize, Op)> {
    let split = g.op(i)?;
    let sections: Vec<i64> = match (&*split.op_type, split.attrs.get("sections"), split.attrs.get("height_sections")) {
        ("split_byref", Some(Attr::Ints(rows)), _) => rows.iter().map(|r| i64::from(*r)).collect(),
        ("split_selected_rows", _, Some(Attr::Longs(rows))) => rows.clone(),
        _ => return None,
    };
    let (whole, parts) = (split.inputs.get("X").first()?, split.outputs.get("Out"));
    let at = g.only_reader(parts.first()?).filter(|at| *at > i)?;
    let send = g.typed(at, "send")?;
    let private = |part: &Name| g.is_private(part, &[i, at]);
    let is_unnamed = matches!(send.attrs.get("send_varnames"), Some(Attr::Strings(names)) if names.is_empty());
    let fits =
        send.inputs.get("X") == parts && parts.len() == sections.len() && parts.iter().all(private) && is_unnamed;
    if !fits || g.written_between(whole, i, at) {
        return None;
    }
    let mut op = send.clone();
    op.inputs.set("X", vec![whole.clone()]);
    op.attrs.set("send_varnames", strings(parts));
    op.attrs.set("sections", sections);
    op.attrs.set(SPLIT_HERE, true);
    Some((vec![i, at], at, op))
}

#[cfg(test)]
mod tests {
    use oarlock_ir::Program;

    use super::*;

    fn fused(text: &str, root: &str) -> String {
        let mut program = Program::from_text(text).unwrap();
        let is_root = |name: &str| name == root;
        let mut g = FuseBlock::new(program.global_mut(), &is_root);
        SPLIT_SEND.apply(&mut g).unwrap();
        g.finish();
        program.to_string()
    }

    const DENSE: &str = "block 0 {
        var g: f32[5, 2]
        var a: f32[3, 2]
        var b: f32[2, 2]
        Out: [a, b] = split_byref(X: g) {sections: [3, 2]}
        send(X: [a, b]) {epmap: [\"x:1\", \"y:1\"], send_varnames: strings[], sections: longs[]}
    }";

    #[test]
    fn split_and_send_become_one_operator() {
        let text = fused(DENSE, "");
        assert!(!text.contains("split_byref"), "{text}");
        assert!(text.contains("send(X: g)") && text.contains("send_varnames: [\"a\", \"b\"]"), "{text}");
    }

    #[test]
    fn part_that_is_read_later_stays() {
        let text = fused(DENSE, "b");
        assert!(text.contains("split_byref"), "{text}");
    }
}
