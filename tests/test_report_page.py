"""The report and the page of errors in a real browser."""

import json
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
from allusion_es.reports.heat import Heat, HeatedPair, HeatedWord, level
from allusion_es.reports.report import Match, ReportFinding, ReportMeta, report_data, write_report
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
        found = self.run("return [...document.querySelectorAll('article')].map(a => a.dataset.id)")
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


def test_shades_are_those_of_the_numbers(quiet: Browser, tmp_path: Path) -> None:
    index = index_texts(VERSES)
    retriever = Retriever(index, QueryOptions(reranker="tfidf", explain=True))
    queries = [Query("in principio Deus erat", "1", after="😀"), Query("terra 😀 vacua est", "2")]
    answers = list(retriever.answers(queries))
    findings = list(findings_of(answers, index, retriever.analyser, retriever.compared))
    write_report(tmp_path / "report.html", findings)
    page = Page(quiet, tmp_path / "report.html")
    data = report_data(findings, ReportMeta())
    assert page.ids() == ["1", "2"]
    compared = 0
    for finding, row, entry in zip(findings, data["findings"], page.all("article"), strict=True):
        sides = ("source", finding.text, "query"), ("passage", "", "words")
        for name, text, key in sides:
            text = text or finding.matches[0].passage.text
            shown = entry.find_elements(By.CSS_SELECTOR, f".{name} .w")
            expected = row["matches"][0][key]
            assert len(shown) == len(expected)
            for word, (start, end, contribution, shade) in zip(shown, expected, strict=True):
                assert word.text == text[start:end]
                assert float(word.get_attribute("data-contribution") or "nan") == contribution
                colour = page.run("return getComputedStyle(arguments[0]).backgroundColor", word)
                alpha = float(colour.split("/")[-1].split(",")[-1].strip(" )")) if shade < 1 else 1
                assert alpha == pytest.approx(shade, abs=0.005)
                assert f"level{level(shade)}" in (word.get_attribute("class") or "").split()
                compared += 1
        hit = answers[findings.index(finding)].hits[0]
        assert sum(part.contribution for part in hit.contributions or ()) == pytest.approx(
            hit.score
        )
    assert compared > 5


def test_sorting_and_filtering(page: Page) -> None:
    assert page.ids() == ["a", "b", "c", "d"]
    assert page.at("#count").text == "4 findings"
    for order, ids in (
        ("score", "bacd"),
        ("stage", "abcd"),
        ("probability", "acbd"),
        ("book", "bacd"),
        ("place", "abcd"),
    ):
        page.choose("sort", order)
        assert page.ids() == list(ids), order
    for name, value, ids in (
        ("book", "Ps", "ac"),
        ("kind", "quotation", "b"),
        ("method", "two", "bc"),
    ):
        page.choose(name, value)
        assert page.ids() == list(ids), name
        assert page.at("#count").text.startswith(f"{len(ids)} of 4 findings")
        page.choose(name, "")
    field = page.at("#probability")
    field.clear()
    field.send_keys("0.5")
    page.wait_ids("a", "c")
    page.at("#reset").click()
    page.wait_ids("a", "b", "c", "d")
    # v is u, j is i; a reference and the words of the passage are found too.
    for words, ids in (("UIR beatus", "a"), ("gen.1.1", "b"), ("impiorum", "a"), ("nihil", "")):
        page.at("#search").clear()
        page.at("#search").send_keys(words)
        page.wait_ids(*ids)
    page.at("#reset").click()
    page.wait_ids("a", "b", "c", "d")


def test_the_overview_counts_and_restricts(page: Page) -> None:
    rows = {row.text for row in page.all("#map tbody tr")}
    assert rows == {"Gen 1", "Ps 2"}
    cells = page.all('#map tr[data-book="Ps"] rect')
    assert len(cells) == 2
    cells[1].click()
    page.wait_ids("c")
    assert page.at("#place").get_attribute("value") == "2"
    page.choose("place", "")
    page.wait_ids("a", "c")
    page.at('#map tr[data-book="Gen"] button').click()
    page.wait_ids("b")
    assert "on" in (page.at('#map tr[data-book="Gen"]').get_attribute("class") or "")


