"""The search page in a real browser."""

import json
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from axe_fixtures import violations
from browser_fixtures import Browser
from lxml import etree
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select, WebDriverWait
from serve_fixtures import TOKEN, WAIT, Place, Serving

from allusion_es.corpora.passage import Passage
from allusion_es.corpora.source import read_source
from allusion_es.evaluation.gold.files import read_gold
from allusion_es.local.library import BuildOptions, Library
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.serve.app import application
from allusion_es.serve.index_pool import IndexRow

SERMON = "Audite: gustate et videte.\nScriptum est: In principio.\nItem: Timete Dominum. Divites."
NASTY = '</script><img src=x onerror="window.hacked=1"><b>gustate et videte</b> & "in principio"'
TEI = (
    "<TEI xmlns='http://www.tei-c.org/ns/1.0'><teiHeader><fileDesc><titleStmt><title>Sermo</title>"
    "</titleStmt></fileDesc></teiHeader><text><body><p><lb n='7'/>Et gustate et videte.</p></body>"
    "</text></TEI>"
)
NS = {"t": "http://www.tei-c.org/ns/1.0"}


class Page:
    """The page as a reader handles it."""

    def __init__(self, browser: Browser, url: str) -> None:
        self.browser, self.driver = browser, browser.driver
        self.prefer("light")
        self.driver.get(url)
        self.driver.execute_script("localStorage.clear()")
        self.ready()

    def ready(self) -> None:
        self.wait(lambda: len(self.all("#rerank option")) > 3 and len(self.all("#books label")) > 2)

    def at(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def wait(self, holds: object) -> None:
        assert callable(holds)
        WebDriverWait(self.driver, 20, 0.05).until(lambda _: holds())

    def prefer(self, theme: str) -> None:
        preferred = {"name": "prefers-color-scheme", "value": theme}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [preferred]})

    def run(self, script: str, *arguments: object) -> Any:  # noqa: ANN401 - what JavaScript gives
        return self.driver.execute_script(script, *arguments)

    def press(self, *keys: str) -> None:
        ActionChains(self.driver).send_keys(*keys).perform()

    def press_undo(self) -> None:
        chain = ActionChains(self.driver).key_down(Keys.CONTROL).send_keys("z")
        chain.key_up(Keys.CONTROL).perform()

    def paste(self, text: str, kind: str = "") -> None:
        self.run(
            "at('text').value = arguments[0]; at('text').dispatchEvent(new Event('input'))", text
        )
        if kind:
            self.at(f'input[name="kind"][value="{kind}"]').click()

    def search(self, text: str, kind: str = "scan") -> None:
        self.paste(text, kind)
        self.go()

    def go(self) -> None:
        """Press the button; a few verses know so few words that the page doubts the language."""
        self.at("#go").click()
        self.wait(
            lambda: self.run(
                "return going !== null || document.body.dataset.state === 'reading'"
                " || !at('doubtful').hidden"
            )
        )
        if self.at("#doubtful").is_displayed():
            self.at("#anyway").click()

    def done(self, told: str = "") -> None:
        """Wait for the end of a search, and for what the page says of it."""
        self.wait(lambda: self.run("return going === null && at('title').textContent"
                                   " !== 'Searching…'"))  # fmt: skip
        assert not self.at("#trouble").is_displayed(), self.at("#trouble").text
        assert self.at("#told").text == told

    def references(self) -> list[str]:
        """What stands in the margin, read at once: notes are drawn again as the page settles."""
        found: list[str] = self.run(
            "return [...document.querySelectorAll('#reading .note')].map(note => note.innerText)"
        )
        return found

    def verses(self) -> list[str]:
        """The verses of a phrase."""
        return [self.run("return arguments[0].firstChild.textContent", head)
                for head in self.all(".verse-entry h4")]  # fmt: skip

    def least(self, probability: float) -> None:
        """Move the slider, and wait for what is drawn: the page counts and draws in two frames."""
        self.run(
            "at('least').value = arguments[0]; at('least').dispatchEvent(new Event('input'))",
            round((0.95 - probability) * 20),
        )
        self.driver.execute_async_script(
            "const next = (frames, then) => frames"
            " ? requestAnimationFrame(() => next(frames - 1, then)) : then();"
            "next(4, arguments[0])"
        )

    def saved(self, folder: Path, name: str, format: str, what: str = "") -> str:
        """What one of the links below "Save" gives; without `what` it is a button's selector."""
        path = folder / name
        path.unlink(missing_ok=True)
        self.driver.execute_cdp_cmd(
            "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)}
        )
        if not self.at("#save").is_displayed():
            self.at("#saving summary").click()
        self.at(f'#save a[data-format="{format}"][data-what="{what}"]' if what else format).click()
        self.wait(path.exists)
        return path.read_text()


