"""Linear regression in Fluid 1.8, with the program cache on (its fastest way to call `exe.run`)."""
import os

os.environ["OMP_NUM_THREADS"] = "1"
import numpy as np
import paddle.fluid as fluid

from common import measure

x = fluid.data("x", [-1, 13], "float32")
y = fluid.data("y", [-1, 1], "float32")
loss = fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(x, 1), y))
fluid.optimizer.SGD(0.01).minimize(loss)
exe = fluid.Executor(fluid.CPUPlace())
exe.run(fluid.default_startup_program())
random = np.random.RandomState(1)
feed = {"x": random.rand(20, 13).astype("float32"), "y": random.rand(20, 1).astype("float32")}
measure(lambda i: exe.run(feed=feed, fetch_list=[loss], use_program_cache=True), 5000, 1)
