//! The order in which passes and fusions run when a program is compiled into a plan: the one list of them.
//!
//! A compilation works on a copy of the program. Passes make it a program that can be planned; fusions then replace operators by
//! fewer ones that compute the same. Where files lie and how they are called does not matter: [`registry`] brings fusions into
//! the order of this list, and tests compare the list with everything that the crates define.
//!
//! `oarlock inspect MODEL --plan` and `oarlock.explain(program, feed, fetch_list)` show what each changes. With
//! `OARLOCK_VERIFY=1`, and always in debug builds, the program is verified after each.

use oarlock_ir::{Fusion, Registry};

/// A pass or a fusion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stage {
    /// Its name, in errors, profiles and options.
    pub name: &'static str,
    /// Its effect, and why it stands where it does.
    pub reason: &'static str,
}

const fn stage(name: &'static str, reason: &'static str) -> Stage {
    Stage { name, reason }
}

/// The passes that rewrite a program for replicas on threads; they do not run otherwise.
pub const REPLICA_PASSES: &[Stage] = &[
    stage("scale_loss", "divides the loss's gradient among replicas; needs the operators as `minimize` marked them"),
    stage("synchronize", "chooses operators that compute over all replicas, before it is settled where each runs"),
    stage("assign_stages", "sorts operators into those of every replica and those that run once; needs all of them"),
];

/// The passes of every compilation. They run first, because a plan cannot be made without them.
pub const PASSES: &[Stage] = &[
    stage("drop_ports", "removes `feed` and `fetch`: the executor does their work; first, so that nothing sees them"),
    stage("drop_fed_reads", "removes operators that read a batch which is fed instead"),
    stage("declare_gradients", "declares gradients that nothing computes; last, since removed operators need none"),
];

/// The fusions. A fusion of gradients comes before the one of the forward operators, whose results the single gradient operators
/// would still read.
pub const FUSIONS: &[Stage] = &[
    stage("fc_grad", "frees the product and the sum of a layer from the readers that `fc` must not have"),
    stage("fc", "product, bias and activation of a layer; after `fc_grad`"),
    stage("lookup_concat_grad", "frees the rows of all slots from the readers that `lookup_concat` must not have"),
    stage("lookup_concat", "embeddings side by side; after `lookup_concat_grad`"),
    stage("lookup_sgd", "takes up the gradient that `lookup_concat_grad` merged"),
    stage(
        "lookup_sum",
        "sums gradients of a table; after `lookup_concat_grad` and `lookup_sgd`, which do more with them",
    ),
    stage("lookup_products", "changes the operators of `lookup_sgd` and `lookup_sum`"),
    stage("lookup_matmul", "does without the rows that nothing but their gradient read before `lookup_products`"),
    stage("optimizer_group", "dense updates together; after `lookup_sgd` has taken those of tables"),
    stage("softmax_cross_entropy_grad", "does without the gradient of the probabilities"),
    stage("softmax_cross_entropy", "beside its gradient; neither needs the other"),
    stage("remote_lookups", "one question to each server; after local lookups are settled, which it does not touch"),
    stage("split_send", "splits a gradient where it is sent; after the gradients have their final writers"),
    stage(
        "move_into_send",
        "moves a gradient that nothing reads afterwards into its `send`; last, when all readers are known",
    ),
];

/// All operators and fusions of Oarlock, those that read and write files and those that communicate included.
pub fn registry() -> Registry {
    let ops = oarlock_ops::ops().chain(oarlock_io::ops()).chain(oarlock_ps::ops()).chain(oarlock_collective::ops());
    let fusions = in_order(oarlock_ops::fusions().chain(oarlock_ps::fusions()));
    let registry = Registry::new(ops, fusions).with_unsupported(oarlock_ops::unsupported());
    if crate::env::verify_from_env() { registry.verifying() } else { registry }
}

