"""Calendars, and pages of events that take place more than once."""

from collections.abc import Sequence
from dataclasses import replace

from tests.support.families.cases import Case, Family, duplicate, new, part_and_whole
from tests.support.families.pages import Page, h2, link, links, p, sites, teaser, ul
from tests.support.families.prose import heading, paragraph, paragraphs

CINEMA, YOGA, JIANGTANG = sites("calendars")
CINEMA = replace(CINEMA, side=f"<section><h3>The house</h3><p>{paragraph('house', 3)}</p></section>{CINEMA.side}")

_FILM = paragraphs("film", 2)
_OTHER_FILM = (paragraph("other film", 3),)
_CLASS = p(paragraph("class", 5))
_LECTURE = paragraphs("lecture", 2, "zh")


def _screening(
    path: str,
    day: str,
    hour: str,
    *,
    title: str = "Postcards to the lock",
    film: Sequence[str] = _FILM,
    side: str | None = None,
) -> Page:
    time_and_place = f"<p class='when'>{day}, {hour}, Hall 1</p>"
    return CINEMA.page(
        path, title, time_and_place, p(*film), link(f"/tickets{path}", "Tickets"), crumbs=("Programme",), side=side
    )


def _class(path: str, day: str) -> Page:
    return YOGA.page(path, "Slow yoga", h2(day), _CLASS, crumbs=("Diary",))


def _month(path: str, name: str, first: int, *, events: int = 14) -> Page:
    days = [
        f"{day} {name}: {link(f'/event/{first + day}', heading(f'event {first + day}'))}"
        for day in range(1, events + 1)
    ]
    return YOGA.page(path, f"Diary for {name}", ul(*days), crumbs=("Diary",))


def _lecture(path: str, day: str) -> Page:
    return JIANGTANG.page(path, "古人怎样知道时间", p(f"时间：{day} 地点：一楼报告厅"), p(*_LECTURE), crumbs=("讲座",))


_DAY = CINEMA.page(
    "/day/2024-06-14",
    "Friday, 14 June",
    teaser("/screening/801", "Postcards to the lock", _FILM[0], "18:30"),
    teaser("/screening/802", "The horses of the brothers Amsel", _OTHER_FILM[0], "21:00"),
    crumbs=("Programme",),
)

# fmt: off
_CASES: tuple[Case, ...] = (
    new("one film on two days", _screening("/screening/801", "Friday, 14 June 2024", "18:30"),
        _screening("/screening/833", "Sunday, 23 June 2024", "20:45"), "The date is what a visitor looks for."),
    new("one film on one day at two hours", _screening("/screening/801", "Friday, 14 June 2024", "18:30"),
        _screening("/screening/804", "Friday, 14 June 2024", "22:15"), "The hour is what a visitor looks for."),
    new("a date line that stands on a fifth of the pages",
        _screening("/screening/801", "Friday, 14 June 2024", "18:30"),
        _screening("/screening/840", "Saturday, 1 June 2024", "19:00"),
        "The date line stands on pages of other films of that evening too, and still makes this a page of its own."),
    duplicate("a screening reached from the calendar", _screening("/screening/801", "Friday, 14 June 2024", "18:30"),
        _screening("/screening/801?from=calendar", "Friday, 14 June 2024", "18:30"), "It is the same screening."),
    duplicate("a screening whose side column has moved on",
        _screening("/screening/801", "Friday, 14 June 2024", "18:30"),
        _screening("/films/801", "Friday, 14 June 2024", "18:30",
            side=links("Next", f_3="Blind piano", f_4="The long take")),
        "What comes next is no part of the screening."),
    new("a screening after its day", _DAY, _screening("/screening/801", "Friday, 14 June 2024", "18:30"),
        "The day shows the first paragraph of it."),
    new("a day after one of its screenings", _screening("/screening/801", "Friday, 14 June 2024", "18:30"), _DAY,
        "The day has another film."),
    new("a class in two weeks", _class("/diary/71", "Thursday, 6 June 2024, 19:00"),
        _class("/diary/72", "Thursday, 13 June 2024, 19:00"), "The date is what a visitor looks for."),
    duplicate("a class under two addresses", _class("/diary/71", "Thursday, 6 June 2024, 19:00"),
        _class("/courses/yoga/71", "Thursday, 6 June 2024, 19:00"), "It is the same evening."),
    new("two months", _month("/diary/2024/06", "June", 100), _month("/diary/2024/07", "July", 200),
        "Each has other events."),
    duplicate("a month under two addresses", _month("/diary/2024/06", "June", 100),
        _month("/diary?month=6&year=2024", "June", 100), "It is the same month."),
    *part_and_whole("a month before and after two events were added", _month("/diary/2024/06", "June", 100),
        _month("/diary/2024/06?all", "June", 100, events=16), "The later state has all of the earlier one."),
    new("同一讲座两场", _lecture("/j/51", "6月8日 14:00"), _lecture("/j/52", "6月22日 19:30"),
        "The date is what a visitor looks for."),
    duplicate("日程里的同一讲座", _lecture("/j/51", "6月8日 14:00"), _lecture("/richeng/0608/51", "6月8日 14:00"),
        "It is the same lecture."),
)
# fmt: on


def _make_other_pages() -> list[Page]:
    pages = []
    for number in range(26):
        # Every fourth event is on the evening of one of the cases.
        day = "Saturday, 1 June 2024" if number % 4 == 0 else f"{number + 2} July 2024"
        title, film = heading(f"film {number}"), (paragraph(f"film {number}", 4),)
        pages.append(_screening(f"/screening/{600 + number}", day, f"{17 + number % 5}:15", title=title, film=film))
    for number in range(22):
        path, time_line = f"/{300 + number}", h2(f"Monday, {number + 1} April 2024, 18:00")
        title, text = heading(f"evening {number}"), p(paragraph(f"evening {number}", 4))
        pages.append(YOGA.page(f"/diary{path}", title, time_line, text, crumbs=("Diary",)))
        title, text = heading(f"讲座 {number}", "zh"), p(paragraph(f"讲座 {number}", 4, "zh"))
        time_line = p(f"时间：4月{number + 1}日 15:00 地点：二楼")
        pages.append(JIANGTANG.page(f"/j{path}", title, time_line, text, crumbs=("讲座",)))
    return pages


CALENDARS = Family("calendars", _CASES, _make_other_pages)
