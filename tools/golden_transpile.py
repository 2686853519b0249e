"""Writes crates/oarlock-transpile/tests/golden/programs.npz with Fluid 1.8.5.

    python3.7 tools/golden_transpile.py GOLDEN_DIR OUT.npz

GOLDEN_DIR is the full golden set, whose distributed runs (`dist_*`) are packed as they are. Beside them go the programs that
`DistributeTranspiler` makes of one small network in every other mode, without call stacks.
"""

import glob
import os
import sys

import numpy as np
import paddle.fluid as fluid
from paddle.fluid.proto import framework_pb2
from paddle.fluid.transpiler.geo_sgd_transpiler import GeoSgdTranspiler

SERVERS = "127.0.0.1:6170,127.0.0.1:6171"
LOCAL_RUNS = ("fit_a_line", "fit_a_line_decay", "ctr_dnn_sgd", "mnist_mlp")
SPLIT = {"runtime_split_send_recv": True}
FLEET_SYNC = dict(SPLIT, half_async=True, completely_not_async=True)
FULL = {"opt": "adam", "decay": True, "l2": True}

# name, config, network, and what differs from: sync, two trainers, trainer 0, all programs
CASES = [
    ("sync_full", {}, FULL, {}),
    ("sync_whole", {"slice_var_up": False}, {}, {}),
    ("param_lr", {}, {"param_lr": True, "decay": True}, {}),
    ("piecewise", {}, {"opt": "momentum", "piecewise": True}, {}),
    ("clip_old", {}, {"clip": "old", "l2": True}, {}),
    ("clip_new", {}, {"clip": "new", "l2": True}, {"roles": ()}),
    ("ema", {}, {"ema": True, "dense_only": True}, {"roles": ()}),
    ("async_plain", {}, FULL, {"sync": False}),
    ("async_split", SPLIT, FULL, {"sync": False, "trainer_id": 1}),
    ("half_async", dict(SPLIT, half_async=True), {}, {"sync": False}),
    ("fleet_sync", FLEET_SYNC, FULL, {"sync": False}),
    ("fleet_sync_1", FLEET_SYNC, {}, {"sync": False, "trainers": 1}),
    ("dc_asgd", {"enable_dc_asgd": True}, {"dense_only": True}, {"sync": False}),
    ("geo", dict(SPLIT, geo_sgd_mode=True), FULL, {"sync": False}),
]


def stripped(data):
    """The program without call stacks: they hold the paths of the machine it was built on."""
    program = framework_pb2.ProgramDesc()
    program.ParseFromString(data)
    for op in (op for block in program.blocks for op in block.ops):
        kept = [attr for attr in op.attrs if attr.name != "op_callstack"]
        del op.attrs[:]
        op.attrs.extend(kept)
    return np.frombuffer(program.SerializeToString(), dtype=np.uint8)


def network(opt="sgd", decay=False, piecewise=False, l2=False, clip=None, dense_only=False, param_lr=False, ema=False):
    x, y = fluid.data("x", [None, 8]), fluid.data("y", [None, 1])
    features = [x]
    for slot in () if dense_only else ("C1", "C2"):
        ids = fluid.data(slot, [None, 1], dtype="int64")
        features.append(fluid.layers.embedding(ids, [100, 4], is_sparse=True, param_attr="tab"))
    hidden = fluid.layers.fc(fluid.layers.concat(features, axis=1), 30, act="relu")
    slow = fluid.ParamAttr(learning_rate=0.5) if param_lr else None
    predicted = fluid.layers.fc(hidden, 1, param_attr=slow)
    loss = fluid.layers.mean(fluid.layers.square_error_cost(predicted, y))
    rate = fluid.layers.exponential_decay(0.1, 5, 0.5) if decay else 0.1
    if piecewise:
        rate = fluid.layers.piecewise_decay([3, 6], [0.1, 0.05, 0.01])
    norm = fluid.clip.GradientClipByGlobalNorm(1.0)
    if clip == "old":
        fluid.clip.set_gradient_clip(norm)
    options = {
        "regularization": fluid.regularizer.L2Decay(0.1) if l2 else None,
        "grad_clip": norm if clip == "new" else None,
    }
    optimizers = {
        "sgd": lambda: fluid.optimizer.SGD(rate, **options),
        "momentum": lambda: fluid.optimizer.Momentum(rate, 0.9, **options),
        "adam": lambda: fluid.optimizer.Adam(rate, **options),
    }
    optimizers[opt]().minimize(loss)
    if ema:
        fluid.optimizer.ExponentialMovingAverage(0.9).update()


def build(net):
    main, startup = fluid.Program(), fluid.Program()
    main.random_seed = startup.random_seed = 90
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        network(**net)
    return main, startup


def transpiled(config, net, sync=True, trainers=2, trainer_id=0, roles=("trainer", "pserver")):
    """Every role needs a transpiler and a network of its own: asking for one spoils the other."""
    main, startup = build(net)
    programs = {"main": main.desc.serialize_to_string(), "startup": startup.desc.serialize_to_string()}
    for role in roles:
        if role != roles[0]:
            # Numbers of name scopes run on; those of the first role are the network's own.
            main, startup = build(net)
        settings = fluid.DistributeTranspilerConfig()
        settings.sync_mode = sync
        for name, value in config.items():
            setattr(settings, name, value)
        transpiler = (GeoSgdTranspiler if config.get("geo_sgd_mode") else fluid.DistributeTranspiler)(settings)
        # Set here because the constructor refuses small blocks.
        transpiler.config.min_block_size = 64
        transpiler.transpile(
            trainer_id, program=main, pservers=SERVERS, trainers=trainers, sync_mode=sync, startup_program=startup,
            current_endpoint=SERVERS.split(",")[0])
        made = {}
        if role == "trainer":
            made["trainer"] = transpiler.get_trainer_program(wait_port=False)
            made["trainer_startup"] = startup
        else:
            for i, endpoint in enumerate(SERVERS.split(",")):
                made["pserver%d" % i], made["pserver%d_startup" % i] = transpiler.get_pserver_programs(endpoint)
        programs.update((name, program.desc.serialize_to_string()) for name, program in made.items())
    return programs


def main(golden, out):
    arrays = {}
    wanted = [os.path.join(golden, run, name + ".program") for run in LOCAL_RUNS for name in ("main", "startup")]
    for path in wanted + glob.glob(os.path.join(golden, "dist_*", "*.program")):
        run, name = path[: -len(".program")].split(os.sep)[-2:]
        with open(path, "rb") as file:
            arrays["%s.%s" % (run, name)] = stripped(file.read())
    for case, config, net, differs in CASES:
        for name, data in transpiled(config, net, **differs).items():
            arrays["%s.%s" % (case, name)] = stripped(data)
    np.savez_compressed(out, **{key: arrays[key] for key in sorted(arrays)})


if __name__ == "__main__":
    main(*sys.argv[1:])
