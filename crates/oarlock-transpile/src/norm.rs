//! Global norms: where servers wait for all trainers, a norm is that of the mean of their gradients, as on one machine.
//!
//! Trainers keep the operators that compute it. Before them they exchange their gradients, and each then scales its own by what
//! all agree on: the mean that servers take is the mean, clipped.

use std::collections::BTreeSet;

use oarlock_ir::{Name, Op, Program, Result, Role, Var};

use super::job::Job;
use super::updates::is_clip;
use crate::ops::{NO_VARS, trainer_mean, with_role};

/// The operators that begin to compute a norm: what they read of the network are gradients.
const LOOKS: [&str; 3] = ["square", "squared_l2_norm", "merge_selected_rows"];

/// The operators that read all gradients together, in the program for one machine.
#[derive(Default)]
pub(super) struct Norms {
    /// The gradients.
    gradients: Vec<Name>,
    /// The operators that read them, by index in block 0.
    readers: BTreeSet<usize>,
}

impl Norms {
    /// Those of a job whose trainers have to agree; none of any other.
    pub(super) fn new(job: &Job) -> Norms {
        let mut norms = Norms::default();
        if !job.traffic.merges {
            return norms;
        }
        let ops = &job.main.global().ops;
        let on_trainer = &job.updates.on_trainer;
        let computed: BTreeSet<&Name> = on_trainer.iter().flat_map(|i| ops[*i].outputs.args()).collect();
        let looks = |op: &Op| LOOKS.contains(&op.op_type.as_str()) || limits_table(op);
        for i in on_trainer.iter().filter(|i| looks(&ops[**i])) {
            for gradient in ops[*i].inputs.get("X").iter().filter(|name| !computed.contains(name)) {
                norms.readers.insert(*i);
                if !norms.gradients.contains(gradient) {
                    norms.gradients.push(gradient.clone());
                }
            }
        }
        norms
    }

    /// The exchange, if it belongs before operator `i`.
    pub(super) fn exchange_before(&self, i: usize, job: &Job, program: &mut Program) -> Result<Option<Op>> {
        if self.readers.first() != Some(&i) {
            return Ok(None);
        }
        let means: Vec<Name> = self.gradients.iter().map(mean_of).collect();
        for (gradient, mean) in self.gradients.iter().zip(&means) {
            program.global_mut().set_var(Var::new(mean, job.var(gradient)?.ty()));
        }
        let op = trainer_mean(self.gradients.clone(), means, job.placement.servers(), job.trainer_attr());
        Ok(Some(with_role(op, Role::RPC, NO_VARS)))
    }

    /// Operator `i` of the trainer, looking at means if it looks at gradients.
    pub(super) fn seen_by(&self, i: usize, mut op: Op) -> Op {
        if self.readers.contains(&i) {
            self.gradients.iter().for_each(|gradient| op.inputs.rename(gradient, &mean_of(gradient)));
        }
        op
    }
}

/// Does it limit the gradient of a table that is spread over all servers? Each trainer then sends the limited mean.
fn limits_table(op: &Op) -> bool {
    op.op_type == "clip_by_norm" && !is_clip(op)
}

fn mean_of(gradient: &Name) -> Name {
    format!("{gradient}@MEAN").into()
}
