from collections.abc import Iterator
from itertools import product

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lxml import etree
from lxml.html import HtmlElement, XHTMLParser

from crawler_dedup.errors import BeyondLimits
from crawler_dedup.signing.embedded import find_embedded_content
from crawler_dedup.signing.features import size_in_letters
from crawler_dedup.signing.hidden import hidden_elements
from crawler_dedup.signing.limits import MAX_DEPTH
from crawler_dedup.signing.outline import read_outline
from crawler_dedup.signing.parsing import check_depth, parse
from crawler_dedup.signing.textblocks import Block
from tests.support.cases import read_cases

CASES = read_cases(__file__)["outline"]

INLINE = "abbr b bdi cite code data em font i ins kbd label mark q ruby s small span strong sub sup time u".split()
HIDDEN = (
    "aside audio canvas datalist dialog embed footer iframe input menu meter nav noembed noframes noscript object"
    " optgroup option progress script select style template title video"
).split()
OWN_BLOCK = "address article dd div dt figcaption form h1 h4 header legend li main p pre section summary td th".split()
LISTS = ["dl", "ol", "pre", "table", "ul"]


def blocks(html: str) -> list[Block]:
    return read_outline(parse(html.encode())).blocks


def texts_of(tree: HtmlElement) -> list[str]:
    return [block.text for block in read_outline(tree).blocks]


def texts(html: str) -> list[str]:
    return texts_of(parse(html.encode()))


def exactly(markup: str) -> HtmlElement:
    """Return the tree exactly as *markup* nests it, which the parser of HTML would repair."""
    root = etree.fromstring(f"<html><body>{markup}</body></html>", XHTMLParser())
    assert isinstance(root, HtmlElement)
    return root


# Blocks


def test_an_inline_element_does_not_split_a_block_and_every_other_one_is_a_block_of_its_own() -> None:
    for tag in INLINE:
        assert texts(f"<p>un<{tag}>brok</{tag}>en line</p>") == ["unbroken line"]
    for tag in (*OWN_BLOCK, *LISTS, "center", "my-element", "unheardof", "button"):
        assert texts_of(exactly(f"<div>a<{tag}>b</{tag}>c</div>")) == ["a", "b", "c"], tag


def test_elements_that_are_not_text_are_skipped_with_their_content() -> None:
    for tag in HIDDEN:
        markup = f"<div>before <{tag}>hidden <b>deep</b><p>deeper</p></{tag}>after</div>"
        assert texts_of(exactly(markup)) == ["before after"], tag


TEXT = "What stands in the harbour house: ropes, blocks and cleats, and above all hemp. " * 3
LISTED = "<li><a href='/'>The old harbour house</a></li>"
HALF = f"<div><p>{TEXT[:80]}<a href='/'>{TEXT[80:160]}</a></p></div>"
WHOLE_PAGE = f"<header>a</header><h1>Harbour</h1><div>{TEXT}</div>"
SWALLOWING = ["aside", "button", "dialog", "menu", "nav", "noscript"]


def test_an_element_that_contains_the_whole_page_by_mistake_is_read() -> None:
    for tag, part in product(SWALLOWING, ["<main></main>", "<article></article>", "<footer></footer>"]):
        tree = exactly(f"<div>menu</div><{tag}>{WHOLE_PAGE}{part}</{tag}>")
        assert texts_of(tree) == ["menu", "a", "Harbour", TEXT.strip()]


def test_what_follows_in_an_element_that_is_not_closed_is_read() -> None:
    for tag in "applet aside audio button canvas dialog menu nav object video".split():
        html = f"<body><h1>The old harbour house</h1><div><{tag}><h2>Ropes</h2><p>{TEXT * 3}</p></div></body>"
        assert texts(html) == ["The old harbour house", "Ropes", (TEXT * 3).strip()]


def test_an_element_that_has_no_content_in_html_is_empty_whichever_parser_reads_it() -> None:
    for tag in ["bgsound", "embed", "EMBED", "keygen", "wbr"]:
        page = "<title>{0}</title><p>a{0}b</p>{0}<h2>c</h2><p>{0}d<p>e</p><!-- {0} --></body></html>{0}<p>f"
        tree = parse(page.format(f"<{tag} src=x.mid hidden=true>").encode())
        closed = parse(page.format(f"<{tag} src=x.mid hidden=true></{tag}>").encode())
        assert read_outline(tree).blocks == read_outline(closed).blocks
        assert all(not len(element) and not element.text for element in tree.iter(tag.lower()))


