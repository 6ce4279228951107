"""Pages and documents of word processors, read from their files."""

from pathlib import Path
from typing import Literal

from allusion_es.core.errors import InputError
from allusion_es.corpora.docx_text import read_docx
from allusion_es.corpora.html_text import LARGEST, read_html
from allusion_es.corpora.paragraphs import Document


def document_of(path: Path, kind: Literal["html", "docx"]) -> Document:
    """The words of a page or a document, a line for each paragraph.

    Raises:
        InputError: It cannot be read as that; the message says why.
    """
    if kind == "docx":
        return read_docx(path)
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    return read_html(data, str(path))
