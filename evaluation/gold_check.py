"""What may be wrong with gold links: a report, for a person to go through."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from allusion_es.core.errors import VerseError
from allusion_es.corpora.numbering import Numbering
from allusion_es.corpora.references import parse_references
from allusion_es.evaluation.gold import GoldLink
from allusion_es.evaluation.gold_ids import UnknownPassage, resolve, resolve_known
from allusion_es.evaluation.gold_numbering import better_neighbours
from allusion_es.language.analysis import Analyser
from allusion_es.retrieval.analysed import analyse_query
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.texts import CodedTexts
from allusion_es.retrieval.types import AnalysedQuery

__all__ = [
    "Finding",
    "GoldReport",
    "TypeCounts",
    "UnknownPassage",
    "check",
    "resolve",
    "resolve_known",
]


@dataclass(frozen=True, slots=True)
class TypeCounts:
    """How many links there are of a type; a link here is a query and one relevant passage.

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
class Finding:
    """Something to look at.

    Attributes:
        kind: `whole` (a reference to a whole chapter or book), `following` (`ff.` or `sqq.`, read
            as two verses more), `unknown` (no such passage), `duplicate` (the same words and the
            same passages under another id), `repeated` (the same words with other passages),
            `anchor` (not among the query's words), `numbering` (a neighbouring verse shares far
            more), or
            `no-overlap` (no token or lemma is shared).
        line: The link's line in its file, 0 if it has none.
        query_id: The query.
        passage: The relevant passage that it is about, or "" where it is about all.
        note: What was found.
    """

    kind: str
    line: int
    query_id: str
    passage: str
    note: str


@dataclass(frozen=True, slots=True)
class GoldReport:
    """What `check` found.

    Attributes:
        types: Counts by type, in alphabetical order.
        findings: In the order of the kinds that `Finding` lists, then of the links.
    """

    types: tuple[TypeCounts, ...]
    findings: tuple[Finding, ...]


def check(
    links: Sequence[GoldLink],
    index: CandidateIndex,
    analyser: Analyser,
    numbering: Numbering = "vulgate",
    *,
    source: str = "gold links",
) -> GoldReport:
    """Look through gold links for what is unknown, repeated, or unlike its passage.

    Args:
        links: As `gold_files.read_gold` gives them.
        index: Of the collection that they go to.
        analyser: Analyses queries as the index was analysed.
        numbering: Whose verse numbers the links have.
        source: The links' file, for messages.

    Raises:
        InputError: Two references of a query mean the same verse.

    Example:
        >>> from allusion_es.retrieval.memory import index_texts
        >>> from allusion_es.retrieval.types import Query
        >>> index = index_texts({"Ps.1.1": "Beatus vir", "Ps.1.2": "sed in lege"})
        >>> link = GoldLink(Query("in lege voluntas", "q"), ("Ps.1.1",))
        >>> [(found.kind, found.passage) for found in check([link], index, Analyser()).findings]
        [('no-overlap', 'Ps.1.1')]
    """
    ids = index.ids()
    known, unknown = resolve_known(links, ids, numbering, source=source)
    queries = {link.query.query_id: analyse(link, analyser) for link in known}
    overlaps = _overlaps(known, queries, index)
    findings = [
        *_wide(links, ids),
        *(Finding("unknown", u.line, u.query_id, u.written, u.reason) for u in unknown),
        *_repeated(known, queries),
        *_anchors(links, analyser),
        *(
            Finding("numbering", link.line, link.query.query_id, passage, note)
            for link, passage, note in better_neighbours(known, queries, index, ids)
        ),
        *(
            Finding("no-overlap", o.link.line, o.link.query.query_id, o.passage, "no shared word")
            for o in overlaps
            if not (o.token or o.lemma)
        ),
    ]
    return GoldReport(_counts(known, overlaps), tuple(findings))


