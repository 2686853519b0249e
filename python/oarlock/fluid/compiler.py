"""Compiled programs and the strategies they take."""

from . import options

__all__ = ["BuildStrategy", "CompiledProgram", "ExecutionStrategy"]


class CompiledProgram:
    """A program to run as it is: every program is compiled when it first runs."""

    def __init__(self, program_or_graph, build_strategy=None):
        from .framework import Program

        if not isinstance(program_or_graph, Program):
            raise TypeError("CompiledProgram takes a Program, not %r" % (program_or_graph,))
        self._program = program_or_graph
        self._predictor = None
        _check(build_strategy)

    @property
    def _is_inference(self):
        return self._predictor is not None

    def _with_inference_optimize(self, config):
        """Runs as a predictor: ``exe.run(compiled, feed=[PaddleTensor, ...])`` returns a list of PaddleTensors."""
        from .inference import create_paddle_predictor

        self._predictor = create_paddle_predictor(config)
        return self

    def with_data_parallel(self, loss_name=None, build_strategy=None, exec_strategy=None, share_vars_from=None, places=None):
        """Many replicas on one machine are not there yet; one replica is the program itself."""
        from .framework import cpu_places

        _check(build_strategy)
        _check(exec_strategy)
        count = len(places) if places is not None else len(cpu_places())
        if count > 1:
            raise NotImplementedError(
                "data parallel training with %d replicas is not there yet: set CPU_NUM=1, or run the program itself, "
                "whose operators use all threads" % count
            )
        return self


def _check(strategy):
    """Refuses what would change results. Fields are checked here and not when they are set: some are only right together."""
    if strategy is not None:
        for name, value in vars(strategy).items():
            options.check(type(strategy).__name__, name, value)


class _Strategy:
    def __init__(self):
        self.__dict__.update(options.defaults(type(self).__name__))

    def __setattr__(self, name, value):
        # Only its name.
        options.check(type(self).__name__, name, None)
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


class ExecutionStrategy(_Strategy):
    """How a program is run."""
