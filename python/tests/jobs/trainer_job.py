"""A worker that trains with ``fluid.Trainer`` on its part of every batch; writes its parameters as JSON."""

import json
import os

import numpy as np

import oarlock.fluid as fluid


def train_func():
    x, y = fluid.layers.data("x", [3]), fluid.layers.data("y", [1])
    attr = fluid.ParamAttr(name="w", initializer=fluid.initializer.Constant(0.1))
    out = fluid.layers.fc(x, 1, param_attr=attr, bias_attr=fluid.ParamAttr(name="b"))
    return fluid.layers.mean(fluid.layers.square_error_cost(out, y))


def train(rank, workers):
    """The parameters after 5 steps."""
    chance = np.random.RandomState(0)
    batches = [(chance.rand(8, 3).astype("float32"), chance.rand(8, 1).astype("float32")) for _ in range(5)]
    share = 8 // workers

    def reader():
        for xs, ys in batches:
            yield [(xs[i], ys[i]) for i in range(rank * share, (rank + 1) * share)]

    trainer = fluid.Trainer(train_func, lambda: fluid.optimizer.SGD(0.1))
    trainer.train(1, lambda event: None, reader, ["x", "y"])
    return {name: np.array(trainer.scope.find_var(name).get_tensor()).ravel().tolist() for name in "wb"}


if __name__ == "__main__":
    number = int(os.environ["PADDLE_TRAINER_ID"])
    made = train(number, int(os.environ["PADDLE_TRAINERS_NUM"]))
    with open("result.%d" % number, "w") as file:
        json.dump(made, file)
