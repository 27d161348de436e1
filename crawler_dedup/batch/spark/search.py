"""Search for near-duplicates on Spark: find the rows that have to be decided together, and decide about them.

The driver holds the groups in memory, 16 bytes for each row that is near another row, but no pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812  (as everybody imports it)
from pyspark.sql.window import Window

from crawler_dedup.batch.candidates import looks_up_by_keys
from crawler_dedup.batch.decide import RememberingMatcher
from crawler_dedup.batch.learning import COPIES, LEARNED_PAGES
from crawler_dedup.batch.neighbours import tables_for
from crawler_dedup.batch.shard import TEXT, THIN
from crawler_dedup.batch.spark.executors import DECIDED_COLUMNS, GROUPED, SITE_COLUMNS, decide_groups, learn_site
from crawler_dedup.batch.spark.linking import (
    LINKS,
    SENT_COLUMNS,
    Groups,
    Links,
    find_groups,
    link_rows_with_equal_numbers,
    link_rows_with_near_signatures,
    spread_keys,
    spread_numbers,
)
from crawler_dedup.index.profiles import FrozenProfiles, StoredSite
from crawler_dedup.rules.limits import MIN_PAGES
from crawler_dedup.signing.schemes import SimHash

_COLLECTING = 8  # tasks that send rows to the driver
_BROADCAST_ROWS = 10_000_000  # groups of at most so many rows are sent to every executor


def group_rows(rows: DataFrame, matcher: RememberingMatcher, profiles: FrozenProfiles) -> Groups:
    """Find the rows that a look-up can return, or whose look-up can return a page, and group them.

    They include all rows that :func:`~crawler_dedup.batch.candidates.find_candidates` finds.
    """
    scheme = matcher.scheme
    max_distance = scheme.max_distance if isinstance(scheme, SimHash) else 0
    tables = tables_for(max_distance, max(1, rows.count())) if max_distance else ()
    columns = ("row", "kind", "signature", "name", "title")
    send_numbers = partial(spread_numbers, by_distance=isinstance(scheme, SimHash))
    numbers = rows.select(*columns).mapInArrow(send_numbers, SENT_COLUMNS)
    send_keys = partial(spread_keys, matcher=matcher, profiles=profiles)
    by_key = (TEXT, THIN) if looks_up_by_keys(scheme) else (THIN,)
    keys = _of_kinds(rows, *by_key).select("row", "page").mapInArrow(send_keys, SENT_COLUMNS)
    link_equal = partial(link_rows_with_equal_numbers, tables=tables)
    linked = numbers.union(keys).repartition("part").mapInArrow(link_equal, SENT_COLUMNS)
    if tables:
        link_near = partial(link_rows_with_near_signatures, tables=tables, max_distance=max_distance)
        linked = linked.repartition("part").mapInArrow(link_near, SENT_COLUMNS)
    return find_groups(_collect_links(linked))


def decide_rows(
    rows: DataFrame, groups: Groups, matcher: RememberingMatcher, profiles: FrozenProfiles, order: str
) -> DataFrame:
    """Decide about the rows of *groups*; the result has :data:`~crawler_dedup.batch.spark.executors.DECIDED_COLUMNS`.

    A signed row that is not in *groups* is new.

    Args:
        order: in which order pages are decided.
    """
    columns = (*GROUPED, *filter(None, [order.removeprefix("-")]))
    wanted = _of_kinds(rows, TEXT, THIN).select(*columns)
    grouped = wanted.sparkSession.createDataFrame(pa.table({"row": groups.rows, "group": groups.numbers}))
    if len(groups.rows) <= _BROADCAST_ROWS:
        grouped = F.broadcast(grouped)
    together = wanted.join(grouped, "row").repartition("group").sortWithinPartitions("row").select(*columns)
    decide = partial(decide_groups, matcher=matcher, profiles=profiles, order=order)
    return together.mapInArrow(decide, DECIDED_COLUMNS)


def _of_kinds(rows: DataFrame, *kinds: str) -> DataFrame:
    """Return the rows of some *kinds*."""
    return rows.where(F.col("kind").isin(*kinds))


def _collect_links(linked: DataFrame) -> Iterator[Links]:
    """Yield the links of all partitions."""
    lists = [F.collect_list(name).alias(name) for name in ("number", "row")]
    for part in _collect(linked.where(F.col("kind") == LINKS).groupBy("part").agg(*lists)):
        yield Links(np.array(part.number, dtype=np.int64), np.array(part.row, dtype=np.int64))


def _collect(frame: DataFrame) -> Iterator[Row]:
    """Yield all rows. All tasks compute them at the same time, and they are stored on disks until they are read."""
    yield from frame.repartition(_COLLECTING).toLocalIterator(prefetchPartitions=True)


def learn_sites(rows: DataFrame) -> Iterator[StoredSite]:
    """Yield what signed rows say about their sites: see :func:`~crawler_dedup.batch.learning.learn_profiles`."""
    by_site, same = Window.partitionBy("site"), Window.partitionBy("site", "signature")
    place, count = F.row_number().over(by_site.orderBy("row")) - 1, F.count("*").over(by_site)
    share = f"{LEARNED_PAGES} div greatest(count, {LEARNED_PAGES})"
    chosen = (
        _of_kinds(rows, TEXT, THIN)
        .where(F.col("site") != 0)
        .select("site", "row", F.row_number().over(same.orderBy("row")).alias("copy"))
        .where(F.col("copy") <= COPIES)
        .select("site", "row", place.alias("place"), count.alias("count"))
        .where((F.col("count") >= MIN_PAGES) & F.expr(f"(place + 1) * {share} > place * {share}"))
    )
    pages = rows.select("row", "page").join(chosen.select("site", "row"), "row")
    for site in _collect(pages.groupBy("site").applyInArrow(learn_site, SITE_COLUMNS)):
        snapshot = [(site.number, bytes(site.snapshot))]
        yield StoredSite(bytes(site.key), site.number, site.number, 0, bytes(site.counts), snapshot)
