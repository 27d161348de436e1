"""Near-duplicates of a DataFrame of Spark: signed, searched and decided by the executors.

The decisions are those of ``crawler-dedup batch`` about the same pages in the same order. The driver holds no pages in
memory, but the group of each row that is near another row, in 16 bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812  (as everybody imports it)
from pyspark.sql.types import StructField, StructType
from pyspark.sql.window import Window

from crawler_dedup.batch.candidates import looks_up_by_keys
from crawler_dedup.batch.decide import RememberingMatcher
from crawler_dedup.batch.executors import (
    DECIDED_COLUMNS,
    GROUPED,
    SIGNED,
    SIGNED_COLUMNS,
    SITE_COLUMNS,
    decide_groups,
    learn_site,
    sign_rows,
)
from crawler_dedup.batch.formats.records import Columns
from crawler_dedup.batch.learning import COPIES, LEARNED_PAGES
from crawler_dedup.batch.linking import (
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
from crawler_dedup.batch.neighbours import tables_for
from crawler_dedup.batch.shard import TEXT, THIN, UNSIGNED, require_order
from crawler_dedup.config import Config
from crawler_dedup.config.settings import default_scope
from crawler_dedup.decision import Verdict
from crawler_dedup.errors import DedupError
from crawler_dedup.index.header import require_same_spec
from crawler_dedup.index.profiles import FrozenProfiles, StoredSite
from crawler_dedup.rules.limits import MIN_PAGES
from crawler_dedup.signing.schemes import SimHash
from crawler_dedup.signing.segmentation import resolve_tokenizer
from crawler_dedup.signing.signer import Signer

_ROW = "row"
_SPEC = "crawler_dedup"  # metadata of the column with the signed pages: what they depend on
_AGREEMENT = ("representative", "rule", "distance", "resemblance", "coverage")
_COLLECTING = 8  # tasks that send rows to the driver
_BROADCAST_ROWS = 10_000_000  # groups of at most so many rows are sent to every executor


def sign(  # noqa: PLR0913  (as the options of a command)
    pages: DataFrame,
    config: Config | None = None,
    *,
    html: str = "html",
    text: str = "",
    url: str = "url",
    id: str = "",
    time: str = "",
    encoding: str = "",
    scope: str = "",
) -> DataFrame:
    """Sign the rows of a DataFrame.

    The result has two further columns: ``signed``, and ``row``, a number that ascends in the order of *pages*. A row that
    cannot be read is unsigned, with the reason. Signing costs most of the time: write the result as Parquet, and read it
    again for :func:`find_duplicates` and :func:`drop_duplicates`.

    Args:
        config: the settings of the filter.
        html, text, url, id, time, scope: as the options of ``crawler-dedup batch sign``.
        encoding: the column with the charset that the server has declared, if *html* is binary.

    Raises:
        ConfigError: ``config.scope`` is a callable, and *scope* is empty.
        DedupError: a column is missing, or *pages* has one of the two further columns already.
    """
    columns = Columns(html, text, url, id, time, encoding)
    needed = filter(None, [columns.content, id, time, encoding, "" if id else url])
    if missing := [name for name in dict.fromkeys(needed) if name not in pages.columns]:
        raise DedupError(f"The DataFrame has no column {', '.join(missing)}; it has {', '.join(pages.columns)}.")
    if taken := {SIGNED, _ROW} & {*pages.columns}:
        raise DedupError(f"The DataFrame has a column {', '.join(sorted(taken))} already; rename it.")
    signer = Signer(resolve_tokenizer(config or Config()))
    scope = scope or default_scope(signer.config)
    schema = StructType([*pages.schema.fields, StructField(SIGNED, StructType.fromDDL(SIGNED_COLUMNS))])
    signed = pages.mapInArrow(partial(sign_rows, config=signer.config, columns=columns, scope=scope), schema)
    return signed.withMetadata(SIGNED, {_SPEC: signer.spec}).withColumn(_ROW, F.monotonically_increasing_id())


def find_duplicates(
    signed: DataFrame,
    config: Config | None = None,
    *,
    order: str = "",
    profiles: FrozenProfiles | None = None,
) -> DataFrame:
    """Find the near-duplicates among signed rows.

    The result has a row for each signed row: ``row``, ``id``, ``url``, ``verdict``, ``reason``; and where the page has a
    representative, ``representative`` (its identifier), ``rule``, ``distance``, ``resemblance`` and ``coverage``.
    *signed* is read several times, and pages are decided again each time the result is read.

    Args:
        signed: what :func:`sign` has returned.
        config: the settings with which it was signed, and the thresholds.
        order: the order of the decisions (:data:`~crawler_dedup.batch.shard.ORDERS`, with a minus the largest first);
            ``""``: by ``row``.
        profiles: what is known about sites; ``None``: it is learned.

    Raises:
        DedupError: there is no such order.
        IndexMismatch: *signed* was signed with other settings.
    """
    require_order(order)
    signer = Signer(resolve_tokenizer(config or Config()))
    if spec := signed.schema[SIGNED].metadata.get(_SPEC):
        require_same_spec("The DataFrame", spec, signer.spec)
    rows = signed.select(_ROW, f"{SIGNED}.*")
    known = FrozenProfiles.of(learn_sites(rows)) if profiles is None else profiles
    matcher = RememberingMatcher(signer.config, signer.scheme)
    decided = _decide_rows(rows, _group_rows(rows, matcher, known), matcher, known, order)
    verdict = F.when(F.col("kind") == UNSIGNED, str(Verdict.UNCHECKED)).otherwise(str(Verdict.NEW))
    return (
        rows.select(_ROW, "id", "url", "kind", "reason")
        .join(decided, _ROW, "left")
        .withColumn("verdict", F.coalesce("decided", verdict))
        .select(_ROW, "id", "url", "verdict", "reason", *_AGREEMENT)
    )


def drop_duplicates(
    signed: DataFrame,
    config: Config | None = None,
    *,
    order: str = "",
    profiles: FrozenProfiles | None = None,
) -> DataFrame:
    """Return the rows of the pages that are not left out, without the columns that :func:`sign` has added.

    Arguments and errors as for :func:`find_duplicates`.
    """
    decided = find_duplicates(signed, config, order=order, profiles=profiles)
    left_out = decided.where(F.col("verdict").isin(str(Verdict.DUPLICATE), str(Verdict.UNCHANGED))).select(_ROW)
    return signed.join(left_out, _ROW, "left_anti").drop(SIGNED, _ROW)


def _group_rows(rows: DataFrame, matcher: RememberingMatcher, profiles: FrozenProfiles) -> Groups:
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


def _decide_rows(
    rows: DataFrame, groups: Groups, matcher: RememberingMatcher, profiles: FrozenProfiles, order: str
) -> DataFrame:
    """Decide about the rows of *groups*; the result has :data:`~crawler_dedup.batch.executors.DECIDED_COLUMNS`.

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
