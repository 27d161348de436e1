import tracemalloc
from itertools import product
from pathlib import Path
from typing import get_args

import pytest

from crawler_dedup import Config, Deduplicator, OwnText
from crawler_dedup.owntext.elements import Elements
from crawler_dedup.owntext.text import own_text_of
from crawler_dedup.pagetext import Format, OwnTextJob
from crawler_dedup.signing.maintext import read_page
from crawler_dedup.signing.parsing import parse
from tests.support.prose import sentences


def lines(seed: int, count: int) -> list[str]:
    return [sentence.strip() for sentence in sentences(seed, count)]


NOTICE, *IMPRINT = lines(37, 5)
HEADING = "Related words"
SITE = "http://reeds.example"


def page(title: str, *texts: str) -> bytes:
    """Return a page of a site that repeats a notice above and an imprint below the texts of each page."""
    body = "".join(text if text.startswith("<") else f"<p>{text}</p>" for text in texts)
    below = "".join(f"<p>{text}</p>" for text in IMPRINT)
    return (
        f"<html><head><title>{title}</title></head><body><div><h1>{title}</h1><p>{NOTICE}</p>{body}{below}</div></body></html>"
    ).encode()


def learn(deduplicator: Deduplicator) -> None:
    for number in range(16):
        own = lines(number, 6)
        body = page(f"Reed {number}", *own[:3], f"<h2>{HEADING}</h2>", *own[3:])
        assert deduplicator.check(f"{SITE}/{number}", body).passes


def lines_of(deduplicator: Deduplicator, body: bytes, text_format: Format = "text") -> list[str]:
    return deduplicator.own_text(f"{SITE}/new", body, format=text_format).text.splitlines()


def text_of(markup: str, text_format: Format = "text", title: str = "Rain") -> str:
    read = read_page(parse(f"<title>{title}</title>{markup}".encode()), elements=Elements)
    return own_text_of(read, OwnTextJob(format=text_format)).text


OWN = lines(38, 6)
LONG = [f"{first} {second}" for first, second in zip(OWN, lines(36, 6), strict=True)]
TEXTS = [" ".join(lines(35, 6)), *LONG[:3]]
"""The first is the main text, but not even half of the page."""
SECTIONS = [f"<section><div><p>{text}</p></div></section>" for text in TEXTS]


def test_what_the_site_repeats_is_left_out_once_the_site_is_known(tmp_path: Path) -> None:
    body = page("Sedge", *OWN)
    with Deduplicator.open(tmp_path, Config()) as deduplicator:
        unknown = deduplicator.own_text(f"{SITE}/new", body)
        learn(deduplicator)
        known = deduplicator.own_text(f"{SITE}/new", body, with_removed=True)
    assert unknown == OwnText("\n".join(["Sedge", NOTICE, *OWN, *IMPRINT]))
    assert known.text.splitlines() == ["Sedge", *OWN]
    assert (known.site_known, known.snapshot, known.removed_blocks) == (True, 16, (NOTICE, *IMPRINT))
    assert 0.3 < known.removed < 0.6


def test_a_text_that_others_repeat_stays_where_it_is_the_text_of_the_page(tmp_path: Path) -> None:
    imprint = f"<title>Imprint</title><div><h1>Imprint</h1>{''.join(f'<p>{text}</p>' for text in IMPRINT)}</div>"
    with Deduplicator.open(tmp_path, Config()) as deduplicator:
        learn(deduplicator)
        assert lines_of(deduplicator, imprint.encode()) == ["Imprint", *IMPRINT]


