//! The trainer's program: the network and its gradients, then sends and receives in place of the updates.

use std::collections::BTreeSet;

use oarlock_ir::{Name, Op, Program, Result, Role};

use super::job::{Dummies, Job, empty_dead_blocks, like, named, rename_args};
use super::lookup::look_up_remotely;
use super::norm::Norms;
use super::table::send_table;
use super::trainer_startup::step_notice_var;
use super::updates::{Update, is_lr};
use crate::ops::{FINGERPRINT, LATEST, NO_VARS, fetch_barrier, recv, send, send_barrier, strings, with_role};

/// Makes the program of trainer `job.trainer_id`.
pub(super) fn trainer_program(job: &Job) -> Result<Program> {
    let mut trainer = Trainer { job, program: job.main.clone(), dummies: Dummies::default(), sent: Vec::new() };
    trainer.replace_updates()?;
    let barrier = trainer.finish_sending();
    trainer.receive(barrier.as_ref())?;
    let mut program = trainer.program;
    rename_whole_gradients(job, &mut program);
    look_up_remotely(job, &mut program);
    empty_dead_blocks(&mut program);
    drop_unused(&job.main, &mut program);
    Ok(program)
}

struct Trainer<'a> {
    job: &'a Job,
    program: Program,
    dummies: Dummies,
    /// The variables that the sends of gradients write, in the order of the updates.
    sent: Vec<Name>,
}

impl Trainer<'_> {
    /// Drops the operators that now run on servers, and sends each gradient after the operator that finished it.
    fn replace_updates(&mut self) -> Result<()> {
        let job = self.job;
        let leaving = leaving(job);
        self.sent = job.updates().iter().map(|_| self.dummies.make(&mut self.program)).collect();
        let finished: Vec<Option<usize>> = job.updates().iter().map(|u| last_writer(&job.main, &u.grad)).collect();
        let norms = Norms::new(job);
        let mut ops = Vec::new();
        for (i, op) in job.main.global().ops.iter().enumerate() {
            ops.extend(norms.exchange_before(i, job, &mut self.program)?);
            if !leaving.contains(&i) {
                ops.push(norms.seen_by(i, self.staying(i, op)));
            }
            for (n, update) in job.updates().iter().enumerate().filter(|(n, _)| finished[*n] == Some(i)) {
                ops.extend(self.send_gradient(update, &self.sent[n].clone())?);
            }
        }
        self.program.global_mut().ops = ops;
        Ok(())
    }

    /// An operator that stays; one of the optimizer counts as part of the gradient from now on.
    fn staying(&self, i: usize, op: &Op) -> Op {
        let mut op = op.clone();
        if self.job.updates.on_trainer.contains(&i) {
            op.set_role(Role::BACKWARD);
        }
        op
    }

    fn send_gradient(&mut self, update: &Update, dummy: &Name) -> Result<Vec<Op>> {
        let job = self.job;
        if job.tables.contains(&update.param) {
            return send_table(job, update, dummy);
        }
        let blocks = job.blocks(update);
        let sent: Vec<Name> =
            blocks.iter().map(|b| job.sent_name(&b.block.name_of(&update.grad), job.trainer_id)).collect();
        let belongs = [update.param.as_str(), update.grad.as_str()];
        let endpoints = job.endpoints(update);
        if job.traffic.runtime_split {
            let op = send(vec![update.grad.clone()], dummy, endpoints, job.trainer_attr())
                .attr("send_varnames", strings(&sent))
                .attr("sections", rows(job, update));
            return Ok(vec![with_role(op, Role::RPC, belongs)]);
        }
        if blocks.len() == 1 {
            let op = send(vec![update.grad.clone()], dummy, endpoints, job.trainer_attr());
            return Ok(vec![with_role(op, Role::RPC, belongs)]);
        }
        let whole = job.var(&update.grad)?;
        for (placed, name) in blocks.iter().zip(&sent) {
            self.program.global_mut().set_var(like(whole, name, &placed.block.dims, false));
        }
        let split = with_role(split(job, update, sent.clone()), Role::DIST, NO_VARS);
        let op = send(sent, dummy, endpoints, job.trainer_attr());
        Ok(vec![split, with_role(op, Role::RPC, belongs)])
    }

    /// Tells the servers that all is sent, where they wait for it. Returns what the barrier writes.
    fn finish_sending(&mut self) -> Option<Name> {
        let job = self.job;
        let mut sent = self.sent.clone();
        sent.extend(job.rates.iter().map(|rate| self.send_rate(rate)));
        sent.extend(job.step_notice(job.trainer_id).map(|notice| self.send_notice(&notice)));
        if !job.traffic.sync && !job.traffic.half_async {
            return None;
        }
        let dummy = self.dummies.make(&mut self.program);
        let op = send_barrier(sent, &dummy, job.placement.servers(), job.trainer_attr())
            .attr("half_async", !job.traffic.sync && job.traffic.half_async);
        self.push(with_role(op, Role::RPC, NO_VARS));
        Some(dummy)
    }

    /// Tells all servers that this trainer made a step: where it does not wait for the others, they go on with the schedule then.
    fn send_notice(&mut self, notice: &Name) -> Name {
        self.program.global_mut().set_var(step_notice_var(notice));
        self.send_to_all(notice, "merge_add")
    }

    /// Sends a learning rate that the script sets. Of several that wait, the latest counts.
    fn send_rate(&mut self, rate: &Name) -> Name {
        self.send_to_all(rate, LATEST)
    }

    /// Sends a small variable to all servers; `merged` is the attribute that says what becomes of several that wait.
    fn send_to_all(&mut self, name: &Name, merged: &str) -> Name {
        let job = self.job;
        let dummy = self.dummies.make(&mut self.program);
        let names = if job.traffic.runtime_split { strings([name]) } else { Vec::new() };
        let op = send(vec![name.clone()], &dummy, job.placement.servers().to_vec(), job.trainer_attr())
            .attr("send_varnames", names)
            .attr(merged, true)
            .attr("use_send_handler", false);
        self.push(with_role(op, Role::RPC, [name.as_str(), name.as_str()]));
        dummy
    }

    /// Fetches the new parameters and joins those that were partitioned.
    fn receive(&mut self, barrier: Option<&Name>) -> Result<()> {
        let job = self.job;
        let mut received = Vec::new();
        let sent = self.sent.clone();
        for (update, sent) in job.updates().iter().zip(&sent).filter(|(u, _)| !job.remote.contains(&u.param)) {
            let after = barrier.filter(|_| job.traffic.sync).or(Some(sent));
            let belongs = [update.param.as_str(), update.grad.as_str()];
            let names = job.block_names(update);
            let op = if job.traffic.runtime_split {
                recv(vec![update.param.clone()], after, job.endpoints(update), job.trainer_attr())
                    .attr("recv_varnames", strings(&names))
            } else {
                declare_blocks(job, update, &mut self.program)?;
                received.extend(names.iter().cloned());
                recv(names, after, job.endpoints(update), job.trainer_attr())
            };
            self.push(with_role(op, Role::RPC, belongs));
        }
        if job.traffic.sync {
            let op = fetch_barrier(barrier, received, job.placement.servers(), job.trainer_attr())
                .attr(FINGERPRINT, job.fingerprint());
            self.push(with_role(op, Role::RPC, NO_VARS));
        }
        if !job.traffic.runtime_split {
            for update in job.local_updates().filter(|u| job.blocks(u).len() > 1) {
                self.push(with_role(join(job, update), Role::DIST, NO_VARS));
            }
        }
        Ok(())
    }

    fn push(&mut self, op: Op) {
        self.program.global_mut().ops.push(op);
    }
}

