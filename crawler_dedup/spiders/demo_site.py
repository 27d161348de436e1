"""Two small sites on 127.0.0.1 with what crawls meet: mirrors, print versions, session parameters, shells, soft 404s."""

from __future__ import annotations

import html
import threading
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from itertools import chain, count, repeat
from urllib.parse import urlsplit

import msgspec


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
