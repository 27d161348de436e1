"""Short pages of one form: jobs, events, members, the weather, quotations, recipes, sizes and colours."""

from tests.support.families.cases import Case, Family, duplicate, new, not_duplicate, part_and_whole
from tests.support.families.pages import Page, h2, link, p, read_posts, sites, table, ul
from tests.support.families.prose import heading, paragraph, paragraphs, read_text

BOARD, GANGKOU = sites("notices")

_RIGGER = paragraphs("rigger", 2)


def _job(number: int, place: str = "Leith", until: str = "14 June 2024", *texts: str) -> Page:
    facts = table(("Place", place), ("Apply until", until), ("Hours", "38 a week"))
    return BOARD.page(f"/jobs/{number}", "Rigger for a museum ship", facts, p(*(texts or _RIGGER)), crumbs=("Jobs",))


_KNOTS = paragraph("knots", 4)


def _event(number: int, time_and_place: str, *appended: str) -> Page:
    return BOARD.page(
        f"/events/{number}", "Knots for beginners", p(time_and_place), p(_KNOTS), *appended, crumbs=("Events",)
    )


def _member(path: str, name: str, text: str, *appended: str, head: str | None = None) -> Page:
    facts = table(("Member since", "2019"), ("Harbour", "Leith"), ("Notices", "3"))
    return BOARD.page(path, name, facts, p(text), *appended, head=head, crumbs=("Members",))


_MEMBER_TEXT = read_text("member")
_NO_TEXT = "This member has not written anything yet. Say hello, and perhaps there will be more to read next time."


def _weather(path: str, town: str, *degrees: int) -> Page:
    rows = [
        (day, f"{degree} °C", f"wind {degree - 6} knots")
        for day, degree in zip(("Mon", "Tue", "Wed"), degrees, strict=True)
    ]
    text = paragraph("weather", 3)
    return BOARD.page(path, f"Weather in {town}", table(*rows), p(text), crumbs=("Weather",))


def _quote(company: str, price: str, change: str) -> Page:
    text = paragraph("quote", 3)
    rows = table(("Last", price), ("Change", change), ("Currency", "NOK"))
    return BOARD.page(f"/markets/{company.lower()}", "Share price", p(company), rows, p(text), crumbs=("Markets",))


_EEL = (paragraph("eel", 3),)


def _recipe(path: str, persons: int, *appended: str) -> Page:
    amounts = ul(f"{2 * persons} eels", f"{50 * persons} g of coarse salt", f"{3 * persons} juniper berries")
    return BOARD.page(path, "Smoked eel", p(f"For {persons}"), amounts, p(*_EEL), *appended, crumbs=("Kitchen",))


_EATERS = read_posts("remarks about eel")

_SMOCK = paragraphs("smock", 2)


def _smock(path: str, *rows: tuple[str, str]) -> Page:
    button = "<form><button>Put into the basket</button></form>"
    return BOARD.page(path, "Sailcloth smock", table(("Price", "€ 89"), *rows), p(*_SMOCK), button, crumbs=("Shop",))


_WELDER = paragraph("welder", 4, "zh")


def _zh_job(number: int, place: str) -> Page:
    facts = table(("地点", place), ("人数", "两名"), ("联系", "厂办公室"))
    return GANGKOU.page(f"/jobs/{number}", "船厂招焊工", facts, p(_WELDER), crumbs=("招聘",))


