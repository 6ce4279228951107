"""The annotation page in a real browser: by mouse, by keys, by touch, through reloads and kills."""

import json
import random
from collections.abc import Iterator
from contextlib import suppress
from itertools import combinations
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from annotation_server import ANCHOR, WORDS, AnnotationServer, links
from browser_fixtures import Browser, OpenBrowser
from processes import Run
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

from allusion_es.annotation.marks import NOTHING, Change, Mark
from allusion_es.annotation.store import Store

Span = tuple[int, int]
KEPT = "Not saved: the server does not answer. {} kept in this browser; trying again."


class Page:
    """The page as an annotator handles it."""

    def __init__(self, browser: Browser, url: str) -> None:
        self.browser, self.driver, self.url = browser, browser.driver, url
        self.open()

    def open(self) -> None:
        """Load the page and wait until it shows an instance."""
        self.driver.get(self.url)
        self.wait(lambda: self.at("work").is_displayed())

    def wait(self, holds: object, seconds: float = 20) -> None:
        """Wait until a function without arguments gives something true."""
        assert callable(holds)
        WebDriverWait(self.driver, seconds, 0.05).until(lambda _: holds())

    def at(self, name: str) -> WebElement:
        return self.driver.find_element(By.ID, name)

    def text(self, name: str) -> str:
        return self.at(name).text

    def wait_text(self, name: str, text: str) -> None:
        with suppress(Exception):
            self.wait(lambda: self.text(name) == text)
        assert self.text(name) == text

    def number(self) -> int:
        """Which instance is shown, from 1."""
        return int(self.at("number").get_attribute("value") or 0)

    def go(self, number: int) -> None:
        """Show an instance."""
        field = self.at("number")
        field.clear()
        field.send_keys(str(number), Keys.TAB)
        assert self.number() == number
        self.at("passage").click()
        self.press("u")  # what the click has marked

    def press(self, *keys: str) -> None:
        ActionChains(self.driver).send_keys(*keys).perform()

    def shift(self, key: str, times: int = 1) -> None:
        chain = ActionChains(self.driver).key_down(Keys.SHIFT)
        chain.send_keys(key * times).key_up(Keys.SHIFT).perform()

    def word(self, place: int) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, f'.word[data-place="{place}"]')

    def span(self) -> Span | None:
        """Which words are marked."""
        marked = self.driver.find_elements(By.CSS_SELECTOR, ".word.in")
        places = [int(word.get_attribute("data-place") or 0) for word in marked]
        if not places:
            return None
        assert places == list(range(places[0], places[-1] + 1))
        return places[0], places[-1] + 1

    def mark_by_mouse(self, span: Span) -> None:
        """Drag over the words of a span that includes the anchor."""
        chain = ActionChains(self.driver, duration=20).move_to_element(self.word(span[0]))
        chain = chain.click_and_hold().move_to_element(self.word(span[1] - 1))
        chain.release().perform()
        assert self.span() == span

    def mark_by_keys(self, span: Span) -> None:
        """Mark the anchor, then widen to both sides."""
        self.press(Keys.ARROW_LEFT)
        assert self.span() == ANCHOR
        self.press(Keys.ARROW_LEFT * (ANCHOR[0] - span[0]))
        self.press(Keys.ARROW_RIGHT * (span[1] - ANCHOR[1]))
        assert self.span() == span

    def save_by_mouse(self) -> None:
        self.at("save").click()

    def save_by_keys(self) -> None:
        self.press(Keys.ENTER)


@pytest.fixture
def folder(tmp_path: Path, little_index: str) -> Path:
    return tmp_path


@pytest.fixture
def server(folder: Path) -> Iterator[AnnotationServer]:
    names = ["anna", "berta", "carla"]
    with AnnotationServer(links(folder / "links.jsonl"), names, folder / "spans.sqlite") as running:
        yield running
        running.stop()


@pytest.fixture
def store(server: AnnotationServer, folder: Path) -> Store:
    return Store(folder / "spans.sqlite")


class Own:
    """One annotator's part of a store that many tests share."""

    def __init__(self, server: AnnotationServer, store: Store, name: str) -> None:
        self.server, self.store, self.name = server, store, name

    def marks(self) -> list[Mark]:
        return [mark for _, name, mark in self.store.marks() if name == self.name]

    def history(self) -> list[Change]:
        return [change for change in self.store.history() if change.annotator == self.name]


