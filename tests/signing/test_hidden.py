"""Hidden text of a page covers nothing of another page, and what is hidden is compared with what Chromium shows."""

import json
import subprocess
import tomllib
from itertools import compress, product
from pathlib import Path
from shutil import which

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from lxml.html import HtmlElement

from crawler_dedup import Config, SignedPage
from crawler_dedup.rules.pair import Pair
from crawler_dedup.rules.table import compare
from crawler_dedup.signedpage import PageKind
from crawler_dedup.signing.hidden import without_hidden
from crawler_dedup.signing.outline import read_outline
from crawler_dedup.signing.parsing import parse
from crawler_dedup.signing.signer import Signer
from tests.support.cases import read_cases
from tests.support.crawling import words

# A page within a page: the outline reads it even in a dialog.
_WORDS = " ".join(f"rope{number}" for number in range(60))
_MARKUP = Path(__file__).with_name("hiding.toml").read_text(encoding="utf-8")
_MARKUP = _MARKUP.replace("{page}", f"<h1>Harbour</h1><article>{_WORDS}</article>").replace(
    "{words}", f"Harbour {_WORDS}"
)
MARKUP = tomllib.loads(_MARKUP)
TITLE = "Old tram depot becomes a market hall"


def sentences(seed: object, count: int = 160) -> list[str]:
    """Return paragraphs of different words."""
    text = words(seed, count)
    return [f"<p>{' '.join(text[at : at + 20]).capitalize()}.</p>" for at in range(0, count, 20)]


def page(*parts: str, title: str = TITLE) -> str:
    """Return a page of a paper, with a menu, in which *parts* stand one below the other."""
    return (
        f"<!doctype html><html lang=en><head><title>{title}</title></head><body>"
        '<nav><a href="/">Home</a> <a href="/news">News</a></nav>'
        f"<main><h1>{title}</h1>{''.join(parts)}</main></body></html>"
    )


# The text of a block


def styled(name: str) -> list[str]:
    return [f'<div style="{style}">a</div>' for style in MARKUP[name]]


CASES = (
    dict.fromkeys(styled("hiding_styles"), "") | dict.fromkeys(styled("showing_styles"), "a") | dict(MARKUP["cases"])
)
HIDDEN_TO_BE_SAFE = [*styled("styles_hidden_to_be_safe"), *MARKUP["hidden_to_be_safe"]]


def shown(markup: str) -> list[str]:
    return [block.shown for block in read_outline(parse(markup.encode())).blocks]


def test_blocks_show_what_chromium_shows_with_the_words_of_shadow_trees() -> None:
    with_shadows = {markup: words for markup, _, words in MARKUP["shadow_trees"]}
    for markup, expected in (CASES | with_shadows | dict.fromkeys(HIDDEN_TO_BE_SAFE, "")).items():
        body = f"<body><div>{markup}</div>"
        assert "".join("".join(shown(body)).split()) == "".join(expected.split())
        assert expected or not letters(without_hidden(parse(body.encode())))


def test_hidden_text_is_not_shown_and_all_other_text_is() -> None:
    for markup, expected in read_cases(__file__)["hidden"]["shown"]:
        assert shown(markup) == expected
        if "</html>" not in markup:  # the text after it does not belong to the copied tree
            assert letters(without_hidden(parse(markup.encode()))) == "".join("".join(expected).split())


def letters(tree: HtmlElement) -> str:
    """Return the text of *tree* without white space."""
    pieces = tree.xpath("//text()")
    assert isinstance(pieces, list)
    return "".join("".join(map(str, pieces)).split())


def test_nothing_else_of_a_block_changes_if_it_is_hidden() -> None:
    plain = "<div>a<b>b</b> <a href=/x>c</a><ul><li>d<li>e</ul></div>"
    for place in ("<div", "<b", "<a", "<li"):
        hidden = plain.replace(place, f"{place} hidden", 1)
        assert [block[:4] for block in read_outline(parse(hidden.encode())).blocks] == [
            block[:4] for block in read_outline(parse(plain.encode())).blocks
        ]


