"""What an author on a shared host can do to the pages of others there by pages that are settled.

The bounds: what stands on fewer than half of the host's pages is never its furniture, and counts wherever two pages are
told apart; what stands under fewer than four titles is not even shared.
"""

from collections.abc import Callable
from itertools import product

import pytest

from crawler_dedup import Deduplicator, Verdict
from tests.support.families.pages import Page, Site, h2, link, links, p, table, ul
from tests.support.families.prose import heading, paragraph, paragraphs
from tests.support.sitepages import sign_once

TILDE = Site(
    "tilde.example",
    "Tilde Club",
    ("Members", "Rules", "Wiki", "Chat"),
    side=links("Members", alice="alice", bob="bob", carol="carol", mallory="mallory"),
    footer="A shared machine. Every member writes what he or she likes.",
)
_PAGES = 36  # more than 32, after which a site gets a new snapshot
_ALMOST_HALF = 0.45

_ALICE, _BOB = paragraph("alice", 5), paragraph("bob", 5)
_COMMON = (
    "This page belongs to the ring of small pages that are written by hand. Nobody counts who reads them, nothing is "
    "sold, and what stands here today may be gone tomorrow. If you like it, write a page of your own and tell a friend "
    "where it is."
)
_SHORT_ALICE = "The kettle whistles a third below the old one, and the dog goes to the door."
_SHORT_BOB = "Soak the canes overnight, then throw away the book and mend the chair."
_FILM = paragraphs("film", 2)


def _poison(deduplicator: Deduplicator, share: float, attack: Callable[[int], Page]) -> None:
    """Settle pages of the host, of which a *share* are those of the attack, at any time."""
    is_attack = [int((number + 1) * share) > int(number * share) for number in range(_PAGES)]
    _settle(deduplicator, [attack(number) if is_attack[number] else _honest(number) for number in range(_PAGES)])


def _settle(deduplicator: Deduplicator, pages: list[Page]) -> None:
    decisions = deduplicator.decide([sign_once(deduplicator.config, page.url, page.html) for page in pages])
    assert {decision.verdict for decision in decisions} == {Verdict.NEW}


def _honest(number: int) -> Page:
    return TILDE.page(f"/~carol/{number}", heading(f"member {number}"), p(paragraph(f"member {number}", 5)))


def _assert_different(deduplicator: Deduplicator, *pages: Page) -> None:
    decisions = [deduplicator.check(page.url, page.html.encode()) for page in pages]
    assert [str(decision) for decision in decisions if decision.verdict is Verdict.DUPLICATE] == []


def _attack(*blocks: str, titles: int = _PAGES) -> Callable[[int], Page]:
    """Return pages with texts of their own under alternating titles, and with *blocks* of other pages."""

    def make(number: int) -> Page:
        text = p(paragraph(f"mallory {number}", 6))
        return TILDE.page(f"/~mallory/{number}", heading(f"mallory {number % titles}"), text, *blocks)

    return make


def _alice(*blocks: str, title: str = "Diary") -> Page:
    return TILDE.page("/~alice/diary", title, *blocks)


def _bob(*blocks: str, title: str = "Diary") -> Page:
    return TILDE.page("/~bob/diary", title, *blocks)


def _rest_of_diary(*links_of_it: str) -> str:
    return ul(*[link(path, heading(path)) for path in links_of_it])


_LISTED = [f"/~alice/{number}" for number in range(12)]
_LISTED_LATER = ["/~alice/later/1", "/~alice/later/2", "/~alice/later/3"]
_QUARTERS = ("North", "East", "South", "West", "Harbour", "Hill")
_RESULTS = [table(*[(name, str(base + 7 * at)) for at, name in enumerate(_QUARTERS)]) for base in (101, 366)]
_PICTURES = "".join(f'<a href="{path}"><img src="{path}.jpg" alt=""></a>' for path in _LISTED_LATER)
_LINKS = ul(*[link(f"/~alice/essay/{number}", heading(f"essay {number}")) for number in range(30)])


