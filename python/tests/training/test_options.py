"""Every option is honoured, accepted with a reason, or refused by name (docs/options.md)."""

import glob
import logging
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import replica_models as models
import oarlock.fluid as fluid
from oarlock.distributed import fleet
from oarlock.fluid import layers, options
from oarlock.fluid.incubate.fleet.collective import DistributedStrategy

# Another value than the default, of the same type.
OTHER = {bool: lambda v: not v, int: lambda v: v + 1, float: lambda v: v + 0.5, str: lambda v: v + "x", list: lambda v: ["x"],
         type(None): lambda v: True}


def other(default):
    return OTHER[type(default)](default)


@pytest.fixture(autouse=True)
def as_if_nothing_was_set(monkeypatch):
    monkeypatch.setattr(options, "_logged", set())
    monkeypatch.setattr(fluid.executor, "_checked_hints", set())
    monkeypatch.setattr(fluid.flags, "_values", {})


def set_flag(name, value):
    flags = fluid.core.globals()
    if flags.is_public(name):
        fluid.set_flags({name: value})
        assert fluid.get_flags(name) == {name: value}
    else:
        # As in Fluid, set_flags refuses private flags.
        flags[name] = value
    assert flags[name] == value


def set_field(strategy):
    def set_it(name, value):
        made = strategy()
        setattr(made, name, value)
        fluid.CompiledProgram(fluid.default_main_program()).with_data_parallel(
            places=[fluid.CPUPlace()], **{"build_strategy" if strategy is fluid.BuildStrategy else "exec_strategy": made})

    return set_it


def set_argument_of_run(name, value):
    one = layers.fill_constant([1], "float32", 1.0)
    fluid.Executor().run(fetch_list=[one], **{name: value})


def arguments_of(layer):
    """Arguments that a layer needs."""
    image, rows = fluid.data("image", [None, 3, 4, 4]), fluid.data("rows", [None, 4])
    words = fluid.data("words", [None, 1], lod_level=1)
    label = fluid.data("label", [None, 1], "int64")
    three = layers.create_parameter([3], "float32")
    return {
        "accuracy": dict(input=rows, label=label),
        "affine_channel": dict(x=image, scale=three, bias=three),
        "auc": dict(input=layers.softmax(layers.fc(rows, 2)), label=label),
        "data": dict(name="fed", shape=[1]),
        "data_norm": dict(input=rows),
        "fill_constant": dict(shape=[1], dtype="float32", value=0.0),
        "gaussian_random_batch_size_like": dict(input=rows, shape=[-1, 2]),
        "label_smooth": dict(label=rows),
        "lrn": dict(input=image),
        "pool2d": dict(input=image, pool_size=2),
        "randint": dict(low=3, shape=[2]),
        "sampling_id": dict(x=rows),
        "sequence_conv": dict(input=words, num_filters=2),
        "sequence_softmax": dict(input=words),
        "softmax": dict(input=rows),
        "uniform_random_batch_size_like": dict(input=rows, shape=[-1, 2]),
    }[layer]


def set_argument_of_a_layer(name, value):
    layer, _, argument = name.rpartition(".")
    layer = layer or {"use_cudnn": "pool2d", "force_cpu": "fill_constant", "device": "randint"}[name]
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        getattr(layers, layer)(**dict(arguments_of(layer), **{argument: value}))


def set_argument_of_memory_optimize(name, value):
    fluid.memory_optimize(fluid.default_main_program(), **{name: value})


def set_field_of_transpiler_config(name, value):
    setattr(fluid.DistributeTranspilerConfig(), name, value)


def set_field_of_collective_strategy(name, value):
    setattr(DistributedStrategy(), name, value)


def set_field_of_fleet_strategy(name, value):
    field, _, key = name.partition(".")
    strategy = fleet.DistributedStrategy()
    setattr(strategy, field, {key: value} if key else value)
    assert (getattr(strategy, field)[key] if key else getattr(strategy, field)) == value


def use_old_name(name, value):
    raise AssertionError("%s is only a name" % name)


SET = {
    "fleet.DistributedStrategy": set_field_of_fleet_strategy,
    "paddle.distributed.fleet": use_old_name,
    "flag": set_flag,
    "DistributedStrategy": set_field_of_collective_strategy,
    "DistributeTranspilerConfig": set_field_of_transpiler_config,
    "BuildStrategy": set_field(fluid.BuildStrategy),
    "ExecutionStrategy": set_field(fluid.ExecutionStrategy),
    "Executor.run": set_argument_of_run,
    "layer argument": set_argument_of_a_layer,
    "memory_optimize": set_argument_of_memory_optimize,
    # All of them are honoured.
    "environment variable": None,
}