NESTED = st.recursive(
    st.sampled_from(["a", "b ", "茶", "<br>", "<!-- x -->", " "]),
    lambda contents: st.builds(
        "<{0}{1}>{2}</{0}>".format,
        st.sampled_from(["b", "div", "p", "a href='/x'", "span", "li"]).map(lambda tag: tag.split()[0]),
        st.sampled_from(
            ["", "", " hidden", " style='display:none'", " style='visibility:hidden'", " style='visibility:visible'"]
        ),
        st.lists(contents, max_size=4).map("".join),
    ),
    max_leaves=25,
)


@given(NESTED)
def test_shown_blocks_are_those_of_the_tree_without_its_hidden_elements(markup: str) -> None:
    tree = parse(f"<body>{markup}</body>".encode())
    before = etree.tostring(tree)
    blocks, without_hidden_elements = read_outline(tree).blocks, without_hidden(tree)
    assert etree.tostring(tree) == before
    assert letters(without_hidden_elements) == "".join("".join(block.shown for block in blocks).split())


# Hidden copies

SIGNER = Signer(Config(tokenizer="bigrams"))


def signed(body: str, url: str = "http://a.org/", signer: Signer = SIGNER) -> SignedPage:
    return signer.sign(url, body.encode(), encoding="utf-8", key=None, scope="")[0]


def covers(kept: str, new: str, signer: Signer = SIGNER, url: str = "http://b.org/") -> bool:
    """Return whether a kept page makes a new one a duplicate, which is on another host unless its *url* is given."""
    pages = signed(new, url, signer), signed(kept, signer=signer)
    return compare(Pair(*pages, signer.config, signer.scheme)) is not None


PARAGRAPHS = st.lists(st.booleans(), min_size=8, max_size=8)


@given(PARAGRAPHS.filter(lambda shown: sum(shown) <= 4), PARAGRAPHS, st.sampled_from(MARKUP["hiders"]), st.booleans())
def test_hidden_text_never_covers_a_page(foreign: list[bool], own: list[bool], hider: str, separately: bool) -> None:
    """The kept page shows at most half of a text, and some text of its own; it hides the rest."""
    parts = sentences("depot")
    shown = [*compress(parts, foreign), *compress(sentences("market"), own)]
    hidden = [part for part, is_shown in zip(parts, foreign, strict=True) if not is_shown]
    kept = page(*shown, *map(hider.format, hidden if separately else ["".join(hidden)]))
    assert not covers(kept, page(*parts))


def test_a_copy_in_a_hidden_part_of_each_line_causes_no_drop() -> None:
    lines = [words(number, 16) for number in range(10)]
    hiding = [f"<p>{' '.join(line[:8])} <b hidden>{' '.join(line[8:])}</b></p>" for line in lines]
    plain = page(*(f"<p>{' '.join(line)}</p>" for line in lines))
    assert covers(plain, plain + " ")
    assert not covers(page(*hiding), plain)


@pytest.mark.parametrize("tag", ["dialog", "noscript"])
def test_a_whole_page_in_a_closed_element_covers_nothing_and_keeps_its_text(tag: str) -> None:
    text = page(*sentences("depot"))
    decoy = page("<p>Welcome to our shop.</p>").replace("</main>", f"</main><{tag}>{text}</{tag}>")
    assert signed(decoy).unsigned == "mostly hidden"
    assert sentences("depot")[3][3:-4] in SIGNER.main_text(decoy.encode(), "utf-8")


