import io
import random

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.table import Table
from rich.text import Text

from crawler_dedup.cli.diff import print_side_by_side, side_by_side
from tests.support.crawling import words

Row = tuple[str, str, str]

# Few different lines, so that some are equal, and all kinds of characters.
LINES = st.sampled_from(
    ["", "one", "two", "one two", "one two three", "茶馆 在", "  spaced \t out ", "[red]x[/red]", "[/]"]
)
TEXTS = st.lists(LINES | st.text(max_size=12), max_size=12).map("\n".join)


def rows(table: Table) -> list[Row]:
    """Return the cells of each row: sign, new, kept."""
    columns = []
    for column in table.columns:
        cells = list(column.cells)
        assert all(isinstance(cell, Text) for cell in cells)
        columns.append([str(cell) for cell in cells])
    return list(zip(*columns, strict=True))


def printed(table: Table, *, terminal: bool = False) -> str:
    file = io.StringIO()
    Console(file=file, width=100, force_terminal=terminal).print(table)
    return file.getvalue()


@given(TEXTS, TEXTS)
def test_the_sign_shows_how_two_lines_differ(new: str, kept: str) -> None:
    for sign, left, right in rows(side_by_side(new, kept, folded=False)):
        expected = "" if left == right else "+" if not right else "-" if not left else "≠"
        assert sign == expected


def test_one_equal_line_is_left_before_and_after_a_difference() -> None:
    text = [str(number) for number in range(7)]
    table_rows = rows(side_by_side("\n".join(text), "\n".join([*text[:4], "other", *text[5:]]), folded=True))
    lines = [line for _, line, _ in table_rows]
    assert lines == ["… 3 equal lines …", "3", "4", "", "5", "… 1 equal line …"]


def test_two_pages_without_main_text_are_reported_in_a_sentence() -> None:
    file = io.StringIO()
    print_side_by_side(Console(file=file, width=40), "", " \n", folded=True)
    assert file.getvalue().startswith("Neither page has a main text")
    assert file.getvalue().count("\n") == 1


def test_different_words_are_marked_in_a_line() -> None:
    table = side_by_side("the red tram goes", "the blue tram stops", folded=False)
    left, right = (next(iter(column.cells)) for column in table.columns[1:])
    assert isinstance(left, Text)
    assert isinstance(right, Text)
    assert [left.plain[span.start : span.end] for span in left.spans if "green" in str(span.style)] == ["red ", "goes"]
    assert [right.plain[span.start : span.end] for span in right.spans if "red" in str(span.style)] == [
        "blue ",
        "stops",
    ]


@given(st.text(st.characters(categories=["Cc", "Cf", "Zl", "Zp", "L"])), st.booleans())
def test_control_characters_do_not_reach_the_terminal(text: str, folded: bool) -> None:
    hostile = f"\x1b[2J\x1b]0;title\x07{text}\x9b31m\r\x08\u202e\u2066"
    shown = printed(side_by_side(hostile, f"other {hostile}", folded=folded))
    assert all(character.isprintable() or character == "\n" for character in shown)


def test_markup_in_a_text_is_shown_as_text() -> None:
    shown = printed(side_by_side("[bold]a[/bold] [/] :tea:", "b", folded=False), terminal=True)
    assert "[bold]a[/bold] [/] :tea:" in "".join(piece.split("m", 1)[-1] for piece in shown.split("\x1b["))


def lines(seed: str, count: int) -> str:
    source = random.Random(seed)
    return "\n".join(f"{source.random()} {source.random()}" for _ in range(count))


def test_large_texts_are_compared_quickly() -> None:
    for new, kept in [
        (lines("a", 6_000), lines("b", 6_000)),
        (lines("a", 1_000), lines("b", 1_000)),  # up to the limit
        ("x" * 2_000_000, "y" * 2_000_000),  # one word a line
        ("茶" * 100_000, "馆" * 100_000),  # no words
        (" ".join(words(1, 990)), " ".join(words(2, 990))),  # up to the limit
        ("a\nb\n" * 490, "a\nc\n" * 490),
        ("", lines("b", 30_000)),
        (" ".join(words(1, 10_000)), " ".join(words(2, 10_000))),  # one line
    ]:
        # In cubic time this would take minutes.
        assert side_by_side(new, kept, folded=True).columns