@pytest.fixture
def page(browser: Browser, serving: Serving) -> Iterator[Page]:
    """The page, with no history; it complains of nothing, and asks nobody but its server."""
    serving.ask("DELETE", "api/history")
    yield Page(browser, serving.url)
    assert browser.console_errors() == []
    asked = [urlsplit(url) for url in browser.requests()]
    assert f"127.0.0.1:{serving.port}" in {url.netloc for url in asked}
    assert {url.netloc for url in asked if url.scheme not in ("data", "about", "blob")} == {
        f"127.0.0.1:{serving.port}"
    }


def test_a_reader_works_through_a_text(page: Page, tmp_path: Path) -> None:
    """Paste, scan, slide, accept three, reject two, load again, save, open what was saved."""
    text = f"{SERMON}\n\nIterum: gustate et videte.\nAlius: in principio."
    page.search(text)
    page.done()
    page.least(0.5)
    assert page.references() == ["Ps 33,9", "cf. Ps 33,10-11", "Ps 33,9"]
    assert page.at("#count").text == "3 of 5 places"
    page.least(0.1)
    assert page.references() == [
        "Ps 33,9", "cf. Gen 1,1", "cf. Ps 33,10-11", "Ps 33,9", "cf. Gen 1,1",
    ]  # fmt: skip
    for key in "aaarr":
        page.press("j")
        page.press(key)
    assert page.at("#count").text == "5 places, 5 of 5 judged"
    page.run("return saving.then(() => true)")
    page.driver.refresh()
    page.ready()
    page.done()
    # Judgements hold whatever was chosen.
    page.least(0.95)
    page.least(0.1)
    assert page.at("#count").text == "5 places, 5 of 5 judged"
    marks = page.run("return listJudgements().map((each) => each.decision)")
    assert marks == ["accept"] * 3 + ["reject"] * 2
    # So does undo, also after the reload.
    page.press_undo()
    assert page.at("#count").text == "5 places, 4 of 5 judged"
    page.press("j")
    page.run("select(findings[4])")
    page.press("r")
    assert page.at("#count").text == "5 places, 5 of 5 judged"
    page.press(Keys.ESCAPE)
    # TEI, with what was accepted and the meaning of its pointers.
    name = "Audite gustate et videte Scriptum"
    saved = page.saved(tmp_path, f"{name}.allusions.xml", "tei", "accepted")
    root = etree.fromstring(saved.encode())
    assert [each.get("source") for each in root.iterfind(".//t:text//*[@source]", NS)] == [
        "bible:Ps.33.9", "bible:Gen.1.1", "bible:Ps.33.10 bible:Ps.33.11",
    ]  # fmt: skip
    (prefix,) = root.iterfind(".//t:listPrefixDef/t:prefixDef", NS)
    assert prefix.get("ident") == "bible"
    assert read_source(tmp_path / f"{name}.allusions.xml").text.split() == text.split()
    both = etree.fromstring(page.saved(tmp_path, f"{name}.allusions.xml", "tei", "all").encode())
    assert len(list(both.iterfind(".//t:text//*[@source]", NS))) == 5
    # The other files.
    rows = page.saved(tmp_path, f"{name}.tsv", "tsv", "accepted").splitlines()
    assert len(rows) == 4
    lines = page.saved(tmp_path, f"{name}.jsonl", "json", "all").splitlines()
    assert [json.loads(line)["judgement"] for line in lines] == [
        "accepted", "accepted", "accepted", "rejected", "rejected",
    ]  # fmt: skip
    page.saved(tmp_path, "gold.jsonl", "#save-gold")
    links = read_gold(tmp_path / "gold.jsonl")
    assert [link.relevant for link in links] == [
        ("Ps.33.9",), ("Gen.1.1",), ("Ps.33.10", "Ps.33.11"),
    ]  # fmt: skip
    page.saved(tmp_path, f"{name}.html", "html", "all")
    assert page.browser.console_errors() == []
    page.browser.requests()
    page.driver.get((tmp_path / f"{name}.html").as_uri())
    assert page.run("return listJudgements().map((each) => each.decision)") == marks
    page.run("at('least').value = 17; refresh()")
    assert page.at("#count").text == "5 places, 5 of 5 judged"
    assert len(page.references()) == 5
    assert page.browser.console_errors() == []
    page.browser._requests = [url for url in page.browser.requests() if not url.startswith("file:")]


