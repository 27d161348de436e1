"""The report of a batch job: its contents, and its layout as an HTML file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from crawler_dedup.config import Config
from crawler_dedup.report.charts import Chart, chart_distances
from crawler_dedup.report.data import PageCounts
from crawler_dedup.report.rendering import chart_agreement, fill_template
from crawler_dedup.signing.schemes import SimHash

_LIMITS = ("max_distance", "min_resemblance", "min_coverage")


@dataclass
class JobGroup:
    """A kept page and some of the pages that it stands for.

    Attributes:
        identifier: the identifier of the kept page.
        url: its address; ``""``: it has none, or was kept before the job.
        title: its title; ``""``: it has none, or was kept before the job.
        size: how many pages it stands for.
        examples: (identifier, rule that left it out) of some of these pages.
        place: the input and the record of the kept page.
    """

    identifier: str
    url: str
    title: str
    size: int
    examples: list[tuple[str, str]] = field(default_factory=list)
    place: str = ""


class InputSummary(NamedTuple):
    """An input: its path, its number of pages, and how many of them are left out."""

    path: str
    pages: int
    left_out: int


@dataclass(frozen=True)
class JobData:
    """Everything that the report of a job shows.

    Attributes:
        name: the directory of the decisions.
        total: all pages.
        candidates: pages for which another page was near enough to be compared, or had the same identifier.
        known_sites: sites whose pages are known to have certain parts in common.
        hosts: the hosts with most pages.
        other_hosts: the pages of all other hosts.
        host_count: how many hosts there are.
        is_incomplete: whether there were too many hosts to count them all.
        rules: pages that are left out, by the rule that decided.
        reasons: pages that could not be signed, by reason.
        passed_over: records that are not pages to check, by reason.
        bad: records that could not be read, by reason.
        distances: pages that are left out by the distance of the signatures.
        resemblances: pages that are left out by resemblance in per cent, rounded down.
        coverages: pages that are left out by coverage in per cent, rounded down.
        groups: the kept pages that stand for most pages, largest first.
        group_count: how many kept pages stand for others.
        several_count: how many kept pages stand for more than one other page.
        inputs: the inputs with most pages that are left out.
        input_count: how many inputs there are.
        seconds: how long each step took.
        spec: the scheme and the parameters that signatures depend on.
    """

    name: str
    total: PageCounts
    candidates: int
    known_sites: int
    hosts: Sequence[tuple[str, PageCounts]]
    other_hosts: PageCounts
    host_count: int
    is_incomplete: bool
    rules: Sequence[tuple[str, int]]
    reasons: Sequence[tuple[str, int]]
    passed_over: Sequence[tuple[str, int]]
    bad: Sequence[tuple[str, int]]
    distances: Counter[int]
    resemblances: Counter[int]
    coverages: Counter[int]
    groups: Sequence[JobGroup]
    group_count: int
    several_count: int
    inputs: Sequence[InputSummary]
    input_count: int
    seconds: Mapping[str, float]
    spec: Mapping[str, str]

    @property
    def is_simhash(self) -> bool:
        """Whether the scheme finds texts by the distance of their signatures."""
        return self.spec.get("scheme", "").split(" ")[0] == SimHash.name


def render_job(data: JobData, config: Config, created: datetime) -> str:
    """Lay out the report of a job.

    Args:
        config: the settings whose limits the charts show.
        created: the time of the report, in UTC. Everything else in the file depends on the other arguments only.
    """
    return fill_template(
        "job.html.jinja", created, data=data, config=config, limits=_LIMITS, charts=list(_chart_limits(data, config))
    )


def _chart_limits(data: JobData, config: Config) -> Iterator[Chart]:
    if data.distances and data.is_simhash:
        yield chart_distances(data.distances, config.max_distance)
    yield from chart_agreement(data.resemblances, data.coverages, config, is_simhash=data.is_simhash)
