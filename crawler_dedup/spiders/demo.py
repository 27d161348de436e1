"""Crawl two small sites on this machine and show what the filter does."""

from __future__ import annotations

import html
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from itertools import chain, count, repeat
from typing import Any
from urllib.parse import urlsplit

import msgspec
import scrapy
from rich.table import Table
from rich.text import Text
from scrapy.http import HtmlResponse
from scrapy.settings import BaseSettings

from crawler_dedup import Decision, near_duplicate_dropped
from crawler_dedup.cli.diff import print_side_by_side
from crawler_dedup.cli.terminal import discard_output, make_console, print_commands, quantity
from crawler_dedup.spiders.site import SiteSpider
from crawler_dedup.system.extras import note_on_extra


class Article(msgspec.Struct, frozen=True):
    """A text with its heading, and with a link to a version of its page or to a page without content."""

    slug: str
    title: str
    paragraphs: tuple[str, ...]
    link: str = ""

    @property
    def text(self) -> str:
        """The paragraphs in HTML."""
        return "".join(f"<p>{html.escape(paragraph)}</p>" for paragraph in self.paragraphs)


class _Texts(msgspec.Struct, frozen=True):
    """The texts of both sites.

    Attributes:
        english, chinese: the articles of the newspaper.
        changing: the states of one page, visit by visit.
        mirror_only: an article that only the mirror has.
        mirror_edits: the HTML that the mirror has replaced, by article.
        advertisements: another one is on each page.
        templates: the HTML of the pages.
    """

    english: tuple[Article, ...]
    chinese: tuple[Article, ...]
    changing: tuple[Article, ...]
    mirror_only: Article
    mirror_edits: dict[str, tuple[tuple[str, str], ...]]
    advertisements: tuple[str, ...]
    templates: dict[str, str]


DEMO_TEXTS = msgspec.json.decode((files("crawler_dedup") / "data/demo.json").read_bytes(), type=_Texts)
_TEMPLATES = DEMO_TEXTS.templates
_ENGLISH = {article.slug: article for article in DEMO_TEXTS.english}
_CHINESE = {article.slug: article for article in DEMO_TEXTS.chinese}
_MIRRORED = {article.slug: article for article in (*DEMO_TEXTS.english[:4], DEMO_TEXTS.mirror_only)}


