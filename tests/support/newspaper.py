"""A small newspaper on the web: each article has tracking addresses, an edition for printing, tags and a mirror."""

from __future__ import annotations

from collections.abc import Sequence

from tests.support.crawling import Page, Site, html, paragraphs, words

ARTICLES = set(range(12))
_PER_PAGE = 5
_TAGS = ("city", "law", "water")
_MENU = '<nav><a href="/">Gazette</a> ' + " ".join(f'<a href="/tag/{tag}">{tag}</a>' for tag in _TAGS) + "</nav>"


def newspaper(site: Site) -> dict[str, Page]:
    """Return the pages of the newspaper at *site*; the same site at ``localhost`` is its mirror."""
    mirror = site.url.replace("127.0.0.1", "localhost")
    pages: dict[str, Page] = {}
    for number in ARTICLES:
        for address in ("", "?from=front", *(f"?from={tag}" for tag in _TAGS)):
            # As on many sites, the links of a page hand its tracking parameter on.
            further = [f"/article/{(number + 1) % len(ARTICLES)}{address}", f"/tag/{_TAGS[number % 3]}", "/", "/page/2"]
            pages[f"/article/{number}{address}"] = html(_page(_title(number), _text(number) + _list(further)))
        pages[f"/print/{number}"] = html(_page(_title(number), _text(number), menu=""))
    for page, first in enumerate(range(0, len(ARTICLES), _PER_PAGE), 1):
        listed = [number for number in range(first, first + _PER_PAGE) if number in ARTICLES]
        links = [f"/article/{number}{'?from=front' * (number % 3 == 1)}" for number in listed]
        links += [f"/print/{number}" for number in listed]
        links += [f"/page/{page + 1}"] if first + _PER_PAGE < len(ARTICLES) else []
        links += [f"{mirror}/"] if page == 1 else []
        pages["/" if page == 1 else f"/page/{page}"] = html(_page(f"Stories, page {page}", _list(links)))
    for place, tag in enumerate(_TAGS):
        links = [f"/article/{number}?from={tag}" for number in sorted(ARTICLES) if number % 3 == place]
        pages[f"/tag/{tag}"] = html(_page(f"Stories about {tag}", _list(links)))
    return pages


def _title(number: int) -> str:
    return " ".join(words(f"title {number}", 4)).capitalize()


def _text(number: int) -> str:
    return f"<article><h1>{_title(number)}</h1>{paragraphs(words(f'text {number}', 150))}</article>"


def _list(links: Sequence[str]) -> str:
    return "<ul>" + "".join(f'<li><a href="{link}">{" ".join(words(link, 3))}</a></li>' for link in links) + "</ul>"


def _page(title: str, body: str, menu: str = _MENU) -> str:
    footer = "<footer><p>Printed on recycled paper since the paper began.</p></footer>"
    return (
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>{title} - Gazette</title></head>"
        f"<body>{menu}<main>{body}</main>{footer}</body></html>"
    )
