"""What the peer scripts share: windows of equal work, and one line of results that the benchmark reads."""
import resource
import time


def measure(step, steps, count, windows=6):
    """Rates per second of `windows` windows of `steps` calls, each doing `count` things; one window goes first unmeasured."""
    rates = []
    for window in range(windows + 1):
        start = time.perf_counter()
        for i in range(steps):
            step(i)
        if window:
            rates.append(steps * count / (time.perf_counter() - start))
    report(rates)


def report(rates):
    """Prints the line of results."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    print("RESULT %.1f %s" % (peak, " ".join("%.2f" % r for r in rates)))