class DemoSites:
    """Two hosts: a newspaper, and a site that mirrors it under another template.

    Pages carry a visit counter and another advertisement each time (print versions and shells do not).
    """

    def __init__(self) -> None:
        self._visits = count(1)
        self._notices = chain(DEMO_TEXTS.changing, repeat(DEMO_TEXTS.changing[-1]))
        self._servers = [_serve(self._newspaper), _serve(self._mirror)]
        self.newspaper, self.mirror = (f"http://127.0.0.1:{server.server_port}" for server in self._servers)

    def close(self) -> None:
        """Stop both servers."""
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def name(self, url: str) -> str:
        """Return *url* without the host of the newspaper, and with a name for that of the mirror."""
        return url.replace(self.newspaper, "").replace(self.mirror, "mirror")

    def _newspaper(self, path: str) -> str:  # noqa: PLR0911  (one for each kind of page)
        match path.split("/")[1:]:
            case [""]:
                return self._paper("The Harbour Gazette", self._front())
            case ["notice"]:
                return self._article(next(self._notices))
            case ["zh" | "gbk" as kind, slug] if slug in _CHINESE:
                return self._article(_CHINESE[slug], lang="zh", charset="gbk" if kind == "gbk" else "utf-8")
            case ["print", slug] if slug in _ENGLISH:
                return _TEMPLATES["print"].format(title=_ENGLISH[slug].title, body=_ENGLISH[slug].text)
            case ["archive", "1" | "2" | "3" as page]:
                shown = DEMO_TEXTS.english[2 * int(page) - 2 : 2 * int(page)]
                links = _link_articles(shown) | {
                    f"/archive/{other}": f"Page {other}" for other in "123" if other != page
                }
                return self._paper(f"Archive, page {page}", _list(links))
            case ["app", _]:
                return _TEMPLATES["application"]
            case ["login"]:
                return self._paper("Log in", "<p>Please log in to read on.</p><form><input name=user></form>")
            case ["robots.txt"]:
                return ""
            case [slug] if slug in _ENGLISH:
                return self._article(_ENGLISH[slug], print_link=f'<a href="/print/{slug}">Print</a> ')
        # A soft 404: an apology with status 200.
        return self._paper("Sorry", "<p>We could not find this page.</p>")

    def _front(self) -> str:
        links = _link_articles(DEMO_TEXTS.english) | _link_articles(DEMO_TEXTS.chinese, "/zh/")
        links |= {"/gbk/tea-house": "GBK", "/notice": "Harbour office", "/app/map": "Map", "/app/weather": "Weather"}
        session = f"/{DEMO_TEXTS.english[0].slug}?s={next(self._visits)}"
        return _list(links | {"/archive/1": "Archive", session: "Most read", f"{self.mirror}/": "Our partner"})

    def _article(self, article: Article, print_link: str = "", **encoded: str) -> str:
        body = f"<h1>{article.title}</h1><article>{article.text}</article><div>{print_link}{article.link}</div>"
        return self._paper(article.title, body, **encoded)

    def _paper(self, title: str, body: str, **encoded: str) -> str:
        return self._fill("newspaper", title, body, **{"lang": "en", "charset": "utf-8", **encoded})

    def _fill(self, template: str, title: str, body: str, **encoded: str) -> str:
        """Return a page with another advertisement and the number of the visit."""
        visit = next(self._visits)
        ad = DEMO_TEXTS.advertisements[visit % len(DEMO_TEXTS.advertisements)]
        return _TEMPLATES[template].format(title=title, body=body, ad=ad, visit=visit, **encoded)

    def _mirror(self, path: str) -> str:
        slug = path.removeprefix("/")
        if not slug:
            return self._fill("mirror", "Daily Reader", _list(_link_articles(_MIRRORED.values())))
        if slug not in _MIRRORED:
            return ""
        text = _MIRRORED[slug].text
        for theirs, ours in DEMO_TEXTS.mirror_edits.get(slug, ()):
            text = text.replace(theirs, ours)
        return self._fill("mirror", _MIRRORED[slug].title, text)


def _link_articles(articles: Iterable[Article], folder: str = "/") -> dict[str, str]:
    """Return the titles of *articles* by their addresses."""
    return {f"{folder}{article.slug}": article.title for article in articles}


def _list(links: dict[str, str]) -> str:
    return "<ul>" + "".join(f'<li><a href="{address}">{text}</a></li>' for address, text in links.items()) + "</ul>"


