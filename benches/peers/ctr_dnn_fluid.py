"""CTR-DNN in Fluid 1.8 on one thread, with the program cache on (its fastest way to call `exe.run`)."""
import os
import sys

os.environ["OMP_NUM_THREADS"] = "1"
import numpy as np
import paddle.fluid as fluid

from common import measure

ROWS, SLOTS, BATCH, STEPS = 1000001, 26, 1000, 20
label = fluid.data("label", [-1, 1], "int64")
features = [fluid.data("dense", [-1, 13], "float32")]
for i in range(SLOTS):
    ids = fluid.data("C%d" % i, [-1, 1], "int64")
    table = fluid.ParamAttr("SparseFeatFactors", initializer=fluid.initializer.Uniform(-0.05, 0.05))
    features.append(fluid.layers.embedding(ids, size=[ROWS, 10], is_sparse=True, param_attr=table))
x = fluid.layers.concat(features, axis=1)
for _ in range(3):
    x = fluid.layers.fc(x, 400, act="relu")
predicted = fluid.layers.fc(x, 2, act="softmax")
loss = fluid.layers.mean(fluid.layers.cross_entropy(predicted, label))
fluid.layers.auc(predicted, label, num_thresholds=4096, slide_steps=20)
if sys.argv[1] == "sgd":
    fluid.optimizer.SGD(1e-4).minimize(loss)
else:
    fluid.optimizer.Adam(1e-4, lazy_mode=True).minimize(loss)
exe = fluid.Executor(fluid.CPUPlace())
exe.run(fluid.default_startup_program())
random = np.random.RandomState(1)
batches = []
for _ in range(STEPS):
    feed = {"C%d" % i: (random.rand(BATCH, 1) ** 3 * ROWS).astype("int64") for i in range(SLOTS)}
    feed["dense"] = random.rand(BATCH, 13).astype("float32")
    feed["label"] = (random.rand(BATCH, 1) < 0.3).astype("int64")
    batches.append(feed)
measure(lambda i: exe.run(feed=batches[i], fetch_list=[loss], use_program_cache=True), STEPS, BATCH)
