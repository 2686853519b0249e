"""Compiled programs and the strategies they take."""

__all__ = ["BuildStrategy", "CompiledProgram", "ExecutionStrategy"]


class CompiledProgram:
    """A program to run as it is: every program is compiled when it first runs."""

    def __init__(self, program_or_graph, build_strategy=None):
        from .framework import Program

        if not isinstance(program_or_graph, Program):
            raise TypeError("CompiledProgram takes a Program, not %r" % (program_or_graph,))
        self._program = program_or_graph
        _check(build_strategy)

    def with_data_parallel(self, loss_name=None, build_strategy=None, exec_strategy=None, share_vars_from=None, places=None):
        """Many replicas on one machine are not there yet; one replica is the program itself."""
        from .framework import cpu_places

        _check(build_strategy)
        count = len(places) if places is not None else len(cpu_places())
        if count > 1:
            raise NotImplementedError(
                "data parallel training with %d replicas is not there yet: set CPU_NUM=1, or run the program itself, "
                "whose operators use all threads" % count
            )
        return self


def _check(build_strategy):
    """Refuses what would change results; the other fields are hints that cannot, with one replica on a CPU."""
    if build_strategy is None:
        return
    scales = BuildStrategy.GradientScaleStrategy
    if build_strategy.gradient_scale_strategy == scales.Customized:
        raise NotImplementedError("GradientScaleStrategy.Customized, a gradient of the loss that is fed, is not there yet")
    if build_strategy.debug_graphviz_path:
        raise NotImplementedError("debug_graphviz_path: no graph is written; print the program instead")


class _Strategy:
    _fields = {}

    def __init__(self):
        self.__dict__.update(self._fields)

    def __setattr__(self, name, value):
        if name not in self._fields:
            raise AttributeError("%s has no field %s; it has %s" % (type(self).__name__, name, ", ".join(self._fields)))
        self.__dict__[name] = value


class BuildStrategy(_Strategy):
    """How a program is compiled."""

    class ReduceStrategy:
        """Where gradients are joined."""

        AllReduce = 0
        Reduce = 1

    class GradientScaleStrategy:
        """How the loss of a replica counts."""

        CoeffNumDevice = 0
        One = 1
        Customized = 2

    _fields = {
        "reduce_strategy": 0, "gradient_scale_strategy": 0, "memory_optimize": None, "enable_inplace": None,
        "fuse_all_reduce_ops": None, "fuse_all_optimizer_ops": False, "fuse_elewise_add_act_ops": False,
        "fuse_bn_act_ops": False, "fuse_relu_depthwise_conv": False, "fuse_broadcast_ops": False,
        "sync_batch_norm": False, "debug_graphviz_path": "", "remove_unnecessary_lock": True, "num_trainers": 1,
        "trainer_id": 0, "trainers_endpoints": [], "enable_sequential_execution": False, "cache_runtime_context": False,
    }


class ExecutionStrategy(_Strategy):
    """How a program is run."""

    _fields = {
        "num_threads": 0, "num_iteration_per_drop_scope": 100, "num_iteration_per_run": 1, "use_thread_barrier": False,
        "allow_op_delay": False, "use_experimental_executor": False,
    }