/// The operators that leave the trainer: those of servers, and the learning rate's unless the network reads it.
fn leaving(job: &Job) -> BTreeSet<usize> {
    let ops = &job.main.global().ops;
    let mut leaving: BTreeSet<usize> = job.updates().iter().flat_map(|u| u.ops.iter().copied()).collect();
    let mut read: BTreeSet<&Name> = BTreeSet::new();
    for (i, op) in ops.iter().enumerate().rev() {
        if is_lr(op) && !op.outputs.args().any(|out| read.contains(out)) {
            leaving.insert(i);
        }
        if !leaving.contains(&i) {
            read.extend(op.inputs.args());
        }
    }
    leaving
}

fn last_writer(program: &Program, name: &Name) -> Option<usize> {
    program.global().ops.iter().rposition(|op| op.outputs.args().any(|out| out == name))
}

/// The rows of each block of a parameter.
pub(super) fn rows(job: &Job, update: &Update) -> Vec<i64> {
    job.blocks(update).iter().map(|b| b.block.rows() as i64).collect()
}

fn split(job: &Job, update: &Update, parts: Vec<Name>) -> Op {
    let rows = rows(job, update);
    if update.sparse {
        Op::new("split_selected_rows").attr("height_sections", rows)
    } else {
        // Fluid's attribute holds 32-bit numbers; a parameter with more rows than that would not fit one machine.
        Op::new("split_byref").attr("sections", rows.iter().map(|r| *r as i32).collect::<Vec<i32>>()).attr("num", 0)
    }
    .input("X", [&update.grad])
    .output("Out", parts)
}

/// Joins the blocks of a parameter.
pub(super) fn join(job: &Job, update: &Update) -> Op {
    Op::new("concat")
        .input("X", job.blocks(update).iter().map(|b| b.block.name()))
        .output("Out", [&update.param])
        .attr("axis", 0)
}

/// Declares the blocks of a parameter as the trainer receives them.
pub(super) fn declare_blocks(job: &Job, update: &Update, program: &mut Program) -> Result<()> {
    let whole = job.var(&update.param)?;
    for placed in job.blocks(update).iter().filter(|b| !b.block.is_whole()) {
        program.global_mut().set_var(like(whole, &placed.block.name(), &placed.block.dims, false));
    }
    Ok(())
}

/// A gradient that is sent as it is needs the name that servers know it by.
fn rename_whole_gradients(job: &Job, program: &mut Program) {
    if job.traffic.runtime_split || !job.traffic.merges {
        return;
    }
    for update in job.updates().iter().filter(|u| job.blocks(u).len() == 1) {
        let sent = job.sent_name(&update.grad, job.trainer_id);
        for op in program.blocks_mut().iter_mut().flat_map(|b| &mut b.ops) {
            rename_args(op, &update.grad, &sent);
        }
        if let Some(mut var) = program.global_mut().vars.shift_remove(&update.grad) {
            var.name = sent;
            program.global_mut().set_var(var);
        }
    }
}

/// Drops the variables that only the dropped operators used.
fn drop_unused(before: &Program, program: &mut Program) {
    let (before, after) = (named(before), named(program));
    program.global_mut().vars.retain(|name, _| after.contains(name) || !before.contains(name));
}
