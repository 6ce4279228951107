"""The report and the page of errors in a real browser."""

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_fixtures import violations
from browser_fixtures import Browser, OpenBrowser
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select, WebDriverWait

from allusion_es.corpora.passage import Passage
from allusion_es.evaluation.gold.files import read_gold
from allusion_es.local.memory import index_texts
from allusion_es.reports.answers import findings_of
from allusion_es.reports.errors_page import errors_page
from allusion_es.reports.figures_page import figures_data, figures_page
from allusion_es.reports.heat import Heat, HeatedPair, HeatedWord
from allusion_es.reports.report import (
    Match,
    ReportFinding,
    ReportJudgement,
    ReportMeta,
    report_data,
    write_report,
)
from allusion_es.retrieval.pipeline import QueryOptions, Retriever
from allusion_es.retrieval.types import Query

NASTY = '</script><script>window.hacked = 1</script> "quoted" & <b>bold</b> <!-- x'
HEBREW = "בראשית ברא אלהים"
LONG = "honorificabilitudinitatibus" * 12
VERSES = {
    "Gen.1.1": "In principio creavit Deus caelum et terram.",
    "Gen.1.2": "Terra autem erat inanis et vacua.",
    "Ps.1.1": "Beatus vir qui non abiit in consilio impiorum.",
    "Ps.1.2": "sed in lege Domini voluntas eius",
    "John.1.1": "In principio erat Verbum, et Verbum erat apud Deum.",
}


class Page:
    """A page as a reader handles it."""

    def __init__(self, browser: Browser, path: Path) -> None:
        self.browser, self.driver = browser, browser.driver
        self.driver.get(path.as_uri())

    def at(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def ids(self) -> list[str]:
        """The entries that are shown, in their order."""
        found = self.run(
            "return [...document.querySelectorAll('[data-query], article')]"
            ".map((each) => each.dataset.query ?? each.dataset.id)"
        )
        assert isinstance(found, list)
        return found

    def choose(self, name: str, value: str) -> None:
        Select(self.at(f"#{name}")).select_by_value(value)

    def wait_ids(self, *ids: str) -> None:
        WebDriverWait(self.driver, 10, 0.05).until(lambda _: self.ids() == list(ids))

    def press(self, *keys: str) -> None:
        ActionChains(self.driver).send_keys(*keys).perform()

    def prefer(self, theme: str, medium: str = "screen") -> None:
        """Says what colours the system has; a machine's own may be either."""
        preferred = {"name": "prefers-color-scheme", "value": theme}
        media = {"media": medium, "features": [preferred]}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)

    def run(self, script: str, *arguments: object) -> Any:  # noqa: ANN401 - what JavaScript gives
        return self.driver.execute_script(script, *arguments)

    def saved(self, folder: Path, name: str, button: str) -> str:
        """What a button saves."""
        path = folder / name
        path.unlink(missing_ok=True)
        self.driver.execute_cdp_cmd(
            "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)}
        )
        self.at(button).click()
        WebDriverWait(self.driver, 10, 0.05).until(lambda _: path.exists())
        return path.read_text()


@pytest.fixture
def quiet(browser: Browser) -> Iterator[Browser]:
    """The browser, which must complain of nothing, and load nothing but the page."""
    yield browser
    assert browser.console_errors() == []
    asked = [url.split(":")[0] for url in browser.requests()]
    assert "file" in asked
    assert set(asked) <= {"file", "data", "about", "blob"}


def found(number: int, passage: str, score: float, **more: Any) -> Match:  # noqa: ANN401
    book = passage.split(".")[0]
    verse = Passage(passage, VERSES.get(passage, passage), book=book, reference=passage)
    return Match(verse, number, score, 10 * number, 5.0, **more)


