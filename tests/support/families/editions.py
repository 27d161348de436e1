"""One article in editions: for accelerated mobile pages, for printing, for telephones, and cut into pages."""

from __future__ import annotations

from tests.support.families.cases import Case, Family, duplicate, new, part_and_whole
from tests.support.families.pages import Page, Site, h2, link, links, other_pages, p, pager, post, ul
from tests.support.families.prose import paragraph, paragraphs

TRAIL = Site(
    "www.trailnotes.example",
    "Trail Notes",
    ("Walks", "Gear", "Food", "Huts", "Maps", "Letters", "About us"),
    side=links("Walks of the month", w_1="Along the salt canal", w_2="Three huts in a day", w_3="A ridge for children"),
    footer="Trail Notes is written by walkers. Distances are measured with a wheel.",
)
MOBILE = Site("m.trailnotes.example", "Trail Notes", ("Menu", "Search"), footer="Show the full site")
LUYOU = Site(
    "www.shanlu.example",
    "山路笔记",
    ("路线", "装备", "营地", "问答", "关于"),
    side=links("本月路线", w_1="盐道旧径", w_2="一日三营"),
    footer="山路笔记由走路的人写成。",
    lang="zh",
)
LUYOU_MOBILE = Site("m.shanlu.example", "山路笔记", ("菜单", "搜索"), footer="电脑版", lang="zh")

_WALK = paragraphs("walk", 4)
_TITLE = "The hollow cairn above Slate Bay"
_NOTE_TITLE = "The footbridge at Low Mill is closed"
_NOTE = (
    "The footbridge at Low Mill has lost two planks and is closed until the parish finds a carpenter. Walkers on the "
    "river path turn off at the chapel and cross by the road, which adds a quarter of an hour."
)
_STORY = paragraphs("story", 2)
_RECIPE = (
    ul(
        "600 g potatoes",
        "a ring of smoked sausage",
        "two sour apples",
        "six juniper berries",
        "half a litre of cider",
        "salt",
    ),
    p(paragraph("recipe", 3)),
)
_OTHER_WALK = paragraphs("other walk", 2)
_COMMENTS = (
    post(
        "Ravi",
        "2 July",
        "Edwin is my uncle. He took the train from Carlisle every year, and he missed 2001, when the hills were "
        "closed.",
    ),
    post(
        "Gwen",
        "9 July",
        "The yellow marks on the blocks have been painted over in red this spring. Soup is now on Saturdays as well.",
    ),
)
_ZH_TITLE = "石板湾上的空心石堆"
_ZH_WALK = paragraphs("walk", 3, "zh")


def _print(url: str, title: str, *main: str, lang: str = "en", name: str = TRAIL.name) -> Page:
    """Make the edition for printing, which shows only the name of the site besides the article."""
    return Page(
        url,
        f'<!doctype html><html lang="{lang}"><head><meta charset="utf-8"><title>{title} – {name}</title></head>'
        f'<body onload="print()"><h1>{title}</h1>{"".join(main)}<hr><p>{url.removesuffix("?print=1")}</p>'
        f"{link(url.removesuffix('?print=1'), 'Back')}</body></html>",
    )


def _amp(url: str, title: str, *main: str) -> Page:
    return Page(
        url,
        f'<!doctype html><html amp lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<link rel="canonical" href="https://www.trailnotes.example/walks/cairn"><style amp-boilerplate></style></head>'
        f'<body><amp-sidebar id="menu" layout="nodisplay">'
        f"{ul(link('/walks/', 'Walks'), link('/gear/', 'Gear'))}</amp-sidebar>"
        f"<header>{link('/', 'Trail Notes')}</header><article><h1>{title}</h1>{''.join(main)}</article>"
        f"<footer>{link('/privacy', 'Privacy')}</footer></body></html>",
    )


_ARTICLE = TRAIL.page("/walks/cairn", _TITLE, p(*_WALK), crumbs=("Walks",))
_PRINT = _print("https://www.trailnotes.example/walks/cairn?print=1", _TITLE, p(*_WALK))
_AMP = _amp("https://www.trailnotes.example/walks/cairn/amp", _TITLE, p(*_WALK))
_PHONE = MOBILE.page("/walks/cairn", _TITLE, p(*_WALK))
_PAGE_1 = TRAIL.page("/walks/cairn?page=1", _TITLE, p(*_WALK[:2]), pager("/walks/cairn", 2), crumbs=("Walks",))
_PAGE_2 = TRAIL.page("/walks/cairn?page=2", _TITLE, p(*_WALK[2:]), pager("/walks/cairn", 2), crumbs=("Walks",))

# fmt: off
_CASES: tuple[Case, ...] = (
    duplicate("the accelerated edition", _ARTICLE, _AMP, "It is the same article."),
    duplicate("the article after its accelerated edition", _AMP, _ARTICLE, "It is the same article."),
    duplicate("the edition for printing", _ARTICLE, _PRINT, "It is the same article."),
    duplicate("the article after its edition for printing", _PRINT, _ARTICLE, "It is the same article."),
    duplicate("the edition for telephones", _ARTICLE, _PHONE, "It is the same article."),
    new("two pages of one article", _PAGE_1, _PAGE_2, "Each has another half of the text."),
    *part_and_whole("a page of an article and its edition for printing", _PAGE_1, _PRINT, "The print has both pages."),
    *part_and_whole("a cut edition for telephones",
        MOBILE.page("/walks/cairn", _TITLE, p(_WALK[0]),
            link("https://www.trailnotes.example/walks/cairn", "Read on")), _ARTICLE,
        "The article has all of its beginning."),
    *part_and_whole("a recipe as a card and with its story",
        _print("https://www.trailnotes.example/food/hay-pot?print=1", "Hay pot", *_RECIPE),
        TRAIL.page("/food/hay-pot", "Hay pot", p(*_STORY), h2("Ingredients"), *_RECIPE, crumbs=("Food",)),
        "The page has the whole recipe, and the story."),
    duplicate("a short note for printing", TRAIL.page("/walks/low-mill", _NOTE_TITLE, p(_NOTE), crumbs=("Walks",)),
        _print("https://www.trailnotes.example/walks/low-mill?print=1", _NOTE_TITLE, p(_NOTE)),
        "It is the same note."),
    new("prints of two articles", _PRINT,
        _print("https://www.trailnotes.example/walks/canal?print=1", "Along the salt canal", p(*_OTHER_WALK)),
        "They are two articles."),
    *part_and_whole("without and with the letters of readers", _PRINT,
        TRAIL.page("/walks/cairn", _TITLE, p(*_WALK), h2("Letters"), *_COMMENTS, crumbs=("Walks",)),
        "The letters are about what has changed on the way."),
    duplicate("手机版", LUYOU.page("/w/12", _ZH_TITLE, p(*_ZH_WALK), crumbs=("路线",)),
        LUYOU_MOBILE.page("/w/12", _ZH_TITLE, p(*_ZH_WALK)), "It is the same article, in Chinese."),
    new("中文文章的第一页与打印版",
        LUYOU.page("/w/12?page=1", _ZH_TITLE, p(_ZH_WALK[0]), pager("/w/12", 3), crumbs=("路线",)),
        _print("https://www.shanlu.example/w/12?print=1", _ZH_TITLE, p(*_ZH_WALK), lang="zh", name="山路笔记"),
        "The print has two pages more."),
)
# fmt: on


EDITIONS = Family("editions", _CASES, lambda: other_pages((TRAIL, MOBILE, LUYOU, LUYOU_MOBILE), 24, 4, 3))
