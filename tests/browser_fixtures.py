"""A real headless Chromium for the tests, which tells what it loads and complains of."""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

REQUIRED = os.environ.get("ALLUSION_REQUIRE_BROWSER") == "1"
"""Whether a test that needs a browser fails, instead of being skipped, where none is there."""

_ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--window-size=1200,1000",
)


class Browser:
    """One browser with a profile of its own."""

    def __init__(self, driver: "Chrome") -> None:
        self.driver = driver
        self._requests: list[str] = []

    def console_errors(self) -> list[str]:
        """What the console has complained of since the last call."""
        entries = self.driver.get_log("browser")  # type: ignore[no-untyped-call]
        return [entry["message"] for entry in entries if entry["level"] == "SEVERE"]

    def requests(self) -> list[str]:
        """The URL of every request so far, `data:` and the like included."""
        for entry in self.driver.get_log("performance"):  # type: ignore[no-untyped-call]
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                self._requests.append(message["params"]["request"]["url"])
        return self._requests


OpenBrowser = Callable[..., Browser]


@pytest.fixture(scope="session")
def chromium() -> tuple[str, str]:
    """The paths of Chromium and of its driver."""
    names = ("chromium", "chromium-browser", "google-chrome")
    browser = next(filter(None, map(shutil.which, names)), None)
    driver = shutil.which("chromedriver")
    if browser is None or driver is None:
        missing = "no Chromium is installed" if browser is None else "no chromedriver is installed"
        if REQUIRED:
            pytest.fail(f"ALLUSION_REQUIRE_BROWSER=1, but {missing}")
        pytest.skip(missing)
    return browser, driver


@pytest.fixture(scope="session")
def open_browser(chromium: tuple[str, str]) -> Iterator[OpenBrowser]:
    """Opens browsers, each with a profile of its own; they are closed at the end.

    More arguments of Chromium may be given.
    """
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    binary, driver = chromium
    opened: list[Chrome] = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:

        def open_(*arguments: str) -> Browser:
            options = ChromeOptions()
            options.binary_location = binary
            profile = Path(folder, str(len(opened)))
            for argument in (*_ARGUMENTS, f"--user-data-dir={profile}", *arguments):
                options.add_argument(argument)
            options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
            opened.append(Chrome(options=options, service=Service(driver)))
            return Browser(opened[-1])

        try:
            yield open_
        finally:
            for each in opened:
                each.quit()


@pytest.fixture(scope="session")
def shared_browser(open_browser: OpenBrowser) -> Browser:
    """One browser for all tests that need nothing of their own."""
    return open_browser()


@pytest.fixture
def browser(shared_browser: Browser) -> Browser:
    """The shared browser, with nothing yet loaded or complained of."""
    shared_browser.driver.get("about:blank")
    shared_browser.console_errors()
    shared_browser.requests()
    shared_browser._requests.clear()
    return shared_browser
