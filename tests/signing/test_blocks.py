import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import accumulate, product
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xxhash import xxh3_64_intdigest

from crawler_dedup.errors import BeyondLimits
from crawler_dedup.signedpage import BLOCK_BYTES, Trait
from crawler_dedup.signing import pagelines
from crawler_dedup.signing.blocks import PackedBlock, PageBlocks, hash_of_file, pack_blocks, unpack_blocks
from crawler_dedup.signing.embedded import find_embedded_content
from crawler_dedup.signing.features import normalise, size_in_letters
from crawler_dedup.signing.limits import MAX_BLOCKS
from crawler_dedup.signing.lines import without_visits
from crawler_dedup.signing.maintext import MainBlocks, find_main_blocks
from crawler_dedup.signing.outline import Outline, read_outline
from crawler_dedup.signing.parsing import find_title, parse
from crawler_dedup.signing.textblocks import Block
from crawler_dedup.signing.titles import split_title
from tests.support.cases import read_cases
from tests.support.crawling import paragraphs, words

CASES = read_cases(__file__)["blocks"]

TITLE = "Ferry to the island | Tea House"


def pack(markup: str, title: str = "") -> PageBlocks:
    """Pack a page as the signer does."""
    tree = parse(f"<title>{title}</title><body>{markup}".encode())
    outline = read_outline(tree)
    main = find_main_blocks(outline)
    embedded = find_embedded_content(tree)
    return pack_blocks(outline, main, find_title(tree), "http://h/", embedded)


def pack_alone(
    blocks: Sequence[Block], main: Sequence[Block] = (), title: str = "", embedded: dict[str, bool] | None = None
) -> PageBlocks:
    """Pack *blocks* without a page, of which the blocks in *main* are the main text; their elements are siblings."""
    outline = Outline([*blocks], [0] * (1 + max((block.group for block in blocks), default=0)))
    return pack_blocks(outline, MainBlocks([*main], 0, 0), title, "", embedded)


def hashes(markup: str) -> list[int]:
    return [block.hash for block in unpack_blocks(pack(markup).packed)]


def traits(markup: str, title: str = "") -> Trait:
    """Return the traits of the first block."""
    return Trait(unpack_blocks(pack(markup, title).packed)[0].traits)


# Packing


PACKED = st.lists(
    st.builds(
        PackedBlock, st.integers(0, 2**32 - 1), st.integers(0, 127), st.integers(0, 255).map(lambda units: 4 * units)
    ),
    max_size=20,
)