def of_class(kind):
    return [(place, name) for place in SET for name in options.names(place, kind)]


def test_every_place_is_tested():
    assert set(options._table()) == set(SET)


@pytest.mark.parametrize("place,name", of_class("accepted"))
def test_accepted_options_are_logged_once(place, name, caplog):
    with caplog.at_level(logging.INFO, "oarlock"):
        for _ in range(2):
            SET[place](name, other(options.defaults(place)[name]))
    said = [r.getMessage() for r in caplog.records if name in r.getMessage()]
    assert len(said) == 1 and "changes nothing: " in said[0]


@pytest.mark.parametrize("place,name", of_class("refused"))
def test_refused_options_are_named_with_advice(place, name):
    value = other(options.defaults(place)[name])
    with pytest.raises(NotImplementedError, match="%s = .* is not supported: " % name):
        SET[place](name, value)


def test_variables_are_refused_where_they_would_be_ignored():
    rows = fluid.data("rows", [None, 4])
    with pytest.raises(NotImplementedError, match="data_norm.param_attr"):
        layers.data_norm(rows, param_attr=rows)


@pytest.mark.parametrize("place", ["flag", "BuildStrategy", "ExecutionStrategy"])
def test_unknown_names_are_refused(place):
    name = next(iter(options.defaults(place)))
    with pytest.raises(ValueError, match="there is no %sx; did you mean %s" % (name, name)):
        SET[place](name + "x", 1)


def test_default_options_log_nothing(caplog):
    with caplog.at_level(logging.INFO, "oarlock"):
        for place in SET:
            for name, default in options.defaults(place).items():
                if (place, name) not in of_class("honoured"):
                    SET[place](name, default)
    assert not caplog.records


def a_network():
    x = fluid.data("x", [None, 2])
    y = layers.fc(x, 1)
    return y, {"x": np.array([[1, 2]], "float32")}


def check_nan_inf():
    x = fluid.data("x", [None, 1])
    y = layers.log(x)
    feed = {"x": -np.ones([2, 1], "float32")}
    exe = fluid.Executor()
    assert np.isnan(exe.run(feed=feed, fetch_list=[y])[0]).all()
    fluid.set_flags({"FLAGS_check_nan_inf": True})
    with pytest.raises(fluid.core.EnforceNotMet, match="`log` wrote NaN"):
        exe.run(feed=feed, fetch_list=[y])
    fluid.set_flags({"FLAGS_check_nan_inf": False})


def arguments_of_run():
    y, feed = a_network()
    exe, scope = fluid.Executor(), fluid.Scope()
    main = fluid.default_main_program()
    exe.run(fluid.default_startup_program(), scope=scope)
    assert fluid.global_scope().find_var("fc_0.w_0") is None
    (array,) = exe.run(program=main, feed=feed, fetch_list=[y], scope=scope)
    (tensor,) = exe.run(main, feed, [y], scope=scope, return_numpy=False)
    assert isinstance(tensor, fluid.LoDTensor) and np.array(tensor).tolist() == array.tolist()


def use_prune():
    y, feed = a_network()
    fluid.optimizer.SGD(0.5).minimize(layers.mean(y))
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    step = lambda **more: exe.run(feed=feed, fetch_list=[y], **more)[0].item()
    assert step(use_prune=True) == step(use_prune=True) == step()
    assert step() != step()


def arguments_of_memory_optimize(capsys):
    y, _ = a_network()
    fluid.memory_optimize(fluid.default_main_program(), skip_opt_set={y.name}, print_log=True)
    assert y.name in capsys.readouterr().out


def knobs_of_the_communicator():
    from oarlock.fluid.incubate.fleet.parameter_server.distribute_transpiler.distributed_strategy import TrainerRuntimeConfig

    assert TrainerRuntimeConfig().get_communicator_flags() == {}
    fluid.set_flags({name: other(default) for name, default in options.defaults("flag").items() if name in COMMUNICATOR})
    found = TrainerRuntimeConfig().get_communicator_flags()
    assert found["communicator_max_merge_var_num"] == "21" and len(found) == len(COMMUNICATOR)


def rpc_deadline():
    """A trainer whose server was never started waits for the deadline."""
    script = "import oarlock.fluid as fluid; fluid.set_flags({'FLAGS_rpc_deadline': 300}); " \
        "fluid.optimizer.SGD(0.1).minimize(fluid.layers.mean(fluid.layers.fc(fluid.data('x', [None, 1]), 1))); " \
        "t = fluid.DistributeTranspiler(); t.transpile(0, pservers='127.0.0.1:9'); t.get_trainer_program()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert "TimeoutError" in done.stderr and "127.0.0.1:9 did not answer in 0 s" in done.stderr, done.stderr


