"""Copies on other hosts and addresses, identical titles, and short texts with a change."""

from dataclasses import replace

from tests.support.families.cases import Case, Family, duplicate, new, not_duplicate, part_and_whole
from tests.support.families.pages import Page, link, other_pages, p, sites, ul
from tests.support.families.prose import heading, paragraphs, read_text

PRESS, OLD, SHIGE, SHIGE_COPY = sites("copies")
BARE = replace(PRESS, host="elmpress.example")

_NOTES = paragraphs("notes", 2)
_HISTORY = paragraphs("history", 2)
_SINCE = read_text("since 2019")
_SHORT = read_text("reading")
_SHORT_CORRECTED = _SHORT.replace("scarce", "few")
_SHORT_MOVED = _SHORT.replace("in the garden, weather permitting", "in the chapel, since rain is forecast").replace(
    "seven", "eight"
)
_POEM = "<br>".join(read_text("ladder").splitlines())
_POEM_2 = "<br>".join(read_text("well").splitlines())
_START = (
    p(
        "Eight books a year, printed slowly, on a press that is older than all of us together. Come in, the door "
        "sticks."
    ),
    ul(*[link(f"/b/{number}", heading(f"book {number}")) for number in range(8)]),
)
_ZH_POEM = "<br>".join(read_text("rain").splitlines())
_ZH_POEM_2 = "<br>".join(read_text("key").splitlines())
_ZH_LETTER = paragraphs("letter", 2, "zh")


def _photograph(path: str, title: str, file: str) -> Page:
    return PRESS.page(path, title, f'<img src="/img/{file}.jpg" alt="">', link("/events/", "All photographs"))


# fmt: off
_CASES: tuple[Case, ...] = (
    duplicate("a page with and without www", PRESS.page("/history", "Our history", p(*_HISTORY)),
        BARE.page("/history", "Our history", p(*_HISTORY)), "It is one site."),
    duplicate("a start page under two addresses", PRESS.page("/", "Home", *_START),
        PRESS.page("/index.html", "Home", *_START), "It is the same page."),
    duplicate("a start page with and without www", PRESS.page("/", "Home", *_START), BARE.page("/", "Home", *_START),
        "It is one site."),
    duplicate("a page that has moved to another host", OLD.page("/hist.htm", "Our history", p(*_HISTORY)),
        PRESS.page("/history", "Our history", p(*_HISTORY)), "It is the same text."),
    duplicate("identical whole titles which one site writes on all pages",
        OLD.page("/hist.htm", "Our history", p(*_HISTORY), head="Elm Street Press"),
        PRESS.page("/history", "Our history", p(*_HISTORY), head="Elm Street Press"),
        "The titles are the same, whatever is left of them without that of the site."),
    new("two texts under identical whole titles",
        PRESS.page("/history", "About", p(*_HISTORY), head="Elm Street Press"),
        PRESS.page("/notes", "About", p(*_NOTES), head="Elm Street Press"), "They are two texts."),
    *part_and_whole("a history before and after a sentence was added",
        PRESS.page("/history", "Our history", p(*_HISTORY)),
        PRESS.page("/about/history", "Our history", p(*_HISTORY), p(_SINCE)),
        "The later state has all of the earlier one."),
    duplicate("a short text with a word corrected", OLD.page("/thu.htm", "Reading in the garden", p(_SHORT)),
        PRESS.page("/events/9", "Reading in the garden", p(_SHORT_CORRECTED)), "It is the same announcement."),
    not_duplicate("a short text with another place and hour",
        PRESS.page("/events/9", "Reading on Thursday", p(_SHORT)),
        PRESS.page("/events/9b", "Reading on Thursday", p(_SHORT_MOVED)), "Place and hour are what is new."),
    duplicate("a poem on two hosts", OLD.page("/poem3.htm", "Ladder", p(_POEM)),
        PRESS.page("/poems/ladder", "Ladder", p(_POEM)), "It is the same poem."),
    new("two poems", PRESS.page("/poems/ladder", "Poem of the month", p(_POEM)),
        PRESS.page("/poems/well", "Poem of the month", p(_POEM_2)), "They are two poems."),
    not_duplicate("two photographs", _photograph("/photo/12", "Photograph 12", "fair-12"),
        _photograph("/photo/13", "Photograph 13", "fair-13"), "They are two pictures."),
    not_duplicate("two photographs under one title", _photograph("/photo/12", "Summer fair", "fair-12"),
        _photograph("/photo/13", "Summer fair", "fair-13"), "They are two pictures."),
    duplicate("两处抄的信", SHIGE.page("/x/7", "渡船上的来稿", p(*_ZH_LETTER)),
        SHIGE_COPY.page("/blog/20240607", "渡船上的来稿", p(*_ZH_LETTER)), "It is the same letter, in Chinese."),
    duplicate("两处抄的诗", SHIGE.page("/s/7", "雨停", p(_ZH_POEM)),
        SHIGE_COPY.page("/blog/20240608", "雨停", p(_ZH_POEM)), "It is the same poem, in Chinese."),
    not_duplicate("同题的两首诗", SHIGE.page("/s/7", "无题", p(_ZH_POEM)), SHIGE.page("/s/8", "无题", p(_ZH_POEM_2)),
        "They are two poems."),
)
# fmt: on


COPIES = Family("copies", _CASES, lambda: other_pages((PRESS, OLD, SHIGE, SHIGE_COPY), 20, 5))
