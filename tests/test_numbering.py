from functools import cache
from itertools import pairwise

import pytest

from allusion_es.core.errors import UsageError, VerseError
from allusion_es.corpora.bible.numbering import NUMBERINGS, Numbering, to_vulgate
from allusion_es.corpora.passage import Passage

# Verses in each chapter, counted in the King James Version.
KJV = """
Gen 31 25 24 26 32 22 24 22 29 32 32 20 18 24 21 16 27 33 38 18 34 24 20 67 34 35 46 22 35 43 55
32 20 31 29 43 36 30 23 23 57 38 34 34 28 34 31 22 33 26 Exod 22 25 22 31 23 30 25 32 35 29 10
51 22 31 27 36 16 27 25 26 36 31 33 18 40 37 21 43 46 38 18 35 23 35 35 38 29 31 43 38 Lev 17 16
17 35 19 30 38 36 24 20 47 8 59 57 33 34 16 30 37 27 24 33 44 23 55 46 34 Num 54 34 51 49 31 27
89 26 23 36 35 16 33 45 41 50 13 32 22 29 35 41 30 25 18 65 23 31 40 16 54 42 56 29 34 13 Deut
46 37 29 49 33 25 26 20 29 22 32 32 18 29 23 22 20 22 21 20 23 30 25 22 19 19 26 68 29 20 30 52
29 12 Josh 18 24 17 24 15 27 26 35 27 43 23 24 33 15 63 10 18 28 51 9 45 34 16 33 Judg 36 23 31
24 31 40 25 35 57 18 40 15 25 20 20 31 13 31 30 48 25 Ruth 22 23 18 22 1Sam 28 36 21 22 12 21 17
22 27 27 15 25 23 52 35 23 58 30 24 42 15 23 29 22 44 25 12 25 11 31 13 2Sam 27 32 39 12 25 23
29 18 13 19 27 31 39 33 37 23 29 33 43 26 22 51 39 25 1Kgs 53 46 28 34 18 38 51 66 28 29 43 33
34 31 34 34 24 46 21 43 29 53 2Kgs 18 25 27 44 27 33 20 29 37 36 21 21 25 29 38 20 41 37 37 21
26 20 37 20 30 1Chr 54 55 24 43 26 81 40 40 44 14 47 40 14 17 29 43 27 17 19 8 30 19 32 31 31 32
34 21 30 2Chr 17 18 17 22 14 42 22 18 31 19 23 16 22 15 19 14 19 34 11 37 20 12 21 27 28 23 9 27
36 27 21 33 25 33 27 23 Ezra 11 70 13 24 17 22 28 36 15 44 Neh 11 20 32 23 19 19 73 18 38 39 36
47 31 Esth 22 23 15 17 14 14 10 17 32 3 Job 22 13 26 21 27 30 21 22 35 22 20 25 28 22 35 22 16
21 29 29 34 30 17 25 6 14 23 28 25 31 40 22 33 37 16 33 24 41 30 24 34 17 Ps 6 12 8 8 12 10 17 9
20 18 7 8 6 7 5 11 15 50 14 9 13 31 6 10 22 12 14 9 11 12 24 11 22 22 28 12 40 22 13 17 13 11 5
26 17 11 9 14 20 23 19 9 6 7 23 13 11 11 17 12 8 12 11 10 13 20 7 35 36 5 24 20 28 23 10 12 20
72 13 19 16 8 18 12 13 17 7 18 52 17 16 15 5 23 11 13 12 9 9 5 8 28 22 35 45 48 43 13 31 7 10 10
9 8 18 19 2 29 176 7 8 9 4 8 5 6 5 6 8 8 3 18 3 3 21 26 9 8 24 13 10 7 12 15 21 10 20 14 9 6
Prov 33 22 35 27 23 35 27 36 18 32 31 28 25 35 33 33 28 24 29 30 31 29 35 34 28 28 27 28 27 33
31 Eccl 18 26 22 16 20 12 29 17 18 20 10 14 Song 17 17 11 16 16 13 13 14 Isa 31 22 26 6 30 13 25
22 21 34 16 6 22 32 9 14 14 7 25 6 17 25 18 23 12 21 13 29 24 33 9 20 24 17 10 22 38 22 8 31 29
25 28 28 25 13 15 22 26 11 23 15 12 17 13 12 21 14 21 22 11 12 19 12 25 24 Jer 19 37 25 31 31 30
34 22 26 25 23 17 27 22 21 21 27 23 15 18 14 30 40 10 38 24 22 17 32 24 40 44 26 22 19 32 21 28
18 16 18 22 13 30 5 28 7 47 39 46 64 34 Lam 22 22 66 22 22 Ezek 28 10 27 17 17 14 27 18 11 22 25
28 23 23 8 63 24 32 14 49 32 31 49 27 17 21 36 26 21 26 18 32 33 31 15 38 28 23 29 49 26 20 27
31 25 24 23 35 Dan 21 49 30 37 31 28 28 27 27 21 45 13 Hos 11 23 5 19 15 11 16 14 17 15 12 14 16
9 Joel 20 32 21 Amos 15 16 15 13 27 14 17 14 15 Obad 21 Jonah 17 10 10 11 Mic 16 13 12 13 15 16
20 Nah 15 13 19 Hab 17 20 19 Zeph 18 15 20 Hag 15 23 Zech 21 13 10 14 11 15 14 23 17 12 17 14 9
21 Mal 14 17 18 6 Matt 25 23 17 25 48 34 29 34 38 42 30 50 58 36 39 28 27 35 30 34 46 46 39 51
46 75 66 20 Mark 45 28 35 41 43 56 37 38 50 52 33 44 37 72 47 20 Luke 80 52 38 44 39 49 50 56 62
42 54 59 35 35 32 31 37 43 48 47 38 71 56 53 John 51 25 36 54 47 71 53 59 41 42 57 50 38 31 27
33 26 40 42 31 25 Acts 26 47 26 37 42 15 60 40 43 48 30 25 52 28 41 40 34 28 41 38 40 30 35 27
27 32 44 31 Rom 32 29 31 25 21 23 25 39 33 21 36 21 14 23 33 27 1Cor 31 16 23 21 13 20 40 13 27
33 34 31 13 40 58 24 2Cor 24 17 18 18 21 18 16 24 15 18 33 21 14 Gal 24 21 29 31 26 18 Eph 23 22
21 32 33 24 Phil 30 30 21 23 Col 29 23 25 18 1Thess 10 20 13 18 28 2Thess 12 17 18 1Tim 20 15 16
16 25 21 2Tim 18 26 17 22 Titus 16 15 15 Phlm 25 Heb 14 18 19 16 14 20 28 13 28 39 40 29 25 Jas
27 26 18 17 20 1Pet 25 25 22 19 14 2Pet 21 22 18 1John 10 29 24 21 21 2John 13 3John 14 Jude 25
Rev 20 29 22 11 14 17 17 13 21 11 19 17 18 20 8 21 18 24 21 15 27 21
"""

