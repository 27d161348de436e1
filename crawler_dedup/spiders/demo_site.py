"""Two small sites on 127.0.0.1 with what crawls meet: mirrors, print versions, session parameters, shells, soft 404s."""

from __future__ import annotations

import html
import threading
from collections.abc import Callable, Sequence
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from itertools import count
from urllib.parse import urlsplit

import msgspec

Page = tuple[str, str]
"""HTML and the charset in which it is sent."""

_ADS = ("Buy better boots", "Three nights by the lake", "A bank that answers the telephone", "New: soup in a tube")
_SHELL = '<!doctype html><title>App</title><div id="root"></div><script>start(location.pathname)</script>'


class Article(msgspec.Struct, frozen=True):
    """A text with its heading."""

    slug: str
    title: str
    paragraphs: tuple[str, ...]


class _Texts(msgspec.Struct, frozen=True):
    """The texts of both sites.

    Attributes:
        english, chinese: the articles of the newspaper.
        changing: a page at each visit.
        mirror_only: an article that only the mirror has.
        mirror_edits: the words that the mirror has replaced, by article.
    """

    english: tuple[Article, ...]
    chinese: tuple[Article, ...]
    changing: tuple[Article, ...]
    mirror_only: Article
    mirror_edits: dict[str, tuple[tuple[str, str], ...]]


DEMO_TEXTS = msgspec.json.decode((files("crawler_dedup") / "data/demo.json").read_bytes(), type=_Texts)


