"""Work that several processes share, its results in order or as they come."""

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice
from multiprocessing.connection import wait as wait_for
from typing import Any, TypeVar

from allusion_es.core.errors import AllusionError
from allusion_es.core.threads import THREAD_VARIABLES

P = TypeVar("P")
R = TypeVar("R")

_AHEAD = 4
"""Pieces a process that are handed out before their turn, so that none waits; few, for memory."""

_FEW = 2
"""As many pieces are done here before other processes would have started (1 to 2 seconds)."""


def in_order(
    start: Callable[[], Callable[[P], R]], pieces: Iterable[P], workers: int, advice: str
) -> Iterator[tuple[P, R]]:
    """Each piece with its result, in the order of the pieces, computed as by `in_processes`.

    A few pieces, and with one worker all, are done in this process.

    Args:
        start: Called once in each process, this one included; gives the function that does a
            piece. It must give the same results anywhere.
        pieces: Read a few at a time.
        workers: Processes, at least 1.
        advice: What to do if a process dies.
    """
    remaining = iter(pieces)
    first = list(islice(remaining, _FEW + 1)) if workers > 1 else []
    if len(first) > _FEW:
        yield from in_processes(start, chain(first, remaining), workers, advice, ordered=True)
        return
    work = start()
    for piece in chain(first, remaining):
        yield piece, work(piece)


def in_processes(
    start: Callable[[], Callable[[P], R]],
    pieces: Iterable[P],
    workers: int,
    advice: str,
    *,
    ordered: bool = False,
) -> Iterator[tuple[P, R]]:
    """Each piece with its result, as they are done.

    Args:
        start: Called once in each process; gives the function that does a piece. It and all
            pieces are sent to other processes, so it must be a function of a module, or a
            `partial` of one.
        pieces: Read a few at a time.
        workers: Processes, at least 1.
        advice: What to do if a process dies.
        ordered: Give the pieces in their order.

    Raises:
        AllusionError: As the work raises; or a process died.
    """
    remaining = iter(pieces)
    with (
        # Processes that each use all processors slow each other down.
        _environment(*THREAD_VARIABLES),
        ProcessPoolExecutor(
            # Spawned, not forked: a fork would copy locks that other threads hold.
            workers,
            multiprocessing.get_context("spawn"),
            _start,
            (start,),
        ) as pool,
    ):
        waiting: dict[Future[R], P] = {}
        try:
            while True:
                for piece in islice(remaining, _AHEAD * workers - len(waiting)):
                    with _without_interrupts():
                        waiting[pool.submit(_do, piece)] = piece
                if not waiting:
                    return
                next_ones = [next(iter(waiting))] if ordered else _first_done(waiting)
                for done in next_ones:
                    yield waiting.pop(done), done.result()
        except BaseException as error:
            # Pieces that are being done may take long, and nobody waits for them any more.
            pool.shutdown(wait=False, cancel_futures=True)
            if isinstance(error, BrokenProcessPool):
                raise AllusionError(
                    f"a process ended before its work was done (out of memory?); {advice}"
                ) from error
            raise


def _first_done(waiting: Iterable[Future[R]]) -> Iterable[Future[R]]:
    return wait(waiting, return_when=FIRST_COMPLETED).done


@contextlib.contextmanager
def _environment(*names: str) -> Iterator[None]:
    """Set variables to 1 for processes that are started meanwhile, where they are not set."""
    new = [name for name in names if name not in os.environ]
    os.environ.update(dict.fromkeys(new, "1"))
    try:
        yield
    finally:
        for name in new:
            del os.environ[name]


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Hold Ctrl-C back in this process, and for good in processes that are started meanwhile.

    The parent gets it as soon as this ends, and stops its workers. Without this, each of them would
    print a traceback, some before any line of this module is run.
    """
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_work: Callable[[Any], Any] | None = None
"""In a worker: the function that does a piece."""


def _start(start: Callable[[], Callable[[Any], Any]]) -> None:
    """Begin in a new worker."""
    global _work
    # For Windows, where Ctrl-C could not be held back from the start.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _work = start()


def _end_with_parent() -> None:
    """End this process with its parent, which may be killed without a word."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait_for([parent.sentinel])
        os._exit(1)


def _do(piece: Any) -> Any:  # noqa: ANN401 - any work
    assert _work is not None
    return _work(piece)