# Of the Hebrew (Leningrad codex), the books whose chapters are not those of the KJV.
HEBREW = """
Gen 31 25 24 26 32 22 24 22 29 32 32 20 18 24 21 16 27 33 38 18 34 24 20 67 34 35 46 22 35 43 54
33 20 31 29 43 36 30 23 23 57 38 34 34 28 34 31 22 33 26 Exod 22 25 22 31 23 30 29 28 35 29 10
51 22 31 27 36 16 27 25 26 37 30 33 18 40 37 21 43 46 38 18 35 23 35 35 38 29 31 43 38 Lev 17 16
17 35 26 23 38 36 24 20 47 8 59 57 33 34 16 30 37 27 24 33 44 23 55 46 34 Num 54 34 51 49 31 27
89 26 23 36 35 16 33 45 41 35 28 32 22 29 35 41 30 25 19 65 23 31 39 17 54 42 56 29 34 13 Deut
46 37 29 49 33 25 26 20 29 22 32 31 19 29 23 22 20 22 21 20 23 29 26 22 19 19 26 69 28 20 30 52
29 12 1Sam 28 36 21 22 12 21 17 22 27 27 15 25 23 52 35 23 58 30 24 42 16 23 28 23 44 25 12 25
11 31 13 2Sam 27 32 39 12 25 23 29 18 13 19 27 31 39 33 37 23 29 32 44 26 22 51 39 25 1Kgs 53 46
28 20 32 38 51 66 28 29 43 33 34 31 34 34 24 46 21 43 29 54 2Kgs 18 25 27 44 27 33 20 29 37 36
20 22 25 29 38 20 41 37 37 21 26 20 37 20 30 1Chr 54 55 24 43 41 66 40 40 44 14 47 41 14 17 29
43 27 17 19 8 30 19 32 31 31 32 34 21 30 2Chr 18 17 17 22 14 42 22 18 31 19 23 16 23 14 19 14 19
34 11 37 20 12 21 27 28 23 9 27 36 27 21 33 25 33 27 23 Neh 11 20 38 17 19 19 72 18 37 40 36 47
31 Job 22 13 26 21 27 30 21 22 35 22 20 25 28 22 35 22 16 21 29 29 34 30 17 25 6 14 23 28 25 31
40 22 33 37 16 33 24 41 30 32 26 17 Ps 6 12 9 9 13 11 18 10 21 18 7 9 6 7 5 11 15 51 15 10 14 32
6 10 22 12 14 9 11 13 25 11 22 23 28 13 40 23 14 18 14 12 5 27 18 12 10 15 21 23 21 11 7 9 24 14
12 12 18 14 9 13 12 11 14 20 8 36 37 6 24 20 28 23 11 13 21 72 13 20 17 8 19 13 14 17 7 19 53 17
16 16 5 23 11 13 12 9 9 5 8 29 22 35 45 48 43 14 31 7 10 10 9 8 18 19 2 29 176 7 8 9 4 8 5 6 5 6
8 8 3 18 3 3 21 26 9 8 24 14 10 8 12 15 21 10 20 14 9 6 Eccl 18 26 22 17 19 12 29 17 18 20 10 14
Song 17 17 11 16 16 12 14 14 Isa 31 22 26 6 30 13 25 23 20 34 16 6 22 32 9 14 14 7 25 6 17 25 18
23 12 21 13 29 24 33 9 20 24 17 10 22 38 22 8 31 29 25 28 28 25 13 15 22 26 11 23 15 12 17 13 12
21 14 21 22 11 12 19 11 25 24 Jer 19 37 25 31 31 30 34 23 25 25 23 17 27 22 21 21 27 23 15 18 14
30 40 10 38 24 22 17 32 24 40 44 26 22 19 32 21 28 18 16 18 22 13 30 5 28 7 47 39 46 64 34 Ezek
28 10 27 17 17 14 27 18 11 22 25 28 23 23 8 63 24 32 14 44 37 31 49 27 17 21 36 26 21 26 18 32
33 31 15 38 28 23 29 49 26 20 27 31 25 24 23 35 Dan 21 49 33 34 30 29 28 27 27 21 45 13 Hos 9 25
5 19 15 11 16 14 17 15 11 15 15 10 Joel 20 27 5 21 Jonah 16 11 10 11 Mic 16 13 12 14 14 16 20
Nah 14 14 19 Zech 17 17 10 14 11 15 14 23 17 12 17 14 9 21 Mal 14 17 24
"""