# fmt: off
_CASES: tuple[Case, ...] = (
    duplicate("a job posted again", _job(31), _job(58), "The notice is the same to the letter."),
    new("one job in two harbours", _job(31), _job(58, "Hull"), "Two harbours look for somebody each."),
    not_duplicate("a job with a later date", _job(31), _job(58, until="30 August 2024"),
        "It can be applied for again."),
    *part_and_whole("a job before a paragraph was added", _job(31),
        _job(32, "Leith", "14 June 2024", *_RIGGER,
            "Housing can be had aboard the lightship until you have found a room."),
        "The later notice has all of the earlier one."),
    new("one event on two dates", _event(8, "Saturday 8 June 2024, 10:00, sail loft"),
        _event(9, "Saturday 13 July 2024, 10:00, sail loft"), "These are two afternoons."),
    new("one event in two places", _event(8, "On the first Saturday of the month, in the sail loft"),
        _event(9, "On the first Saturday of the month, in the seamen's chapel"),
        "Who goes to the other place finds nobody."),
    duplicate("one event under two addresses", _event(8, "Saturday 8 June 2024, 10:00, sail loft"),
        BOARD.page("/calendar/2024/06/knots", "Knots for beginners", p("Saturday 8 June 2024, 10:00, sail loft"),
            p(_KNOTS), crumbs=("Events", "Weather")), "It is the same notice."),
    not_duplicate("two members who have written nothing", _member("/members/ada", "Ada Lunde", _NO_TEXT),
        _member("/members/ruud", "Ruud Visser", _NO_TEXT), "They are two people."),
    not_duplicate("two members who have written nothing, under one title",
        _member("/members/ada", "Ada Lunde", _NO_TEXT, head="Member – Quayside"),
        _member("/members/ruud", "Ruud Visser", _NO_TEXT, head="Member – Quayside"), "They are two people."),
    *part_and_whole("a member without and with notices", _member("/members/ada?tab=about", "Ada Lunde", _MEMBER_TEXT),
        _member("/members/ada", "Ada Lunde", _MEMBER_TEXT, h2("Notices"),
            p("Seeking a keelson of oak, five metres, for a boat that has waited since my grandfather's time.")),
        "The whole profile has what the tab shows."),
    new("the weather of two towns", _weather("/weather/leith", "Leith", 14, 16, 13),
        _weather("/weather/hull", "Hull", 17, 19, 21), "The towns have other weather."),
    new("the weather on two days", _weather("/weather/leith", "Leith", 14, 16, 13),
        _weather("/weather/leith?day=2", "Leith", 12, 18, 20), "The figures differ."),
    duplicate("the weather under two addresses", _weather("/weather/leith", "Leith", 14, 16, 13),
        _weather("/weather?town=leith", "Leith", 14, 16, 13), "It is the same page."),
    new("two share prices", _quote("Fjordline", "114.50", "+1.2 %"), _quote("Havkraft", "38.05", "−0.4 %"),
        "Two companies."),
    new("one recipe for four and for six", _recipe("/kitchen/2", 4), _recipe("/kitchen/2?for=6", 6),
        "All amounts differ."),
    *part_and_whole("a recipe for printing and with comments", _recipe("/kitchen/2?print", 4),
        _recipe("/kitchen/2", 4, *_EATERS), "The page has the recipe and what readers say."),
    new("two sizes in a table", _smock("/shop/smock-s", ("Chest", "98 cm"), ("Length", "68 cm")),
        _smock("/shop/smock-l", ("Chest", "112 cm"), ("Length", "74 cm")),
        "A shirt that does not fit is another shirt."),
    new("two colours in a table", _smock("/shop/smock-navy", ("Colour", "Navy, dyed in the piece")),
        _smock("/shop/smock-tan", ("Colour", "Tan, barked with catechu")), "Two articles of the shop."),
    duplicate("one size by two ways", _smock("/shop/smock-s", ("Chest", "98 cm"), ("Length", "68 cm")),
        _smock("/sale/smock-s?ref=home", ("Chest", "98 cm"), ("Length", "68 cm")), "It is the same article."),
    duplicate("同一招聘两个编号", _zh_job(31, "三号码头"), _zh_job(58, "三号码头"),
        "The notice is the same to the letter."),
    new("同一招聘两个地点", _zh_job(31, "三号码头"), _zh_job(58, "外海修理厂"), "Two places look for welders."),
)
# fmt: on


def _make_other_pages() -> list[Page]:
    pages = []
    for number in range(24):
        name, section = heading(f"notice {number}"), ("Jobs", "Events", "Kitchen", "Shop")[number % 4]
        facts = table(("Place", heading(f"place {number}")), ("Hours", f"{20 + number} a week"))
        text = p(paragraph(f"notice {number} a", 3), paragraph(f"notice {number} b", 2))
        appended = link(f"/ask/{number}", "Ask the writer")
        pages.append(BOARD.page(f"/{section.lower()}/{100 + number}", name, facts, text, appended, crumbs=(section,)))
        zh_text = p(paragraph(f"信息 {number} 甲", 3, "zh"), paragraph(f"信息 {number} 乙", 2, "zh"))
        pages.append(GANGKOU.page(f"/jobs/{100 + number}", heading(f"信息 {number}", "zh"), zh_text, crumbs=("招聘",)))
    return pages


NOTICES = Family("notices", _CASES, _make_other_pages)
