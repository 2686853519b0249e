//! Operators of newer releases that mean what a Fluid operator means.

use oarlock_ir::{Attr, Op, Program};

/// Replaces operators of 2.x by Fluid's where both do the same. What has no counterpart stays, and is refused when the
/// program is run.
pub(super) fn use_fluid_ops(program: &mut Program) {
    for op in program.blocks_mut().iter_mut().flat_map(|b| &mut b.ops) {
        if op.op_type == "matmul_v2" {
            use_matmul(op);
        }
    }
}

fn use_matmul(op: &mut Op) {
    op.op_type = "matmul".into();
    for (newer, fluid) in [("trans_x", "transpose_X"), ("trans_y", "transpose_Y")] {
        let value = op.attrs.remove(newer).unwrap_or(Attr::Bool(false));
        op.attrs.set(fluid, value);
    }
    op.attrs.set("alpha", 1.0f32);
}

#[test]
fn matmul_v2_is_matmul() {
    let text = "
        block 0 {
            var x: f32[?, 3]
            var y: f32[?, 4]
            y = matmul_v2(X: x, Y: x) {trans_x: false, trans_y: true}
        }";
    let mut program = Program::from_text(text).unwrap();
    use_fluid_ops(&mut program);
    let expected = text
        .replace("matmul_v2", "matmul")
        .replace("{trans_x: false, trans_y: true}", "{transpose_X: false, transpose_Y: true, alpha: 1.0}");
    assert_eq!(oarlock_ir::diff(&program, &Program::from_text(&expected).unwrap(), &[]), None);
}
