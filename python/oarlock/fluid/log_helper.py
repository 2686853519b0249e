"""Loggers that leave the root logger alone."""

import logging

__all__ = ["get_logger"]


def get_logger(name, level, fmt=None):
    """Returns a logger that writes to the standard error output itself and passes nothing on to other loggers. Every call adds one
    handler, as in Fluid: call it once for a name.

    Args:
        name (str): its name.
        level (int): such as ``logging.INFO``.
        fmt (str): the form of its lines, as ``logging.Formatter`` takes it.

    Example:
        >>> import logging
        >>> from oarlock.fluid.log_helper import get_logger
        >>> logger = get_logger("trainer", logging.INFO, fmt="%(levelname)s: %(message)s")
        >>> logger.propagate
        False
    """
    logger = logging.getLogger(name)
    logger.setLevel(level)
    handler = logging.StreamHandler()
    if fmt:
        handler.setFormatter(logging.Formatter(fmt=fmt))
    logger.addHandler(handler)
    logger.propagate = False
    return logger
