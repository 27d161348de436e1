"""Checking every bucket of an index directory against its records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from crawler_dedup.errors import IndexUnusable
from crawler_dedup.hashes import Numbers, mix_bits
from crawler_dedup.index.layout import NUMBERS, SIGNATURES, reference_entry, reference_of_signature
from crawler_dedup.index.protocols import Filing
from crawler_dedup.index.records import Record, hash_scope
from crawler_dedup.index.transaction import Transaction, is_under, references_of
from crawler_dedup.system.callbacks import Advance, ignore_progress

if TYPE_CHECKING:
    from crawler_dedup.index.lmdb.buckets import Chunk
    from crawler_dedup.index.lmdb.index import DirectoryIndex

_SLICE = 10_000
_TALLIED = 4096
_Numbered = tuple[int, Record | None]


@dataclass
class _Findings:
    """The entries that the buckets should have according to the records, and the faults of the records."""

    wrong: Counter[str] = field(default_factory=Counter)
    numbers: Numbers = field(default_factory=lambda: _array((0, 0)))
    tables: Numbers = field(default_factory=lambda: _array((0, 0)))


def find_problems(index: DirectoryIndex, filing: Filing, advance: Advance = ignore_progress) -> list[str]:
    """Return the faults of an index, a sentence each. Nothing is changed.

    Args:
        filing: determines the keys under which pages are filed.
        advance: called with the number of records of each batch that was checked.
    """
    findings = _Findings()
    try:
        with index.environment.read() as txn:
            transaction = index.transaction_in(txn)
            numbered = transaction.items()
            while batch := list(islice(numbered, _SLICE)):
                _check_records(batch, transaction, filing, findings)
                advance(len(batch))
            findings.wrong["profiles of sites cannot be read"] += transaction.sites.count_unreadable()
            findings.wrong["runs cannot be read"] += transaction.runs.count_unreadable()
            findings.wrong["overrides cannot be read"] += transaction.count_unreadable_overrides()
            filed_numbers, filed_signatures = (
                tally_chunks(index.databases.buckets[table].chunks(txn)) for table in (NUMBERS, SIGNATURES)
            )
    except IndexUnusable as error:
        return [str(error)]
    sentences = [f"{count} {fault}." for fault, count in findings.wrong.items() if count]
    for name, filed, expected in (
        ("record numbers", filed_numbers, findings.numbers),
        ("signatures", filed_signatures, findings.tables),
    ):
        if (filed != expected).any():
            sentences.append(
                f"The buckets of {name} do not match the records: {filed[0]} entries, {expected[0]} expected."
            )
    return sentences


def _check_records(batch: Iterable[_Numbered], transaction: Transaction, filing: Filing, findings: _Findings) -> None:
    entries: list[tuple[int, int]] = []
    filed: list[tuple[int, int, int]] = []
    for number, record in batch:
        if record is None:
            findings.wrong["records cannot be read"] += 1
            continue
        scope, signature = hash_scope(record.page.scope), record.page.signature
        entries.extend(reference_entry(reference, number) for reference in references_of(record))
        if number not in transaction.numbers_at(references_of(record)[0]):
            findings.wrong["records are not found by their page key"] += 1
        representatives = _find_filed(transaction, scope, signature)
        if (number in representatives) != record.is_representative:
            findings.wrong["records are not filed under the signature that they contain"] += 1
        if number in representatives:
            entries.append(reference_entry(reference_of_signature(scope, signature), number))
            if number == representatives[0]:
                filed.extend((scope, key, signature) for key in filing.keys(record.page))
        if title := filing.title_key(record.page):
            reference = reference_of_signature(scope, title)
            if number in transaction.numbers_at(reference):
                entries.append(reference_entry(reference, number))
    if entries:
        findings.numbers += tally(0, *map(_array, zip(*entries, strict=True)))
    if filed:
        findings.tables += tally(*map(_array, zip(*filed, strict=True)))


def _find_filed(transaction: Transaction, scope: int, signature: int) -> list[int]:
    """Return the numbers of the records that can be read and are filed under *signature*, ascending."""
    filed = []
    for number in transaction.numbers_at(reference_of_signature(scope, signature)):
        with suppress(msgspec.DecodeError):
            record = transaction.get(number)
            if record is not None and is_under(record, scope, signature):
                filed.append(number)
    return filed


def tally(scopes: Numbers | int, keys: Numbers | int, payloads: Numbers) -> Numbers:
    """Return the number of *payloads* and a sum of their hashes, each with its scope and key (arrays or one for all).

    Equal tallies mean equal sets of entries, except with a probability of 2^-64, and except for deliberate damage.
    """
    buckets = np.atleast_1d(np.asarray(scopes, dtype=np.uint64) ^ np.asarray(keys, dtype=np.uint64))
    hashes = mix_bits(buckets * np.uint64(0x9E3779B97F4A7C15) + payloads)
    return np.array([hashes.size, hashes.sum()], dtype=np.uint64)


def tally_chunks(chunks: Iterable[Chunk]) -> Numbers:
    """Tally all entries in *chunks*."""
    total, waiting = _array((0, 0)), iter(chunks)
    while batch := list(islice(waiting, _TALLIED)):
        scopes, keys, payloads = zip(*batch, strict=True)
        lengths = [len(chunk) for chunk in payloads]
        spread = [np.repeat(_array(numbers), lengths) for numbers in (scopes, keys)]
        total += tally(spread[0], spread[1], np.concatenate(payloads))
    return total


def _array(numbers: Iterable[int]) -> Numbers:
    return np.array(list(numbers), dtype=np.uint64)
