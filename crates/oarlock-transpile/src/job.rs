//! The job that all passes read: the programs for one machine, sorted and placed.

use std::collections::BTreeSet;

use oarlock_ir::{Attr, Error, Kind, Name, Op, Program, Result, Var, VarKind, VarType};

use super::config::Traffic;
use super::updates::{Update, Updates};
use crate::placement::{Placed, Placement};

/// A job: nothing in it changes once it was made.
#[derive(Debug)]
pub(super) struct Job {
    /// The program for one machine.
    pub(super) main: Program,
    /// Its startup program.
    pub(super) startup: Program,
    /// Its operators, sorted.
    pub(super) updates: Updates,
    /// Where parameters live.
    pub(super) placement: Placement,
    /// The tables that no trainer holds.
    pub(super) remote: BTreeSet<Name>,
    /// Those of them that are hashed over all servers.
    pub(super) tables: BTreeSet<Name>,
    /// Learning rates that the trainers' scripts set between steps; trainers send them.
    pub(super) rates: Vec<Name>,
    /// How trainers and servers work together.
    pub(super) traffic: Traffic,
    /// Which trainer this is.
    pub(super) trainer_id: usize,
    /// How many there are.
    pub(super) trainers: usize,
}

impl Job {
    /// The updates, in order.
    pub(super) fn updates(&self) -> &[Update] {
        &self.updates.updates
    }

    /// The blocks of a parameter.
    pub(super) fn blocks(&self, update: &Update) -> &[Placed] {
        self.placement.blocks(&update.param)
    }

    /// The blocks' names. Every server has a part of a hashed table, all under the table's name.
    pub(super) fn block_names(&self, update: &Update) -> Vec<Name> {
        if self.tables.contains(&update.param) {
            return vec![update.param.clone(); self.placement.servers().len()];
        }
        self.blocks(update).iter().map(|b| b.block.name()).collect()
    }

    /// The endpoint of each block.
    pub(super) fn endpoints(&self, update: &Update) -> Vec<String> {
        if self.tables.contains(&update.param) {
            return self.placement.servers().to_vec();
        }
        self.blocks(update).iter().map(|b| self.placement.endpoint(b).to_string()).collect()
    }

    /// The updates whose parameters trainers hold.
    pub(super) fn local_updates(&self) -> impl Iterator<Item = &Update> {
        self.updates().iter().filter(|u| !self.remote.contains(&u.param))
    }

    /// The fingerprint that trainers and servers of one job must agree on: parameters, their sizes and blocks, how they are
    /// updated, and by how many trainers.
    pub(super) fn fingerprint(&self) -> String {
        let mut text = format!("{} trainers, {:?}", self.trainers, self.traffic);
        for update in self.updates() {
            let sizes = self.main.global().var(&update.param).map(|v| v.shape.to_i64());
            let ops: Vec<&str> = update.ops.iter().map(|i| self.main.global().ops[*i].op_type.as_str()).collect();
            text += &format!("; {} {sizes:?} in {} by {ops:?}", update.param, self.blocks(update).len());
        }
        format!("{:08x}", crc32fast::hash(text.as_bytes()))
    }

    /// The trainer's number as attributes hold it.
    pub(super) fn trainer_attr(&self) -> i32 {
        self.trainer_id as i32
    }

    /// The name under which a trainer's gradient, or a block of it, reaches a server.
    pub(super) fn sent_name(&self, gradient: &Name, trainer: usize) -> Name {
        if self.traffic.merges { format!("{gradient}.trainer_{trainer}").into() } else { gradient.clone() }
    }

    /// The notice of a trainer that it made a step, by which servers go on with the schedule of the learning rate. There is none
    /// without a schedule, nor where servers count the steps themselves because all trainers make them together.
    pub(super) fn step_notice(&self, trainer: usize) -> Option<Name> {
        let needed = !self.updates.lr_ops.is_empty() && !self.traffic.waits();
        needed.then(|| format!("{STEPS}.trainer_{trainer}").into())
    }

    /// A variable of the program for one machine.
    pub(super) fn var(&self, name: &Name) -> Result<&Var> {
        self.main.expect_var(0, name)
    }
}

/// The prefix of the names of step notices, as in Fluid's programs.
const STEPS: &str = "@LR_DECAY_COUNTER@";

/// The sizes of a variable that is to be placed; all must be known.
pub(super) fn known_dims(var: &Var) -> Result<Vec<usize>> {
    let dims: Option<Vec<usize>> = var.shape.iter().map(|d| d.known()).collect();
    dims.ok_or_else(|| {
        Error::new(Kind::Shape, format!("parameter `{}` has unknown sizes: {}", var.name, var.shape))
            .help("create it with known sizes, so that it can be given to servers")
    })
}

/// A variable like another, with another name and other sizes.
pub(super) fn like(var: &Var, name: &Name, dims: &[usize], persistable: bool) -> Var {
    let mut new = Var::new(name, sized(&var.ty(), dims));
    new.persistable = persistable;
    new
}

/// The same type with other sizes.
pub(super) fn sized(ty: &VarType, dims: &[usize]) -> VarType {
    ty.clone().with_shape(dims.iter().map(|d| oarlock_ir::Dim::Is(*d)).collect::<Vec<_>>())
}

/// Makes and declares variables that only order operators.
#[derive(Debug, Default)]
pub(super) struct Dummies(usize);

impl Dummies {
    pub(super) fn make(&mut self, program: &mut Program) -> Name {
        let name: Name = format!("__control_var@{}", self.0).into();
        self.0 += 1;
        program.global_mut().set_var(raw(&name));
        name
    }
}

/// A variable without a type: nothing is ever stored in it.
pub(super) fn raw(name: &Name) -> Var {
    Var::new(name, VarType { kind: VarKind::Raw, ..VarType::tensor(oarlock_tensor::DType::F32, Vec::new()) })
}

/// Every variable that operators of a program name, in whatever block.
pub(super) fn named(program: &Program) -> BTreeSet<Name> {
    let ops = program.blocks().iter().flat_map(|b| &b.ops);
    ops.flat_map(|op| op.inputs.args().chain(op.outputs.args())).cloned().collect()
}

/// Empties the blocks that no operator runs any more. They keep their place, so that no other block is renumbered.
pub fn empty_dead_blocks(program: &mut Program) {
    let mut alive = vec![false; program.blocks().len()];
    let mut todo = vec![0];
    while let Some(idx) = todo.pop() {
        if !std::mem::replace(&mut alive[idx], true) {
            todo.extend(program.block(idx).ops.iter().flat_map(Op::sub_blocks));
        }
    }
    for block in program.blocks_mut().iter_mut().filter(|b| !alive[b.idx]) {
        block.ops.clear();
        block.vars.clear();
    }
}

/// Renames a variable wherever operators name it, as an argument or as what they belong to.
pub(super) fn rename_args(op: &mut Op, from: &Name, to: &Name) {
    op.inputs.rename(from, to);
    op.outputs.rename(from, to);
    if let Some(Attr::Strings(vars)) = op.attrs.get("op_role_var").cloned() {
        let renamed = vars.into_iter().map(|v| if *from == *v { to.to_string() } else { v });
        op.attrs.set("op_role_var", renamed.collect::<Vec<String>>());
    }
}
