//! A server's program: `listen_and_serv`, and a block for every update that belongs here.
//!
//! Block 1 computes the learning rate, if it changes; then follows a block per parameter, or block of one:
//! merge the trainers' gradients, decay, update.

use std::collections::{BTreeMap, BTreeSet};

use oarlock_ir::{Attr, Error, Kind, Name, Op, Program, Result, Role, Shape, VarKind};

use super::dc_asgd::compensate;
use super::job::{Job, counter_of, counts, known_dims, like, rename_args};
use super::updates::Update;
use crate::op::{NO_VARS, Serve, listen_and_serv, with_role};
use crate::placement::VarBlock;

/// The program of server number `server`.
pub(super) fn server_program(job: &Job, server: usize) -> Result<Program> {
    let mut build = Server::new(job, server);
    let lr_block = build.learning_rate()?;
    for (update, block) in owned(job, server) {
        build.update(update, block, lr_block.unwrap_or(0))?;
    }
    build.finish(lr_block)
}

/// The updates, and blocks of their parameters, that belong to a server.
pub(super) fn owned(job: &Job, server: usize) -> impl Iterator<Item = (&Update, &VarBlock)> {
    let blocks = move |u| job.blocks(u).iter().filter(move |p| p.server == server).map(move |p| (u, &p.block));
    job.updates().iter().flat_map(blocks)
}

/// The names that the variables of an update have on a server.
///
/// Parameter and gradient are named after their block. State (moments, averages) keeps its name, as files expect,
/// unless two blocks of one parameter meet on one server.
pub(super) fn names(job: &Job, server: usize, update: &Update, block: &VarBlock) -> BTreeMap<Name, Name> {
    let meets = owned(job, server).filter(|(u, _)| u.param == update.param).count() > 1;
    let ops = update.ops.iter().map(|i| &job.main.global().ops[*i]);
    let mut names = BTreeMap::new();
    for state in ops.flat_map(|op| op.outputs.args()) {
        names.insert(state.clone(), if meets { block.name_of(state) } else { state.clone() });
    }
    names.insert(update.param.clone(), block.name());
    names.insert(update.grad.clone(), block.name_of(&update.grad));
    names
}

struct Server<'a> {
    job: &'a Job,
    server: usize,
    program: Program,
    received: Vec<Name>,
    optimize_blocks: Vec<usize>,
    grad_to_block: Vec<String>,
    sparse_grad_to_param: Vec<String>,
}