@pytest.fixture(scope="module")
def owners(tmp_path_factory: pytest.TempPathFactory, little_index: str) -> Iterator[Iterator[Own]]:
    """A server with an annotator for each test."""
    folder = tmp_path_factory.mktemp("page")
    names = [f"anna {number}" for number in range(16)]
    with AnnotationServer(links(folder / "links.jsonl"), names, folder / "spans.sqlite") as running:
        store = Store(folder / "spans.sqlite")
        yield (Own(running, store, name) for name in names)
        running.stop()


@pytest.fixture
def own(owners: Iterator[Own]) -> Own:
    return next(owners)


@pytest.fixture
def page(browser: Browser, own: Own) -> Iterator[Page]:
    url = own.server.urls[own.name]
    yield Page(browser, url)
    assert browser.console_errors() == []
    asked = [urlsplit(url) for url in browser.requests()]
    assert len(asked) >= 5
    origin = urlsplit(url).netloc
    assert {each.netloc for each in asked if each.scheme not in {"data", "about"}} == {origin}


def observed_and_expected(choices: dict[str, list[Span]]) -> tuple[float, float, float]:
    """O_o, O_e and κ of the paper, from what the script chose, by sets of words."""
    overlaps, in_common, apart = [], [], []
    for one, other in combinations(choices.values(), 2):
        for s, t in zip(one, other, strict=True):
            first, second = set(range(*s)), set(range(*t))
            overlaps.append(len(first & second) / len(first | second))
            in_common.append(len(first & second))
            apart.append(len(first ^ second))
    o = sum(overlaps) / len(overlaps)
    e = sum(in_common) / (sum(in_common) + sum(apart))
    return o, e, (o - e) / (1 - e)


