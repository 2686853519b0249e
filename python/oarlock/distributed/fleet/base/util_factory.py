"""Values that the processes of a job exchange besides gradients."""

from .... import _core

__all__ = ["UtilBase"]


class UtilBase:
    """Values that workers join, and files that they share out."""

    def __init__(self, fleet):
        self._fleet = fleet

    def _check_world(self, comm_world):
        if comm_world != "worker":
            raise NotImplementedError("comm_world=%r is not supported: only workers contribute values, not servers" % (comm_world,))

    def all_reduce(self, input, mode="sum", comm_world="worker"):
        """Joins the numbers of all workers, element by element: ``sum``, ``max`` or ``min``. All get the same result."""
        self._check_world(comm_world)
        return self._fleet._role().all_reduce(input, mode)

    def all_gather(self, input, comm_world="worker"):
        """The numbers of all workers, in their order."""
        self._check_world(comm_world)
        return self._fleet._role().all_gather(input)

    def barrier(self, comm_world="worker"):
        """Waits for all workers."""
        self._check_world(comm_world)
        self._fleet._role().barrier_worker()

    def get_file_shard(self, files):
        """The files of this worker; the first workers get one more if they cannot be dealt evenly."""
        if not isinstance(files, list):
            raise TypeError("files should be a list of file need to be read.")
        return _core.split_files(files, self._fleet.worker_index(), self._fleet.worker_num())

    def print_on_rank(self, message, rank_id):
        """Prints on one worker."""
        if self._fleet.is_worker() and self._fleet.worker_index() == rank_id:
            print(message, flush=True)
