//! The operators that communicate, one file each: signature, inference, and the function that makes one for a program.
//!
//! Operators that only rearrange what is sent or received (`split_ids`, `merge_ids`, `split_selected_rows`, ...) compute
//! nothing but local values and live with the other operators.

mod checkpoint_notify;
mod collective;
mod distributed_lookup_table;
mod fake_init;
mod fetch_barrier;
mod gen_nccl_id;
mod listen_and_serv;
mod lookup_sparse_table;
mod prefetch;
mod recv;
mod recv_save;
mod ref_by_trainer_id;
mod send;
mod send_barrier;

use oarlock_ir::{Error, Kernel, Kind, Name, Op, OpDef, Prepare, Result, Role, Traits};

pub(crate) use collective::{collective, sync_stream};
pub(crate) use distributed_lookup_table::distributed_lookup_table;
pub(crate) use fake_init::fake_init;
pub(crate) use fetch_barrier::fetch_barrier;
pub(crate) use gen_nccl_id::{Rings, gen_nccl_id};
pub(crate) use listen_and_serv::{Serve, listen_and_serv};
pub(crate) use lookup_sparse_table::lookup_sparse_table;
pub(crate) use recv::recv;
pub(crate) use ref_by_trainer_id::ref_by_trainer_id;
pub(crate) use send::send;
pub(crate) use send_barrier::send_barrier;

/// The operators of this crate.
pub fn ops() -> impl Iterator<Item = &'static dyn OpDef> {
    const FILES: [&[&dyn OpDef]; 14] = [
        checkpoint_notify::OPS,
        collective::OPS,
        distributed_lookup_table::OPS,
        fake_init::OPS,
        fetch_barrier::OPS,
        gen_nccl_id::OPS,
        listen_and_serv::OPS,
        lookup_sparse_table::OPS,
        prefetch::OPS,
        recv::OPS,
        recv_save::OPS,
        ref_by_trainer_id::OPS,
        send::OPS,
        send_barrier::OPS,
    ];
    FILES.into_iter().flatten().copied()
}

/// Never pruned, and no gradient flows through it.
const COMMUNICATES: Traits = Traits::GRADIENT_FREE.side_effect();

/// What every operator of a program carries besides its own attributes.
pub(crate) fn with_role<N: Into<String>>(mut op: Op, role: Role, role_var: impl IntoIterator<Item = N>) -> Op {
    op.set_role(role);
    op.attrs.set("op_role_var", role_var.into_iter().map(Into::into).collect::<Vec<String>>());
    op.attrs.set("op_namescope", "/");
    op.attrs.set("op_device", "");
    op
}

/// No parameter belongs to the operator.
pub(crate) const NO_VARS: [&str; 0] = [];

/// Names as the list of strings that an attribute holds.
pub(crate) fn strings<'a>(names: impl IntoIterator<Item = &'a Name>) -> Vec<String> {
    names.into_iter().map(Name::to_string).collect()
}

/// For an operator that needs the other processes of a job: a runner that has no connection to them says so.
fn needs_cluster(p: &Prepare<'_>, whom: &str) -> Result<Box<dyn Kernel>> {
    let what = format!("`{}` talks to {whom}, and this executor has no connection to a cluster", p.op().op_type);
    Err(Error::new(Kind::Unsupported, what)
        .help("run the program from before it was transpiled to train in one process"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use oarlock_exec::{ExecOptions, Executor, Scope};
    use oarlock_ir::{Program, Registry};

    #[test]
    fn without_a_cluster_the_error_says_so() {
        let registry = Registry::new(super::ops(), []);
        let options = ExecOptions {
            registry: Arc::new(registry),
            threads: 1,
            fuse: false,
            without_fusions: Vec::new(),
            check_nan_inf: false,
        };
        let text = "block 0 {\n var w: f32[2] persistable\n w = recv() {epmap: [\"ps0:6174\"]} at \"train.py:9\"\n }";
        let program = Program::from_text(text).unwrap();
        let error = Executor::new(options).run(&program, &[], &[], &Scope::new()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "error[unsupported]: `recv` talks to parameter servers, and this executor has no connection to a cluster\n  \
             at train.py:9 (`recv`, block 0, op 0)\n  \
             help: run the program from before it was transpiled to train in one process"
        );
    }
}
