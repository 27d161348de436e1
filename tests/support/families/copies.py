"""Copies on other hosts and addresses, identical titles, and short texts with a change."""

from __future__ import annotations

from dataclasses import replace

from tests.support.families.cases import Case, Family, duplicate, new, not_duplicate, part_and_whole
from tests.support.families.pages import Page, Site, link, links, other_pages, p, ul
from tests.support.families.prose import heading, paragraphs

PRESS = Site(
    "www.elmpress.example",
    "Elm Street Press",
    ("Books", "Authors", "Events", "Manuscripts", "Contact"),
    side=links("New", b_1="A guide to puddles", b_2="Letters from the lock"),
    footer="Elm Street Press prints eight books a year.",
)
BARE = replace(PRESS, host="elmpress.example")
OLD = replace(
    PRESS,
    name="Oldhost",
    host="elm.oldhost.example",
    menu=("Start", "Catalogue", "Imprint"),
    side="",
    footer="Hosted for free.",
)
SHIGE = Site(
    "www.duanshi.example",
    "短诗抄",
    ("诗", "人", "信"),
    side=links("新抄", s_1="雨夜", s_2="过江"),
    footer="抄诗的人不收稿费。",
    lang="zh",
)
SHIGE_COPY = replace(SHIGE, host="shi.jiumeng.example", menu=("目录", "留言"), side="", footer="旧梦空间")

_NOTES = paragraphs("notes", 2)
_HISTORY = paragraphs("history", 2)
_SINCE = (
    "Since 2019 a museum of fires has asked for it every spring, and every spring the counter looked bare without it."
)
_SHORT = (
    "The reading on Thursday takes place in the garden, weather permitting. Doors open at seven, and the author will "
    "sign copies of her new book afterwards. Chairs are scarce, so please bring a blanket. Dogs are welcome if they do "
    "not bark at verses."
)
_SHORT_CORRECTED = _SHORT.replace("scarce", "few")
_SHORT_MOVED = _SHORT.replace("in the garden, weather permitting", "in the chapel, since rain is forecast").replace(
    "seven", "eight"
)
_POEM = "<br>".join(
    [
        "The ladder leans against the plum",
        "all summer, though the plums are gone;",
        "somebody will be coming down",
        "when everyone has given up",
        "and ask us what the year was for.",
    ]
)
_POEM_2 = "<br>".join(
    [
        "I counted steps from door to well,",
        "eleven dry and twelve in rain;",
        "the bucket does not care for sums,",
        "it brings the same round piece of sky",
        "and spills the half of it again.",
    ]
)
_START = (
    p(
        "Eight books a year, printed slowly, on a press that is older than all of us together. Come in, the door "
        "sticks."
    ),
    ul(*[link(f"/b/{number}", heading(f"book {number}")) for number in range(8)]),
)
_ZH_POEM = "<br>".join(["雨停在伞的上面", "没有人走过去", "桥把河水数了一遍", "少了一盏灯"])
_ZH_POEM_2 = "<br>".join(["我把钥匙种在门口", "春天长出一把锁", "邻居来问有没有多的", "我说还没有开花"])
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
