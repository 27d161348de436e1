"""The review pages in Chromium: they are used with the keyboard only, fit narrow windows, and are accessible."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from crawler_dedup.index.opening import open_index
from tests.support.commandline import check_pages
from tests.support.crawling import article
from tests.support.packages import needs_package, needs_program
from tests.support.reviewing import review

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [needs_package("playwright"), needs_program("chromium")]

KEPT = "http://a.org/2026/1"
DROPPED = "http://a.org/2026/2"
OTHERS = {f"http://b.org/{number}": article(5, frame=str(number)) for number in range(4)}


@contextmanager
def opened(directory: Path, *arguments: object, width: int = 1280, scheme: str = "light") -> Iterator[Page]:
    """Yield the page of a browser that has opened the review."""
    from playwright.sync_api import sync_playwright

    with review(directory, *arguments) as served, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
        page.goto(served.address)
        yield page
        browser.close()


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an index with drops of which one is more doubtful than the others."""
    monkeypatch.chdir(tmp_path)
    pages = {KEPT: article(1), DROPPED: article(1, frame="<script>document.title = 'run'</script>"), **OTHERS}
    check_pages(tmp_path / "index", pages, DEDUP_STORE_TEXT=True)
    return tmp_path / "index"


@pytest.fixture(params=[(1280, "light"), (390, "dark")], ids=str)
def page(index: Path, request: pytest.FixtureRequest) -> Iterator[Page]:
    """Yield the page of a browser that has opened the review."""
    width, scheme = request.param
    with opened(index.parent, index, width=width, scheme=scheme) as page:
        yield page


def press(page: Page, key: str) -> None:
    """Press a key that leads to another page, and wait until it is loaded."""
    with page.expect_navigation():
        page.keyboard.press(key)


def test_a_wrong_drop_is_searched_judged_and_separated_by_keyboard(page: Page, index: Path) -> None:
    messages: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.keyboard.press("Tab")
    for _ in range(20):
        if page.evaluate("document.activeElement.name") == "words":
            break
        page.keyboard.press("Tab")
    page.keyboard.type("A.ORG/2026/2 k")  # letters typed in a field press no button
    page.keyboard.press("Backspace")
    page.keyboard.press("Backspace")
    press(page, "Enter")
    assert page.locator("ol.drops > li").count() == 1
    press(page, "n")
    press(page, "w")
    assert page.locator("text=you called this drop wrong").is_visible()
    press(page, "s")
    assert page.locator("text=separate from this kept page").is_visible()
    press(page, "l")
    assert page.locator(".mark.wrong").inner_text() == "wrong"
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert messages == []
    with closing(open_index(index)) as pages:
        said = [str(override) for override in pages.list_overrides()]
    assert sorted(said) == [f"keep {DROPPED}", f"separate {KEPT} {DROPPED}"]


def test_a_key_that_is_held_down_answers_about_one_drop(page: Page, index: Path) -> None:
    press(page, "n")
    with page.expect_navigation():
        page.keyboard.down("r")
    page.wait_for_load_state()
    address = page.url
    page.keyboard.down("r")  # the keyboard repeats it
    page.goto("/".join(address.split("/")[:3]))
    assert page.locator(".mark.right").count() == 1
    assert len((index / "judged" / "answers.jsonl").read_text().splitlines()) == 1


@pytest.mark.skipif(find_spec("axe_playwright_python") is None, reason="axe-playwright-python is not installed")
def test_no_page_has_a_serious_problem_of_accessibility(page: Page) -> None:
    from axe_playwright_python.sync_playwright import Axe

    paths = ["/", "/?rule=alike", "/?words=nowhere", "/mirrors", "/precision", "/next", "/drop/1"]
    for path in paths:
        page.goto("/".join(page.url.split("/")[:3]) + path)
        violations = Axe().run(page).response["violations"]
        serious = [each for each in violations if each["impact"] in ("serious", "critical")]
        assert not serious, (path, [(each["id"], each["nodes"][0]["html"]) for each in serious])
