"""The command `allusion-es`: one file a command, and here what they share."""

import contextlib
import errno
import os
import re
import signal
import sys
from collections.abc import Sequence
from functools import partial
from types import FrameType
from typing import Annotated

import typer

from allusion_es.cli import (
    agreement,
    annotate,
    candidates,
    compare,
    compose_env,
    doctor,
    embeddings,
    fetch,
    gold,
    index,
    kibana,
    learn,
    learned_files,
    listing,
    query,
    read,
    scan,
    serve,
)
from allusion_es.cli.config import configured_defaults, read_config
from allusion_es.cli.evaluate import command as evaluate
from allusion_es.cli.help import WIDTH, GroupedCommand
from allusion_es.core.errors import AllusionError, StorageError, UsageError
from allusion_es.core.threads import use_one_thread

app = typer.Typer(
    name="allusion-es",
    help="Find the Bible verses that a Latin text alludes to, and say why.",
    rich_markup_mode=None,
    # Locals could hold a password.
    pretty_exceptions_enable=False,
    pretty_exceptions_show_locals=False,
)
_command = partial(app.command, cls=GroupedCommand)
_command("query")(query.query)
_command("scan")(scan.scan)
_command("compare")(compare.compare)
_command("read")(read.read)
_command("serve")(serve.serve)
_command("index")(index.index)
_command("fetch")(fetch.fetch)
_command("list")(listing.list_)
_command("evaluate")(evaluate.evaluate)
_command("doctor")(doctor.doctor)
app.add_typer(annotate.app, name="annotate")
_command("agreement")(agreement.agreement)
app.add_typer(embeddings.app, name="embeddings")
app.add_typer(gold.app, name="gold")
app.add_typer(candidates.app, name="candidates")
app.add_typer(kibana.app, name="kibana")
_command("compose-env")(compose_env.compose_env)
_command("learn")(learn.learn)
_command("learned-files", hidden=True)(learned_files.learned_files)

_INTERRUPTED = 130
_COMPLETION = "_ALLUSION_ES_COMPLETE"
"""The variable by which a shell asks for completion, as click and typer name it."""
_SECRET = re.compile(r"--(password|api-key)\b|(--es=)?https?://[^/@\s]*:[^/@\s]+@")
_STOPS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
_SCARCE = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
_FULL = frozenset({errno.ENOSPC, errno.EFBIG, errno.EDQUOT})


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"allusion-es {version('allusion-es')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Find the Bible verses that a Latin text alludes to, and say why."""


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit status; every known error is one line on stderr."""
    command = typer.main.get_command(app)
    _warn_of_secrets(arguments)
    try:
        config = read_config()
        # Not `command.main`, which has its own ideas of errors and closed pipes.
        with command.make_context(
            "allusion-es",
            list(arguments) or ["--help"],
            max_content_width=WIDTH,
            default_map=configured_defaults(config, command) if config else None,
        ) as context:
            command.invoke(context)
        sys.stdout.flush()
    except AllusionError as error:
        return _complain(str(error), error.exit_code)
    except BrokenPipeError:
        # The reader has seen enough (`| head`); what is still to be written goes nowhere.
        _drop_stdout()
    except OSError as error:
        if error.errno in _SCARCE:
            return _complain(f"{error.strerror}; see 'ulimit -a'", AllusionError.exit_code)
        # Files have errors of their own; what is left is a redirected stdout on a full disk.
        if error.errno not in _FULL:
            raise
        _drop_stdout()
        return _complain(f"the output cannot be written ({error.strerror})", StorageError.exit_code)
    except _Stopped as error:
        return _complain(f"stopped by {error.signal.name}; nothing was changed", error.status)
    except KeyboardInterrupt as error:
        cause = error.__cause__
        status = cause.status if isinstance(cause, _Stopped) else _INTERRUPTED
        return _complain(str(error) or "interrupted; nothing was changed", status)
    except MemoryError:
        return _complain("there is not enough memory; nothing was changed", AllusionError.exit_code)
    except typer.Exit as error:
        return error.exit_code
    except Exception as error:
        # typer's errors for wrong options; their class depends on typer's version.
        message = getattr(error, "format_message", None)
        if message is None:
            raise
        where = getattr(getattr(error, "ctx", None), "command_path", "allusion-es")
        told = message().replace("Value error, ", "")  # pydantic's word, not the user's
        return _complain(f"{told} (see '{where} --help')", UsageError.exit_code)
    return 0


def _warn_of_secrets(arguments: Sequence[str]) -> None:
    """Say that lists of processes show passwords and keys that are arguments."""
    if any(map(_SECRET.match, arguments)):
        print(
            "allusion-es: note: others on this machine can see secrets in arguments; give them by "
            "environment or file (docs/security.md)",
            file=sys.stderr,
        )


def _drop_stdout() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(message: str, status: int) -> int:
    line = " ".join(message.split())
    with contextlib.suppress(BrokenPipeError):
        print(f"allusion-es: error: {line}", file=sys.stderr)
    return status


class _Stopped(KeyboardInterrupt):
    """A signal asks this process to end: what it has begun is cleared away, as with Ctrl+C."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.signal = signal.Signals(number)
        self.status = 128 + number  # as shells give it


def _stop(number: int, frame: FrameType | None) -> None:
    raise _Stopped(number)


def _spare_workers_the_command_line() -> None:
    """Keep processes that are started later from importing the console script, and so all commands.

    `multiprocessing` has each of them import the file of the main module, in which others may
    define the functions that a process calls. Those of this program are in its packages.
    """
    script = sys.modules["__main__"]
    if getattr(script, "main", None) is main:
        script.__file__ = None


def main() -> None:
    """The console script."""
    if _COMPLETION in os.environ:
        # The shell asks what may come next; typer answers and ends the process.
        typer.main.get_command(app).main(prog_name="allusion-es")
    use_one_thread()
    _spare_workers_the_command_line()
    for number in _STOPS:
        if signal.getsignal(number) is signal.SIG_DFL:  # `nohup` has it ignored
            signal.signal(number, _stop)
    for stream in (sys.stdout, sys.stderr):
        # Latin with diacritics must not depend on the terminal's locale.
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    sys.exit(run(sys.argv[1:]))