def test_works_stand_side_by_side(quiet: Browser, tmp_path: Path) -> None:
    findings = [
        ReportFinding(f"{work}-{n}", "x", (found(1, verse, 0.5),), work=work)
        for work in ("Sermo 1", "Sermo 2", "Sermo 3")
        for n, verse in enumerate(["Gen.1.1", "Ps.1.1"] if work != "Sermo 2" else ["Gen.1.1"])
    ]
    write_report(tmp_path / "report.html", findings)
    page = Page(quiet, tmp_path / "report.html")
    titles = [page.run("return arguments[0].textContent", t) for t in page.all("#map rect title")]
    assert titles == ["Gen, Sermo 1: 1", "Gen, Sermo 2: 1", "Gen, Sermo 3: 1",
                      "Ps, Sermo 1: 1", "Ps, Sermo 3: 1"]  # fmt: skip


def test_pairs_are_joined_by_lines(page: Page) -> None:
    entry = page.at('article[data-id="a"]')
    pairs = entry.find_elements(By.CSS_SELECTOR, ".pairs button")
    assert [pair.text for pair in pairs] == ["beatus 0.3000", "uir ~ beatus 0.1000"]
    rest = [text.text for text in entry.find_elements(By.CSS_SELECTOR, ".pairs > .quiet")]
    assert rest == [
        "3 other pairs 0.05000",
        "apart from words: ‹distance 1› ‹distance 2› 0.1000",
    ]
    assert page.all(".lines path") == []
    page.run("arguments[0].focus()", pairs[0])
    page.press(Keys.ARROW_RIGHT)
    assert page.driver.switch_to.active_element == pairs[1]
    assert len(page.all(".lines path")) == 1
    assert [word.text for word in page.all(".w.lit")] == ["vir", "Beatus"]
    page.press(Keys.TAB)
    assert page.all(".lines path") == []
    verse = entry.find_element(By.CSS_SELECTOR, ".passage .w")
    ActionChains(page.driver).move_to_element(verse).perform()
    assert len(page.all(".lines path")) == 2


def test_context_neighbours_and_alternatives(page: Page) -> None:
    entry = page.at('article[data-id="a"]')
    assert entry.find_element(By.CSS_SELECTOR, ".source").text == "Dicit: beatus vir etc."
    stages = entry.find_element(By.CSS_SELECTOR, ".stages").text.replace("\n", " ")
    assert "Score 0.5000 (rank 1 of 2)" in stages
    assert "First stage 5.000 (rank 10)" in stages
    assert "Probability 0.9000" in stages
    button = entry.find_element(By.CSS_SELECTOR, ".neighbours")
    neighbours = entry.find_elements(By.CSS_SELECTOR, ".neighbour")
    assert [each.is_displayed() for each in neighbours] == [False, False]
    button.click()
    assert [each.text for each in neighbours] == ["Ps 0,9 ante", "Ps 1,2 post"]
    entry.find_element(By.CSS_SELECTOR, ".others summary").click()
    entry.find_elements(By.CSS_SELECTOR, ".others button")[1].click()
    assert entry.find_element(By.TAG_NAME, "h3").text == "a → Gen.1.2"
    assert entry.find_element(By.CSS_SELECTOR, ".passage").text == VERSES["Gen.1.2"]


def test_marks_are_kept_and_exported(page: Page, tmp_path: Path) -> None:
    first = page.at('article[data-id="a"]')
    page.run("arguments[0].focus()", first)
    page.press("a")
    page.press("c")
    page.press("certe <b>", Keys.TAB)
    page.run("arguments[0].focus()", first)
    page.press("j", "r")
    # Of b the other passage is right.
    second = page.at('article[data-id="b"]')
    second.find_element(By.CSS_SELECTOR, ".others summary").click()
    second.find_elements(By.CSS_SELECTOR, ".others button")[1].click()
    second.find_element(By.CSS_SELECTOR, ".judge .accept").click()
    assert page.at("#count").text == "4 findings, 2 judged"
    marks = json.loads(page.saved(tmp_path, "marks.json", "#save-marks"))["marks"]
    assert marks == [
        {"query_id": "a", "passage": "Ps.1.1", "decision": "accept", "comment": "certe <b>"},
        {"query_id": "b", "passage": "Gen.1.1", "decision": "reject", "comment": ""},
        {"query_id": "b", "passage": "John.1.1", "decision": "accept", "comment": ""},
    ]
    page.saved(tmp_path, "gold.jsonl", "#save-gold")
    one, other = read_gold(tmp_path / "gold.jsonl")
    assert one.query == Query("beatus vir", "a", before="Dicit:", after="etc.")
    assert (one.relevant, one.type) == (("Ps.1.1",), "allusion")
    assert (other.relevant, other.type) == (("John.1.1",), "quotation")

    page.driver.refresh()
    assert page.at("#count").text == "4 findings, 2 judged"
    assert page.at('article[data-id="b"] h3').text == "b → John.1.1"
    page.choose("marked", "none")
    assert page.ids() == ["c", "d"]
    page.choose("marked", "comment")
    assert page.ids() == ["a"]
    page.choose("marked", "")
    page.run("localStorage.clear()")
    page.driver.refresh()
    assert page.at("#count").text == "4 findings"
    page.at("#load-marks").send_keys(str(tmp_path / "marks.json"))
    WebDriverWait(page.driver, 10).until(lambda _: "2 judged" in page.at("#count").text)
    comment = page.at('article[data-id="a"] .comment')
    assert comment.get_attribute("value") == "certe <b>"
    page.at("#load-marks").send_keys(str(tmp_path / "gold.jsonl"))
    WebDriverWait(page.driver, 10).until(lambda _: page.at("#problem").is_displayed())
    assert "gold.jsonl is no file of marks" in page.at("#problem").text


