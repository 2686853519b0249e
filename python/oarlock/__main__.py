"""The ``oarlock`` command; ``python -m oarlock`` is the same."""

import signal
import sys

from ._core import command


def main():
    # The command computes in Rust, where Python's handler would have to wait for its end: Ctrl-C ends the process at once.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return command(["oarlock"] + sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
