"""Which server gets which block of a parameter. The core knows the methods of this module; a class of the user's is asked."""

__all__ = ["HashName", "PSDispatcher", "RoundRobin"]


class PSDispatcher:
    """Deals blocks out to servers: derive from it and write ``dispatch``, which gets blocks with ``name`` and ``shape`` and
    returns an endpoint for each. Every process of a job must decide alike."""

    def __init__(self, pserver_endpoints):
        self._eps = list(pserver_endpoints)
        self._step = 0

    @property
    def eps(self):
        """The endpoints of the servers."""
        return self._eps

    def reset(self):
        """Begins anew with the first server."""
        self._step = 0

    def dispatch(self, varlist):
        """The endpoint of each block of one variable."""
        raise NotImplementedError("dispatch belongs to classes derived from PSDispatcher")


class HashName(PSDispatcher):
    """By a hash of the block's name: adding a parameter moves no other."""

    _method = "HashName"

    def dispatch(self, varlist):
        """The endpoint of each block, as the core decides."""
        return [self._eps[_fnv1a(str(getattr(var, "name", var))) % len(self._eps)] for var in varlist]


class RoundRobin(PSDispatcher):
    """One server after the other, from variable to variable."""

    _method = "RoundRobin"

    def dispatch(self, varlist):
        """The endpoint of each block, as the core decides."""
        first = self._step
        self._step += len(varlist)
        return [self._eps[turn % len(self._eps)] for turn in range(first, self._step)]


def _fnv1a(text):
    """A hash that is the same in every process, which Python's is not."""
    found = 0xCBF29CE484222325
    for byte in text.encode():
        found = (found ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return found
