"""The native core chooses the same main text as Python."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crawler_dedup.signing.maintext import find_main_blocks, join_shown_text, join_text
from crawler_dedup.signing.outline import Outline, read_outline
from crawler_dedup.signing.parsing import find_title, parse
from crawler_dedup.signing.textblocks import Block
from tests.support.data import DATA
from tests.support.examples import examples
from tests.support.native import assert_equal, require_function, saved_pages

WORDS = (
    "harbour Harbour FERRY ferry ſtraße STRASSE ŉ İ K_2 a ab 茶馆 茶 馆 明天 한글 คำ Ⅷ ⅷ x² Ǆ ﬃ ΐ 🙂 \ud800 ß ss 1.5"
    " e\u0301 ©"
).split()
titles = st.builds(str.join, st.sampled_from(["", " ", " "]), st.lists(st.sampled_from(WORDS), max_size=8))
texts = st.one_of(titles, st.text(max_size=8), st.sampled_from(["", "long " * 30, "© 2020", "©"]))
sizes = st.sampled_from([0, 1, 9, 10, 19, 20, 39, 40, 99, 100, 101, 150, 199, 200, 300, 301, 600, 1000, 5000])


@st.composite
def outlines(draw: st.DrawFn) -> Outline:
    """Draw any nesting of elements, in which some texts and places are repeated."""
    parents = [0, *(draw(st.integers(0, number)) for number in range(draw(st.integers(0, 12))))]
    known = draw(st.lists(st.tuples(texts, sizes), min_size=1, max_size=8))
    count = draw(st.integers(0, 30))
    blocks = []
    for _ in range(count):
        text, size = draw(st.sampled_from(known))
        linked = draw(st.sampled_from([0, 0, 0, size, size // 3, size // 2, size // 2 + 1, size // 3 + 1]))
        shown = draw(st.sampled_from([text, text, text, "", text[1:]]))
        group = draw(st.integers(0, len(parents) - 1))
        level = draw(st.sampled_from([0, 0, 1, 2]))
        blocks.append(Block(text, size, linked, group, shown, level, draw(st.integers(0, 4))))
    return Outline(blocks, parents)


def choose(page: Outline, title: str) -> tuple[object, ...]:
    main = find_main_blocks(page, title)
    by_number = {id(block): number for number, block in enumerate(page.blocks)}
    numbers = [by_number[id(block)] for block in main.blocks]
    return numbers, main.size, main.linked, main.are_links, join_text(main), join_shown_text(main)


@settings(max_examples=examples(4000), suppress_health_check=list(HealthCheck))
@given(outlines(), titles)
def test_core_and_python_choose_the_same_main_text_of_any_outline(page: Outline, title: str) -> None:
    assert_equal(choose, page, title)


def read(body: bytes, encoding: str | None = None) -> tuple[object, ...]:
    tree = parse(body, encoding)
    page, title = read_outline(tree), find_title(tree)
    return choose(page, title), join_text(page), join_shown_text(page), choose(page, title.upper())


@pytest.mark.skipif(not (DATA / "sites").is_dir(), reason="no saved sites: set CRAWLER_DEDUP_DATA to their folder")
def test_core_and_python_choose_the_same_main_text_of_all_saved_pages() -> None:
    for _, body in saved_pages():
        if body:
            assert_equal(read, body)


def test_a_caller_may_change_its_list_of_blocks() -> None:
    require_function("find_main_blocks")
    page = read_outline(parse(b"<p>" + b"word " * 200))
    main = find_main_blocks(page, "")
    page.blocks.clear()
    assert main.blocks == []
