"""CTR-DNN in PyTorch on one thread: sparse embedding gradients with SGD, or SparseAdam and Adam."""
import sys

import numpy as np
import torch

from common import measure

ROWS, SLOTS, BATCH, STEPS = 1000001, 26, 1000, 20
torch.set_num_threads(1)
torch.manual_seed(0)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(ROWS, 10, sparse=True)
        torch.nn.init.uniform_(self.table.weight, -0.05, 0.05)
        sizes = [13 + 10 * SLOTS, 400, 400, 400]
        self.layers = torch.nn.ModuleList([torch.nn.Linear(a, b) for a, b in zip(sizes, sizes[1:])])
        self.logits = torch.nn.Linear(400, 2)

    def forward(self, dense, ids):
        x = torch.cat([dense, self.table(ids).flatten(1)], 1)
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.logits(x)


net = Net()
if sys.argv[1] == "sgd":
    optimizers = [torch.optim.SGD(net.parameters(), 1e-4)]
else:
    dense = [p for n, p in net.named_parameters() if not n.startswith("table")]
    optimizers = [torch.optim.SparseAdam(list(net.table.parameters()), 1e-4), torch.optim.Adam(dense, 1e-4)]
random = np.random.RandomState(1)
batches = [
    (
        torch.from_numpy(random.rand(BATCH, 13).astype("float32")),
        torch.from_numpy((random.rand(BATCH, SLOTS) ** 3 * ROWS).astype("int64")),
        torch.from_numpy((random.rand(BATCH) < 0.3).astype("int64")),
    )
    for _ in range(STEPS)
]


def step(i):
    dense, ids, label = batches[i]
    loss = torch.nn.functional.cross_entropy(net(dense, ids), label)
    for o in optimizers:
        o.zero_grad(set_to_none=True)
    loss.backward()
    for o in optimizers:
        o.step()
    loss.item()


measure(step, STEPS, BATCH)