def test_labels_that_the_site_repeats_are_no_text_of_a_page_without_one(tmp_path: Path) -> None:
    recent = "".join(f"<li><a href=/{day}>Entry {day}</a><div>July {day}, 2017</div></li>" for day in range(10, 20))
    entry = "<p><a href=/77>Sedge and rushes</a>, March 3</p>"
    with Deduplicator.open(tmp_path, Config()) as deduplicator:
        for number in range(16):
            body = page(f"Reed {number}", *lines(number, 6), f"<ul>{recent}</ul>")
            assert deduplicator.check(f"{SITE}/{number}", body).passes
        archive = f"<title>Reeds</title><div><h1>Archive</h1>{entry}</div><ul>{recent}</ul>"
        assert lines_of(deduplicator, archive.encode()) == ["Archive", "Sedge and rushes, March 3"]


def test_a_page_without_a_main_text_has_the_blocks_that_are_its_own(tmp_path: Path) -> None:
    entry = "<a href=/77>Sedge</a>"
    with Deduplicator.open(tmp_path, Config()) as deduplicator:
        learn(deduplicator)
        assert lines_of(deduplicator, f"<title>Tag</title><p>{NOTICE[:30]}</p><p>{entry}</p>".encode()) == [
            NOTICE[:30],
            "Sedge",
        ]


def test_a_short_line_that_pages_repeat_stays_between_lines_of_the_page(tmp_path: Path) -> None:
    body = page("Sedge", *OWN[:3], f"<h2>{HEADING}</h2>", *OWN[3:], f"<h2>{HEADING}</h2>")
    with Deduplicator.open(tmp_path, Config()) as deduplicator:
        learn(deduplicator)
        assert lines_of(deduplicator, body) == ["Sedge", *OWN[:3], HEADING, *OWN[3:]]


def test_a_heading_is_left_out_with_its_text(tmp_path: Path) -> None:
    body = page("Sedge", f"<h2>{HEADING}</h2>", f"<p>{NOTICE}</p>", *OWN)
    with Deduplicator.open(tmp_path, Config()) as deduplicator:
        learn(deduplicator)
        assert lines_of(deduplicator, body) == ["Sedge", *OWN]


def test_headings_are_there_even_if_they_are_links_or_outside_of_the_text() -> None:
    headings = [f"<h2><a href=/{number}>Reed {number}</a></h2>" for number in range(3)]
    posts = "".join(f"<div>{heading}</div><p>{text}</p>" for heading, text in zip(headings, LONG, strict=False))
    found = text_of(
        f"<header><h1>Rain and reeds</h1><p><a href=/>Older posts</a></p></header><div>{OWN[4]}{posts}</div>",
        title="Rain and reeds",
    )
    assert [line for line in found.splitlines() if len(line) < 15] == ["Rain and reeds", "Reed 0", "Reed 1", "Reed 2"]


def test_each_entry_has_its_title_however_long_and_labels_are_left_out() -> None:
    links = [
        f"<div><h4><a href=/{number}>{title}</a></h4><div><a href=/s>Source</a></div></div>"
        for number, title in enumerate(LONG[3:])
    ]
    entries = "".join(f"{link}<div><p>{own}</p></div>" for link, own in zip(links, LONG, strict=False))
    label = "<div>Advertisement</div>"
    body = label.join(f"<p>{own}</p><p>{own[::-1]}</p>" for own in OWN[:4])
    assert text_of(f"<div>{entries}</div>").splitlines() == [
        line for pair in zip(LONG[3:], LONG, strict=False) for line in pair
    ]
    assert "Advertisement" not in text_of(f"<div>{body}</div>")


@pytest.mark.parametrize(("between", "are_there"), [("", True), ("<h2>Read on</h2>", False)])
def test_the_titles_of_an_archive_are_there_below_its_text(between: str, are_there: bool) -> None:
    titles = "".join(f"<section><h3><a href=/{number}>{own}</a></h3></section>" for number, own in enumerate(OWN))
    found = text_of(f"<div><div><p>{LONG[0]}</p><p>{LONG[1]}</p></div>{between}<div>{titles}</div></div>").splitlines()
    assert found == [*LONG[:2], *(OWN if are_there else [])]


