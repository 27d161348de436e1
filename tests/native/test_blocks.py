"""The native core packs blocks as Python does."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from crawler_dedup.signing import native
from crawler_dedup.signing.blocks import MAX_BLOCKS, PageBlocks
from crawler_dedup.signing.features import size_in_letters
from crawler_dedup.signing.textblocks import Block
from tests.support import outlines
from tests.support.examples import examples
from tests.support.native import assert_equal

PIECES = (
    "harbour The the . -1.5 –3 3–4 a-5 5-3 5--3 1.12 1..2 7:30 ٣.٤ x² ½ C++ C# “quoted” ‘it’ — _ ads 广告 реклама 漢字"
    " 茶馆 ภาษา か\u3099 é e\u0301 ＡＢＣ \ud800 … ？ 🙂 १२ \U0001d7d8 ★"
).split(" ")
lines = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=6).map(" ".join),
    st.lists(st.sampled_from(PIECES), max_size=6).map("".join),
    st.text(st.characters(exclude_categories=(), exclude_characters="\n"), max_size=12),
)
shown = st.sampled_from(["", None, None, None])


@st.composite
def blocks(draw: st.DrawFn) -> Block:
    text = draw(lines) or "x"
    size = draw(st.sampled_from([size_in_letters(text), 0, 5000]))
    hidden = draw(shown)
    level = draw(st.sampled_from([0, 0, 0, 1, 2]))
    linked = draw(st.sampled_from([0, 0, size, size // 2]))
    return Block(text, size, linked, 0, text if hidden is None else hidden, level)


def pack(page: list[Block], chosen: list[bool], title: str, max_chars: int, fold_han: bool) -> PageBlocks:
    main = [block for block, is_main in zip(page, chosen, strict=False) if is_main]
    embedded = {block.text: bool(block.level) for block in page[:4]} | {"/a/b.png?x=1": True, "a\nb 1.5": False}
    return outlines.pack(
        page, main, title, embedded if len(chosen) % 2 else None, max_chars=max_chars, fold_han=fold_han
    )


# Of addresses and of what looks alike.
SOURCES = '/ // a b.png . ? # = x1 -2 1,5 { [ " data: http: 漢 é \ud800 \u3000 \n %20 & + .'.split(" ")
sources = st.one_of(
    st.lists(st.sampled_from(SOURCES), max_size=8).map("".join),
    st.sampled_from(
        ["", " ", " /a/b.png?x=1 ", "/a/b//?1", "/a/1//?2", "a\nb 1.5", "/ a", "///", "a.b/#c", "/?", "?", "?/."]
    ),
)


@settings(max_examples=examples(2000))
@given(st.lists(sources, max_size=12))
def test_core_and_python_list_the_same_embedded_content(pieces: list[str]) -> None:
    embedded = {piece: bool(number % 2) for number, piece in enumerate(pieces)}
    assert_equal(outlines.pack, [], embedded=embedded)
    page = [Block(piece, 1, 0, 0, piece) for piece in pieces if "\n" not in piece]
    assert_equal(outlines.pack, page, embedded=embedded)


PARTS = "Harbour the A C++ C# != -> f>= *** & ~x~ é 漢字 か\u3099 ½ _ \ud800 - | : · … ! 1.5 » ß ﬁ \x85".split(" ")
titles = st.lists(st.sampled_from(PARTS), max_size=7).map(" ".join)


@settings(max_examples=examples(2000))
@given(
    titles,
    st.lists(
        st.tuples(
            st.one_of(titles, st.sampled_from(PARTS)), st.sampled_from([0, 1, 1, 2]), st.booleans(), st.booleans()
        ),
        max_size=12,
    ),
)
@example("the site", [("the site", 1, True, False), ("site", 1, True, False)])
@example("the site | harbour", [("x", 1, False, True), *[("y", 0, False, False)] * 17, ("harbour", 0, False, True)])
@example("a", [(f"b{number}", 1, False, True) for number in range(33)] + [("a", 1, False, True)])
@example("|".join(f"part {number}" for number in range(70)), [("part 7", 1, False, False), ("part 69", 0, False, True)])
def test_core_and_python_choose_the_same_heading(title: str, lines_of_page: list[tuple[str, int, bool, bool]]) -> None:
    page = [
        Block(text, len(text), len(text) * is_link, 0, text, level) for text, level, is_link, _ in lines_of_page if text
    ]
    main = [
        block for block, (*_, is_main) in zip(page, [row for row in lines_of_page if row[0]], strict=True) if is_main
    ]
    assert_equal(outlines.pack, page, main, title)


@settings(max_examples=examples(2000))
@given(
    st.lists(blocks(), max_size=25).flatmap(lambda page: st.permutations(page + page[:3])),
    st.lists(st.booleans(), max_size=10),
    st.one_of(lines, st.just("Harbour - the site | 漢字")),
    st.sampled_from([0, 1, 20, 100_000]),
    st.booleans(),
)
@example([Block("-", 1, 0, 0, "-")], [], "", 10, True)
def test_core_and_python_pack_the_same_blocks(
    page: list[Block], chosen: list[bool], title: str, max_chars: int, fold_han: bool
) -> None:
    assert_equal(pack, page, chosen, title, max_chars, fold_han)


@pytest.mark.parametrize("count", [MAX_BLOCKS - 1, MAX_BLOCKS, MAX_BLOCKS + 1, 5 * MAX_BLOCKS])
def test_core_and_python_pack_the_same_of_many_blocks(count: int) -> None:
    page = [Block(f"block {number}", number % 300, 0, 0, f"block {number}") for number in range(count)]
    assert_equal(pack, page, [True, False] * 50, "block 7", 1_000_000, True)
    assert_equal(pack, [page[0]] * count, [], "", 1_000_000, True)


def test_two_threads_pack_blocks_at_once() -> None:
    """The loop and the signing thread of a crawl pack at once. Threads may switch when a heading is read in Python."""
    pages = [
        [Block(f"{name} heading {number}", 20, 0, 1, f"{name} heading {number}", 1) for number in range(300)]
        for name in ("first", "second")
    ]
    with native.switched_off():
        expected = [pack(page, [True], "", 100_000, True) for page in pages]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(2) as threads:
            packed = list(threads.map(lambda page: pack(page, [True], "", 100_000, True), pages * 100))
    finally:
        sys.setswitchinterval(interval)
    assert packed == expected * 100
