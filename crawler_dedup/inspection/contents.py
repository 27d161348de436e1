"""The contents of an index, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from crawler_dedup.index.index import Index
from crawler_dedup.index.maintenance import read_records
from crawler_dedup.index.profiles import SiteFigures
from crawler_dedup.system.callbacks import Advance


class PagesOfRun(NamedTuple):
    """The pages that one run filed: their number, and the time of the last one, in seconds since 1970."""

    pages: int = 0
    last_filed: int = 0


@dataclass(frozen=True)
class Contents:
    """The contents of an index of pages, counted.

    Attributes:
        scopes: scope → number of pages, most first.
        runs: number of a run → its pages.
        open_claims: pages that are not settled.
        sites: what is stored about their sites.
    """

    scopes: Mapping[str, int]
    runs: Mapping[int, PagesOfRun]
    open_claims: int
    sites: SiteFigures


def count_contents(pages: Index, advance: Advance) -> Contents:
    """Count the contents of an index of pages, record by record."""
    scopes: Counter[str] = Counter()
    runs: dict[int, PagesOfRun] = {}
    open_claims = 0
    for record in read_records(pages, advance):
        scopes[record.page.scope] += 1
        run = runs.get(record.run, PagesOfRun())
        runs[record.run] = PagesOfRun(run.pages + 1, max(run.last_filed, record.filed))
        open_claims += not record.settled
    return Contents(dict(scopes.most_common()), runs, open_claims, pages.measure_sites())
