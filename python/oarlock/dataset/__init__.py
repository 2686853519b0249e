"""Public data sets as readers of samples, cached where users of Fluid already have them.

With ``OARLOCK_SYNTHETIC_DATA=1`` every reader yields made samples of the same shapes instead: nothing is downloaded,
the same call yields the same samples, and a model can learn from them.
"""

from . import (
    cifar, common, conll05, flowers, image, imdb, imikolov, mnist, movielens, sentiment, uci_housing, voc2012, wmt14,
    wmt16,
)

__all__ = [
    "cifar", "common", "conll05", "flowers", "image", "imdb", "imikolov", "mnist", "movielens", "sentiment", "uci_housing",
    "voc2012", "wmt14", "wmt16",
]
