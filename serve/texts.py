"""Texts that people pasted or opened, kept in a folder of the server while they are in use."""

import re
import shutil
import threading
import weakref
from dataclasses import dataclass
from pathlib import Path

from allusion_es.core.errors import InputError, StorageError
from allusion_es.core.files import writing
from allusion_es.corpora.source import read_source
from allusion_es.corpora.source_text import SourceText

LARGEST_TEXT = 16 * 2**20
"""Most bytes of a text; longer ones are for the command line."""

_KEPT = 6
"""Texts that are kept; a job keeps its own text besides."""

_KEPT_BYTES = 3 * LARGEST_TEXT
"""Bytes of all texts that are kept."""

_LONGEST_NAME = 80
_ODD = re.compile(r"[^\w .()-]")


@dataclass(frozen=True, slots=True, weakref_slot=True)
class StoredText:
    """A text that a client sent.

    Attributes:
        id: Its id in the API.
        source: The text; its file is deleted when nothing refers to this object any more.
    """

    id: str
    source: SourceText


class TextStore:
    """Keeps the last few texts.

    Args:
        folder: An empty folder for their files, which nothing else uses.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     texts = TextStore(Path(folder))
        ...     text = texts.add("a1", "../sermo.txt", b"Gustate et videte.")
        ...     texts.get("a1") is text, text.source.path.name, text.source.title
        (True, 'sermo.txt', 'sermo')
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._texts: dict[str, StoredText] = {}
        self._lock = threading.Lock()

    def add(self, identifier: str, name: str, data: bytes) -> StoredText:
        """Store and read a text; the oldest ones are forgotten if there are too many.

        Args:
            identifier: An id that no other text has.
            name: The file's name, which says whether it is TEI.
            data: The file.

        Raises:
            InputError: It cannot be read; the message names the file without its folder.
            StorageError: It cannot be stored.
        """
        safe = safe_name(name)
        folder = self._folder / identifier
        path = folder / safe
        try:
            with writing(path) as file:
                file.write(data)
            text = StoredText(identifier, read_source(path))
        except (InputError, StorageError) as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise type(error)(str(error).replace(str(path), safe)) from error
        weakref.finalize(text, shutil.rmtree, folder, ignore_errors=True)
        with self._lock:
            self._texts[identifier] = text
            while len(self._texts) > _KEPT or self._bytes() > _KEPT_BYTES:
                del self._texts[next(iter(self._texts))]
        return text

    def get(self, identifier: str) -> StoredText | None:
        """The text of an id, or None where it is not kept any more."""
        with self._lock:
            return self._texts.get(identifier)

    def _bytes(self) -> int:
        return sum(text.source.facts.size for text in self._texts.values())


def safe_name(name: str) -> str:
    """A file's name without anything that could lead elsewhere.

    Example:
        >>> safe_name("/etc/../Sermo 1.xml"), safe_name("...")
        ('Sermo 1.xml', 'text')
    """
    clean = _ODD.sub("_", re.split(r"[/\\]", name)[-1]).lstrip(". ")
    stem, dot, suffix = clean.rpartition(".")
    short = f"{stem[:_LONGEST_NAME]}{dot}{suffix[:8]}" if stem else clean[:_LONGEST_NAME]
    return short or "text"
