//! A server's program: `listen_and_serv`, and a block for every update that belongs here.
//!
//! Block 1 computes the learning rate, if it changes; then follows a block per parameter, or block of one:
//! merge the trainers' gradients, decay, update.

use std::collections::{BTreeMap, BTreeSet};

use oarlock_ir::{Attr, Error, Kind, Name, Op, Program, Result, Role, Shape, Var, VarKind, VarType};

use super::dc_asgd::compensate;
use super::job::{Job, like, sized};
use super::table::serve_table;
use super::updates::Update;
use crate::ops::{NO_VARS, Serve, listen_and_serv, with_role};
use crate::placement::VarBlock;

/// The program of server number `server`.
pub(super) fn server_program(job: &Job, server: usize) -> Result<Program> {
    let mut build = Server::new(job, server);
    let lr_block = build.learning_rate()?;
    for (update, block) in owned(job, server) {
        build.update(update, block, lr_block.unwrap_or(0))?;
    }
    for table in job.updates().iter().filter(|u| job.tables.contains(&u.param)) {
        serve_table(&mut build, table, lr_block.unwrap_or(0))?;
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
/// unless two blocks of one parameter are on one server.
pub(super) fn names(job: &Job, server: usize, update: &Update, block: &VarBlock) -> BTreeMap<Name, Name> {
    let several = owned(job, server).filter(|(u, _)| u.param == update.param).count() > 1;
    let ops = update.ops.iter().map(|i| &job.main.global().ops[*i]);
    let mut names = BTreeMap::new();
    for state in ops.flat_map(|op| op.outputs.args()) {
        names.insert(state.clone(), if several { block.name_of(state) } else { state.clone() });
    }
    names.insert(update.param.clone(), block.name());
    names.insert(update.grad.clone(), block.name_of(&update.grad));
    names
}

/// A program being built.
pub(super) struct Server<'a> {
    pub(super) job: &'a Job,
    pub(super) index: usize,
    pub(super) program: Program,
    received: Vec<Name>,
    optimize_blocks: Vec<usize>,
    grad_to_block: Vec<String>,
    pub(super) sparse_grad_to_param: Vec<String>,
    pub(super) prefetch_to_block: Vec<String>,
}

impl<'a> Server<'a> {
    fn new(job: &'a Job, index: usize) -> Server<'a> {
        let mut program = Program::new();
        program.random_seed = job.main.random_seed;
        Server {
            job,
            index,
            program,
            received: Vec::new(),
            optimize_blocks: Vec::new(),
            grad_to_block: Vec::new(),
            sparse_grad_to_param: Vec::new(),
            prefetch_to_block: Vec::new(),
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
            self.push(block, self.job.main.global().ops[*i].clone(), &BTreeMap::new(), None)?;
        }
        Ok(Some(block))
    }

    fn update(&mut self, update: &Update, block: &VarBlock, parent: usize) -> Result<()> {
        let job = self.job;
        let mut names = names(job, self.index, update, block);
        let grad = names[&update.grad].clone();
        let idx = self.begin_update(parent, &grad);
        let from: Vec<Name> = (0..job.trainers).map(|t| job.sent_name(&grad, t)).collect();
        self.merge(&sized(&job.var(&update.grad)?.ty(), &block.dims), &from, &grad, idx);
        let applied = &job.main.global().ops[update.update_op].inputs.get("Grad")[0];
        if job.var(applied)?.kind == VarKind::SelectedRows {
            self.sparse_grad_to_param.push(format!("{grad}:{}", block.name()));
        }
        if job.traffic.dc_asgd {
            let better = compensate(job, &mut self.program, idx, update, block)?;
            names.insert(update.grad.clone(), better);
        }
        for i in &update.ops {
            self.push(idx, job.main.global().ops[*i].clone(), &names, Some((update, block)))?;
        }
        Ok(())
    }

    /// A new block that a gradient feeds.
    pub(super) fn begin_update(&mut self, parent: usize, grad: &Name) -> usize {
        let idx = self.program.add_block(parent);
        self.optimize_blocks.push(idx);
        self.grad_to_block.push(format!("{grad}:{idx}"));
        idx
    }

    /// Declares the gradient and, where all trainers are waited for, computes their mean.
    pub(super) fn merge(&mut self, ty: &VarType, from: &[Name], grad: &Name, idx: usize) {
        let mut merged = Var::new(grad, ty.clone());
        merged.persistable = true;
        self.program.global_mut().set_var(merged);
        if !self.job.traffic.merges {
            self.received.push(grad.clone());
            return;
        }
        for name in from {
            self.program.global_mut().set_var(Var::new(name, ty.clone()));
        }
        self.received.extend_from_slice(from);
        let sum = Op::new("sum").input("X", from).output("Out", [grad]);
        let mean = Op::new("scale")
            .input("X", [grad])
            .output("Out", [grad])
            .attr("scale", 1.0 / self.job.trainers as f32)
            .attr("bias", 0.0f32)
            .attr("bias_after_scale", true);
        let ops = [sum, mean].map(|op| with_role(op, Role::FORWARD, NO_VARS));
        self.program.block_mut(idx).ops.extend(ops);
    }

    /// Adds an operator of the program for one machine, with its variables and blocks.
    pub(super) fn push(
        &mut self,
        block: usize,
        mut op: Op,
        names: &BTreeMap<Name, Name>,
        owner: Option<(&Update, &VarBlock)>,
    ) -> Result<()> {
        if let Some((_, block)) = owner.filter(|(_, block)| !block.is_whole() && !op.sub_blocks().is_empty()) {
            let what = format!("`{}` has a block of its own, and `{}` is partitioned", op.op_type, block.var);
            return Err(Error::new(Kind::Unsupported, what).help("set `slice_var_up` to false"));
        }
        let args: BTreeSet<Name> = op.inputs.args().chain(op.outputs.args()).cloned().collect();
        for arg in &args {
            let name = names.get(arg).unwrap_or(arg);
            if self.program.resolve(block, name).is_none() {
                self.declare(arg, name, owner)?;
            }
        }
        // All at once: a new name may be another variable's old one.
        for slots in [&mut op.inputs, &mut op.outputs] {
            for arg in slots.iter_mut().flat_map(|(_, args)| args) {
                if let Some(name) = names.get(&*arg) {
                    *arg = name.clone();
                }
            }
        }
        op.attrs.set("op_namescope", "/");
        self.copy_blocks(block, &mut op)?;
        self.program.block_mut(block).ops.push(op);
        Ok(())
    }

    /// Declares a variable of the program for one machine. A variable with the sizes of a partitioned parameter gets those of
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
        // Blocks run one by one, and what one computes the next reads; only what a branch leaves behind is its own.
        var.persistable = matches!(var.kind, VarKind::Tensor | VarKind::SelectedRows);
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
        // Trainers send rates to every server, also to one that updates nothing with them.
        for rate in job.rates.iter().filter(|rate| self.program.global().var(rate).is_none()).collect::<Vec<_>>() {
            self.declare(rate, rate, None)?;
        }
        let serve = Serve {
            received: self.received,
            endpoint: job.placement.servers()[self.index].clone(),
            server: self.index as i32,
            servers: job.placement.servers().len(),
            trainers: job.trainers as i32,
            mode: job.traffic.server_mode,
            optimize_blocks: self.optimize_blocks,
            grad_to_block: self.grad_to_block,
            sparse_grad_to_param: self.sparse_grad_to_param,
            prefetch_to_block: self.prefetch_to_block,
            lr_block,
            step_notices: (0..job.trainers).filter_map(|t| job.step_notice(t)).collect(),
            rates: job.rates.clone(),
            dc_asgd: job.traffic.dc_asgd,
            max_staleness: job.traffic.max_staleness,
            fingerprint: self.job.fingerprint(),
        };
        let op = with_role(listen_and_serv(serve), Role::FORWARD, NO_VARS);
        self.program.global_mut().ops.push(op);
        Ok(self.program)
    }
}
