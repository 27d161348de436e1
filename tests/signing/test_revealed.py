"""What only a script or an animation uncovers counts as shown on a page that would say hardly anything without it."""

from __future__ import annotations

import pytest

from crawler_dedup import Config, Deduplicator, Verdict
from crawler_dedup.rules.pair import Pair
from crawler_dedup.rules.table import compare
from crawler_dedup.signedpage import PageKind, SignedPage
from crawler_dedup.signing.signer import Signer
from tests.support.crawling import words

TITLE = "Old tram depot becomes a market hall"
# Labels and links that say nothing, as in the frame of an application
FRAME = '<div><a href="/">Skip to the content</a></div><div>Loading</div><div>Search</div><h4>Topics</h4>'
REVEALED = {
    "without scripts": "<noscript><h1>{title}</h1><main>{text}</main><footer>Powered by scripts</footer></noscript>",
    "without scripts, only a text": "<noscript><h1>{title}</h1><div class='post'>{text}</div></noscript>",
    "faded in": '<main style="opacity:0; transform: translateY(54px)"><h1>{title}</h1>{text}</main>',
    "faded in, each part": '<main><h1 style="opacity:0">{title}</h1>{parts}</main>',
    "invisible": '<main style="visibility: hidden"><h1>{title}</h1>{text}</main>',
    "folded out": '<main style="height:0;overflow:hidden;transition:height .3s"><h1>{title}</h1>{text}</main>',
    "a segment": '<div id="B:0"></div><div hidden id="S:0"><main><h1>{title}</h1>{text}</main></div>',
}
HIDDEN = {
    "hidden": "<main hidden><h1>{title}</h1>{text}</main>",
    "not displayed": '<main style="display:none;opacity:0"><h1>{title}</h1>{text}</main>',
    "of no size": '<main style="font-size:0"><h1>{title}</h1>{text}</main>',
    "of no height": '<main style="height:0;overflow:hidden"><h1>{title}</h1>{text}</main>',
    "a closed dialog": "<dialog><h1>{title}</h1><main>{text}</main></dialog>",
    "not displayed, revealed": '<div style="display:none"><main style="opacity:0"><h1>{title}</h1>{text}</main></div>',
}


def paragraphs(seed: str, attributes: str = "") -> str:
    text = words(seed, 160)
    return "".join(f"<p{attributes}>{' '.join(text[at : at + 20])}.</p>" for at in range(0, 160, 20))


def page(markup: str, frame: str = FRAME, seed: str = "depot") -> str:
    content = markup.format(title=TITLE, text=paragraphs(seed), parts=paragraphs(seed, " style='opacity:0'"))
    return f"<html><head><title>{TITLE}</title></head><body>{frame}{content}</body></html>"


def signed(body: str, extractor: str = "paragraphs") -> SignedPage:
    signer = Signer(Config(tokenizer="bigrams", extractor=extractor))
    return signer.sign("http://a.org/", body.encode(), encoding="utf-8", key=None, scope="")[0]


@pytest.mark.parametrize("kind", REVEALED)
def test_a_page_that_shows_nothing_else_is_judged_by_what_is_revealed(deduplicator: Deduplicator, kind: str) -> None:
    for scope, first, second in (
        ("copies", page(REVEALED[kind]), page(REVEALED[kind]) + "<!-- other bytes -->"),
        ("shown later", page(REVEALED[kind]), page("<main><h1>{title}</h1>{text}</main>")),
        ("shown first", page("<main><h1>{title}</h1>{text}</main>"), page(REVEALED[kind])),
    ):
        assert deduplicator.check("http://a.org/", first.encode(), scope=scope).verdict is Verdict.NEW
        assert deduplicator.check("http://b.org/", second.encode(), scope=scope).verdict is Verdict.DUPLICATE
    other = page(REVEALED[kind], seed="ferry").encode()
    assert deduplicator.check("http://c.org/", other, scope="copies").verdict is Verdict.NEW


@pytest.mark.parametrize("kind", HIDDEN)
def test_what_is_hidden_for_every_reader_is_not_revealed(kind: str) -> None:
    assert signed(page(HIDDEN[kind])).unsigned == "mostly hidden"


@pytest.mark.parametrize("kind", REVEALED)
@pytest.mark.parametrize(
    "frame",
    [
        f"<h1>{TITLE}</h1>",
        "<p>Welcome to our little shop.</p>",
        "<table>"
        + "".join(f"<tr><td>{word}<td>{number} euros" for number, word in enumerate(words("shop", 12)))
        + "</table>",
    ],
)
def test_nothing_is_revealed_on_a_page_that_says_something_besides(kind: str, frame: str) -> None:
    assert signed(page(REVEALED[kind], frame)).unsigned == "mostly hidden"


def test_a_main_text_that_is_partly_shown_reveals_nothing() -> None:
    shown = page("<main><h1>{title}</h1>{text}</main>")
    faded = paragraphs("depot").replace("<p>", "<p style='opacity:0'>", 3)
    kept, new = signed(shown.replace(paragraphs("depot"), faded)), signed(shown)
    signer = Signer(Config(tokenizer="bigrams"))
    assert compare(Pair(new, kept, signer.config.max_distance, signer.scheme)) is None


def test_a_list_that_fades_in_is_judged_with_its_pictures() -> None:
    entries = "".join(
        f'<li style="opacity:0"><a href="/{number}">{" ".join(words(number, 4))}</a><img src="/{number}.png"></li>'
        for number in range(8)
    )
    faded, shown = (signed(page(f"<ul>{text}</ul>")) for text in (entries, entries.replace(' style="opacity:0"', "")))
    assert faded.kind is shown.kind is PageKind.THIN
    assert faded.unsigned == ""
    assert faded.blocks == shown.blocks


def test_another_extractor_reads_what_is_revealed() -> None:
    kind = REVEALED["faded in"]
    assert signed(page(kind), "trafilatura").unsigned == ""
    assert signed(page(kind, "<p>Welcome to our little shop.</p>"), "trafilatura").unsigned == "mostly hidden"


def test_a_page_that_says_too_little_even_with_what_it_hides_has_too_little_text() -> None:
    assert signed(
        '<div style="display:none"><h1>Shop</h1><p>I am looking for ...</p></div><a href="/"></a>'
    ).unsigned == ("too little text")
