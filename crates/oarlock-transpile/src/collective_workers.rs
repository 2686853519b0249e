//! Collective workers: the settings and helpers that the passes of collective training share.

use oarlock_ir::{Error, Kind, Name, Op, Program, Result, Role, Var, VarKind};

use super::config::{Arguments, CollectiveMode, Config, Trainers, endpoints};
use super::job::{known_dims, raw};
use super::updates::Updates;
use crate::ops::{FUSE, GroupPlan, NO_VARS, PROGRAM, gen_nccl_id, with_role};

/// The collective workers of a job, and the rank of this one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Workers {
    pub(super) endpoints: Vec<String>,
    pub(super) rank: usize,
    pub(super) groups: usize,
    /// Gradients are exchanged together up to this number of MiB; below 0 as the runtime is set.
    pub(super) fuse_mb: f32,
    /// The workers of a machine exchange values first.
    pub(super) hierarchical: bool,
}

impl Workers {
    pub(super) fn new(config: &Config, arguments: &Arguments<'_>) -> Result<Workers> {
        let wrong = |what: String, help: &str| Err(Error::new(Kind::Argument, what).help(help));
        let Trainers::Endpoints(list) = &arguments.trainers else {
            return wrong(
                "`trainers` must list the endpoints of all collective workers".into(),
                "give endpoints separated by commas",
            );
        };
        let endpoints = endpoints(list);
        let alone = config.collective_mode == Some(CollectiveMode::SingleProcessMultiThread);
        if endpoints.len() < 2 && !(alone && endpoints.len() == 1) {
            return wrong(
                format!("{} workers cannot exchange anything", endpoints.len()),
                "list at least two endpoints",
            );
        }
        if endpoints.get(arguments.trainer_id).map(String::as_str) != Some(arguments.current_endpoint) {
            let what =
                format!("worker {} does not listen on `{}`: {list}", arguments.trainer_id, arguments.current_endpoint);
            return wrong(what, "make `current_endpoint` number `trainer_id` of the list, counted from 0");
        }
        Ok(Workers {
            endpoints,
            rank: arguments.trainer_id,
            groups: config.nccl_comm_num.max(1),
            fuse_mb: config.fuse_grad_size_in_mb.unwrap_or(-1.0),
            hierarchical: config.use_hierarchical_allreduce,
        })
    }

    /// All but this one.
    pub(super) fn others(&self) -> Vec<String> {
        let me = &self.endpoints[self.rank];
        self.endpoints.iter().filter(|e| *e != me).cloned().collect()
    }

    /// The factor that makes the mean of a sum over all ranks.
    pub(super) fn share(&self) -> f32 {
        1.0 / self.endpoints.len() as f32
    }

    /// The communication groups in turn.
    pub(super) fn ring(&self, turn: usize) -> i32 {
        (turn % self.groups) as i32
    }
}

/// A variable that names a communication group.
pub(super) fn ring_id(name: &str) -> Var {
    let mut var = raw(&name.into());
    var.persistable = true;
    var
}

/// The lines that all ranks must have in common: the parameters that are trained, their sizes, and how they are updated.
pub(super) fn in_common(program: &Program, updates: &Updates, params: &[Name]) -> Result<Vec<String>> {
    let line = |param: &Name| {
        let update = updates.updates.iter().find(|update| update.param == *param);
        let ops = update.map_or(&[][..], |update| &update.ops);
        let by: Vec<&str> = ops.iter().map(|i| program.global().ops[*i].op_type.as_str()).collect();
        let by = if by.is_empty() { "in a branch".to_string() } else { by.join(", ") };
        Ok(format!("{param} {} ({by})", program.expect_var(0, param)?.ty()))
    };
    params.iter().map(line).collect()
}

/// Multiplies a variable in place.
pub(super) fn scale(variable: &Name, factor: f32, role: Role) -> Op {
    let op = Op::new("scale").input("X", [variable]).output("Out", [variable]).attr("scale", factor);
    with_role(op.attr("bias", 0.0f32).attr("bias_after_scale", true), role, NO_VARS)
}

/// Makes a variable of zeros. Its sizes are known: it is the gradient of a parameter.
pub(super) fn zeros(program: &Program, name: &Name) -> Result<Op> {
    let var = program.expect_var(0, name)?;
    let shape: Vec<i64> = known_dims(var)?.into_iter().map(|size| size as i64).collect();
    let op = Op::new("fill_constant").output("Out", [name]).attr("shape", shape).attr("value", 0.0f32);
    Ok(with_role(op.attr("dtype", var.ty().dtype.proto()), Role::BACKWARD, NO_VARS))
}

/// A dense variable; row-sparse ones cannot be summed over a communication group.
pub(super) fn check_dense(program: &Program, name: &Name) -> Result<()> {
    if program.expect_var(0, name)?.kind != VarKind::SelectedRows {
        return Ok(());
    }
    Err(Error::new(
        Kind::Unsupported,
        format!("`{name}` is row-sparse, and collective workers exchange dense gradients"),
    )
    .help("set is_sparse=False, or use parameter servers"))
}

/// Mode "nccl2": the startup program sets up the communication groups; the data-parallel executor does the rest.
pub(super) fn set_up_groups(config: &Config, workers: &Workers, startup: &mut Program, common: Vec<String>) {
    let mut ids = vec!["NCCLID".to_string()];
    ids.extend((1..workers.groups).map(|ring| format!("NCCLID_{ring}")));
    if config.use_hierarchical_allreduce {
        ids.extend((0..workers.groups).map(|ring| format!("Hierarchical_inter_NCCLID_{ring}")));
        ids.extend((0..workers.groups).map(|ring| format!("Hierarchical_exter_NCCLID_{ring}")));
    }
    for id in &ids {
        startup.global_mut().set_var(ring_id(id));
    }
    let groups = GroupPlan {
        count: workers.groups as i32,
        hierarchical: config.use_hierarchical_allreduce,
        inter_ranks: config.hierarchical_allreduce_inter_nranks as i32,
    };
    let op = gen_nccl_id(&"NCCLID".into(), workers.endpoints.clone(), workers.rank as i32, &groups);
    startup.global_mut().ops.push(with_role(
        op.attr(PROGRAM, common).attr(FUSE, workers.fuse_mb),
        Role::FORWARD,
        NO_VARS,
    ));
}
