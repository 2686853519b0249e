"""What data parallel training knows about its process."""

import os

_context = None


def _is_data_parallel_mode():
    """Whether ``prepare_context`` joined a group of several processes."""
    return _context is not None and int(os.environ.get("PADDLE_TRAINERS_NUM", "1")) > 1


def _set_parallel_ctx(context):
    """Notes the group that this process joined; once."""
    global _context
    if _context is not None:
        raise AssertionError("ParallelContext can only be initialized once.")
    _context = context
