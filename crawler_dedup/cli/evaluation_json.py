"""The output of ``crawler-dedup evaluate --json``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace

from crawler_dedup.cli.evaluation_output import Evaluation
from crawler_dedup.cli.jsontypes import evaluation as types
from crawler_dedup.cli.jsontypes.base import Line
from crawler_dedup.config import setting_name
from crawler_dedup.evaluation import pairs
from crawler_dedup.evaluation.counts import Counts, Share
from crawler_dedup.evaluation.documents import SignedDocument
from crawler_dedup.evaluation.pairs import PairResult
from crawler_dedup.urls import without_credentials


def evaluation_lines(evaluation: Evaluation) -> Iterator[Line]:
    """Yield the lines of an evaluation: its settings, the rows of its tables, and at most ``max_errors`` wrong pairs."""
    results, config = evaluation.results, evaluation.config
    precision, recall = pairs.average_over_sites(results)
    settings = asdict(replace(config, index=without_credentials(config.index)))
    yield types.Evaluation(
        settings={setting_name(name): value for name, value in settings.items()},
        site_precision=types.SiteMean(value=precision.value, sites=precision.sites),
        site_recall=types.SiteMean(value=recall.value, sites=recall.sites),
    )
    for name, part, counts in pairs.count_by_part(results):
        yield types.EvaluationCounts(set=name, part=part, counts=_counts_part(counts))
    for name, share in pairs.grey_shares(results):
        yield types.GreyPairs(j_sub=name, dropped=_share_part(share))
    if config.scheme == "simhash":
        for distance, counts in enumerate(pairs.count_by_distance(results, config)):
            yield types.DistanceCounts(max_distance=distance, counts=_counts_part(counts))
    for result in evaluation.wrong[: evaluation.max_errors]:
        yield _wrong_pair(result)


def _counts_part(counts: Counts) -> types.Counts:
    """Return *counts* with their precision and recall."""
    return types.Counts(**asdict(counts), precision=_share_part(counts.precision), recall=_share_part(counts.recall))


def _share_part(share: Share) -> types.Share:
    low, high = share.interval
    return types.Share(hits=share.hits, of=share.total, value=share.value, low=low, high=high)


def _wrong_pair(result: PairResult) -> types.WrongPair:
    pair, rule, _ = result.deciding_direction
    assert result.labelled.label != "grey"
    return types.WrongPair(
        set=result.set_name,
        label=result.labelled.label,
        rule=rule,
        distance=pair.distance if result.is_signed else None,
        resemblance=pair.resemblance if result.is_signed else None,
        coverage=pair.coverage if result.is_signed else None,
        a=_page_part(result.labelled.id_a, result.a),
        b=_page_part(result.labelled.id_b, result.b),
    )


def _page_part(identifier: str, document: SignedDocument) -> types.LabelledPage:
    return types.LabelledPage(id=identifier, url=document.page.url, opening=document.first_line)
