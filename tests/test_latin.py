"""Whether a text is Latin: told where it hardly is, and not where it is."""

import json
from pathlib import Path

import pytest
from conftest import Run

from allusion_es.corpora.passage import Passage
from allusion_es.language.latin.analysis import Analyser
from allusion_es.local.index import LocalIndex
from allusion_es.local.memory import index_texts
from allusion_es.reports.answers import findings_of
from allusion_es.retrieval.latin import CollectionDoubt, language_doubt, text_doubt
from allusion_es.retrieval.pipeline import QueryOptions, Retriever

FOREIGN = """
the Lord is my shepherd, I shall not want
in the beginning God created the heaven and the earth
to be or not to be, that is the question
a sum of money in a bag
he is in me and I in him and we are in God
O death, where is thy sting
l'Éternel est mon berger, je ne manquerai de rien
au commencement Dieu créa le ciel et la terre
que la lumière soit
vanité des vanités, tout est vanité
beati i poveri in spirito, perché di essi è il regno dei cieli
nel mezzo del cammin di nostra vita mi ritrovai per una selva oscura
der Herr ist mein Hirte, mir wird nichts mangeln
am Anfang schuf Gott Himmel und Erde
ich bin der Weg und die Wahrheit und das Leben
el Señor es mi pastor, nada me falta
en arche en ho logos kai ho logos en pros ton theon
Ἐν ἀρχῇ ἦν ὁ λόγος, καὶ ὁ λόγος ἦν πρὸς τὸν θεόν
בראשית ברא אלהים את השמים ואת הארץ
Shepherd
""".strip().splitlines()
LATIN = """
in me
a
sum
gustate et videte quoniam suavis est Dominus
Arma virumque cano, Troiae qui primus ab oris
quadrupedante putrem sonitu quatit ungula campum
Tityre, tu patulae recubans sub tegmine fagi
Maecenas atavis edite regibus
Quo usque tandem abutere, Catilina, patientia nostra
passer mortuus est meae puellae
syllogismus praedicamentorum
transubstantiatio panis
Pange, lingua, gloriosi corporis mysterium
Gaudeamus igitur iuvenes dum sumus
manet in sǽculum sǽculi, múnera quæ étiam excǽcant
Et factum est in diebus illis ut iret in Thessalonicensem ciuitatem
""".strip().splitlines()


@pytest.mark.parametrize("text", FOREIGN)
def test_other_languages_are_told(vulgate_index: LocalIndex, text: str) -> None:
    answer = Retriever(vulgate_index, QueryOptions(reranker=None)).answer(text)
    assert answer.doubt.endswith("in 'vulgate'; is it Latin?")
    assert text_doubt(text, vulgate_index, Analyser())


@pytest.mark.parametrize("text", LATIN)
def test_latin_is_not_doubted(vulgate_index: LocalIndex, text: str) -> None:
    assert Retriever(vulgate_index, QueryOptions(reranker=None)).answer(text).doubt == ""
    assert text_doubt(f"{text}. " * 50, vulgate_index, Analyser()) == ""


def test_verses_are_latin(vulgate_index: LocalIndex) -> None:
    verses = [passage.text for passage in vulgate_index.passages(vulgate_index.ids()[:20_000:100])]
    retriever = Retriever(vulgate_index, QueryOptions(reranker=None))
    assert [verse for verse in verses if retriever.answer(verse).doubt] == []


def test_reports_say_it(vulgate_index: LocalIndex) -> None:
    retriever = Retriever(vulgate_index, QueryOptions(reranker=None))
    answers = [retriever.answer("the Lord is my shepherd")]
    (finding,) = findings_of(answers, vulgate_index, retriever.analyser, retriever.compared)
    assert finding.note == (
        "Unknown words: the, lord, my, shepherd. Of its 5 words only 1 occur in 'vulgate'; is it "
        "Latin?"
    )


@pytest.mark.parametrize("text", ["123 456", "…", "33, 9", "§ 12"])
def test_no_word_at_all(vulgate_index: LocalIndex, text: str) -> None:
    doubt = Retriever(vulgate_index, QueryOptions(reranker=None)).answer(text).doubt
    assert doubt == "there is no word in it; numbers and signs are not searched for"


def test_a_small_collection_lacks_most_words_of_any_text() -> None:
    index, analyser = index_texts({"a": "Beatus vir"}), Analyser()
    tokens = ("arma", "uirum", "cano", "troiae")
    assert language_doubt(tokens, [False] * 4, index, 1, analyser) == ""
    assert language_doubt(tokens, [False] * 4, index, 5000, analyser) == ""
    english = ("the", "lord", "shall", "uir")
    told = "of its 4 words only 1 occur in 'texts'; is it Latin?"
    assert language_doubt(english, [False, False, False, True], index, 1, analyser) == told


def test_the_commands_tell(run: Run, vulgate_index: object, tmp_path: Path) -> None:
    text = "the Lord is my shepherd"
    told = "query 1: of its 5 words only 1 occur in 'vulgate'; is it Latin?"
    done = run("query", text, "--format", "json", "-k", "1")
    assert done.returncode == 0
    assert told in done.stderr.splitlines()
    answer = json.loads(done.stdout)
    assert answer["notes"] == [told.removeprefix("query 1: ")]
    assert len(answer["hits"]) == 1
    done = run("query", text, "--html", str(tmp_path / "a.html"))
    assert told in done.stderr
    done = run("query", "gustate et videte", "--format", "json")
    assert (done.stderr, "notes" in json.loads(done.stdout)) == ("", False)
    done = run("query", "123 456", "--format", "json")
    assert "query 1: there is no word in it" in done.stderr


def test_a_collection_that_is_hardly_latin_is_doubted(
    run: Run, tmp_path: Path, vulgate_passages: tuple[Passage, ...]
) -> None:
    doubt = CollectionDoubt(Analyser())
    assert len(list(doubt.watch(vulgate_passages))) == len(vulgate_passages)
    assert doubt.notes() == []
    (tmp_path / "homer.ilias.tess").write_text(
        "<il. 1.1>\tμῆνιν ἄειδε θεὰ Πηληϊάδεω\n<il. 1.2>\t1 2 3\n"  # noqa: RUF001 - Greek
    )
    (tmp_path / "vergil.aeneid.tess").write_text("<verg. aen. 1.1>\tArma virumque cano\n")
    done = run("index", str(tmp_path), "--name", "doubtful", "--no-vectors")
    assert done.returncode == 0
    assert "note: 1 of 3 passages has no word, and cannot be found" in done.stderr
    assert "note: homer, ilias: of its 4 words only 0 are in the" in done.stderr
    assert "vergil" not in done.stderr


def test_many_doubtful_works_are_not_all_named() -> None:
    doubt = CollectionDoubt(Analyser())
    works = [Passage(f"{n}", "shepherd walketh maketh", f"w{n}") for n in range(8)]
    assert len(list(doubt.watch(works))) == 8
    assert [note.partition(":")[0] for note in doubt.notes()] == [
        "w0", "w1", "w2", "w3", "w4", "and 3 more works are doubtful",
    ]  # fmt: skip
