//! The operators that communicate, one file each: signature, inference, and the function that makes one for a program.
//!
//! Operators that only rearrange what is sent or received (`split_ids`, `merge_ids`, `split_selected_rows`, ...) compute
//! nothing but local values and live with the other operators.

mod checkpoint_notify;
mod distributed_lookup_table;
mod fake_init;
mod fetch_barrier;
mod listen_and_serv;
mod lookup_sparse_table;
mod prefetch;
mod recv;
mod recv_save;
mod ref_by_trainer_id;
mod send;
mod send_barrier;
mod trainer_mean;

use oarlock_ir::{Attr, Error, Kernel, Kind, Op, OpDef, Prepare, Program, Result, Traits};

use oarlock_transpile::ops::FINGERPRINT;

use crate::client::WantedVars;

pub(crate) use distributed_lookup_table::{RemoteLookup, TableAttrs};
pub(crate) use send::{MOVE_INPUT, SPLIT_HERE, Sends, copy};

/// The operators of this crate.
pub fn ops() -> impl Iterator<Item = &'static dyn OpDef> {
    const FILES: [&[&dyn OpDef]; 13] = [
        checkpoint_notify::OPS,
        distributed_lookup_table::OPS,
        fake_init::OPS,
        fetch_barrier::OPS,
        listen_and_serv::OPS,
        lookup_sparse_table::OPS,
        prefetch::OPS,
        recv::OPS,
        recv_save::OPS,
        ref_by_trainer_id::OPS,
        send::OPS,
        send_barrier::OPS,
        trainer_mean::OPS,
    ];
    FILES.into_iter().flatten().copied()
}

/// Never pruned, and no gradient flows through it.
pub(crate) const COMMUNICATES: Traits = Traits::GRADIENT_FREE.side_effect();

/// The servers that a trainer's program names.
pub(crate) fn servers(program: &Program) -> Vec<String> {
    let lists = program.global().ops.iter().flat_map(|op| {
        ["epmap", "endpoints"].into_iter().filter_map(|name| match op.attrs.get(name) {
            Some(Attr::Strings(list)) if COMMUNICATING.contains(&op.op_type.as_str()) => Some(list),
            _ => None,
        })
    });
    let mut servers: Vec<String> = lists.flatten().cloned().collect();
    servers.sort_unstable();
    servers.dedup();
    servers
}

/// The fingerprint that a program carries; empty if it has none.
pub(crate) fn fingerprint(program: &Program) -> String {
    let of = |op: &Op| match op.attrs.get(FINGERPRINT) {
        Some(Attr::String(text)) => Some(text.clone()),
        _ => None,
    };
    program.global().ops.iter().find_map(of).unwrap_or_default()
}

/// The operators whose attributes name servers.
const COMMUNICATING: [&str; 5] = ["send", "recv", "send_barrier", "fetch_barrier", "distributed_lookup_table"];

/// The variables that a program receives in a step, by server: they come with the reply to the push.
pub(crate) fn wants(program: &Program) -> WantedVars {
    let mut wants = WantedVars::new();
    let disabled = |op: &Op| matches!(op.attrs.get("do_not_run"), Some(Attr::Int(1)));
    for op in program.global().ops.iter().filter(|op| op.op_type == "recv" && !disabled(op)) {
        if let Some(Attr::Strings(endpoints)) = op.attrs.get("epmap") {
            for (endpoint, name) in endpoints.iter().zip(recv::remote_names(op)) {
                wants.entry(endpoint.clone()).or_default().push(name);
            }
        }
    }
    wants
}

/// How many variables a program hands to a communicator in a step.
pub(crate) fn handed_over(program: &Program) -> usize {
    let has = |op: &Op, name: &str| matches!(op.attrs.get(name), Some(Attr::Strings(list)) if !list.is_empty());
    let ops = program.global().ops.iter().filter(|op| op.op_type == "send");
    ops.filter(|op| has(op, "epmap") && has(op, "send_varnames")).count()
}

/// Does a program tell all servers the learning rate, or the steps that it follows from?
pub(crate) fn tells_rates(program: &Program) -> bool {
    let ops = program.global().ops.iter();
    ops.filter(|op| op.op_type == "send").any(|op| op.attrs.get("use_send_handler") == Some(&Attr::Bool(false)))
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
    use oarlock_tensor::{DType, Dims, Tensor};

    fn executor() -> Executor {
        Executor::new(ExecOptions {
            registry: Arc::new(Registry::new(super::ops(), [])),
            threads: 1,
            fuse: false,
            without_fusions: Vec::new(),
            check_nan_inf: false,
        })
    }

    #[test]
    fn unknown_server_host_is_an_error_with_the_call_site() {
        let text =
            "block 0 {\n var w: f32[2] persistable\n w = recv() {epmap: [\"no.such.host:6174\"]} at \"train.py:9\"\n }";
        let program = Program::from_text(text).unwrap();
        let error = executor().run(&program, &[], &[], &Scope::new()).unwrap_err().to_string();
        assert!(
            error.starts_with("error[network]: the host \"no.such.host\" of the endpoint no.such.host:6174 cannot"),
            "{error}"
        );
        assert!(error.contains("at train.py:9 (`recv`, block 0, op 0)"), "{error}");
    }

    fn numbers(values: &[f32]) -> Tensor {
        let mut tensor = Tensor::zeros(DType::F32, Dims::from([values.len()]));
        tensor.data_mut::<f32>().unwrap().copy_from_slice(values);
        tensor
    }

    #[test]
    fn ref_by_trainer_id_selects_the_copy_of_the_trainer() {
        let text = "block 0 {
            var a: f32[2]
            var b: f32[2]
            var t: i64[1]
            var c: f32[2]
            c = ref_by_trainer_id(X: [a, b], TrainerId: t)
        }";
        let program = Program::from_text(text).unwrap();
        let (a, b, mut t) = (numbers(&[1.0, 2.0]), numbers(&[3.0, 4.0]), Tensor::zeros(DType::I64, Dims::from([1])));
        let mut choose = |trainer: i64| {
            t.data_mut::<i64>().unwrap()[0] = trainer;
            executor().run_tensors(&program, &[("a", &a), ("b", &b), ("t", &t)], &["c"], &Scope::new())
        };
        assert_eq!(choose(1).unwrap()[0].data::<f32>().unwrap(), [3.0, 4.0]);
        let error = choose(2).unwrap_err();
        assert_eq!(error.report().what, "`ref_by_trainer_id` has 2 trainers, and no trainer 2");
    }
}
