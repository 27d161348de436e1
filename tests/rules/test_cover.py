"""A page that shows more than a kept page is kept, and a part of a kept page is dropped."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_dedup import Config, Deduplicator, SignedPage, Verdict
from crawler_dedup.rules.limits import MIN_PAGES
from crawler_dedup.signedpage import PageKind, Trait
from crawler_dedup.signing.blocks import IS_ADDRESS, unpack_blocks
from crawler_dedup.signing.cover import cover_of, key_of, pack_cover
from crawler_dedup.signing.limits import MAX_BLOCKS
from tests.support.cases import read_cases
from tests.support.crawling import paragraphs, words
from tests.support.signedpages import block
from tests.support.sitepages import MENU, SITE, Crawl, is_duplicate, page

NAME = "Rigger for a museum ship"
SHORT, LONGER = paragraphs(words("rigger", 60)), paragraphs(words("rigger", 500))
POSTS = [" ".join(words(f"post {number}", 14)) + "." for number in range(4)]
OTHER_POSTS = [" ".join(words(f"other {number}", 14)) + "." for number in range(4)]


def text(*parts: str, name: str = NAME) -> str:
    body = "".join(part if part.startswith("<") else f"<p>{part}</p>" for part in parts)
    return page(f"{name} | {SITE}", f"<article><h1>{name}</h1>{body}</article>", MENU)


def check_two(crawl: Crawl, kept: str, new: str) -> bool:
    """Return whether *new* passes after *kept*. If it does, a copy of it is a duplicate of it."""
    assert crawl.kind(kept) is crawl.kind(new) is PageKind.TEXT
    assert crawl.check("/kept", kept).verdict is Verdict.NEW
    decision = crawl.check("/new", new)
    copy = crawl.check("/again", new + "<!-- -->") if decision.passes else decision
    assert is_duplicate(copy, "http://h/new" if decision.passes else "http://h/kept", "alike")
    return decision.passes


LABELS = read_cases(__file__)["labels"]


@pytest.mark.parametrize("count", [60, 6], ids=["text", "thin"])
@pytest.mark.parametrize("markup", LABELS.values(), ids=LABELS)
def test_a_label_of_the_site_counts_where_the_kept_page_has_another_one(
    tmp_path: Path, markup: str, count: int
) -> None:
    genres = ("Comedy", "Tragedy")
    comedy, tragedy = (markup.format(*[genre] * 2, other=genres[genre == "Comedy"]) for genre in genres)
    with Deduplicator.open(tmp_path) as deduplicator:
        crawl = Crawl(deduplicator)
        for number in range(2 * MIN_PAGES):
            play = text(
                paragraphs(words(f"play {number}", count)), (comedy, tragedy)[number % 2], name=f"Play {number}"
            )
            assert crawl.check(f"/{number}", play).verdict is Verdict.NEW
        before, after = (text(paragraphs(words("rigger", count)), genre) for genre in (comedy, tragedy))
        assert crawl.check("/play", before).verdict is Verdict.NEW
        assert crawl.check("/play/other", after).verdict is Verdict.NEW
        assert crawl.check("/play", after).verdict is Verdict.CHANGED


def test_a_label_of_the_site_counts_where_the_kept_page_has_none(crawl: Crawl) -> None:
    for number in range(2 * MIN_PAGES):
        label, posts = "<p>Sold out</p>" * (number % 3 == 0), paragraphs(words(f"play {number}", 60))
        assert crawl.check(f"/{number}", text(label, posts, name=f"Play {number}")).verdict is Verdict.NEW
    assert check_two(crawl, text(SHORT), text("<p>Sold out</p>", SHORT))


@pytest.mark.parametrize("is_same_host", [False, True])
def test_a_long_text_that_a_third_of_the_pages_have_counts_in_another_frame(crawl: Crawl, is_same_host: bool) -> None:
    for number in range(2 * MIN_PAGES):
        posts = paragraphs(words(f"play {number}", 60)), POSTS[0] * (number % 3 == 0)
        assert crawl.check(f"/{number}", text(*filter(None, posts), name=f"Play {number}")).verdict is Verdict.NEW
    mirror = crawl if is_same_host else Crawl(crawl.deduplicator, "http://mirror")
    in_another_frame = text(SHORT).replace("section", "another section")
    assert mirror.check("/kept", in_another_frame).verdict is Verdict.NEW
    assert is_duplicate(crawl.check("/same", text(SHORT)), f"{mirror.host}/kept", "alike")
    assert crawl.check("/new", text(SHORT, POSTS[0])).verdict is Verdict.NEW


def test_words_that_both_pages_hide_are_nothing_in_the_place_of_a_label(crawl: Crawl) -> None:
    note, label = "<div hidden>This site uses cookies.</div>", "<div>Free shipping worldwide</div>"
    for number in range(4 * MIN_PAGES):
        product = text(note, paragraphs(words(f"pot {number}", 60)), label * (number % 8 > 0), name=f"Pot {number}")
        assert crawl.check(f"/{number}", product).verdict is Verdict.NEW
    assert crawl.check("/pot", text(note, SHORT)).verdict is Verdict.NEW
    assert is_duplicate(crawl.check("/pot?print=1", text(note, SHORT, label)), "http://h/pot")


# Properties

PARTS = st.lists(
    st.sampled_from([*POSTS, *OTHER_POSTS, "Leith", "€ 45.90", "<h2>Where it is</h2>", "<ul><li>full time</li></ul>"]),
    max_size=5,
)


@given(parts=PARTS, added=st.sampled_from([*POSTS, "Hull", "€ 59.95"]), at=st.integers(0, 5))
def test_a_page_covers_itself(tmp_path_factory: pytest.TempPathFactory, parts: list[str], added: str, at: int) -> None:
    """A block that is added to the new page never makes a duplicate of it."""
    page_text, longer = text(LONGER, *parts), text(LONGER, *parts[:at], added, *parts[at:])
    folder = tmp_path_factory.getbasetemp() / "itself"
    with Deduplicator.open(folder, Config(tokenizer="bigrams", fresh=True)) as opened:
        opening = Crawl(opened)
        assert opening.check("/kept", page_text).verdict is Verdict.NEW
        assert opening.check("/same", page_text + "<!-- -->").verdict is Verdict.DUPLICATE
        assert opening.check("/more", longer).verdict is Verdict.NEW


# Additions


def test_with_a_distance_of_0_only_the_same_text_is_a_duplicate(tmp_path: Path) -> None:
    with Deduplicator.open(tmp_path, Config(tokenizer="bigrams", max_distance=0)) as opened:
        assert check_two(Crawl(opened), text(*POSTS), text(*POSTS[:3]))


# Blocks


@pytest.mark.parametrize("place", [0, MAX_BLOCKS // 2, MAX_BLOCKS + 50])
def test_one_other_line_of_very_many_makes_another_page(crawl: Crawl, place: int) -> None:
    lines = words("lines", MAX_BLOCKS + 100)
    assert check_two(crawl, text(SHORT, *lines), text(SHORT, *lines[:place], "loft", *lines[place + 1 :]))


PACKED = st.builds(block, st.integers(0, 2**29 - 1), st.integers(0, 255), st.integers(0, 1020))


@given(st.lists(PACKED, max_size=40))
def test_a_kept_page_has_each_block_that_says_something(rows: list[bytes]) -> None:
    """Also if it keeps only a part of their hashes."""
    cover = cover_of(SignedPage("", "", "", cover=pack_cover(b"".join(rows))))
    for number, traits, size in unpack_blocks(b"".join(rows)):
        kinds = (cover.pictures, cover.hidden_pictures) if traits & Trait.EMBEDDED else (cover.shown, cover.hidden)
        if size or traits & IS_ADDRESS == Trait.EMBEDDED:
            assert key_of(number) in kinds[bool(traits & Trait.HIDDEN)]
            assert traits & Trait.EMBEDDED or not traits & Trait.NAME or key_of(number) in cover.names
