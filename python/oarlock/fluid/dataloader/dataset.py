"""Data sets whose samples have numbers."""

__all__ = ["Dataset"]


class Dataset:
    """The base of data sets: derive from it and write ``__getitem__``, which returns a sample, and ``__len__``.

    Example:
        >>> from oarlock.fluid.dataloader import Dataset
        >>> class Squares(Dataset):
        ...     def __getitem__(self, index):
        ...         return np.array([index], "float32"), np.array([index * index], "float32")
        ...     def __len__(self):
        ...         return 10
        >>> [field.tolist() for field in Squares()[3]]
        [[3.0], [9.0]]
    """

    def __getitem__(self, idx):
        raise NotImplementedError("'__getitem__' not implement in class %s" % type(self).__name__)

    def __len__(self):
        raise NotImplementedError("'__len__' not implement in class %s" % type(self).__name__)
