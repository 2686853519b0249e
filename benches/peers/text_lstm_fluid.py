"""A text classifier of two LSTM layers in Fluid 1.8 on one thread, with the program cache on. Arguments: batch, hidden width."""
import os
import sys

os.environ["OMP_NUM_THREADS"] = "1"
import numpy as np
import paddle.fluid as fluid

from common import measure

BATCH, HIDDEN = int(sys.argv[1]), int(sys.argv[2])
WORDS = 10000
words = fluid.layers.data("words", [1], dtype="int64", lod_level=1)
label = fluid.layers.data("label", [1], dtype="int64")
x = fluid.layers.embedding(words, [WORDS, 128], is_sparse=True)
x, _ = fluid.layers.dynamic_lstm(fluid.layers.fc(x, 4 * HIDDEN), 4 * HIDDEN)
x, _ = fluid.layers.dynamic_lstm(fluid.layers.fc(x, 4 * HIDDEN), 4 * HIDDEN, is_reverse=True)
logits = fluid.layers.fc(fluid.layers.sequence_pool(x, "max"), 2)
loss = fluid.layers.mean(fluid.layers.softmax_with_cross_entropy(logits, label))
fluid.optimizer.SGD(0.1).minimize(loss)
exe = fluid.Executor(fluid.CPUPlace())
exe.run(fluid.default_startup_program())
lengths = [40 + i * 37 % 81 for i in range(BATCH)]
rows = sum(lengths)
feed = {
    "words": fluid.create_lod_tensor(
        (np.arange(rows) * 7919 % WORDS).reshape(-1, 1).astype("int64"), [lengths], fluid.CPUPlace()),
    "label": (np.arange(BATCH) % 2).reshape(-1, 1).astype("int64"),
}
measure(lambda i: exe.run(feed=feed, fetch_list=[loss], use_program_cache=True), 3, rows)
