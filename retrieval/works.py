"""The works of an index, by the names that people give them; and the work that a query is from."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from allusion_es.core.characters import shorten
from allusion_es.core.errors import UsageError
from allusion_es.corpora.passage import Work
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.types import Query, SearchFilter

_SHOWN = 12
"""Most names that a message lists."""

_STEM = 4
"""Letters by which two names of an author are told to be one: Lucan and Lucanus."""

# What follows a folded title where a query names a book of it: `Bellum civile 1`, `Aeneis VI`.
_BOOK = re.compile(r"(?: (?:lib(?:er)?|book|b))? (?:[0-9]+|[iuxlc]+)$")


def folded(name: str) -> str:
    """A name without what spelling may vary in: case, accents, signs, `v` and `j`.

    Example:
        >>> folded("Bellum  Ciuile."), folded("bellum_civile"), folded("Iūlius")
        ('bellum ciuile', 'bellum ciuile', 'iulius')
    """
    letters = unicodedata.normalize("NFKD", name.casefold())
    kept = "".join(c if c.isalnum() else " " for c in letters if not unicodedata.combining(c))
    return " ".join(kept.translate({ord("v"): "u", ord("j"): "i"}).split())


def known_names(search_filter: SearchFilter, index: CandidateIndex) -> SearchFilter:
    """The filter with works and authors as the index spells them.

    Case, accents, signs, and `v` for `u` make no difference.

    Raises:
        UsageError: The index has no work or author of a name, in which case the message lists
            those that it has; or it has no work that passes; or books or testaments are chosen,
            and it has none of the Bible.

    Example:
        >>> from allusion_es.local.memory import index_texts
        >>> known_names(SearchFilter(works=frozenset({"Aeneis"})), index_texts({"1": "arma"}))
        Traceback (most recent call last):
            ...
        allusion_es.core.errors.UsageError: work: index 'texts' has no work 'Aeneis'; its passages \
have none
    """
    if (search_filter.books or search_filter.testaments) and not index.books():
        raise UsageError(
            f"index {index.name!r} has no books of the Bible; choose works or authors",
            argument="book" if search_filter.books else "testament",
        )
    titles = (search_filter.works, search_filter.excluded_works)
    authors = (search_filter.authors, search_filter.excluded_authors)
    if not any((*titles, *authors)):
        return search_filter
    works = index.works()
    known = {work.title for work in works}, {work.author for work in works}
    chosen = {
        "work": _spelt(titles[0], known[0], index.name, "work"),
        "author": _spelt(authors[0], known[1], index.name, "author"),
        "exclude_work": _spelt(titles[1], known[0], index.name, "exclude_work"),
        "exclude_author": _spelt(authors[1], known[1], index.name, "exclude_author"),
    }
    found = replace(
        search_filter,
        works=chosen["work"],
        authors=chosen["author"],
        excluded_works=chosen["exclude_work"],
        excluded_authors=chosen["exclude_author"],
    )
    if not _passing(found, works):
        # Without hits, it would look as if nothing had been found.
        last = [argument for argument, value in chosen.items() if value][-1]
        raise UsageError(
            f"with all choices of works and authors, nothing of index {index.name!r} is left to "
            "search; leave out one of them",
            argument=last,
        )
    return found


def _passing(search_filter: SearchFilter, works: Iterable[Work]) -> set[Work]:
    """Those of some works that a filter by titles and authors lets pass."""
    return {
        work
        for work in works
        if (not search_filter.works or work.title in search_filter.works)
        and (not search_filter.authors or work.author in search_filter.authors)
        and work.title not in search_filter.excluded_works
        and work.author not in search_filter.excluded_authors
    }


def _spelt(
    names: Collection[str], known: Collection[str], index: str, argument: str
) -> frozenset[str]:
    """The names as they are known; those that fit a name exactly, or else but for its spelling."""
    found: set[str] = set()
    for name in names:
        fitting = {name} & set(known) or {each for each in known if folded(each) == folded(name)}
        if not fitting:
            noun = argument.removeprefix("exclude_")
            there = sorted(each for each in known if each)
            listed = "; ".join(shorten(each, 60) for each in there[:_SHOWN])
            more = f" and {len(there) - _SHOWN} more" if len(there) > _SHOWN else ""
            has = f"it has {listed}{more}" if there else "its passages have none"
            raise UsageError(
                f"index {index!r} has no {noun} {shorten(name, 60)!r}; {has}", argument=argument
            )
        found |= fitting
    return frozenset(found)


def own_works(name: str, works: Iterable[Work]) -> frozenset[Work]:
    """Those of some works that a query is from.

    They have the title that the query's work has, or begins with where a book's number follows.
    Where both name an author, the two must begin alike, so that Lucan is Lucanus.

    Args:
        name: The query's work: its title, or its author, a comma and its title.
        works: The works of an index.

    Example:
        >>> works = [Work("Lucanus", "Bellum civile"), Work("Horace", "Carmina"), Work("", "Ilias")]
        >>> own_works("Lucan, Bellum ciuile 1", works)
        frozenset({Work(author='Lucanus', title='Bellum civile')})
        >>> own_works("ilias", works)
        frozenset({Work(author='', title='Ilias')})
        >>> own_works("Catullus, Carmina", works)
        frozenset()
    """
    if not folded(name):
        return frozenset()
    # A title may have commas itself: each way to divide the name is tried.
    commas = [match.start() for match in re.finditer(",", name)]
    parts = [("", name), *((name[:at], name[at + 1 :]) for at in commas)]
    asked = [(folded(author), folded(title)) for author, title in parts]
    return frozenset(
        work
        for work in works
        if work.title
        and any(
            _is_title(title, folded(work.title)) and _is_author(author, folded(work.author))
            for author, title in asked
        )
    )


def _is_title(asked: str, known: str) -> bool:
    return asked == known or _BOOK.sub("", asked) == known


def _is_author(asked: str, known: str) -> bool:
    """Whether two names may be one author's: one names none, or a word of both begins alike."""
    if not asked or not known:
        return True
    beginnings = [{word[:_STEM] for word in name.split()} for name in (asked, known)]
    return bool(beginnings[0] & beginnings[1])