impl<'a> Server<'a> {
    fn new(job: &'a Job, server: usize) -> Server<'a> {
        let mut program = Program::new();
        program.random_seed = job.main.random_seed;
        Server {
            job,
            server,
            program,
            received: Vec::new(),
            optimize_blocks: Vec::new(),
            grad_to_block: Vec::new(),
            sparse_grad_to_param: Vec::new(),
        }
    }

    /// The block that computes the learning rate; none if it is constant.
    fn learning_rate(&mut self) -> Result<Option<usize>> {
        if self.job.updates.lr_ops.is_empty() {
            return Ok(None);
        }
        let block = self.program.add_block(0);
        self.optimize_blocks.push(block);
        for i in &self.job.updates.lr_ops {
            let op = &self.job.main.global().ops[*i];
            let op = if counts(op) && !self.job.traffic.sync { self.sum_counters(op) } else { op.clone() };
            self.push(block, op, &BTreeMap::new(), None)?;
        }
        Ok(Some(block))
    }

    /// Without sync trainers are at different steps; the count of all is the sum of theirs.
    fn sum_counters(&mut self, op: &Op) -> Op {
        let counter = &op.outputs.get("Out")[0];
        let own: Vec<Name> = (0..self.job.trainers).map(|t| counter_of(counter, t)).collect();
        for name in &own {
            if let Some(var) = self.job.main.global().var(counter) {
                self.program.global_mut().set_var(like(var, name, &[1], true));
            }
        }
        with_role(Op::new("sum").input("X", own).output("Out", [counter]), Role::LR_SCHED, NO_VARS)
    }

    fn update(&mut self, update: &Update, block: &VarBlock, parent: usize) -> Result<()> {
        let idx = self.program.add_block(parent);
        self.optimize_blocks.push(idx);
        let mut names = names(self.job, self.server, update, block);
        let grad = names[&update.grad].clone();
        self.merge(update, block, &grad, idx)?;
        self.grad_to_block.push(format!("{grad}:{idx}"));
        let update_op = &self.job.main.global().ops[update.update_op];
        let applied = &update_op.inputs.get("Grad")[0];
        if self.job.var(applied)?.kind == VarKind::SelectedRows {
            self.sparse_grad_to_param.push(format!("{grad}:{}", block.name()));
        }
        if self.job.traffic.dc_asgd {
            let better = compensate(self.job, &mut self.program, idx, update, block)?;
            names.insert(update.grad.clone(), better);
        }
        for i in &update.ops {
            let op = self.job.main.global().ops[*i].clone();
            self.push(idx, op, &names, Some((update, block)))?;
        }
        Ok(())
    }

    /// Declares the gradient and, where all trainers are waited for, computes their mean.
    fn merge(&mut self, update: &Update, block: &VarBlock, grad: &Name, idx: usize) -> Result<()> {
        let job = self.job;
        let var = job.var(&update.grad)?;
        self.program.global_mut().set_var(like(var, grad, &block.dims, true));
        if !job.traffic.merges {
            self.received.push(grad.clone());
            return Ok(());
        }
        let from: Vec<Name> = (0..job.trainers).map(|t| job.sent_name(grad, t)).collect();
        for name in &from {
            self.program.global_mut().set_var(like(var, name, &block.dims, false));
        }
        self.received.extend(from.iter().cloned());
        let sum = Op::new("sum").input("X", from).output("Out", [grad]);
        let mean = Op::new("scale")
            .input("X", [grad])
            .output("Out", [grad])
            .attr("scale", 1.0 / job.trainers as f32)
            .attr("bias", 0.0f32)
            .attr("bias_after_scale", true);
        let ops = [sum, mean].map(|op| with_role(op, Role::FORWARD, NO_VARS));
        self.program.block_mut(idx).ops.extend(ops);
        Ok(())
    }

    /// Adds an operator of the program for one machine, with its variables and blocks.
    fn push(
        &mut self,
        block: usize,
        mut op: Op,
        names: &BTreeMap<Name, Name>,
        owner: Option<(&Update, &VarBlock)>,
    ) -> Result<()> {
        if let Some((_, cut)) = owner.filter(|(_, cut)| !cut.is_whole() && !op.sub_blocks().is_empty()) {
            let what = format!("`{}` has a block of its own, and `{}` is cut", op.op_type, cut.var);
            return Err(Error::new(Kind::Unsupported, what).help("set `slice_var_up` to false"));
        }
        let args: BTreeSet<Name> = op.inputs.args().chain(op.outputs.args()).cloned().collect();
        for arg in &args {
            let name = names.get(arg).unwrap_or(arg);
            if self.program.resolve(block, name).is_none() {
                self.declare(arg, name, owner)?;
            }
        }
        let belongs = op.attrs.get("op_role_var").cloned();
        // All at once: a new name may be another variable's old one.
        for slots in [&mut op.inputs, &mut op.outputs] {
            for arg in slots.iter_mut().flat_map(|(_, args)| args) {
                if let Some(name) = names.get(&*arg) {
                    *arg = name.clone();
                }
            }
        }
        if let Some(belongs) = belongs {
            op.attrs.set("op_role_var", belongs);
        }
        op.attrs.set("op_namescope", "/");
        self.copy_blocks(block, &mut op)?;
        self.program.block_mut(block).ops.push(op);
        Ok(())
    }

    /// Declares a variable of the program for one machine. What has the sizes of a parameter that is cut gets those of
    /// its block.
    fn declare(&mut self, original: &Name, name: &Name, owner: Option<(&Update, &VarBlock)>) -> Result<()> {
        let mut var = self.job.var(original)?.clone();
        if let Some((update, block)) = owner {
            let whole: &Shape = &self.job.var(&update.param)?.shape;
            if var.shape == *whole && !block.is_whole() {
                var = like(&var, name, &block.dims, true);
            }
        }
        var.name = name.clone();
        var.persistable = true;
        self.program.global_mut().set_var(var);
        Ok(())
    }

    /// Copies the blocks of an operator (a schedule may branch) and everything they use.
    fn copy_blocks(&mut self, parent: usize, op: &mut Op) -> Result<()> {
        let mut copied = BTreeMap::new();
        for from in op.sub_blocks() {
            let to = self.program.add_block(parent);
            copied.insert(from, to);
            let source = self.job.main.block(from).clone();
            self.program.block_mut(to).vars = source.vars;
            for mut inner in source.ops {
                for arg in inner.inputs.args().chain(inner.outputs.args()).cloned().collect::<BTreeSet<Name>>() {
                    if self.program.resolve(to, &arg).is_none() {
                        self.declare(&arg, &arg, None)?;
                    }
                }
                self.copy_blocks(to, &mut inner)?;
                self.program.block_mut(to).ops.push(inner);
            }
        }
        let new = |idx: usize| copied.get(&idx).copied().unwrap_or(idx);
        for (_, attr) in op.attrs.iter_mut() {
            match attr {
                Attr::Block(idx) => *idx = new(*idx),
                Attr::Blocks(list) => list.iter_mut().for_each(|idx| *idx = new(*idx)),
                _ => {}
            }
        }
        Ok(())
    }

    fn finish(mut self, lr_block: Option<usize>) -> Result<Program> {
        if self.optimize_blocks.is_empty() {
            // A server that owns nothing still takes part in every barrier.
            self.optimize_blocks.push(self.program.add_block(0));
        }
        let job = self.job;
        let serve = Serve {
            received: self.received,
            endpoint: job.placement.servers()[self.server].clone(),
            server: self.server as i32,
            trainers: job.trainers as i32,
            mode: job.traffic.server_mode,
            optimize_blocks: self.optimize_blocks,
            grad_to_block: self.grad_to_block,
            sparse_grad_to_param: self.sparse_grad_to_param,
            prefetch_to_block: Vec::new(),
            lr_block,
            checkpoint_block: None,
            dc_asgd: job.traffic.dc_asgd,
        };
        let op = with_role(listen_and_serv(serve), Role::FORWARD, NO_VARS);
        self.program.global_mut().ops.push(op);
        Ok(self.program)
    }
}

/// The sizes that a variable has on a server.
pub(super) fn dims_on_server(program: &Program, name: &Name) -> Result<Vec<usize>> {
    known_dims(program.expect_var(0, name)?)
}

/// Renames a variable in an operator that stays otherwise as it is.
pub(super) fn renamed(op: &Op, from: &Name, to: &Name) -> Op {
    let mut op = op.clone();
    rename_args(&mut op, from, to);
    op
}