def test_two_tabs_judge_one_text(page: Page, serving: Serving) -> None:
    page.search(SERMON)
    page.done()
    page.press("j", "a")
    page.run("return saving.then(() => true)")
    first = page.driver.current_window_handle
    page.driver.switch_to.new_window("tab")
    other = Page(page.browser, serving.url)
    other.search(SERMON)
    other.done()
    other.least(0.1)
    assert other.at("#count").text == "3 places, 1 of 3 judged"
    other.press("j", "j", "r")
    other.run("return saving.then(() => true)")
    other.driver.close()
    page.driver.switch_to.window(first)
    page.run("dispatchEvent(new Event('focus'))")
    page.least(0.1)
    page.wait(lambda: page.at("#count").text == "3 places, 2 of 3 judged")


def test_what_was_read_is_kept_until_it_is_deleted(page: Page) -> None:
    assert not page.at("#history").is_displayed()
    page.search(SERMON)
    page.done()
    page.press("j", "a")
    page.at("#again").click()
    page.wait(lambda: len(page.all("#entries li")) == 1)
    assert "3 findings" in page.at("#entries li").text
    page.search("in principio", "query")
    page.done()
    found = page.verses()
    page.at("#again").click()
    page.wait(lambda: len(page.all("#entries li")) == 2)
    page.all("#entries a")[1].click()
    page.wait(lambda: page.run("return findings.length") == 3)
    page.done()
    assert "1 of" in page.at("#count").text
    page.at("#again").click()
    page.wait(lambda: len(page.all("#entries li")) == 2)
    page.all("#entries a")[0].click()
    page.done()
    assert page.verses() == found
    page.at("#again").click()
    page.wait(lambda: len(page.all("#entries li")) == 2)
    page.run("window.confirm = () => true")
    page.all("#entries button")[1].click()
    page.wait(lambda: len(page.all("#entries li")) == 1)
    page.at("#forget-all").click()
    page.wait(lambda: not page.at("#history").is_displayed())
    page.search(SERMON)
    page.done()
    assert "judged" not in page.at("#count").text


def test_a_text_is_stopped_and_what_was_found_stays(page: Page, tmp_path: Path) -> None:
    page.search(f"{SERMON} {WAIT}")
    page.wait(lambda: len(page.references()) == 3)
    assert page.at("#stop").is_displayed()
    # What a reader has selected stays so while more comes.
    page.press("j")
    page.run("takeReport({findings: [], passages: [], books})")
    assert page.at("#panel h3").text.startswith("Ps 33,9")
    page.at("#stop").click()
    page.done("Stopped; what was found up to there is below.")
    assert not page.at("#stop").is_displayed()
    assert page.at("#panel h3").text.startswith("Ps 33,9")
    report = page.saved(tmp_path, "Audite gustate et videte Scriptum.html", "html", "all")
    assert "This is not all" in report
    page.at("#again").click()
    page.search(SERMON)
    page.done()