def test_without_storage_marks_last_as_long_as_the_page(page: Page, tmp_path: Path) -> None:
    page.run("Storage.prototype.setItem = () => { throw new Error('full'); }")
    page.at('article[data-id="a"] .judge .accept').click()
    assert "does not keep marks" in page.at("#problem").text
    assert json.loads(page.saved(tmp_path, "marks.json", "#save-marks"))["marks"]


def test_text_stays_text(page: Page) -> None:
    assert page.at("h1").text == NASTY
    assert page.run("return window.hacked === undefined")
    assert page.all(".source b, .passage b, main script, h1 *, #notes *:not(li)") == []
    source = page.at('article[data-id="c"] .source')
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
    assert page.at("#count").text == "0 findings"
    assert page.at("#map-frame").text == "Nothing was found."


def test_5000_findings(quiet: Browser, tmp_path: Path) -> None:
    verses = list(VERSES)
    findings = [
        ReportFinding(
            f"q{n}",
            f"beatus vir {n}",
            tuple(found(k, verses[(n + k) % 5], 1 / (n + k), heat=HEAT) for k in (1, 2, 3)),
            place=n,
        )
        for n in range(5000)
    ]
    write_report(tmp_path / "report.html", findings)
    page = Page(quiet, tmp_path / "report.html")
    assert page.at("#count").text == "5,000 findings"
    # However many there are, a page is short.
    assert len(page.ids()) == 20
    assert len(page.all("#map rect")) == 60 * 3
    page.at("nav.pages button:last-child").click()
    assert page.ids()[-1] == "q4999"
    page.choose("sort", "score")
    assert page.ids()[:2] == ["q0", "q1"]
    page.at("#search").send_keys("4321")
    page.wait_ids("q4321")
    page.at("#reset").click()
    WebDriverWait(page.driver, 10).until(lambda _: page.at("#count").text == "5,000 findings")
    page.choose("size", "100")
    WebDriverWait(page.driver, 20).until(lambda _: len(page.ids()) == 100)
    # What is printed is whole, even while a long page is being filled.
    page.choose("size", "all")
    page.run("at('search').value = '12'; refresh(); dispatchEvent(new Event('beforeprint'))")
    wanted = sum("12" in str(n) for n in range(5000))
    assert page.at("#count").text.startswith(f"{wanted} of 5,000")
    assert page.run("return document.querySelectorAll('article').length") == wanted


def test_nothing_shuts_out_users(page: Page, axe: str) -> None:
    theme = "return document.documentElement.dataset.theme"
    assert page.run(theme) == "light"
    page.at("#help summary").click()
    page.at('article[data-id="a"] .others summary').click()
    page.at('article[data-id="a"] .neighbours').click()
    page.at('article[data-id="a"] .judge .accept').click()
    page.at('article[data-id="b"] .judge .reject').click()
    for _ in ("light", "dark"):
        assert violations(page.browser, axe) == []
        before = page.run(theme)
        page.at("#theme").click()
        assert {before, page.run(theme)} == {"light", "dark"}


def test_dark_is_taken_from_the_system_and_printed_light(
    open_browser: OpenBrowser, tmp_path: Path
) -> None:
    write_report(tmp_path / "report.html", FINDINGS)
    page = Page(open_browser(), tmp_path / "report.html")
    page.prefer("dark")
    page.driver.refresh()
    ground = "return getComputedStyle(document.body).backgroundColor"
    assert page.run(ground) == "rgb(25, 26, 28)"
    page.prefer("dark", "print")
    assert page.run(ground) == "rgb(255, 255, 255)"
    assert not page.at("#controls").is_displayed()
    assert page.at('article[data-id="a"] .pairs').is_displayed()


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