OLD_TESTAMENT_SIZE = 39


@cache
def chapters(text: str) -> dict[str, list[int]]:
    lengths: dict[str, list[int]] = {}
    book = ""
    for word in text.split():
        if word.isdecimal():
            lengths[book].append(int(word))
        else:
            book = word
            lengths[book] = []
    return lengths


def verses(numbering: Numbering) -> list[str]:
    lengths = chapters(KJV)
    if numbering == "hebrew":
        old = dict(list(lengths.items())[:OLD_TESTAMENT_SIZE])
        lengths = old | chapters(HEBREW)
    return [
        f"{book}.{chapter}.{verse}"
        for book, counts in lengths.items()
        for chapter, count in enumerate(counts, start=1)
        for verse in range(1, count + 1)
    ]


def is_addition(passage: Passage) -> bool:
    """Whether neither the Hebrew nor the KJV has this verse of a book that they have."""
    place = (passage.chapter, passage.verse)
    return (passage.book == "Esth" and place > (10, 3)) or (
        passage.book == "Dan" and ((3, 24) <= place <= (3, 90) or place > (13, 0))
    )


def test_the_tables_have_all_verses() -> None:
    assert (len(verses("kjv")), len(verses("hebrew"))) == (31102, 23213)


@pytest.mark.parametrize("numbering", ["hebrew", "kjv"])
def test_every_verse_leads_to_verses_of_the_vulgate(
    numbering: Numbering, vulgate_passages: tuple[Passage, ...]
) -> None:
    existing = {passage.id for passage in vulgate_passages}
    lost = [
        verse
        for verse in verses(numbering)
        if not existing.issuperset(to_vulgate(verse, numbering))
    ]
    assert lost == []


