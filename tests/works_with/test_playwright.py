"""With scrapy-playwright: what a browser has rendered is judged, and a dropped page leaves no browser page open."""

import shutil
from pathlib import Path
from typing import Any

from tests.support.crawling import crawl_pages, html, paragraphs, words
from tests.support.packages import needs_package, needs_program

pytestmark = [needs_package("scrapy_playwright"), needs_program("chromium")]

HANDLER = "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler"
SETTINGS: dict[str, Any] = {
    "DOWNLOAD_HANDLERS": {"http": HANDLER, "https": HANDLER},
    "PLAYWRIGHT_LAUNCH_OPTIONS": {
        "executable_path": shutil.which("chromium"),
        "args": [
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ],
    },
    # A browser page that is left open stops the crawl.
    "PLAYWRIGHT_MAX_PAGES_PER_CONTEXT": 1,
    "CLOSESPIDER_TIMEOUT": 60,
}


def rendered(seed: str, frame: str = "") -> str:
    """Return a page whose article a script writes."""
    content = f"<h1>Article {seed}</h1>{paragraphs(words(seed))}".replace("\n", "")
    return (
        f"<!doctype html><html><head><meta charset='utf-8'><title>Article {seed}</title></head><body><nav>{frame}</nav>"
        f"<main></main><script>document.querySelector('main').innerHTML = \"{content}\"</script></body></html>"
    )


SPIDER = """
from tests.support.walker import Walker, path_of

class Spider(Walker):
    def request(self, path):
        context = path.split("/")[1]
        kwargs = {**self.settings["PLAYWRIGHT_LAUNCH_OPTIONS"], "user_data_dir": "profile"} if context == "profile" else {}
        meta = {"playwright": True, "playwright_include_page": True, "playwright_context": context}
        return super().request(path, meta={**meta, "playwright_context_kwargs": kwargs}, errback=None)

    async def parse(self, response):
        page = response.meta["playwright_page"]
        await page.close()
        if path_of(response.url).startswith("/own"):
            await page.context.close()
        yield {"path": path_of(response.url)}
"""


def test_a_drop_closes_the_context_that_was_opened_for_it_and_no_other(tmp_path: Path) -> None:
    kept = ["/own/kept", "/shared/kept"]
    own = [f"/own-{number}/copy" for number in range(4)]
    others = [f"/{name}/{which}" for name in ("started", "profile", "shared") for which in ("copy", "second-copy")]
    pages = {path: html(rendered(path if path in kept else kept[0], frame=path)) for path in [*kept, *own, *others]}
    # The fourth is there for the contexts that a page each has.
    settings = {**SETTINGS, "PLAYWRIGHT_MAX_CONTEXTS": 4, "PLAYWRIGHT_CONTEXTS": {"started": {}}}
    settings["DOWNLOAD_HANDLERS"] = {"http": HANDLER}  # each has contexts of its own
    crawl = crawl_pages(tmp_path, pages, SPIDER, settings, paths=[*kept, *others, *own])
    assert (crawl.paths(), crawl.stats["finish_reason"]) == (kept, "finished")
    assert crawl.counts()["dropped"] == len(own) + len(others)
    assert crawl.stats["playwright/context_count"] == 1 + len(own) + 3
    assert not crawl.lines("WARNING", "")
