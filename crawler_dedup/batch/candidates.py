"""Which pages of a collection a look-up can find, or find others: all others are new, whatever else there is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crawler_dedup.batch.existing import ExistingPages
from crawler_dedup.batch.keyentries import ENTRY_BYTES, KeyEntries, is_repeated
from crawler_dedup.batch.memory import format_memory
from crawler_dedup.batch.neighbours import Flags, Places, find_followers, find_neighbours
from crawler_dedup.batch.rows import Rows
from crawler_dedup.deduplicator import RuleMatcher
from crawler_dedup.errors import DedupError
from crawler_dedup.index.profiles import FrozenProfiles, site_key
from crawler_dedup.signing.schemes import Scheme, SimHash
from crawler_dedup.system.callbacks import Advance


class Candidates(NamedTuple):
    """Which pages may be duplicates, or have one, or be there twice.

    Attributes:
        rows: those of the collection.
        existing: those that are kept already.
        repeated: the rows whose name another page has, or under whose title another text is filed.
    """

    rows: Flags
    existing: Flags
    repeated: Flags


def looks_up_by_keys(scheme: Scheme) -> bool:
    """Tell whether texts are found by the keys that they share, and not by the distance of their signatures."""
    return not isinstance(scheme, SimHash)


def find_candidates(
    rows: Rows,
    existing: ExistingPages | None,
    scheme: Scheme,
    matcher: RuleMatcher,
    profiles: FrozenProfiles,
    memory: int,
    advance: Advance,
) -> Candidates:
    """Find the candidates.

    They are no fewer pages than a look-up in an index finds: of texts those with a signature near another one, and those
    under one title, of other pages those that share a key, and pages with one name.

    Args:
        existing: pages that are kept already.
        memory: bytes that may be taken.
        advance: called with numbers of pages that were looked at.

    Raises:
        DedupError: memory does not suffice for their keys.
    """
    before = 0 if existing is None else len(existing)
    flags = _having_one_name(rows, existing) | _under_one_title(rows, existing)
    repeated = flags[before:].copy()
    by_key = rows.thins
    if isinstance(scheme, SimHash):
        texts, signatures = rows.texts, rows.signatures
        if existing is not None:
            texts = np.concatenate([existing.texts, texts])
            signatures = np.concatenate([existing.signatures, signatures])
        flags[texts] |= find_neighbours(signatures[texts], scheme.max_distance, memory=memory)
    else:
        by_key = by_key | rows.texts
    flags |= _sharing_keys(rows, by_key, existing, matcher, profiles, memory, advance)
    flags[before:] &= rows.texts | rows.thins
    return Candidates(flags[before:], flags[:before], repeated)


def find_certain(
    rows: Rows, chosen: Places, existing: ExistingPages | None, candidates: Candidates, scheme: Scheme
) -> Flags:
    """Tell of each of the rows *chosen*, in the order in which they are decided, whether it is new for certain.

    Such a row is a text whose name and title no other page has, and no text before it is near enough to be compared with it.
    """
    are_texts = rows.texts[chosen]
    if not isinstance(scheme, SimHash):
        return np.zeros(len(chosen), dtype=bool)
    before = np.empty(0, dtype=np.uint64)
    if existing is not None:
        before = existing.signatures[candidates.existing & existing.texts]
    signatures = np.concatenate([before, rows.signatures[chosen[are_texts]]])
    flags = np.zeros(len(chosen), dtype=bool)
    flags[are_texts] = ~find_followers(signatures, scheme.max_distance)[len(before) :]
    return flags & ~candidates.repeated[chosen]


def _having_one_name(rows: Rows, existing: ExistingPages | None) -> Flags:
    """Tell of each existing page and of each row whether another one has its name."""
    if existing is None:
        return is_repeated(rows.names)
    flags = np.zeros(len(existing) + len(rows), dtype=bool)
    shared = is_repeated(np.concatenate([existing.names, rows.names]))
    flags[existing.name_places[shared[: len(existing.names)]]] = True
    flags[len(existing) :] = shared[len(existing.names) :]
    return flags


def _under_one_title(rows: Rows, existing: ExistingPages | None) -> Flags:
    """Tell of each existing page and of each row whether another text is filed under its title."""
    titles = rows.titles if existing is None else np.concatenate([existing.titles, rows.titles])
    flags = is_repeated(titles)
    flags[titles == 0] = False
    return flags


def _sharing_keys(
    rows: Rows,
    wanted: Flags,
    existing: ExistingPages | None,
    matcher: RuleMatcher,
    profiles: FrozenProfiles,
    memory: int,
    advance: Advance,
) -> Flags:
    """Tell of each existing page, and of each row that is *wanted*, whether another one is filed under one of its keys."""
    before = 0 if existing is None else len(existing)
    entries = KeyEntries() if existing is None else existing.entries
    for row, signed in rows.read_pages(wanted):
        page = matcher.prepare(signed, profiles.snapshot(site_key(signed.scope, signed.url)))
        entries.add(before + row, page.scope, (*matcher.keys(page), *matcher.probes(page)))
        if ENTRY_BYTES * len(entries) > memory:
            raise DedupError(
                f"{len(entries):,} keys of pages take {format_memory(memory)} beside everything else: more memory is needed"
                " (--memory)."
            )
        advance(1)
    flags = np.zeros(before + len(rows), dtype=bool)
    flags[entries.places[is_repeated(entries.keys)]] = True
    return flags
