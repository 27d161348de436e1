"""Find the candidates of a collection: pages that a look-up can return, or whose look-up can return pages."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crawler_dedup.batch.existing import ExistingBatch, ExistingPages, read_batches
from crawler_dedup.batch.neighbours import (
    Flags,
    Places,
    ResidentSignatures,
    estimate_bytes,
    find_neighbours,
    is_repeated,
)
from crawler_dedup.batch.shard import ENTRY_BYTES, KeyEntries, Rows, format_memory, prepare_page
from crawler_dedup.errors import DedupError
from crawler_dedup.hashes import Numbers
from crawler_dedup.index.profiles import FrozenProfiles
from crawler_dedup.rules.matcher import RuleMatcher
from crawler_dedup.signing.schemes import Scheme, SimHash
from crawler_dedup.system.callbacks import Advance


class Candidates(NamedTuple):
    """The pages that may be duplicates, have duplicates, or occur twice.

    Attributes:
        rows: whether each row of the collection is a candidate.
        existing: whether each existing page is a candidate.
    """

    rows: Flags
    existing: Flags


def looks_up_by_keys(scheme: Scheme) -> bool:
    """Return whether *scheme* finds texts by the keys that they share, and not by the distance of their signatures."""
    return not isinstance(scheme, SimHash)


def find_candidates(
    rows: Rows,
    existing: ExistingPages,
    scheme: Scheme,
    matcher: RuleMatcher,
    profiles: FrozenProfiles,
    memory: int,
    advance: Advance,
) -> Candidates:
    """Find the candidates among the rows of a collection and the existing pages.

    They include all pages that a look-up in an index can return: texts with near signatures, texts with the same title,
    other pages that share a key, and pages with the same name.

    Args:
        existing: pages that are kept already.
        memory: bytes of memory that may be used.
        advance: called with numbers of pages that were processed.

    Raises:
        DedupError: memory does not suffice for the keys or the signatures.
    """
    by_distance = scheme if isinstance(scheme, SimHash) else None
    entries = collect_keys(rows, scheme, matcher, profiles, memory, advance)
    flags = is_repeated(rows.names) | is_repeated(rows.titles) & (rows.titles != 0)
    flags[entries.places[is_repeated(entries.keys)]] = True
    if by_distance:
        flags[rows.texts] |= find_neighbours(rows.signatures[rows.texts], by_distance.max_distance)
    matched = [np.zeros(0, dtype=bool)]
    if existing.count:
        resident = ResidentPages(rows, entries, scheme, memory)
        for batch in read_batches(existing, matcher, profiles, texts_by_key=looks_up_by_keys(scheme)):
            matched.append(resident.match(batch))
            advance(len(matched[-1]))
        flags |= resident.flags
    return Candidates(flags & (rows.texts | rows.thins), np.concatenate(matched))


def collect_keys(
    rows: Rows, scheme: Scheme, matcher: RuleMatcher, profiles: FrozenProfiles, memory: int, advance: Advance
) -> KeyEntries:
    """Return the keys of the rows that are found by keys: of thin pages, and with some schemes of texts, too.

    Raises:
        DedupError: the keys take more than *memory* bytes.
    """
    entries = KeyEntries()
    wanted = rows.thins | rows.texts if looks_up_by_keys(scheme) else rows.thins
    for row, signed in rows.read_pages(wanted):
        page = prepare_page(signed, matcher, profiles)
        entries.add(row, page.scope, (*matcher.keys(page), *matcher.probes(page)))
        if ENTRY_BYTES * len(entries) > memory:
            raise DedupError(
                f"The keys by which pages are looked up ({len(entries):,} so far) take more than the {format_memory(memory)}"
                " available: allow more memory (--memory)."
            )
        advance(1)
    return entries


class ResidentPages:
    """The names, titles, keys and signatures of a collection, with which existing pages are compared.

    Attributes:
        flags: for each row, whether an existing page is near, or has its name, its title or one of its keys.
    """

    def __init__(self, rows: Rows, entries: KeyEntries, scheme: Scheme, memory: int) -> None:
        self._names = _SortedNumbers(rows.names, np.arange(len(rows)))
        self._keys = _SortedNumbers(entries.keys, entries.places)
        titled = np.flatnonzero(rows.titles)
        self._titles = _SortedNumbers(rows.titles[titled], titled)
        self._near: ResidentSignatures | None = None
        self._distinct = np.empty(0, dtype=np.uint64)
        self._texts, self._signatures = rows.texts, rows.signatures
        self._flags = np.zeros(len(rows), dtype=bool)
        if isinstance(scheme, SimHash):
            self._distinct = np.unique(rows.signatures[rows.texts])
            needed = estimate_bytes(len(self._distinct), scheme.max_distance)
            if needed > memory:
                raise DedupError(
                    f"Comparing {len(self._distinct):,} texts with the pages of --against takes {format_memory(needed)};"
                    f" {format_memory(memory)} are available: allow more memory (--memory)."
                )
            self._near = ResidentSignatures(self._distinct, scheme.max_distance)

    @property
    def flags(self) -> Flags:
        flags = self._flags.copy()
        if self._near is not None:
            places = np.searchsorted(self._distinct, self._signatures[self._texts])
            flags[self._texts] |= self._near.flags[places]
        return flags

    def match(self, batch: ExistingBatch) -> Flags:
        """Return for each page of *batch* whether it matches a row, and flag the rows that match."""
        is_candidate = np.zeros(len(batch.texts), dtype=bool)
        is_candidate[batch.name_places[self._names.match(batch.names, self._flags)]] = True
        is_candidate |= self._titles.match(batch.titles, self._flags)
        is_candidate[batch.entries.places[self._keys.match(batch.entries.keys, self._flags)]] = True
        if self._near is not None:
            is_candidate[batch.texts] |= self._near.match(batch.signatures[batch.texts])
        return is_candidate


class _SortedNumbers:
    """Sorted numbers of pages, each with the place of its page."""

    def __init__(self, numbers: Numbers, places: Places) -> None:
        order = np.argsort(numbers)
        self._numbers, self._places = numbers[order], places[order]

    def match(self, others: Numbers, flags: Flags) -> Flags:
        """Return which of *others* are among the numbers, and set the *flags* of the pages that have these numbers."""
        sought = np.unique(others)
        starts, ends = (np.searchsorted(self._numbers, sought, side) for side in ("left", "right"))
        matched = ends > starts
        for start, end in zip(starts[matched].tolist(), ends[matched].tolist(), strict=True):
            flags[self._places[start:end]] = True
        return np.isin(others, sought[matched])
