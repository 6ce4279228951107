"""Hostile inputs for every reader: how many were tried, what became of them, what they cost.

    python benchmarks/fuzz.py [--reader NAME …] [--inputs N] [--seed N] [--workers N]
                              [--engine mutation|atheris]

Each input is a valid file made hostile, by chance from a seed, so that a run can be repeated. Each
must be read, or refused with an `AllusionError` of one line; in little time and memory, without
touching another file, another program or the network. What is not is a crash: it is told, with the
input kept under `--crashes`, and the status is 1. The engine `atheris` is guided by coverage.
"""

import argparse
import multiprocessing
import os
import resource
import shutil
import sys
import tempfile
import time
import traceback
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from types import FunctionType

sys.path.insert(0, str(Path(__file__).parent))

from fuzz_guard import Broken, Guard
from fuzz_reader import Reader

from allusion_es.core.errors import LONGEST_MESSAGE, AllusionError

COLUMNS = ("reader", "inputs", "accepted", "refused", "crashes", "slowest ms", "memory MB", "s")
_KEPT = 5


@dataclass(slots=True)
class Tally:
    """What became of the inputs of one reader.

    Attributes:
        reader: Its name.
        inputs: How many were tried.
        accepted: How many were read.
        refused: How many were refused with one line.
        crashes: How many broke a promise.
        slowest: Seconds of processor time of the slowest.
        memory: Megabytes by which the peak of memory grew from the first input to the last.
        seconds: Of processor time of all.
        told: The first crashes, one for each place in the code.
    """

    reader: str
    inputs: int = 0
    accepted: int = 0
    refused: int = 0
    crashes: int = 0
    slowest: float = 0.0
    memory: float = 0.0
    seconds: float = 0.0
    told: dict[str, str] = field(default_factory=dict)

    def row(self) -> tuple[str, ...]:
        """The figures, as `COLUMNS`."""
        counts = (self.inputs, self.accepted, self.refused, self.crashes)
        return (
            self.reader,
            *map(str, counts),
            f"{1000 * self.slowest:.1f}",
            f"{self.memory:.1f}",
            f"{self.seconds:.0f}",
        )


class Trial:
    """Tries inputs on a reader, in this process.

    Args:
        reader: The reader.
        guard: Watches.
        folder: Where inputs are written.
        crashes: Where inputs that broke a promise are kept.
    """

    def __init__(self, reader: Reader, guard: Guard, folder: Path, crashes: Path) -> None:
        self._reader = reader
        self._guard = guard
        self._crashes = crashes
        self.tally = Tally(reader.name)
        self._folders = [folder / f"{reader.name}{n}" for n in range(len(reader.seeds))]
        for number, seed in enumerate(reader.seeds):
            self._folders[number].mkdir(parents=True)
            reader.read(self._write(number, seed))  # a seed must be valid, and loads what is needed
        self._peak = _peak_mb()

    def try_one(self, number: int, files: Mapping[str, bytes]) -> None:
        """Try the files of an input, made from the seed of that number."""
        tally, path = self.tally, self._write(number, files)
        tally.inputs += 1
        started = time.process_time()
        try:
            with self._guard.watch():
                self._reader.read(path)
        except AllusionError as error:
            if not str(error).isprintable() or len(str(error)) > LONGEST_MESSAGE:
                self._crash(error, files)
            else:
                tally.refused += 1
        except (Exception, Broken) as error:
            self._crash(error, files)
        else:
            tally.accepted += 1
        tally.slowest = max(tally.slowest, time.process_time() - started)
        tally.memory = _peak_mb() - self._peak

    def _write(self, number: int, files: Mapping[str, bytes]) -> Path:
        folder = self._folders[number]
        for name, data in files.items():
            path = folder / name
            path.unlink(missing_ok=True)  # another file may still be mapped into memory
            path.write_bytes(data)
        return folder / next(iter(files))

    def _crash(self, error: BaseException, files: Mapping[str, bytes]) -> None:
        self.tally.crashes += 1
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}"
        if place in self.tally.told or len(self.tally.told) >= _KEPT:
            return
        self.tally.told[place] = "".join(traceback.format_exception(error))[-3_000:]
        kept = self._crashes / f"{self._reader.name}-{len(self.tally.told)}"
        kept.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            (kept / name).write_bytes(data)


def fuzz(reader: Reader, inputs: int, seed: int, crashes: Path) -> Tally:
    """Try so many hostile inputs; the same for the same seed."""
    warnings.simplefilter("error")
    with _workspace() as folder:
        guard = Guard(folder, reader.reads)
        trial = Trial(reader, guard, folder, crashes)
        guard.limit_space()
        started = time.process_time()
        for number, files in hostile(reader, inputs, seed):
            trial.try_one(number, files)
        trial.tally.seconds = time.process_time() - started
    return trial.tally


