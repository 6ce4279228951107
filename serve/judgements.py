"""Judgements of findings, kept in the data folder: what a reader accepted or rejected, and why.

A judgement belongs to a text (by the hash of its words), a stretch of it, and a passage; never to
the settings of the search that found them. So it is there again when the same text is searched in
another way, after a reload, and after the program's end.

Each text has a file of lines, to which every change is added; the last line of a stretch and a
passage holds. Adding a line is one write that the system never mixes with another, so that two
tabs, or two programs, need no lock; of a line that was cut off by a crash nothing is read.
"""

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from allusion_es.core.errors import StorageError

LONGEST_COMMENT = 2_000
"""Most characters of a comment."""

_KEY = re.compile(r"[0-9a-f]{16,64}")
_Place = Annotated[int, Meta(ge=0, le=2**40)]


class Judgement(Struct, frozen=True, forbid_unknown_fields=True):
    """What a reader says of a passage for a stretch of a text.

    Attributes:
        start: The first character of the stretch, in characters of the text.
        end: The character after the last.
        passage: Id of the passage; of several in a row all ids, with blanks between them.
        decision: `accept`, `reject`, or "" where there is only a comment.
        comment: A remark, or "". A judgement without decision and comment is none any more.
    """

    start: _Place
    end: _Place
    passage: Annotated[str, Meta(min_length=1, max_length=1_000)]
    decision: Literal["accept", "reject", ""] = ""
    comment: Annotated[str, Meta(max_length=LONGEST_COMMENT)] = ""

    @property
    def place(self) -> tuple[int, int, str]:
        """What it is about: start, end and passage."""
        return self.start, self.end, self.passage


class JudgementStore:
    """The judgements of all texts.

    Args:
        folder: The folder of their files; it is made with the first judgement.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store, text = JudgementStore(Path(folder)), "0123456789abcdef"
        ...     store.add(text, [Judgement(0, 7, "Ps.33.9", "accept")])
        ...     store.add(text, [Judgement(0, 7, "Ps.33.9", "reject", "aliter")])
        ...     [(each.decision, each.comment) for each in store.of(text)]
        [('reject', 'aliter')]
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def of(self, text: str) -> list[Judgement]:
        """The judgements of a text, in its order.

        Args:
            text: The text's key (`corpora.findings.text_key`).

        Raises:
            StorageError: They cannot be read.
        """
        path = self._path(text)
        try:
            lines = path.read_bytes().splitlines()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StorageError(f"{path}: cannot be read ({error.strerror or error})") from error
        found: dict[tuple[int, int, str], Judgement] = {}
        for line in lines:
            try:
                judgement = msgspec.json.decode(line, type=Judgement)
            except (msgspec.DecodeError, UnicodeDecodeError):
                continue  # cut off when the machine or the program broke down
            found[judgement.place] = judgement
        kept = (each for each in found.values() if each.decision or each.comment)
        return sorted(kept, key=lambda each: each.place)

    def add(self, text: str, judgements: Iterable[Judgement]) -> None:
        """Add judgements of a text; each takes the place of what was said of the same.

        Raises:
            StorageError: They cannot be written.
        """
        path = self._path(text)
        # A line end first: what stands before may be a line that was cut off.
        lines = b"".join(
            b"\n" + json.dumps(msgspec.to_builtins(each)).encode() for each in judgements
        )
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                written = os.write(descriptor, lines + b"\n")
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise StorageError(f"{path}: cannot be written ({error.strerror or error})") from error
        if written <= len(lines):
            raise StorageError(f"{path}: cannot be written (the disk is full)")

    def forget(self, text: str) -> None:
        """Delete all judgements of a text.

        Raises:
            StorageError: They cannot be deleted.
        """
        path = self._path(text)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise StorageError(f"{path}: cannot be deleted ({error.strerror or error})") from error

    def _path(self, text: str) -> Path:
        assert is_text_key(text), text
        return self._folder / f"{text}.jsonl"


def is_text_key(text: str) -> bool:
    """Whether this can be the key of a text, which becomes part of a path.

    Example:
        >>> is_text_key("0123456789abcdef"), is_text_key("../secret")
        (True, False)
    """
    return _KEY.fullmatch(text) is not None
