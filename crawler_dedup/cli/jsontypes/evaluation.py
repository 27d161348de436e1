"""The JSON Lines of ``evaluate`` and ``plan``."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from crawler_dedup.cli.jsontypes.base import Line, Part


class Share(Part, frozen=True, kw_only=True):
    """A share with its interval."""

    hits: Annotated[int, Meta(description="How many it is about.")]
    of: Annotated[int, Meta(description="Of how many.")]
    value: Annotated[float | None, Meta(description="The share; null: of none.")]
    low: Annotated[float, Meta(description="Lower end of the interval that holds the true share with 95 % confidence.")]
    high: Annotated[float, Meta(description="Upper end of the interval.")]


class Counts(Part, frozen=True, kw_only=True):
    """What became of labelled pairs."""

    found: Annotated[int, Meta(description="Duplicates that are called duplicates.")]
    missed: Annotated[int, Meta(description="Duplicates that are not.")]
    false: Annotated[int, Meta(description="Other pairs that are called duplicates.")]
    apart: Annotated[int, Meta(description="Other pairs that are not.")]
    precision: Annotated[Share, Meta(description="Share of duplicates among the pairs that are called duplicates.")]
    recall: Annotated[Share, Meta(description="Share of the duplicates that are found.")]


class SiteMean(Part, frozen=True, kw_only=True):
    """A mean over sites, each of which counts the same."""

    value: Annotated[float | None, Meta(description="The mean; null: of no site.")]
    sites: Annotated[int, Meta(description="Number of sites.")]


class Evaluation(Line, frozen=True, kw_only=True, tag="evaluation"):
    """What was evaluated: the first line of `crawler-dedup evaluate --json`."""

    settings: Annotated[dict[str, Any], Meta(description="All settings.")]
    site_precision: Annotated[SiteMean, Meta(description="Mean precision of the sites.")]
    site_recall: Annotated[SiteMean, Meta(description="Mean recall of the sites.")]


class EvaluationCounts(Line, frozen=True, kw_only=True, tag="evaluation_counts"):
    """A row of the table of `crawler-dedup evaluate`; the row without set and part counts all pairs."""

    set: Annotated[str, Meta(description="Name of the set of pairs; empty: all sets together.")]
    part: Annotated[
        str,
        Meta(
            description="A part of it: a category or kind of pairs; empty: all of it. `nothing learned`: all of it, judged"
            " as if nothing were known of the sites."
        ),
    ]
    counts: Annotated[Counts, Meta(description="What became of the pairs.")]


class DistanceCounts(Line, frozen=True, kw_only=True, tag="distance_counts"):
    """What became of all pairs if another distance were allowed, from `crawler-dedup evaluate --json` (`simhash` only)."""

    max_distance: Annotated[
        int, Meta(description="`DEDUP_MAX_DISTANCE`; all other settings are those of the first line.")
    ]
    counts: Annotated[Counts, Meta(description="What became of the pairs.")]


class GreyPairs(Line, frozen=True, kw_only=True, tag="grey_pairs"):
    """Pairs that are labelled as neither duplicates nor different, from `crawler-dedup evaluate --json`."""

    j_sub: Annotated[str, Meta(description="Their labelled resemblance.")]
    dropped: Annotated[Share, Meta(description="How many of them are called duplicates.")]


class LabelledPage(Part, frozen=True, kw_only=True):
    """A page of a labelled pair."""

    id: Annotated[str, Meta(description="Its identifier in the labelled set.")]
    url: Annotated[str, Meta(description="Its address.")]
    opening: Annotated[str, Meta(description="The beginning of its main text.")]


class WrongPair(Line, frozen=True, kw_only=True, tag="wrong_pair"):
    """A pair that is judged wrongly, as `crawler-dedup evaluate --errors N --json` prints it."""

    set: Annotated[str, Meta(description="Name of its set.")]
    label: Annotated[int, Meta(description="1: a duplicate; 0: none.")]
    rule: Annotated[str, Meta(description="The rule that decided.")]
    distance: Annotated[int | None, Meta(description="Distance of the signatures, in bits.")]
    resemblance: Annotated[float | None, Meta(description="Estimated resemblance.")]
    coverage: Annotated[float | None, Meta(description="Estimated coverage.")]
    a: Annotated[LabelledPage, Meta(description="The first page.")]
    b: Annotated[LabelledPage, Meta(description="The second page.")]


class Design(Line, frozen=True, kw_only=True, tag="design"):
    """A design of permuted tables, as `crawler-dedup plan --json` prints it. The first one has the fewest tables."""

    tables: Annotated[int, Meta(description="Number of tables.")]
    blocks: Annotated[
        list[int] | None,
        Meta(description="Of the one with the fewest tables, the blocks of its splits; null: a design of the paper."),
    ] = None
    prefix_bits: Annotated[list[int], Meta(description="Prefix bits of its tables, each number once.")]
    signatures: Annotated[float, Meta(description="Number of signatures that was given.")]
    distance: Annotated[int, Meta(description="The Hamming distance that was given, in bits.")]
    max_distance: Annotated[int, Meta(description="The greatest distance that the design finds.")]
    probes: Annotated[
        int | None, Meta(description="Buckets that a look-up reads; null: the distance is too great.")
    ] = None
    candidates: Annotated[float | None, Meta(description="Signatures that a look-up compares, expected.")] = None
    payload_bytes: Annotated[int | None, Meta(description="What the signatures take in all tables.")] = None
    disk_bytes: Annotated[int | None, Meta(description="Estimated size on disk.")] = None
    micros: Annotated[
        float | None, Meta(description="Estimated time of a look-up in microseconds, if all tables are in memory.")
    ] = None
