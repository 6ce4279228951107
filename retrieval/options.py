"""The choices that users make by name: first stages, fields and search filters."""

from collections.abc import Iterable, Mapping

from allusion_es.core.errors import UsageError, VerseError
from allusion_es.corpora.bible.books import find_book
from allusion_es.retrieval.types import Field, SearchFilter

STAGES: Mapping[str, tuple[str, ...]] = {"rrf": ("bm25", "tfidf", "knn")}
"""First stages that are several generators; any other name is one generator."""

FIELD_CHOICES: Mapping[str, tuple[Field, ...]] = {
    "token": ("token",),
    "lemma": ("lemma",),
    "both": ("token", "lemma"),
}
"""Which words the first stage compares."""


def generators_of(first_stage: str) -> tuple[str, ...]:
    """The generators of a first stage.

    Example:
        >>> generators_of("rrf"), generators_of("bm25")
        (('bm25', 'tfidf', 'knn'), ('bm25',))
    """
    return STAGES.get(first_stage, (first_stage,))


def field_choice(name: str) -> tuple[Field, ...]:
    """The fields of a choice of words.

    Raises:
        UsageError: There is no such choice.

    Example:
        >>> field_choice("both")
        ('token', 'lemma')
    """
    if name not in FIELD_CHOICES:
        raise UsageError(
            f"there is no field {name!r}; use {', '.join(FIELD_CHOICES)}", argument="field"
        )
    return FIELD_CHOICES[name]


def search_filter_of(
    books: Iterable[str] | None,
    testaments: Iterable[str] | None,
    works: Iterable[str] | None,
    *,
    authors: Iterable[str] | None = None,
    excluded_works: Iterable[str] | None = None,
    excluded_authors: Iterable[str] | None = None,
    own_work: bool = False,
) -> SearchFilter:
    """The filter for some books, testaments, works and authors; by default all pass.

    Args:
        books: Books, by any of their names.
        testaments: `ot` or `nt`.
        works: Titles of works; `works.known_names` finds those that the index has.
        authors: Authors of works.
        excluded_works: Titles of works that are left out.
        excluded_authors: Authors whose works are left out.
        own_work: Whether the work that a query is from is searched too.

    Raises:
        UsageError: There is no such testament.
        VerseError: There is no such book.

    Example:
        >>> search_filter_of(["Isaias"], None, None).books
        frozenset({'Isa'})
    """
    wanted = tuple(testaments or ())
    for testament in wanted:
        if testament not in ("ot", "nt"):
            raise UsageError(
                f"there is no testament {testament!r}; use ot or nt", argument="testament"
            )
    try:
        found = frozenset(find_book(book).osis for book in books or ())
    except VerseError as error:
        raise VerseError(error.reason, argument="book") from None
    return SearchFilter(
        found,
        frozenset(wanted),
        frozenset(works or ()),
        frozenset(authors or ()),
        frozenset(excluded_works or ()),
        frozenset(excluded_authors or ()),
        own_work=own_work,
    )