def test_hidden_text_covers_nothing_with_every_scheme_and_extractor() -> None:
    for scheme, extractor in product(
        ["simhash", "minhash", "shingling lookup=minima threshold=0.3", "sentences", "checksums"],
        ["paragraphs", "trafilatura"],
    ):
        signer = Signer(Config(tokenizer="bigrams", scheme=scheme, extractor=extractor))
        parts = sentences("depot")
        decoy = page(*parts[:5], f"<div hidden>{''.join(parts[5:])}</div>")
        assert covers(page(*parts), page(*parts) + " ", signer)
        assert not covers(decoy, page(*parts), signer)
        assert not covers(decoy, page(*(part.replace(".", " today.") for part in parts)), signer)
        assert covers(decoy, decoy.replace("</h1>", "</h1><!-- other bytes -->"), signer)


# Tabs and accordions

ACCORDION = page(
    *sentences("depot"),
    *("<h2>Opening hours</h2>", f"<div hidden>{''.join(sentences('hours', 40))}</div>"),
    *("<h2>How to get there</h2>", f"<div style='display: none'>{''.join(sentences('way', 40))}</div>"),
)
OPENED = ACCORDION.replace(" hidden", "").replace(" style='display: none'", "")


def test_the_open_page_covers_the_closed_page_and_a_copy_of_it_but_not_the_reverse() -> None:
    assert covers(ACCORDION, ACCORDION.replace("<nav>", "<nav><a href=/shop>Shop</a> "))
    assert covers(OPENED, ACCORDION)
    assert not covers(ACCORDION, OPENED)
    assert not covers(ACCORDION, OPENED, url="http://a.org/")  # visited again


def test_what_a_new_page_hides_must_be_covered_too() -> None:
    assert not covers(ACCORDION, ACCORDION.replace("".join(sentences("hours", 40)), "".join(sentences("prices", 60))))
    assert not covers(page(*sentences("depot")), ACCORDION)


def test_a_text_is_signed_with_what_it_hides() -> None:
    hiding, opened = signed(ACCORDION), signed(OPENED)
    for name in ("signature", "features", "chars", "link_digest", "kind"):
        assert getattr(opened, name) == getattr(hiding, name)


# Lists and short pages

STORIES = "".join(f"<li><a href=/story/{number}>{' '.join(words(number, 4))}</a></li>" for number in range(8))
ALL = "<p>All stories of the year, the newest one at the top</p>"
ARCHIVE = page(f"<ul>{STORIES}</ul>{ALL}", title="Archive")
NOTICE = page(
    "<p>The harbour office stays closed on Monday because of the storm; call the pilot station.</p>"
    '<img src="/storm.png"><p><a href="/pilots">Pilots</a></p>',
    title="Closed",
)


def test_a_list_and_a_short_page_are_covered_by_equal_pages_but_not_by_hidden_text() -> None:
    for whole, part in [
        (ARCHIVE, STORIES),
        (ARCHIVE, ALL),
        (NOTICE, "because of the storm; call the pilot station."),
        (NOTICE, '<img src="/storm.png">'),
    ]:
        assert signed(whole).kind is PageKind.THIN
        menu = whole.replace("<main>", "<main><div hidden>Close <a href=/news>News</a></div>")
        assert covers(menu, menu + " ")
        for element in ("<span hidden>{}</span>", "<span style='visibility:hidden'>{}</span>"):
            assert not covers(whole.replace(part, element.format(part)), whole)


def test_a_list_that_is_mostly_hidden_is_not_signed() -> None:
    assert signed(ARCHIVE.replace(STORIES, f"<div hidden>{STORIES}</div>")).unsigned == "mostly hidden"


# What only a script or an animation uncovers counts as shown on a page that would say hardly anything without it

# Labels and links that say nothing, as in the frame of an application
FRAME = '<div><a href="/">Skip to the content</a></div><div>Loading</div><div>Search</div><h4>Topics</h4>'
WITHOUT_WORDS = "<div style='display:none'><h1>Shop</h1><p>I am looking for ...</p></div><a href='/'></a>"


