"""The revisions of functions that the native core can replace."""

from __future__ import annotations

from types import FunctionType

import pytest

import crawler_dedup.rules.counters
import crawler_dedup.signing.signer  # noqa: F401
from crawler_dedup.signing.native import REPLACEABLE
from tests.support.sources import digest_source

# The revision of each function, and a digest of its source with all that it uses. If a digest differs, raise the revision
# of the function (@replaceable) and enter both here. The core goes on with the function once it has the change, and its
# REVISIONS in native/src/crawler_dedup_native/core.pyx name the new revision.
REVISIONS: dict[str, tuple[int, str]] = {
    "asks_for_password": (1, "40a7a3234a4612cb"),
    "count_page": (1, "31d102665499f212"),
    "cut_runs": (1, "99b61fcec1acd72d"),
    "find_embedded_content": (3, "d4d42c6899bb3a58"),
    "find_links": (1, "ae01d1f3b2b1dfe9"),
    "find_main_blocks": (2, "df28c98bf0c1cbc1"),
    "find_title": (2, "531a931a1cb04d60"),
    "join_shown_text": (1, "7498c45ff5702251"),
    "join_text": (1, "c1bce85f9a271cc8"),
    "normalise": (3, "3d02ca498bb0826e"),
    "pack_blocks": (5, "d63dd637702b45c6"),
    "pack_short": (1, "f22190eeb40a05ed"),
    "read_blocks": (1, "26c2eb3da4f6fb2b"),
    "read_outline": (5, "5cc62414379a79ef"),
    "simhash": (1, "5bfe1a7938bf7648"),
    "sketch": (1, "c74f51f400be396b"),
    "split_counters": (1, "c31ccb3dcf32f695"),
    "weigh_text": (2, "087142913e014f2e"),
    "weigh_tokens": (1, "dfc2b8d582f60b08"),
}


@pytest.mark.parametrize("name", sorted(REPLACEABLE))
def test_a_function_that_the_core_replaces_does_not_change_without_a_new_revision(name: str) -> None:
    replaced = REPLACEABLE[name]
    given = (
        replaced.terms.__code__.co_names if isinstance(replaced.terms, FunctionType) else ()
    )  # the core asks Python for it
    digest = digest_source(replaced.function.__module__, name, given)
    assert (replaced.revision, digest) == REVISIONS.get(name)
