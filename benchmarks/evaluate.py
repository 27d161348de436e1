"""Precision and recall on the labelled pages, by their properties: ``python -m benchmarks.evaluate [FOLDER]``.

These are the tables of ``crawler-dedup evaluate``, with rows for kinds of pages, for lengths of texts, for thin pages
and for all pairs if nothing is known about any site; the outcomes for each DEDUP_MAX_DISTANCE; the mean over sites,
each with the same weight; and how many of the grey pairs are dropped. The pairs of FOLDER have properties that the
command does not read. ``-s NAME=VALUE`` is a setting.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from rich.console import Console

from crawler_dedup import Config
from crawler_dedup.cli.evaluate import COUNT_COLUMNS, count_cells, counts_table, format_share
from crawler_dedup.cli.project import read_config
from crawler_dedup.cli.terminal import make_table, progress_bars
from crawler_dedup.evaluation.labelled import Counts, LabelledPair, Share, read_folder
from crawler_dedup.evaluation.pairs import (
    PairResult,
    Sites,
    count_by_part,
    count_outcomes,
    decide_direction,
    evaluate_pairs,
    sign_documents,
)
from crawler_dedup.permutedtables import MAX_DISTANCE
from crawler_dedup.signedpage import PageKind
from crawler_dedup.signing.segmentation import resolve_tokenizer
from tests.support.data import DATA, require_data

_SHORT = 250
_TENTHS = ("under .3", ".3–.4", ".4–.5", ".5–.6", ".6–.7", ".7–.8", ".8 and more", "not given")


class KnownPair(LabelledPair, frozen=True):
    """A labelled pair with its properties.

    Attributes:
        kind_a: "page", or the kind of list that the page is; ``""`` if it is not known.
        kind_b: the same for the other page.
        source: the site, or another origin that pairs have in common; ``""``: the set is the origin.
        j_sub: resemblance of the two texts by a measure that does not depend on this package, 0 to 1.
        min_chars: length of the shorter text without the site's furniture, in characters.
    """

    kind_a: str = ""
    kind_b: str = ""
    source: str = ""
    j_sub: float | None = None
    min_chars: int | None = None


def properties_of(result: PairResult) -> KnownPair:
    """Return the pair of *result* with its properties."""
    assert isinstance(result.labelled, KnownPair)
    return result.labelled


def site_of(result: PairResult) -> str:
    """Return the site of a pair; the name of its set if the pair names no site."""
    return properties_of(result).source or result.set_name


def are_content_pages(result: PairResult) -> bool:
    """Return whether both pages are known to be no lists."""
    pair = properties_of(result)
    return pair.kind_a == pair.kind_b == "page"


def _has_list(result: PairResult) -> bool:
    pair = properties_of(result)
    return not {pair.kind_a, pair.kind_b} <= {"page", ""}


def _is_short(result: PairResult, is_short: bool) -> bool:
    chars = properties_of(result).min_chars
    return chars is not None and (chars < _SHORT) is is_short


PARTS: tuple[tuple[str, Callable[[PairResult], bool]], ...] = (
    ("page–page", are_content_pages),
    ("lists", _has_list),
    (f"short (under {_SHORT} characters)", partial(_is_short, is_short=True)),
    ("long", partial(_is_short, is_short=False)),
)
"""The parts of all sets together: (name, function that returns whether a pair belongs to the part)."""


def without_knowledge(result: PairResult, config: Config) -> PairResult:
    """Return the result as if nothing were known about the sites."""
    decide = partial(decide_direction, config=config, sites=Sites(), scheme=result.forward.pair.scheme)
    a, b = result.a.page, result.b.page
    return replace(result, forward=decide(a, b), backward=decide(b, a))


def count_by_property(results: Sequence[PairResult]) -> list[tuple[str, str, Counts]]:
    """Return the rows of :func:`count_by_part`, and those of :data:`PARTS` that have a pair."""
    parts = ((name, count_outcomes(filter(belongs, results))) for name, belongs in PARTS)
    return [*count_by_part(results), *(("", name, counts) for name, counts in parts if counts != Counts())]


def _are_thin(result: PairResult) -> bool:
    return result.a.page.kind is result.b.page.kind is PageKind.THIN


def _grey_shares(results: Iterable[PairResult]) -> list[tuple[str, Share]]:
    """Return the share of grey pairs that are dropped, by tenths of their labelled resemblance."""
    dropped: list[list[bool]] = [[] for _ in _TENTHS]
    for result in results:
        if result.labelled.label == "grey":
            dropped[_bin(properties_of(result).j_sub)].append(result.is_duplicate)
    return [(name, Share(sum(flags), len(flags))) for name, flags in zip(_TENTHS, dropped, strict=True) if flags]


def _bin(resemblance: float | None) -> int:
    return 7 if resemblance is None else sum(resemblance >= tenth / 10 for tenth in range(3, 9))


def _mean_over_sites(results: Iterable[PairResult]) -> str:
    """Return mean precision and mean recall. Each site has the same weight, however many pairs it has."""
    sites: dict[str, list[PairResult]] = {}
    for result in results:
        sites.setdefault(site_of(result), []).append(result)
    counts = [count_outcomes(of_site) for of_site in sites.values()]
    return f"precision {_mean(site.precision for site in counts)}, recall {_mean(site.recall for site in counts)}"


def _mean(shares: Iterable[Share]) -> str:
    values = [share.value for share in shares if share.value is not None]
    return f"{sum(values) / len(values):.3f} (of {len(values)})" if values else "–"


def main() -> None:
    """Evaluate and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=DATA)
    parser.add_argument("-s", "--set", action="append", default=[], metavar="NAME=VALUE", help="a setting")
    given = parser.parse_args()
    require_data(given.folder)
    config, sets = resolve_tokenizer(read_config(given.set)), read_folder(given.folder, KnownPair)
    with progress_bars() as start:
        documents = sign_documents(given.folder, sets, config, os.cpu_count() or 1, start("signing", None))
    results = evaluate_pairs(sets, documents, config)
    rows = count_by_property(results)
    rows.append(("", "thin pages", count_outcomes(filter(_are_thin, results))))
    rows.append(("", "nothing learned", count_outcomes(without_knowledge(result, config) for result in results)))
    console = Console(width=150)
    console.print(counts_table(rows), f"Mean over sites: {_mean_over_sites(results)}. Tokenizer: {config.tokenizer}")
    table = make_table("grey pairs, by labelled resemblance (j_sub)", right=("pairs", "dropped", "share (95 %)"))
    for name, share in _grey_shares(results):
        table.add_row(name, str(share.total), str(share.hits), format_share(share))
    console.print(table)
    if config.scheme == "simhash":
        table = make_table("DEDUP_MAX_DISTANCE", right=COUNT_COLUMNS)
        for distance in range(MAX_DISTANCE + 1):
            results = evaluate_pairs(sets, documents, replace(config, max_distance=distance))
            table.add_row(str(distance), *count_cells(count_outcomes(results)))
        console.print(table)


if __name__ == "__main__":
    main()
