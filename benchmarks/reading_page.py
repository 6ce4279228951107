"""Pictures and times of the reading page, in a real Chromium on the index `vulgate`.

    python benchmarks/reading_page.py pictures    # writes docs/pictures/*.png
    python benchmarks/reading_page.py times       # prints figures; takes minutes

It starts the page's server itself, with a copy of the data folder, so that the history stays as it
is. It needs selenium, Chromium and chromedriver.
"""

import contextlib
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allusion_es.core.files import DATA_DIR_VARIABLE, data_dir

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

ROOT = Path(__file__).parents[1]
LETTER = ROOT / "tests" / "scan_texts" / "sermo.txt"
PICTURES = ROOT / "docs" / "pictures"
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run",
)  # fmt: skip
WIDE, NARROW = (1400, 860), (390, 780)
WITHIN = 900.0  # seconds


def letter() -> str:
    """The made-up letter of the tests, without the marks of what it alludes to."""
    return re.sub(r"\{\w+ [^|}]*\|([^}]*)\}", r"\1", LETTER.read_text())


def long_text(size: int) -> str:
    """Paragraphs of the letter's sentences, chosen by chance, up to `size` characters."""
    choose = random.Random(1)
    sentences = re.split(r"(?<=[.;?])\s+", letter())
    paragraphs: list[str] = []
    while sum(map(len, paragraphs)) < size:
        paragraphs.append(" ".join(choose.sample(sentences, 6)))
    return "\n\n".join(paragraphs)[:size]


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The page's URL, while its server runs."""
    data = folder / "data"
    shutil.copytree(data_dir(), data, ignore=shutil.ignore_patterns("reading", "evaluations"))
    environment = {**os.environ, DATA_DIR_VARIABLE: str(data), "SOURCE_DATE_EPOCH": "1735689600"}
    program = str(Path(sys.executable).with_name("allusion-es"))
    command = [program, "serve", "--no-browser", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          env=environment) as server:  # fmt: skip
        try:
            assert server.stdout is not None
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


@contextlib.contextmanager
def browsing(url: str, size: tuple[int, int], profile: Path, theme: str) -> Iterator["Page"]:
    """The page in a window of its own, in pixels, with a profile of its own."""
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    options = ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    driver = Chrome(options=options, service=Service(shutil.which("chromedriver") or ""))
    try:
        screen = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        media = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        driver.get(url)
        page = Page(driver)
        page.wait(lambda: page.run("return document.querySelectorAll('#books label').length > 2"))
        yield page
    finally:
        driver.quit()


class Page:
    """The page as a script handles it."""

    def __init__(self, driver: "Chrome") -> None:
        self.driver = driver

    def run(self, script: str, *arguments: object) -> Any:  # noqa: ANN401 - what JavaScript gives
        """What a script in the page returns."""
        return self.driver.execute_script(script, *arguments)

    def wait(self, holds: Callable[[], object]) -> None:
        """Wait until something holds."""
        end = time.monotonic() + WITHIN
        while not holds():
            if time.monotonic() > end:
                raise TimeoutError(f"more than {WITHIN:g} s")
            time.sleep(0.01)

    def ask(self, text: str) -> None:
        """Paste a text and press the button."""
        self.run("at('text').value = arguments[0]; showKind(); at('ask').requestSubmit()", text)

    def wait_first(self) -> None:
        """Wait for the first finding."""
        self.wait(lambda: self.run("return findings.length > 0"))

    def wait_done(self) -> None:
        """Wait for the end of a search that finds something."""
        self.wait(lambda: self.run("return findings.length > 0 && going === null"))

    def save(self, name: str) -> None:
        """Write a picture of the window."""
        time.sleep(0.5)  # until the last frame is drawn
        PICTURES.mkdir(exist_ok=True)
        self.driver.save_screenshot(str(PICTURES / name))
        print(f"{name}: {(PICTURES / name).stat().st_size / 1024:.0f} KiB")


def pictures(url: str, folder: Path) -> None:
    """Write the pictures of the documentation."""
    for theme in ("light", "dark"):
        suffix = "" if theme == "light" else "-dark"
        with browsing(url, WIDE, folder / f"wide{suffix}", theme) as page:
            page.ask(letter())
            page.wait_done()
            page.run("select(visible.find((each) => each.matches[0].pairs.length > 4), true)")
            page.save(f"reading-page{suffix}.png")
        with browsing(url, NARROW, folder / f"narrow{suffix}", theme) as page:
            page.ask(letter())
            page.wait_done()
            page.run("select(visible.find((each) => each.matches[0].pairs.length > 4), true)")
            page.save(f"reading-page-phone{suffix}.png")


_FRAME = """
const [kind, number, done] = arguments;
if (kind === "scroll") scrollBy(0, 120);
else { at("least").value = number % 18; at("least").dispatchEvent(new Event("input")); }
requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0)));
"""


def frames(page: Page, kind: str) -> list[float]:
    """Processor time of the page for each of 200 frames, in milliseconds, ascending.

    Processor time, since others may use the machine too; what it takes to ask is in it, 2 ms.

    Args:
        page: The page.
        kind: `scroll` by 120 pixels a frame, or `slide`: move the slider by a step each.
    """
    page.driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})

    def busy() -> float:
        found = page.driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        return float(next(each["value"] for each in found if each["name"] == "TaskDuration"))

    page.run("at('least').value = 17; refresh(); scrollTo(0, 0)")
    taken = []
    for number in range(205):
        before = busy()
        page.driver.execute_async_script(_FRAME, kind, number)
        taken.append(1000 * (busy() - before))
    return sorted(taken[5:])


def times(url: str, folder: Path) -> None:
    """Print how long findings take, and a frame while scrolling over them and moving the slider."""
    words = letter().split()
    for name, text in (("1,300 words", " ".join(words[:1300])), ("200 KB", long_text(200_000))):
        with browsing(url, WIDE, folder / name.replace(" ", "-"), "light") as page:
            began = time.perf_counter()
            page.ask(text)
            page.wait_first()
            first = time.perf_counter() - began
            page.wait_done()
            last = time.perf_counter() - began
            found, elements = page.run(
                "return [findings.length, document.querySelectorAll('*').length]"
            )
            print(f"{name}: first finding {first:.1f} s, last of {found} {last:.1f} s; "
                  f"{elements} elements")  # fmt: skip
            for kind in ("scroll", "slide"):
                taken = frames(page, kind)
                print(
                    f"{name}: {kind}: {taken[100]:.1f} ms a frame, 95 of 100 below "
                    f"{taken[190]:.1f} ms"
                )
            page.run("at('again').click()")
            page.ask(f"{text} ")
            page.wait_first()
            began = time.perf_counter()
            page.run("at('stop').click()")
            page.wait_done()
            print(f"{name}: stopped after {time.perf_counter() - began:.2f} s")


def main() -> None:
    """Do what the first argument says."""
    work = {"pictures": pictures, "times": times}[sys.argv[1]]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with serving(folder) as url:
            work(url, folder)


if __name__ == "__main__":
    main()
