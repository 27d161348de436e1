"""Hidden text of a page covers nothing of another page."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from lxml.html import HtmlElement

from crawler_dedup import Config, Decision, Deduplicator, SignedPage, Verdict
from crawler_dedup.rules.pair import Pair
from crawler_dedup.rules.table import compare
from crawler_dedup.signedpage import PageKind
from crawler_dedup.signing.hidden import without_hidden
from crawler_dedup.signing.outline import read_outline
from crawler_dedup.signing.parsing import parse
from crawler_dedup.signing.signer import Signer
from tests.support.crawling import WALK, Site, html, run_script, words
from tests.support.hiding import CASES, HIDDEN_TO_BE_SAFE

HIDERS = [
    "<div hidden>{}</div>",
    '<section hidden="until-found">{}</section>',
    '<div style="display:none">{}</div>',
    '<div style="visibility: hidden">{}</div>',
    '<div style="color: red; DISPLAY : None !important ;">{}</div>',
    '<div class="panel" style="overflow:auto;display:/* closed */none"><section>{}</section></div>',
    "<div popover>{}</div>",
    '<div style="opacity:0">{}</div>',
    "<div><template shadowrootmode=open></template>{}</div>",
]
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


def text(seed: object, count: int = 160) -> str:
    return "".join(sentences(seed, count))


def check(deduplicator: Deduplicator, url: str, body: str) -> Decision:
    return deduplicator.check(url, body.encode())


# The text of a block


def shown(markup: str) -> list[str]:
    return [block.shown for block in read_outline(parse(markup.encode())).blocks]


@pytest.mark.parametrize(("markup", "words"), [*CASES.items(), *((markup, "") for markup in HIDDEN_TO_BE_SAFE)])
def test_no_block_shows_what_chromium_hides(markup: str, words: str) -> None:
    body = f"<body><div>{markup}</div>"
    assert "".join("".join(shown(body)).split()) == "".join(words.split())
    assert words or not letters(without_hidden(parse(body.encode())))


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<p>some <b hidden>hidden</b> words</p>", ["some words"]),
        ("<p>to<span hidden>day</span>gether</p>", ["together"]),
        ("<p><i hidden>a</i>b<i hidden>c</i>d<i hidden>e</i></p>", ["bd"]),
        ("<div hidden>a<p>b</p>c</div>d<p>e</p>", ["", "", "", "d", "e"]),
        ("<div>a<span hidden>b<p>c</p>d</span>e</div>", ["a", "", "e"]),
        ("<div style='display:none'>a<p style='display:block'>b</p></div>", ["", ""]),
        ("<div style='visibility:hidden'>a<p style='visibility:visible'>b <b style='visibility:hidden'>c</b></p>d</div>e",
         ["", "b", "", "e"]),
        ("<p style='visibility:hidden'>a <b style='visibility:visible'>b</b> c</p>", ["b"]),
        ("<div style='display:none'>a<p style='visibility:visible'>b</p></div>", ["", ""]),
        ("<div style='visibility:hidden'>a<p hidden>b<b style='visibility:visible'>c</b></p></div>", ["", ""]),
        ("<p>a <a href=/x hidden>b</a> <a href=/y>c</a></p>", ["a c"]),
        ("<p>a<br hidden>b <input hidden> c</p>", ["ab c"]),
        ("<html hidden><body><p>a</p></body></html><p>b</p>", ["", ""]),
        ("<body style='visibility:hidden'><p>a</p></body></html><p>b</p><p style='visibility:visible'>c", ["", "", "c"]),
        ("<body style='display:none'><p>a</p></body>", [""]),
        ("<p>a</p></html><div hidden>b</div>c", ["a", "", "c"]),
        ("<p hidden>a<!-- x -->b</p><?y?>c", ["", "c"]),
    ],
)  # fmt: skip
def test_hidden_text_is_not_shown_and_all_other_text_is(markup: str, expected: list[str]) -> None:
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


MARKUP = st.recursive(
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


@given(MARKUP)
def test_shown_blocks_are_those_of_the_tree_without_its_hidden_elements(markup: str) -> None:
    tree = parse(f"<body>{markup}</body>".encode())
    before = etree.tostring(tree)
    blocks, without_hidden_elements = read_outline(tree).blocks, without_hidden(tree)
    assert etree.tostring(tree) == before
    assert letters(without_hidden_elements) == "".join("".join(block.shown for block in blocks).split())


# Hidden copies


@pytest.mark.parametrize("hider", HIDERS)
def test_a_hidden_copy_on_another_host_causes_no_drop(deduplicator: Deduplicator, hider: str) -> None:
    decoy = page("<p>Welcome to our shop.</p>", hider.format(text("depot")))
    assert check(deduplicator, "http://evil.net/", decoy).reason == "mostly hidden"
    assert check(deduplicator, "http://paper.org/depot", page(text("depot"))).verdict is Verdict.NEW
    assert check(deduplicator, "http://mirror.org/depot", page(text("depot"))).verdict is Verdict.DUPLICATE


def test_a_copy_in_a_hidden_part_of_each_line_causes_no_drop(deduplicator: Deduplicator) -> None:
    text = words("depot")
    lines = [
        f"<p>{' '.join(text[at : at + 8])} <b hidden>{' '.join(text[at + 8 : at + 16])}</b></p>"
        for at in range(0, 160, 16)
    ]
    assert check(deduplicator, "http://evil.net/", page(*lines)).verdict is not Verdict.DUPLICATE
    plain = [f"<p>{' '.join(text[at : at + 16])}</p>" for at in range(0, 160, 16)]
    assert check(deduplicator, "http://paper.org/depot", page(*plain)).verdict is Verdict.NEW


@pytest.mark.parametrize("tag", ["dialog", "noscript"])
def test_a_whole_page_in_a_closed_element_covers_nothing_and_keeps_its_text(
    deduplicator: Deduplicator, tag: str
) -> None:
    decoy = page("<p>Welcome to our shop.</p>").replace("</main>", f"</main><{tag}>{page(text('depot'))}</{tag}>")
    assert check(deduplicator, "http://evil.net/", decoy).reason == "mostly hidden"
    assert check(deduplicator, "http://paper.org/depot", page(text("depot"))).verdict is Verdict.NEW
    assert sentences("depot")[3][3:-4] in SIGNER.main_text(decoy.encode(), "utf-8")


def test_a_hidden_dialog_and_menu_beside_the_text_do_not_matter(deduplicator: Deduplicator) -> None:
    around = f"<div hidden id=consent>{text('cookies', 60)}</div>"
    body = page(text("depot")).replace("</main>", f"</main>{around}")
    body_elsewhere = page(text("depot")).replace("<main>", f"{around}<main>")
    assert check(deduplicator, "http://a.org/", body).verdict is Verdict.NEW
    assert check(deduplicator, "http://b.org/", body_elsewhere).verdict is Verdict.DUPLICATE


PARAGRAPHS = st.integers(0, 255).map(lambda bits: [bits >> place & 1 for place in range(8)])


@given(PARAGRAPHS, PARAGRAPHS, st.sampled_from(HIDERS), st.booleans())
def test_a_page_is_never_covered_by_what_another_page_hides(
    foreign: list[int], own_places: list[int], hider: str, separately: bool
) -> None:
    """The kept page shows at most half of a text, and some text of its own; it hides the rest."""
    parts, foreign_parts = sentences("depot"), sentences("market")
    for place in range(8):
        if sum(foreign) > 4:
            foreign[place] = 0
    seen = [part for part, is_seen in zip(parts, foreign, strict=True) if is_seen]
    unseen = [part for part, is_seen in zip(parts, foreign, strict=True) if not is_seen]
    hidden = [hider.format(part) for part in unseen] if separately else [hider.format("".join(unseen))]
    kept = page(
        *seen,
        *(foreign_part for foreign_part, is_own in zip(foreign_parts, own_places, strict=True) if is_own),
        *hidden,
    )
    assert not covers(kept, page(*parts))


SIGNER = Signer(Config(tokenizer="bigrams"))


def signed(body: str, url: str = "http://a.org/", signer: Signer = SIGNER) -> SignedPage:
    return signer.sign(url, body.encode(), encoding="utf-8", key=None, scope="")[0]


def covers(kept: str, new: str, signer: Signer = SIGNER) -> bool:
    """Return whether a kept page makes a new one on another host a duplicate."""
    pair = Pair(
        signed(new, "http://b.org/", signer), signed(kept, signer=signer), signer.config.max_distance, signer.scheme
    )
    return compare(pair) is not None


@pytest.mark.parametrize(
    "scheme", ["simhash", "minhash", "shingling lookup=minima threshold=0.3", "sentences", "checksums"]
)
@pytest.mark.parametrize("extractor", ["paragraphs", "trafilatura"])
def test_hidden_text_covers_nothing_with_every_scheme_and_extractor(scheme: str, extractor: str) -> None:
    signer = Signer(Config(tokenizer="bigrams", scheme=scheme, extractor=extractor))
    parts = sentences("depot")
    decoy = page(*parts[:5], f"<div hidden>{''.join(parts[5:])}</div>")
    assert covers(page(*parts), page(*parts), signer)
    assert not covers(decoy, page(*parts), signer)
    assert covers(decoy, decoy.replace("</h1>", "</h1><!-- other bytes -->"), signer)


# Tabs and accordions


ACCORDION = page(
    text("depot"),
    "<h2>Opening hours</h2>", f"<div hidden>{text('hours', 40)}</div>",
    "<h2>How to get there</h2>", f"<div style='display: none'>{text('way', 40)}</div>",
)  # fmt: skip


def test_two_copies_of_a_page_with_an_accordion_are_duplicates(deduplicator: Deduplicator) -> None:
    assert check(deduplicator, "http://a.org/depot", ACCORDION).verdict is Verdict.NEW
    copy = ACCORDION.replace("<nav>", "<nav><a href=/shop>Shop</a> ")
    assert check(deduplicator, "http://b.org/depot", copy).verdict is Verdict.DUPLICATE
    assert (
        check(deduplicator, "http://a.org/depot", ACCORDION.replace("<nav>", "<nav>Shop ")).verdict is Verdict.UNCHANGED
    )
    assert len(deduplicator) == 1


def test_the_open_page_covers_the_closed_page_but_not_the_reverse() -> None:
    opened = ACCORDION.replace(" hidden", "").replace(" style='display: none'", "")
    assert covers(opened, ACCORDION)
    assert not covers(ACCORDION, opened)


def test_what_a_new_page_hides_must_be_covered_too() -> None:
    changed = ACCORDION.replace(text("hours", 40), text("prices", 60))
    assert not covers(ACCORDION, changed)
    assert not covers(page(text("depot")), ACCORDION)


def test_numbers_in_a_hidden_table_are_not_numbers_of_the_page() -> None:
    def table(first: int) -> str:
        return "".join(f"<p>{name} {first + 7 * place}</p>" for place, name in enumerate(words("rows", 60)))

    decoy = page(text("fees"), table(1000), f"<div hidden>{table(5000)}</div>")
    new = page(text("fees"), table(5000))
    assert covers(new, new.replace("</h1>", "</h1> "))
    assert not covers(decoy, new)


# Lists and short pages


STORIES = "".join(f"<li><a href=/story/{number}>{' '.join(words(number, 4))}</a></li>" for number in range(8))
ARCHIVE = page(f"<ul>{STORIES}</ul><p>All stories of the year, the newest one at the top</p>", title="Archive")
NOTICE = page(
    "<p>The harbour office stays closed on Monday because of the storm; call the pilot station.</p>"
    '<img src="/storm.png"><p><a href="/pilots">Pilots</a></p>',
    title="Closed",
)


@pytest.mark.parametrize("whole", [ARCHIVE, NOTICE])
def test_a_list_and_a_short_page_are_covered_by_equal_pages(whole: str) -> None:
    assert signed(whole).kind is PageKind.THIN
    menu = whole.replace("<main>", "<main><div hidden>Close <a href=/news>News</a></div>")
    assert covers(whole, whole + " ")
    assert covers(menu, menu + " ")


@pytest.mark.parametrize(
    ("whole", "part"),
    [
        (ARCHIVE, STORIES),
        (ARCHIVE, "<p>All stories of the year, the newest one at the top</p>"),
        (NOTICE, "because of the storm; call the pilot station."),
        (NOTICE, '<img src="/storm.png">'),
    ],
)
def test_a_list_and_a_short_page_are_not_covered_by_hidden_text(whole: str, part: str) -> None:
    assert part in whole
    for element in ("<span hidden>{}</span>", "<span style='visibility:hidden'>{}</span>"):
        assert not covers(whole.replace(part, element.format(part)), whole)


def test_hidden_links_without_words_make_no_list() -> None:
    gallery = page(
        "".join(f"<a href=/photo/{number}><img src=/{number}.png></a>" for number in range(9)),
        f"<p>{' '.join(words('gallery', 10))} <a href=/>more of this and of that and of everything</a></p>",
        title="Photographs",
    )
    assert signed(gallery).kind is PageKind.THIN
    decoy = gallery.replace("<a href=/photo", "<a hidden href=/photo")
    assert covers(gallery, gallery + " ")
    assert covers(gallery, decoy)
    assert not covers(decoy, gallery)


# What is stored


def test_a_text_is_signed_with_what_it_hides() -> None:
    hiding = signed(ACCORDION)
    uncovered = signed(ACCORDION.replace(" hidden", "").replace(" style='display: none'", ""))
    for name in ("signature", "features", "sketch", "feature_digest", "chars", "link_digest", "kind"):
        assert getattr(uncovered, name) == getattr(hiding, name)


# In a crawl


def test_a_host_that_is_crawled_first_cannot_make_a_page_of_another_host_disappear(tmp_path: Path) -> None:
    decoy = page("<p>Welcome to our shop.</p>", f"<div hidden>{text('depot')}</div>")
    half = page(*sentences("ferry")[:5], f"<div style='display:none'>{''.join(sentences('ferry')[5:])}</div>")
    with (
        Site({"/depot": html(decoy), "/ferry": html(half)}) as evil,
        Site({"/depot": html(page(text("depot"))), "/ferry": html(page(text("ferry")))}) as paper,
    ):
        urls = [site.url + path for site in (evil, paper) for path in ("/depot", "/ferry")]
        crawl = run_script(tmp_path, WALK, site="", paths=urls)
    assert crawl.drops == []
    assert crawl.counts()["unchecked/mostly_hidden"] == 1
    assert {item["url"] for item in crawl.items} >= set(urls)
