"""Small realistic pages: a site with its furniture, and the content of its pages."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from tests.support.families.prose import heading, paragraph, read_text


@dataclass(frozen=True)
class Page:
    """A page with its address."""

    url: str
    html: str


@dataclass(frozen=True)
class Site:
    """A host with the parts that its pages have in common.

    Attributes:
        menu: names of the sections; each has a page.
        side: HTML of the side column of pages that have no other side column.
        footer: a text at the end of each page.
    """

    host: str
    name: str
    menu: tuple[str, ...]
    side: str = ""
    footer: str = ""
    lang: str = "en"

    def page(
        self,
        path: str,
        title: str,
        *main: str,
        head: str | None = None,
        h1: str | None = None,
        side: str | None = None,
        above: str = "",
        crumbs: Sequence[str] = (),
        lang: str = "",
    ) -> Page:
        """Make a page.

        Args:
            path: its address on the host.
            title: the name of the page, which is its ``h1``, and is in its ``title`` before the name of the site.
            main: HTML of the main content.
            head: the whole ``title``, if it differs.
            h1: the heading, if it differs; empty: none.
            side: HTML of the side column, if it differs.
            above: HTML above everything else, such as a notice about cookies.
            crumbs: names of the sections that lead to the page.
        """
        url = urljoin(f"https://{self.host}/", path)
        heading = title if h1 is None else h1
        return Page(
            url,
            f"""<!doctype html><html lang="{lang or self.lang}"><head><meta charset="utf-8">
<title>{f"{title} – {self.name}" if head is None else head}</title>
<link rel="canonical" href="{url}"><link rel="stylesheet" href="/style.css"></head><body>{above}
<header>{link("/", self.name)}<nav>{ul(*map(_section, self.menu))}</nav>
<form action="/search"><input name="q"></form></header>
<nav class="breadcrumb">{" › ".join(map(_section, crumbs))}</nav>
<main>{f"<h1>{heading}</h1>" if heading else ""}
{"".join(main)}
</main>
<aside>{self.side if side is None else side}</aside>
<footer><p>{self.footer}</p><p>© 2024 {self.name}</p></footer>
<script>window.start(document);</script></body></html>""",
        )


def _section(name: str) -> str:
    return link(f"/{_slug(name)}/", name)


def _slug(name: str) -> str:
    return name.casefold().replace(" ", "-")


def p(*texts: str) -> str:
    """Return HTML paragraphs."""
    return "\n".join(f"<p>{text}</p>" for text in texts)


def h2(text: str) -> str:
    return f"<h2>{text}</h2>"


def link(href: str, text: str) -> str:
    return f'<a href="{href}">{text}</a>'


def ul(*items: str) -> str:
    return f"<ul>{''.join(f'<li>{item}</li>' for item in items)}</ul>"


def links(heading: str, **pages: str) -> str:
    """Return a box with a heading and links: ``path="text"``; underscores in the path become slashes."""
    items = [link("/" + path.replace("_", "/"), text) for path, text in pages.items()]
    return f"<section><h3>{heading}</h3>{ul(*items)}</section>"


@cache
def _sites_of_all() -> dict[str, dict[str, dict[str, Any]]]:
    return tomllib.loads(Path(__file__).with_name("sites.toml").read_text(encoding="utf-8"))


def sites(family: str) -> list[Site]:
    """Return the sites of a family, in the order of ``sites.toml``."""
    described = [{"side": {}, **site} for site in _sites_of_all()[family].values()]
    boxes = ["".join(links(name, **pages) for name, pages in site["side"].items()) for site in described]
    return [
        Site(**{**site, "menu": (*site["menu"],), "side": side}) for site, side in zip(described, boxes, strict=True)
    ]


def table(*rows: Sequence[str]) -> str:
    cells = ["".join(f"<td>{cell}</td>" for cell in row) for row in rows]
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"


def post(author: str, date: str, *texts: str) -> str:
    """Return a post of a forum, or a comment."""
    return (
        f'<div class="post"><div class="author">{link(f"/user/{_slug(author)}", author)}</div>'
        f"<time>{date}</time>{p(*texts)}</div>"
    )


def read_posts(name: str) -> list[str]:
    """Return the posts of ``prose.toml`` under *name*."""
    return [post(*line.split(" | ")) for line in read_text(name).splitlines()]


def teaser(path: str, title: str, text: str, date: str = "") -> str:
    """Return the beginning of a page, as a list of pages shows it."""
    time_element = f"<time>{date}</time>" if date else ""
    return f"<article><h2>{link(path, title)}</h2>{time_element}<p>{text} {link(path, 'Read more')}</p></article>"


def pager(path: str, count: int) -> str:
    """Return HTML links to the pages of a list."""
    numbers = [link(f"{path}?page={number}", str(number)) for number in range(1, count + 1)]
    return f'<div class="pager">{" ".join(numbers)}</div>'


def other_pages(sites: Sequence[Site], count: int, *sentences: int, appended: str = "") -> list[Page]:
    """Return *count* pages of each site with paragraphs of so many *sentences*."""
    return [
        site.page(f"/other/{number}", heading(name, site.lang), p(*texts), appended)
        for site in sites
        for number in range(count)
        for name in [f"{site.name} {number}"]
        for texts in [[paragraph(f"{name} {at}", length, site.lang) for at, length in enumerate(sentences)]]
    ]
