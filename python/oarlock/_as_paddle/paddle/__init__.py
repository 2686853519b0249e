"""Stands for ``paddle`` in processes that a script under ``install_as_paddle`` starts."""

import sys

_oarlock_shim = True

import oarlock

oarlock.install_as_paddle()
sys.modules["paddle"] = oarlock
