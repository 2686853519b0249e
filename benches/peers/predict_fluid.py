"""Predictions in Fluid 1.8 on one thread, with its predictor and zero-copy tensors: `predict_fluid.py MODEL BATCH`."""
import os
import resource
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"
import numpy as np
from paddle.fluid.core import AnalysisConfig, create_paddle_predictor

ROWS, SLOTS, BATCHES = 1000001, 26, 200
batch = int(sys.argv[2])
calls = 1000 if batch == 1 else 300
config = AnalysisConfig(sys.argv[1])
config.disable_gpu()
config.disable_glog_info()
config.switch_use_feed_fetch_ops(False)
config.switch_ir_optim(True)
config.set_cpu_math_library_num_threads(1)
predictor = create_paddle_predictor(config)
dense = predictor.get_input_tensor("dense")
slots = [predictor.get_input_tensor("C%d" % i) for i in range(SLOTS)]
output = predictor.get_output_tensor(predictor.get_output_names()[0])
random = np.random.RandomState(1)
batches = []
for _ in range(BATCHES):
    ids = [(random.rand(batch, 1) ** 3 * ROWS).astype("int64") for _ in range(SLOTS)]
    batches.append((random.rand(batch, 13).astype("float32"), ids))


def call(i):
    """Seconds that one call takes: inputs copied in, output copied out."""
    values, ids = batches[i % BATCHES]
    start = time.perf_counter()
    dense.copy_from_cpu(values)
    for slot, array in zip(slots, ids):
        slot.copy_from_cpu(array)
    predictor.zero_copy_run()
    output.copy_to_cpu()
    return time.perf_counter() - start


# The rate of the median call of each window; the first window warms up.
medians = [np.median([call(i) for i in range(calls)]) for _ in range(7)][1:]
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
print("RESULT %.1f %s" % (peak, " ".join("%.2f" % (batch / m) for m in medians)))
