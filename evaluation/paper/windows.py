"""Windows of words around the anchor of a query, in place of the annotated span (Table 4)."""

from collections.abc import Sequence
from dataclasses import replace

from allusion_es.core.errors import UsageError
from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.language.latin.tokenise import WordSpan, printed_words
from allusion_es.retrieval.types import Query


def window(query: Query, size: int) -> Query:
    """The query cut down to its anchor with `size` words on each side, where there are so many.

    Words are taken from `before`, the query's own text and `after`. Where the query has no
    anchor, or its text does not contain it, the middle word of its text stands in (of two, the
    first). Source: Manjavacas et al. 2019, section 5.4 (Win-3, Win-10).

    Args:
        query: A query with its context.
        size: Words on each side.

    Returns:
        A query of the same id, whose text is the window and whose context is the rest. A query
        without words is returned as it is.

    Raises:
        UsageError: `size` is below 0.

    Example:
        >>> query = Query("sed dilectio illa", before="et pacis", after="supereminet omni")
        >>> window(query, 2).text, window(query, 1).before
        ('pacis sed dilectio illa supereminet', 'et pacis')
    """
    if size < 0:
        raise UsageError(f"a window has {size} words on each side; give 0 or more")
    own = printed_words(query.text)
    if not own:
        return query
    first, last = anchor_words(query, own)
    text = " ".join(part for part in (query.before, query.text, query.after) if part)
    shift = len(query.before) + 1 if query.before else 0
    words = printed_words(text)
    # The anchor is looked for in the query alone: the context may contain the same word.
    inside = [
        number
        for number, word in enumerate(words)
        if shift + own[first].start <= word.start < shift + own[last].end
    ]
    start = words[max(0, inside[0] - size)].start
    end = words[min(len(words) - 1, inside[-1] + size)].end
    return replace(
        query, text=text[start:end], before=text[:start].rstrip(), after=text[end:].lstrip()
    )


def anchor_words(query: Query, own: Sequence[WordSpan]) -> tuple[int, int]:
    """The numbers of the anchor's first and last word among the query's words.

    Without an anchor in the query, both are the number of its middle word.

    Example:
        >>> words = printed_words("omni scientiae")
        >>> anchor_words(Query("omni scientiae", anchor="Scientiæ"), words)
        (1, 1)
    """
    wanted = [word.form for word in printed_words(query.anchor)]
    forms = [word.form for word in own]
    for start in range(len(forms) - len(wanted) + 1 if wanted else 0):
        if forms[start : start + len(wanted)] == wanted:
            return start, start + len(wanted) - 1
    middle = (len(own) - 1) // 2
    return middle, middle


def has_anchor(link: GoldLink) -> bool:
    """True if the words of a link contain the anchor that it names."""
    wanted = " ".join(word.form for word in printed_words(link.query.anchor))
    text = " ".join(word.form for word in printed_words(link.query.text))
    return bool(wanted) and f" {wanted} " in f" {text} "