def test_a_long_heading_is_there_if_a_heading_in_the_same_place_is() -> None:
    questions = ["May I cook rice?", *LONG[4:]]
    contents = "".join(f"<dt><a href=#{question[:3]}>{question}</a></dt>" for question in questions)
    answers = [
        f"<div><div><h2>{question}</h2></div><p>{own}</p><p>{own[::-1]}</p></div>"
        for question, own in zip(questions, LONG, strict=False)
    ]
    found = text_of(f"<div><dl>{contents}</dl>{answers[1]}{answers[0]}{answers[2]}</div>").splitlines()
    assert [line for line in found if line in questions] == [LONG[4], questions[0], LONG[5]]


@pytest.mark.parametrize("head", ["<h2>References</h2>", "<p>References:</p>", "<p>参考：</p>"])
def test_references_below_a_heading_or_colon_are_there_and_repeated_links_are_not(head: str) -> None:
    references = "".join(f"<li><a href=/{number}>Reference {number}</a>" for number in range(2))
    back = "<p><a href=#top>back to top</a></p>"
    body = back.join(f"<h2>Section {number}</h2><p>{text}</p>" for number, text in enumerate(LONG[:4]))
    found = text_of(f"<div>{body}{head}<ul>{references}</ul></div>").splitlines()
    assert found[-2:] == ["Reference 0", "Reference 1"]
    assert "back to top" not in found


def test_a_text_that_is_there_for_wide_and_narrow_screens_is_there_once() -> None:
    assert text_of("".join(2 * SECTIONS)) == text_of("".join(SECTIONS))


def test_all_entries_of_a_list_are_there_if_most_of_them_are() -> None:
    entries = [*LONG[:3], f"<a href=/1>{OWN[4]}</a>", *LONG[3:5]]
    text = text_of("<div>" + "".join(f"<section><p>{entry}</p></section>" for entry in entries) + "</div>")
    assert text.splitlines() == [*LONG[:3], OWN[4], *LONG[3:5]]


CODE = "def cook(rice):\n    if rice:\n\n        return `x`"


@pytest.mark.parametrize("text_format", ["text", "markdown"])
def test_code_keeps_its_white_space(text_format: Format) -> None:
    text = text_of(f"<div><p>{OWN[0]}</p><pre><code>\n{CODE}\n</code></pre><p>{OWN[1]}</p></div>", text_format)
    assert CODE in text


@pytest.mark.parametrize("white_space", [" ", "\r\n"])
def test_lines_that_br_ends_are_lines(white_space: str) -> None:
    lines = f"{OWN[0]}<br>{white_space}<br>{OWN[1]}{white_space}<b>{OWN[2]}</b>{white_space}<br><code>{OWN[3]}</code>"
    markup = f"<div><h2>Rain<br>again</h2><p>{lines}</p><table><tr><td>x<td>y<tr><td>a<br>b<td>c</table>{OWN[4]}</div>"
    assert text_of(markup).splitlines()[2:5] == [OWN[0], f"{OWN[1]} {OWN[2]}", OWN[3]]
    markdown = text_of(markup, "markdown")
    assert f"## Rain again\n\n{OWN[0]}\n{OWN[1]} {OWN[2]}\n`{OWN[3]}`\n\n" in markdown
    assert "| a b | c |" in markdown


def test_markdown_has_headings_lists_tables_quotations_and_code() -> None:
    markup = f"""<div><h2>Heading</h2><p>{OWN[0]} It is <code>a|b</code> or
        <code>c <kbd>d</kbd> <code><samp>e</samp></code></code>.</p>
        <ul><li>First item<ul><li>Inner item</ul><li><p>Second item</p><p>Its second paragraph</p></ul>
        <p>{OWN[1]}</p><ol><li>One step<li>Two steps</ol><blockquote><p>{OWN[2]}</p></blockquote>
        <table><tr><th>Name<th>Minutes<tr><td><td>40<tr><td>white | red<td>20</table><p>{OWN[3]}</p>
        <pre>```\n  x</pre><p>{OWN[4]}</p></div>"""
    assert (
        text_of(markup, "markdown")
        == f"""## Heading

{OWN[0]} It is `a|b` or `c d e`.

- First item
  - Inner item
- Second item
  Its second paragraph

{OWN[1]}

1. One step
2. Two steps

> {OWN[2]}

| Name | Minutes |
| --- | --- |
|  | 40 |
| white \\| red | 20 |

{OWN[3]}

````
```
  x
````

{OWN[4]}"""
    )


