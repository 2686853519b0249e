"""Fluid 1.8's QueueDataset reading alone, with one reader: the program it feeds computes a constant."""
import glob
import os
import sys

os.environ["OMP_NUM_THREADS"] = "1"
import paddle.fluid as fluid

from common import measure

# Fluid leaves a description of its trainer in the working directory.
os.chdir(sys.argv[1])

SAMPLES, BATCH = 200000, 1000
slots = [fluid.data("label", [-1, 1], "int64"), fluid.data("dense", [-1, 13], "float32")]
slots += [fluid.data("C%d" % i, [-1, 1], "int64") for i in range(1, 27)]
fluid.layers.fill_constant([1], "float32", 1.0)
exe = fluid.Executor(fluid.CPUPlace())
exe.run(fluid.default_startup_program())


def read(_):
    dataset = fluid.DatasetFactory().create_dataset("QueueDataset")
    dataset.set_use_var(slots)
    dataset.set_pipe_command("cat")
    dataset.set_batch_size(BATCH)
    dataset.set_thread(1)
    dataset.set_filelist(sorted(glob.glob("part-*")))
    exe.train_from_dataset(fluid.default_main_program(), dataset, thread=1, print_period=10**9)


measure(read, 1, SAMPLES)