HEAT = Heat(
    query=(HeatedWord(0, 6, 0.3, 1.0), HeatedWord(7, 10, 0.1, 0.333)),
    passage=(HeatedWord(0, 6, 0.4, 1.0),),
    pairs=(
        HeatedPair("beatus", "beatus", 0.3, (0,), (0,)),
        HeatedPair("uir", "beatus", 0.1, (1,), (0,)),
    ),
    apart=(HeatedPair("‹distance 1›", "‹distance 2›", 0.1),),
    others=3,
    others_sum=0.05,
)
FINDINGS = [
    ReportFinding("a", "beatus vir", (
        found(1, "Ps.1.1", 0.5, heat=HEAT, kind="allusion", probability=0.9,
              before=(Passage("x", "ante", reference="Ps 0,9"),),
              after=(Passage("y", "post", reference="Ps 1,2"),)),
        found(2, "Gen.1.2", 0.4, kind="quotation"),
    ), before="Dicit:", after="etc.", place=1, method="one"),
    ReportFinding("b", "in principio", (
        found(2, "Gen.1.1", 0.9, kind="quotation", probability=0.2),
        found(3, "John.1.1", 0.8, kind="quotation", probability=0.1),
    ), place=2, method="two"),
    ReportFinding("c", NASTY, (found(4, "Ps.1.2", 0.1, kind="allusion", probability=0.5),),
            place=3, method="two", before=HEBREW, after=LONG),
    ReportFinding("d", "xyzzy", place=4, method="one", note="Unknown words: xyzzy"),
]  # fmt: skip


@pytest.fixture
def page(quiet: Browser, tmp_path: Path) -> Page:
    path = tmp_path / "report.html"
    write_report(path, FINDINGS, ReportMeta(NASTY, "bm25", (NASTY,)))
    page = Page(quiet, path)
    page.run("localStorage.clear()")
    page.prefer("light")
    page.driver.refresh()
    return page


def verses(page: Page, query: str) -> list[WebElement]:
    """The verses that are shown for a query."""
    return page.all(f'[data-query="{query}"] .verse-entry')


def test_paired_words_have_one_colour_on_both_sides(quiet: Browser, tmp_path: Path) -> None:
    index = index_texts(VERSES)
    retriever = Retriever(index, QueryOptions(reranker="tfidf", explain=True))
    queries = [Query("in principio Deus erat", "1", after="😀"), Query("terra 😀 vacua est", "2")]
    answers = list(retriever.answers(queries))
    findings = list(findings_of(answers, index, retriever.analyser, retriever.compared))
    write_report(tmp_path / "report.html", findings)
    page = Page(quiet, tmp_path / "report.html")
    data = report_data(findings, ReportMeta())
    assert page.ids() == ["1", "2"]
    coloured = 0
    for finding, row in zip(findings, data["findings"], strict=True):
        for match, shown, entry in zip(
            row["matches"], finding.matches, verses(page, finding.id), strict=False
        ):
            page.run("arguments[0].focus()", entry)
            both = page.at(f'[data-query="{finding.id}"] .asked'), entry
            for number in range(1, 7):
                here, there = (
                    {word.text for word in side.find_elements(By.CSS_SELECTOR, f".w.c{number}")}
                    for side in both
                )
                assert bool(here) == bool(there)
                paired = {
                    (finding.text[slice(*match["query"][one][:2])],
                     shown.passage.text[slice(*match["words"][other][:2])])
                    for _, _, _, left, right in match["pairs"]
                    for one in left
                    for other in right
                }  # fmt: skip
                assert all(any((h, t) in paired for t in there) for h in here)
                coloured += len(here)
    assert coloured > 5


def test_finding_and_filtering(page: Page) -> None:
    assert page.ids() == ["a", "b", "c", "d"]
    assert page.at("#count").text == "4 places"
    for words, ids in (
        ("UIR beatus", "a"),
        ("impiorum", "a"),
        ("nihil", ""),
        # As people type references: with any name of the book, any sign before the verse.
        ("Ps 1,1", "a"),
        ("Psalm 1:2", "c"),
        ("Psalmi", "ac"),
        ("John", "b"),
        ("Genesis 1", "ab"),
        ("Gen 1,2", "a"),
    ):
        page.at("#words").clear()
        page.at("#words").send_keys(words)
        page.wait_ids(*ids)
    page.at("#filters summary").click()
    page.at("#reset").click()
    page.wait_ids("a", "b", "c", "d")
    for name, value, shown in (
        ("book", "Ps", "ac"),
        ("kind", "quotation", "b"),
        ("method", "two", "bc"),
    ):
        page.choose(name, value)
        assert page.ids() == list(shown), name
        assert page.at("#count").text.startswith(f"{len(shown)} of 4 places")
        page.choose(name, "")
    page.run("at('least').value = 9; at('least').dispatchEvent(new Event('input'))")
    page.wait_ids("a", "c", "d")
    assert "not measured" in page.at("#sums").text


