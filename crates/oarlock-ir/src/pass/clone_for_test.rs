//! The network without training: `Program.clone(for_test=True)`.

use super::blocks::{drop_unused_vars, reachable, retain_blocks};
use crate::{Op, Program, Result, Role, verify};

/// A copy of the program to test with: without gradients, optimizer and learning-rate schedule, and with operators that
/// behave differently in training marked as not training (`is_test`).
///
/// As in Fluid, a program that was never differentiated is copied whole: what has a training role then, such as a
/// learning-rate schedule made before `minimize`, stays.
pub fn clone_for_test(program: &Program) -> Result<Program> {
    verify(program, None)?;
    let mut copy = program.clone();
    if is_differentiated(program) {
        drop_training(&mut copy);
    }
    for op in copy.blocks_mut().iter_mut().flat_map(|b| &mut b.ops) {
        if op.attrs.get("is_test").is_some() {
            op.attrs.set("is_test", true);
        }
    }
    Ok(copy)
}

/// Does an operator start the gradient of a loss?
fn is_differentiated(program: &Program) -> bool {
    let mut ops = program.blocks().iter().flat_map(|b| &b.ops);
    ops.any(|op| op.role() == Role::BACKWARD.and(Role::LOSS))
}

fn drop_training(program: &mut Program) {
    for block in program.blocks_mut() {
        block.ops.retain(|op| !is_training(op));
    }
    let keep = reachable(program);
    retain_blocks(program, &keep);
    drop_unused_vars(program);
}

fn is_training(op: &Op) -> bool {
    // A test neither sends gradients to servers nor fetches what became of them.
    const TRAINING: [Role; 5] = [Role::BACKWARD, Role::OPTIMIZE, Role::LR_SCHED, Role::RPC, Role::DIST];
    TRAINING.into_iter().any(|role| op.role().has(role))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    const TEXT: &str = "
        block 0 {
            var unused: f32[1]
            var c: bool[1]
            var x: f32[?]
            var loss: f32[1]
            var loss@GRAD: f32[1]
            var x@GRAD: f32[?]
            while(Condition: c, X: x) {sub_block: block 1, op_role: 0}
            loss = dropout(X: x) {is_test: false, op_role: 256}
            loss@GRAD = fill_constant() {op_role: 257}
            x@GRAD = dropout_grad(Out@GRAD: loss@GRAD) {is_test: false, op_role: 1}
            while_grad(Condition: c) {sub_block: block 2, op_role: 1}
            while(Condition: c, X: x) {sub_block: block 3, op_role: 0}
            sgd(Grad: x@GRAD, Param: x) {op_role: 2}
        }
        block 1 in 0 {
            var inner: f32[?]
            inner = scale(X: x) {op_role: 0}
        }
        block 2 in 0 forward 1 {
            inner = scale(X: x) {op_role: 1}
        }
        block 3 in 0 {
            x = dropout(X: x) {is_test: false, op_role: 0}
        }";

    #[test]
    fn training_goes() {
        let program = Program::from_text(TEXT).unwrap();
        let test = clone_for_test(&program).unwrap();
        crate::verify(&test, None).unwrap();
        expect![[r#"
            program 1008005
            block 0 {
              var c: bool[1]
              var x: f32[?]
              var loss: f32[1]
              while(Condition: c, X: x) {sub_block: block 1}
              loss = dropout(X: x) {is_test: true}
              while(Condition: c, X: x) {sub_block: block 2}
            }
            block 1 in 0 {
              var inner: f32[?]
              inner = scale(X: x)
            }
            block 2 in 0 {
              x = dropout(X: x) {is_test: true}
            }
        "#]]
        .assert_eq(&test.summary());
    }

    #[test]
    fn without_gradients_everything_stays() {
        let text = TEXT.replace("257", "0");
        let program = Program::from_text(&text).unwrap();
        let test = clone_for_test(&program).unwrap();
        assert_eq!(crate::diff(&program, &test, &["is_test"]), None);
        assert!(program.to_text().contains("is_test: false"));
        assert!(!test.to_text().contains("is_test: false"));
    }
}