def test_three_annotators_through_reloads_and_a_kill(
    open_browser: OpenBrowser, server: AnnotationServer, store: Store, folder: Path, run: Run
) -> None:
    generator = random.Random(7)
    choices: dict[str, list[Span]] = {
        name: [(generator.randint(0, 5), generator.randint(6, 12)) for _ in range(10)]
        for name in ("anna", "berta", "carla")
    }
    # Two browsers; carla sits at a window of the second.
    anna = Page(open_browser(), server.urls["anna"])
    berta = Page(open_browser(), server.urls["berta"])

    def annotate(page: Page, name: str, places: range, keys: bool) -> None:
        for place in places:
            assert page.number() == place + 1
            if keys:
                page.mark_by_keys(choices[name][place])
                page.save_by_keys()
            else:
                page.mark_by_mouse(choices[name][place])
                page.save_by_mouse()

    # Turn by turn, so that both write to the store at the same time.
    for place in range(5):
        annotate(anna, "anna", range(place, place + 1), keys=False)
        annotate(berta, "berta", range(place, place + 1), keys=True)
    for page in (anna, berta):
        page.wait_text("status", "Saved.")
        page.open()
        assert page.text("count") == "5 of 10 done"
        assert page.number() == 6

    annotate(anna, "anna", range(5, 8), keys=True)
    anna.wait_text("status", "Saved.")
    annotate(berta, "berta", range(5, 6), keys=False)
    berta.wait_text("status", "Saved.")
    # The server dies while it waits for the store: the save has arrived, but is not made.
    with store._writing():
        annotate(berta, "berta", range(6, 7), keys=True)
        berta.wait_text("status", "Saving…")
        assert berta.text("count") == "6 of 10 done"
        server.kill()
    berta.wait_text("status", KEPT.format("1 change"))
    assert "b-6" not in store.saved("berta")
    # One goes on without the server.
    annotate(berta, "berta", range(7, 9), keys=False)
    annotate(anna, "anna", range(8, 9), keys=False)
    berta.wait_text("status", KEPT.format("3 changes"))
    anna.wait_text("status", KEPT.format("1 change"))
    assert berta.text("count") == "6 of 10 done"

    work, names = folder / "links.jsonl", list(choices)
    with AnnotationServer(work, names, folder / "spans.sqlite", server.port) as again:
        assert again.urls == server.urls
        for page in (anna, berta):
            page.wait_text("status", "Saved.")
            assert page.text("count") == "9 of 10 done"
            assert page.text("finished") == ""
        annotate(anna, "anna", range(9, 10), keys=True)
        annotate(berta, "berta", range(9, 10), keys=True)
        berta.wait_text("status", "Saved.")
        carla = Page(berta.browser, server.urls["carla"])
        annotate(carla, "carla", range(10), keys=True)
        for page in (anna, carla):
            page.wait_text("status", "Saved.")
            assert page.text("count") == "10 of 10 done"
            assert page.text("finished").startswith("All instances are done and saved")
        for page in (anna, carla):
            # What Chromium says of the server that was away, and nothing else.
            errors = page.browser.console_errors()
            assert all("net::ERR" in error and "/api/save" in error for error in errors)
        again.stop()

    expected = [
        (f"b-{place}", name, Mark(*choices[name][place])) for place in range(10) for name in choices
    ]
    assert store.marks() == expected
    history = store.history()
    assert len(history) == 30
    assert {(c.instance, c.annotator) for c in history} == {(i, who) for i, who, _ in expected}
    assert all(c.before == NOTHING and c.kind == "save" for c in history)

    done = run("agreement", str(store.path), "--format", "json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    told = told[0] if isinstance(told, list) else told
    assert (told["instances"], told["annotators"], told["pairs"]) == (10, 3, 30)
    o, e, kappa = observed_and_expected(choices)
    assert told["observed_overlap"] == pytest.approx(o, abs=1e-9)
    assert told["expected_overlap"] == pytest.approx(e, abs=1e-9)
    assert told["kappa"] == pytest.approx(kappa, abs=1e-9)


def test_keys(page: Page, own: Own) -> None:
    assert page.span() is None
    assert not page.at("save").is_enabled()
    page.press(Keys.ENTER)
    assert page.text("problem") == "Mark a span, or press Doubt or Skip."
    page.mark_by_keys((3, 8))
    page.shift(Keys.ARROW_RIGHT)
    page.shift(Keys.ARROW_LEFT)
    assert page.span() == (4, 7)
    page.shift(Keys.ARROW_RIGHT, 5)
    page.shift(Keys.ARROW_LEFT, 5)
    assert page.span() == ANCHOR  # never without the anchor
    page.press(Keys.ARROW_LEFT * 20, Keys.ARROW_RIGHT * 20)
    assert page.span() == (0, 12)  # nor outside the passage
    assert page.text("selected") == f"Span of 12 words: {' '.join(WORDS)}"
    assert page.text("state") == "Changed, not saved."
    page.press("u")
    assert page.span() is None
    page.press("d", Keys.ENTER)
    page.wait_text("status", "Saved.")
    page.press("s")
    page.wait(lambda: page.number() == 3)
    page.mark_by_keys((5, 7))
    page.press("c", "an cf. Ps 2?", Keys.ESCAPE, Keys.ENTER)
    page.wait_text("count", "2 of 10 done, 1 skipped")
    assert own.marks() == [
        Mark(doubt=True),
        Mark(skipped=True),
        Mark(5, 7, comment="an cf. Ps 2?"),
    ]
    page.press("p")
    assert page.number() == 3
    assert page.text("state") == "Saved: 2 words."
    page.press("p", "p", "p")
    assert page.number() == 1
    assert page.at("doubt").get_attribute("aria-pressed") == "true"
    page.press("n", "n", "g")
    assert page.number() == 4


def test_mouse(page: Page) -> None:
    page.mark_by_mouse((2, 9))
    page.word(4).click()
    assert page.span() == (4, 9)
    page.word(7).click()
    assert page.span() == (4, 8)
    page.word(10).click()
    assert page.span() == (4, 11)
    page.word(5).click()
    assert page.span() == ANCHOR
    chain = ActionChains(page.driver, duration=20).move_to_element(page.word(1))
    chain.click_and_hold().move_to_element(page.word(2)).release().perform()
    assert page.span() == (1, 6)  # widened to the anchor
    for name, span in (
        ("wider-left", (0, 6)),
        ("wider-right", (0, 7)),
        ("narrower-left", (1, 7)),
        ("narrower-right", (1, 6)),
    ):
        page.at(name).click()
        assert page.span() == span


def test_without_an_anchor_any_words_can_be_marked(
    browser: Browser, folder: Path, little_index: str
) -> None:
    work = links(folder / "bare.jsonl", 3, anchor="")
    with AnnotationServer(work, ["anna"], folder / "bare.sqlite") as server:
        page = Page(browser, server.urls["anna"])
        assert page.text("anchor-note").startswith("The link names no anchor: mark any words.")
        own = page.driver.find_elements(By.CSS_SELECTOR, ".word.own")
        assert [word.text for word in own] == list(WORDS[3:9])
        assert page.driver.find_elements(By.CSS_SELECTOR, ".anchor") == []
        # By keys: the link's words first, from which one goes on.
        page.press(Keys.ARROW_RIGHT)
        assert page.span() == (3, 9)
        page.shift(Keys.ARROW_RIGHT, 4)
        assert page.span() == (7, 9)
        page.shift(Keys.ARROW_LEFT, 5)
        assert page.span() == (7, 8)  # never without a word
        page.press(Keys.ARROW_RIGHT * 9)
        assert page.span() == (7, 12)
        page.press("u")
        # By mouse: the first word and the last, then a word inside, then an end.
        page.word(0).click()
        assert page.span() == (0, 1)
        page.word(6).click()
        assert page.span() == (0, 7)
        page.word(5).click()
        assert page.span() == (0, 6)
        page.word(1).click()
        assert page.span() == (1, 6)
        page.word(1).click()
        assert page.span() == (1, 2)
        page.mark_by_mouse((10, 12))
        page.save_by_mouse()
        page.wait_text("count", "1 of 3 done")
        assert Store(folder / "bare.sqlite").marks() == [("b-0", "anna", Mark(10, 12))]
        assert browser.console_errors() == []
        server.stop()
    assert "3 without an anchor: any words may be marked" in server.log.read_text()


def test_touch(page: Page) -> None:
    devtools = page.driver.execute_cdp_cmd
    devtools("Emulation.setTouchEmulationEnabled", {"enabled": True})

    def touch(kind: str, *place: int) -> None:
        points = []
        for word in map(page.word, place):
            box = word.rect
            points.append({"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2})
        devtools("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    try:
        page.driver.execute_script("scrollTo(0, 0)")
        touch("touchStart", 3)
        touch("touchMove", 5)
        touch("touchMove", 8)
        touch("touchEnd")
        assert page.span() == (3, 9)
        touch("touchStart", 7)
        touch("touchEnd")
        assert page.span() == (3, 8)
        page.save_by_mouse()
        page.wait_text("count", "1 of 10 done")
    finally:
        devtools("Emulation.setTouchEmulationEnabled", {"enabled": False})


def test_undo_takes_back_saves_one_by_one(page: Page, own: Own) -> None:
    for span in ((4, 7), (5, 8)):
        page.mark_by_keys(span)
        page.save_by_keys()
    page.wait_text("count", "2 of 10 done")
    page.at("undo").click()
    page.wait_text("count", "1 of 10 done")
    assert page.number() == 2
    assert page.text("state") == "Not annotated yet."
    ActionChains(page.driver).key_down(Keys.CONTROL).send_keys("z").key_up(Keys.CONTROL).perform()
    page.wait_text("count", "0 of 10 done")
    assert (page.number(), page.span()) == (1, None)
    page.press("u")
    assert page.text("problem") == "There is nothing to undo."
    assert [change.kind for change in own.history()] == ["save", "save", "undo", "undo"]
    assert own.marks() == []


def test_what_is_not_saved_stays_while_one_looks_elsewhere(page: Page, own: Own) -> None:
    page.mark_by_keys((4, 7))
    page.press("n", "p")
    assert page.span() == (4, 7)
    assert page.text("state") == "Changed, not saved."
    assert own.history() == []


def test_text_never_becomes_markup(browser: Browser, folder: Path, little_index: str) -> None:
    evil = "<img src=x onerror=\"document.title='run'\"><script>document.title='run'</script>"
    work = links(
        folder / "evil.jsonl", 2, before=f"unus {evil}", title=evil, translation=evil, type=evil
    )
    with AnnotationServer(work, ["anna"], folder / "evil.sqlite") as server:
        page = Page(browser, server.urls["anna"])
        assert evil in page.text("passage")
        assert page.text("source") == evil
        assert page.text("translation") == evil
        comment = f"{evil} '); DROP TABLE history; --"
        page.press(Keys.ARROW_LEFT, "c", comment, Keys.ESCAPE, Keys.ENTER)
        page.wait_text("status", "Saved.")
        page.open()
        page.press("p")
        assert page.at("comment").get_attribute("value") == comment
        assert page.driver.find_elements(By.CSS_SELECTOR, "main img, main script") == []
        assert page.driver.title == "Annotate allusions"
        # Nor would markup run if it were there.
        page.driver.execute_script(
            "document.body.insertAdjacentHTML('beforeend', arguments[0])", evil
        )
        assert page.driver.title == "Annotate allusions"
        errors = browser.console_errors()
        assert errors
        assert all("Content Security Policy" in error for error in errors)
        assert [change.after.comment for change in Store(folder / "evil.sqlite").history()] == [
            comment
        ]
        server.stop()


def test_changes_outlive_the_page_when_the_server_is_away(
    browser: Browser, server: AnnotationServer, store: Store, folder: Path
) -> None:
    page = Page(browser, server.urls["anna"])
    server.kill()
    page.mark_by_keys((2, 7))
    page.save_by_keys()
    page.wait_text("status", KEPT.format("1 change"))
    page.driver.get("about:blank")
    assert store.history() == []
    with AnnotationServer(folder / "links.jsonl", ["anna"], store.path, server.port) as again:
        page.open()
        page.wait_text("status", "Saved.")
        assert page.text("count") == "1 of 10 done"
        assert page.number() == 2
        page.open()
        assert page.text("count") == "1 of 10 done"
        assert store.marks() == [("b-0", "anna", Mark(2, 7))]
        assert len(store.history()) == 1
        again.stop()


def test_two_windows_of_one_annotator_do_not_overwrite_each_other(page: Page, own: Own) -> None:
    assert own.server.save(own.name, (3, 9), "elsewhere").status == 200
    page.mark_by_keys((5, 8))
    page.save_by_keys()
    page.wait(lambda: page.text("problem"))
    assert page.text("problem").startswith("Instance 1 was not saved: the instance was changed")
    page.press("p")
    assert page.span() == (3, 9)
    assert page.text("state") == "Saved: 6 words."
    assert own.marks() == [Mark(3, 9)]
    page.browser.console_errors()  # Chromium notes the status 409


def test_when_all_is_done_it_says_so(page: Page) -> None:
    for place in range(10):
        if place:
            page.mark_by_keys(ANCHOR)
            page.save_by_keys()
        else:
            page.press("s")
    page.wait_text("count", "9 of 10 done, 1 skipped")
    assert page.number() == 1  # skipped ones come last
    page.mark_by_keys(ANCHOR)
    page.save_by_keys()
    page.wait_text("count", "10 of 10 done")
    page.press("g")
    assert page.text("status") == "Nothing is left: all 10 are annotated."


_CONTRAST = """
const channel = (c) => c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4;
const light = (rgb) => rgb.slice(0, 3).map((c) => channel(c / 255))
  .reduce((sum, c, i) => sum + c * [.2126, .7152, .0722][i], 0);
const parse = (text) => text.match(/[\\d.]+/g).map(Number);
const ground = (element) => {
  for (let each = element; each; each = each.parentElement) {
    const colour = parse(getComputedStyle(each).backgroundColor);
    if (colour.length < 4 || colour[3] > 0) return colour;
  }
  return [255, 255, 255];
};
return [...document.querySelectorAll("body *")].filter((element) =>
  element.checkVisibility() && !element.disabled
  && [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim())
).map((element) => {
  const pair = [light(parse(getComputedStyle(element).color)), light(ground(element))];
  return [element.id || element.tagName + "." + element.className,
    (Math.max(...pair) + .05) / (Math.min(...pair) + .05)];
});
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_use_it(page: Page, scheme: str) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    page.mark_by_keys((4, 8))
    page.press("d")
    ratios = dict(page.driver.execute_script(_CONTRAST))
    assert {"selected", "save", "doubt", "state", "SPAN.word in"} <= set(ratios)
    assert {name for name, ratio in ratios.items() if ratio < 4.5} == set()
    bright = page.driver.execute_script(
        "return getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0] > 128"
    )
    assert bright == (scheme == "light")
    for element in page.driver.find_elements(By.CSS_SELECTOR, "button, input, textarea, progress"):
        assert element.accessible_name, element.get_attribute("outerHTML")
    assert page.at("passage").accessible_name.startswith("Passage")
    assert page.at("passage").get_attribute("lang") == "la"
    assert page.at("status").aria_role == "status"
    assert page.at("problem").get_attribute("role") == "alert"
    assert page.at("selected").get_attribute("aria-live") == "polite"
    # The keys work wherever the tab key has led, and Enter on a button means the button.
    page.at("passage").send_keys(Keys.TAB)
    while page.driver.switch_to.active_element.get_attribute("id") != "narrower-left":
        page.driver.switch_to.active_element.send_keys(Keys.TAB)
    page.press(Keys.ENTER)
    assert page.span() == (5, 8)
    page.press(Keys.ARROW_RIGHT)
    assert page.span() == (5, 9)


def test_a_narrow_screen_shows_all(page: Page) -> None:
    size = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        wide = page.driver.execute_script("return document.documentElement.scrollWidth")
        assert wide <= 360
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