_DIFFERENT: dict[str, tuple[Page, Page, tuple[str, ...]]] = {
    "long texts": (_alice(p(_ALICE)), _bob(p(_BOB)), (p(_ALICE), p(_BOB))),
    "long texts beside a common one": (_alice(p(_COMMON, _ALICE)), _bob(p(_COMMON, _BOB)), (p(_ALICE), p(_BOB))),
    "long texts, each cut into sentences": (
        _alice(p(_ALICE)),
        _bob(p(_BOB)),
        tuple(p(f"{sentence}.") for text in (_ALICE, _BOB) for sentence in text.rstrip(".").split(". ")),
    ),
    "short texts": (_alice(p(_SHORT_ALICE)), _bob(p(_SHORT_BOB)), (p(_SHORT_ALICE), p(_SHORT_BOB))),
    "short texts beside a common one": (
        _alice(p(_COMMON, _SHORT_ALICE)),
        _bob(p(_COMMON, _SHORT_BOB)),
        (p(_COMMON), p(_SHORT_ALICE), p(_SHORT_BOB)),
    ),
    "lines with a date": (
        _alice(p("Friday, 14 June 2024, 18:30, Hall 1"), p(*_FILM)),
        _bob(p("Sunday, 23 June 2024, 20:45, Hall 1"), p(*_FILM)),
        (p("Friday, 14 June 2024, 18:30, Hall 1"), p("Sunday, 23 June 2024, 20:45, Hall 1")),
    ),
    "headings": (
        _alice(h2("Reel one: the lock"), p(*_FILM)),
        _bob(h2("Reel two: the visit"), p(*_FILM)),
        (h2("Reel one: the lock"), h2("Reel two: the visit")),
    ),
    "tables of numbers": (_alice(p(_COMMON), _RESULTS[0]), _bob(p(_COMMON), _RESULTS[1]), tuple(_RESULTS)),
    "tables of numbers below a long text": (
        _alice(p(_ALICE), _RESULTS[0]),
        _bob(p(_ALICE), _RESULTS[1]),
        tuple(_RESULTS),
    ),
    "listed links": (
        _alice(p(_COMMON), _rest_of_diary(*_LISTED)),
        _bob(p(_COMMON), _rest_of_diary(*_LISTED, *_LISTED_LATER)),
        (_rest_of_diary(*_LISTED_LATER),),
    ),
    "links without a text, below an essay": (
        _alice(p(_ALICE), _LINKS),
        _bob(p(_ALICE), _LINKS, _PICTURES),
        (_PICTURES,),
    ),
    "listed links alone": (
        _alice(_rest_of_diary(*_LISTED)),
        _bob(_rest_of_diary(*_LISTED_LATER, *_LISTED[3:])),
        (_rest_of_diary(*_LISTED), _rest_of_diary(*_LISTED_LATER)),
    ),
}
"""A kept page, a different one, and what of them the author repeats on his pages."""

_PICTURED = "links without a text, below an essay"
_KNOWN = pytest.mark.xfail(
    strict=True, raises=AssertionError, reason="Links on three tenths of the pages are navigation, not looked for."
)
_ATTACKS: dict[str, Callable[[Deduplicator, tuple[str, ...]], None]] = {
    "on fewer than half of the pages": lambda index, repeated: _poison(index, _ALMOST_HALF, _attack(*repeated)),
    "on most pages, under three titles": lambda index, repeated: _poison(index, 0.8, _attack(*repeated, titles=3)),
    "on many pages in a row": lambda index, repeated: _settle(
        index, [*map(_honest, range(56)), *map(_attack(*repeated), range(40))]
    ),
}


def test_different_pictures_count_if_they_stand_on_a_quarter_of_the_pages(deduplicator: Deduplicator) -> None:
    kept, new, repeated = _DIFFERENT[_PICTURED]
    _poison(deduplicator, 0.25, _attack(*repeated))
    _assert_different(deduplicator, kept, new)


@pytest.mark.parametrize(
    ("name", "attack"),
    [
        pytest.param(name, attack, marks=[_KNOWN] if name == _PICTURED and "titles" not in attack else [])
        for name, attack in product(_DIFFERENT, _ATTACKS)
    ],
)
def test_pages_stay_different_whatever_of_them_stands_on_pages_of_the_attack(
    deduplicator: Deduplicator, name: str, attack: str
) -> None:
    kept, new, repeated = _DIFFERENT[name]
    _ATTACKS[attack](deduplicator, repeated)
    _assert_different(deduplicator, kept, new)


def test_titles_stay_different_if_fewer_than_half_of_the_titles_contain_them(deduplicator: Deduplicator) -> None:
    def attack(number: int) -> Page:
        title = f"Rope of thirty metres | Rope of sixty metres | {heading(f'mallory {number}')}"
        return TILDE.page(f"/~mallory/{number}", title, p(paragraph(f"mallory {number}", 6)))

    _poison(deduplicator, _ALMOST_HALF, attack)
    kept = _alice(p(_COMMON, _ALICE), title="Rope of thirty metres")
    new = _bob(p(_COMMON, _ALICE), title="Rope of sixty metres")
    _assert_different(deduplicator, kept, new)


_COPIED = {
    "a long text": _alice(p(_ALICE, _BOB)),
    "a short text": _alice(p(_SHORT_ALICE), link("/~alice/", "Back")),
    "a list": _alice(_rest_of_diary(*_LISTED)),
    "a table": _alice(p(_COMMON), _RESULTS[0]),
}


@pytest.mark.parametrize("name", _COPIED)
def test_a_copy_is_dropped_though_many_other_pages_have_its_content(deduplicator: Deduplicator, name: str) -> None:
    original = _COPIED[name]
    body = original.html.split("<main>")[1].split("</main>")[0].split("</h1>")[1]
    _poison(deduplicator, _ALMOST_HALF, _attack(body))
    for url, verdict in ((original.url, Verdict.NEW), ("https://tilde.example/~mallory/copy", Verdict.DUPLICATE)):
        assert deduplicator.check(url, original.html.encode()).verdict is verdict
