"""Profiles by gperftools, which belong to the C++ of Fluid; ``fluid.profiler`` shows the operators of eager mode."""

__all__ = ["start_gperf_profiler", "stop_gperf_profiler"]


def start_gperf_profiler():
    """Raises: this build has no gperftools."""
    raise NotImplementedError("gperftools profile the C++ of Fluid: use fluid.profiler, or a profiler of the system such as perf")


def stop_gperf_profiler():
    """Raises: this build has no gperftools."""
    raise NotImplementedError("gperftools profile the C++ of Fluid: use fluid.profiler, or a profiler of the system such as perf")
