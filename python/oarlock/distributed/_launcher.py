"""Hands the arguments of Paddle's launchers to ``oarlock launch``."""

import sys

from .._alias import install_as_paddle
from .._core import command


def run(*defaults):
    """Runs ``oarlock launch`` with the arguments of this process, which take precedence over the defaults."""
    # Scripts that Paddle's launchers start say `import paddle`.
    install_as_paddle()
    return command(["oarlock", "launch", "--python", sys.executable, *defaults, *sys.argv[1:]])