def test_the_length_chooses_the_question(page: Page) -> None:
    assert page.at('input[value="scan"]').is_selected()
    page.paste("in principio erat verbum")
    assert page.at('input[value="query"]').is_selected()
    page.paste("verbum " * 26)
    assert page.at('input[value="scan"]').is_selected()
    page.at('input[value="query"]').click()
    assert "may take long" in page.at("#why-kind").text
    page.paste("in principio erat verbum", "query")
    page.go()
    page.done()
    assert page.verses()[0] == "Joh 1,1"
    page.at("#other-kind").click()
    page.wait(lambda: page.run("return report?.text"))
    page.done()
    page.least(0.1)
    assert page.references() == ["cf. Gen 1,1"]


def test_a_phrase_as_a_query(page: Page) -> None:
    page.paste("principio", "query")
    page.at("#how > summary").click()
    Select(page.at("#first-stage")).select_by_value("bm25")
    Select(page.at("#rerank")).select_by_value("none")
    assert "The order of the first stage." in page.at("#described").text
    page.go()
    page.done()
    assert sorted(page.verses()) == ["Gen 1,1", "Joh 1,1"]
    assert page.at("#count").text == "2 verses"
    # Verses come first, with why, and each can be judged.
    assert page.at(".verse-entry .why").text == "The same words: principio."
    page.all(".verse-entry .accept")[1].click()
    assert page.run("return listJudgements().length") == 1
    page.at("#again").click()
    Select(page.at("#testament")).select_by_value("nt")
    page.go()
    page.done()
    assert page.verses() == ["Joh 1,1"]
    page.at("#again").click()
    Select(page.at("#testament")).select_by_value("")
    page.at("#books-part summary").click()
    page.at('#books input[value="Gen"]').click()
    assert page.at("#chosen-books").text == "(1 book chosen)"
    page.go()
    page.done()
    assert page.verses() == ["Gen 1,1"]


def test_another_language_is_asked_about_first(page: Page) -> None:
    page.paste("The Lord is my shepherd and I shall not want")
    page.at("#go").click()
    page.wait(lambda: page.at("#doubtful").is_displayed())
    assert page.at("#doubtful").text.startswith("This hardly looks like Latin: ")
    assert page.driver.switch_to.active_element == page.at("#anyway")
    assert page.run("return document.body.dataset.state") == "asking"


