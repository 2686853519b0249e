"""Fluid 1.8 trains CTR-DNN straight from files: `train_fluid.py DIRECTORY TEST_DIRECTORY sgd|adam THREADS PASSES SEED`.

Prints the rates of all passes but the first, and the AUC on the test files at the end."""
import glob
import os
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"
import numpy as np
import paddle.fluid as fluid

from common import report

train, test, optimizer, threads, passes, seed = sys.argv[1], sys.argv[2], sys.argv[3], *map(int, sys.argv[4:7])
train, test = sorted(glob.glob(train + "/part-*")), sorted(glob.glob(test + "/part-*"))
# Fluid leaves a description of its trainer in the working directory.
os.chdir(os.path.dirname(train[0]))
ROWS, BATCH = 1000001, 1000
fluid.default_main_program().random_seed = fluid.default_startup_program().random_seed = seed
slots = [fluid.data("label", [-1, 1], "int64"), fluid.data("dense", [-1, 13], "float32")]
slots += [fluid.data("C%d" % i, [-1, 1], "int64") for i in range(1, 27)]
table = fluid.ParamAttr("SparseFeatFactors", initializer=fluid.initializer.Uniform(-0.05, 0.05))
features = slots[1:2] + [fluid.layers.embedding(s, size=[ROWS, 10], is_sparse=True, param_attr=table) for s in slots[2:]]
x = fluid.layers.concat(features, axis=1)
for _ in range(3):
    x = fluid.layers.fc(x, 400, act="relu")
predicted = fluid.layers.fc(x, 2, act="softmax")
loss = fluid.layers.mean(fluid.layers.cross_entropy(predicted, slots[0]))
_, _, stats = fluid.layers.auc(predicted, slots[0], num_thresholds=4096, slide_steps=20)
tested = fluid.default_main_program().clone(for_test=True)
if optimizer == "sgd":
    fluid.optimizer.SGD(0.1).minimize(loss)
else:
    fluid.optimizer.Adam(1e-3, lazy_mode=True).minimize(loss)
exe = fluid.Executor(fluid.CPUPlace())
exe.run(fluid.default_startup_program())


def run(program, files, threads):
    dataset = fluid.DatasetFactory().create_dataset("QueueDataset")
    dataset.set_use_var(slots)
    dataset.set_pipe_command("cat")
    dataset.set_batch_size(BATCH)
    dataset.set_thread(threads)
    dataset.set_filelist(files)
    exe.train_from_dataset(program, dataset, thread=threads, print_period=10**9)


samples = sum(sum(1 for _ in open(f)) for f in train)
rates = []
for _ in range(passes):
    start = time.perf_counter()
    run(fluid.default_main_program(), train, threads)
    rates.append(samples / (time.perf_counter() - start))
histograms = [fluid.global_scope().find_var(s.name).get_tensor() for s in stats[2:]]
for h in histograms:
    h.set(np.zeros(h.shape(), "int64"), fluid.CPUPlace())
run(tested, test, 1)
positive, negative = (np.array(h).ravel()[::-1].astype("float64") for h in histograms)
above = np.cumsum(positive) - positive / 2
print("AUC %.6f" % (np.sum(above * negative) / positive.sum() / negative.sum()))
report(rates[1:] or rates)
