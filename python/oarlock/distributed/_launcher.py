"""Hands the arguments of Paddle's launchers to ``oarlock launch``."""

import sys

from ..__main__ import main
from .._alias import install_as_paddle


def run(*defaults):
    """Runs ``oarlock launch`` with the arguments of this process, which take precedence over the defaults."""
    # Scripts that Paddle's launchers start say `import paddle`.
    install_as_paddle()
    return main(["launch", *defaults, *sys.argv[1:]])
