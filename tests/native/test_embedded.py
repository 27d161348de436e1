"""The native core finds the same embedded content as Python."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from lxml import etree, html

from crawler_dedup.signing.embedded import find_embedded_content
from crawler_dedup.signing.parsing import parse
from tests.support.examples import examples
from tests.support.native import assert_equal
from tests.support.soup import pages

TAGS = (
    "aside audio b button dialog div embed i iframe img img object p script source style svg desc title textarea video"
    " metadata"
).split()
ATTRIBUTES = [
    "",
    "",
    " hidden",
    " src=/a.png",
    " src",
    " data-src='b c' src=d",
    " data-original=&eacute;",
    " data=e data-lazy-src=f",
    " srcset='g 2x'",
    " type=application/json",
    " type=text/plain",
    " style='display:none'",
    " style='visibility:hidden'",
    " style='visibility:visible' src=h",
    " style='di\u017fplay:none' src=i",
]
TEXTS = ["word", "words ", " ", "\n", "茶馆 é", '{"a": 1}', "<!-- c -->", "<?pi?>", "&nbsp;", "</html>"]

elements = st.recursive(
    st.sampled_from(TEXTS),
    lambda contents: st.builds(
        "<{0}{1}{2}>{3}</{0}>".format,
        st.sampled_from(TAGS),
        st.sampled_from(ATTRIBUTES),
        st.sampled_from(ATTRIBUTES),
        st.lists(contents, max_size=5).map("".join),
    ),
    max_leaves=40,
)


def list_content(tree: html.HtmlElement) -> list[tuple[str, bool]]:
    return [*find_embedded_content(tree).items()]  # their order counts


@settings(max_examples=examples(2000), suppress_health_check=list(HealthCheck))
@given(st.lists(elements, max_size=6).map("".join))
@example("<aside>a<b>c</b>d<!-- e -->f<img src=g>h</aside>i<img src=g hidden>")
@example("<div style='visibility:hidden'><aside>a<p style='visibility:visible'>b</p>c</aside></div>")
@example(
    "<button>a<script type=application/json>{}</script><script>x</script></button><script type=application/json>{}"
)
def test_core_and_python_list_the_same_in_any_document(markup: str) -> None:
    assert_equal(list_content, parse(markup.encode("utf-8", "surrogatepass"), "utf-8"))


@settings(max_examples=examples(1000), suppress_health_check=list(HealthCheck))
@given(pages)
def test_core_and_python_list_the_same_in_any_bytes(body: bytes) -> None:
    try:
        tree = parse(body)
    except ValueError:
        return
    assert_equal(list_content, tree)


@pytest.mark.parametrize(
    "markup",
    [
        "<html xmlns='http://www.w3.org/1999/xhtml'><body><img src='a'/><aside>b</aside></body></html>",
        "<html><body><img xml:src='1' src='2'/><x:img xmlns:x='http://x.org/' src='b'/></body></html>",
        "<!DOCTYPE html [<!ATTLIST img src CDATA 'x'>]><html><body><img/></body></html>",
        "<!DOCTYPE html [<!ENTITY e 'x'>]><html><body><aside>a &e; b</aside></body></html>",
        "<html><body><aside><![CDATA[a <b> ]]>c<!-- d -->e<?f g?>h</aside></body></html>",
    ],
)
def test_core_and_python_list_the_same_in_xml(markup: str) -> None:
    for resolve in (False, True):
        tree = etree.fromstring(markup, html.XHTMLParser(resolve_entities=resolve, no_network=True))
        assert_equal(list_content, tree)
        assert_equal(list_content, tree.find("*"))


@pytest.mark.parametrize(
    "markup",
    [
        "<aside>" * 2000 + "x",
        "<aside>" + "a<!-- b -->" * 100_000,
        "<aside>x</aside>" * 50_000,
        "<button><img src=a hidden>x</button>" * 30_000,
        "".join(f"<t{number}><img src={number}></t{number}>" for number in range(30_000)),
    ],
)
def test_core_and_python_list_the_same_in_large_documents(markup: str) -> None:
    assert_equal(list_content, parse(markup.encode(), "utf-8"))