def test_a_tei_file(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "Sermo.xml"
    path.write_text(TEI)
    page.paste("in principio")
    page.at("#file").send_keys(str(path))
    page.wait(lambda: "4 words" in page.at("#file-name").text)
    # A file is a text, however short.
    assert page.at('input[value="scan"]').is_selected()
    # What stood there is another text.
    assert not page.at("#text").is_displayed()
    assert page.at("#text").get_attribute("value") == ""
    page.go()
    page.done()
    assert page.references() == ["Ps 33,9"]
    page.press("j", "a")
    page.run("return saving.then(() => true)")
    tei = page.saved(tmp_path, "Sermo.allusions.xml", "tei", "accepted")
    assert 'source="bible:Ps.33.9"' in tei
    assert "<prefixDef" in tei
    page.at("#again").click()
    page.at("#no-file").click()
    assert page.at("#text").is_displayed()


def test_text_stays_text(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "<b>a&b.html"
    path.write_text(f"<title>{escape(NASTY)}</title><p>{escape(NASTY)}")
    page.at("#file").send_keys(str(path))
    page.wait(lambda: "words" in page.at("#file-name").text)
    assert page.at("#file-name").text.startswith("_b_a_b.html: HTML, </script><img")
    page.at('input[name="kind"][value="scan"]').click()
    page.go()
    page.done()
    page.least(0.1)
    assert page.references() == ["Ps 33,9", "cf. Gen 1,1"]
    assert page.run("return arguments[0].textContent", page.at("#reading .text")) == NASTY
    assert page.run("return window.hacked === undefined")
    page.at("#again").click()
    page.wait(lambda: page.all("#entries a"))
    assert page.at("#entries a").text == NASTY
    assert page.all("main img, #reading b, #entries b") == []


def test_errors_are_one_line_in_the_page(
    browser: Browser, serving: Serving, tmp_path: Path
) -> None:
    page = Page(browser, serving.url)
    page.at("#go").click()
    assert page.at("#trouble").text.startswith("There is no text yet")
    assert page.driver.switch_to.active_element == page.at("#text")
    bad = tmp_path / "bad.xml"
    bad.write_text("<TEI><p></TEI>")
    page.at("#file").send_keys(str(bad))
    page.wait(lambda: "bad.xml:1: column 11: not well-formed" in page.at("#trouble").text)
    big = tmp_path / "big.txt"
    big.write_bytes(b"verbum " * (3 * 2**20))
    page.at("#file").send_keys(str(big))
    page.wait(lambda: "more than 16777216 bytes" in page.at("#trouble").text)
    assert page.at("#text").is_displayed()
    page.paste("λόγος")
    page.at("#go").click()
    page.wait(lambda: "there is no Latin letter in it" in page.at("#trouble").text)
    page.search("gustate et videte")
    page.done()
    page.at("#again").click()
    page.search("nihil")
    page.done("Nothing was found. If it is a single phrase, ask it as one.")
    page.at("#again").click()
    page.run("window.fetch = () => Promise.reject(new TypeError('gone'))")
    page.paste("gustate")
    page.at("#go").click()
    page.wait(lambda: "does not answer" in page.at("#trouble").text)
    # What the console says is what the server refused, and nothing else.
    errors = browser.console_errors()
    assert all("status of 4" in error for error in errors), errors


def test_two_tabs_do_not_mix(page: Page, serving: Serving) -> None:
    page.search(f"gustate et videte {WAIT}")
    page.wait(lambda: page.references() == ["Ps 33,9"])
    first = page.driver.current_window_handle
    page.driver.switch_to.new_window("tab")
    other = Page(page.browser, serving.url)
    other.search("in principio gustate")
    other.done()
    other.least(0.1)
    assert other.references() == ["cf. Gen 1,1"]
    # A tab that is closed stops its search, so that another may begin.
    other.at("#again").click()
    other.search(f"in principio {WAIT}")
    other.wait(lambda: other.references() == ["cf. Gen 1,1"])
    other.driver.close()
    page.driver.switch_to.window(first)
    assert page.references() == ["Ps 33,9"]
    page.at("#stop").click()
    page.done("Stopped; what was found up to there is below.")


def test_without_a_mouse(page: Page) -> None:
    page.run("document.activeElement.blur()")
    page.driver.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
    assert page.driver.switch_to.active_element.text == "Skip to the results"
    for _ in range(2):
        page.press(Keys.TAB)
    assert page.driver.switch_to.active_element == page.at("#text")
    chain = ActionChains(page.driver).send_keys("Gustate et videte quoniam suavis est Dominus")
    chain.key_down(Keys.CONTROL).send_keys(Keys.ENTER).key_up(Keys.CONTROL).perform()
    page.wait(lambda: page.run("return document.body.dataset.state") == "reading")
    page.done()
    # The page moves to what was found.
    assert page.driver.switch_to.active_element == page.at("#result")
    page.press("j")
    assert page.driver.switch_to.active_element.get_attribute("data-passage") == "Ps.33.9"
    page.press("a")
    assert page.run("return listJudgements()[0].decision") == "accept"
    page.press_undo()
    assert page.run("return listJudgements()") == []
    assert page.at("#told").get_attribute("role") == "status"
    assert page.at("#trouble").get_attribute("role") == "alert"


def test_nothing_shuts_out_users(page: Page, axe: str) -> None:
    page.at("#how > summary").click()
    page.at("#books-part summary").click()
    assert violations(page.browser, axe) == []
    page.search(SERMON)
    page.done()
    page.least(0.1)
    page.press("j", "a")
    page.at("#saving summary").click()
    page.run("at('trouble').textContent = 'Something'; at('trouble').hidden = false")
    assert violations(page.browser, axe) == []
    page.at("#theme").click()
    assert page.run("return document.documentElement.dataset.theme") == "dark"
    assert violations(page.browser, axe) == []
    page.driver.set_window_size(420, 900)
    try:
        for view in ("reading", "listing", "map", "table"):
            page.run("setView(arguments[0])", view)
            assert page.run("return document.documentElement.scrollWidth <= innerWidth"), view
        for menu in ("filters", "saving"):
            page.run("at(arguments[0]).open = true", menu)
            box = page.run(
                "return at(arguments[0]).lastElementChild.getBoundingClientRect().toJSON()", menu
            )
            assert 0 <= box["left"] < box["right"] <= page.run("return innerWidth"), menu
            page.run("at(arguments[0]).open = false", menu)
        page.run("at('trouble').hidden = true; at('again').click()")
        page.wait(lambda: page.all("#entries li"))
        assert page.run("return document.documentElement.scrollWidth <= innerWidth")
        assert violations(page.browser, axe) == []
    finally:
        page.driver.set_window_size(1200, 1000)
        page.run("localStorage.clear()")


def test_examples_are_searched_at_once(page: Page) -> None:
    page.at('[data-example="passage"]').click()
    page.wait(lambda: page.at("#doubtful").is_displayed() or page.run("return going !== null"))
    text = page.at("#text").get_attribute("value") or ""
    assert "Gustate et videte" in text
    assert "\n" not in text
    if page.at("#doubtful").is_displayed():
        page.at("#anyway").click()
    page.wait(lambda: page.run("return document.body.dataset.state") == "reading")
    page.done()
    page.least(0.1)
    assert page.references() == ["Ps 33,9", "cf. Gen 1,1"]


class WorksPage(Page):
    """The page over a collection of several works, which has no books."""

    def ready(self) -> None:
        self.wait(lambda: len(self.all("#rerank option")) > 3 and len(self.all("#works label")) > 1)


@pytest.fixture
def epic_page(browser: Browser, library: Library, tmp_path: Path) -> Iterator[WorksPage]:
    """The page over lines of Vergil and Lucan."""
    lines = [
        ("aen.1.1", "Arma virumque cano, Troiae qui primus ab oris", "Aeneis", "Vergilius"),
        ("ecl.1.1", "Tityre, tu patulae recubans sub tegmine fagi", "Eclogae", "Vergilius"),
        ("luc.1.1", "Bella per Emathios plus quam civilia campos arma", "Bellum civile", "Lucanus"),
    ]
    passages = [
        Passage(name, text, work, order=order, reference=name, author=author)
        for order, (name, text, work, author) in enumerate(lines)
    ]
    library.build("epica", passages, BuildOptions(vectors=False))

    class Epic(Place):
        def rows(self) -> list[IndexRow]:
            return [IndexRow("epica", "in process", len(lines))]

        def open(self, name: str) -> CandidateIndex:
            return library.open(name)

    serving = Serving(application(Epic(library), "epica", tmp_path, TOKEN))
    serving.start()
    yield WorksPage(browser, serving.url)
    serving.end()


def test_a_collection_of_works_is_searched_in_some_of_them(epic_page: WorksPage, axe: str) -> None:
    page = epic_page
    page.at("#how > summary").click()
    assert not page.at("#books-part").is_displayed()
    page.at("#authors-part summary").click()
    page.at("#works-part summary").click()
    labels = [label.text for label in page.all("#works label")]
    assert labels == ["Lucanus, Bellum civile", "Vergilius, Aeneis", "Vergilius, Eclogae"]
    assert violations(page.browser, axe) == []
    page.paste("arma cano", "query")
    page.go()
    page.done()
    assert {"aen.1.1", "luc.1.1"} <= set(page.verses())
    page.at("#again").click()
    page.at('#authors input[value="Lucanus"]').click()
    assert page.at("#chosen-authors").text == "(1 author chosen)"
    page.go()
    page.done()
    assert page.verses() == ["luc.1.1"]
    page.at("#again").click()
    page.at('#authors input[value="Lucanus"]').click()
    page.at('#works input[value="Aeneis"]').click()
    assert page.at("#chosen-works").text == "(1 work chosen)"
    page.go()
    page.done()
    assert page.verses() == ["aen.1.1"]