def _serve(answer: Callable[[str], str]) -> ThreadingHTTPServer:
    """Serve the pages that *answer* returns for paths; ``""``: there is no such page."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = answer(urlsplit(self.path).path)
            # The charset is left to the page's <meta>, as most hosts do.
            body = (page or "<h1>Not found</h1>").encode("gbk" if 'charset="gbk"' in page else "utf-8")
            self.send_response(200 if page else 404)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


_DAY = 86_400
_SETTINGS = {
    "AUTOTHROTTLE_ENABLED": False,
    "CONCURRENT_REQUESTS": 1,
    "SCRAPER_SLOT_MAX_ACTIVE_SIZE": 1,  # the next request waits until the callback and its items are done
    "DEDUP_STORE_TEXT": True,  # the sites are gone when somebody looks at the drops
    "DEDUP_TIMEOUT": _DAY,
    "DOWNLOAD_DELAY": 0,
    "DOWNLOAD_TIMEOUT": _DAY,
    "LOG_LEVEL": "WARNING",
}
_EDITED = "/night-train"
"""The article that is shown beside its edited copy, which is kept."""


class DemoSpider(SiteSpider):
    """``crawler-dedup demo``: needs no network, and gives the same result every time, however slow the machine is."""

    name = "demo"

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        """Take one page after the other and give up on none; the index is the demo's own."""
        super().update_settings(settings)
        settings.setdict(_SETTINGS, priority="spider")
        settings.set("DEDUP_DIR", tempfile.mkdtemp(prefix="crawler-dedup-demo-"), priority="cmdline")

    def __init__(self) -> None:
        self.sites = DemoSites()
        self.drops: dict[str, list[str]] = {}
        self.texts: dict[str, str] = {}
        hosts = (origin.removeprefix("http://") for origin in (self.sites.newspaper, self.sites.mirror))
        super().__init__(url=f"{self.sites.newspaper}/", allow=",".join(hosts))

    async def start(self) -> AsyncIterator[Any]:
        """Request the front page, and two pages again when all others are done: one has changed meanwhile, one has not."""
        self.crawler.signals.connect(self.dropped, signal=near_duplicate_dropped)
        async for request in super().start():
            yield request
        for path in ("/notice", "/lighthouse"):
            yield scrapy.Request(self.sites.newspaper + path, dont_filter=True, priority=-100)

    async def _item(self, response: HtmlResponse) -> dict[str, Any]:
        item = await super()._item(response)
        self.texts[response.url] = item["text"]
        return item

    def dropped(self, decision: Decision) -> None:
        """Note a dropped page, by its representative."""
        self.drops.setdefault(decision.duplicate_of, []).append(self.sites.name(decision.url))

    def closed(self, reason: str) -> None:
        """Stop the sites, and print what was fetched, kept and dropped, unless the crawl was interrupted."""
        self.sites.close()
        if reason == "finished":
            try:
                self._print_result()
            except BrokenPipeError:  # the reader has ended, as `| head` does
                discard_output()

    def _print_result(self) -> None:
        console = make_console()
        console.print(_summarise(self.crawler.stats.get_stats()), end="\n\n")
        console.print(self._list_drops())
        console.print()
        new, kept = self.sites.mirror + _EDITED, self.sites.newspaper + _EDITED
        if {new, kept} <= self.texts.keys():
            titles = f"kept, a fact differs: {self.sites.name(new)}", f"kept: {self.sites.name(kept)}"
            print_side_by_side(console, self.texts[new], self.texts[kept], folded=True, titles=titles, context=0)
            console.print()
        print_commands(
            console,
            {
                f"Report for the browser{note_on_extra('report')}": ["report", self.settings["DEDUP_DIR"]],
                "Try it on a site": ["crawl", "https://example.com/", "--dry-run"],
            },
        )

    def _list_drops(self) -> Table:
        """Return the kept pages, each with the pages that were dropped because of it."""
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
        table.add_column("kept page", style="cyan")
        table.add_column("dropped because of it", overflow="fold")
        for kept, dropped in self.drops.items():
            table.add_row(self.sites.name(kept), "  ".join(dropped))
        return table


def _summarise(stats: Mapping[str, int]) -> Text:
    """Return how many pages were crawled, and what became of them."""

    def count(*names: str) -> int:
        return sum(stats.get(f"dedup/{name}", 0) for name in names)

    short = count("unchecked/too_little_text")
    parts = {
        "kept": count("kept"),
        "seen twice": count("changed", "unchanged"),
        "too short to judge": short,
        "unchecked for another reason": count("unchecked") - short,
    }
    listed = ", ".join(f"{number} {label}" for label, number in parts.items() if number)
    return Text.assemble(
        "Crawled a newspaper and its mirror, two small sites on this machine.\n",
        (quantity(count("checked"), "page"), "bold"),
        f": {count('dropped')} dropped; {sum(parts.values())} passed: {listed}.",
    )
