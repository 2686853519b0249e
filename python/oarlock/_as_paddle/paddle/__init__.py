"""Stands for ``paddle`` in processes that a script under ``install_as_paddle`` starts."""

import os
import sys

_oarlock_shim = True

try:
    import oarlock
except ImportError:
    # Not installed, but beside this file: a copy of the source tree.
    sys.path.append(os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "..")))
    import oarlock

oarlock.install_as_paddle()
sys.modules["paddle"] = oarlock
