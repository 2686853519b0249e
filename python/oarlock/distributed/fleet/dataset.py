"""Data sets by the names of Paddle 2, which sets everything in ``init``."""

from ...fluid import dataset as _fluid

__all__ = ["InMemoryDataset", "QueueDataset"]


class _Init:
    def init(self, batch_size=1, thread_num=1, use_var=(), pipe_command="cat", input_type=0, fs_name="", fs_ugi="",
             download_cmd="cat", **kwargs):
        """Says what is read and how."""
        refused = {"input_type": (input_type, 0), "fs_name": (fs_name, ""), "fs_ugi": (fs_ugi, ""), "download_cmd": (download_cmd, "cat")}
        for name, (value, default) in refused.items():
            if value != default:
                raise NotImplementedError("init(%s=%r) is not supported: files are read where they are, as MultiSlot text" % (name, value))
        if kwargs:
            raise TypeError("init takes no %s" % ", ".join(sorted(kwargs)))
        self.set_batch_size(batch_size)
        self.set_thread(thread_num)
        self.set_use_var(list(use_var))
        self.set_pipe_command(pipe_command)


class InMemoryDataset(_Init, _fluid.InMemoryDataset):
    """Samples that are read once and kept."""


class QueueDataset(_Init, _fluid.QueueDataset):
    """Samples that are read anew in every pass."""
