"""A process of data parallel training in eager mode: prints losses and parameters."""

import json
import sys

import numpy as np

import oarlock.fluid as fluid
from oarlock.fluid.dygraph import DataParallel, Embedding, Layer, Linear, ParallelEnv, guard, prepare_context, to_variable


class Net(Layer):
    def __init__(self, sparse):
        super().__init__()
        self.table = Embedding([20, 3], is_sparse=sparse)
        self.out = Linear(3, 1)
        self.unused = Linear(2, 2)

    def forward(self, ids):
        return self.out(self.table(ids))


def main(job):
    rng = np.random.RandomState(0)
    ids, targets = rng.randint(0, 20, (5, 8)), rng.rand(5, 8, 1).astype("float32")
    env = ParallelEnv()
    with guard():
        fluid.default_startup_program().random_seed = 3 + env.local_rank
        strategy = prepare_context()
        net = Net(job["sparse"])
        if env.nranks == 1:
            for param in net.parameters():
                param.set_value(np.array(job["first"][param.name], "float32").reshape(param.shape))
        model = DataParallel(net, strategy)
        optimizer = fluid.optimizer.SGD(0.1, parameter_list=net.parameters())
        mine = slice(env.local_rank, None, env.nranks)
        losses, first = [], None
        for step in range(5):
            cost = fluid.layers.square_error_cost(model(to_variable(ids[step][mine])), to_variable(targets[step][mine]))
            first = first or {p.name: p.numpy().ravel().tolist() for p in net.parameters()}
            loss = model.scale_loss(fluid.layers.mean(cost))
            loss.backward()
            model.apply_collective_grads()
            optimizer.minimize(loss)
            model.clear_gradients()
            losses.append(float(loss.numpy()[0]))
        last = {p.name: p.numpy().ravel().tolist() for p in net.parameters()}
    print(json.dumps({"losses": losses, "first": first, "last": last}))


main(json.loads(sys.argv[1]))
