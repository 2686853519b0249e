//! The part of a network that leads from what is fed to what is wanted, as `save_inference_model` writes it.

use std::collections::BTreeSet;

use super::blocks::{drop_unused_vars, inside_op, reachable, reads, retain_blocks};
use crate::{Error, Kind, Name, Op, Program, Result, Role, verify};

/// The operators of block 0 that are needed to compute `targets` from `feeds`, with their variables and sub-blocks.
///
/// Optimizer operators write parameters, but a target is never a parameter to be updated: they are kept only in the
/// blocks of operators that are needed. Sub-blocks stay whole.
pub fn prune(program: &Program, feeds: &[&str], targets: &[&str]) -> Result<Program> {
    verify(program, None)?;
    let mut needed = Needed { names: BTreeSet::new(), feeds };
    let mut keep = vec![false; program.global().ops.len()];
    for target in targets.iter().filter(|t| !feeds.contains(t)) {
        keep[producer(program, target)?] = true;
    }
    for (i, op) in program.global().ops.iter().enumerate().rev() {
        keep[i] |= !op.role().has(Role::OPTIMIZE) && op.outputs.args().any(|out| needed.names.contains(out));
        if keep[i] {
            needed.add_op(program, op);
        }
    }
    let mut pruned = program.clone();
    let mut kept = keep.iter();
    pruned.global_mut().ops.retain(|_| kept.next().is_some_and(|k| *k));
    let reached = reachable(&pruned);
    retain_blocks(&mut pruned, &reached);
    drop_unused_vars(&mut pruned);
    Ok(pruned)
}

/// The operator that computes a target: the first that writes it. Others, which may write it again in place, are
/// kept only if something needs them.
fn producer(program: &Program, target: &str) -> Result<usize> {
    let writes = |op: &Op| !op.role().has(Role::OPTIMIZE) && op.outputs.args().any(|out| out == target);
    program.global().ops.iter().position(writes).ok_or_else(|| {
        Error::new(Kind::Argument, format!("no operator computes the target `{target}`"))
            .help("name a variable that the network computes, or one that is fed")
    })
}

/// The variables that must be computed.
struct Needed<'a> {
    names: BTreeSet<Name>,
    feeds: &'a [&'a str],
}

impl Needed<'_> {
    /// Everything that an operator and its sub-blocks read.
    fn add_op(&mut self, program: &Program, op: &Op) {
        let inside = inside_op(program, op);
        let inner = program.blocks().iter().filter(|b| inside[b.idx]).flat_map(|b| &b.ops);
        for op in inner.chain([op]) {
            self.names.extend(reads(op).filter(|name| !self.feeds.contains(&name.as_str())));
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    const TEXT: &str = "
        block 0 {
            var a: f32[?]
            var b: f32[?]
            var c: bool[1]
            var d: f32[?]
            var e: f32[?]
            var w: f32[1] persistable
            a = fill_constant()
            b = relu(X: a)
            e = relu(X: a)
            while(Condition: c) {sub_block: block 1}
            Out: d = while(Condition: c) {sub_block: block 2}
            d = scale(X: d)
            w = sgd(Param: w) {op_role: 2}
            fetch(X: d)
        }
        block 1 in 0 {
            relu(X: e)
        }
        block 2 in 0 {
            var inner: f32[?]
            inner = mul(X: b, Y: w)
            d = assign(X: inner)
        }";

    fn pruned(feeds: &[&str], targets: &[&str]) -> String {
        let program = Program::from_text(TEXT).unwrap();
        let pruned = prune(&program, feeds, targets).unwrap();
        crate::verify(&pruned, None).unwrap();
        pruned.summary()
    }

    #[test]
    fn keeps_what_sub_blocks_read() {
        expect![[r#"
            program 1008005
            block 0 {
              var a: f32[?]
              var b: f32[?]
              var c: bool[1]
              var d: f32[?]
              var w: f32[1] persistable
              a = fill_constant()
              b = relu(X: a)
              d = while(Condition: c) {sub_block: block 1}
            }
            block 1 in 0 {
              var inner: f32[?]
              inner = mul(X: b, Y: w)
              d = assign(X: inner)
            }
        "#]]
        .assert_eq(&pruned(&["c"], &["d"]));
    }

    #[test]
    fn stops_at_what_is_fed() {
        expect![[r#"
            program 1008005
            block 0 {
              var a: f32[?]
              var e: f32[?]
              e = relu(X: a)
            }
        "#]]
        .assert_eq(&pruned(&["a", "d"], &["e", "d"]));
    }

    #[test]
    fn a_target_must_be_computed() {
        let program = Program::from_text(TEXT).unwrap();
        for target in ["w", "nothing"] {
            let e = prune(&program, &[], &[target]).unwrap_err();
            assert_eq!(
                e.to_string(),
                format!(
                    "error[argument]: no operator computes the target `{target}`\n  \
                     help: name a variable that the network computes, or one that is fed"
                )
            );
        }
    }
}
