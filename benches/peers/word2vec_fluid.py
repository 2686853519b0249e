"""Fluid 1.8 trains word2vec straight from files on one machine: `word2vec_fluid.py DIRECTORY THREADS PASSES`."""
import glob
import os
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["CPU_NUM"] = sys.argv[2]
import paddle.fluid as fluid

import ps_networks
from common import report

files, threads = sorted(glob.glob(sys.argv[1] + "/part-*")), int(sys.argv[2])
# Fluid leaves a description of its trainer in the working directory.
os.chdir(sys.argv[1])
slots, loss, _, batch = ps_networks.word2vec(fluid)
ps_networks.optimizer(fluid, "word2vec", "sgd").minimize(loss)
exe = fluid.Executor(fluid.CPUPlace())
exe.run(fluid.default_startup_program())
samples = sum(sum(1 for _ in open(f)) for f in files)
rates = []
for _ in range(int(sys.argv[3])):
    start = time.perf_counter()
    ps_networks.train(fluid, exe, fluid.default_main_program(), slots, files, batch, threads)
    rates.append(samples / (time.perf_counter() - start))
report(rates[1:])
