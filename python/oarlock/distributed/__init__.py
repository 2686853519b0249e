"""Jobs of several processes: their launchers, and Fleet."""

__all__ = ["CountFilterEntry", "InMemoryDataset", "ProbabilityEntry", "QueueDataset", "fleet"]


def __getattr__(name):
    # Launchers run without the rest of the package.
    if name == "fleet":
        import importlib

        return importlib.import_module(".fleet", __name__)
    if name in ("InMemoryDataset", "QueueDataset"):
        from .fleet import dataset

        return getattr(dataset, name)
    if name in ("CountFilterEntry", "ProbabilityEntry"):
        from . import entry_attr

        return getattr(entry_attr, name)
    raise AttributeError("module %r has no attribute %r" % (__name__, name))