def gradient_scale_strategy():
    run = lambda scale: models.run(fluid, models.sgd, steps=2, gradient_scale_strategy=scale)["losses"]
    assert run(0)[0] == run(1)[0] and run(0)[1] != run(1)[1]


def sync_batch_norm():
    run = lambda sync: models.run(fluid, models.batch_norm, steps=1, sync_batch_norm=sync)["losses"]
    assert run(False) != run(True)


def return_merged():
    y, feed = a_network()
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    compiled = fluid.CompiledProgram(fluid.default_main_program()).with_data_parallel(places=[fluid.CPUPlace()] * 2)
    feed["x"] = np.repeat(feed["x"], 3, axis=0)
    (whole,) = exe.run(compiled, feed=feed, fetch_list=[y])
    ((first, second),) = exe.run(compiled, feed=feed, fetch_list=[y], return_merged=False)
    assert np.concatenate([first, second]).tolist() == whole.tolist() and first.shape == (2, 1)


COMMUNICATOR = [name for name in options.names("flag", "honoured") if name.startswith("FLAGS_communicator_")]

HONOURED = {
    **{name: knobs_of_the_communicator for name in COMMUNICATOR},
    "FLAGS_rpc_deadline": rpc_deadline,
    "FLAGS_check_nan_inf": check_nan_inf,
    "program": arguments_of_run, "feed": arguments_of_run, "fetch_list": arguments_of_run, "scope": arguments_of_run,
    "return_numpy": arguments_of_run, "use_prune": use_prune, "return_merged": return_merged,
    "gradient_scale_strategy": gradient_scale_strategy, "sync_batch_norm": sync_batch_norm,
    "input_program": arguments_of_memory_optimize, "skip_opt_set": arguments_of_memory_optimize,
    "print_log": arguments_of_memory_optimize,
}


# A value that shows, and what must be set with it.
ASYNC = {"sync_mode": False}
WORKERS = {"mode": "nccl2"}
FIELDS = {
    "slice_var_up": (False, {}), "split_method": (fluid.transpiler.HashName, {}), "min_block_size": (10 ** 6, {}),
    "enable_dc_asgd": (True, ASYNC), "mode": ("nccl2", {}), "print_log": (True, {}), "sync_mode": (False, {}),
    "runtime_split_send_recv": (True, ASYNC), "half_async": (True, dict(ASYNC, runtime_split_send_recv=True)),
    "completely_not_async": (True, dict(ASYNC, runtime_split_send_recv=True)), "geo_sgd_mode": (True, ASYNC),
    "nccl_comm_num": (2, WORKERS), "use_hierarchical_allreduce": (True, WORKERS),
    "hierarchical_allreduce_inter_nranks": (2, dict(WORKERS, use_hierarchical_allreduce=True)),
    "collective_mode": ("local_sgd", {"mode": "collective"}), "fuse_grad_size_in_MB": (1.0, WORKERS), "max_staleness": (3, ASYNC),
    "local_sgd_k_steps": (3, {"mode": "collective", "collective_mode": "local_sgd"}),
    "local_sgd_begin_step": (4, {"mode": "collective", "collective_mode": "local_sgd", "local_sgd_k_steps": 2}),
}


def transpiled(fields):
    """Everything that comes out, as text."""
    with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard():
        loss = layers.mean(layers.fc(layers.fc(fluid.data("x", [None, 200]), 200), 1))
        fluid.optimizer.SGD(0.1).minimize(loss)
        config = fluid.DistributeTranspilerConfig()
        for name, value in fields.items():
            setattr(config, name, value)
        made = fluid.DistributeTranspiler(config)
        workers = "127.0.0.1:1,127.0.0.1:2,127.0.0.1:3,127.0.0.1:4"
        servers = config.mode == "pserver"
        made.transpile(0, pservers="127.0.0.1:1,127.0.0.1:2", trainers=2 if servers else workers, current_endpoint="127.0.0.1:1")
        programs = list(made.get_pserver_programs("127.0.0.1:2")) if servers else []
        programs += [made.get_trainer_program(wait_port=False), fluid.default_startup_program()]
        return "\n".join(str(program) for program in programs)


@pytest.mark.parametrize("name", FIELDS)
def test_fields_of_the_transpiler_config_change_programs(name, capsys):
    value, more = FIELDS[name]
    default = dict(more, **({"collective_mode": "grad_allreduce"} if name == "collective_mode" else {}))
    before = transpiled(default) + capsys.readouterr().out
    assert transpiled(dict(more, **{name: value})) + capsys.readouterr().out != before


