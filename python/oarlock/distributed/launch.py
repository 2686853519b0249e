"""``python -m oarlock.distributed.launch`` and ``fleetrun``: servers and workers, or collective workers on each host."""

import sys

from ._launcher import run


def main():
    return run("oarlock.distributed.launch")


if __name__ == "__main__":
    sys.exit(main())