def test_every_verse_of_the_vulgate_is_reached_from_the_hebrew(
    vulgate_passages: tuple[Passage, ...],
) -> None:
    reached = {target for verse in verses("hebrew") for target in to_vulgate(verse, "hebrew")}
    books = {verse.partition(".")[0] for verse in verses("hebrew")}
    missed = [
        passage.id
        for passage in vulgate_passages
        if passage.book in books and passage.id not in reached and not is_addition(passage)
    ]
    assert missed == []


def test_only_psalm_titles_are_not_reached_from_the_kjv(
    vulgate_passages: tuple[Passage, ...],
) -> None:
    reached = {target for verse in verses("kjv") for target in to_vulgate(verse, "kjv")}
    books = set(chapters(KJV))
    missed = [
        passage
        for passage in vulgate_passages
        if passage.book in books and passage.id not in reached and not is_addition(passage)
    ]
    assert {passage.book for passage in missed} == {"Ps"}
    assert [passage.id for passage in missed if passage.verse > 1] == [
        "Ps.50.2",
        "Ps.51.2",
        "Ps.53.2",
        "Ps.59.2",
    ]


@pytest.mark.parametrize("numbering", ["hebrew", "kjv"])
def test_the_order_of_verses_is_kept(
    numbering: Numbering, vulgate_passages: tuple[Passage, ...]
) -> None:
    places = {passage.id: passage.order for passage in vulgate_passages}
    reached = [(places[to_vulgate(verse, numbering)[-1]], verse) for verse in verses(numbering)]
    back = [verse for before, (place, verse) in pairwise(reached) if place < before[0]]
    # The silver of the tabernacle, and the two kinds of preachers.
    assert back == (["Exod.38.26"] if numbering == "hebrew" else ["Exod.38.26", "Phil.1.17"])


