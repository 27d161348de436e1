"""Crawls of saved real sites: each content is stored once, and each line that only a dropped page shows is named."""

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from unicodedata import normalize

import pytest
from lxml import html

from crawler_dedup import Config
from crawler_dedup.index.opening import open_index
from crawler_dedup.inspection.comparison import find_drop_lacks, find_sites_then
from crawler_dedup.signing.signer import Signer, config_from_spec
from tests.support.commandline import entries_of
from tests.support.crawling import SITE_SPIDER, run_script
from tests.support.data import DATA, html_pages, page_id, saved, served

pytestmark = pytest.mark.usefixtures("data")

SITE, PART = "adrianmejia-2016", "blog/categories"
ADVERTISEMENT = "<p>Advertisement</p>"
INLINE = frozenset(
    "a abbr b bdi big br cite code del dfn em font i img input ins kbd label mark q s samp small span strike strong"
    " sub sup time tt u var wbr".split()
)
NOT_SHOWN = frozenset(
    "audio canvas datalist desc head iframe metadata noscript object option script select style template textarea title"
    " video".split()
)


def pieces_of(element: html.HtmlElement) -> Iterator[str]:
    """Yield the texts in *element*, and a line end before and after each element that begins a line."""
    is_shown = isinstance(element.tag, str) and element.tag not in NOT_SHOWN and element.get("hidden") is None
    if is_shown and "display:none" not in element.get("style", "").replace(" ", ""):
        edge = " " if element.tag == "br" else "" if element.tag in INLINE else "\0"
        yield f"{edge}{element.text or ''}"
        for child in element:
            yield from pieces_of(child)
            yield child.tail or ""
        yield edge


def fold(text: str) -> str:
    return " ".join(normalize("NFKC", text).casefold().split())


def shown_lines(body: bytes) -> set[str]:
    """Return the lines that a reader sees, by code that shares nothing with the filter."""
    tree = html.document_fromstring(body, parser=html.HTMLParser(encoding="utf-8"))
    return {fold(line) for line in "".join(pieces_of(tree)).split("\0")} - {""}


def copy_with_counts(source: Path, target: Path) -> None:
    """Copy the pages in *source*, and add to each what differs from visit to visit: counts, advertisements, navigation."""
    for number, page in enumerate(sorted(source.glob("[a-c]*/*.html")), 1):
        copy = target / page.relative_to(source)
        copy.parent.mkdir(parents=True)
        visit = f"<p>{number} views</p><p>{number} minutes ago</p><nav>Tour {number}</nav>{number % 2 * ADVERTISEMENT}"
        copy.write_text(page.read_text(encoding="utf-8").replace("<article>", f"<article>{visit}", 1), encoding="utf-8")


def test_each_line_that_only_a_dropped_page_of_a_real_site_shows_is_named_with_a_reason(tmp_path: Path) -> None:
    copy_with_counts(DATA / "sites" / SITE / PART, tmp_path / "sites" / SITE / PART)
    index = tmp_path / "index"
    with served(SITE, folder=tmp_path) as origin:
        run_script(tmp_path, SITE_SPIDER, url=f"{origin}/_all.html")
    reasons: set[str] = set()
    unnamed: list[tuple[str, str]] = []
    with closing(open_index(index)) as pages:
        signer = Signer(config_from_spec(pages.header.spec, Config()))
        for drop in (entry for path in index.glob("*.jsonl") for entry in entries_of(path)):
            if drop.is_duplicate:
                new, kept = (saved(tmp_path / "sites" / page_id(SITE, url)) for url in (drop.url, drop.duplicate_of))
                lacks = find_drop_lacks(drop, new, kept, signer, find_sites_then(pages, drop))
                texts = "\n".join(fold(lack.text) for lack in lacks)
                only_new = shown_lines(new) - shown_lines(kept)
                unnamed += [(drop.url, line) for line in sorted(only_new) if line not in texts]
                reasons.update(lack.exemption for lack in lacks)
    assert unnamed == []
    # A block that counts would have no reason.
    assert reasons == {"a count", "an advertisement", "in navigation, a footer or the like", "repeats the title"}


def test_a_site_with_two_addresses_for_each_page_stores_each_content_once(tmp_path: Path) -> None:
    with served("debian-faq") as origin:
        # All simultaneous pages may wait until their copies were handled.
        settings = {"CONCURRENT_REQUESTS": 64, "CONCURRENT_REQUESTS_PER_DOMAIN": 16}
        crawl = run_script(tmp_path, SITE_SPIDER, settings, url=f"{origin}/_all.html")
    stored = Counter(item["text"] for item in crawl.items)
    assert len(html_pages("debian-faq")) == 34
    assert set(stored.values()) == {1}
    assert len(stored) == 17 + 1  # the generated list of all pages too
    assert crawl.counts()["dropped"] == 17


def test_session_identifiers_do_not_make_a_site_endless(tmp_path: Path) -> None:
    with served("debian-faq", "--session-links") as origin:
        crawl = run_script(tmp_path, SITE_SPIDER, url=f"{origin}/index.html")
    assert crawl.stats["finish_reason"] == "finished"
    assert crawl.counts()["kept"] == 17
