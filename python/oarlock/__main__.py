"""The ``oarlock`` command; ``python -m oarlock`` is the same."""

import signal
import sys

from ._alias import install_as_paddle
from ._core import command


def main(args=None):
    # The command computes in Rust, where Python's handler would have to wait for its end: Ctrl-C ends the process at once.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    args = list(sys.argv[1:] if args is None else args)
    if args[:1] in (["launch"], ["doctor"]):
        # Scripts that are launched may say `import paddle`, and are run by the interpreter that runs this.
        install_as_paddle()
        args[1:1] = ["--python", sys.executable]
    return command(["oarlock"] + args)


if __name__ == "__main__":
    sys.exit(main())
