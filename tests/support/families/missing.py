"""Pages with status 200 that say that the page does not exist."""

from tests.support.families.cases import Case, Family, duplicate, new, not_duplicate
from tests.support.families.pages import Page, link, links, other_pages, p, sites, ul
from tests.support.families.prose import heading, read_text

CLUB, SEEDS, VEREIN, JIAOYOU = sites("missing")

_LOST = read_text("no such page")


def _lost(path: str, *appended: str) -> Page:
    return CLUB.page(path, "Page not found", p(_LOST), *appended, link("/", "Home page"))


def _gone(path: str, name: str) -> Page:
    return SEEDS.page(
        path,
        name,
        p(f"{name} is no longer available.", "It was taken out of the list by the member who grew it."),
        link("/beans/", "Other beans"),
    )


_LOGIN = [read_text("members only")]


def _login(path: str) -> Page:
    form = '<form method="post"><input name="number"><input type="submit" value="Sign in"></form>'
    return CLUB.page(path, "Members only", p(*_LOGIN), form, link("/join-us/", "Join us"))


_MAINTENANCE = p(read_text("repairs"))
_ZH_LOST = p(read_text("no such page in Chinese"))
_DE_LOST = p(read_text("no such page in German"))
_REAL = read_text("boat")

# fmt: off
_CASES: tuple[Case, ...] = (
    duplicate("no page, twice", _lost("/boats/44"), _lost("/regattas/2011/list"), "Neither says anything."),
    duplicate("no page, with its address", _lost("/boats/44", p("You asked for /boats/44.")),
        _lost("/regattas/2011/list", p("You asked for /regattas/2011/list.")),
        "Neither says anything but the address that was asked for."),
    duplicate("no page, beside another side column", _lost("/boats/44"),
        CLUB.page("/boats/45", "Page not found", p(_LOST), link("/", "Home page"),
            side=links("Results", r_3="Ladies' eights", r_4="Night row")), "The side column is not what makes a page.",
        needs_site=True),
    new("no page, and a short one", _lost("/boats/44"),
        CLUB.page("/boats/4", "Boat number four", p(_REAL), link("/boats/", "All boats")),
        "The second page says something."),
    not_duplicate("no page, and a short one under its title", _lost("/boats/44"),
        CLUB.page("/boats/4", "Page not found", p(_REAL), link("/boats/", "All boats")),
        "The title is a mistake of the author; the text says something."),
    not_duplicate("no page on two sites in other words", _lost("/boats/44"),
        SEEDS.page("/beans/9", "Page not found",
            p("There is nothing here but earth. Try the search, or go back to the beans and choose another row."),
            link("/beans/", "Beans")), "They are two texts."),
    not_duplicate("two things that are no longer available", _gone("/beans/31", "Marbled climbing bean from Ilz"),
        _gone("/beans/58", "Black dwarf bean “Orphan”"), "They name two things."),
    duplicate("members only, twice", _login("/login?next=/boats/book"), _login("/login?next=/results/private"),
        "Neither says what is behind it."),
    duplicate("being repaired, twice", SEEDS.page("/tomatoes/4", "Back soon", _MAINTENANCE, link("/", "Home")),
        SEEDS.page("/herbs/", "Back soon", _MAINTENANCE, link("/", "Home")), "Both say the same."),
    duplicate("Seite nicht gefunden",
        VEREIN.page("/konzerte/77", "Seite nicht gefunden", _DE_LOST, link("/", "Startseite")),
        VEREIN.page("/proben/alt", "Seite nicht gefunden", _DE_LOST, link("/", "Startseite")),
        "Both say the same, in German."),
    duplicate("页面不存在", JIAOYOU.page("/lushu/991", "页面不存在", _ZH_LOST, link("/", "返回首页")),
        JIAOYOU.page("/saishi/old", "页面不存在", _ZH_LOST, link("/", "返回首页")), "Both say the same, in Chinese."),
    new("页面不存在与短消息", JIAOYOU.page("/lushu/991", "页面不存在", _ZH_LOST, link("/", "返回首页")),
        JIAOYOU.page("/lushu/17", "环湖路书更新",
            p("湖东段路面已经修好，公路车可以通过。北岸隧道仍在施工，请从老路绕行，多三公里上坡。补水点增加到五个。"),
            link("/lushu/", "全部路书")), "The second page says something."),
    new("no page, with a list of all pages", _lost("/boats/44"),
        _lost("/sitemap-missing", ul(*[link(f"/page/{number}", heading(f"club {number}")) for number in range(30)])),
        "It has links that nobody has followed."),
)
# fmt: on


MISSING = Family(
    "soft 404", _CASES, lambda: other_pages((CLUB, SEEDS, VEREIN, JIAOYOU), 20, 5, appended=link("/", "⌂"))
)
