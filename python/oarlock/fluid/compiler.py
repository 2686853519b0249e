"""Compiled programs and the strategies they take."""

from . import options

__all__ = ["BuildStrategy", "CompiledProgram", "ExecutionStrategy"]


class CompiledProgram:
    """A program to run as it is, since every program is compiled when it first runs; or, ``with_data_parallel``, on replicas."""

    def __init__(self, program_or_graph, build_strategy=None):
        from .framework import Program

        if not isinstance(program_or_graph, Program):
            raise TypeError("CompiledProgram takes a Program, not %r" % (program_or_graph,))
        self._program = program_or_graph
        self._build_strategy = build_strategy
        self._is_data_parallel = self._learns = False
        self._predictor = self._share_vars_from = self._places = None
        # The scope of its runs: programs that share its variables run there, too.
        self._scope = None
        _check(build_strategy)

    @property
    def _is_inference(self):
        return self._predictor is not None

    def _with_inference_optimize(self, config):
        """Runs as a predictor: ``exe.run(compiled, feed=[PaddleTensor, ...])`` returns a list of PaddleTensors."""
        from .inference import create_paddle_predictor

        if self._is_data_parallel:
            raise ValueError("a program cannot be compiled both with data parallel and for inference")
        self._predictor = create_paddle_predictor(config)
        return self

    def with_data_parallel(self, loss_name=None, build_strategy=None, exec_strategy=None, share_vars_from=None, places=None):
        """Runs on replicas, one for each place: threads that share the samples of a batch and add up their gradients. Without
        ``places`` there are as many as the environment variable ``CPU_NUM`` says when it first runs, or one.

        ``share_vars_from`` is another such program, which ran before: its parameters are this one's."""
        if self._is_data_parallel:
            raise ValueError("with_data_parallel was called before: a program is compiled once")
        if self._is_inference:
            raise ValueError("a program cannot be compiled both with data parallel and for inference")
        self._check_loss(loss_name)
        _check(build_strategy)
        _check(exec_strategy)
        if share_vars_from is not None and not getattr(share_vars_from, "_is_data_parallel", False):
            raise ValueError("The shared Program is not data parallel, cannot share variables from it.")
        if places is not None:
            places = list(places) if isinstance(places, (list, tuple)) else [places]
            if not places:
                raise ValueError("places is empty: a program needs at least one")
            for place in places:
                if not hasattr(place, "_refuse"):
                    raise TypeError("places takes places such as fluid.CPUPlace(), not %r" % (place,))
                place._refuse()
        self._is_data_parallel = True
        self._learns = loss_name is not None
        self._build_strategy = build_strategy if build_strategy is not None else self._build_strategy
        self._share_vars_from = share_vars_from
        self._places = places
        return self

    def _check_loss(self, loss_name):
        if loss_name is None:
            if any(op.type.endswith("_grad") for op in self._program.global_block().ops):
                raise ValueError("the program learns, so with_data_parallel needs loss_name, the name of the loss it learns from")
            return
        name = getattr(loss_name, "name", loss_name)
        if not self._program.global_block().has_var(name):
            raise ValueError("loss_name is %r, but the program has no such variable" % (name,))

    def _check_trainers(self):
        """Refuses a training program for several processes that was not transpiled: each would train alone."""
        strategy, program = self._build_strategy, self._program
        number, index = getattr(strategy, "num_trainers", 1), getattr(strategy, "trainer_id", 0)
        if not self._learns or (number <= 1 and index == 0):
            return
        if not (program._workers or program._exchanges or program._transpiled):
            raise ValueError(
                "num_trainers is %d and trainer_id %d, but the program was not transpiled: every process would learn alone. Call "
                "DistributeTranspiler.transpile(trainer_id, trainers=endpoints, current_endpoint=...) with mode \"nccl2\" in its config "
                "before, or use fleet" % (number, index)
            )
        if program._workers and number != program._workers:
            raise ValueError("num_trainers is %d, but the program was transpiled for %d trainers" % (number, program._workers))

    def _replicas(self, merged):
        """How it runs on replicas: how many, how their losses count, and whether batch normalisation is over all; None if the program
        itself does the same."""
        from .framework import cpu_places

        if not self._is_data_parallel:
            return None
        self._check_trainers()
        if self._places is None:
            self._places = cpu_places()
        strategy = self._build_strategy if self._build_strategy is not None else BuildStrategy()
        scale = int(strategy.gradient_scale_strategy)
        if len(self._places) == 1 and merged and scale != BuildStrategy.GradientScaleStrategy.Customized:
            return None
        return len(self._places), scale, bool(strategy.sync_batch_norm)

    def _run_in(self, scope):
        """The scope to run in."""
        if self._share_vars_from is not None:
            scope = self._share_vars_from._scope
            if scope is None:
                raise ValueError(
                    "The shared Program is not compiled and executed, so there is no variables to share. "
                    "Run the program of share_vars_from first."
                )
        self._scope = scope
        return scope


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


class _Field:
    """A field of a strategy, seen from its class: ``BuildStrategy.memory_optimize``. An instance's own value comes first."""

    def __init__(self, place, name):
        self._place, self._name = place, name

    def __get__(self, instance, owner):
        return self if instance is None else options.default(self._place, self._name)

    def __repr__(self):
        return "<%s.%s: %r unless it is set>" % (self._place, self._name, options.default(self._place, self._name))


def _with_fields(strategy):
    for name in options.defaults(strategy.__name__):
        setattr(strategy, name, _Field(strategy.__name__, name))
    return strategy


@_with_fields
class BuildStrategy(_Strategy):
    """How a program is compiled; docs/options.md lists the fields.

    Example:
        >>> strategy = fluid.BuildStrategy()
        >>> strategy.reduce_strategy = fluid.BuildStrategy.ReduceStrategy.Reduce
        >>> strategy.memory_optimize is None
        True
    """

    class ReduceStrategy:
        """Where gradients are joined."""

        AllReduce = 0
        Reduce = 1

    class GradientScaleStrategy:
        """How the loss of a replica counts."""

        CoeffNumDevice = 0
        One = 1
        Customized = 2


@_with_fields
class ExecutionStrategy(_Strategy):
    """How a program is run; docs/options.md lists the fields.

    Example:
        >>> strategy = fluid.ExecutionStrategy()
        >>> strategy.num_iteration_per_drop_scope = 10
    """