def _wide(links: Iterable[GoldLink], ids: Iterable[str]) -> list[Finding]:
    """References that stand for more verses than they name: chapters and books, then `sqq.`."""
    known = frozenset(ids)
    whole: list[Finding] = []
    following: list[Finding] = []
    for link in links:
        for written in link.relevant:
            if written in known:
                continue
            try:
                references = parse_references(written)
            except VerseError:
                continue
            for each in references:
                if not each.verse or not each.last_verse:
                    note = f"stands for all of {each}"
                    whole.append(Finding("whole", link.line, link.query.query_id, written, note))
                elif each.open and each.last_verse > each.verse + 1:
                    note = f"read as {each}; it names no last verse"
                    following.append(
                        Finding("following", link.line, link.query.query_id, written, note)
                    )
    return whole + following


def analyse(link: GoldLink, analyser: Analyser) -> AnalysedQuery:
    """The link's query with its words."""
    return analyse_query(link.query, analyser)


@dataclass(frozen=True, slots=True)
class _Overlap:
    """How many distinct tokens and lemmas a query shares with a passage."""

    link: GoldLink
    passage: str
    token: int
    lemma: int


def _overlaps(
    links: Sequence[GoldLink], queries: dict[str, AnalysedQuery], index: CandidateIndex
) -> list[_Overlap]:
    ids = list(dict.fromkeys(passage for link in links for passage in link.relevant))
    tokens = dict(zip(ids, _word_sets(index.texts("token", ids)), strict=True))
    lemmas = dict(zip(ids, _word_sets(index.texts("lemma", ids)), strict=True))
    found = []
    for link in links:
        query = queries[link.query.query_id]
        for passage in link.relevant:
            token = len(tokens[passage].intersection(query.words("token")))
            lemma = len(lemmas[passage].intersection(query.words("lemma")))
            found.append(_Overlap(link, passage, token, lemma))
    return found


def _word_sets(texts: CodedTexts) -> list[frozenset[str]]:
    return [frozenset(texts.text(number)) for number in range(len(texts))]


def _counts(links: Sequence[GoldLink], overlaps: Sequence[_Overlap]) -> tuple[TypeCounts, ...]:
    counts = []
    for kind in sorted({link.type for link in links}):
        chosen = [link for link in links if link.type == kind]
        pairs = [overlap for overlap in overlaps if overlap.link.type == kind]
        counts.append(
            TypeCounts(
                type=kind,
                queries=len(chosen),
                links=len(pairs),
                several=sum(len(link.relevant) > 1 for link in chosen),
                no_token=sum(not pair.token for pair in pairs),
                no_lemma=sum(not pair.lemma for pair in pairs),
            )
        )
    return tuple(counts)


def _repeated(links: Sequence[GoldLink], queries: dict[str, AnalysedQuery]) -> list[Finding]:
    """Queries whose words another query before them has, word for word."""
    first: dict[tuple[str, ...], GoldLink] = {}
    duplicates: list[Finding] = []
    repeated: list[Finding] = []
    for link in links:
        before = first.setdefault(queries[link.query.query_id].words("token"), link)
        if before is link:
            continue
        where = f"as query {before.query.query_id!r} on line {before.line}"
        same = set(before.relevant) == set(link.relevant)
        kind, what = ("duplicate", "words and passages") if same else ("repeated", "words")
        finding = Finding(kind, link.line, link.query.query_id, "", f"the same {what} {where}")
        (duplicates if same else repeated).append(finding)
    return duplicates + repeated


def _anchors(links: Iterable[GoldLink], analyser: Analyser) -> list[Finding]:
    found = []
    for link in links:
        anchor = analyser.analyse(link.query.anchor).tokens
        if not set(anchor) <= set(analyser.analyse(link.query.text).tokens):
            note = f"the anchor {link.query.anchor!r} is not among the query's words"
            found.append(Finding("anchor", link.line, link.query.query_id, "", note))
    return found
