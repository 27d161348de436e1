"""A text is a duplicate only if each of its blocks stands in the kept text, in the same words or as an edit."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from itertools import combinations, pairwise
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_dedup import Config, Deduplicator, Verdict
from crawler_dedup.rules.cover import longest_increasing
from crawler_dedup.rules.limits import MIN_PAGES
from crawler_dedup.signedpage import PageKind, Trait
from crawler_dedup.signing.blocks import MAX_BLOCKS
from crawler_dedup.signing.cover import LONG, CoverBlock, decode_cover, encode_cover, keep_blocks
from tests.support.crawling import paragraphs, words
from tests.support.prose import sentences
from tests.support.sitepages import MENU, SITE, Crawl, is_duplicate, knowing, page, story

NAME = "Rigger for a museum ship"
SHORT, LONGER = paragraphs(words("rigger", 60)), paragraphs(words("rigger", 500))
OTHER_MENU = "".join(f'<li><a href="/other/{number}">another section {number}</a></li>' for number in range(14))
POSTS = [" ".join(words(f"post {number}", 14)) + "." for number in range(4)]
OTHER_POSTS = [" ".join(words(f"other {number}", 14)) + "." for number in range(4)]


def text(*parts: str, name: str = NAME, menu: str = MENU, below: str = "") -> str:
    body = "".join(part if part.startswith("<") else f"<p>{part}</p>" for part in parts)
    return page(f"{name} | {SITE}", f"<article><h1>{name}</h1>{body}</article>{below}", menu)


def check_two(crawl: Crawl, kept: str, new: str, *, other: Crawl | None = None) -> bool:
    """Return whether *new* passes after *kept*. If it does, a copy of it is a duplicate of it."""
    other = other or crawl
    assert crawl.kind(kept) is crawl.kind(new) is PageKind.TEXT
    assert crawl.check("/kept", kept).verdict is Verdict.NEW
    decision = other.check("/new", new)
    if decision.passes:
        assert is_duplicate(other.check("/again", new + "<!-- -->"), f"{other.host}/new", "alike")
    else:
        assert is_duplicate(decision, "http://h/kept", "alike")
    return decision.passes


# Facts

FACTS = {
    "cell": "<table><tr><td>Place</td><td>{}</td></tr><tr><td>Hours</td><td>full time</td></tr></table>",
    "definition": "<dl><dt>Place</dt><dd>{}</dd></dl>",
    "span": "<div><span>{}</span> · <span>full time</span></div>",
    "item": "<ul><li>{}</li><li>full time</li></ul>",
    "heading": "<h2>{}</h2>",
    "paragraph": "Place: {}",
    "link": '<p><a href="/city/{}">{}</a></p>',
    "price": '<div class="price">{} 45.90</div>',
}


@pytest.mark.parametrize(("crawl", "body"), [(False, LONGER), (True, SHORT)], ids=["long", "short"], indirect=["crawl"])
@pytest.mark.parametrize("markup", FACTS)
def test_another_fact_makes_another_page(crawl: Crawl, markup: str, body: str) -> None:
    kept, new = (text(FACTS[markup].format(fact, fact), body) for fact in ("Leith", "Hull"))
    assert check_two(crawl, kept, new)


CELLS = st.lists(st.sampled_from(["Leith", "Hull", "Ghent", "Bergen"]), min_size=2, max_size=2)


@given(filled=st.lists(CELLS, min_size=1, max_size=8), count=st.sampled_from([30, 60, 140, 500]))
def test_a_page_with_other_facts_than_all_kept_pages_is_kept(
    tmp_path_factory: pytest.TempPathFactory, filled: list[list[str]], count: int
) -> None:
    body = paragraphs(words("rigger", count))
    with Deduplicator.open(tmp_path_factory.getbasetemp() / "facts", Config(fresh=True)) as opened:
        kept: list[Counter[str]] = []
        for number, cells in enumerate(filled):
            rows = "".join(f"<tr><td>{name}</td><td>{cell}</td></tr>" for name, cell in zip("ab", cells, strict=True))
            decision = Crawl(opened).check(f"/{number}", text(f"<table>{rows}</table>", body) + f"<!-- {number} -->")
            assert decision.passes == (not any(Counter(cells) <= kept_cells for kept_cells in kept))
            if decision.passes:
                kept.append(Counter(cells))


def test_facts_are_stored_in_the_index(tmp_path: Path) -> None:
    with Deduplicator.open(tmp_path) as first:
        assert Crawl(first).check("/1", text("Leith", SHORT)).verdict is Verdict.NEW
    with Deduplicator.open(tmp_path) as second:
        assert Crawl(second).check("/2", text("Hull", SHORT)).verdict is Verdict.NEW
        assert Crawl(second).check("/3", text("Leith", SHORT) + "<!-- -->").verdict is Verdict.DUPLICATE


NUMBERS = {
    "The jacket in recycled wool, which our readers tested on long walks, now costs {} in every shop.": (
        "€ 89",
        "€ 59",
    ),
    "Patients in the second group, who had shown no reaction, were given {} milligrams a day.": ("40", "80"),
    "The hearing, which had been put off because the expert was ill, is on {} in the hall.": ("4 May", "5 May"),
    "The match in front of nearly nine thousand people, the first after winter, ended {}.": ("1:0", "3:2"),
    "The pump has ten repairs and eleven new parts since the last release, the long awaited version {}.": (
        "8.11.10",
        "8.10.11",
    ),
    "The tour of the island by way of the two bridges goes on in the afternoon with stage {}.": ("12a", "12b"),
}


@knowing
@pytest.mark.parametrize(
    ("sentence", "values"), NUMBERS.items(), ids=["price", "dose", "date", "score", "version", "letter"]
)
def test_another_number_in_a_long_sentence_makes_another_page(
    crawl: Crawl, sentence: str, values: tuple[str, str]
) -> None:
    kept, new = (text(LONGER, sentence.format(value), SHORT) for value in values)
    assert check_two(crawl, kept, new)


def test_a_number_may_be_left_out_of_a_long_sentence(crawl: Crawl) -> None:
    kept, new = (
        text(LONGER, f"The hearing, which had been put off for long, will {when}be held in the hall.")
        for when in ("on 4 May ", "")
    )
    assert not check_two(crawl, kept, new)


MET = "The board met in {}"
OTHER_WORDS = {
    "another beginning": (
        "In spring, the board met in {} and looked at the plans.",
        f"{MET} in spring and saw the plans.",
    ),
    "a name less": (f"{MET}, and Anna Ruiz took the chair of it.", f"{MET}, and she took the chair of it."),
    "code": tuple(f"Call the function <code>{name}()</code> of the {{}} library." for name in ("Foo", "Bar")),
    "capitals": tuple(
        f"THE BOARD MET IN {{}} AND LOOKED AT {plans} TODAY" for plans in ("ALL OF THE PLANS", "THE PLANS")
    ),
}


@pytest.mark.parametrize(("first", "second"), OTHER_WORDS.values(), ids=OTHER_WORDS)
def test_other_words_in_a_long_sentence_are_an_edit(crawl: Crawl, first: str, second: str) -> None:
    """Words that begin a sentence, code and lines in capitals have no names, and a name may be left out."""
    rest = "It was a long evening in the old hall behind the mill, and nobody had thought of bread or of candles."
    kept, new = (text(LONGER, f"{line.format('Leeds')} {rest}") for line in (first, second))
    assert not check_two(crawl, kept, new)


def test_a_fraction_is_the_same_in_one_character(crawl: Crawl) -> None:
    kept, new = (
        text(LONGER, f"The frame of the platform is made of wood which is {size} inch thick, and has two steps.", size)
        for size in ("3/4", "¾")
    )
    assert not check_two(crawl, kept, new)


def test_a_long_paragraph_that_is_repeated_is_an_addition(crawl: Crawl) -> None:
    assert check_two(crawl, text(LONGER, *POSTS), text(LONGER, *POSTS, POSTS[0]))


LISTING = "\n".join([*words("listing", 60), "lamp [1:3.5.4]", "office suite"])
MAIL = "Where do I find the lamps?\n\n" + "\n".join(" ".join(words(f"mail {line}", 9)) for line in range(20))


@pytest.mark.parametrize(
    ("kept", "new"),
    [
        (LISTING, LISTING.replace("lamp [", "R lamp [")),
        (LISTING, LISTING.replace("lamp [", "lamp needs oil\nlamp [")),
        ("It works now.\n\n" + MAIL.partition("\n\n")[2], MAIL),
    ],
    ids=["mark", "reason", "question"],
)
def test_preformatted_text_is_compared_line_by_line(crawl: Crawl, kept: str, new: str) -> None:
    assert check_two(crawl, *(text(SHORT, f"<pre>{content}</pre>") for content in (kept, new)))


def test_numbers_of_lines_are_not_compared(crawl: Crawl) -> None:
    def listing(first: int) -> str:
        numbers = "\n".join(str(first + line) for line in range(40))
        return text(SHORT, f"<table><tr><td><pre>{numbers}</pre></td><td><pre>{LISTING}</pre></td></tr></table>")

    assert not check_two(crawl, listing(1), listing(2))


# Properties

PARTS = st.lists(
    st.sampled_from([*POSTS, *OTHER_POSTS, "Leith", "€ 45.90", "<h2>Where it is</h2>", "<ul><li>full time</li></ul>"]),
    max_size=5,
)


@given(parts=PARTS, added=st.sampled_from([*POSTS, "Hull", "€ 59.95"]), at=st.integers(0, 5))
def test_a_page_covers_itself_and_no_page_that_says_more(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str], added: str, at: int
) -> None:
    """A block that is added to the new page never makes a duplicate of it."""
    page_text, longer = text(LONGER, *parts), text(LONGER, *parts[:at], added, *parts[at:])
    folder = tmp_path_factory.getbasetemp() / "itself"
    with Deduplicator.open(folder, Config(tokenizer="bigrams", fresh=True)) as opened:
        opening = Crawl(opened)
        assert opening.check("/kept", page_text).verdict is Verdict.NEW
        assert opening.check("/same", page_text + "<!-- -->").verdict is Verdict.DUPLICATE
        assert opening.check("/more", longer).verdict is Verdict.NEW


# Additions


def question(count: int, about: str = "answer") -> str:
    answers = "".join(
        f'<div><p>{" ".join(words(f"{about} {number}", 60))}.</p><a href="/u/{number}">user {number}</a></div>'
        for number in range(count)
    )
    return text(*(" ".join(words(post, 20)) for post in POSTS), below=f"<section>{answers}</section>")


ADDITIONS = {
    "line": (text(LONGER), text(LONGER, "In the loft above the chandler")),
    "paragraph": (text(LONGER), text(LONGER, POSTS[0], SHORT)),
    "comment": (text(LONGER), text(LONGER, below=f"<div><p>{POSTS[0]}</p></div>")),
    "posts": (text(*POSTS[:2]), text(*POSTS)),
    "fourth answer": (question(3), question(4)),
    "last answer": (question(20), question(21)),
    "number": (text(*POSTS), text(*POSTS[:2], "On 14 May 2024 at 18:30.")),
    "heading": (text(*POSTS), text("<h2>What the miller's daughter wrote</h2>", *POSTS[:2])),
    "title": (text(*POSTS), text(*POSTS[:2], name="A bridge of willow over the Ouse")),
    "department": (text(*POSTS).replace(SITE, "Physics"), text(*POSTS[:2]).replace(SITE, "History")),
    "all but a part": (text(*POSTS, *OTHER_POSTS, *words("more", 30)), text(*POSTS[:2])),
}


@knowing
@pytest.mark.parametrize(("kept", "new"), ADDITIONS.values(), ids=ADDITIONS)
def test_additions_are_not_lost(crawl: Crawl, kept: str, new: str) -> None:
    assert check_two(crawl, kept, new)


@knowing
@pytest.mark.parametrize("count", [2, 3])
def test_a_part_is_a_duplicate_of_the_whole(crawl: Crawl, count: int) -> None:
    part, whole = text(*POSTS[:count]), text(*POSTS)
    first, second = (crawl.deduplicator.sign("http://h/x", body.encode()).signature for body in (part, whole))
    assert ((first ^ second).bit_count() > 7) == (count == 2)
    assert not check_two(crawl, whole, part)


@given(whole=st.integers(3, 7), part=st.integers(3, 7), more=st.booleans(), distance=st.sampled_from([0, 3, 7]))
def test_a_part_must_have_some_share_of_the_whole(
    tmp_path_factory: pytest.TempPathFactory, whole: int, part: int, more: bool, distance: int
) -> None:
    """Sets of so few features are kept completely, so that nothing is estimated."""
    lines = [" ".join(words(number, 8)) for number in range(whole)]
    new, kept = text(*lines[:part], *["loft"] * more), text(*lines)
    with Deduplicator.open(
        tmp_path_factory.getbasetemp() / "parts", Config(max_distance=distance, fresh=True)
    ) as opened:
        assert Crawl(opened).check("/kept", kept).verdict is Verdict.NEW
        decision = Crawl(opened).check("/new", new + "<!-- -->")
        first, second = (opened.sign("http://h/x", body.encode()) for body in (new, kept))
    near = (first.signature ^ second.signature).bit_count() <= distance
    least = 0.65 if near else 0.65**2 if distance else 1
    is_covered = not more and first.features >= least * second.features and (near or distance > 0)
    assert (decision.verdict is Verdict.DUPLICATE) == is_covered


def test_under_the_name_of_the_site_a_part_must_be_most_of_the_whole(crawl: Crawl) -> None:
    """A start page shows the text of an article today, and another text tomorrow."""
    texts = [" ".join(words(f"mill {number}", 22)) for number in range(3)]
    assert check_two(crawl, text(*texts, name="Mill"), text(*texts[:1], name="Mill"))


# Edits


@knowing
@pytest.mark.parametrize(
    "line",
    [
        "{} views",
        "<div><span>{} views</span> · <span>1{} shares</span></div>",
        '<p><a href="#comments">{} comments</a></p>',
        "{}人浏览 发布于{}分钟前",
    ],
)
def test_lines_that_only_count_visits_are_not_compared(crawl: Crawl, line: str) -> None:
    kept, new = (text(line.format(count, count), SHORT) for count in (12, 48))
    assert not check_two(crawl, kept, new)


@knowing
def test_the_label_of_an_advertisement_is_no_addition_and_the_text_below_it_is(crawl: Crawl) -> None:
    """The label may be that of an empty place, above the next paragraph of the text."""
    advertised = "<p>The best travel deals from 99 a night, compare them and book instantly</p>"
    assert not check_two(crawl, text(SHORT), text(SHORT, "<p>Sponsored</p>"))
    assert crawl.check("/other", text(SHORT, "<p>Sponsored</p>", advertised)).verdict is Verdict.NEW


@pytest.mark.parametrize("titled", [True, False], ids=["titles", "one title"])
@pytest.mark.parametrize(("share", "least"), [(0.02, 10), (0.05, 9)])
def test_an_edited_text_is_a_duplicate(crawl: Crawl, mirror: Crawl, share: float, least: int, *, titled: bool) -> None:
    crawl.get_known()
    dropped = 0
    for seed in range(10):
        source = random.Random(seed)
        lines = sentences(seed)
        parts = [" ".join(lines[at : at + 4]) for at in range(0, len(lines), 4)]
        edited = [" ".join("quietly" if source.random() < share else word for word in part.split()) for part in parts]
        kept, new = (
            text(*some, name=f"Long story {seed}")
            if titled
            else page(SITE, text(*some, name="News").partition("</head>")[2])
            for some in (parts, edited)
        )
        assert crawl.check(f"/{seed}", kept).passes
        dropped += is_duplicate(crawl.check(f"/{seed}/edited", new), f"http://h/{seed}")
        assert not titled or is_duplicate(mirror.check(f"/{seed}", new), f"http://h/{seed}")
    assert dropped >= least


# Another design, another host


IN_ANOTHER_DESIGN = {
    "fact": (text("Leith", SHORT), text("Hull", SHORT), False),
    "text beside": (text(SHORT), text(SHORT, below=f"<div><p>{POSTS[0]}</p></div>"), False),
    "divided elsewhere": (text(*POSTS), text("".join(POSTS[:2]), *POSTS[2:]), False),
    "addition": (text(LONGER), text(LONGER, POSTS[0], POSTS[1]), True),
    "other paragraphs": (text(LONGER, *POSTS), text(LONGER, *OTHER_POSTS), True),
    "table": (text(LONGER, *map(str, range(100, 160))), text(LONGER, *map(str, range(200, 260))), True),
}


@pytest.mark.parametrize(("kept", "new", "passes"), IN_ANOTHER_DESIGN.values(), ids=IN_ANOTHER_DESIGN)
@pytest.mark.parametrize("host", ["http://h", "http://mirror"])
def test_in_another_design_only_more_than_a_little_of_the_main_text_makes_another_page(
    crawl: Crawl, host: str, kept: str, new: str, *, passes: bool
) -> None:
    other = Crawl(crawl.deduplicator, host)
    assert check_two(crawl, kept, new.replace(MENU, OTHER_MENU), other=other) is passes


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("host", ["http://h", "http://mirror"])
@pytest.mark.parametrize("count", [20, 40, 60], ids=lambda count: f"footer of {count} words")
def test_in_another_design_no_text_of_the_kept_page_makes_room_for_another_text(
    crawl: Crawl, known: bool, host: str, count: int
) -> None:
    """A footer that the new page does not have, in the place of a paragraph that the kept page does not have."""
    footer = f"<div><p>{' '.join(words('the house', count))}.</p></div>"
    body = paragraphs(words("rigger", 150))
    if known:
        for number in range(MIN_PAGES):
            crawl.check(f"/known/{number}", story(f"known {number}", below=footer))
    new = text(body, " ".join(words("added", 22)) + ".").replace(MENU, OTHER_MENU)
    assert check_two(crawl, text(body, below=footer), new, other=Crawl(crawl.deduplicator, host))


@pytest.mark.parametrize(("kept", "new"), [(0, 12), (12, 12), (12, 0)])
def test_on_another_host_other_answers_make_another_page(crawl: Crawl, mirror: Crawl, kept: int, new: int) -> None:
    assert check_two(crawl, question(kept, "river"), question(new, "harbour"), other=mirror) == (new > 0)


def test_with_a_distance_of_0_only_the_same_text_is_a_duplicate(tmp_path: Path) -> None:
    with Deduplicator.open(tmp_path, Config(tokenizer="bigrams", max_distance=0)) as opened:
        assert check_two(Crawl(opened), text(*POSTS), text(*POSTS[:3]), other=Crawl(opened, "http://mirror"))


# Blocks


@pytest.mark.parametrize("place", [0, MAX_BLOCKS // 2, MAX_BLOCKS + 50])
def test_one_other_line_of_very_many_makes_another_page(crawl: Crawl, place: int) -> None:
    lines = words("lines", MAX_BLOCKS + 100)
    assert check_two(crawl, text(SHORT, *lines), text(SHORT, *lines[:place], "loft", *lines[place + 1 :]))


@given(st.lists(st.integers(0, 9), max_size=9))
def test_the_longest_increasing_part_is_found(places: Sequence[int]) -> None:
    pairs = list(enumerate(places))
    longest = longest_increasing(pairs)
    assert set(longest) <= set(pairs)
    rising = [
        part
        for count in range(len(pairs) + 1)
        for part in combinations(pairs, count)
        if all(first < second for (_, first), (_, second) in pairwise(part))
    ]
    assert tuple(longest) in rising
    assert len(longest) == max(map(len, rising))


SETS = st.integers(0, (1 << 127) - 1)


@st.composite
def blocks(draw: st.DrawFn) -> CoverBlock:
    traits = draw(st.integers(0, 255))
    if draw(st.booleans()):
        return CoverBlock(draw(st.integers(0, 0xFFFF)), traits, draw(st.integers(0, LONG)))
    key = 1 << 278 | draw(st.integers(0, 0xFFFFFF)) << 254 | draw(SETS) << 127 | draw(SETS)
    return CoverBlock(key, traits, draw(st.integers(LONG + 1, 20_000)), draw(SETS))


@given(st.lists(blocks(), max_size=40), st.booleans())
def test_packed_blocks_are_read_back_with_sizes_rounded_up(page_blocks: list[CoverBlock], is_new: bool) -> None:
    packed = encode_cover(page_blocks, is_new=is_new)
    read = decode_cover(packed)
    assert [block.key for block in read] == [block.key for block in page_blocks]
    traits = 255 if is_new else Trait.HIDDEN
    assert [block.traits for block in read] == [block.traits & traits for block in page_blocks]
    assert [block.needed for block in read] == [block.needed if is_new else 0 for block in page_blocks]
    for block, stored in zip(page_blocks, read, strict=True):
        assert block.size <= stored.size <= max(block.size + 4, 1.04 * block.size)
        assert block.is_fact is stored.is_fact
    assert encode_cover(read, is_new=is_new) == packed
    for length in range(1, len(packed)):
        with pytest.raises(msgspec.DecodeError):
            decode_cover(packed[:length])


@given(st.data(), st.lists(blocks(), max_size=40))
def test_kept_blocks_are_packed_as_those_of_a_kept_page(data: st.DataObject, page_blocks: list[CoverBlock]) -> None:
    packed = encode_cover(page_blocks, is_new=True)
    are_kept = data.draw(st.lists(st.booleans(), min_size=len(page_blocks), max_size=len(page_blocks)))
    kept = [block for block, is_kept in zip(decode_cover(packed), are_kept, strict=True) if is_kept]
    assert keep_blocks(packed, np.array(are_kept, dtype=np.bool_)) == encode_cover(kept, is_new=False)


@given(st.binary(max_size=60))
def test_damaged_blocks_are_refused_or_read(packed: bytes) -> None:
    with suppress(msgspec.DecodeError):
        assert decode_cover(packed) or packed in (b"", bytes(2))
