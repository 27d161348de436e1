"""One article in editions: for accelerated mobile pages, for printing, for telephones, and cut into pages."""

from __future__ import annotations

from tests.support.families.cases import Case, Family, duplicate, new, part_and_whole
from tests.support.families.pages import Page, Site, h2, link, links, p, pager, post, ul
from tests.support.families.prose import heading, paragraph

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

_WALK = (
    "The path leaves the village between two barns and follows a wall of slate for half an hour. Nothing shows how high "
    "you climb until the wall ends, and there the whole bay lies under your boots, with the ferry drawing a line across "
    "it.",
    "Fill your bottles at the trough of the shepherds' hut, the last water before the saddle. In June the snow in the "
    "gully is soft by ten o'clock; whoever comes later takes the longer way over the blocks on the left, which is "
    "marked in yellow.",
    "From the saddle to the summit it is forty minutes on grass. The cairn is hollow, and inside stands a biscuit tin "
    "with a pencil and a book in which a certain Edwin has signed on every first of May since 1983.",
    "Go down by the eastern ridge if your knees allow it. The quarrymen's steps are steep and worn, yet they end at a "
    "terrace where soup is served on Sundays, and the bus stops at the gate.",
)
_TITLE = "The hollow cairn above Slate Bay"
_NOTE_TITLE = "The footbridge at Low Mill is closed"
_NOTE = (
    "The footbridge at Low Mill has lost two planks and is closed until the parish finds a carpenter. Walkers on the "
    "river path turn off at the chapel and cross by the road, which adds a quarter of an hour."
)
_STORY = (
    "My grandmother cooked this on the back of the stove whenever the men came down from the hay, and she never wrote a "
    "line of it anywhere. What follows is what four cousins remembered, after a long quarrel about the juniper.",
    "It is better on the second day, and best on the third, eaten cold out of the pot by somebody who thinks that "
    "nobody looks.",
)
_RECIPE = (
    ul(
        "600 g potatoes",
        "a ring of smoked sausage",
        "two sour apples",
        "six juniper berries",
        "half a litre of cider",
        "salt",
    ),
    p(
        "Slice potatoes and apples as thick as a finger and lay them in turn into an iron pot. Crush the berries, put "
        "them between the layers, lay the sausage on top and pour in the cider. Cover and leave it on a low fire for "
        "ninety minutes."
    ),
)
_OTHER_WALK = (
    "The salt canal has had no salt on it since the railway came, and no boats since the railway went. What is left is "
    "a level towpath of nineteen kilometres, with a bench at each of the eleven locks and herons that know the "
    "timetable of walkers.",
    "Begin at the basin behind the brewery. At the fifth lock the keeper's widow sells eggs and lends umbrellas; give "
    "yours back at the ninth, where her sister lives.",
)
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
_ZH_WALK = (
    "小路从两座谷仓中间出村，沿着石板墙走半个钟头。墙一断，整个海湾就在脚下，渡轮在水面上划出一道白线，谁也没有发觉"
    "自己已经爬了这么高。",
    "牧人小屋的水槽是垭口以前最后的水源，记得把水壶装满。六月的沟里还有雪，十点以后就软了，来晚的人走左边的石块路，"
    "跟着黄色的箭头。",
    "从垭口到山顶都是草坡。石堆中间是空的，里面有一只饼干盒，盒里放着铅笔和本子，有个叫阿旺的人从一九八三年起每年五"
    "月一日都来签名。",
)


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

_CASES: tuple[Case, ...] = (
    duplicate("the accelerated edition", _ARTICLE, _AMP, "It is the same article."),
    duplicate("the article after its accelerated edition", _AMP, _ARTICLE, "It is the same article."),
    duplicate("the edition for printing", _ARTICLE, _PRINT, "It is the same article."),
    duplicate("the article after its edition for printing", _PRINT, _ARTICLE, "It is the same article."),
    duplicate("the edition for telephones", _ARTICLE, _PHONE, "It is the same article."),
    new("two pages of one article", _PAGE_1, _PAGE_2, "Each has another half of the text."),
    *part_and_whole("a page of an article and its edition for printing", _PAGE_1, _PRINT, "The print has both pages."),
    *part_and_whole(
        "a cut edition for telephones",
        MOBILE.page("/walks/cairn", _TITLE, p(_WALK[0]), link("https://www.trailnotes.example/walks/cairn", "Read on")),
        _ARTICLE,
        "The article has all of its beginning.",
    ),
    *part_and_whole(
        "a recipe as a card and with its story",
        _print("https://www.trailnotes.example/food/hay-pot?print=1", "Hay pot", *_RECIPE),
        TRAIL.page("/food/hay-pot", "Hay pot", p(*_STORY), h2("Ingredients"), *_RECIPE, crumbs=("Food",)),
        "The page has the whole recipe, and the story.",
    ),
    duplicate(
        "a short note for printing",
        TRAIL.page("/walks/low-mill", _NOTE_TITLE, p(_NOTE), crumbs=("Walks",)),
        _print("https://www.trailnotes.example/walks/low-mill?print=1", _NOTE_TITLE, p(_NOTE)),
        "It is the same note.",
    ),
    new(
        "prints of two articles",
        _PRINT,
        _print("https://www.trailnotes.example/walks/canal?print=1", "Along the salt canal", p(*_OTHER_WALK)),
        "They are two articles.",
    ),
    *part_and_whole(
        "without and with the letters of readers",
        _PRINT,
        TRAIL.page("/walks/cairn", _TITLE, p(*_WALK), h2("Letters"), *_COMMENTS, crumbs=("Walks",)),
        "The letters are about what has changed on the way.",
    ),
    duplicate(
        "手机版",
        LUYOU.page("/w/12", _ZH_TITLE, p(*_ZH_WALK), crumbs=("路线",)),
        LUYOU_MOBILE.page("/w/12", _ZH_TITLE, p(*_ZH_WALK)),
        "It is the same article, in Chinese.",
    ),
    new(
        "中文文章的第一页与打印版",
        LUYOU.page("/w/12?page=1", _ZH_TITLE, p(_ZH_WALK[0]), pager("/w/12", 3), crumbs=("路线",)),
        _print("https://www.shanlu.example/w/12?print=1", _ZH_TITLE, p(*_ZH_WALK), lang="zh", name="山路笔记"),
        "The print has two pages more.",
    ),
)


def _make_other_pages() -> list[Page]:
    pages = []
    for number in range(24):
        title, text = heading(f"walk {number}"), p(paragraph(f"walk {number}", 4), paragraph(f"walk {number} end", 3))
        path = f"/walks/{600 + number}"
        pages.append(TRAIL.page(path, title, text, crumbs=("Walks",)))
        title, text = heading(f"mobile {number}"), p(paragraph(f"mobile {number}", 5))
        pages.append(MOBILE.page(f"/gear/{number}", title, text))
    for number in range(40):
        title, text = heading(f"路线 {number}", "zh"), p(paragraph(f"路线 {number}", 6, "zh"))
        pages.append((LUYOU if number % 2 else LUYOU_MOBILE).page(f"/w/{600 + number}", title, text))
    return pages


EDITIONS = Family("editions", _CASES, _make_other_pages)