def test_the_map_counts_and_restricts(page: Page) -> None:
    page.at('[data-view="map"]').click()
    assert [row.text.replace("\n", " ") for row in page.all("#map .book[data-book]")] == [
        "Gen 1", "Ps 2",
    ]  # fmt: skip
    assert [head.text for head in page.all("#map h3")] == ["Old Testament 3"]
    page.at('#map .book[data-book="Ps"] button').click()
    page.at('[data-view="listing"]').click()
    page.wait_ids("a", "c")


def test_works_stand_side_by_side(quiet: Browser, tmp_path: Path) -> None:
    findings = [
        ReportFinding(f"{work}-{n}", "x", (found(1, verse, 0.5),), work=work)
        for work in ("Sermo 1", "Sermo 2", "Sermo 3")
        for n, verse in enumerate(["Gen.1.1", "Ps.1.1"] if work != "Sermo 2" else ["Gen.1.1"])
    ]
    write_report(tmp_path / "report.html", findings)
    page = Page(quiet, tmp_path / "report.html")
    page.at('[data-view="map"]').click()
    drawn = page.all("#map svg[data-book] path")
    places = [[int(part) for part in re.findall(r"M(\d+)", path.get_attribute("d") or "")]
              for path in drawn]  # fmt: skip
    # Thirds of 1,000 units, one for each work.
    assert [[place // 334 for place in of] for of in places] == [[0, 1, 2], [0, 2]]


def test_a_verse_has_its_reasons_and_numbers(page: Page) -> None:
    verse = verses(page, "a")[0]
    assert verse.find_element(By.CSS_SELECTOR, "h4").text == "Ps.1.1"
    assert verse.find_element(By.CSS_SELECTOR, ".why").text == "The same words: beatus."
    assert "0.5000" not in verse.text
    verse.find_element(By.CSS_SELECTOR, ".numbers summary").click()
    numbers = verse.find_element(By.CSS_SELECTOR, ".numbers").text.replace("\n", " ")
    for told in ("Score 0.5000, rank 1 of 2", "5.000, rank 10", "Probability 0.9000",
                 "‹distance 1› ‹distance 2› 0.1000", "3 other pairs 0.05000"):  # fmt: skip
        assert told in numbers
    asked = page.at('[data-query="a"] .asked').text
    assert asked == "Dicit: beatus vir etc."


def test_judgements_are_kept_and_exported(page: Page, tmp_path: Path) -> None:
    page.run("arguments[0].focus()", verses(page, "a")[0])
    page.press("a")
    assert page.at("#count").text == "4 places, 1 of 4 judged"
    page.press("c")
    page.press("certe <b>", Keys.TAB)
    verses(page, "b")[0].find_element(By.CSS_SELECTOR, ".reject").click()
    verses(page, "b")[1].find_element(By.CSS_SELECTOR, ".accept").click()
    verses(page, "c")[0].find_element(By.CSS_SELECTOR, ".accept").click()
    assert page.at("#count").text == "4 places, 3 of 4 judged"
    page.run("document.activeElement.blur()")
    ActionChains(page.driver).key_down(Keys.CONTROL).send_keys("z").key_up(Keys.CONTROL).perform()
    assert page.at("#count").text == "4 places, 2 of 4 judged"
    page.at("#saving summary").click()
    text = page.saved(tmp_path, "judgements.json", "#save button")
    told = [(each["query_id"], each["passage"], each["decision"], each["comment"])
            for each in json.loads(text)["judgements"]]  # fmt: skip
    assert told == [
        ("a", "Ps.1.1", "accept", "certe <b>"),
        ("b", "Gen.1.1", "reject", ""),
        ("b", "John.1.1", "accept", ""),
    ]
    page.saved(tmp_path, "gold.jsonl", "#save-gold")
    one, other = read_gold(tmp_path / "gold.jsonl")
    assert one.query == Query("beatus vir", "a", before="Dicit:", after="etc.")
    assert (one.relevant, one.type) == (("Ps.1.1",), "allusion")
    assert (other.relevant, other.type) == (("John.1.1",), "quotation")

    page.driver.refresh()
    assert page.at("#count").text == "4 places, 2 of 4 judged"
    page.at("#filters summary").click()
    page.choose("judged", "none")
    assert page.ids() == ["c", "d"]
    page.choose("judged", "comment")
    assert page.ids() == ["a"]
    page.run("localStorage.clear()")
    page.driver.refresh()
    assert page.at("#count").text == "4 places"
    page.at("#saving summary").click()
    page.at("#load").send_keys(str(tmp_path / "judgements.json"))
    WebDriverWait(page.driver, 10).until(lambda _: "2 of 4" in page.at("#count").text)
    comment = verses(page, "a")[0].find_element(By.CSS_SELECTOR, ".comment")
    assert comment.get_attribute("value") == "certe <b>"
    page.at("#saving summary").click()
    page.at("#load").send_keys(str(tmp_path / "gold.jsonl"))
    WebDriverWait(page.driver, 10).until(lambda _: page.at("#problem").is_displayed())
    assert "gold.jsonl is no file of judgements" in page.at("#problem").text


def test_without_storage_judgements_last_as_long_as_the_page(page: Page, tmp_path: Path) -> None:
    page.run("Storage.prototype.setItem = () => { throw new Error('full'); }")
    verses(page, "a")[0].find_element(By.CSS_SELECTOR, ".accept").click()
    assert "keeps nothing" in page.at("#problem").text
    page.at("#saving summary").click()
    text = page.saved(tmp_path, "judgements.json", "#save button")
    assert json.loads(text)["judgements"]


def test_text_stays_text(page: Page) -> None:
    assert page.at("#title").text == NASTY
    assert page.run("return window.hacked === undefined")
    assert page.all(".words b, .verse b, main script, h2 *, #notes *:not(li)") == []
    source = page.at('[data-query="c"] .asked .text')
    assert page.run("return arguments[0].textContent", source) == f"{HEBREW} {NASTY} {LONG}"
    assert source.get_attribute("dir") == "auto"
    page.driver.set_window_size(420, 900)
    try:
        assert page.run("return document.documentElement.scrollWidth <= innerWidth")
    finally:
        page.driver.set_window_size(1200, 1000)


def test_an_empty_report(quiet: Browser, tmp_path: Path) -> None:
    write_report(tmp_path / "report.html", [])
    page = Page(quiet, tmp_path / "report.html")
    assert page.at("#count").text == "0 places"
    page.at('[data-view="map"]').click()
    assert page.at("#map").text == "There is nothing to show."


WORDS = "et dixit beatus vir fratribus suis quia verbum bonum est atque in lege voluntas eius."


def text_report(path: Path, paragraphs: int, places: int, judged: bool = False) -> str:
    """Write a report of a text of that many paragraphs with that many findings; return the text."""
    text = "\n\n".join(f"😀 Sermo {n}. {' '.join([WORDS] * 5)}" for n in range(paragraphs))
    starts = [match.start() for match in re.finditer("beatus vir", text)]
    chosen = starts[:: max(1, len(starts) // places)][:places]
    kinds = ("quotation", "paraphrase", "allusion")
    verses = list(VERSES)
    findings = [
        ReportFinding(
            f"s:{start}-{start + 10}",
            "beatus vir",
            (
                found(1, verses[n % 5], 0.5, heat=HEAT, kind=kinds[n % 3],
                      probability=round(0.1 + 0.85 * (n % 18) / 17, 3)),
                found(2, verses[(n + 1) % 5], 0.4, kind=kinds[n % 3], probability=0.05),
            ),
            place=start,
            label=f"line {n}",
            before=text[max(0, start - 30) : start],
            after=text[start + 10 : start + 40],
        )
        for n, start in enumerate(chosen)
    ]  # fmt: skip
    measured = tuple((n / 20, 0.4 + n / 40, 0.7 - n / 40) for n in range(2, 20))
    meta = ReportMeta("Sermo", "Scan", extent=len(text), text=text, key="0" * 32, measured=measured)
    first = [ReportJudgement("0" * 32, chosen[-1], chosen[-1] + 10, verses[(places - 1) % 5],
                             "accept", "bene")]  # fmt: skip
    write_report(path, findings, meta, first if judged else ())
    return text


def test_references_stand_level_with_their_lines(quiet: Browser, tmp_path: Path) -> None:
    text = text_report(tmp_path / "report.html", 6, 19, judged=True)
    page = Page(quiet, tmp_path / "report.html")
    page.run("localStorage.clear(); at('least').value = 17; refresh()")
    assert page.at("#count").text == "19 places, 1 of 19 judged"
    assert "45 of 100 such places were right" in page.at("#sums").text
    shown = page.run(
        "return [...document.querySelectorAll('.block .text')].map(p => p.textContent).join('')"
    )
    assert shown == text.replace("\n\n", "")
    level = page.run("""
        return [...document.querySelectorAll('.note')].map((note) => {
          const words = document.querySelector(`.f[data-begins~="${note.dataset.n}"]`);
          const [one, other] = [note, words].map((each) => each.getClientRects()[0]);
          return Math.abs((one.top + one.bottom) / 2 - (other.top + other.bottom) / 2);
        })""")
    assert len(level) == 19
    assert max(level) < 3
    # The words that are marked are those of the finding, whatever stands before them.
    assert {each.text for each in page.all(".f")} == {"beatus vir"}
    styles = page.run("""
        return Object.fromEntries(['quotation', 'paraphrase', 'allusion'].map((kind) =>
          [kind, getComputedStyle(document.querySelector(`.f.${kind}`)).textDecorationStyle]))""")
    assert styles == {"quotation": "solid", "paraphrase": "dashed", "allusion": "dotted"}


def test_a_verse_opens_beside_the_text(quiet: Browser, tmp_path: Path) -> None:
    text_report(tmp_path / "report.html", 6, 19)
    page = Page(quiet, tmp_path / "report.html")
    page.run("localStorage.clear(); at('least').value = 17; refresh()")
    assert not page.at("#panel").is_displayed()
    page.press("j")
    assert page.at("#panel h3").text.startswith("Gen.1.1")
    page.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, "k")
    assert page.at("#panel .steps span").text == "2 of 19"
    colours = page.run("return [...document.querySelectorAll('.f.c1')].map(w => w.textContent)")
    assert colours == ["beatus"]
    page.press("r")
    assert "✗" not in page.at("#count").text
    assert page.at("#count").text == "19 places, 1 of 19 judged"
    assert "reject" in (page.at(".note.on").get_attribute("class") or "")
    page.press("j", "a")
    # Another verse of the same place.
    page.at("#panel .others .accept").click()
    assert [mark["decision"] for mark in page.run("return listJudgements()")] == [
        "reject", "accept", "accept",
    ]  # fmt: skip
    for _ in range(3):
        ActionChains(page.driver).key_down(Keys.CONTROL).send_keys("z").key_up(
            Keys.CONTROL
        ).perform()
    assert page.run("return listJudgements()") == []
    page.press(Keys.ESCAPE)
    assert not page.at("#panel").is_displayed()
    # What is copied.
    page.press("j")
    copied = page.run("""
        const [match] = selected.matches;
        return Object.values(citations).map(([, text]) => text(match));""")
    assert copied[0] == "cf. Gen.1.1"
    assert copied[1] == '<ref target="bible:Gen.1.1">Gen.1.1</ref>'
    assert re.search(r"version = \{\d+\.\d+", copied[2])


def test_3000_findings_in_200_kilobytes(quiet: Browser, tmp_path: Path) -> None:
    text = text_report(tmp_path / "report.html", 620, 3000)
    assert len(text) > 200_000
    page = Page(quiet, tmp_path / "report.html")
    page.run("localStorage.clear(); at('least').value = 17; refresh()")
    assert page.at("#count").text == "3,000 places"
    # However much there is, only what is near the window is in the document.
    assert len(page.all(".block")) < 30
    assert page.run("return document.querySelectorAll('*').length") < 2500
    page.run("scrollTo(0, document.body.scrollHeight)")
    WebDriverWait(page.driver, 10).until(lambda _: "Sermo 619" in page.at("#reading").text)
    assert len(page.all(".block")) < 30
    page.run("scrollTo(0, 0); select(findings[1500], true)")
    box = page.run("return document.querySelector('.note.on').getBoundingClientRect().top")
    assert 0 < box < 1000
    page.at('[data-view="listing"]').click()
    assert 0 < len(page.all(".entry")) < 60
    page.at('[data-view="table"]').click()
    assert 0 < len(page.all("#rows tr")) < 120
    page.at("#columns th:nth-child(4) button").click()
    page.run("scrollTo(0, 0)")
    first = "#rows tr:nth-child(2) td:nth-child(4)"
    text = "return document.querySelector(arguments[0])?.textContent"  # rows are drawn meanwhile
    WebDriverWait(page.driver, 10).until(lambda _: page.run(text, first) == "very likely")
    assert len(page.run("return table.text()").splitlines()) == 3001


def test_nothing_shuts_out_users(quiet: Browser, tmp_path: Path, axe: str) -> None:
    write_report(tmp_path / "queries.html", FINDINGS, ReportMeta(NASTY, "bm25", (NASTY,)))
    text_report(tmp_path / "text.html", 6, 19, judged=True)
    theme = "return document.documentElement.dataset.theme"
    for name in ("queries.html", "text.html"):
        page = Page(quiet, tmp_path / name)
        page.prefer("light")
        page.run("localStorage.clear()")
        page.driver.refresh()
        assert page.run(theme) == "light"
        page.at("#saving summary").click()
        page.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        for _ in ("light", "dark"):
            for view in [each.get_attribute("data-view") for each in page.all("#views button")]:
                page.run("setView(arguments[0])", view)
                if name == "text.html":
                    page.run("select(findings[4]); decide(selected, shown(selected), 'accept')")
                else:
                    page.run("decide(findings[0], findings[0].matches[0], 'reject')")
                assert violations(page.browser, axe) == [], (name, view)
            before = page.run(theme)
            page.run("at('theme').click()")
            assert {before, page.run(theme)} == {"light", "dark"}
        page.run("localStorage.clear()")


def test_dark_is_taken_from_the_system_and_printed_light(
    open_browser: OpenBrowser, tmp_path: Path
) -> None:
    text_report(tmp_path / "report.html", 17, 19)  # 1,275 words
    page = Page(open_browser(), tmp_path / "report.html")
    page.prefer("dark")
    page.run("localStorage.clear()")
    page.driver.refresh()
    page.run("at('least').value = 17; refresh()")
    ground = "return getComputedStyle(document.body).backgroundColor"
    assert page.run(ground) == "rgb(25, 26, 28)"
    paper = {"paperWidth": 8.27, "paperHeight": 11.69}
    printed = page.driver.execute_cdp_cmd("Page.printToPDF", paper)["data"]
    assert 1 <= len(re.findall(rb"/Type\s*/Page[^s]", base64.b64decode(printed))) <= 4
    page.run("dispatchEvent(new Event('beforeprint'))")
    page.prefer("dark", "print")
    assert page.run(ground) == "rgb(255, 255, 255)"
    assert len(page.all("#printed .apparatus li")) == 19
    assert len(page.all("#printed sup")) == 19
    assert not page.at("#bar").is_displayed()


def row(query: str, method: str, rank: int | None, **more: object) -> dict[str, object]:
    loss = "first stage" if rank is None else "reranking" if rank > 20 else ""
    return {
        "query_id": query, "method": method, "input": "lemma", "type": "allusion",
        "relevant": "Ps.1.1", "rank": rank, "candidate_rank": rank and rank + 1, "loss": loss,
        "shared_tokens": 0, "shared_lemmas": 1, "top": "Gen.1.1", "top_is_parallel": False,
        "rank_with_parallels": rank, "text": NASTY, "relevant_text": VERSES["Ps.1.1"],
        "top_text": VERSES["Gen.1.1"], **more,
    }  # fmt: skip


def test_the_page_of_errors(quiet: Browser, tmp_path: Path, axe: str) -> None:
    rows = [
        row("a", "bm25", 3),
        row("b", "bm25", None, shared_lemmas=0, top="", top_text=""),
        row("c", "bm25", 40, top_is_parallel=True),
        row("a", "wmd", 1, top="Ps.1.1", top_text=VERSES["Ps.1.1"]),
        row("b", "wmd", 30, shared_lemmas=0),
        row("c", "wmd", 2),
    ]
    (tmp_path / "errors.html").write_text(errors_page(rows))
    page = Page(quiet, tmp_path / "errors.html")
    counts = [line.text for line in page.all("#counts tbody tr")]
    assert counts == ["bm25, lemma 3 1 1 1 1", "wmd, lemma 3 2 0 1 0"]
    assert [bar.get_attribute("aria-label") for bar in page.all("#losses svg")] == [
        "bm25, lemma: 1 found among the first 20, 1 ranked low, 1 lost in the first stage",
        "wmd, lemma: 2 found among the first 20, 1 ranked low, 0 lost in the first stage",
    ]
    widths = page.run("""
        return [...document.querySelectorAll('#losses rect')].map((part) =>
          Math.round(3 * part.getBoundingClientRect().width / part.ownerSVGElement.clientWidth))""")
    assert widths == [1, 1, 1, 2, 1, 0]
    assert page.ids() == ["a", "b", "c"]
    lines = [line.text for line in page.all("article tbody tr")]
    assert lines[0] == f"bm25, lemma 3 4 3 – Gen 1,1 {VERSES['Gen.1.1']}"
    assert lines[1] == "wmd, lemma 1 2 1 – the gold passage"
    assert lines[2] == "bm25, lemma – – – first stage nothing"
    assert "parallel" in lines[4]
    for name, value, ids in (
        ("sort", "worst", "bca"),
        ("sort", "shared", "bac"),
        ("sort", "place", "abc"),
        ("loss", "first stage", "b"),
        ("loss", "reranking", "bc"),
        ("loss", "any", "bc"),
        ("loss", "parallel", "c"),
        ("loss", "", "abc"),
        ("overlap", "none", "b"),
        ("overlap", "", "abc"),
    ):
        page.choose(name, value)
        assert page.ids() == list(ids), value
    page.choose("loss", "any")
    page.choose("method", "1")
    assert page.ids() == ["b"]
    assert page.run("return window.hacked === undefined")
    assert violations(page.browser, axe) == []
    page.at("#theme").click()
    assert violations(page.browser, axe) == []
    page.run("localStorage.clear()")


def test_a_page_of_figures(quiet: Browser, tmp_path: Path, axe: str) -> None:
    svg = "<svg xmlns='http://www.w3.org/2000/svg' width='40' height='30'/>"
    tables = [
        ("Methods", [{"method": NASTY, "mrr": "51.11 [3.0, 60.0]"}, {"method": "b", "mrr": "7"}]),
        ("Pairs", [{"first": "a", "second": "b"}]),
        ("Nothing", []),
    ]
    figures = figures_data(tables, [("Shared <types>", svg)], ["A note."])
    (tmp_path / "figures.html").write_text(figures_page(f"Agreement {NASTY}", figures))
    page = Page(quiet, tmp_path / "figures.html")
    assert [head.text for head in page.all("h2")] == ["Methods", "Pairs"]
    assert page.at("tbody tr:last-child .number").text == "7"
    assert page.run("return document.querySelector('img').naturalWidth") == 40
    assert page.run("return window.hacked === undefined")
    assert violations(page.browser, axe) == []
    page.at("#theme").click()
    assert violations(page.browser, axe) == []
    page.run("localStorage.clear()")
    (tmp_path / "errors.html").write_text(errors_page([row("a", "bm25", 3)], "Evaluation", figures))
    page = Page(quiet, tmp_path / "errors.html")
    assert page.at("h1").text == "Evaluation"
    assert [head.text for head in page.all("h2")][:3] == [
        "Methods", "Pairs", "Where gold passages were lost",
    ]  # fmt: skip
    assert violations(page.browser, axe) == []


def test_a_page_without_errors(quiet: Browser, tmp_path: Path) -> None:
    (tmp_path / "errors.html").write_text(errors_page([]))
    assert Page(quiet, tmp_path / "errors.html").at("#count").text == "0 links"
