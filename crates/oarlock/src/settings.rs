//! Every option that a Fluid script can set, and what becomes of it: the one table behind the Python package's checks and
//! `docs/options.md`. What an option does is decided where it is read; this module only knows that it is.

mod environment;
mod strategy;

pub use environment::check_variables;

/// The treatment of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// It does this.
    Honoured(&'static str),
    /// It cannot change results, for this reason, which is logged once.
    Accepted(&'static str),
    /// Results would differ: any value but the default is an error with this advice.
    Refused(&'static str),
    /// It has another name now: this one.
    Renamed(&'static str),
}

/// A value that an option can have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// None, or nothing in particular.
    None,
    /// On or off.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// A text.
    Text(&'static str),
    /// An empty list.
    Empty,
}

/// Where options are set.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// As scripts write it: `BuildStrategy`, `Executor.run`, ...
    pub name: &'static str,
    /// How they are set there.
    pub doc: &'static str,
    /// The settings of this place.
    pub settings: &'static [Setting],
}

/// An option, or one value of it that is treated differently.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// The value when not set.
    pub default: Value,
    /// Its treatment.
    pub class: Class,
    /// Only of this value.
    pub only: Option<Value>,
}

const fn on(name: &'static str, default: Value, does: &'static str) -> Setting {
    Setting { name, default, class: Class::Honoured(does), only: None }
}

const fn ok(name: &'static str, default: Value, why: &'static str) -> Setting {
    Setting { name, default, class: Class::Accepted(why), only: None }
}

const fn no(name: &'static str, default: Value, advice: &'static str) -> Setting {
    Setting { name, default, class: Class::Refused(advice), only: None }
}

/// All options, by the place where they are set.
pub const PLACES: &[Place] = &[
    Place {
        name: "flag",
        doc: "`fluid.set_flags({name: value})`, `fluid.core.globals()[name] = value`, or an environment variable",
        settings: FLAGS,
    },
    Place {
        name: "environment variable",
        doc: "a variable of the environment, before the process starts",
        settings: environment::VARIABLES,
    },
    Place {
        name: "DistributeTranspilerConfig",
        doc: "a field of `fluid.DistributeTranspilerConfig()`",
        settings: TRANSPILER_CONFIG,
    },
    Place {
        name: "DistributedStrategy",
        doc: "a field of `fluid.incubate.fleet.collective.DistributedStrategy()`; it has those of `BuildStrategy`, too",
        settings: COLLECTIVE_STRATEGY,
    },
    Place { name: "BuildStrategy", doc: "a field of `fluid.BuildStrategy()`", settings: BUILD_STRATEGY },
    Place { name: "ExecutionStrategy", doc: "a field of `fluid.ExecutionStrategy()`", settings: EXECUTION_STRATEGY },
    Place { name: "Executor.run", doc: "an argument of `exe.run`", settings: EXECUTOR_RUN },
    Place {
        name: "layer argument",
        doc: "an argument of every layer that has it, or of one as `layer.argument`; all other arguments are honoured",
        settings: LAYER_ARGUMENTS,
    },
    Place { name: "memory_optimize", doc: "an argument of `fluid.memory_optimize`", settings: MEMORY_OPTIMIZE },
    Place {
        name: "fleet.DistributedStrategy",
        doc: "a field of `paddle.distributed.fleet.DistributedStrategy()`; `x_configs.y` is the key `y` of the dict `x_configs`",
        settings: strategy::FIELDS,
    },
    Place {
        name: "paddle.distributed.fleet",
        doc: "a name of Fleet 1.x that scripts look for in `paddle.distributed.fleet`",
        settings: strategy::OLD_NAMES,
    },
];

const NO_GPU: &str = "there is no GPU in a run";
const MEMORY: &str = "memory is planned with the program, and temporaries share it";
const THREADS: &str = "the number of threads does not change results; OARLOCK_THREADS sets it";
const FUSED: &str = "operators are fused wherever that changes no more than last bits";
const ONE_EXCHANGE: &str = "one exchange per server carries all variables of a step";
const SUMS: &str = "replicas add up all gradients at once, in place and in one order";
const TRANSPILED: &str =
    "a program that was transpiled knows the workers of its job; one that was not, and learns, is refused";
const ONE_UPDATE: &str = "the update runs once, on the parameters that all replicas read";

const FLAGS: &[Setting] = &[
    on("FLAGS_check_nan_inf", Value::Bool(false), "stops at the operator that first wrote a nan or an infinity"),
    on(
        "FLAGS_communicator_independent_recv_thread",
        Value::Bool(true),
        "async: parameters are fetched by a thread of their own",
    ),
    on(
        "FLAGS_communicator_is_sgd_optimizer",
        Value::Bool(false),
        "async: gradients that wait are added up; otherwise averaged",
    ),
    on(
        "FLAGS_communicator_max_merge_var_num",
        Value::Int(20),
        "the largest number of gradients of a variable that become one; CPU_NUM if not set",
    ),
    on(
        "FLAGS_communicator_min_send_grad_num_before_recv",
        Value::Int(20),
        "async: parameters are fetched after this number of gradients was sent; CPU_NUM if not set",
    ),
    on(
        "FLAGS_communicator_send_queue_size",
        Value::Int(20),
        "how many gradients of a variable may wait; CPU_NUM if not set",
    ),
    on(
        "FLAGS_communicator_send_wait_times",
        Value::Int(5),
        "async: how often to wait 10 ms for more gradients to merge",
    ),
    on(
        "FLAGS_rpc_deadline",
        Value::Int(180_000),
        "milliseconds that a request to a server may take; read by the first Executor",
    ),
    ok("FLAGS_communicator_thread_pool_size", Value::Int(5), ONE_EXCHANGE),
    ok("FLAGS_rpc_get_thread_num", Value::Int(12), ONE_EXCHANGE),
    ok("FLAGS_rpc_prefetch_thread_num", Value::Int(12), ONE_EXCHANGE),
    ok("FLAGS_rpc_retry_times", Value::Int(3), "requests are repeated until their deadline"),
    ok("FLAGS_rpc_send_thread_num", Value::Int(12), ONE_EXCHANGE),
    ok("FLAGS_dist_threadpool_size", Value::Int(0), ONE_EXCHANGE),
    ok("FLAGS_max_body_size", Value::Int(2_147_483_647), "OARLOCK_MAX_FRAME bounds what one message may carry"),
    ok("FLAGS_rpc_disable_reuse_port", Value::Bool(false), "a port that is taken is an error that names it"),
    ok("FLAGS_rpc_retry_bind_port", Value::Int(3), "a port that is taken is an error that names it"),
    ok(
        "FLAGS_worker_update_interval_secs",
        Value::Int(900),
        "trainers show servers every half second that they are alive",
    ),
    ok("FLAGS_allocator_strategy", Value::Text("auto_growth"), MEMORY),
    ok("FLAGS_benchmark", Value::Bool(false), "operators run in order; fluid.profiler measures them"),
    ok("FLAGS_conv_workspace_size_limit", Value::Int(512), NO_GPU),
    ok("FLAGS_cpu_deterministic", Value::Bool(false), "runs always give the same bits"),
    ok("FLAGS_cublas_handle_threads", Value::Int(1), NO_GPU),
    ok("FLAGS_cudnn_batchnorm_spatial_persistent", Value::Bool(false), NO_GPU),
    ok("FLAGS_cudnn_deterministic", Value::Bool(false), "runs always give the same bits"),
    ok("FLAGS_cudnn_exhaustive_search", Value::Bool(false), NO_GPU),
    ok("FLAGS_cudnn_exhaustive_search_times", Value::Int(-1), NO_GPU),
    ok("FLAGS_dygraph_debug", Value::Bool(false), "programs are static"),
    ok("FLAGS_eager_delete_scope", Value::Bool(true), MEMORY),
    ok("FLAGS_eager_delete_tensor_gb", Value::Float(0.0), MEMORY),
    ok("FLAGS_enable_cublas_tensor_op_math", Value::Bool(false), NO_GPU),
    ok("FLAGS_enable_parallel_graph", Value::Bool(false), "there is one executor"),
    ok("FLAGS_enable_unused_var_check", Value::Bool(false), "every program is verified before it runs"),
    ok("FLAGS_fast_eager_deletion_mode", Value::Bool(true), MEMORY),
    ok("FLAGS_fraction_of_cpu_memory_to_use", Value::Float(1.0), MEMORY),
    ok("FLAGS_fraction_of_gpu_memory_to_use", Value::Float(0.92), NO_GPU),
    ok("FLAGS_free_idle_chunk", Value::Bool(false), MEMORY),
    ok("FLAGS_free_when_no_cache_hit", Value::Bool(false), MEMORY),
    ok("FLAGS_fuse_parameter_groups_size", Value::Int(1), SUMS),
    ok("FLAGS_fuse_parameter_memory_size", Value::Float(-1.0), SUMS),
    ok("FLAGS_gpu_allocator_retry_time", Value::Int(2000), NO_GPU),
    ok("FLAGS_gpu_memory_limit_mb", Value::Int(0), NO_GPU),
    ok("FLAGS_init_allocated_mem", Value::Bool(false), "no operator reads memory that nothing has written"),
    ok("FLAGS_initial_cpu_memory_in_mb", Value::Int(500), MEMORY),
    ok("FLAGS_initial_gpu_memory_in_mb", Value::Int(0), NO_GPU),
    ok("FLAGS_inner_op_parallelism", Value::Int(0), THREADS),
    ok("FLAGS_local_exe_sub_scope_limit", Value::Float(256.0), MEMORY),
    ok("FLAGS_memory_fraction_of_eager_deletion", Value::Float(1.0), MEMORY),
    ok("FLAGS_multiple_of_cupti_buffer_size", Value::Int(1), NO_GPU),
    ok("FLAGS_paddle_num_threads", Value::Int(1), THREADS),
    ok("FLAGS_reallocate_gpu_memory_in_mb", Value::Int(0), NO_GPU),
    ok("FLAGS_selected_gpus", Value::Text(""), NO_GPU),
    ok("FLAGS_sort_sum_gradient", Value::Bool(false), "gradients are always summed in the same order"),
    ok(
        "FLAGS_sync_nccl_allreduce",
        Value::Bool(true),
        "there is no GPU in a run; Fleet 2.0 calls it `DistributedStrategy.sync_nccl_allreduce`",
    ),
    ok("FLAGS_use_mkldnn", Value::Bool(false), "there is one CPU library"),
    ok("FLAGS_use_ngraph", Value::Bool(false), "there is one CPU library"),
    ok("FLAGS_use_pinned_memory", Value::Bool(true), NO_GPU),
    ok("FLAGS_use_system_allocator", Value::Bool(false), MEMORY),
    no("FLAGS_enable_rpc_profiler", Value::Bool(false), "use fluid.profiler"),
    no("FLAGS_fast_check_nan_inf", Value::Bool(false), "set FLAGS_check_nan_inf"),
    no("FLAGS_pe_profile_fname", Value::Text(""), "use fluid.profiler, which writes a Chrome trace"),
    no("FLAGS_print_sub_graph_dir", Value::Text(""), "print the program: print(fluid.default_main_program())"),
    no(
        "FLAGS_reader_queue_speed_test_mode",
        Value::Bool(false),
        "time the reader itself: it would give the same batch again",
    ),
    no("FLAGS_rpc_server_profile_path", Value::Text("./profile_ps"), "use fluid.profiler, which writes a Chrome trace"),
    no("FLAGS_tracer_profile_fname", Value::Text("xxgperf"), "eager mode (dygraph) is not there yet"),
];

const BUILD_STRATEGY: &[Setting] = &[
    ok("reduce_strategy", Value::Int(0), ONE_UPDATE),
    on(
        "gradient_scale_strategy",
        Value::Int(0),
        "how the loss of a replica counts: 1 / replicas (CoeffNumDevice), 1 (One), or what is fed as its gradient (Customized)",
    ),
    ok("memory_optimize", Value::None, MEMORY),
    ok("enable_inplace", Value::Bool(true), MEMORY),
    ok("fuse_all_reduce_ops", Value::Bool(true), SUMS),
    ok("fuse_all_optimizer_ops", Value::Bool(false), FUSED),
    ok("fuse_elewise_add_act_ops", Value::Bool(false), FUSED),
    ok("fuse_bn_act_ops", Value::Bool(false), FUSED),
    ok("fuse_relu_depthwise_conv", Value::Bool(false), FUSED),
    ok("fuse_broadcast_ops", Value::Bool(true), ONE_UPDATE),
    ok("enable_auto_fusion", Value::Bool(false), FUSED),
    on(
        "sync_batch_norm",
        Value::Bool(false),
        "batch normalisation over the samples of all replicas; otherwise each over its own",
    ),
    ok("remove_unnecessary_lock", Value::Bool(true), "no lock is taken per operator"),
    ok("enable_sequential_execution", Value::Bool(false), "operators always run in the program's order"),
    ok("enable_backward_optimizer_op_deps", Value::Bool(true), "operators always run in the program's order"),
    ok("cache_runtime_context", Value::Bool(false), "a program is planned once"),
    ok("mkldnn_enabled_op_types", Value::Empty, "there is one CPU library"),
    ok("use_hierarchical_allreduce", Value::Bool(false), SUMS),
    ok("hierarchical_allreduce_inter_nranks", Value::Int(0), SUMS),
    ok("nccl_comm_num", Value::Int(1), NO_GPU),
    no("debug_graphviz_path", Value::Text(""), "no graph is written: print the program"),
    ok("num_trainers", Value::Int(1), TRANSPILED),
    ok("trainer_id", Value::Int(0), TRANSPILED),
    ok("trainers_endpoints", Value::Empty, TRANSPILED),
    ok("is_distribution", Value::Bool(false), TRANSPILED),
    ok(
        "async_mode",
        Value::Bool(false),
        "the replicas of a trainer add up their gradients and send once; the program says who waits for whom",
    ),
    ok("fuse_bn_add_act_ops", Value::Bool(true), FUSED),
    ok("fuse_gemm_epilogue", Value::Bool(false), FUSED),
    ok("fused_attention", Value::Bool(false), FUSED),
    ok("fused_feedforward", Value::Bool(false), FUSED),
    ok("enable_addto", Value::Bool(false), MEMORY),
    ok("fix_op_run_order", Value::Bool(false), "operators always run in the program's order"),
    ok("allow_cuda_graph_capture", Value::Bool(false), NO_GPU),
];

const TRANSPILER_CONFIG: &[Setting] = &[
    on("slice_var_up", Value::Bool(true), "partitions large parameters, so that every server holds a block"),
    on("split_method", Value::None, "how blocks are dealt out: RoundRobin (None), HashName, or a class of your own"),
    on("min_block_size", Value::Int(8192), "the smallest number of elements of a block"),
    on("enable_dc_asgd", Value::Bool(false), "makes up for the delay of gradients; without sync only"),
    on("mode", Value::Text("pserver"), "pserver, nccl2 or collective"),
    on("print_log", Value::Bool(false), "prints where parameters live"),
    on("wait_port", Value::Bool(true), "a trainer waits until all servers answer"),
    on("sync_mode", Value::Bool(true), "all trainers finish a step together; the argument of transpile counts, too"),
    on("runtime_split_send_recv", Value::Bool(false), "a communicator splits and sends gradients; without sync only"),
    on("half_async", Value::Bool(false), "the threads of a trainer finish a step together"),
    on("completely_not_async", Value::Bool(false), "servers wait for all trainers, who send by a communicator"),
    on(
        "max_staleness",
        Value::None,
        "a trainer waits when it is more than this number of steps ahead of another; without sync only",
    ),
    on("geo_sgd_mode", Value::Bool(false), "trainers train locally and exchange how far parameters moved"),
    on("geo_sgd_need_push_nums", Value::Int(100), "after how many steps they exchange it"),
    on("nccl_comm_num", Value::Int(1), "how many communication groups collective workers use"),
    on("use_hierarchical_allreduce", Value::Bool(false), "communication groups inside machines and between them"),
    on("hierarchical_allreduce_inter_nranks", Value::Int(0), "how many workers a machine has"),
    on("collective_mode", Value::None, "the values that collective workers exchange: grad_allreduce or local_sgd"),
    on(
        "fuse_grad_size_in_MB",
        Value::None,
        "collective workers exchange gradients together up to this size in MiB (4)",
    ),
    on("local_sgd_k_steps", Value::Int(1), "local_sgd averages parameters after this number of steps"),
    on("local_sgd_begin_step", Value::Int(1), "local_sgd averages after every step up to this one"),
];

const COLLECTIVE_STRATEGY: &[Setting] = &[
    on("use_local_sgd", Value::Bool(false), "workers update on their own, and move to the mean of where they went"),
    on("mode", Value::Text("nccl2"), "nccl2 or collective: both exchange gradients, with the same result"),
    on("collective_mode", Value::None, "what workers exchange: grad_allreduce or local_sgd"),
    on("local_sgd_k_steps", Value::Int(1), "local_sgd averages parameters after this number of steps"),
    on("local_sgd_begin_step", Value::Int(1), "local_sgd averages after every step up to this one"),
    on("nccl_comm_num", Value::Int(1), "how many communication groups workers use"),
    on("use_hierarchical_allreduce", Value::Bool(false), "the workers of a machine first, then one of each machine"),
    ok("hierarchical_allreduce_inter_nranks", Value::Int(0), "which workers share a machine is found out"),
    on("fuse_grad_size_in_MB", Value::None, "gradients are exchanged together up to this size in MiB (4)"),
    on("forward_recompute", Value::Bool(false), "computes again what lies between recompute_checkpoints"),
    on("recompute_checkpoints", Value::Empty, "what is kept of the forward pass, for forward_recompute"),
    on(
        "uneven",
        Value::Text("zero_weight"),
        "how fleet.even_reader makes shards even: zero_weight (not at all: who runs out takes part without weight), pad or shortest",
    ),
    ok("exec_strategy", Value::None, THREADS),
    no("use_dist_fc", Value::Bool(false), "layers are not partitioned: every worker has all parameters"),
    no("dist_fc_config", Value::None, "layers are not partitioned: every worker has all parameters"),
    no("use_amp", Value::Bool(false), "a CPU computes in float32"),
    ok("amp_loss_scaling", Value::Float(32768.0), "it counts with use_amp only"),
];

const EXECUTION_STRATEGY: &[Setting] = &[
    ok("num_threads", Value::Int(0), THREADS),
    ok("num_iteration_per_drop_scope", Value::Int(100), MEMORY),
    ok("use_thread_barrier", Value::Bool(false), "replicas always finish a step together"),
    ok("allow_op_delay", Value::Bool(false), "operators always run in the program's order"),
    ok("use_experimental_executor", Value::Bool(true), "there is one executor"),
    ok("use_cuda", Value::Bool(true), "the place of the executor counts"),
    ok("num_iteration_per_run", Value::Int(1), "a run is one step, as in Fluid; call exe.run in a loop"),
];

const EXECUTOR_RUN: &[Setting] = &[
    on("program", Value::None, "what to run; the default main program if None"),
    on("feed", Value::None, "arrays by name"),
    on("fetch_list", Value::None, "Variables and names to return"),
    on("scope", Value::None, "where the variables live; the global scope if None"),
    on("return_numpy", Value::Bool(true), "arrays, or LoDTensors if False"),
    on("use_prune", Value::Bool(false), "runs only what the fetches need"),
    ok("feed_var_name", Value::Text("feed"), "feeds are not variables of a scope here"),
    ok("fetch_var_name", Value::Text("fetch"), "fetches are not variables of a scope here"),
    ok("use_program_cache", Value::Bool(false), "a program is planned once"),
    on("return_merged", Value::Bool(true), "the values of all replicas one after the other; False: a list of them"),
];

const NOT_READ: &str = "Fluid does not read it either";
const OWN_DTYPE: &str = "the input's element type counts, as in Fluid";
const CHANNELS_FIRST: &str = "transpose to NCHW before, and back after";

/// Those of one layer are `layer.argument`, and go before those of all layers.
const LAYER_ARGUMENTS: &[Setting] = &[
    ok("use_cudnn", Value::Bool(true), NO_GPU),
    ok("force_cpu", Value::Bool(false), NO_GPU),
    ok("device", Value::None, NO_GPU),
    ok("auc.topk", Value::Int(1), NOT_READ),
    ok("data_norm.moving_mean_name", Value::None, NOT_READ),
    ok("data_norm.moving_variance_name", Value::None, NOT_READ),
    ok("data_norm.do_model_average_for_mean_and_var", Value::Bool(true), NOT_READ),
    ok("label_smooth.dtype", Value::Text("float32"), OWN_DTYPE),
    ok("sampling_id.dtype", Value::Text("float32"), OWN_DTYPE),
    ok("sequence_conv.padding", Value::Bool(true), NOT_READ),
    ok("sequence_softmax.use_cudnn", Value::Bool(false), NO_GPU),
    ok("softmax.use_cudnn", Value::Bool(false), NO_GPU),
    no("affine_channel.data_layout", Value::Text("NCHW"), CHANNELS_FIRST),
    no("data.type", Value::Int(7), "only tensors can be fed"),
    no("data_norm.data_layout", Value::Text("NCHW"), CHANNELS_FIRST),
    no("data_norm.enable_scale_and_shift", Value::Bool(false), "multiply and add parameters of your own"),
    no("data_norm.in_place", Value::Bool(false), "use what the layer returns; its input keeps its values"),
    no("data_norm.param_attr", Value::None, "set the sums in the scope after the startup program"),
    no("gaussian_random_batch_size_like.dtype", Value::Text("float32"), "cast the result"),
    no("lrn.data_format", Value::Text("NCHW"), CHANNELS_FIRST),
    no("uniform_random_batch_size_like.dtype", Value::Text("float32"), "cast the result"),
];

const MEMORY_OPTIMIZE: &[Setting] = &[
    on("input_program", Value::None, "the program; the default main program if None"),
    on("skip_opt_set", Value::None, "variables that keep memory of their own"),
    on("print_log", Value::Bool(false), "prints what keeps memory of its own"),
    ok("level", Value::Int(0), MEMORY),
    ok("skip_grads", Value::Bool(false), "no variable is renamed"),
];

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::None => f.write_str("None"),
            Value::Bool(true) => f.write_str("True"),
            Value::Bool(false) => f.write_str("False"),
            Value::Int(v) => write!(f, "{v}"),
            Value::Float(v) => write!(f, "{v:?}"),
            Value::Text(v) => write!(f, "'{v}'"),
            Value::Empty => f.write_str("[]"),
        }
    }
}

#[test]
fn an_option_is_listed_once() {
    let mut seen = std::collections::HashSet::new();
    for (place, s) in PLACES.iter().flat_map(|p| p.settings.iter().map(move |s| (p.name, s))) {
        assert!(seen.insert((place, s.name, s.only.map(|v| v.to_string()))), "{} of {place} twice", s.name);
    }
}