/// Brings fusions into the order of [`FUSIONS`].
///
/// # Panics
/// If one of them is not listed: a mistake of its author.
fn in_order(fusions: impl IntoIterator<Item = &'static dyn Fusion>) -> Vec<&'static dyn Fusion> {
    let position = |f: &&dyn Fusion| {
        let at = FUSIONS.iter().position(|stage| stage.name == f.name());
        at.unwrap_or_else(|| panic!("fusion `{}` is not in the list of crates/oarlock/src/pipeline.rs", f.name()))
    };
    let mut fusions: Vec<_> = fusions.into_iter().collect();
    fusions.sort_by_key(position);
    fusions
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::prelude::*;
    use crate::{ExecOptions, Program};

    fn names(stages: &[Stage]) -> Vec<&'static str> {
        stages.iter().map(|s| s.name).collect()
    }

    fn defined() -> Vec<&'static dyn Fusion> {
        oarlock_ops::fusions().chain(oarlock_ps::fusions()).collect()
    }

    #[test]
    fn list_holds_every_pass_and_fusion_in_the_order_in_which_they_run() {
        assert_eq!(names(REPLICA_PASSES), oarlock_exec::replicas::PASSES);
        assert_eq!(names(PASSES), oarlock_exec::plan_passes());
        // The registry moves a fusion behind those it needs, so an order that contradicts them shows here.
        let run: Vec<&str> = registry().fusions().iter().map(|f| f.name()).collect();
        assert_eq!(names(FUSIONS), run);
        assert_eq!(run.len(), defined().len());
    }

    #[test]
    fn fusions_need_only_what_is_listed() {
        for fusion in defined() {
            for name in fusion.after() {
                assert!(
                    names(FUSIONS).contains(name),
                    "`{}` comes after `{name}`, which does not exist",
                    fusion.name()
                );
            }
        }
    }

    /// A click model with a table that several slots share, trained by gradient descent.
    fn click_model() -> Result<Net> {
        let mut net = Net::new();
        let label = net.data("label", Data::shape([1]).dtype(DType::I64))?;
        let mut features = Vec::new();
        for slot in ["a", "b", "c"] {
            let ids = net.data(slot, Data::shape([1]).dtype(DType::I64))?;
            let table = Embedding::size(100, 8).is_sparse(true).param_attr(ParamAttr::name("table"));
            features.push(net.embedding(&ids, table)?);
        }
        let x = net.concat(&features.iter().collect::<Vec<_>>(), 1)?;
        let hidden = net.fc(&x, Fc::size(8).act("relu"))?;
        let predicted = net.fc(&hidden, Fc::size(2).act("softmax"))?;
        let cost = net.cross_entropy(&predicted, &label, CrossEntropy::new())?;
        let loss = net.mean(&cost)?;
        optimizer::sgd(0.1).minimize(&mut net, &loss)?;
        Ok(net)
    }

    fn plan(program: &Program, fusions: Vec<&'static dyn Fusion>) -> Result<String> {
        let ops = oarlock_ops::ops().chain(oarlock_io::ops()).chain(oarlock_ps::ops()).chain(oarlock_collective::ops());
        let options = ExecOptions {
            registry: Arc::new(Registry::new(ops, fusions)),
            threads: 1,
            fuse: true,
            without_fusions: Vec::new(),
            check_nan_inf: false,
        };
        oarlock_exec::Executor::new(options).explain(program, &["label", "a", "b", "c"], &[])
    }

    #[test]
    fn order_in_which_files_list_fusions_does_not_change_a_plan() -> Result<()> {
        let net = click_model()?;
        let expected = plan(&net.main, in_order(defined()))?;
        for fused in ["fused_fc", "fused_fc_grad", "fused_lookup_concat", "fused_lookup_sgd", "fused_sgd"] {
            assert!(expected.contains(fused), "{fused} is not in\n{expected}");
        }
        for turn in 1..defined().len() {
            let mut shuffled = defined();
            shuffled.rotate_left(turn);
            if turn % 2 == 0 {
                shuffled.reverse();
            }
            assert_eq!(plan(&net.main, in_order(shuffled.clone()))?, expected, "rotated by {turn}");
            // Tests of single crates have no list: there each fusion still comes behind those it needs, with the same result.
            let of = |text: &str| text[text.find("plan:").unwrap_or(0)..].to_string();
            assert_eq!(of(&plan(&net.main, shuffled)?), of(&expected), "without the list, rotated by {turn}");
        }
        Ok(())
    }
}
