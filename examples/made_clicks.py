"""Made impressions and clicks for wide_deep.py, deepfm.py and dcn.py."""

import numpy as np

DENSE, SLOTS, IDS = 8, 10, 20


def clicks(count, rng):
    """Made impressions: the click depends on each id, on the dense features and on pairs of ids."""
    world = np.random.RandomState(41)
    weight = world.normal(0, 0.7, (SLOTS, IDS))
    factors = world.normal(0, 0.6, (SLOTS, IDS, 3))
    dense_weight = world.normal(0, 1, DENSE)
    ids = rng.randint(0, IDS, (count, SLOTS))
    dense = rng.rand(count, DENSE)
    slot = np.arange(SLOTS)
    chosen = factors[slot, ids]
    pairs = (chosen.sum(axis=1) ** 2).sum(axis=1) - (chosen ** 2).sum(axis=(1, 2))
    logit = weight[slot, ids].sum(axis=1) + (dense - 0.5).dot(dense_weight) + 0.3 * pairs
    label = rng.rand(count) < 1 / (1 + np.exp(-logit))
    # One table holds the ids of all slots, slot by slot.
    return (ids + slot * IDS).astype("int64"), dense.astype("float32"), label.reshape(-1, 1).astype("int64")


def batches(ids, dense, label, size=100):
    """Feeds of `size` impressions."""
    for start in range(0, len(label), size):
        part = slice(start, start + size)
        yield {"ids": ids[part], "dense": dense[part], "label": label[part]}