def test_hidden_text_is_left_out() -> None:
    for markup in [
        "<p style=display:none>{}</p>",
        "<p hidden>{}</p>",
        "<p>It is <span style='display: none'>{}</span> here.</p>",
    ]:
        for text_format in ("text", "markdown"):
            text = text_of(f"<div><p>{OWN[0]}</p>{markup.format(OWN[1])}<p>{OWN[2]}</p></div>", text_format)
            assert OWN[1] not in text
            assert OWN[2] in text


def test_what_is_marked_as_something_beside_the_text_is_left_out() -> None:
    for mark in [
        "id=comments",
        "class='cookie-banner'",
        "class=relatedPosts",
        "role=dialog",
        "class='newsletter signup'",
    ]:
        for around in ("<div>{}<div {}>{}</div></div>", "<div><div>{}</div><div {}>{}</div></div>"):
            text = "".join(f"<p>{own}</p>" for own in LONG[:4])
            assert LONG[4] not in text_of(around.format(text, mark, f"<p>{LONG[4]}</p>"))
        # A mark on most of the page says nothing about a part of it; nor do marks on all of its parts.
        assert OWN[4] in text_of(f"<div {mark}><p>{OWN[4]}</p><p>{OWN[3]}</p></div>")
        assert "Reed 2" in text_of("".join(f"<div {mark}><div>Reed {number}</div></div>" for number in range(3)))


def test_buttons_are_left_out_unless_they_are_headings() -> None:
    text = "".join(f"<p>{line}</p>" for line in LONG[:3])
    body = f"<h1>Rain</h1>{text}<h3><button>{HEADING}</button></h3>{text}<button>Add to basket</button>{text}"
    shown = text_of(f"<article>{body}</article>").splitlines()
    assert HEADING in shown
    assert "Add to basket" not in shown


def test_a_short_list_below_a_paragraph_in_the_same_element_is_there() -> None:
    steps = "<ol><li>Cook the rice<li>Cut the reeds</ol>"
    body = "".join(f"<p>{text}</p>" for text in LONG)
    assert text_of(f"<div>{body}{steps}</div>").splitlines() == [*LONG, "Cook the rice", "Cut the reeds"]


def test_notes_below_a_text_are_there() -> None:
    note = "<li><p>Rice, of course. <a href=#n>back</a></p></li>"
    body = "".join(f"<p>{text}</p>" for text in LONG)
    assert text_of(f"<div>{body}<div class=footnotes><ol>{note}</ol></div></div>").endswith("\nRice, of course. back")


def test_a_short_text_beside_a_long_list_of_links_with_dates_is_there() -> None:
    short = OWN[0][:60]
    links = "".join(
        f"<li><a href=/{number}>Post {number}</a><div>May {number}, 2012</div></li>" for number in range(1, 20)
    )
    assert text_of(f"<div><p>{short}</p><div class=sidebar><ul>{links}</ul></div></div>") == short


def test_an_article_in_several_elements_is_there() -> None:
    first, second, other = (
        f"<section><p>{'</p><p>'.join(texts)}</p></section>" for texts in (LONG[:4], LONG[4:5], LONG[5:])
    )
    found = text_of(f"<h1>Rain</h1>{first}<img src=/rain.jpg>{second}<h2>The sea</h2>{other}").splitlines()
    assert found == LONG[:5]


