"""Find the pages that are kept already and that a look-up of a new page can return.

As in Manku, Jain and Das Sarma, WWW 2007, §3.3: each task holds the numbers of all new pages, and a part of the existing
ones passes by them (:class:`~crawler_dedup.batch.candidates.ResidentPages`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from crawler_dedup.batch.candidates import ResidentPages, collect_keys, looks_up_by_keys
from crawler_dedup.batch.collection import Collection
from crawler_dedup.batch.existing import ExistingPages
from crawler_dedup.batch.rows import read_rows
from crawler_dedup.batch.shard import KINDS
from crawler_dedup.batch.spark.exchange import Batches
from crawler_dedup.batch.spark.schemas import arrow_schema, make_batches
from crawler_dedup.config import Config
from crawler_dedup.index.maintenance import read_profiles
from crawler_dedup.index.profiles import FrozenProfiles
from crawler_dedup.index.records import Record, encode, name_page
from crawler_dedup.rules.counts import can_read
from crawler_dedup.rules.matcher import RuleMatcher
from crawler_dedup.signing.signer import Signer, config_from_spec
from crawler_dedup.system.callbacks import ignore_progress

_COLUMNS = "row long, record long, id string, kind string, signature long, name long, title long, page binary"
_SCHEMA = arrow_schema(_COLUMNS)
_RECORDS = 1_000  # records that are returned at a time


@dataclass(frozen=True)
class NewPages:
    """A signed collection, as each task reads it.

    Attributes:
        directory: the directory of the collection.
        profiles: the file with what is known about its sites.
        config: the settings.
        memory: bytes that a task may take for the numbers of the pages.
        job: a different number for each job, so that a worker does not use pages that it has read for another job.
    """

    directory: Path
    profiles: Path
    config: Config
    memory: int
    job: int


def find_existing(session: SparkSession, existing: ExistingPages, new: NewPages) -> DataFrame:
    """Return the pages of *existing* that a look-up of a new page can return.

    They have the columns of :data:`~crawler_dedup.batch.spark.deciding.GROUPED`; their rows are below 0 and ascend, and the
    column ``page`` has their records.
    """
    parts = tuple(existing.parts())
    ends = np.cumsum([len(part) for part in parts])
    firsts = (np.concatenate([[0], ends[:-1]]) - len(existing)).tolist()
    places = session.sparkContext.parallelize(list(enumerate(firsts)), max(1, len(parts)))
    frame = session.createDataFrame(places, "number int, first long")
    return frame.mapInArrow(_FindExisting(parts, new).__call__, _COLUMNS)


@lru_cache(maxsize=1)
def _read_new(new: NewPages) -> tuple[ResidentPages, RuleMatcher, FrozenProfiles]:
    """Read the new pages, once for each job in a worker."""
    collection = Collection.open(new.directory)
    receipts = [receipt for shard in collection.shards if (receipt := shard.read_receipt()) is not None]
    rows = read_rows(collection.shards, receipts)
    signer = Signer(config_from_spec(collection.header.spec, new.config))
    matcher, profiles = RuleMatcher(signer), read_profiles(new.profiles, collection.header.spec, can_read)
    entries = collect_keys(rows, signer.scheme, matcher, profiles, new.memory, ignore_progress)
    return ResidentPages(rows, entries, signer.scheme, new.memory), matcher, profiles


@dataclass(frozen=True)
class _FindExisting:
    """Finds the pages in *parts* that a look-up of a new page can return."""

    parts: Sequence[ExistingPages]
    new: NewPages

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number, first in zip(
                batch.column("number").to_pylist(), batch.column("first").to_pylist(), strict=True
            ):
                yield from self._find(self.parts[number], first)

    def _find(self, part: ExistingPages, first: int) -> Iterator[pa.RecordBatch]:
        resident, matcher, profiles = _read_new(self.new)
        texts_by_key = looks_up_by_keys(resident.scheme)
        flags = [resident.pass_by(batch) for batch in part.batches(matcher, profiles, texts_by_key=texts_by_key)]
        wanted = np.concatenate([np.zeros(0, dtype=bool), *flags])
        places = iter((first + np.flatnonzero(wanted)).tolist())
        records = part.read_records(wanted, matcher, profiles)
        yield from make_batches((_row_of(next(places), record, matcher) for record in records), _SCHEMA, _RECORDS)


def _row_of(row: int, record: Record, matcher: RuleMatcher) -> tuple[object, ...]:
    page = record.page
    name = int.from_bytes(name_page(page.scope, page.key)[:8], "big")
    signature, name, title = (_as_signed(number) for number in (page.signature, name, matcher.title_key(page)))
    return row, 0, "", KINDS[page.kind], signature, name, title, encode(record)


def _as_signed(number: int) -> int:
    """Return the signed number with the same 64 bits, because Spark has no unsigned numbers."""
    return number - (1 << 64) if number >> 63 else number
