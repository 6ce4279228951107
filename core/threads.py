"""The number of threads of linear algebra, set before numpy is loaded: so this imports nothing."""

import os

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Environment variables for the threads of linear algebra; read when numpy is loaded."""


def use_one_thread() -> None:
    """Let linear algebra use one thread, unless the environment says otherwise.

    More threads add up numbers in another order, so that last digits would depend on how many
    processors a machine has; and for matrices as small as a query's they cost twice the processor
    time for next to nothing. It must be called before numpy is loaded, or has no effect.
    """
    for name in THREAD_VARIABLES:
        os.environ.setdefault(name, "1")