def packed(rows: list[PackedBlock]) -> bytes:
    return b"".join(row.hash.to_bytes(4, "little") + bytes([row.traits, row.size // 4]) for row in rows)


@given(PACKED)
def test_packed_blocks_are_unpacked_as_they_were(rows: list[PackedBlock]) -> None:
    assert unpack_blocks(packed(rows)) == tuple(rows)
    assert len(packed(rows)) == BLOCK_BYTES * len(rows)


TEXTS = st.lists(st.text(st.sampled_from("ab 漢汉é,.-"), min_size=1, max_size=12).filter(str.strip), max_size=12)


@given(TEXTS)
def test_each_occurrence_of_a_block_is_packed_in_reading_order(texts: list[str]) -> None:
    outline = [Block(text, size_in_letters(text), 0, number, text) for number, text in enumerate(texts)]
    numbers = [block.hash for block in unpack_blocks(pack_alone(outline).packed)]
    plain = [re.sub(r"(?<=[^\W\d_])-\Z", "−", normalise(text)) for text in texts]  # a grade is no punctuation
    keys = ["".join(character for character in text if character not in " ,.-") for text in plain]
    assert len({*numbers}) == len(numbers) == len(texts)
    for number, (key, block) in enumerate(zip(keys, outline, strict=True)):
        repeated = [block] * (keys[: number + 1].count(key))
        alone = unpack_blocks(pack_alone(repeated).packed)
        assert alone[-1].hash == numbers[number]


def test_a_link_hidden_text_and_the_title_are_packed_once() -> None:
    for repeated in ["<p><a href=/x>Yes</a></p>", "<p style='display:none'>Yes</p>", "<p>Ferry to the island</p>"]:
        assert pack(repeated, TITLE).packed == pack(2 * repeated, TITLE).packed


def test_a_picture_is_known_by_its_file_where_its_address_differs() -> None:
    for first_address, second_address, is_same_file in CASES["files"]:
        (first,), (second,) = (hashes(f"<img src='{source}'>") for source in (first_address, second_address))
        assert first != second
        assert (hash_of_file(first) == hash_of_file(second)) is is_same_file


def test_two_asides_with_different_texts_have_different_hashes() -> None:
    # The lower 16 bits of the hashes of these are the same.
    assert len({*hashes("<aside>paste number 250</aside><aside>paste number 287</aside>")}) == 2


@pytest.mark.parametrize("markup", ["<dialog>Read aloud</dialog>", "<aside>Closed</aside>", "<img src=''>"])
def test_what_has_no_address_has_no_file(markup: str) -> None:
    assert {hash_of_file(number) for number in hashes(markup)} == {0}


SIZES = {
    **{"a" * letters: size for letters, size in ((1, 4), (4, 4), (5, 8), (1020, 1020), (1021, 1020), (9000, 1020))}
}
SIZES |= {"茶馆明天开门": 20, "★★★☆☆": 8, "✓": 4, "***": 4, "†": 4, **dict.fromkeys(["---------", "—————————"], 0)}


def test_the_size_of_a_block_is_its_letters_in_fours_and_that_of_a_line_of_punctuation_0() -> None:
    for text, size in SIZES.items():
        (block,) = unpack_blocks(pack(f"<p>{text}</p>").packed)
        assert block.size == size


# Equal blocks


def test_case_width_white_space_punctuation_and_variants_of_characters_do_not_change_a_block() -> None:
    for variants in CASES["equal"]:
        assert len({block for variant in variants for block in hashes(f"<p>{variant}</p>")}) == 1


def test_another_letter_or_sign_changes_a_block() -> None:
    for distinct in CASES["different"]:
        assert len({block for text in distinct for block in hashes(f"<p>{text}</p>")}) == len(distinct)


def test_the_same_block_elsewhere_on_the_page_is_the_same_block() -> None:
    assert hashes("<h2>Fares</h2><p>Ferry</p><p>FERRY</p>") == hashes("<p>fares</p><li>ferry</li><h1>Ferry</h1>")


# Traits


def test_the_traits_of_a_block_are_recognised() -> None:
    for markup, expected in CASES["traits"]:
        assert {trait.name for trait in traits(markup, TITLE) & ~Trait.MAIN} == {*expected.split()}


def test_blocks_of_the_main_text_are_marked() -> None:
    packed = pack(f"<p>menu</p><article>{paragraphs(words('text', 96))}</article>").packed
    assert [bool(block.traits & Trait.MAIN) for block in unpack_blocks(packed)] == [False, True, True]


def test_a_text_that_repeats_the_words_of_the_title_many_times_is_no_name() -> None:
    assert traits("<p>Ferry to the island, ferry to the island</p>", TITLE) & Trait.NAME
    assert not traits(f"<p>{'ferry ' * 20}</p>", TITLE) & Trait.NAME


# Bounds


def test_if_there_are_too_many_blocks_the_longest_are_kept_in_reading_order() -> None:
    texts = [" ".join(words(number, 2 + number % 7)) for number in range(2000)]
    *kept_blocks, rest = unpack_blocks(pack("".join(f"<p>{text}</p>" for text in texts)).packed)
    numbers = [hashes(f"<p>{text}</p>")[0] for text in texts]
    assert len(kept_blocks) == MAX_BLOCKS - 1
    assert (rest.traits, rest.size) == (Trait.NUMBER | Trait.MAIN, 64)
    assert [block.hash for block in kept_blocks] == [
        number for number in numbers if number in {block.hash for block in kept_blocks}
    ]
    sizes = sorted((4 * -(-len(text) // 4) for text in texts), reverse=True)
    assert sorted((block.size for block in kept_blocks), reverse=True) == sizes[: MAX_BLOCKS - 1]


def test_blocks_that_are_not_kept_still_distinguish_two_pages() -> None:
    many = "".join(f"<p>{' '.join(words(number, 9))}</p>" for number in range(MAX_BLOCKS))
    first_blocks, second_blocks = (unpack_blocks(pack(f"{many}<p>{word}</p>").packed) for word in ("red", "green"))
    assert [block.hash for block in first_blocks[:-1]] == [block.hash for block in second_blocks[:-1]]
    assert first_blocks[-1].hash != second_blocks[-1].hash


@given(st.text(st.sampled_from("--12٣.,:/&<a_汉é+ ")).filter(str.strip))
def test_a_block_is_identified_by_its_letters_and_numbers(text: str) -> None:
    numbers = re.findall(r"(?:(?<!\w)- ?)?(?:(?<![\w.,])[.,])?\d+(?:[.,:/-]\d+)*", text)
    graded = re.sub(r"(?<=[^\W\d_])-\Z", "−", text)
    letters = re.sub(r"[^\w+&<−]|_", "", graded) + "".join(f" {number}" for number in numbers)
    block, *_ = unpack_blocks(pack_alone([Block(text, len(text), 0, 1, text)]).packed)  # an address follows
    assert block.hash == xxh3_64_intdigest(letters.encode()) >> 32
    assert bool(block.traits & Trait.NUMBER) == bool(numbers)


def test_a_line_that_only_announces_an_advertisement_is_not_a_block() -> None:
    for label in ["Advertisement", "– Sponsored –", "ANZEIGE", "Publicité", "廣告", "広告"]:
        assert hashes(f"<p>Above</p><p>{label}</p><p>Below</p>") == hashes("<p>Above</p><p>Below</p>")
        assert hashes(f"<p>{label} rules</p>") != []


def test_the_digits_of_every_script_are_numbers() -> None:
    digits = [character for character in map(chr, range(sys.maxunicode + 1)) if character.isdecimal()]
    for digit in digits:
        (block,) = unpack_blocks(pack_alone([Block(f"a {digit}", 3, 0, 1, "")]).packed)
        assert block.traits & Trait.NUMBER


def test_a_block_is_hidden_only_if_every_occurrence_of_it_is() -> None:
    (block,) = unpack_blocks(pack("<p style='display:none'>Closed today</p><p>Closed today</p>").packed)
    assert not block.traits & Trait.HIDDEN


def test_a_text_with_the_words_of_a_link_is_another_block_wherever_the_link_is() -> None:
    link, text = "<p><a href=/x>Berlin</a></p>", "<p>Berlin</p>"
    first, second = ({block.hash for block in unpack_blocks(pack(page).packed)} for page in (link + text, text + link))
    (alone,) = unpack_blocks(pack(link).packed)
    assert first == second > {alone.hash}


def test_blocks_after_the_longest_text_that_is_read_are_compared_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = words("many", 100)
    page = "".join(f"<p>{text}</p>" for text in texts)
    ends = [*accumulate(map(len, texts))]
    all_hashes = hashes(page)
    for limit in (20, 50, 200):
        monkeypatch.setattr("crawler_dedup.signing.pagelines.MAX_CHARS", limit)
        *read, rest = hashes(page)
        assert read == all_hashes[: sum(end <= limit for end in ends)]
        assert rest != hashes(page.replace(texts[-1], "other"))[-1]


def test_blocks_are_the_same_whatever_pages_were_packed_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pagelines, "_MOST_KNOWN", 10)
    pages = [
        "<p>May 2, 2011<p>5 views<p>naïve ﬁn<pre>5 views\n3 views</pre>",
        f"<p>{450 * chr(0xFDFA)}",
        "<p>a<p>" + 9_000 * "e\u0301",
        "<p>a<p>b",
        "",
    ]
    for page, before in product(pages, repeat=2):
        results: list[object] = []
        for known in ((), (before, page)):
            monkeypatch.setattr(pagelines, "_known", {})
            for packed_before in known:
                with suppress(BeyondLimits):
                    pack(packed_before)
            try:
                results.append(pack(page))
            except BeyondLimits as limit:
                results.append(str(limit))
            assert len(pagelines._known) <= 10
        assert results[0] == results[1]


def test_work_grows_no_faster_than_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    def lines(count: int) -> int:
        """Return the number of lines of Python that are run."""
        run = 0

        def trace(frame: FrameType, event: str, argument: object) -> Callable[..., Any]:
            nonlocal run
            run += 1
            return trace

        texts = [" ".join(words(number, 9)) for number in range(count)]
        outline = [Block(text, len(text), 0, at, text, at % 2) for at, text in enumerate(texts)]
        monkeypatch.setattr(pagelines, "_known", {})
        before = sys.gettrace()
        sys.settrace(trace)
        try:
            pack_alone(outline, outline[::2], TITLE, dict.fromkeys(texts, True))
        finally:
            sys.settrace(before)
        return run

    assert lines(100) < lines(1600) < 17 * lines(100)


# The title within the page


def named(markup: str, title: str = TITLE) -> set[str]:
    bits = pack(markup, title).named
    return {part for bit, part in enumerate(sorted(split_title(title))) if bits >> bit & 1}


TEXT = paragraphs(words("text", 96))


def test_the_parts_of_the_title_that_occur_in_a_heading_or_in_the_main_text_are_recorded() -> None:
    for markup, expected in CASES["named"]:
        assert named(markup.format(text=TEXT)) == {*expected.split()}


def test_a_part_of_two_letters_may_occur_in_any_text() -> None:
    assert named("<h1>Go</h1>", "Go | Tea House") == set()
    assert named("<h1>茶</h1>", "茶 | Tea House") == {"茶"}


@given(st.text(st.sampled_from("ab |茶館12"), max_size=40), st.text(st.sampled_from("ab |茶館12"), max_size=40))
def test_only_parts_of_the_title_are_recorded(title: str, heading: str) -> None:
    outline = [Block(heading, size_in_letters(heading), 0, 1, heading, 1)] if heading.strip() else []
    bits = pack_alone(outline, title=title).named
    assert bits < 1 << min(len(split_title(title)), 32)


# Lines that count visits


def test_a_phrase_that_counts_visits_leaves_no_number() -> None:
    assert [line for line in CASES["counting"] if any(map(str.isdigit, without_visits(normalise(line))))] == []


def test_other_short_lines_with_numbers_stay_as_they_are() -> None:
    assert [line for line in CASES["facts"] if without_visits(normalise(line)) != normalise(line)] == []


def test_numbers_in_sentences_stay_and_lines_keep_their_places() -> None:
    sentence = "the society says that its garden had 3,000 visitors in the first week of may"
    assert without_visits(f"7 views\n{sentence}\n\n5 min read") == f"\n{sentence}\n\n"
