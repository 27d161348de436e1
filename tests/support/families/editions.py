"""One article in editions: for accelerated mobile pages, for printing, for telephones, and cut into pages."""

from tests.support.families.cases import Case, Family, duplicate, new, part_and_whole
from tests.support.families.pages import Page, h2, link, other_pages, p, pager, read_posts, sites, ul
from tests.support.families.prose import paragraph, paragraphs, read_text

TRAIL, MOBILE, LUYOU, LUYOU_MOBILE = sites("editions")

_WALK = paragraphs("walk", 4)
_TITLE = "The hollow cairn above Slate Bay"
_NOTE_TITLE = "The footbridge at Low Mill is closed"
_NOTE = read_text("footbridge")
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
_COMMENTS = read_posts("letters about a walk")
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