def test_a_short_article_above_long_comments_is_there() -> None:
    comments = "".join(f"<div class=comment><p>{text}</p><p>{text[::-1]}</p></div>" for text in LONG)
    article = f"<h1>Rain</h1><div><p>{OWN[0]}</p><p>{OWN[1]}</p></div>"
    found = text_of(f"<div>{article}<div>{comments}</div></div>").splitlines()
    assert {OWN[0], OWN[1], *LONG} <= set(found)


def test_an_article_among_comments_of_nearly_the_whole_page_is_there() -> None:
    comments = "".join(f"<li class=comment><p>{text}</p><p>{text[::-1]}</p></li>" for text in LONG[1:])
    article = f"<article><h1>Rain</h1><ul><li><a href=/before>Before</a></ul><div><p>{LONG[0]}</p></div></article>"
    found = text_of(f"<main>{article}<div id=comments><h3>Answers</h3><ul>{comments}</ul></div></main>").splitlines()
    assert set(LONG) <= set(found)


def test_sections_outside_of_the_main_element_are_left_out() -> None:
    found = text_of(f"<main>{''.join(SECTIONS[:3])}</main>{SECTIONS[3]}").splitlines()
    assert LONG[1] in found
    assert LONG[2] not in found


def test_sections_with_many_links_are_left_out() -> None:
    links = "".join(f"<p><a href=/{number}>The sea, page {number}</a></p>" for number in range(16))
    found = text_of(
        f"{''.join(SECTIONS)}<section><div><p>{LONG[4]}</p><p>{LONG[5]}</p>{links}</div></section>"
    ).splitlines()
    assert LONG[2] in found
    assert LONG[4] not in found


def test_different_links_between_texts_of_a_page_are_there() -> None:
    links = [
        f"<li><a href=/{number}>{text}</a></li>" for number, text in enumerate(("reeds", "sedges", "rushes", "mosses"))
    ]
    found = text_of(
        f"<div><p>{LONG[0]}</p><p>{LONG[1]}</p><ul>{''.join(links)}</ul><p>{LONG[2]}</p></div>"
    ).splitlines()
    assert {"reeds", "mosses"} <= set(found)


def test_long_names_of_classes_are_not_remembered() -> None:
    tracemalloc.start()
    try:
        for number in range(100):
            assert OWN[0] in text_of(f"<div class='{number}{'x' * 100_000}'><p>{OWN[0]}</p></div>")
        assert tracemalloc.get_traced_memory()[0] < 1_000_000
    finally:
        tracemalloc.stop()


def test_all_sections_of_a_page_of_many_sections_are_its_text() -> None:
    sections = "".join(
        f"<section><div><h2>Section {number}</h2></div><div><p>{text}</p></div></section>"
        for number, text in enumerate(TEXTS)
    )
    found = text_of(sections + "<section><p>Small print</p></section>").splitlines()
    assert found == [line for number, text in enumerate(TEXTS) for line in (f"Section {number}", text)]


def test_a_page_that_is_nested_deep_or_long_has_a_text(tmp_path: Path) -> None:
    bodies = [
        b"<div>" * 1000 + b"deep words" + b"</div>" * 1000,
        b"<p>" + b"<code>" * 90 + b"deep words",
        b"<p>" + b"<code>" * 90 + b"x <!---->" * 100_000 + b"deep words",
        b"<table>" + 90 * b"<tr><td><table>" + b"deep words",
        b"<ul><li>" * 45 + b"deep words",
        b"<blockquote>" * 90 + b"deep words",
        b"<table><tr>" + 10_000 * b"<td>x" + 10_000 * b"<tr><td>deep words",
        b"<pre>" + 40_000 * b"<code>x</code>\n" + b"deep words",
        b"<ul>" + 40_000 * b"<li>deep words",
    ]
    with Deduplicator.open(tmp_path, Config()) as deduplicator:
        for body, text_format in product(bodies, get_args(Format)):
            assert "deep words" in deduplicator.own_text(SITE, body, format=text_format).text.replace("`", "")
