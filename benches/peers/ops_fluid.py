"""Single operators and a step of ResNet-18 in Fluid 1.8 on one thread; arguments name the cases of bench_ops.rs.

Prints two rates per second for each: of the operator and a mean, and of the same with gradients and an update.
"""
import os

os.environ["OMP_NUM_THREADS"] = "1"
import sys
import time

import numpy as np
import paddle.fluid as fluid

layers = fluid.layers
IMAGES = [8, 64, 32, 32]


def conv(filters, size, **more):
    return lambda x: layers.conv2d(x, filters, size, bias_attr=False, **more)


def conv_bn(x, channels, size, stride, act):
    x = layers.conv2d(x, channels, size, stride, (size - 1) // 2, bias_attr=False)
    return layers.batch_norm(x, act=act)


def resnet18(x):
    x = conv_bn(x, 64, 3, 1, "relu")
    for stage, channels in enumerate([64, 128, 256, 512]):
        for block in range(2):
            stride = 2 if stage and not block else 1
            short = conv_bn(x, channels, 1, 2, None) if stride == 2 else x
            inner = conv_bn(conv_bn(x, channels, 3, stride, "relu"), channels, 3, 1, None)
            x = layers.elementwise_add(inner, short, act="relu")
    return layers.fc(layers.pool2d(x, global_pooling=True, pool_type="avg"), 10)


def lookup(x):
    ids = layers.data("ids", [1], dtype="int64")
    return layers.elementwise_add(layers.embedding(ids, [100000, 64], is_sparse=True), x)


def sequence_pool(x):
    return layers.sequence_pool(layers.lod_reset(x, target_lod=[i * 64 for i in range(65)]), "sum")


def steps(x):
    """32 sequences of 64 steps."""
    return layers.lod_reset(x, target_lod=[i * 64 for i in range(33)])


CASES = {
    "conv2d 3x3": (IMAGES, conv(64, 3, padding=1)),
    "conv2d 1x1": (IMAGES, conv(64, 1)),
    "conv2d 3x3 stride 2": (IMAGES, conv(128, 3, stride=2, padding=1)),
    "conv2d 3x3 small": ([8, 256, 8, 8], conv(256, 3, padding=1)),
    "conv2d 7x7 stride 2": ([2, 3, 224, 224], conv(64, 7, stride=2, padding=3)),
    "depthwise_conv2d": (IMAGES, conv(64, 3, padding=1, groups=64, use_cudnn=False)),
    "pool2d max": (IMAGES, lambda x: layers.pool2d(x, 3, "max", 2, 1)),
    "pool2d avg": (IMAGES, lambda x: layers.pool2d(x, 2, "avg", 2)),
    "batch_norm": (IMAGES, layers.batch_norm),
    "layer_norm": ([1024, 512], layers.layer_norm),
    "softmax": ([1024, 512], layers.softmax),
    "reduce_sum": ([1024, 512], lambda x: layers.reduce_sum(x, 1)),
    "reduce_mean": ([1024, 512], lambda x: layers.reduce_mean(x, 0)),
    "transpose2": ([64, 128, 64], lambda x: layers.transpose(x, [0, 2, 1])),
    "top_k": ([1024, 512], lambda x: layers.topk(x, 5)[0]),
    "sequence_pool": ([4096, 128], sequence_pool),
    "lstm": ([2048, 512], lambda x: layers.dynamic_lstm(steps(x), 512)[0]),
    "gru": ([2048, 384], lambda x: layers.dynamic_gru(steps(x), 128)),
    "lookup_table": ([1000, 64], lookup),
    "adam": ([1000000], lambda x: layers.scale(x, 2.0)),
    "resnet18 on cifar": ([32, 3, 32, 32], resnet18),
}


def rate(name, train):
    shape, layer = CASES[name]
    main, startup, scope = fluid.Program(), fluid.Program(), fluid.Scope()
    with fluid.program_guard(main, startup), fluid.scope_guard(scope), fluid.unique_name.guard():
        loss = layers.mean(layer(layers.create_parameter(shape, "float32")))
        if train:
            optimizer = fluid.optimizer.Adam(1e-3) if name == "adam" else fluid.optimizer.SGD(1e-3)
            optimizer.minimize(loss)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        feed = {"ids": (np.arange(1000) * 7919 % 100000).reshape(-1, 1)} if name == "lookup_table" else {}

        def window(runs):
            start = time.perf_counter()
            for _ in range(runs):
                exe.run(main, feed=feed, fetch_list=[loss], use_program_cache=True)
            return (time.perf_counter() - start) / runs

        window(2)
        runs = int(min(max(0.05 / window(1), 1), 1000))
        return 1 / min(window(runs) for _ in range(5))


rates = [rate(name, train) if name in CASES else float("nan") for name in sys.argv[1:] for train in (False, True)]
print("RESULT 0 %s" % " ".join("%.6f" % r for r in rates))
