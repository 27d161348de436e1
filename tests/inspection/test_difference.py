import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from crawler_dedup.inspection.difference import Omission, compare_lines, compare_words, omit_equal, split_lines

LINES = st.lists(st.sampled_from("abcd"), max_size=25)
WORDS = st.lists(st.sampled_from(["one", "two ", "茶", "馆 ", "-", " "]) | st.text(max_size=4), max_size=12).map(
    "".join
)


@given(st.text())
def test_lines_have_single_spaces_and_none_is_empty(text: str) -> None:
    lines = split_lines(text)
    assert all(line and line == " ".join(line.split()) for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


@given(LINES, LINES)
def test_every_line_of_both_pages_is_there_once_and_those_of_the_new_page_in_order(
    new: list[str], kept: list[str]
) -> None:
    pairs = list(compare_lines(new, kept))
    assert [pair.new for pair in pairs if pair.new] == new
    assert sorted(pair.kept for pair in pairs if pair.kept) == sorted(kept)
    assert all(pair.new or pair.kept for pair in pairs)


@given(LINES, LINES)
def test_a_line_that_both_pages_have_is_beside_its_equal_wherever_it_is(new: list[str], kept: list[str]) -> None:
    equal = Counter(pair.new for pair in compare_lines(new, kept) if pair.is_equal)
    assert equal == Counter(new) & Counter(kept)


def test_equal_lines_are_found_in_texts_of_any_length_and_however_often_they_come() -> None:
    source = random.Random(7)
    lines = [source.choice(["Read more", "", f"{source.random()}"]) or f"{at}" for at in range(30_000)]
    assert sum(not line.is_equal for line in compare_lines(lines, [*lines[9_000:], *lines[1:9_000]])) == 1


def test_lines_without_common_words_are_never_set_side_by_side() -> None:
    long = "The council met in the old hall and spoke of the new bridge until the evening came"
    assert list(compare_lines([long], ["Related pages"])) == [(long, ""), ("", "Related pages")]
    assert list(compare_lines(["5."], ["7."])) == [("5.", ""), ("", "7.")]
    assert list(compare_lines(["Строка о мосте"], ["Совсем иной текст"])) == [
        ("Строка о мосте", ""),
        ("", "Совсем иной текст"),
    ]
    assert list(compare_lines(["今天开会"], ["明年修路"])) == [("今天开会", ""), ("", "明年修路")]


def test_a_changed_line_is_beside_its_other_state_though_other_lines_were_added_before_it() -> None:
    new = ["News", "The red tram stops at the old hall", "End"]
    kept = ["News", "Photo: Ann", "Opening times", "The blue tram stops at the old hall", "End"]
    assert list(compare_lines(new, kept)) == [
        ("News", "News"),
        ("", "Photo: Ann"),
        ("", "Opening times"),
        (new[1], kept[3]),
        ("End", "End"),
    ]


@given(WORDS.filter(lambda text: "\n" not in text), WORDS.filter(lambda text: "\n" not in text))
def test_the_words_of_a_line_joined_are_the_line(new: str, kept: str) -> None:
    new, kept = " ".join(new.split()), " ".join(kept.split())
    words = list(compare_words(new, kept))
    assert "".join(run.new for run in words) == new
    assert "".join(run.kept for run in words) == kept


def test_only_the_words_that_differ_are_reported_as_different() -> None:
    words = compare_words("the red tram goes", "the blue tram stops")
    assert [(run.new, run.kept) for run in words if not run.is_equal] == [("red ", "blue "), ("goes", "stops")]
    assert [(run.new, run.kept) for run in compare_words("立春开门", "立夏开门") if not run.is_equal] == [("春", "夏")]
    words = compare_words("старый мост закрыт", "старый мост открыт")
    assert [(run.new, run.kept) for run in words if not run.is_equal] == [("закрыт", "открыт")]


def test_equal_texts_have_no_differences() -> None:
    lines = list(compare_lines(["a", "b"], ["a", "b"]))
    assert all(line.is_equal for line in lines)
    assert list(omit_equal(lines)) == [Omission(2)]
    assert list(omit_equal([])) == []


@given(LINES, LINES)
def test_only_equal_lines_are_omitted_and_counted(new: list[str], kept: list[str]) -> None:
    whole = list(compare_lines(new, kept))
    at = 0
    for line in omit_equal(whole):
        if isinstance(line, Omission):
            assert all(omitted.is_equal for omitted in whole[at : at + line.lines])
            at += line.lines
        else:
            assert line == whole[at]
            at += 1
    assert at == len(whole)


def test_words_that_are_too_many_to_align_are_wholly_different() -> None:
    words = [f"{number}" for number in range(1_001)]
    (part,) = compare_words(" ".join(words), " ".join(words[1:]))
    assert not part.is_equal
