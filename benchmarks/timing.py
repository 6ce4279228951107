"""What the benchmarks share: medians, memory, one printed line a figure."""

import resource
import statistics
import time
from collections.abc import Callable


def median_ms(work: Callable[[], object], runs: int) -> float:
    """Median milliseconds of `runs` calls, after one that does not count."""
    work()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1000


def peak_mb() -> float:
    """The most memory that this process has used so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def report(what: str, value: float, unit: str, target: float | None = None) -> None:
    """Print one figure, and the target that it should stay below (or, for rates, above)."""
    goal = "" if target is None else f"  (target {target:g} {unit})"
    print(f"{what:<58} {value:>10.1f} {unit}{goal}")