class OwnWork:
    """Leaves a query's own work out of a search, so that a poem does not find itself.

    Nothing is left out where the filter says so, or where the collection has nothing else.

    Args:
        index: The index.
        search_filter: Which passages may be found.

    Attributes:
        left_out: The works that were left out of any search so far.

    Example:
        >>> from allusion_es.local.memory import index_texts
        >>> own = OwnWork(index_texts({"1": "arma virumque cano"}), SearchFilter())
        >>> own.filter_of("Vergil, Aeneis") == SearchFilter()
        True
    """

    def __init__(self, index: CandidateIndex, search_filter: SearchFilter) -> None:
        self._index, self._filter = index, search_filter
        self._filters: dict[str, SearchFilter] = {"": search_filter}
        self.left_out: set[Work] = set()

    def filter_of(self, work: str) -> SearchFilter:
        """The filter for queries from a work; the same object for the same name."""
        if work not in self._filters:
            own = frozenset[Work]() if self._filter.own_work else self._own(work)
            self.left_out |= own
            self._filters[work] = replace(self._filter, left_out=own) if own else self._filter
        return self._filters[work]

    def groups(self, queries: Sequence[Query]) -> Iterator[tuple[SearchFilter, list[int]]]:
        """The filters of some queries, each with the numbers of the queries that it is for."""
        numbers: dict[SearchFilter, list[int]] = {}
        for number, query in enumerate(queries):
            numbers.setdefault(self.filter_of(query.work), []).append(number)
        yield from numbers.items()

    @property
    def note(self) -> str:
        """What was left out, for people; "" where nothing was."""
        if not self.left_out:
            return ""
        names = sorted(work.label for work in self.left_out)
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        return (
            f"left out of the answers to its own words: {'; '.join(names[:_SHOWN])}{more}; "
            "--own-work (own_work in Python) keeps it"
        )

    def _own(self, name: str) -> frozenset[Work]:
        """The query's own works, unless the filter lets no other pass."""
        searched = _passing(self._filter, self._index.works())
        own = own_works(name, searched)
        return own if own != searched else frozenset()