class DemoSites:
    """Two hosts: a newspaper, and a site that mirrors it under another template.

    Pages carry a visit counter and another advertisement each time (print versions and shells do not).
    """

    def __init__(self) -> None:
        self._visits = count(1)
        self._notice_visits = count()
        self._servers = [_Server(self._newspaper), _Server(self._mirror)]
        self.newspaper, self.mirror = (server.origin for server in self._servers)

    def close(self) -> None:
        """Stop both servers."""
        for server in self._servers:
            server.close()

    def name(self, url: str) -> str:
        """Return *url* without the host of the newspaper, and with a name for that of the mirror."""
        return url.replace(self.newspaper, "").replace(self.mirror, "mirror")

    # The newspaper

    def _newspaper(self, path: str) -> Page | None:
        pages: dict[str, Callable[[], Page]] = {
            "/": self._front,
            "/notice": self._notice,
            "/robots.txt": lambda: ("User-agent: *\nDisallow: /private/\n", "utf-8"),
            "/gbk/tea-house": partial(self._article, DEMO_TEXTS.chinese[0], lang="zh", charset="gbk"),
            "/app/map": lambda: (_SHELL, "utf-8"),
            "/app/weather": lambda: (_SHELL, "utf-8"),
            **{f"/{article.slug}": partial(self._article, article) for article in DEMO_TEXTS.english},
            **{f"/print/{article.slug}": partial(_print, article) for article in DEMO_TEXTS.english},
            **{f"/zh/{article.slug}": partial(self._article, article, lang="zh") for article in DEMO_TEXTS.chinese},
            **{f"/archive/{page}": partial(self._archive, page) for page in (1, 2, 3)},
        }
        if path in pages:
            return pages[path]()
        if path == "/login":
            return self._paper("Log in", "<p>Please log in to read on.</p><form><input name=user></form>"), "utf-8"
        # A soft 404: an apology with status 200.
        return self._paper("Sorry", "<p>We could not find this page.</p>"), "utf-8"

    def _front(self) -> Page:
        items = [f'<a href="/{article.slug}">{article.title}</a>' for article in DEMO_TEXTS.english]
        items += [f'<a href="/zh/{article.slug}">{article.title}</a>' for article in DEMO_TEXTS.chinese]
        items += ['<a href="/gbk/tea-house">GBK</a>', '<a href="/notice">Harbour office</a>']
        items += [
            '<a href="/app/map">Map</a>',
            '<a href="/app/weather">Weather</a>',
            '<a href="/archive/1">Archive</a>',
        ]
        items += [f'<a href="/{DEMO_TEXTS.english[0].slug}?s={next(self._visits)}">Most read</a>']
        items += [f'<a href="{self.mirror}/">Our partner</a>']
        return self._paper("The Harbour Gazette", _list(items)), "utf-8"

    def _article(self, article: Article, lang: str = "en", charset: str = "utf-8") -> Page:
        slug = article.slug
        extras = [
            f'<a href="/print/{slug}">Print</a>' if lang == "en" else "",
            '<a href="?ref=top">Share</a>' if slug == "sourdough" else "",
            f'<a href="/login?next={slug}">Comment</a>' if slug in ("lighthouse", "night-train") else "",
            f'<a href="/gone/{slug}">Related</a>' if slug in ("urban-bees", "tide-mill") else "",
        ]
        body = f"<h1>{article.title}</h1><article>{_paragraphs(article)}</article><div>{' '.join(extras)}</div>"
        return self._paper(article.title, body, lang, charset), charset

    def _notice(self) -> Page:
        article = DEMO_TEXTS.changing[min(next(self._notice_visits), len(DEMO_TEXTS.changing) - 1)]
        return self._paper(article.title, f"<h1>{article.title}</h1><article>{_paragraphs(article)}</article>"), "utf-8"

    def _archive(self, page: int) -> Page:
        shown = DEMO_TEXTS.english[2 * page - 2 : 2 * page]
        items = [f'<a href="/{article.slug}">{article.title}</a>' for article in shown]
        items += [f'<a href="/archive/{number}">Page {number}</a>' for number in (1, 2, 3) if number != page]
        return self._paper(f"Archive, page {page}", _list(items)), "utf-8"

    def _paper(self, title: str, body: str, lang: str = "en", charset: str = "utf-8") -> str:
        visit = next(self._visits)
        return (
            f'<!doctype html><html lang="{lang}"><head><meta charset="{charset}"><title>{title} - The Harbour Gazette'
            f"</title></head><body><header><nav><a href='/'>Front page</a> <a href='/archive/1'>Archive</a></nav>"
            f"</header><main>{body}</main><aside>{_ADS[visit % len(_ADS)]}</aside>"
            f"<footer>Visitor number {visit}</footer></body></html>"
        )

    # The mirror

    def _mirror(self, path: str) -> Page | None:
        articles = {f"/{article.slug}": article for article in (*DEMO_TEXTS.english[:4], DEMO_TEXTS.mirror_only)}
        if path == "/":
            return self._portal(
                "Daily Reader", _list([f'<a href="{to}">{article.title}</a>' for to, article in articles.items()])
            )
        if path in articles:
            article = articles[path]
            text = _paragraphs(article)
            for theirs, ours in DEMO_TEXTS.mirror_edits.get(article.slug, ()):
                text = text.replace(theirs, ours)
            source = "" if article is DEMO_TEXTS.mirror_only else "<p>From the Gazette.</p>"
            return self._portal(article.title, text + source)
        return None

    def _portal(self, title: str, body: str) -> Page:
        visit = next(self._visits)
        links = " ".join(f'<a href="/share/{visit}/{to}">{to}</a>' for to in ("mail", "card", "letter"))
        return (
            f'<!doctype html><html lang="en"><head><title>{title} | Daily Reader</title></head><body><div id="top">'
            f'<a href="/">Home</a> {_ADS[visit % len(_ADS)]}</div><h1>{title}</h1><div class="text">{body}</div>'
            f'<div class="share">{links}</div><div id="bottom">Read {visit} times. Imprint. Privacy.</div></body></html>'
        ), "utf-8"


def _paragraphs(article: Article) -> str:
    return "".join(f"<p>{html.escape(paragraph)}</p>" for paragraph in article.paragraphs)


def _list(items: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>"


def _print(article: Article) -> Page:
    return (
        f"<html><head><title>{article.title}</title></head><body><h1>{article.title}</h1>"
        f"{_paragraphs(article)}<footer>Printed from the Gazette</footer></body></html>"
    ), "utf-8"


class _Server:
    def __init__(self, answer: Callable[[str], Page | None]) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                page = answer(urlsplit(self.path).path)
                text, charset = page or ("<h1>Not found</h1>", "utf-8")
                body = text.encode(charset)
                self.send_response(200 if page else 404)
                kind = "text/plain" if self.path == "/robots.txt" else "text/html"
                # The charset is left to the page's <meta>, as most hosts do.
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.origin = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
