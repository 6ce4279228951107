"""Windows of words around the anchor."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allusion_es.core.errors import UsageError
from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.evaluation.paper.windows import has_anchor, window
from allusion_es.language.latin.tokenise import printed_words
from allusion_es.retrieval.types import Query

WORDS = st.lists(st.sampled_from(["lux", "Deus,", "terra", "[e]st", "dixitque", "3"]), max_size=8)
TEXT = WORDS.map(" ".join)
BERNARD = Query(
    "sed dilectio illa supereminet omni scientiae",
    before="Osculum plane dilectionis et pacis,",
    after=", et pax illa omnem sensum exsuperat",
    anchor="scientiae",
)


def test_the_papers_example() -> None:
    cut = window(BERNARD, 3)
    assert cut.text == "illa supereminet omni scientiae , et pax illa"
    assert cut.before == "Osculum plane dilectionis et pacis, sed dilectio"
    assert cut.after == "omnem sensum exsuperat"
    assert (cut.query_id, cut.anchor) == (BERNARD.query_id, BERNARD.anchor)
    assert window(BERNARD, 0).text == "scientiae"
    assert window(BERNARD, 1000).text == (
        "Osculum plane dilectionis et pacis, sed dilectio illa supereminet omni scientiae , "
        "et pax illa omnem sensum exsuperat"
    )


def test_anchors_of_several_words_and_other_spelling() -> None:
    query = Query("quia caro et sanguis non revelavit", anchor="Caro  et sanguis")
    assert window(query, 1).text == "quia caro et sanguis non"
    assert has_anchor(GoldLink(query, ("x",)))
    assert window(Query("omnia uanitas est", anchor="vanitas"), 0).text == "uanitas"


def test_without_an_anchor_the_middle_word_stands_in() -> None:
    assert window(Query("in principio erat verbum"), 0).text == "principio"
    missing = Query("in principio erat", anchor="verbum")
    assert window(missing, 0).text == "principio"
    assert not has_anchor(GoldLink(missing, ("x",)))
    # "sit" is part of a word, but no word.
    assert not has_anchor(GoldLink(Query("possit", anchor="sit"), ("x",)))


def test_what_has_no_words_stays() -> None:
    assert window(Query("3", before="lux"), 3) == Query("3", before="lux")
    with pytest.raises(UsageError, match="-1 words on each side"):
        window(BERNARD, -1)


@given(TEXT, TEXT, TEXT, st.integers(0, 9))
def test_windows_lose_no_word(before: str, text: str, after: str, size: int) -> None:
    def forms(*texts: str) -> list[str]:
        return [word.form for each in texts for word in printed_words(each)]

    cut = window(Query(text, before=before, after=after), size)
    assert forms(cut.before, cut.text, cut.after) == forms(before, text, after)
    if forms(text):
        assert 1 <= len(forms(cut.text)) <= 2 * size + 1
    longer = window(Query(text, before=before, after=after), size + 1)
    assert cut.text in longer.text
