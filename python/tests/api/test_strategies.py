"""Strategies, and states of control flow, as scripts see them."""

import pytest

import oarlock.fluid as fluid
from oarlock.fluid import layers
from oarlock.fluid.incubate.fleet.parameter_server.distribute_transpiler import distributed_strategy as strategies
from oarlock.fluid.transpiler.distribute_transpiler import DistributedMode, ServerRuntimeConfig


def test_fields_of_strategies_are_attributes_of_their_classes():
    for kind in (fluid.BuildStrategy, fluid.ExecutionStrategy):
        for name, value in vars(kind()).items():
            assert hasattr(kind, name) and getattr(kind(), name) == value
    assert "async_mode" in repr(fluid.BuildStrategy.async_mode)
    strategy = fluid.BuildStrategy()
    strategy.memory_optimize = True
    assert strategy.memory_optimize and not fluid.BuildStrategy().memory_optimize


def test_defaults_of_a_transpiler_are_changed_by_deriving():
    class Mine(fluid.DistributeTranspilerConfig):
        min_block_size = 1024

    assert fluid.DistributeTranspilerConfig.min_block_size == 8192 and Mine().min_block_size == 1024
    config = Mine()
    config.slice_var_up = False
    assert Mine().slice_var_up is True and config.slice_var_up is False
    assert fluid.DistributeTranspiler(config)._core is None


FACTORIES = {
    "sync": (strategies.StrategyFactory.create_sync_strategy, DistributedMode.SYNC, True),
    "async": (strategies.StrategyFactory.create_async_strategy, DistributedMode.ASYNC, False),
    "half_async": (strategies.StrategyFactory.create_half_async_strategy, DistributedMode.HALF_ASYNC, True),
    "geo": (lambda: strategies.StrategyFactory.create_geo_strategy(7), DistributedMode.GEO, False),
}


@pytest.mark.parametrize("name", FACTORIES)
def test_a_strategy_restores_what_it_means(name):
    make, mode, barrier = FACTORIES[name]
    strategy = make()
    strategy.set_build_strategy({"async_mode": False})
    strategy.set_execute_strategy(fluid.ExecutionStrategy())
    strategy.set_program_config({"geo_sgd_mode": name != "geo"})
    strategy.set_trainer_runtime_config(strategies.TrainerRuntimeConfig())
    strategy.set_server_runtime_config(ServerRuntimeConfig())
    assert strategy.get_build_strategy().async_mode and strategy.get_execute_strategy().use_thread_barrier == barrier
    assert strategy.get_program_config().geo_sgd_mode == (name == "geo") and strategy.get_trainer_runtime_config().mode == mode
    strategy.check_server_runtime_config()


def test_the_base_of_strategies_checks_nothing():
    base = strategies.DistributedStrategy()
    for check in ("program_config", "trainer_runtime_config", "server_runtime_config", "execute_strategy", "build_strategy"):
        with pytest.raises(NotImplementedError, match="StrategyFactory"):
            getattr(base, "check_" + check)()


def test_options_for_debugging_are_kept_or_refused():
    strategy = strategies.StrategyFactory.create_sync_strategy()
    assert strategy.get_debug_opt() == {}
    strategy.set_debug_opt({"dump_slot": 1})
    assert strategy.get_debug_opt() == {
        "dump_slot": True, "dump_converter": "", "dump_fields": [], "dump_file_num": 16, "dump_fields_path": "", "dump_param": []}
    with pytest.raises(NotImplementedError, match="FetchHandler"):
        strategy.set_debug_opt({"dump_fields": ["x"]})


def test_constructs_say_where_they_are():
    x = fluid.data("x", [4, 2, 3])
    rnn = layers.StaticRNN()
    assert rnn.status == layers.StaticRNN.BEFORE_RNN_BLOCK
    with rnn.step():
        assert rnn.status == layers.StaticRNN.IN_RNN_BLOCK
        rnn.step_output(rnn.step_input(x))
    assert rnn.status == layers.StaticRNN.AFTER_RNN_BLOCK
    count, limit = layers.zeros([1], "int64"), layers.ones([1], "int64")
    cond = layers.less_than(count, limit)
    loop = layers.While(cond)
    with loop.block():
        assert loop.status == layers.While.IN_WHILE_BLOCK
        layers.increment(count)
        layers.less_than(count, limit, cond=cond)
    assert (layers.While.BEFORE_WHILE_BLOCK, loop.status) == (0, layers.While.AFTER_WHILE_BLOCK)
    y = fluid.data("y", [None, 1])
    split = layers.IfElse(layers.less_than(y, layers.zeros([1], "float32")))
    with split.true_block():
        assert split.status == layers.IfElse.IN_IF_ELSE_TRUE_BLOCKS
        split.output(layers.scale(split.input(y), 2.0))
    with split.false_block():
        assert split.status == layers.IfElse.IN_IF_ELSE_FALSE_BLOCKS
        split.output(split.input(y))
    assert split.status == layers.IfElse.OUT_IF_ELSE_BLOCKS
    steps = layers.DynamicRNN()
    assert steps.status == layers.DynamicRNN.BEFORE_RNN
    with steps.block():
        assert steps.status == layers.DynamicRNN.IN_RNN
        steps.output(steps.step_input(fluid.data("words", [None, 2], lod_level=1)))
    assert steps.status == layers.DynamicRNN.AFTER_RNN
