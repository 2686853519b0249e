"""``python -m oarlock.distributed.launch_ps``: servers and workers on this machine, two of each by default."""

import sys

from ._launcher import run


def main():
    return run("oarlock.distributed.launch_ps", "--server-num", "2", "--worker-num", "2", "--log-dir", "logs")


if __name__ == "__main__":
    sys.exit(main())
