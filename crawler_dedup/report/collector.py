"""Collect the contents of a report from an index and the table of its journals."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from crawler_dedup.errors import DedupError
from crawler_dedup.index.index import Index
from crawler_dedup.inspection.journals import Journals
from crawler_dedup.inspection.journaltable import IS_DUPLICATE, JournalTable
from crawler_dedup.permutedtables import BITS
from crawler_dedup.report.data import (
    CrossHostDuplicates,
    DuplicateGroup,
    FormCase,
    IndexInfo,
    PageCounts,
    ReportData,
    RunSummary,
    Savings,
    WatchdogCase,
)

MAX_HOSTS = 25
"""Largest number of hosts that are shown by name."""
MAX_ROWS = 20
"""Largest number of rows of every other table."""
MAX_CASES = 10
"""Largest number of watchdog cases that are shown."""
MAX_EXAMPLES = 3
"""Largest number of addresses that are shown of a group."""

_IS_DRY = "run IN (SELECT run FROM entries WHERE event = 'dry_run')"
_OUTCOMES = ("kept", "drop", "mark", "unchanged", "unchanged_dropped", "unchecked")
_COUNTS = ", ".join(
    f"count(event {events} OR NULL)"
    for events in ("= 'kept'", "= 'drop'", "= 'mark'", "IN ('unchanged', 'unchanged_dropped')", "= 'unchecked'")
)
"""The fields of :class:`PageCounts`, in their order."""


def collect(pages: Index, journals: Journals, table: JournalTable, run: str = "") -> ReportData:
    """Collect the contents of a report.

    Args:
        table: the table of the index and of the journals.
        run: the only run to report, 8 hexadecimal digits; ``""``: all runs.

    Raises:
        DedupError: neither the journals nor the index contain *run*.
    """
    index = IndexInfo(pages.name, pages.header.spec, pages.header.libraries, pages.stored_bytes)
    report = _Collector(table, run).collect(index, journals)
    if run and not report.run_count:
        raise DedupError(f"There is no run {run}; `crawler-dedup drops --summary` lists the runs.")
    return report


class _Collector:
    """Asks a table for the contents of a report.

    Dry runs are counted apart from runs that drop pages: for these the pages that dry runs have kept represent nothing.

    Args:
        run: the only run to report; ``""``: all runs.
    """

    def __init__(self, table: JournalTable, run: str) -> None:
        self._table = table
        self._run = run
        self._values = {"run": run, "emptied": table.emptied}
        only_dry = not table.count(f"run != '' AND NOT {_IS_DRY}")
        self._is_dry = bool(table.count(f"{_IS_DRY} AND :run IN ('', run)", self._values)) and (bool(run) or only_dry)
        apart = "FALSE" if run or only_dry else _IS_DRY
        of_run = "event != 'forgotten' AND :run IN ('', run)"  # what is not in the index is not counted
        since = "TRUE" if run else "time >= :emptied"
        self._pages = f":run IN ('', run) AND NOT {apart}"
        self._entries = f"{of_run} AND {since} AND NOT {apart}"
        self._duplicates = f"{self._entries} AND {IS_DUPLICATE}"
        self._all = _join(self._entries, self._pages)
        self._outcomes = f"{self._all} WHERE event IN {_OUTCOMES}"
        self._earlier = _join(f"{of_run} AND time < :emptied", "FALSE")
        self._apart = _join(f"{of_run} AND {since} AND {apart}", apart)

    def collect(self, index: IndexInfo, journals: Journals) -> ReportData:
        """Return everything that a report shows."""
        (total,) = self._select(f"{_COUNTS} FROM {self._outcomes}")
        largest = f"FROM {self._outcomes} GROUP BY host ORDER BY count(*) DESC, host LIMIT {MAX_HOSTS}"
        (others,) = self._select(f"{_COUNTS} FROM {self._outcomes} AND host NOT IN (SELECT host {largest})")
        groups = f"FROM entries WHERE {self._duplicates} GROUP BY +kept_page"  # a scan is faster than the index
        runs, earlier_runs, dry_runs = map(self._find_runs, (self._all, self._earlier, self._apart))
        dated = [run for _, run in runs if run.first]
        return ReportData(
            index=index,
            run=self._run,
            is_dry=self._is_dry,
            total=PageCounts(*total),
            open_claims=self._count(f"FROM pages WHERE {self._pages} AND NOT settled"),
            dropped=self._add_savings("event IN ('drop', 'unchanged_dropped')"),
            marked=self._add_savings("event = 'mark'"),
            hosts=[(host, PageCounts(*numbers)) for host, *numbers in self._select(f"host, {_COUNTS} {largest}")],
            other_hosts=PageCounts(*others),
            host_count=self._count(f"FROM (SELECT DISTINCT host FROM {self._outcomes})"),  # noqa: S608
            distances=self._count_distances(),
            rules=self._count_by("rule", self._duplicates),
            reasons=self._count_by("reason", f"{self._entries} AND event = 'unchecked'"),
            groups=list(self._find_groups(groups)),
            group_count=self._count(f"FROM (SELECT 1 {groups})"),
            several_count=self._count(f"FROM (SELECT 1 {groups} HAVING count(*) > 1)"),
            host_pairs=self._pair_hosts(),
            watchdog_cases=[
                WatchdogCase(*case)
                for case in self._select(
                    f"time, run, url, duplicate_of FROM entries WHERE {self._entries} AND event = 'watchdog'"
                    f" ORDER BY id DESC LIMIT {MAX_CASES}"
                )
            ],
            watchdog_count=self._count(f"FROM entries WHERE {self._entries} AND event = 'watchdog'"),
            forms=[
                FormCase(*case)
                for *case, _ in self._select(
                    f"time, run, url, title, count, max(id) FROM entries WHERE {self._entries} AND event = 'form'"
                    f" GROUP BY run, url, title ORDER BY count DESC LIMIT {MAX_CASES}"
                )
            ],
            runs=runs[:MAX_ROWS],
            run_count=len(runs),
            emptied=self._table.emptied if earlier_runs else "",
            earlier_runs=earlier_runs[:MAX_ROWS],
            earlier_run_count=len(earlier_runs),
            dry_runs=dry_runs[:MAX_ROWS],
            dry_run_count=len(dry_runs),
            span=(min((run.first for run in dated), default=0), max((run.last for run in dated), default=0)),
            files=journals.files,
            entries=self._table.count("TRUE"),
            damaged=self._table.damaged,
        )

    def _select(self, query: str) -> Iterator[Any]:
        return self._table.select(f"SELECT {query}", self._values)

    def _count(self, rows: str) -> int:
        ((number,),) = self._select(f"count(*) {rows}")
        return int(number)

    def _count_by(self, column: str, where: str) -> list[tuple[str, int]]:
        return list(
            self._select(
                f"{column}, count(*) FROM entries WHERE {where} GROUP BY {column} ORDER BY count(*) DESC, {column}"
                f" LIMIT {MAX_ROWS}"
            )
        )

    def _count_distances(self) -> Counter[int]:
        where = f"{self._duplicates} AND distance BETWEEN 0 AND {BITS}"  # a journal may be damaged
        return Counter(dict(self._select(f"distance, count(*) FROM entries WHERE {where} GROUP BY 1")))

    def _add_savings(self, where: str) -> Savings:
        sums = self._select(f"total(bytes), total(links) FROM entries WHERE {self._entries} AND {where}")
        return Savings(*map(int, next(sums)))

    def _find_runs(self, signs: str) -> list[tuple[str, RunSummary]]:
        """Return the runs, the latest first."""
        rows = self._select(
            f"run, coalesce(min(nullif(seconds, 0)), 0) AS first, max(seconds), json_group_array(DISTINCT spider), {_COUNTS}"
            f" FROM {signs} GROUP BY run ORDER BY first DESC, run DESC"
        )
        return [
            (run, RunSummary(first, last, {*filter(None, json.loads(spiders))}, PageCounts(*numbers)))
            for run, first, last, spiders, *numbers in rows
        ]

    def _find_groups(self, groups: str) -> Iterator[tuple[str, DuplicateGroup]]:
        """Yield the kept pages with most duplicates, of those with several."""
        for page, url, size in list(
            self._select(
                f"kept_page, duplicate_of, count(*) AS size {groups} HAVING size > 1"
                f" ORDER BY size DESC, scope, duplicate_of LIMIT {MAX_ROWS}"
            )
        ):
            titles = list(self._select(f"title FROM pages WHERE page = {page}"))
            examples = self._select(
                f"url FROM entries WHERE {self._duplicates} AND kept_page = {page} GROUP BY url ORDER BY min(id)"
                f" LIMIT {MAX_EXAMPLES}"
            )
            title = titles[0][0] if titles else ""
            yield url, DuplicateGroup(size, [example for (example,) in examples], title, is_kept=bool(titles))

    def _pair_hosts(self) -> list[list[CrossHostDuplicates]]:
        """Return the pairs of hosts with most duplicates between them, adding up both directions."""
        rows = self._table.select(
            "WITH totals AS (SELECT host, count(*) AS total FROM"  # noqa: S608
            f" {self._outcomes} GROUP BY host), pairs AS (SELECT min(host, kept_host) AS one, max(host, kept_host) AS"
            " other, host, kept_host, count(*) AS number, url, min(id) FROM entries"
            f" WHERE {self._duplicates} AND host != kept_host GROUP BY host, kept_host)"
            " SELECT one, other, pairs.host, kept_host, number, 1.0 * number / total, url FROM pairs"
            " JOIN totals ON totals.host = pairs.host"
            " ORDER BY sum(number) OVER (PARTITION BY one, other) DESC, one, other, number DESC"
            f" LIMIT {2 * MAX_ROWS}",
            self._values,
        )
        pairs = groupby(rows, lambda row: row[:2])
        return [[CrossHostDuplicates(*row[2:]) for row in of_pair] for _, of_pair in pairs][:MAX_ROWS]


def _join(entries: str, pages: str) -> str:
    """Return a query for entries, and for pages of the index as if they were entries with the event ``kept``."""
    return (
        f"(SELECT run, spider, event, seconds, host FROM entries WHERE {entries} UNION ALL"  # noqa: S608
        f" SELECT run, '', 'kept', filed, host FROM pages WHERE {pages})"
    )
