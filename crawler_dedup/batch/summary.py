"""The contents of the report of a job, counted from the files that the job has written; each is read once."""

from __future__ import annotations

import heapq
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from crawler_dedup.batch.clusters import CLUSTERS, read_clusters
from crawler_dedup.batch.collection import Collection, Shard
from crawler_dedup.batch.find import Report
from crawler_dedup.batch.neighbours import Flags, Places
from crawler_dedup.batch.shard import UNSIGNED, decode_page, read_columns
from crawler_dedup.counting import HeavyHitters
from crawler_dedup.decision import Verdict
from crawler_dedup.report.data import PageCounts
from crawler_dedup.report.job import InputSummary, JobData, JobGroup
from crawler_dedup.urls import host_of

MAX_HOSTS = 25
"""Hosts that are shown by name."""
MAX_ROWS = 20
"""Rows that are shown of everything else."""
MAX_EXAMPLES = 3
"""Pages that are shown of a group."""

_COUNTERS = 100_000  # up to so many hosts and groups are counted exactly
_START_OF_ADDRESS = r"^(?P<start>[^/?#]*(?://[^/?#]*)?)"  # up to the end of the host


class _Kept(NamedTuple):
    """A kept page: its identifier, input and record (``None``: it was kept before the job)."""

    identifier: str
    source: str
    record: int | None


def summarise_job(collection: Path, output: Path, report: Report) -> JobData:
    """Count what the report of a job shows.

    Args:
        collection: the directory of the signed pages.
        output: the directory into which :func:`~crawler_dedup.batch.find.find_duplicates` has written.
        report: the report that this function has returned.

    Raises:
        DedupError: a file is damaged.
    """
    shards = {shard.source.path: shard for shard in Collection.open(collection).shards}
    clusters, hosts, inputs = _Clusters(output / CLUSTERS), _Hosts(), []
    for source in report.inputs:
        records, are_unchanged = clusters.read(source.path)
        pages = hosts.add_input(shards[source.path], records, are_unchanged)
        inputs.append(InputSummary(source.path, pages, len(records)))
    largest, other_hosts = hosts.top()
    return JobData(
        name=str(output),
        total=PageCounts(
            kept=report.verdicts[Verdict.NEW] + report.verdicts[Verdict.CHANGED],
            dropped=report.verdicts[Verdict.DUPLICATE],
            unchanged=report.verdicts[Verdict.UNCHANGED],
            unchecked=report.verdicts[Verdict.UNCHECKED],
        ),
        candidates=report.candidates,
        known_sites=report.known_sites,
        hosts=largest,
        other_hosts=other_hosts,
        host_count=hosts.count,
        is_incomplete=hosts.is_incomplete,
        rules=[*report.rules.items()],
        reasons=[*report.unsigned.items()][:MAX_ROWS],
        passed_over=[*report.passed_over.items()][:MAX_ROWS],
        bad=[*report.bad.items()][:MAX_ROWS],
        distances=clusters.distances,
        resemblances=clusters.resemblances,
        coverages=clusters.coverages,
        groups=[_describe(kept, size, examples, shards) for kept, size, examples in clusters.groups.top(MAX_ROWS)],
        group_count=len(clusters.groups),
        several_count=sum(len(examples) > 1 for examples in clusters.groups.values()),
        inputs=heapq.nlargest(MAX_ROWS, inputs, key=lambda summary: summary.left_out),
        input_count=len(inputs),
        seconds=report.seconds,
        spec=report.spec,
    )


