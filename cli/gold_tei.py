"""`allusion-es gold from-tei`: gold links from the references that TEI editions encode."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from allusion_es.cli.options import (
    Name,
    ServerOptions,
    open_candidate_index,
    takes_server,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from allusion_es.evaluation.gold import GoldLink
    from allusion_es.evaluation.gold_tei import TeiGold


class Numbers(StrEnum):
    """Whose verse numbers references have."""

    vulgate = "vulgate"
    hebrew = "hebrew"
    kjv = "kjv"


class LinkType(StrEnum):
    """Of which type a link is."""

    quotation = "quotation"
    paraphrase = "paraphrase"
    allusion = "allusion"
    reference = "reference"


Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="The file to write; stdout by default.", show_default=False),
]


@takes_server
def from_tei(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="TEI P5.", show_default=False)
    ],
    out: Out = None,
    words: Annotated[int, typer.Option(min=1, help="Most words before a mere note mark.")] = 10,
    context: Annotated[int, typer.Option(min=0, help="Words before and after.")] = 15,
    type: Annotated[
        list[LinkType] | None,
        typer.Option("--type", help="Keep links of this type (repeatable); all by default."),
    ] = None,
    numbering: Annotated[
        Numbers, typer.Option(help="Whose verse numbers the references have.")
    ] = Numbers.vulgate,
    name: Name = "vulgate",
    *,
    server: ServerOptions,
) -> None:
    """Read the Bible references that TEI editions encode as gold links, JSON lines.

    Read are ref, bibl, quote, q, seg, cit and note: their cRef, target and source, and words such
    as "cf. Ps. 33, 9". What cannot be read is told line by line.
    """
    from allusion_es.cli.progress import progress
    from allusion_es.core.errors import InputError
    from allusion_es.corpora.tei import read_tei
    from allusion_es.evaluation.gold_files import write_gold
    from allusion_es.evaluation.gold_ids import ReferenceReader
    from allusion_es.evaluation.gold_tei import gold_from_tei

    reader = ReferenceReader(open_candidate_index(name, server).ids(), numbering.value)
    kept: list[GoldLink] = []
    # Files of one name in several folders go on counting, so that ids differ.
    counts: dict[str, int] = {}
    for path in progress(files, "Reading", len(files)):
        first = counts.get(path.stem, 0) + 1
        found = gold_from_tei(read_tei(path), reader, words=words, context=context, first=first)
        counts[path.stem] = first + len(found.links) - 1
        links = [link for link in found.links if not type or link.type in type]
        _tell(path, found, links)
        kept += links
    if not kept:
        named = ", ".join(map(str, files))
        raise InputError(f"{named}: no reference to a verse gives a link; see what is told above")
    write_gold(sys.stdout if out is None else out, kept)


def _tell(path: Path, found: "TeiGold", links: "Sequence[GoldLink]") -> None:
    for each in found.unread:
        print(f"{path}:{each.line}: {each.written!r}: {each.reason}", file=sys.stderr)
    print(
        f"{path}: {_amount(links)}; references not read: {len(found.unread)}, "
        f"notes and pointers without one: {found.without}",
        file=sys.stderr,
    )


def _amount(links: "Sequence[GoldLink]") -> str:
    kinds = _kinds(link.type for link in links)
    counted = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    return f"{len(links)} links" + (f" ({counted})" if counted else "")


def _kinds(types: "Iterable[str]") -> dict[str, int]:
    from collections import Counter

    return dict(sorted(Counter(types).items()))
