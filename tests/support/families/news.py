"""Reports of news agencies in several papers, and the papers' own articles."""

from tests.support.families.cases import Case, Family, duplicate, new, not_duplicate, part_and_whole
from tests.support.families.pages import Page, Site, other_pages, p, sites, table, teaser
from tests.support.families.prose import paragraph, paragraphs, read_text

COURIER, GAZETTE, ZEITUNG, CHENBAO, MENHU = sites("news")

_WIRE = paragraphs("wire", 4)
_LOCAL = p(*paragraphs("local", 2))
_OTHER_AGENCY = paragraphs("other agency", 3)


def _quake(*figures: str) -> str:
    return p(*read_text("earthquake").format(*figures).splitlines())


def _market(*figures: str) -> str:
    return p(read_text("markets").format(*figures), paragraph("market", 4), paragraph("market 2", 3))


def _result(district: str, *votes: str) -> Page:
    rows = zip(
        ("Farmers' League", "Civic Union", "Workers' Party", "Green List", "Independents", "Invalid"),
        votes,
        strict=True,
    )
    text = p(paragraph("result", 3))
    return COURIER.page(
        f"/vote/{district.casefold()}", f"Council election: {district}", text, table(*rows), crumbs=("Region",)
    )


def _level(number: int, reading: str, day: str) -> Page:
    return COURIER.page(
        f"/weather/level/{number}", "Level of the river", p(f"{reading} at the weir, {day}."), crumbs=("Weather",)
    )


def _forecast(day: str, *figures: object) -> Page:
    return CHENBAO.page(f"/tianqi/{day}", "今日天气", p(read_text("forecast").format(*figures)))


_REVIEW = paragraphs("review", 3)
_GERMAN = paragraphs("german", 2, "de")
_CHINESE = paragraphs("chinese", 3, "zh")


def _zh_article(site: Site, path: str, title: str, editor: str) -> Page:
    return site.page(path, title, p(editor), p(*_CHINESE))


# fmt: off
_CASES: tuple[Case, ...] = (
    duplicate("a wire under another byline and headline",
        COURIER.page("/news/881", "Port of Lisbon works again", p("By our correspondent"), p(*_WIRE)),
        GAZETTE.page("/world/lisbon-pilots", "Pilots end week of waiting on the Tagus", p("Agency, 6 June"),
            p(*_WIRE)), "It is the same report."),
    *part_and_whole("a wire without and with local paragraphs",
        COURIER.page("/news/881", "Port of Lisbon works again", p(*_WIRE)),
        GAZETTE.page("/harbour/pilots", "Port of Lisbon works again", p(*_WIRE), _LOCAL),
        "The longer version has all of the report, and a part of its own."),
    new("two agencies on one event", COURIER.page("/news/881", "Port of Lisbon works again", p(*_WIRE)),
        GAZETTE.page("/world/fog", "Port of Lisbon works again", p(*_OTHER_AGENCY)),
        "Two people have written two texts."),
    new("a report with later figures",
        COURIER.page("/news/900", "Earthquake in the highlands", _quake("12", "80", "300", "4", "Monday", "250")),
        COURIER.page("/news/907", "Earthquake in the highlands",
            _quake("231", "1,450", "6,200", "19", "Monday", "3,100")), "The figures are what is new."),
    new("two days of the stock exchange",
        COURIER.page("/money/0604", "Markets at the close",
            _market("8,412.55", "0.4", "31.20", "77.15", "81.30", "1.0871")),
        COURIER.page("/money/0605", "Markets at the close",
            _market("8,377.02", "-0.9", "30.64", "78.90", "79.95", "1.0832")), "All figures differ."),
    new("results of two districts", _result("Eastham", "4,102", "3,377", "2,950", "1,204", "310", "88"),
        _result("Westbrook", "1,870", "5,411", "1,002", "2,645", "97", "143"),
        "Only the sentence about the count is the same."),
    not_duplicate("two levels of the river", _level(71, "3.12 m, falling", "4 June, 06:00"),
        _level(72, "4.87 m, falling", "5 June, 06:00"),
        "Nothing else stands on the page, and it is what people look for."),
    duplicate("a review in two sections",
        COURIER.page("/culture/mill", "The mill does not want to be sold", p(*_REVIEW), crumbs=("Culture",)),
        COURIER.page("/region/mill", "The mill does not want to be sold", p(*_REVIEW), crumbs=("Region",)),
        "It is the same review."),
    *part_and_whole("an excerpt behind which more is for subscribers",
        COURIER.page("/culture/mill?preview", "The mill does not want to be sold", p(_REVIEW[0]),
            p("Subscribe to read on.")),
        COURIER.page("/culture/mill", "The mill does not want to be sold", p(*_REVIEW)),
        "The article has all of its beginning."),
    new("an article after the front page that shows its beginning",
        COURIER.page("/", "Front page",
            teaser("/culture/mill", "The mill does not want to be sold", " ".join(_REVIEW[:2])),
            teaser("/news/881", "Port of Lisbon works again", " ".join(_WIRE[:3])),
            teaser("/n/2", "The bridge reopens", paragraph("bridge", 4))),
        COURIER.page("/culture/mill", "The mill does not want to be sold", p(*_REVIEW)),
        "The end of the review stands nowhere else."),
    duplicate("eine Meldung in zwei Ressorts",
        ZEITUNG.page("/kultur/nachtzug", "Der Nachtzug fährt wieder", p(*_GERMAN), crumbs=("Kultur",)),
        ZEITUNG.page("/politik/nachtzug", "Der Nachtzug fährt wieder", p(*_GERMAN), crumbs=("Politik",)),
        "It is the same report, in German."),
    duplicate("门户转载", _zh_article(CHENBAO, "/a/31", "停航三年 老渡口恢复通航", "记者 林晓 责任编辑 周平"),
        _zh_article(MENHU, "/news/20240606/31.html", "两元钱过江，老渡轮又开了", "来源：江畔晨报 编辑：小新"),
        "A Chinese portal reprints the report under its own headline."),
    new("两天的天气预报", _forecast("0604", 26, 18, 3, 71, 4, "5时02", "19时11"),
        _forecast("0605", 31, 23, 5, 64, 7, "5时01", "19时12"), "All figures differ."),
)
# fmt: on


NEWS = Family("news", _CASES, lambda: other_pages((COURIER, GAZETTE, ZEITUNG, CHENBAO, MENHU), 20, 4, 3))
