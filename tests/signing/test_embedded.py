from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st
from lxml.html import HtmlElement

from crawler_dedup.signing.embedded import find_embedded_content
from crawler_dedup.signing.hidden import hidden_elements
from crawler_dedup.signing.parsing import parse

ADDRESSES = {"iframe": ["data-src", "src"], "img": ["data-src", "src", "srcset"], "object": ["data"], "video": ["src"]}
TEXTS = ("aside", "button", "dialog", "textarea")

MARKUP = st.recursive(
    st.sampled_from(
        [
            "a",
            "b ",
            "<img src=1>",
            "<img src=''>",
            "<img src=2 hidden>",
            "<img srcset=5>",
            "<img data-src=6 src=7>",
            "<object data=8>o</object>",
            "<!-- x -->",
            "<style>s</style>",
            "<iframe src=3>f</iframe>",
        ]
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
    is_inside = is_inside or node.tag in TEXTS
    is_data = node.tag == "script" and node.get("type") == "application/json"
    if node.text and isinstance(node.tag, str) and (is_data or (is_inside and node.tag != "style")):
        yield node.text, is_shown
    for child in node:
        yield from pieces(child, hidden, is_inside=is_inside)
        if child.tail and is_inside:
            yield child.tail, is_shown


@given(st.lists(MARKUP).map("".join))
def test_pictures_and_texts_outside_of_blocks_are_listed_in_the_order_of_the_page(markup: str) -> None:
    tree = parse(f"<body>{markup}".encode())
    expected = list(pieces(tree, hidden_elements(tree), is_inside=False))
    shown = {piece for piece, is_shown in expected if is_shown}
    content = find_embedded_content(tree)
    assert list(content) == list(dict.fromkeys(piece for piece, _ in expected))
    assert {piece for piece, is_shown in content.items() if is_shown} == shown


def test_data_in_a_script_element_is_content_and_a_program_is_not() -> None:
    tree = parse(b"<script>run()</script><script type='application/json'>{}</script><script src='/x.js'></script>")
    assert find_embedded_content(tree) == {"{}": True}
