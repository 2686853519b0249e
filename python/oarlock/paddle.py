"""``python -m oarlock.paddle script.py args...``: runs a script for which ``paddle`` is Oarlock."""

import runpy
import sys


def main(argv):
    if not argv or argv[0] in ("-h", "--help"):
        print("usage: python -m oarlock.paddle SCRIPT [ARGS...]\n       python -m oarlock.paddle -m MODULE [ARGS...]\n\n" + __doc__)
        return 0 if argv else 2
    from . import install_as_paddle

    install_as_paddle()
    if argv[0] == "-m":
        if len(argv) < 2:
            print("-m needs the name of a module", file=sys.stderr)
            return 2
        sys.argv = argv[1:]
        runpy.run_module(argv[1], run_name="__main__", alter_sys=True)
        return 0
    import os

    if not os.path.exists(argv[0]):
        print("there is no script %s" % argv[0], file=sys.stderr)
        return 2
    sys.argv = argv
    sys.path.insert(0, os.path.dirname(os.path.abspath(argv[0])))
    runpy.run_path(argv[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
