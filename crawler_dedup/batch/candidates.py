"""Which pages of a collection a look-up can find, or find others: all others are new, whatever else there is."""

from __future__ import annotations

from array import array

import numpy as np

from crawler_dedup.batch.neighbours import Flags, find_neighbours
from crawler_dedup.batch.rows import Rows
from crawler_dedup.deduplicator import RuleMatcher
from crawler_dedup.hamming import Numbers, mix_bits
from crawler_dedup.index.profiles import FrozenProfiles, site_key
from crawler_dedup.index.records import hash_scope
from crawler_dedup.signing.schemes import Scheme, SimHash
from crawler_dedup.system.callbacks import Advance


def find_candidates(
    rows: Rows, scheme: Scheme, matcher: RuleMatcher, profiles: FrozenProfiles, memory: int, advance: Advance
) -> Flags:
    """Tell of each row whether its page may be a duplicate, or have one, or be there twice.

    It is so for no fewer pages than a look-up in an index finds: of texts those with a signature near another one, of other
    pages those that share a key, and pages with one name.

    Args:
        memory: bytes that may be taken.
        advance: called with numbers of pages that were looked at.
    """
    is_candidate = is_repeated(rows.names)
    if isinstance(scheme, SimHash):
        places = np.flatnonzero(rows.texts)
        is_candidate[places] |= find_neighbours(rows.signatures[places], scheme.max_distance, memory=memory)
        by_key = rows.thins
    else:
        by_key = rows.texts | rows.thins
    is_candidate |= _sharing_keys(rows, by_key, matcher, profiles, advance)
    is_candidate &= rows.texts | rows.thins
    return is_candidate


def _sharing_keys(rows: Rows, wanted: Flags, matcher: RuleMatcher, profiles: FrozenProfiles, advance: Advance) -> Flags:
    """Tell of each row whether its page is *wanted* and is filed or looked up under a key of another one."""
    entries, of_rows = array("Q"), array("q")
    for row, signed in rows.read_pages(wanted):
        page = matcher.prepare(signed.page, profiles.snapshot(site_key(signed.page.scope, signed.page.url)))
        scope = hash_scope(page.scope) * 0x9E3779B97F4A7C15
        keys = {(scope ^ key) & (1 << 64) - 1 for key in (*matcher.keys(page), *matcher.probes(page))}
        entries.extend(keys)
        of_rows.extend([row] * len(keys))
        advance(1)
    shared = is_repeated(mix_bits(np.array(entries, dtype=np.uint64)))
    flags = np.zeros(len(rows), dtype=bool)
    flags[np.array(of_rows, dtype=np.int64)[shared]] = True
    return flags


def is_repeated(numbers: Numbers) -> Flags:
    """Tell of each of *numbers* whether it is there twice."""
    order = np.argsort(numbers)
    ascending = numbers[order]
    equal = ascending[1:] == ascending[:-1]
    flags = np.zeros(len(numbers), dtype=bool)
    flags[order[1:][equal]] = flags[order[:-1][equal]] = True
    return flags
