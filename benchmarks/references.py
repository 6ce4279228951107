"""References of real editions' forms: how many are read, refused, and read wrongly.

`tests/references.tsv` has a reference a line, in the form of an edition, with the verses that it
means or `refused`. The verses were written down by hand, not by the parser. Run as
`python benchmarks/references.py [FILE]`; the exit status is 1 if one is read wrongly.
"""

import csv
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from timing import report

from allusion_es.core.errors import VerseError
from allusion_es.corpora.bible.references import parse_references

TABLE = Path(__file__).parents[1] / "tests" / "references.tsv"
REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a reference.

    Attributes:
        form: The kind of edition.
        written: The reference.
        meant: The verses as OSIS, or `refused`.
        found: What the parser gives, in the same way.
    """

    form: str
    written: str
    meant: str
    found: str

    @property
    def is_wrong(self) -> bool:
        """Whether other verses were read than are meant."""
        return self.found not in (self.meant, REFUSED)

    @property
    def is_missed(self) -> bool:
        """Whether it should have been read and was refused."""
        return self.found == REFUSED != self.meant


def outcomes(table: Path = TABLE) -> list[Outcome]:
    """The outcome of each line of a table."""
    with table.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [
            Outcome(row["form"], row["written"], row["verses"], as_read(row["written"]))
            for row in rows
        ]


def as_read(written: str) -> str:
    """What the parser reads, as OSIS with blanks between, or `refused`.

    Example:
        >>> as_read("Ps. XXII, v. 4"), as_read("Tert. adv. Marc. 2, 4")
        ('Ps.22.4', 'refused')
    """
    try:
        return " ".join(map(str, parse_references(written)))
    except VerseError:
        return REFUSED


def told(found: Iterable[Outcome]) -> Iterator[str]:
    """A line for each reference that is not read as it is meant."""
    for each in found:
        if each.is_wrong or each.is_missed:
            yield f"{each.form}: {each.written!r} is {each.meant}, and read as {each.found}"


def main(table: Path) -> int:
    """Print the figures, and each line that is not read as it is meant."""
    found = outcomes(table)
    readable = [each for each in found if each.meant != REFUSED]
    read = sum(each.found == each.meant for each in readable)
    wrong = sum(each.is_wrong for each in found)
    refused = sum(each.found == REFUSED for each in found)
    print(*told(found), sep="\n", file=sys.stderr)
    report("references", len(found), "")
    report("read, of those that mean verses", 100 * read / max(1, len(readable)), "%", 99)
    report("refused", refused, "")
    report("refused though they mean verses", sum(each.is_missed for each in readable), "")
    report("wrong", wrong, "", 0)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else TABLE))