def test_all_fields_of_the_transpiler_are_shown():
    # That a trainer waits, and how often GEO exchanges, is seen in test_ps; how far a trainer may be ahead, in the tests of the core.
    elsewhere = {"wait_port", "geo_sgd_need_push_nums", "max_staleness"}
    assert set(FIELDS) | elsewhere == set(options.names("DistributeTranspilerConfig", "honoured"))


@pytest.mark.parametrize("place,name", of_class("renamed"))
def test_renamed_options_say_what_they_are_called_now(place, name):
    text = options._table()[place][name][1][0][1]
    owner = fleet.DistributedStrategy() if place == "fleet.DistributedStrategy" else fleet
    with pytest.raises(AttributeError) as raised:
        getattr(owner, name)
    assert "there is no %s any more; use %s" % (name, text) in str(raised.value)
    if place == "fleet.DistributedStrategy":
        with pytest.raises(AttributeError, match="there is no %s any more" % name):
            setattr(owner, name, True)


# Fields that have tests of their own: here, in test_collective and in test_fleet2.
ELSEWHERE = ("DistributeTranspilerConfig", "DistributedStrategy", "environment variable", "fleet.DistributedStrategy")


@pytest.mark.parametrize("name", [name for place, name in of_class("honoured") if place not in ELSEWHERE])
def test_honoured_options_do_what_they_say(name, capsys):
    shown = HONOURED[name]
    shown(capsys) if shown is arguments_of_memory_optimize else shown()


def test_flags_of_the_environment():
    script = "import logging; logging.basicConfig(level='INFO'); import oarlock.fluid as fluid; fluid.Executor(); " \
        "print(fluid.get_flags(['FLAGS_check_nan_inf', 'FLAGS_paddle_num_threads']))"

    def run(**flags):
        return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=dict(os.environ, **flags))

    done = run(FLAGS_check_nan_inf="true", FLAGS_paddle_num_threads="4", FLAGS_chek_nan_inf="1")
    assert done.stdout.strip() == "{'FLAGS_check_nan_inf': True, 'FLAGS_paddle_num_threads': 4}"
    assert "FLAGS_paddle_num_threads = 4 changes nothing" in done.stderr
    assert "oarlock: warning: nothing reads FLAGS_chek_nan_inf; did you mean FLAGS_check_nan_inf?" in done.stderr
    assert "print the program" in run(FLAGS_print_sub_graph_dir="/tmp").stderr
    assert "FLAGS_check_nan_inf" in run(FLAGS_check_nan_inf="perhaps").stderr
    done = run(OARLOCK_ON_LOS="wait", FLAGS_dist_threadpool_size="2")
    assert "InvalidArgument" in done.stderr and "did you mean OARLOCK_ON_LOSS?" in done.stderr
    done = run(OARLOCK_COLOUR_SCHEME="dark", FLAGS_dist_threadpool_size="2", OARLOCK_PORT="tcp://10.0.0.1:80")
    assert done.returncode == 0 and "nothing reads OARLOCK_COLOUR_SCHEME" in done.stderr
    assert "OARLOCK_PORT" not in done.stderr and "nothing reads FLAGS_" not in done.stderr


def test_every_variable_that_the_sources_read_is_in_the_table():
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
    known = set(options.defaults("environment variable"))
    with open(os.path.join(root, "crates", "oarlock", "src", "settings", "environment.rs")) as f:
        of_project = re.search(r"const PROJECT.*?\];", f.read(), re.S).group()
    of_project = re.findall(r'"(OARLOCK_\w+)"', of_project)
    read = set()
    for folder in ("crates", "python/oarlock", "examples", "xtask"):
        for path in glob.glob(os.path.join(root, folder, "**", "*.[rp][sy]"), recursive=True):
            with open(path) as f:
                read.update(re.findall(r"\b(OARLOCK_[A-Z][A-Z_]*[A-Z])\b", f.read()))
    # Made up by the tests of the table itself, and names that are no variables.
    read -= {"OARLOCK_ON_LOS", "OARLOCK_COLOUR_SCHEME", "OARLOCK_PS_SERVICE_HOST", "OARLOCK_PORT", "OARLOCK_STATE", "OARLOCK_STEP", "OARLOCK_TLS"}
    unlisted = {n for n in read - known if not any(n == p or (p.endswith("_") and n.startswith(p)) for p in of_project)}
    assert not unlisted, "add them to crates/oarlock/src/settings/environment.rs"
