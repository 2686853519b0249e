"""Hands the arguments of Paddle's launchers to ``oarlock launch``."""

import os
import signal
import sys

from .. import _core
from .._alias import install_as_paddle


def run(module, *defaults):
    """Runs ``oarlock launch`` with the arguments of this process, which take precedence over the defaults. Its help names the
    command that the user started: ``fleetrun``, or a module."""
    script = os.path.basename(sys.argv[0] or "")
    name = script if script.startswith("fleetrun") else "python -m %s" % module
    # Scripts that Paddle's launchers start say `import paddle`.
    install_as_paddle()
    # The launcher runs in Rust, where Python's handler would have to wait for its end: Ctrl-C is the launcher's.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _core.launcher(name, ["--python", sys.executable, *defaults, *sys.argv[1:]])
