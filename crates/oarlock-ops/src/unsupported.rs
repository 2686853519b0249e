//! Operators of Fluid 1.8 that this crate does not define, with the reason: an error about one can then say why.

/// Operators that are not here for one reason.
pub struct Unsupported {
    /// Why, as the end of "`op` is not supported: ...".
    pub reason: &'static str,
    /// Their types.
    pub ops: &'static [&'static str],
}

/// All of them.
pub const UNSUPPORTED: &[Unsupported] = &[
    Unsupported {
        reason: "it belongs to parameter servers and collectives, which run outside this process",
        ops: &[
            "allreduce",
            "broadcast",
            "c_allgather",
            "c_allreduce_max",
            "c_allreduce_min",
            "c_allreduce_prod",
            "c_allreduce_sum",
            "c_broadcast",
            "c_comm_init",
            "c_comm_init_all",
            "c_reducescatter",
            "c_sync_calc_stream",
            "c_sync_comm_stream",
            "checkpoint_notify",
            "distributed_lookup_table",
            "fake_init",
            "fetch_barrier",
            "listen_and_serv",
            "lookup_sparse_table",
            "prefetch",
            "recv",
            "recv_save",
            "ref_by_trainer_id",
            "send",
            "send_barrier",
        ],
    },
    Unsupported {
        reason: "readers are no operators here; feed the data, or read it with the data sets of this library",
        ops: &["create_double_buffer_reader", "create_py_reader", "read"],
    },
    Unsupported { reason: "it calls Python, so only the Python package has it", ops: &["py_func"] },
    Unsupported { reason: "it calls Python from inside a program", ops: &["run_program"] },
    Unsupported {
        reason: "its rows lie in tables of the library pslib, to which this version does not speak; use `embedding` with \
                 is_distributed=True, whose rows lie in hashed tables of its own servers",
        ops: &["pull_sparse", "pull_sparse_v2"],
    },
    Unsupported {
        reason: "it sends gradients to tables of the library pslib, to which this version does not speak; transpile the program, \
                 and `send` does it",
        ops: &["push_dense"],
    },
    Unsupported {
        reason: "its rows lie in the GPU caches of the library BoxPS; use `embedding` with is_distributed=True",
        ops: &["pull_box_extended_sparse", "pull_box_sparse"],
    },
    Unsupported {
        reason: "it is the server of federated learning, which Fluid 1.8 began and did not document; the server of this version is \
                 `listen_and_serv`",
        ops: &["fl_listen_and_serv"],
    },
];

/// Each unsupported operator with its reason.
pub fn unsupported() -> impl Iterator<Item = (&'static str, &'static str)> {
    UNSUPPORTED.iter().flat_map(|group| group.ops.iter().map(|op| (*op, group.reason)))
}