class _Clusters:
    """Counts the pages that are left out.

    Attributes:
        groups: the representatives, each with the identifier and rule of some of its duplicates.
        distances: the pages by the distance of their signatures.
        resemblances: the same by resemblance in per cent.
        coverages: the same by coverage in per cent.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self.groups: HeavyHitters[_Kept, list[tuple[str, str]]] = HeavyHitters(_COUNTERS, list)
        self.distances: Counter[int] = Counter()
        self.resemblances: Counter[int] = Counter()
        self.coverages: Counter[int] = Counter()

    def read(self, source: str) -> tuple[Places, Flags]:
        """Count the pages of an input; return their records, and which of them are unchanged."""
        rows = read_clusters(self._file, source)
        for row in rows:
            kept = _Kept(row["representative"], row["representative_input"], row["representative_record"])
            examples = self.groups.add(kept)
            if len(examples) < MAX_EXAMPLES:
                examples.append((row["duplicate"], row["rule"]))
            if row["distance"] is not None:
                self.distances[row["distance"]] += 1
            for counts, name in ((self.resemblances, "resemblance"), (self.coverages, "coverage")):
                counts[int(row[name] * 100)] += 1
        records = np.array([row["record"] for row in rows], dtype=np.int64)
        return records, np.array([row["verdict"] == Verdict.UNCHANGED for row in rows], dtype=bool)


class _Hosts:
    """Counts the pages of each host.

    Attributes:
        is_incomplete: whether there were too many hosts to count them all.
    """

    def __init__(self) -> None:
        self._counts: dict[str, PageCounts] = {}
        self._total = PageCounts()
        self.is_incomplete = False

    @property
    def count(self) -> int:
        """Number of hosts."""
        return len(self._counts)

    def add_input(self, shard: Shard, left_out: Places, are_unchanged: Flags) -> int:
        """Count the pages of an input; return how many there are.

        Args:
            left_out: the records that are left out.
            are_unchanged: which of them are unchanged.
        """
        pages = 0
        duplicates, unchanged = left_out[~are_unchanged], left_out[are_unchanged]
        for batch in read_columns(shard.data, ("record", "url", "kind")):
            records = batch.column("record").to_numpy()
            outcomes = np.full(len(batch), "kept", dtype=object)
            outcomes[pc.equal(batch.column("kind"), UNSIGNED).to_numpy(zero_copy_only=False)] = "unchecked"
            outcomes[np.isin(records, duplicates)] = "dropped"
            outcomes[np.isin(records, unchanged)] = "unchanged"
            self._add(batch.column("url"), outcomes)
            pages += len(batch)
        return pages

    def _add(self, urls: pa.Array, outcomes: np.ndarray[Any, Any]) -> None:
        starts = pc.struct_field(pc.extract_regex(urls, _START_OF_ADDRESS), "start")
        pairs = pa.table({"start": starts, "outcome": pa.array(outcomes, pa.string())})
        for row in pairs.group_by(["start", "outcome"]).aggregate([([], "count_all")]).to_pylist():
            counted = PageCounts(**{row["outcome"]: row["count_all"]})
            host = host_of(row["start"] or "")
            self._counts[host] = self._counts.get(host, PageCounts()) + counted
            self._total += counted
        if len(self._counts) > 2 * _COUNTERS:
            self._counts = dict(heapq.nlargest(_COUNTERS, self._counts.items(), key=lambda item: item[1].all_pages))
            self.is_incomplete = True

    def top(self) -> tuple[list[tuple[str, PageCounts]], PageCounts]:
        """Return the hosts with most pages, and the pages of all others."""
        largest = heapq.nsmallest(MAX_HOSTS, self._counts.items(), key=lambda item: (-item[1].all_pages, item[0]))
        return largest, self._total - sum((pages for _, pages in largest), PageCounts())


def _describe(kept: _Kept, size: int, examples: list[tuple[str, str]], shards: dict[str, Shard]) -> JobGroup:
    """Return the group of a kept page and the pages for which it stands, as the report shows it."""
    url = title = place = ""
    if kept.record is not None:
        place = f"{kept.source}, record {kept.record}"
        (row,) = pq.read_table(
            shards[kept.source].data, columns=["url", "page"], filters=[("record", "=", kept.record)]
        ).to_pylist()
        url, title = row["url"], decode_page(row["page"]).title
    elif kept.source:
        place = f"kept before, in {kept.source}"
    return JobGroup(kept.identifier, url, title, size, examples, place)
