"""The native core reads the same outlines as Python."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from lxml import etree, html

from crawler_dedup.signing.outline import read_outline
from crawler_dedup.signing.parsing import find_title, parse
from tests.support.examples import examples
from tests.support.indexing import run
from tests.support.native import assert_equal, require_function
from tests.support.soup import pages

TAGS = (
    "a a a article aside b blockquote br dd div div dl footer h1 h2 h6 li li main nav ol p p pre span svg table td text tr"
    " tspan title ul x-y"
).split()
ATTRIBUTES = [
    "",
    "",
    "",
    " hidden",
    " href=/a",
    " href=#a",
    " href",
    " href=&amp;#",
    " style='display:none'",
    " style='visibility: HIDDEN'",
    " style='visibility:visible'",
    " style='color:red'",
    " style='di\u017fplay:none'",
    " class=x style='x' hidden",
]
TEXTS = [
    "word",
    "some words of a text ",
    " ",
    "\n\t",
    "\x85\u2003\u00a0",
    "\u200b",
    "茶馆",
    "คำ",
    "한글 1.5",
    "e\u0301",
    "🙂",
    "a\x1cb",
    "&nbsp;",
    "<!-- c -->",
    "<?pi?>",
    "long enough to be a whole text of its own, " * 6,
]

elements = st.recursive(
    st.sampled_from(TEXTS),
    lambda contents: st.builds(
        "<{0}{1}>{2}</{0}>".format,
        st.sampled_from(TAGS),
        st.sampled_from(ATTRIBUTES),
        st.lists(contents, max_size=5).map("".join),
    ),
    max_leaves=40,
)
documents = st.lists(elements, max_size=6).map("".join)


def read(tree: html.HtmlElement, max_depth: int) -> tuple[object, ...]:
    page = read_outline(tree, max_depth)
    return page.blocks, page.parents, page.linked, page.hides


def assert_same(tree: html.HtmlElement, max_depth: int = 250) -> None:
    assert_equal(read, tree, max_depth)
    assert_equal(find_title, tree)


@settings(max_examples=examples(2000), suppress_health_check=list(HealthCheck))
@given(documents, st.sampled_from([1, 2, 3, 5, 250]))
@example("<ul><li><p>a<p>b</ul><table><tr><td>a<td><div>b</div>", 250)
@example("<svg><title>n</title><text>a</text>b<text> </text></svg><title>t</title>", 250)
@example("<aside><h1>a</h1><article>" + "text of a page " * 40 + "</article></aside>b", 250)
@example("<p>a</html><p>b<p hidden>c", 250)
@example("<a href=/x>one<p>two</p>three</a><a href=#y>four</a>", 250)
@example("<b style='display:none'>a<p>b</p>c</b>d<p>e", 250)
def test_core_and_python_read_the_same_outline_of_any_document(markup: str, max_depth: int) -> None:
    assert_same(parse(markup.encode("utf-8", "surrogatepass"), "utf-8"), max_depth)


# Eight letters are read at a time, and scripts by 64 characters: those at both ends of wide ones, and white space between.
SPACED = (
    "aaaab  .~\x7f\n\t\x0b\x1c\x1b\xa0\u1680\u2000\u3000\u3040\u3041\u30ff\u3100\u9fff\ua000\uabff\uac00\ud7a3\ud7a4"
    "茶é🙂"
)


@settings(max_examples=examples(2000), suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.text(st.sampled_from(SPACED), max_size=40), max_size=6), st.sampled_from(["<b hidden>", "<a href=/x>"])
)
def test_core_and_python_read_the_same_outline_with_spaces_anywhere(texts: list[str], tag: str) -> None:
    assert_same(parse(tag.join(["<p>", *texts]).encode(), "utf-8"))


@settings(max_examples=examples(1000), suppress_health_check=list(HealthCheck))
@given(pages)
def test_core_and_python_read_the_same_outline_of_any_bytes(body: bytes) -> None:
    try:
        tree = parse(body)
    except ValueError:
        return
    assert_same(tree)


@pytest.mark.parametrize(
    "markup",
    [
        "<html xmlns='http://www.w3.org/1999/xhtml'><body><p>a</p>b</body></html>",
        "<html><body><p xml:hidden='1'>a</p><x:p xmlns:x='http://x.org/'>b</x:p></body></html>",
        "<!DOCTYPE html [<!ATTLIST p hidden CDATA 'x'>]><html><body><p>a</p>b</body></html>",
        "<!DOCTYPE html [<!ENTITY e 'x'>]><html><body><p>a &e; b</p></body></html>",
        "<html><body><p><![CDATA[a <b> ]]>c</p><!-- d -->e<?f g?>h</body></html>",
        "<html><body><![CDATA[ ]]><p/>x<p></p></body></html>",
    ],
)
def test_core_and_python_read_the_same_outline_of_xml(markup: str) -> None:
    for resolve in (False, True):
        assert_same(etree.fromstring(markup, html.XHTMLParser(resolve_entities=resolve, no_network=True)))


def test_core_and_python_read_the_same_outline_of_a_tree_that_was_changed() -> None:
    tree = parse(b"<div>a<p>b</p>c</div>d")
    tree.find(".//p").tail = None
    tree.find(".//p").append(etree.Comment("x"))
    tree.find(".//div").text = ""
    tree.find(".//div").insert(0, etree.Entity("nbsp"))
    tree.find(".//div")[0].tail = "behind"
    assert_same(tree)
    assert_same(tree.find(".//div"))


@pytest.mark.parametrize("depth", [1, 2, 249, 250, 251, 252, 2000])
def test_core_and_python_read_the_same_outline_at_the_limit_of_nesting(depth: int) -> None:
    for tag in ("div", "b", "a href=/x", "p style='display:none'"):
        tree = parse((f"<{tag}>" * depth + "text").encode())
        assert_same(tree)


@pytest.mark.parametrize(
    "markup",
    [
        "<p>" * 100_000 + "x",
        "a<!-- b -->" * 100_000,
        "<b hidden>x</b>" * 50_000,
        "<b style='display:none'>x</b><i>y</i>" * 30_000,
        "".join(f"<t{number}>x</t{number}>" for number in range(30_000)),
        "<ul>" + "<li><p>a<p>b" * 30_000,
        "<aside><h1>x</h1><main>" + "y " * 300 + "</main></aside>" * 200,
        "<svg>" + "<text>x</text>" * 30_000 + "</svg>",
        "\u3000 " * 300_000 + "x",
        "<p style='" + "display" * 100_000 + "'>x",
    ],
)
def test_core_and_python_read_the_same_outline_of_large_documents(markup: str) -> None:
    assert_same(parse(markup.encode(), "utf-8"))


@pytest.mark.parametrize("charset", ["ISO-8859-9", "UTF-8"])
def test_core_and_python_read_the_same_outline_in_a_locale_with_other_small_letters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, charset: str
) -> None:
    """In Turkish the letter I has another small letter."""
    require_function("read_outline")
    name = f"tr_TR.{charset}"
    try:
        subprocess.run(["localedef", "-i", "tr_TR", "-f", charset, tmp_path / name], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no Turkish locale can be made")
    monkeypatch.setenv("LOCPATH", str(tmp_path))
    monkeypatch.setenv("LC_ALL", name)
    program = """
    import locale
    try:
        locale.setlocale(locale.LC_CTYPE, "")
    except locale.Error:
        raise SystemExit(77)
    from crawler_dedup.signing import native, outline, parsing
    page = b"<p>x</p><p style='DISPLAY:none'>y</p><p style='VISIBILITY:hidden'>z</p>"
    print(locale.setlocale(locale.LC_CTYPE), native.describe_core() != "Python")
    print([block.shown for block in outline.read_outline(parsing.parse(page)).blocks])
    """
    outcome = run(program)
    if outcome[0] == 77:
        pytest.skip(f"the locale {name} was compiled, but this system does not take it")
    assert outcome == (0, f"{name} True\n['x', '', '']\n", "")
