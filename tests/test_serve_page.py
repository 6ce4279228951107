"""The search page in a real browser."""

import json
from collections.abc import Iterator
from html import escape
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from axe_fixtures import violations
from browser_fixtures import Browser
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select, WebDriverWait
from serve_fixtures import WAIT, Serving

from allusion_es.evaluation.gold.files import read_gold

SERMON = "Audite: gustate et videte.\nScriptum est: In principio.\nItem: Timete Dominum. Divites."
NASTY = '</script><img src=x onerror="window.hacked=1"><b>gustate et videte</b> & "in principio"'


class Page:
    """The page as a reader handles it."""

    def __init__(self, browser: Browser, url: str) -> None:
        self.browser, self.driver = browser, browser.driver
        self.prefer("light")
        self.driver.get(url)
        self.driver.execute_script("localStorage.clear()")
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

    def run(self, script: str, *arguments: object) -> object:
        found: object = self.driver.execute_script(script, *arguments)
        return found

    def paste(self, text: str) -> None:
        self.at("#text").clear()
        self.run("arguments[0].value = arguments[1]", self.at("#text"), text)

    def search(self, text: str) -> None:
        self.paste(text)
        self.at("#go").click()

    def told(self, text: str) -> None:
        """Wait until the page says how the search ended."""
        self.wait(lambda: self.at("#told").text or self.at("#trouble").is_displayed())
        assert self.at("#told").text == text

    def titles(self) -> list[str]:
        found = self.run(
            "return [...document.querySelectorAll('article h3')].map(h => h.innerText)"
        )
        assert isinstance(found, list)
        return found

    def saved(self, folder: Path, name: str, selector: str) -> str:
        """What a link or button saves."""
        path = folder / name
        self.driver.execute_cdp_cmd(
            "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)}
        )
        self.at(selector).click()
        self.wait(path.exists)
        return path.read_text()


@pytest.fixture
def page(browser: Browser, serving: Serving) -> Iterator[Page]:
    """The page; it complains of nothing, and asks nobody but its server."""
    yield Page(browser, serving.url)
    assert browser.console_errors() == []
    asked = [urlsplit(url) for url in browser.requests()]
    assert f"127.0.0.1:{serving.port}" in {url.netloc for url in asked}
    assert {url.netloc for url in asked if url.scheme not in ("data", "about", "blob")} == {
        f"127.0.0.1:{serving.port}"
    }


