"""Pages of one site, and a crawl of them on an index that knows the site or does not."""

from __future__ import annotations

import html as markup
from functools import cache

import pytest

from crawler_dedup import Config, Decision, Deduplicator, SignedPage, Verdict
from crawler_dedup.rules.limits import MIN_PAGES
from crawler_dedup.signedpage import PageKind
from crawler_dedup.signing.signer import Signer
from tests.support.crawling import paragraphs, words

knowing = pytest.mark.parametrize("crawl", [False, True], ids=["site unknown", "site known"], indirect=True)
"""Runs a test with a site of which nothing is known, and with a known one."""

MENU = "".join(f'<li><a href="/menu/{number}">section {number}</a></li>' for number in range(6))
SITE = "Tea House"
INTRODUCTION = "Stories from the river, written by guests, waiters and passing sailors, newest above, oldest below"


def page(title: str, body: str, menu: str = "") -> str:
    head = f"<!doctype html><html><head><title>{markup.escape(title)}</title></head>"
    return f"{head}<body><ul>{menu}</ul><div>{body}</div></body></html>"


def story(name: object, count: int = 150, *, site: str = SITE, menu: str = MENU, below: str = "") -> str:
    body = f"<article><h1>Story {name}</h1>{paragraphs(words(name, count))}</article>{below}"
    return page(f"Story {name} | {site}", body, menu)


def listing(name: str, stories: list[str], *, heading: str = "", picture: str = "", visit: str = "") -> str:
    """Return a page that links to stories and has little text of its own."""
    named = f"<h2>{heading}</h2>" if heading else ""
    text = f"{named}<h1>{INTRODUCTION}</h1><p>{name}</p><ul>{entries(stories, picture=picture, visit=visit)}</ul>"
    return page(f"{name} | {SITE}", text, MENU)


def entries(stories: list[str], *, picture: str = "", visit: str = "") -> str:
    """Return lines with links to stories, each with a picture; *visit* is appended to each address."""
    return "".join(
        f'<li>{picture.format(place)}<a href="{href}{visit}">{" ".join(words(href, 4))}</a></li>'
        for place, href in enumerate(stories)
    )


@cache
def sign_once(config: Config, url: str, html: str) -> SignedPage:
    """Sign a page that many tests have in common."""
    return _signer(config).sign(url, html.encode(), encoding=None, key=None, scope="global")[0]


@cache
def _signer(config: Config) -> Signer:
    return Signer(config)


STORIES = [f"/story/{number}" for number in range(8)]


class Crawl:
    """A crawl of one host after another on one index."""

    def __init__(self, deduplicator: Deduplicator, host: str = "http://h") -> None:
        self.deduplicator = deduplicator
        self.host = host

    def check(self, path: str, body: str) -> Decision:
        return self.deduplicator.check(self.host + path, body.encode())

    def kind(self, body: str) -> PageKind | str:
        signed = self.deduplicator.sign(self.host + "/x", body.encode())
        return signed.unsigned or signed.kind

    def get_known(self) -> Crawl:
        """Let the index learn the site from stories."""
        for number in range(MIN_PAGES):
            name = f"known on {self.host.removeprefix('http://')} {number}"
            signed = sign_once(self.deduplicator.config, f"{self.host}/known/{number}", story(name))
            assert self.deduplicator.decide([signed])[0].verdict is Verdict.NEW
        return self


def is_duplicate(decision: Decision, representative: str, rule: str = "") -> bool:
    assert decision.match is None or not rule or decision.match.rule == rule
    return decision.verdict is Verdict.DUPLICATE and decision.duplicate_of == representative