def test_such_an_element_within_another_one_is_read() -> None:
    inner = f"<aside><h1>Harbour</h1><div>{TEXT}</div></aside>".replace("</aside>", "<footer></footer></aside>")
    tree = exactly(f"<nav><h1>Boats</h1><div>{TEXT}, {TEXT}</div><footer></footer>{inner}</nav>")
    assert texts_of(tree) == ["Boats", f"{TEXT}, {TEXT}".strip()]
    tree = exactly(f"<nav><h1>Boats</h1><div>{TEXT[:220]}</div><footer></footer>{inner}</nav>")
    assert texts_of(tree) == ["Boats", TEXT[:220].strip(), "Harbour", TEXT.strip()]


def test_an_element_that_contains_no_whole_page_or_less_than_the_rest_is_not_read() -> None:
    parts = {"text": TEXT, "short": TEXT[:230], "list": f"<ul>{40 * LISTED}</ul>", "linked": 8 * HALF}
    for markup in CASES["not_read"]:
        read = texts_of(exactly(f"<p>text</p>{markup.format(**parts)}"))
        assert read[0] == "text"
        assert not {"Harbour", "About me"} & {*read}


def test_a_page_for_readers_without_scripts_is_read_whatever_follows_it() -> None:
    assert texts(f"<noscript><p>{TEXT * 6}</p></noscript><p>Loading</p>") == [(TEXT * 6).strip(), "Loading"]


def test_blocks_in_elements_with_the_same_names_have_the_same_kind_of_path() -> None:
    page = "<ul><li><h3>a</h3>b</li><li><h3>c</h3>d</li></ul><ol><li><h3>e</h3></li></ol>"
    kinds = {block.text: block.path_kind for block in blocks(page)}
    assert kinds["a"] == kinds["c"] != kinds["b"] == kinds["d"]
    assert kinds["e"] not in (kinds["a"], kinds["b"])


def test_a_block_that_links_only_within_the_page_has_no_kind_of_path() -> None:
    markup = "<p><a href=#x>a</a></p><p><a href=/x>b</a></p><p>c</p><p><a href=#x>d</a> <a href=/y>e</a></p>"
    assert [block.path_kind == 0 for block in blocks(markup)] == [True, False, False, False]


# Groups


def test_paragraphs_of_one_element_and_lines_of_one_list_belong_together() -> None:
    for (markup, expected), tag in product(CASES["groups"], LISTS):
        texts_of_groups: dict[int, list[str]] = {}
        for block in read_outline(exactly(markup.format(list=tag))).blocks:
            texts_of_groups.setdefault(block.group, []).append(block.text)
        assert [" ".join(texts_of_group) for texts_of_group in texts_of_groups.values()] == expected


def test_a_group_is_identified_by_the_number_of_its_element() -> None:
    page = read_outline(exactly("<div><p>a</p></div><ul><li>b</li></ul>"))
    # 0 html, 1 body, 2 div, 3 p, 4 ul, 5 li
    assert page.parents == [0, 0, 1, 2, 1, 4]
    assert [block.group for block in page.blocks] == [2, 4]


# Pages as they are

NESTED = ["div", "b", "ul", "my-element", "blockquote"]


def nested(tag: str, depth: int) -> HtmlElement:
    """Return a page whose elements are nested *depth* deep, ``html`` and ``body`` among them."""
    return parse(f"{f'<{tag}>' * (depth - 2)}deep words".encode())


def test_the_deepest_page_within_the_limit_can_be_read() -> None:
    for tag in NESTED:
        tree = nested(tag, MAX_DEPTH)
        check_depth(tree)
        assert texts_of(tree) == ["deep words"]


def test_the_limit_of_depth_is_the_same_for_every_extractor() -> None:
    for tag in [tag for tag in NESTED if tag != "b"]:
        tree = nested(tag, MAX_DEPTH + 1)
        with pytest.raises(BeyondLimits):
            check_depth(tree)
        with pytest.raises(BeyondLimits):
            read_outline(tree)


def test_pages_show_what_a_browser_shows_also_broken_ones() -> None:
    for html, expected in CASES["blocks"]:
        assert texts(html) == expected


# All trees


BREAKING = [*OWN_BLOCK, *LISTS, "blockquote", "tr", "my-element"]