def test_from_a_pasted_text_to_a_saved_table(page: Page, tmp_path: Path) -> None:
    assert "leaves this computer" in page.at("#where").text
    page.search(SERMON)
    page.told("Done: 3 findings.")
    assert page.titles() == ["line 1 → Ps 33,9", "line 2 → Gen 1,1", "line 3 → Ps 33,10-11"]
    assert page.at("#title").text == "Allusions in pasted-text"
    first = page.at("article")
    assert [word.text for word in first.find_elements(By.CSS_SELECTOR, ".source .w")] == [
        "gustate", "et", "videte",
    ]  # fmt: skip
    assert first.find_element(By.CSS_SELECTOR, ".source").text.startswith("Audite: gustate")
    assert "Probability 0.9500" in first.find_element(By.CSS_SELECTOR, ".stages").text.replace(
        "\n", " "
    )
    assert "First stage" not in first.text
    # The map has the place in the text.
    cells = page.run(
        "return [...document.querySelectorAll('#map rect')].map(r => +r.getAttribute('x'))"
    )
    assert isinstance(cells, list)
    places = [SERMON.lower().find(words) for words in ("in principio", "gustate", "timete")]
    assert [int(x) for x in cells] == [60 * place // len(SERMON) for place in places]
    # Filters of the report.
    Select(page.at("#kind")).select_by_value("paraphrase")
    assert page.titles() == ["line 3 → Ps 33,10-11"]
    Select(page.at("#kind")).select_by_value("")
    page.at("#probability").clear()
    page.at("#probability").send_keys("0.9")
    page.wait(lambda: page.titles() == ["line 1 → Ps 33,9"])
    page.at("#reset").click()
    page.wait(lambda: len(page.titles()) == 3)
    # Files.
    table = page.saved(tmp_path, "pasted-text.tsv", '#downloads a[data-format="tsv"]')
    assert len(table.splitlines()) == 4
    lines = page.saved(tmp_path, "pasted-text.jsonl", '#downloads a[data-format="json"]')
    assert [json.loads(line)["passages"][0] for line in lines.splitlines()] == [
        "Ps.33.9", "Gen.1.1", "Ps.33.10",
    ]  # fmt: skip
    for accept in page.all("article .judge .accept"):
        accept.click()
    page.saved(tmp_path, "gold.jsonl", "#save-gold")
    links = read_gold(tmp_path / "gold.jsonl")
    assert [link.relevant for link in links] == [
        ("Ps.33.9",), ("Gen.1.1",), ("Ps.33.10", "Ps.33.11"),
    ]  # fmt: skip
    assert links[0].query.text == "gustate et videte"


def test_the_saved_report_is_the_same_page(
    browser: Browser, serving: Serving, tmp_path: Path
) -> None:
    reply = serving.post("api/scan", {"text": SERMON})
    job = reply.headers["Allusion-Job"]
    saved = serving.ask("GET", f"api/jobs/{job}/report?format=html").data
    (tmp_path / "report.html").write_bytes(saved)
    browser.driver.get((tmp_path / "report.html").as_uri())
    found = browser.driver.find_elements(By.CSS_SELECTOR, "article h3")
    assert [each.text for each in found] == [
        "line 1 → Ps 33,9", "line 2 → Gen 1,1", "line 3 → Ps 33,10-11",
    ]  # fmt: skip
    assert browser.console_errors() == []
    assert {url.split(":")[0] for url in browser.requests()} <= {"file", "data", "about"}


def test_a_text_is_stopped_and_what_was_found_stays(page: Page, tmp_path: Path) -> None:
    page.search(f"{SERMON} {WAIT}")
    page.wait(lambda: len(page.titles()) == 3)
    assert page.at("#stop").is_displayed()
    assert not page.at("#go").is_enabled()
    # What a reader has opened stays open while more comes.
    page.all("article")[1].find_element(By.CSS_SELECTOR, ".others summary").click()
    opened = page.all("article")[1]
    page.run("take({findings: [], passages: [], books})")
    assert opened.find_element(By.CSS_SELECTOR, ".others li").is_displayed()
    page.at("#stop").click()
    page.told("Stopped: 3 findings up to there.")
    assert not page.at("#stop").is_displayed()
    assert opened.find_element(By.CSS_SELECTOR, ".others li").is_displayed()
    report = page.saved(tmp_path, "pasted-text.html", '#downloads a[data-format="html"]')
    assert "This is not all" in report
    page.search(SERMON)
    page.told("Done: 3 findings.")


def test_a_phrase_as_a_query(page: Page) -> None:
    page.at('input[value="query"]').click()
    page.at("#how > summary").click()
    assert not page.at("#threshold").is_displayed()
    Select(page.at("#first-stage")).select_by_value("bm25")
    Select(page.at("#rerank")).select_by_value("none")
    assert "The order of the first stage." in page.at("#described").text
    page.search("principio")
    page.told("Done: 2 passages, the best first.")
    rows = page.all(".others li")
    assert [row.is_displayed() for row in rows] == [True, True]
    Select(page.at("#testament")).select_by_value("nt")
    page.at("#go").click()
    page.told("Done: 1 passage, the best first.")
    assert page.titles() == ["1 → Joh 1,1"]
    Select(page.at("#testament")).select_by_value("")
    page.at("#books-part summary").click()
    page.at('#books input[value="Gen"]').click()
    assert page.at("#chosen-books").text == "(1 book chosen)"
    page.at("#go").click()
    page.wait(lambda: page.titles() == ["1 → Gen 1,1"])


def test_a_tei_file(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "Sermo.xml"
    path.write_text("<TEI><text><body><p><lb n='7'/>Et gustate et videte.</p></body></text></TEI>")
    page.at("#file").send_keys(str(path))
    page.wait(lambda: "4 words" in page.at("#file-name").text)
    assert not page.at("#text").is_enabled()
    page.at("#go").click()
    page.told("Done: 1 finding.")
    assert page.titles() == ["line 7 → Ps 33,9"]
    tei = page.saved(tmp_path, "Sermo.allusions.xml", '#downloads a[data-format="tei"]')
    assert 'source="bible:Ps.33.9"' in tei
    page.at("#no-file").click()
    assert page.at("#text").is_enabled()


def test_text_stays_text(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "<b>a&b.html"
    path.write_text(f"<title>{escape(NASTY)}</title><p>{escape(NASTY)}")
    page.at("#file").send_keys(str(path))
    page.wait(lambda: "words" in page.at("#file-name").text)
    assert page.at("#file-name").text.startswith("_b_a_b.html: HTML, </script><img")
    page.at("#go").click()
    page.told("Done: 2 findings.")
    page.wait(lambda: len(page.titles()) == 2)
    source = page.at("article .source")
    text = page.run("return arguments[0].textContent", source)
    assert text == NASTY
    assert page.run("return window.hacked === undefined")
    assert page.all("article img, article b:not(.neighbour b), main h2 b") == []


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
    assert page.at("#text").is_enabled()
    page.search("λόγος")
    page.wait(lambda: "there is no Latin letter in it" in page.at("#trouble").text)
    page.search("gustate et videte")
    page.told("Done: 1 finding.")
    assert not page.at("#trouble").is_displayed()
    page.search("nihil")
    page.wait(lambda: page.at("#told").text.startswith("Nothing was found."))
    page.run("window.fetch = () => Promise.reject(new TypeError('gone'))")
    page.search("gustate")
    page.wait(lambda: "does not answer" in page.at("#trouble").text)
    # What the console says is what the server refused, and nothing else.
    errors = browser.console_errors()
    assert all("status of 4" in error for error in errors), errors


def test_two_tabs_do_not_mix(page: Page, serving: Serving) -> None:
    page.search(f"gustate et videte {WAIT}")
    page.wait(lambda: len(page.titles()) == 1)
    first = page.driver.current_window_handle
    page.driver.switch_to.new_window("tab")
    other = Page(page.browser, serving.url)
    other.search("in principio")
    other.told("Done: 1 finding.")
    assert other.titles() == ["characters 1–12 → Gen 1,1"]
    # A tab that is closed stops its search, so that another may begin.
    other.search(f"in principio {WAIT}")
    other.wait(lambda: len(other.titles()) == 1)
    other.driver.close()
    page.driver.switch_to.window(first)
    assert page.titles() == ["characters 1–17 → Ps 33,9"]
    page.at("#stop").click()
    page.told("Stopped: 1 finding up to there.")


def test_without_a_mouse(page: Page) -> None:
    page.run("document.activeElement.blur()")
    page.driver.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
    assert page.driver.switch_to.active_element.text == "Skip to the results"
    for _ in range(2):
        ActionChains(page.driver).send_keys(Keys.TAB).perform()
    assert page.driver.switch_to.active_element == page.at("#text")
    chain = ActionChains(page.driver).send_keys("gustate et videte")
    chain.key_down(Keys.CONTROL).send_keys(Keys.ENTER).key_up(Keys.CONTROL).perform()
    page.told("Done: 1 finding.")
    assert page.at("#told").get_attribute("role") == "status"
    assert page.at("#trouble").get_attribute("role") == "alert"


def test_nothing_shuts_out_users(page: Page, axe: str) -> None:
    page.at("#how > summary").click()
    page.at("#books-part summary").click()
    assert violations(page.browser, axe) == []
    page.search(SERMON)
    page.told("Done: 3 findings.")
    page.at("#help summary").click()
    page.at("article .judge .accept").click()
    page.run("at('trouble').textContent = 'Something'; at('trouble').hidden = false")
    assert violations(page.browser, axe) == []
    page.at("#theme").click()
    assert page.run("return document.documentElement.dataset.theme") == "dark"
    assert violations(page.browser, axe) == []
    page.driver.set_window_size(420, 900)
    try:
        assert page.run("return document.documentElement.scrollWidth <= innerWidth")
    finally:
        page.driver.set_window_size(1200, 1000)
        page.run("localStorage.clear()")


def test_it_says_what_a_threshold_gives(page: Page, serving: Serving) -> None:
    page.at("#how > summary").click()
    models = {row["name"]: row for row in serving.ask("GET", "api/methods").json["scans"]}

    def expected(name: str, threshold: float) -> str:
        (point,) = (p for p in models[name]["measured"] if p["threshold"] == threshold)
        return f"at {threshold:g}: {round(100 * point['precision'])} of 100 findings are right"

    details = serving.ask("GET", "api/indexes/psalmi").json
    name = "default" if details["citations"] else "words"
    told = "Probabilities are not calibrated for this collection, only for the Vulgate"
    page.wait(lambda: told in page.at("#measured").text)
    assert set(details["unmeasured"].values()) == {
        "not calibrated for this collection, only for the Vulgate"
    }
    page.run("unmeasured = { scan: '', fast: '' }; tellMeasured()")  # as for the Vulgate
    page.wait(lambda: expected(name, models[name]["threshold"]) in page.at("#measured").text)
    page.at("#fast").click()
    assert expected("fast", models["fast"]["threshold"]) in page.at("#measured").text
    page.at("#threshold").send_keys("0.7")
    assert expected("fast", 0.7) in page.at("#measured").text
    page.at("#threshold").send_keys("1")
    assert expected("fast", 0.7) in page.at("#measured").text
    page.run("at('threshold').value = '0.01'; tellMeasured()")
    assert page.at("#measured").text == "Nothing was measured at 0.01."
    page.run("at('threshold').value = '0.7'; tellMeasured()")
    page.search(SERMON)
    page.told("Done: 2 findings.")


def test_the_example_is_one(page: Page) -> None:
    page.at("#example").click()
    text = page.at("#text").get_attribute("value") or ""
    assert "Gustate et videte" in text
    assert "\n" not in text
    page.at("#go").click()
    page.wait(lambda: page.at("#told").text.startswith("Done: 2 findings"))
