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
            "fl_listen_and_serv",
            "listen_and_serv",
            "lookup_sparse_table",
            "prefetch",
            "pull_box_sparse",
            "pull_sparse",
            "pull_sparse_v2",
            "push_dense",
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
    Unsupported { reason: "it needs a GPU, or lays out memory for one", ops: &["get_places", "inplace_abn"] },
    Unsupported {
        reason: "passes of Fluid put it into inference programs, where this library has fusions of its own; \
                 save the program without such passes",
        ops: &["attention_lstm", "dequantize", "fused_embedding_fc_lstm", "quantize", "requantize"],
    },
    Unsupported {
        reason: "training with simulated or stored quantization is not supported yet",
        ops: &[
            "dequantize_abs_max",
            "dequantize_log",
            "fake_channel_wise_dequantize_max_abs",
            "fake_channel_wise_quantize_abs_max",
            "fake_dequantize_max_abs",
            "fake_quantize_abs_max",
            "fake_quantize_dequantize_moving_average_abs_max",
            "fake_quantize_moving_average_abs_max",
            "fake_quantize_range_abs_max",
            "lookup_table_dequant",
            "moving_average_abs_max_scale",
        ],
    },
    Unsupported {
        reason: "it serves one model family and is not supported yet",
        ops: &[
            "bicubic_interp",
            "match_matrix_tensor",
            "pyramid_hash",
            "random_crop",
            "rank_attention",
            "spp",
            "tree_conv",
            "var_conv_2d",
        ],
    },
];

/// Each unsupported operator with its reason.
pub fn unsupported() -> impl Iterator<Item = (&'static str, &'static str)> {
    UNSUPPORTED.iter().flat_map(|group| group.ops.iter().map(|op| (*op, group.reason)))
}
