"""Waits for servers."""

import logging
import socket
import time

__all__ = ["wait_server_ready"]

_log = logging.getLogger("oarlock")
_PAUSE_SECONDS = 0.2
_SAY_EVERY = 15


def wait_server_ready(endpoints):
    """Returns when something listens at every endpoint.

    Args:
        endpoints (list): such as ``["127.0.0.1:8080"]``.

    Example:
        >>> from oarlock.fluid.transpiler.details import wait_server_ready
        >>> wait_server_ready([])
    """
    if isinstance(endpoints, str):
        raise AssertionError("wait_server_ready takes a list of endpoints, not a string")
    attempts, waiting = 0, list(endpoints)
    while True:
        waiting = [endpoint for endpoint in waiting if not _listens(endpoint)]
        if not waiting:
            return
        if attempts % _SAY_EVERY == 0:
            _log.warning("server not ready, wait to retry... not ready endpoints: %s", waiting)
        attempts += 1
        time.sleep(_PAUSE_SECONDS)


def _listens(endpoint):
    host, _, port = endpoint.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=2).close()
    except OSError:
        return False
    return True
