"""Pages that are made from one form under one title differ in what was filled in, however much of their text is the same."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_dedup import Config, Deduplicator, Verdict
from crawler_dedup.signedpage import PageKind
from tests.support.crawling import paragraphs, words
from tests.support.sitepages import MENU, SITE, Crawl, is_duplicate, page

knowing = pytest.mark.parametrize("known", [False, True], ids=["site unknown", "site known"])

NAME = "Rigger for a museum ship"
TEXT = paragraphs(words("rigger", 60))
OTHER_MENU = "".join(f'<li><a href="/other/{number}">another section {number}</a></li>' for number in range(14))


def form(*cells: str, text: str = TEXT, line: str = "", below: str = "", menu: str = MENU) -> str:
    rows = "".join(
        f"<tr><td>{name}</td><td>{cell}</td></tr>" for name, cell in zip(("Place", "Hours"), cells, strict=False)
    )
    return page(f"{NAME} | {SITE}", f"<h1>{NAME}</h1><table>{rows}</table>{line}{text}{below}", menu)


@knowing
@pytest.mark.parametrize(
    ("new", "kept"),
    [
        (form("Hull", "full time"), form("Leith", "full time")),
        (form("Leith", "full time"), form("Leith")),
        (
            form("Leith", line="<p>In the loft above the chandler</p>"),
            form("Leith", line="<p>In the seamen's chapel</p>"),
        ),
        (form("Leith", below=f"<p>{' '.join(words('answer', 20))}</p>"), form("Leith")),
    ],
    ids=["another place", "one line more", "a line of the text", "a comment"],
)
def test_different_values_in_a_form_make_two_pages(crawl: Crawl, known: bool, new: str, kept: str) -> None:
    if known:
        crawl.get_known()
    assert crawl.kind(new) is crawl.kind(kept) is PageKind.TEXT
    assert crawl.check("/1", kept).verdict is Verdict.NEW
    assert crawl.check("/2", new).verdict is Verdict.NEW
    assert is_duplicate(crawl.check("/3", new + "<!-- -->"), "http://h/2", "alike")


@knowing
def test_the_same_values_written_differently_in_another_design_are_a_duplicate(crawl: Crawl, known: bool) -> None:
    if known:
        crawl.get_known()
    assert crawl.check("/1", form("10 May 2024")).verdict is Verdict.NEW
    assert is_duplicate(crawl.check("/old/1", form("May 10th", menu=OTHER_MENU)), "http://h/1", "alike")


def test_a_copy_on_another_host_with_another_value_is_a_duplicate(crawl: Crawl) -> None:
    assert crawl.check("/1", form("Leith")).verdict is Verdict.NEW
    crawl.host = "http://mirror"
    assert is_duplicate(crawl.check("/1", form("Hull")), "http://h/1", "alike")


def test_one_line_does_not_distinguish_two_long_texts(crawl: Crawl) -> None:
    essay = paragraphs(words("essay", 400))
    assert crawl.check("/1", form("10 May", text=essay)).verdict is Verdict.NEW
    assert is_duplicate(crawl.check("/2", form("11 May", text=essay)), "http://h/1", "alike")


CELLS = st.lists(st.sampled_from(["Leith", "Hull", "Ghent", "Bergen"]), min_size=2, max_size=2)


@given(filled=st.lists(CELLS, min_size=1, max_size=8), count=st.sampled_from([30, 60, 140]))
def test_a_page_with_other_values_than_all_kept_pages_is_kept(
    tmp_path_factory: pytest.TempPathFactory, filled: list[list[str]], count: int
) -> None:
    text = paragraphs(words("rigger", count))
    with Deduplicator.open(tmp_path_factory.getbasetemp() / "forms", Config(fresh=True)) as opened:
        crawl = Crawl(opened)
        kept: list[Counter[str]] = []
        for number, cells in enumerate(filled):
            decision = crawl.check(f"/{number}", form(*cells, text=text) + f"<!-- {number} -->")
            filled_in = Counter(cells)
            assert (decision.verdict is Verdict.DUPLICATE) == any(filled_in <= kept_cells for kept_cells in kept)
            if decision.verdict is not Verdict.DUPLICATE:
                kept.append(filled_in)


def test_values_in_a_form_are_stored_in_the_index(tmp_path: Path) -> None:
    with Deduplicator.open(tmp_path) as first:
        assert Crawl(first).check("/1", form("Leith")).verdict is Verdict.NEW
    with Deduplicator.open(tmp_path) as second:
        assert Crawl(second).check("/2", form("Hull")).verdict is Verdict.NEW
        assert Crawl(second).check("/3", form("Leith") + "<!-- -->").verdict is Verdict.DUPLICATE


@knowing
def test_an_advertisement_in_the_text_is_not_a_value_in_a_form(crawl: Crawl, known: bool) -> None:
    if known:
        crawl.get_known()
    text = paragraphs(words("rigger", 80))
    advertised = "<p>Sponsored</p><p>The best travel deals from 99 a night, compare them and book instantly</p>"
    assert crawl.check("/1", form("Leith", text=text)).verdict is Verdict.NEW
    assert is_duplicate(crawl.check("/1?visit=2", form("Leith", text=text + advertised)), "http://h/1", "alike")
