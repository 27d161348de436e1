"""What the links of a page say of the pages that they lead to."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from crawler_dedup.signing.anchors import MAX_CHARS, Anchors
from crawler_dedup.signing.parsing import parse

URL = "http://a.org/folder/page?x=1"


def text_about(url: str, markup: str) -> str:
    return Anchors(parse(f"<html><body>{markup}</body></html>".encode()), URL).text_about(url)


def test_the_text_of_a_link_and_the_words_around_it_are_read() -> None:
    markup = "<p>You find <a href='/x'>the <b>old</b> lighthouse</a> by\n the sea.</p><p>Fog.</p>"
    assert text_about("http://a.org/x", markup) == "You find the old lighthouse by the sea. Fog."
    assert text_about("http://a.org/y", markup) == ""


def test_a_window_has_whole_words_near_the_link() -> None:
    far = "far " * 100
    around = text_about("http://a.org/x", f"<p>{far} near <a href='/x'>link</a> behind {far}</p>")
    assert " near link behind " in around
    assert {*around.split()} == {"far", "near", "link", "behind"}
    assert 150 < len(around) <= 210


def test_windows_in_a_script_without_spaces_are_cut_between_characters() -> None:
    around = text_about("http://a.org/x", f"<p>{'茶' * 500}<a href='/x'>老船夫</a>{'馆' * 500}</p>")
    assert "老船夫" in around
    assert set(around) == set("茶老船夫馆 ")
    assert len(around) <= MAX_CHARS


def test_links_are_compared_as_outlinks_are() -> None:
    for href in ("x", "/folder/x", "http://a.org/folder/x#top", "//a.org/folder/x?utm_source=b", " x\n"):
        assert text_about("http://a.org/folder/x", f"<a href='{href}'>honey</a>") == "honey"
    assert text_about("http://a.org/b/x", "<base href='/b/'><a href='x'>honey</a>") == "honey"


def test_all_links_to_a_page_are_joined() -> None:
    markup = (
        "<a href='/x'><img></a>" + "<p>w</p>" * 200 + "<a href='/x'>honey</a>" + "<p>w</p>" * 200 + "<a href=/x>tea</a>"
    )
    around = text_about("http://a.org/x", markup)
    assert "honey" in around
    assert len(text_about("http://a.org/x", markup * 5)) <= MAX_CHARS


def test_what_nobody_sees_is_left_out() -> None:
    hidden = "<script>var x</script><style>y</style><!-- z --><noscript><i>w</i></noscript><?php v ?>"
    assert text_about("http://a.org/x", f"before {hidden} in <a href='/x'>{hidden}link</a>{hidden} behind").split() == [
        "before",
        "in",
        "link",
        "behind",
    ]


def test_only_the_beginning_of_an_endless_page_is_read() -> None:
    for filling in ("word " * 100_000, "".join(f"<a href='/{number}'>n</a>" for number in range(10_000))):
        markup = f"<p><a href='/x'>first</a>{filling}</p><p><a href='/y'>last</a></p>"
        assert text_about("http://a.org/x", markup).startswith("first")
        assert text_about("http://a.org/y", markup) == ""


@given(
    st.lists(
        st.sampled_from(["<a href=/x>", "</a>", "<p>", "</p>", "t ", "茶", "<b>", "<a>", "<svg>", "</svg>", "<!--c-->"])
    )
)
def test_whatever_the_markup_the_text_is_short_and_printable(pieces: list[str]) -> None:
    around = text_about("http://a.org/x", "".join(pieces))
    assert len(around) <= MAX_CHARS
    assert "\n" not in around
    assert not {*around} - {*"tc 茶"}
