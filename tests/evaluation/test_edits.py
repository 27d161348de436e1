"""Texts with known changes: the pairs of each set have the changes that its name says."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable

import pytest
from pypinyin import lazy_pinyin
from xxhash import xxh3_64_hexdigest

from crawler_dedup.evaluation.edits import MAX_TEXTS, EditedPair, edited_sets, is_chinese
from crawler_dedup.signing.features import normalise, split_units
from crawler_dedup.signing.initials import initial_of_each
from tests.support.crawling import words
from tests.support.indexing import program
from tests.support.prose import prose, sentences

SHORT, EXCERPT, TRADITIONAL, HOMOPHONES = (
    "short, 2 words exchanged",
    "excerpt of 60 %",
    "Traditional",
    "homophones, 20 %",
)
NAMES = [SHORT, EXCERPT, TRADITIONAL, HOMOPHONES]


def short_words(seed: int, count: int) -> str:
    source = random.Random(f"short words {seed}")
    return " ".join("".join(map(source.choice, ("bdfgklmnprst", "aeiou", "lmnrst"))) for _ in range(count)) + "."


CHINESE = [prose(seed, 30, chinese=True) for seed in range(29)]
ENGLISH = [f"{short_words(seed, 30)}\n{short_words(-seed, 40)}\n{prose(seed)}" for seed in range(1, 13)]
TEXTS = [*CHINESE, *ENGLISH, "short", " ".join(words("few but long", 16))]


def sets_of(texts: Iterable[str]) -> dict[str, list[EditedPair]]:
    return dict(edited_sets(texts))


def changed(pairs: Iterable[EditedPair]) -> list[EditedPair]:
    """Return the pairs with the text that was edited."""
    return [pair for pair in pairs if pair.label == 1]


def unchanged(pairs: Iterable[EditedPair]) -> list[EditedPair]:
    return [pair for pair in pairs if pair.label == 0]


@pytest.fixture(scope="module")
def edited() -> dict[str, list[EditedPair]]:
    return sets_of(TEXTS)


def test_the_edited_sets_have_the_expected_names_and_sizes(edited: dict[str, list[EditedPair]]) -> None:
    assert list(edited) == NAMES
    lines = [line for text in TEXTS for line in text.splitlines()]
    lines = [line for line in lines if 100 <= len(line.strip()) <= 250 and len(split_units(normalise(line))) >= 25]
    numbers = {name: (len(changed(pairs)), len(unchanged(pairs))) for name, pairs in edited.items()}
    assert numbers[SHORT] == (min(MAX_TEXTS, len(set(lines))),) * 2
    assert numbers[EXCERPT] == (len(CHINESE) + len(ENGLISH),) * 2
    assert numbers[TRADITIONAL] == numbers[HOMOPHONES] == (len(CHINESE),) * 2


# The same pairs each time


def test_the_order_and_number_of_the_texts_do_not_change_an_edited_text(edited: dict[str, list[EditedPair]]) -> None:
    for turn in range(3):
        shuffled = TEXTS * (turn + 1)
        random.Random(turn).shuffle(shuffled)
        assert sets_of(iter(shuffled)) == edited


def test_the_process_does_not_change_an_edited_text(edited: dict[str, list[EditedPair]]) -> None:
    """Sets of strings have another order in another process."""
    code = """
        import json, sys
        from xxhash import xxh3_64_hexdigest
        from crawler_dedup.evaluation.edits import edited_sets

        print(xxh3_64_hexdigest(repr(dict(edited_sets(json.load(sys.stdin)))).encode()))
    """
    output, errors = program(code, fresh=True).communicate(json.dumps(TEXTS))
    assert output.strip() == digest_of(edited), errors


def digest_of(edited: dict[str, list[EditedPair]]) -> str:
    return xxh3_64_hexdigest(repr(edited).encode())


def test_at_most_a_limited_number_of_texts_of_a_set_is_edited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crawler_dedup.evaluation.edits.MAX_TEXTS", 7)
    for pairs in sets_of(TEXTS).values():
        assert (len(changed(pairs)), len(unchanged(pairs))) == (7, 7)
        assert len({edited_pair.kept for edited_pair in changed(pairs)}) == 7


# The content of each set


def test_each_edited_text_is_paired_with_its_original_and_with_another_text(
    edited: dict[str, list[EditedPair]],
) -> None:
    for name, pairs in edited.items():
        for edited_pair, other_pair in zip(changed(pairs), unchanged(pairs), strict=True):
            assert edited_pair.new == other_pair.new
            assert edited_pair.kept != other_pair.kept
            common = set(split_units(normalise(edited_pair.kept))) & set(split_units(normalise(other_pair.kept)))
            assert len(common) < 0.7 * len(set(split_units(normalise(edited_pair.kept)))), name


def test_texts_that_share_much_are_not_labelled_as_different(edited: dict[str, list[EditedPair]]) -> None:
    first = words("first", 120)
    alike = [" ".join([*first, *words(seed, 20)]) for seed in range(5)]
    pairs = sets_of(alike)[EXCERPT]
    assert (len(changed(pairs)), len(unchanged(pairs))) == (5, 0)
    pairs = sets_of([*alike, " ".join(words("other", 140))])[EXCERPT]
    assert len(unchanged(pairs)) == 6
    for unchanged_pair in unchanged(pairs):
        assert (first[50] in unchanged_pair.kept) != (first[50] in unchanged_pair.new)


def test_two_words_of_a_passage_are_replaced(edited: dict[str, list[EditedPair]]) -> None:
    assert any(is_chinese(pair.kept) for pair in edited[SHORT])
    assert not all(is_chinese(pair.kept) for pair in edited[SHORT])
    for pair in changed(edited[SHORT]):
        assert 100 <= len(pair.kept) <= 250
        assert len(split_units(normalise(pair.kept))) >= 25
        assert_two_units_differ(pair)


def test_two_words_of_a_passage_with_numbers_are_replaced() -> None:
    """A character beside a number is replaced by another character, because a digit would become part of the number."""
    source = random.Random(1)
    texts = [
        "".join(
            f"{source.randint(1990, 2024)}年{source.randint(1, 12)}月{source.randint(1, 28)}日，{sentence}"
            for sentence in sentences(seed, 30, chinese=True)[first : first + 4]
        )
        for seed in range(29)
        for first in range(0, 28, 4)
    ]
    pairs = changed(sets_of(texts)[SHORT])
    assert len(pairs) == MAX_TEXTS
    for pair in pairs:
        assert_two_units_differ(pair)


def test_two_words_of_a_passage_with_few_words_are_replaced() -> None:
    texts = [" ".join(random.Random(seed).choices(words("few", 4), k=25)) for seed in range(40)]
    pairs = changed(sets_of(texts)[SHORT])
    assert len(pairs) > 30
    for pair in pairs:
        assert_two_units_differ(pair)


def assert_two_units_differ(pair: EditedPair) -> None:
    new, kept = split_units(pair.new), split_units(normalise(pair.kept))
    assert len(new) == len(kept)
    assert sum(left != right for left, right in zip(new, kept, strict=True)) == 2


def test_an_excerpt_is_the_middle_of_the_text(edited: dict[str, list[EditedPair]]) -> None:
    for pair in changed(edited[EXCERPT]):
        assert pair.kept.count(pair.new) == 1
        before, after = map(len, pair.kept.split(pair.new))
        assert abs(before - after) <= 1
        assert len(pair.new) == pytest.approx(0.6 * len(pair.kept), abs=2)


def test_a_text_in_traditional_characters_has_the_same_meaning(edited: dict[str, list[EditedPair]]) -> None:
    for pair in changed(edited[TRADITIONAL]):
        assert len(pair.new) == len(pair.kept)
        assert sum(left != right for left, right in zip(pair.new, pair.kept, strict=True)) > 0.1 * len(pair.kept)
        for traditional, simplified in ("國国", "學学", "門门", "業业"):
            assert pair.new.count(simplified) == 0
            assert pair.new.count(traditional) == pair.kept.count(simplified)
        folded = zip(normalise(pair.new), normalise(pair.kept), strict=True)
        assert sum(new != kept for new, kept in folded) < 0.02 * len(pair.kept)


def test_a_fifth_of_the_characters_is_replaced_by_homophones(edited: dict[str, list[EditedPair]]) -> None:
    shares = []
    for pair in changed(edited[HOMOPHONES]):
        assert len(pair.new) == len(pair.kept)
        assert [*map(lazy_pinyin, pair.new)] == [*map(lazy_pinyin, pair.kept)]
        assert initial_of_each(pair.new).tolist() == initial_of_each(pair.kept).tolist()
        characters = [pair for pair in zip(pair.new, pair.kept, strict=True) if "\u4e00" <= pair[1] <= "\u9fff"]
        shares.append(sum(new != kept for new, kept in characters) / len(characters))
    # A character that has no homophone in these texts stays as it is.
    assert 0.15 < sum(shares) / len(shares) < 0.22
    assert min(shares) > 0.1
    assert len({pair.new for pair in changed(edited[HOMOPHONES])}) == len(shares)


# Few texts


@pytest.mark.parametrize(
    "texts",
    [[], [""], ["one line"] * 3, ["茶馆" * 40], ["\n".join(["one short line"] * 20)], [" " * 300 + "x"]],
    ids=["none", "empty", "short", "short Chinese", "short lines", "spaces"],
)
def test_without_texts_or_with_short_ones_the_sets_are_empty(texts: list[str]) -> None:
    assert sets_of(texts) == {name: [] for name in NAMES}


def test_texts_without_words_are_not_labelled_as_different() -> None:
    for pairs in sets_of(["…" * 600, "。" * 700, "!?" * 300]).values():
        assert unchanged(pairs) == []


def test_english_texts_have_no_chinese_sets() -> None:
    sets = sets_of(ENGLISH)
    assert sets[TRADITIONAL] == sets[HOMOPHONES] == []
    assert len(changed(sets[EXCERPT])) == len(ENGLISH)
    assert len(changed(sets[SHORT])) >= len(ENGLISH)


def test_a_single_text_is_paired_with_its_original_only() -> None:
    for pairs in sets_of([CHINESE[0].replace("\n", "")]).values():
        assert [pair.label for pair in pairs] in ([1], [])
    assert [len(pairs) for pairs in sets_of([CHINESE[0].replace("\n", "")]).values()] == [0, 1, 1, 1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", False),
        ("…", False),
        ("only English words", False),
        ("茶馆", True),
        ("茶館", True),
        ("茶馆 tea", True),
        ("茶馆 teahouse", False),
        ("茶馆门前的老人 and English", True),
        ("чай", False),
        ("ひらがなとカタカナ", False),
        ("오래된 찻집이 문을 열었다", False),
        ("🍵🍵🍵", False),
    ],
)
def test_a_text_is_chinese_if_a_third_of_it_is(text: str, expected: bool) -> None:
    assert is_chinese(text) == expected