def hostile(reader: Reader, inputs: int, seed: int) -> Iterator[tuple[int, dict[str, bytes]]]:
    """Inputs by number of their seed, each with one file made hostile."""
    rng = Random(zlib.crc32(f"{reader.name} {seed}".encode()))
    for _ in range(inputs):
        number = rng.randrange(len(reader.seeds))
        files = dict(reader.seeds[number])
        name = rng.choice(list(files))
        files[name] = reader.mutate(files[name], rng, reader.words)
        yield number, files


def fuzz_with_atheris(name: str, inputs: int, seed: int, crashes: Path) -> None:
    """The same, guided by coverage of this program's code; ends the process, as atheris does."""
    import atheris

    reader = _readers()[name]()
    for module in [each for key, each in sys.modules.items() if key.startswith("allusion_es.")]:
        for function in vars(module).values():
            if isinstance(function, FunctionType) and function.__module__ == module.__name__:
                atheris.instrument_func(function)
    with _workspace() as folder:
        trial = Trial(reader, Guard(folder, reader.reads), folder, crashes)

        def one(data: bytes) -> None:
            number = data[0] % len(reader.seeds) if data else 0
            files = dict(reader.seeds[number])
            files[next(iter(files))] = data[1:]
            trial.try_one(number, files)
            if trial.tally.inputs == inputs:
                _print([trial.tally])
                shutil.rmtree(folder, ignore_errors=True)
                os._exit(1 if trial.tally.crashes else 0)

        corpus = folder / "corpus"
        corpus.mkdir()
        for number, files in enumerate(reader.seeds):
            data = bytes([number]) + next(iter(files.values()))
            (corpus / str(number)).write_bytes(data)
        options = [f"-seed={seed + 1}", "-max_len=65536", "-rss_limit_mb=0", "-verbosity=0"]
        atheris.Setup([sys.argv[0], *options, str(corpus)], one)
        atheris.Fuzz()


@contextmanager
def _workspace() -> Iterator[Path]:
    """A folder in memory, where there is such a thing."""
    memory = Path("/dev/shm")
    place = str(memory) if os.access(memory, os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="allusion-es-fuzz-", dir=place)).resolve()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _readers() -> dict[str, Callable[[], Reader]]:
    """Every reader by name; what it needs is built when it is asked for."""
    from fuzz_query import query_reader
    from fuzz_saved import SAVED
    from fuzz_server import server_reader
    from fuzz_texts import READERS

    texts = {each.name: partial(_itself, each) for each in READERS}
    return {**texts, **SAVED, "query": query_reader, "server": server_reader}


def _itself(reader: Reader) -> Reader:
    return reader


def _tally(name: str, future: "Future[Tally]") -> Tally:
    try:
        return future.result()
    except BrokenProcessPool as error:
        return Tally(name, crashes=1, told={"the process died": str(error)})


def _one(name: str, inputs: int, seed: int, crashes: Path) -> Tally:
    return fuzz(_readers()[name](), inputs, seed, crashes)


def _print(tallies: list[Tally]) -> None:
    for tally in tallies:
        print("\t".join(tally.row()), flush=True)
        for place, told in tally.told.items():
            print(f"{tally.reader}: {place}\n{told}", file=sys.stderr)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--reader", action="append", choices=sorted(_readers()))
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--engine", choices=("mutation", "atheris"), default="mutation")
    parser.add_argument("--crashes", type=Path, default=Path(tempfile.gettempdir(), "crashes"))
    options = parser.parse_args()
    if options.engine == "atheris" and len(options.reader or ()) != 1:
        parser.error("--engine atheris takes one --reader: it ends the process that it runs in")
    return options


def main() -> None:
    options = _options()
    names = options.reader or list(_readers())
    if options.list:
        print(*names, sep="\n")
        return
    print("\t".join(COLUMNS), flush=True)
    if options.engine == "atheris":
        fuzz_with_atheris(names[0], options.inputs, options.seed, options.crashes)
    # A process for each reader: its limits and its peak of memory are its own.
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.workers, spawn, max_tasks_per_child=1) as pool:
        asked = [
            pool.submit(_one, name, options.inputs, options.seed, options.crashes) for name in names
        ]
        failed = 0
        for name, each in zip(names, asked, strict=True):
            tally = _tally(name, each)
            _print([tally])
            failed += tally.crashes
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
