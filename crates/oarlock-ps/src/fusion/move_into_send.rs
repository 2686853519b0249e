//! A gradient that no operator reads behind its `send` is moved to the communicator, and not copied.

use oarlock_ir::{Attr, FuseBlock, Fusion, Op, OpDef, Result};

use crate::op::{MOVE_INPUT, SPLIT_HERE};

pub(super) const FUSIONS: &[&dyn Fusion] = &[&MoveIntoSend];

struct MoveIntoSend;

impl Fusion for MoveIntoSend {
    fn name(&self) -> &'static str {
        "move_into_send"
    }

    fn ops(&self) -> &'static [&'static dyn OpDef] {
        &[]
    }

    fn apply(&self, g: &mut FuseBlock<'_>) -> Result<()> {
        for i in 0..g.len() {
            let Some(send) = g.op(i).filter(|op| is_for_communicator(op)) else { continue };
            let [x] = send.inputs.get("X") else { continue };
            if g.only_reader(x) == Some(i) {
                let op = send.clone().attr(MOVE_INPUT, true);
                g.replace(&[i], i, op);
            }
        }
        Ok(())
    }
}

/// Is it a `send` of one variable that a communicator snapshots?
fn is_for_communicator(op: &Op) -> bool {
    let filled = |name: &str| matches!(op.attrs.get(name), Some(Attr::Strings(list)) if !list.is_empty());
    let is_split_before = matches!(op.attrs.get(SPLIT_HERE), Some(Attr::Bool(true)));
    op.op_type == "send" && filled("send_varnames") && filled("epmap") && !is_split_before
}

#[cfg(test)]
mod tests {
    use oarlock_ir::Program;

    use super::*;

    fn fused(behind: &str, root: &str) -> String {
        let text = format!(
            "block 0 {{
            var x: f32[5, 2]
            var g: f32[5, 2]
            var y: f32[5, 2]
            g = scale(X: x)
            send(X: g) {{epmap: [\"x:1\"], send_varnames: [\"g\"], sections: longs[]}}
            {behind}
        }}"
        );
        let mut program = Program::from_text(&text).unwrap();
        let is_root = |name: &str| name == root;
        let mut g = FuseBlock::new(program.global_mut(), &is_root);
        MoveIntoSend.apply(&mut g).unwrap();
        g.finish();
        program.to_string()
    }

    #[test]
    fn gradient_that_no_operator_reads_is_moved() {
        assert!(fused("", "").contains(MOVE_INPUT));
        assert!(!fused("", "g").contains(MOVE_INPUT), "it is fetched");
        assert!(!fused("y = scale(X: g)", "").contains(MOVE_INPUT), "it is read again");
    }
}
