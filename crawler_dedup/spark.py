"""Near-duplicates of a DataFrame of Spark: signed, searched and decided by the executors.

The decisions are those of ``crawler-dedup batch`` about the same pages in the same order.
"""

from __future__ import annotations

from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (as everybody imports it)
from pyspark.sql.types import StructField, StructType

from crawler_dedup.batch.decide import RememberingMatcher
from crawler_dedup.batch.formats.records import Columns
from crawler_dedup.batch.shard import UNSIGNED, require_order
from crawler_dedup.batch.spark.executors import SIGNED, SIGNED_COLUMNS, sign_rows
from crawler_dedup.batch.spark.search import decide_rows, group_rows, learn_sites
from crawler_dedup.config import Config
from crawler_dedup.config.settings import default_scope
from crawler_dedup.decision import Verdict
from crawler_dedup.errors import DedupError
from crawler_dedup.index.header import require_same_spec
from crawler_dedup.index.profiles import FrozenProfiles
from crawler_dedup.signing.segmentation import resolve_tokenizer
from crawler_dedup.signing.signer import Signer

_ROW = "row"
_SPEC = "crawler_dedup"  # metadata of the column with the signed pages: what they depend on
_AGREEMENT = ("representative", "rule", "distance", "resemblance", "coverage")


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
    matcher = RememberingMatcher(signer)
    decided = decide_rows(rows, group_rows(rows, matcher, known), matcher, known, order)
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
    """Return the rows of the pages that are kept, without the columns that :func:`sign` has added.

    Arguments and errors as for :func:`find_duplicates`.
    """
    decided = find_duplicates(signed, config, order=order, profiles=profiles)
    left_out = decided.where(F.col("verdict").isin(str(Verdict.DUPLICATE), str(Verdict.UNCHANGED))).select(_ROW)
    return signed.join(left_out, _ROW, "left_anti").drop(SIGNED, _ROW)