def markup_of(tags: list[str], text: str, *, marks: bool) -> st.SearchStrategy[str]:
    """Return markup of nested *tags*; with comments, instructions and line breaks if *marks*."""
    leaves = st.text(text, max_size=5)
    if marks:
        leaves |= st.sampled_from(["<!-- never -->", "<?never never?>", "<br/>"])

    def around(contents: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.builds(
            lambda tag, content: f"<{tag}>{''.join(content)}</{tag.split()[0]}>",
            st.sampled_from(tags),
            st.lists(contents, max_size=5),
        )

    return st.lists(st.recursive(leaves, around, max_leaves=30), max_size=6).map("".join)


LINK = 'a href="/x"'


@settings(deadline=None)
@given(markup_of([*INLINE, LINK, LINK, LINK, "a", *BREAKING, *HIDDEN], "ab茶é \n\u00a0", marks=True))
def test_every_visible_character_stands_in_exactly_one_block(markup: str) -> None:
    tree = exactly(markup)
    before = etree.tostring(tree)
    page = read_outline(tree)
    shown = "//text()[not(" + " or ".join(f"ancestor::{tag}" for tag in HIDDEN) + ")]"
    visible_texts = tree.xpath(shown)
    assert isinstance(visible_texts, list)
    assert "".join(" ".join(block.text for block in page.blocks).split()) == "".join(
        "".join(map(str, visible_texts)).split()
    )

    assert page.parents[0] == 0
    assert all(parent < number for number, parent in enumerate(page.parents[1:], 1))
    for block in page.blocks:
        assert block.text == " ".join(block.text.split()) != ""
        assert 0 <= block.linked <= block.size == size_in_letters(block.text)
        assert block.group < len(page.parents)
    assert etree.tostring(tree) == before


@settings(deadline=None)
@given(markup_of([*INLINE, LINK, LINK, "a", *BREAKING], "ab茶é", marks=False))
@example('<div>runningtext<a href="/x"><div>card</div></a>goeson</div>')
def test_text_in_links_is_counted_wherever_the_links_begin_and_end(markup: str) -> None:
    tree = exactly(markup)
    texts_in_links = tree.xpath("//text()[ancestor::a[@href]]")
    assert isinstance(texts_in_links, list)
    assert sum(block.linked for block in read_outline(tree).blocks) == sum(
        size_in_letters(str(text_in_link)) for text_in_link in texts_in_links
    )


# Pictures, and texts outside of blocks

ADDRESSES = {"iframe": ["data-src", "src"], "img": ["data-src", "src", "srcset"], "object": ["data"], "video": ["src"]}
IN_TEXT = ("aside", "dialog", "textarea")

EMBEDDED = st.recursive(
    st.sampled_from(["a", "b ", "<img src=1>", "<img src=''>", "<img src=2 hidden>", "<img srcset=5>", "<!-- x -->"])
    | st.sampled_from(
        ["<img data-src=6 src=7>", "<object data=8>o</object>", "<style>s</style>", "<iframe src=3>f</iframe>"]
    ),
    lambda contents: st.builds(
        lambda tag, attribute, parts: f"<{tag}{attribute}>{''.join(parts)}</{tag.split()[0]}>",
        st.sampled_from(["div", "p", "aside", "button", "dialog", "b", "template", "video src=4"]),
        st.sampled_from(["", "", " hidden", " style='display:none'", " style='visibility:visible'"]),
        st.lists(contents, max_size=4),
    ),
    max_leaves=25,
)


def pieces(node: HtmlElement, hidden: set[HtmlElement], *, is_inside: bool) -> Iterator[tuple[str, bool]]:
    """Yield the pictures and texts of the page outside of its blocks, found in its tree."""
    is_shown = node not in hidden
    if sources := [node.get(name) for name in ADDRESSES.get(node.tag, []) if name in node.attrib]:
        yield sources[0], is_shown
    is_inside = is_inside or node.tag in IN_TEXT
    if node.text and isinstance(node.tag, str) and is_inside and node.tag != "style":
        yield node.text, is_shown
    for child in node:
        yield from pieces(child, hidden, is_inside=is_inside)
        if child.tail and is_inside:
            yield child.tail, is_shown


@given(st.lists(EMBEDDED).map("".join))
def test_pictures_and_texts_outside_of_blocks_are_listed_in_the_order_of_the_page(markup: str) -> None:
    tree = parse(f"<body>{markup}".encode())
    expected = list(pieces(tree, hidden_elements(tree), is_inside=False))
    shown = {piece for piece, is_shown in expected if is_shown}
    content = find_embedded_content(tree)
    assert list(content) == list(dict.fromkeys(piece for piece, _ in expected))
    assert {piece for piece, is_shown in content.items() if is_shown} == shown
