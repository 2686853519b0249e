"""How the processes of a job work together."""

__all__ = ["Mode"]


class Mode:
    """How the processes of a job work together; ``PSLIB`` is named only, because scripts compare with it.

    Example:
        >>> from oarlock.fluid.incubate.fleet.base.mode import Mode
        >>> Mode.TRANSPILER, Mode.COLLECTIVE
        (1, 3)
    """

    TRANSPILER = 1
    PSLIB = 2
    COLLECTIVE = 3