@pytest.mark.parametrize(
    ("numbering", "verse", "words"),
    [
        ("kjv", "Ps.51.1", "Miserere mei, Deus"),
        ("hebrew", "Ps.51.3", "Miserere mei, Deus"),
        ("hebrew", "Ps.51.1", "In finem"),
        ("kjv", "Ps.22.1", "Deus, Deus meus, respice in me"),
        ("kjv", "Ps.23.1", "Dominus regit me"),
        ("kjv", "Ps.10.1", "Ut quid, Domine, recessisti longe"),
        ("kjv", "Ps.114.1", "In exitu Israël de Aegypto"),
        ("kjv", "Ps.115.1", "Non nobis, Domine"),
        ("kjv", "Ps.116.1", "Dilexi"),
        ("kjv", "Ps.116.10", "Credidi, propter quod locutus sum"),
        ("kjv", "Ps.119.1", "Beati immaculati in via"),
        ("kjv", "Ps.147.12", "Lauda, Jerusalem, Dominum"),
        ("kjv", "Ps.150.6", "Omnis spiritus laudet Dominum"),
        ("hebrew", "Joel.3.1", "effundam spiritum meum"),
        ("kjv", "Joel.2.28", "effundam spiritum meum"),
        ("hebrew", "Mal.3.23", "Ecce ego mittam vobis Eliam"),
        ("kjv", "Mal.4.5", "Ecce ego mittam vobis Eliam"),
        ("kjv", "Jonah.1.17", "praeparavit Dominus piscem grandem"),
        ("hebrew", "Jonah.2.1", "praeparavit Dominus piscem grandem"),
        ("kjv", "Hos.14.1", "Convertere, Israël"),
        ("hebrew", "Hos.2.1", "quasi arena maris"),
        ("hebrew", "Mic.5.1", "Bethlehem Ephrata"),
        ("kjv", "Mic.5.2", "Bethlehem Ephrata"),
        ("hebrew", "Nah.2.1", "super montes pedes evangelizantis"),
        ("hebrew", "Zech.2.1", "ecce quatuor cornua"),
        ("kjv", "Job.41.1", "Leviathan hamo"),
        ("hebrew", "Job.40.25", "Leviathan hamo"),
        ("kjv", "Job.40.15", "Ecce Behemoth"),
        ("kjv", "Isa.9.6", "Parvulus enim natus est nobis"),
        ("hebrew", "Isa.9.5", "Parvulus enim natus est nobis"),
        ("hebrew", "Jer.9.22", "Non glorietur sapiens"),
        ("kjv", "Dan.3.24", "Nabuchodonosor rex obstupuit"),
        ("kjv", "Dan.4.34", "levavi"),
        ("hebrew", "Dan.6.1", "Darius Medus successit in regnum"),
        ("hebrew", "Exod.21.37", "Si quis furatus fuerit bovem"),
        ("hebrew", "Lev.6.2", "haec est lex holocausti"),
        ("hebrew", "Num.17.23", "germinasse virgam Aaron"),
        ("hebrew", "1Kgs.5.12", "tria millia parabolas"),
        ("hebrew", "2Sam.19.1", "Absalom fili mi"),
        ("kjv", "1Sam.24.1", "David in deserto est Engaddi"),
        ("kjv", "Eccl.7.20", "homo justus in terra"),
        ("hebrew", "Song.7.1", "Revertere, revertere, Sulamitis"),
        ("kjv", "Matt.17.20", "granum sinapis"),
        ("kjv", "Mark.9.1", "non gustabunt mortem"),
        ("kjv", "John.6.54", "Qui manducat meam carnem"),
        ("kjv", "Acts.7.60", "ne statuas illis hoc peccatum"),
        ("kjv", "2Cor.13.14", "Gratia Domini nostri Jesu Christi"),
        ("kjv", "Phil.1.17", "ex caritate"),
    ],
)
def test_known_verses_are_found(
    numbering: Numbering, verse: str, words: str, vulgate_passages: tuple[Passage, ...]
) -> None:
    texts = {passage.id: passage.text for passage in vulgate_passages}
    found = " ".join(texts[target] for target in to_vulgate(verse, numbering))
    assert words.casefold() in found.casefold()


def test_where_the_latin_ends_a_verse_elsewhere_all_its_verses_are_given() -> None:
    assert to_vulgate("Ps.2.12", "kjv") == ("Ps.2.12", "Ps.2.13")
    assert to_vulgate("Rev.13.1", "kjv") == ("Rev.12.18", "Rev.13.1")


def test_other_books_and_the_vulgates_own_numbers_stay() -> None:
    for numbering in NUMBERINGS:
        assert to_vulgate("Tob.4.16", numbering) == ("Tob.4.16",)
        assert to_vulgate("Gen.1.1", numbering) == ("Gen.1.1",)
    assert to_vulgate("Ps.50.3", "vulgate") == ("Ps.50.3",)


def test_bad_input_is_refused() -> None:
    with pytest.raises(UsageError, match="use one of vulgate, hebrew, kjv"):
        to_vulgate("Ps.1.1", "greek")  # type: ignore[arg-type]
    with pytest.raises(VerseError):
        to_vulgate("Ps 1,1", "kjv")
