"""LeNet with batch normalisation in Fluid 1.8 on one thread, with the program cache on."""
import os

os.environ["OMP_NUM_THREADS"] = "1"
import numpy as np
import paddle.fluid as fluid

from common import measure

BATCH = 64
img = fluid.layers.data("img", [1, 28, 28])
label = fluid.layers.data("label", [1], dtype="int64")
c = fluid.layers.conv2d(img, 6, 5, padding=2, bias_attr=False)
c = fluid.layers.batch_norm(c, act="relu")
c = fluid.layers.pool2d(c, 2, pool_stride=2)
c = fluid.layers.conv2d(c, 16, 5)
c = fluid.layers.batch_norm(c, act="relu")
c = fluid.layers.pool2d(c, 2, "avg", pool_stride=2)
hidden = fluid.layers.fc(c, 60, act="relu")
logits = fluid.layers.fc(hidden, 10)
loss = fluid.layers.mean(fluid.layers.softmax_with_cross_entropy(logits, label))
fluid.optimizer.Momentum(0.01, 0.9).minimize(loss)
exe = fluid.Executor(fluid.CPUPlace())
exe.run(fluid.default_startup_program())
feed = {
    "img": np.random.RandomState(1).rand(BATCH, 1, 28, 28).astype("float32"),
    "label": (np.arange(BATCH) % 10).reshape(-1, 1).astype("int64"),
}
measure(lambda i: exe.run(feed=feed, fetch_list=[loss], use_program_cache=True), 20, BATCH)
