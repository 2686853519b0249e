"""Runs ``dist_train.py`` as ``python -m oarlock.paddle`` does, with made data, one order of batches and one seed."""

import os
import random

import numpy as np

from oarlock import paddle

if __name__ == "__main__":
    import oarlock

    oarlock.install_as_paddle()
    rng = np.random.RandomState(3)
    x = rng.uniform(-1, 1, (404, 13)).astype("float32")
    y = (x.dot(np.arange(13, dtype="float32")) + 20).astype("float32")
    epoch = [100 * int(os.environ.get("PADDLE_TRAINER_ID", 0))]

    def train():
        def reader():
            # The order of every epoch, whatever else draws random numbers.
            epoch[0] += 1
            random.seed(epoch[0])
            return iter([(a, np.array([b])) for a, b in zip(x, y)])

        return reader

    oarlock.dataset.uci_housing.train = train
    oarlock.fluid.default_startup_program().random_seed = 7
    oarlock.fluid.default_main_program().random_seed = 7
    paddle.main([os.path.join(os.path.dirname(os.path.abspath(__file__)), "dist_train.py")])
