"""Report of what may be wrong with gold links, for a person to go through."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from allusion_es.corpora.bible.numbering import Numbering
from allusion_es.corpora.bible.references import VerseId, is_verse_id, parse_verse_id
from allusion_es.evaluation.gold.ids import read_references, resolve_known
from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.evaluation.overlap import Overlap, overlaps
from allusion_es.language.latin.analysis import Analyser
from allusion_es.retrieval.analysed import analyse_query
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.types import AnalysedQuery
from allusion_es.retrieval.weighting import idf

_LEAST_RATIO = 2.0
"""A neighbouring verse must share this many times the weight that the linked verse shares."""

_LEAST_MORE = 10.0
"""A neighbouring verse must share this much more weight than the linked verse.

Two words that are each in one verse of 150 weigh so much: one rare word may be chance."""


@dataclass(frozen=True, slots=True)
class TypeCounts:
    """Numbers of queries and links of one type; a link here is a query with one passage.

    Attributes:
        type: The type, or "" for links without one.
        queries: Queries with at least one known passage.
        links: Known passages over all queries.
        several: Queries with more than one known passage.
        no_token: Links that share no token.
        no_lemma: Links that share no lemma.
    """

    type: str
    queries: int
    links: int
    several: int
    no_token: int
    no_lemma: int


@dataclass(frozen=True, slots=True)
class GoldIssue:
    """Something in gold links that a person should look at.

    Attributes:
        kind: `whole` (a reference to a whole chapter or book), `following` (`ff.` or `sqq.`, read
            as two verses more), `unknown` (no such passage), `duplicate` (the same words and the
            same passages under another id), `repeated` (the same words with other passages),
            `anchor` (not among the query's words), `numbering` (a neighbouring verse shares far
            more), or `no-overlap` (no token or lemma is shared).
        line: The link's line in its file, 0 if it has none.
        query_id: The query.
        passage: The relevant passage that it is about, or "" where it is about all.
        note: An explanation.
    """

    kind: str
    line: int
    query_id: str
    passage: str
    note: str


@dataclass(frozen=True, slots=True)
class GoldReport:
    """The result of `check`.

    Attributes:
        types: Counts by type, in alphabetical order.
        findings: In the order of the kinds that `GoldIssue` lists, then of the links.
    """

    types: tuple[TypeCounts, ...]
    findings: tuple[GoldIssue, ...]


def check(
    links: Sequence[GoldLink],
    index: CandidateIndex,
    analyser: Analyser,
    numbering: Numbering = "vulgate",
    *,
    source: str = "gold links",
) -> GoldReport:
    """The report on gold links: what is unknown, repeated, or unlike its passage.

    Args:
        links: From `gold.files.read_gold`.
        index: The index of the collection that they go to.
        analyser: Analyses queries as the index was analysed.
        numbering: The verse numbering of the links.
        source: The links' file, for messages.

    Raises:
        InputError: Two references of a query mean the same verse.

    Example:
        >>> from allusion_es.local.memory import index_texts
        >>> from allusion_es.retrieval.types import Query
        >>> index = index_texts({"Ps.1.1": "Beatus vir", "Ps.1.2": "sed in lege"})
        >>> link = GoldLink(Query("in lege voluntas", "q"), ("Ps.1.1",))
        >>> [(found.kind, found.passage) for found in check([link], index, Analyser()).findings]
        [('no-overlap', 'Ps.1.1')]
    """
    ids = index.ids()
    known, unknown = resolve_known(links, ids, numbering, source=source)
    queries = {link.query.query_id: analyse_query(link.query, analyser) for link in known}
    pairs = overlaps(known, queries, index)
    findings = [
        *_wide_references(links, ids),
        *(GoldIssue("unknown", u.line, u.query_id, u.written, u.reason) for u in unknown),
        *_repeated_queries(known, queries),
        *_missing_anchors(links, analyser),
        *(
            GoldIssue("numbering", link.line, link.query.query_id, passage, note)
            for link, passage, note in _better_neighbours(known, queries, index, ids)
        ),
        *(
            GoldIssue("no-overlap", o.link.line, o.link.query.query_id, o.passage, "no shared word")
            for o in pairs
            if not any(o.shared.values())
        ),
    ]
    return GoldReport(_type_counts(known, pairs), tuple(findings))


def _wide_references(links: Iterable[GoldLink], ids: Iterable[str]) -> list[GoldIssue]:
    """References that mean more verses than they name: chapters and books, then `sqq.`."""
    known = frozenset(ids)
    whole: list[GoldIssue] = []
    following: list[GoldIssue] = []
    for link in links:
        for written in link.relevant:
            if written in known:
                continue
            for each in read_references(written):
                if not each.verse or not each.last_verse:
                    note = f"stands for all of {each}"
                    whole.append(GoldIssue("whole", link.line, link.query.query_id, written, note))
                elif each.open and each.last_verse > each.verse + 1:
                    note = f"read as {each}; it names no last verse"
                    following.append(
                        GoldIssue("following", link.line, link.query.query_id, written, note)
                    )
    return whole + following


def _repeated_queries(
    links: Sequence[GoldLink], queries: dict[str, AnalysedQuery]
) -> list[GoldIssue]:
    """Queries with the same words as one before them: duplicates first, then other passages."""
    first: dict[tuple[str, ...], GoldLink] = {}
    duplicates: list[GoldIssue] = []
    repeated: list[GoldIssue] = []
    for link in links:
        before = first.setdefault(queries[link.query.query_id].words("token"), link)
        if before is link:
            continue
        where = f"as query {before.query.query_id!r} on line {before.line}"
        same = set(before.relevant) == set(link.relevant)
        kind, what = ("duplicate", "words and passages") if same else ("repeated", "words")
        finding = GoldIssue(kind, link.line, link.query.query_id, "", f"the same {what} {where}")
        (duplicates if same else repeated).append(finding)
    return duplicates + repeated


def _missing_anchors(links: Iterable[GoldLink], analyser: Analyser) -> list[GoldIssue]:
    """Queries whose words do not contain the anchor that they name."""
    found = []
    for link in links:
        anchor = analyser.analyse(link.query.anchor).tokens
        if not set(anchor) <= set(analyser.analyse(link.query.text).tokens):
            note = f"the anchor {link.query.anchor!r} is not among the query's words"
            found.append(GoldIssue("anchor", link.line, link.query.query_id, "", note))
    return found


def _better_neighbours(
    links: Sequence[GoldLink],
    queries: Mapping[str, AnalysedQuery],
    index: CandidateIndex,
    ids: Collection[str],
) -> Iterator[tuple[GoldLink, str, str]]:
    """Links that seem to count verses in another way: a neighbour of the verse fits far better.

    Psalms are off by one where a link was taken over from the Hebrew or an English Bible, and
    their verses by one or two where titles are not counted; verses anywhere by one where the
    editions divide a chapter otherwise, or where somebody slipped. So neighbours are the verses
    before and after, and in the psalm before and after the verse of the same number and the two
    after it. Shared words are weighed by inverse document frequency, each lemma once.

    Args:
        links: Links with ids of the collection.
        queries: Each link's query, analysed, by query id.
        index: The index of the collection.
        ids: The ids of its passages.

    Yields:
        The link, its passage whose neighbour fits better, and an explanation.
    """
    known = frozenset(ids)
    near = {
        passage: [name for name in _neighbours(passage) if name in known]
        for link in links
        for passage in link.relevant
        if is_verse_id(passage)
    }
    wanted = {name for passage, names in near.items() for name in (passage, *names)}
    listed = sorted(wanted)
    texts = index.texts("lemma", listed)
    words = {name: frozenset(texts.text(number)) for number, name in enumerate(listed)}
    weights = _weights(index, {word for query in queries.values() for word in query.words("lemma")})
    for link in links:
        lemmas = frozenset(queries[link.query.query_id].words("lemma"))
        verses = [passage for passage in link.relevant if passage in near]
        shared = {
            name: sum(weights[word] for word in sorted(lemmas & words[name]))
            for passage in verses
            for name in (passage, *near[passage])
        }
        best = max((shared[passage] for passage in verses), default=0.0)
        found = [
            (shared[name], passage, name)
            for passage in verses
            for name in near[passage]
            if name not in link.relevant
            and shared[name] >= max(_LEAST_RATIO * best, best + _LEAST_MORE)
        ]
        if found:
            weight, passage, name = max(found, key=lambda each: (each[0], each[2]))
            common = ", ".join(sorted(lemmas & words[name], key=lambda w: (-weights[w], w))[:5])
            yield link, passage, f"{name} shares more: {common} ({weight:.1f} against {best:.1f})"


def _neighbours(passage: str) -> list[str]:
    """The ids of the verses that a link may have been meant for; not all of them exist."""
    verse = parse_verse_id(passage)
    book, chapter, number = verse.book, verse.chapter, verse.verse
    places = [(chapter, number - 1), (chapter, number + 1)]
    if book.osis == "Ps":
        places += [(chapter + step, number + more) for step in (-1, 1) for more in (0, 1, 2)]
    return [str(VerseId(book, *place)) for place in places]


def _weights(index: CandidateIndex, words: Collection[str]) -> dict[str, float]:
    """The inverse document frequency of each lemma; an unknown one counts as in one passage."""
    listed = sorted(words)
    statistics = index.statistics("lemma", listed)
    weights = idf(np.maximum(statistics.df, 1), max(statistics.passages, 1))
    return dict(zip(listed, weights.tolist(), strict=True))


def _type_counts(links: Sequence[GoldLink], pairs: Sequence[Overlap]) -> tuple[TypeCounts, ...]:
    counts = []
    for kind in sorted({link.type for link in links}):
        chosen = [link for link in links if link.type == kind]
        of_type = [pair for pair in pairs if pair.link.type == kind]
        counts.append(
            TypeCounts(
                type=kind,
                queries=len(chosen),
                links=len(of_type),
                several=sum(len(link.relevant) > 1 for link in chosen),
                no_token=sum(not pair.shared["token"] for pair in of_type),
                no_lemma=sum(not pair.shared["lemma"] for pair in of_type),
            )
        )
    return tuple(counts)
