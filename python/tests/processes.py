"""Processes that tests start: free ports, deadlines, and nothing left running."""

import json
import os
import random
import socket
import subprocess
import sys
import time

#: Seconds that anything may take on a busy machine. Tests wait for events; this only ends a test that hangs.
LIMIT = 240
#: Shorter than any deadline of Oarlock's own (180 s): what ends within it did not wait for one.
AT_ONCE = 90


def free_ports(count, host="127.0.0.1"):
    """Free ports below the range of outgoing connections, so that no connection takes one before its server listens."""
    held = {}
    while len(held) < count:
        port, candidate = random.SystemRandom().randrange(10000, 32000), socket.socket()
        try:
            candidate.bind((host, port))
            held[port] = candidate
        except OSError:
            candidate.close()
    for candidate in held.values():
        candidate.close()
    return list(held)


def endpoints(count):
    return ["127.0.0.1:%d" % port for port in free_ports(count)]


class Processes:
    """Python processes that end with the ``with`` block."""

    def __init__(self, env=()):
        self.env = {**os.environ, "OARLOCK_THREADS": "1", **dict(env)}
        self.processes = []

    def python(self, *arguments, **env):
        process = subprocess.Popen([sys.executable, *arguments], env={**self.env, **env}, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.processes.append(process)
        return process

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.communicate()


def result(process, code=0, limit=LIMIT):
    """The last line that a process printed, as JSON, and its standard error, after it ended with this code."""
    out, err = process.communicate(timeout=limit)
    assert process.returncode == code, "exit code %d\n%s" % (process.returncode, err)
    return json.loads(out.splitlines()[-1]) if out.strip() else {}, err


def wait_for_text(process, text):
    """Reads the standard error of a process until a line has this text."""
    said = ""
    while text not in said:
        line = process.stderr.readline()
        assert line, "it ended without %r:\n%s" % (text, said)
        said += line


def wait_for_step(path, step):
    """Waits until a process has written the number of this step into its file of progress."""
    deadline = time.time() + LIMIT
    while not os.path.exists(path) or len(open(path).read().split()) <= step:
        assert time.time() < deadline, "no step %d in %s" % (step, path)
        time.sleep(0.02)
