"""Where the time goes."""

import contextlib

__all__ = ["profiler", "start_profiler", "stop_profiler", "reset_profiler", "cuda_profiler"]

_executors = None


def start_profiler(state, tracer_option="Default"):
    """Starts to record the time of every operator of every executor."""
    global _executors
    if state not in ("CPU", "GPU", "All"):
        raise ValueError("The state must be 'CPU' or 'GPU' or 'All'.")
    from .executor import live_executors

    _executors = live_executors()
    for exe in _executors:
        exe._core.start_profile()


def stop_profiler(sorted_key=None, profile_path="/tmp/profile"):
    """Stops recording, prints a table, and writes a Chrome trace to ``profile_path``."""
    global _executors
    for number, exe in enumerate(_executors or []):
        found = exe._core.stop_profile()
        if found is None:
            continue
        table, trace = found
        print(table)
        with open(profile_path if number == 0 else "%s.%d" % (profile_path, number), "w") as f:
            f.write(trace)
    _executors = None


def reset_profiler():
    """Forgets what was recorded."""
    for exe in _executors or []:
        exe._core.start_profile()


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