def revealing(markup: str, frame: str = FRAME, seed: str = "depot") -> str:
    parts = "".join(sentences(seed))
    content = markup.format(title=TITLE, text=parts, parts=parts.replace("<p>", "<p style='opacity:0'>"))
    return f"<html><head><title>{TITLE}</title></head><body>{frame}{content}</body></html>"


SHOWN = revealing("<main><h1>{title}</h1>{text}</main>")


def test_a_page_that_shows_nothing_else_is_judged_by_what_is_revealed() -> None:
    for kind in MARKUP["revealed"].values():
        revealed = revealing(kind)
        assert covers(revealed, revealed + " ")
        assert covers(SHOWN, revealed)
        assert covers(revealed, SHOWN)
        assert not covers(revealed, revealing(kind, seed="ferry"))
        assert signed(revealed, signer=Signer(Config(tokenizer="bigrams", extractor="trafilatura"))).unsigned == ""


SAYING = [
    f"<h1>{TITLE}</h1>",
    "<p>Welcome to our little shop.</p>",
    f"<table>{''.join(f'<tr><td>{word}<td>{word} euros' for word in words('shop', 12))}</table>",
]


def test_nothing_is_revealed_on_a_page_that_says_something_besides() -> None:
    for kind, extractor in product(MARKUP["revealed"].values(), ["paragraphs", "trafilatura"]):
        signer = Signer(Config(tokenizer="bigrams", extractor=extractor))
        assert {signed(revealing(kind, frame), signer=signer).unsigned for frame in SAYING} == {"mostly hidden"}


def test_what_is_hidden_for_every_reader_is_not_revealed() -> None:
    for kind in MARKUP["hidden"].values():
        assert signed(revealing(kind)).unsigned == "mostly hidden"


def test_a_main_text_that_is_partly_shown_reveals_nothing() -> None:
    assert not covers(SHOWN.replace("<p>", "<p style='opacity:0'>", 3), SHOWN)


def test_a_list_that_fades_in_is_judged_with_its_pictures() -> None:
    entries = STORIES.replace("</li>", "<img src=/1.png></li>")
    faded, shown = (
        signed(revealing(f"<ul>{text}</ul>")) for text in (entries.replace("<li>", "<li style='opacity:0'>"), entries)
    )
    assert faded.kind is shown.kind is PageKind.THIN
    assert (faded.unsigned, faded.blocks) == ("", shown.blocks)


def test_a_page_that_says_too_little_even_with_what_it_hides_has_too_little_text() -> None:
    assert signed(WITHOUT_WORDS).unsigned == "too little text"


# Chromium

_FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    " --disable-component-update --disable-sync --dump-dom"
).split()


@pytest.mark.slow
def test_chromium_shows_the_words_of_each_case(tmp_path: Path) -> None:
    chromium = which("chromium") or which("chromium-browser") or which("google-chrome")
    if chromium is None:
        pytest.skip("Chromium is not installed")
    outside = {markup: words for markup, words, _ in MARKUP["shadow_trees"]}
    expected = CASES | outside | dict.fromkeys(HIDDEN_TO_BE_SAFE, "a")
    cases = "\n".join(f"<div class=case style='margin:4px;min-height:60px'>{markup}</div>" for markup in expected)
    script, page = Path(__file__).with_name("shown.js").read_text("utf-8"), tmp_path / "page.html"
    page.write_text(f"<!doctype html><meta charset=utf-8><body>{cases}<script>{script}</script>", encoding="utf-8")
    size = f"--window-size=1000,{200 + 90 * len(expected)}"
    command = [chromium, *_FLAGS, f"--user-data-dir={tmp_path / 'profile'}", size, page.as_uri()]
    dumped = subprocess.run(command, capture_output=True, check=True, timeout=300).stdout
    answers = json.loads(parse(dumped, "utf-8").xpath("string(//pre[@id='answers'])"))
    assert dict(zip(expected, answers, strict=True)) == expected
