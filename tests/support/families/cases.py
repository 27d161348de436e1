"""Families and their cases: kept pages, a new page, and the verdict of a person who stores the crawl."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from tests.support.families.pages import Page


class Expected(StrEnum):
    """The expected verdict of the filter about the new page."""

    DUPLICATE = "duplicate"
    NEW = "new"
    NOT_DUPLICATE = "not duplicate"
    """New, or unchecked because the page has too little content."""


@dataclass(frozen=True)
class Case:
    """Kept pages and a new page.

    Attributes:
        why: why a person who stores the crawl would want both, or would not.
        needs_site: the verdict needs other pages of the site. As long as they are not known, a duplicate may be missed.
    """

    name: str
    expected: Expected
    kept: tuple[Page, ...]
    new: Page
    why: str
    needs_site: bool = False


@dataclass(frozen=True)
class Family:
    """Cases of one kind.

    Attributes:
        make_other_pages: makes 20 to 40 other pages of each of the sites.
    """

    name: str
    cases: tuple[Case, ...]
    make_other_pages: Callable[[], list[Page]]


def duplicate(name: str, kept: Page | tuple[Page, ...], new: Page, why: str, *, needs_site: bool = False) -> Case:
    return Case(name, Expected.DUPLICATE, _several(kept), new, why, needs_site)


def new(name: str, kept: Page | tuple[Page, ...], new: Page, why: str) -> Case:
    return Case(name, Expected.NEW, _several(kept), new, why)


def not_duplicate(name: str, kept: Page | tuple[Page, ...], new: Page, why: str) -> Case:
    return Case(name, Expected.NOT_DUPLICATE, _several(kept), new, why)


def part_and_whole(name: str, part: Page, whole: Page, why: str) -> tuple[Case, Case]:
    """Return two cases: the part is a duplicate of the whole, and the whole is not a duplicate of the part."""
    return (duplicate(f"{name}, the part last", whole, part, why), new(f"{name}, the whole last", part, whole, why))


def _several(kept: Page | tuple[Page, ...]) -> tuple[Page, ...]:
    return (kept,) if isinstance(kept, Page) else kept
