"""Where the time goes."""

import contextlib

from . import _state

__all__ = ["profiler", "start_profiler", "stop_profiler", "reset_profiler", "cuda_profiler"]

# What records: the cores of executors, and the tracer of eager mode.
_recording = None


def start_profiler(state, tracer_option="Default"):
    """Starts to record the time of every operator of every executor, and of eager mode if it is on."""
    global _recording
    if state not in ("CPU", "GPU", "All"):
        raise ValueError("The state must be 'CPU' or 'GPU' or 'All'.")
    from .executor import live_executors

    _recording = [exe._core for exe in live_executors()] + ([_state.tracer] if _state.tracer is not None else [])
    for core in _recording:
        core.start_profile()


def stop_profiler(sorted_key=None, profile_path="/tmp/profile"):
    """Stops recording, prints a table, and writes a Chrome trace to ``profile_path``."""
    global _recording
    number = 0
    for core in _recording or []:
        found = core.stop_profile()
        if found is None:
            continue
        table, trace = found
        print(table)
        with open(profile_path if number == 0 else "%s.%d" % (profile_path, number), "w") as f:
            f.write(trace)
        number += 1
    _recording = None


def reset_profiler():
    """Forgets what was recorded."""
    for core in _recording or []:
        core.start_profile()


@contextlib.contextmanager
def profiler(state, sorted_key=None, profile_path="/tmp/profile", tracer_option="Default"):
    """Records inside the block."""
    start_profiler(state, tracer_option)
    try:
        yield
    finally:
        stop_profiler(sorted_key, profile_path)


@contextlib.contextmanager
def cuda_profiler(output_file, output_mode=None, config=None):
    """This build has no GPUs."""
    raise RuntimeError("cuda_profiler needs a GPU: use fluid.profiler.profiler('CPU')")
    yield
