"""Checking every bucket of an index of pages against its records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice

import lmdb
import numpy as np

from crawler_dedup.hashes import Numbers
from crawler_dedup.index.layout import NUMBERS, SIGNATURES, reference_entry, reference_of_signature
from crawler_dedup.index.lmdb.buckets import tally
from crawler_dedup.index.lmdb.storage import Databases
from crawler_dedup.index.protocols import Filing
from crawler_dedup.index.records import Record, hash_scope
from crawler_dedup.index.transaction import Transaction, references_of
from crawler_dedup.system.callbacks import Advance

_SLICE = 10_000
_Numbered = tuple[int, Record | None]


@dataclass
class _Findings:
    """The entries that the buckets should have according to the records, and the faults of the records."""

    wrong: Counter[str] = field(default_factory=Counter)
    numbers: Numbers = field(default_factory=lambda: _array((0, 0)))
    tables: Numbers = field(default_factory=lambda: _array((0, 0)))


def find_problems(
    txn: lmdb.Transaction, databases: Databases, transaction: Transaction, filing: Filing, advance: Advance
) -> list[str]:
    """Return the faults of an index, a sentence each.

    Args:
        filing: determines the keys under which pages are filed.
        advance: called with the number of records of each batch that was checked.

    Raises:
        IndexUnusable: a bucket cannot be read.
    """
    findings, numbered = _Findings(), transaction.items()
    while batch := list(islice(numbered, _SLICE)):
        _check_records(batch, transaction, filing, findings)
        advance(len(batch))
    findings.wrong["profiles of sites cannot be read"] += transaction.sites.count_unreadable()
    findings.wrong["runs cannot be read"] += transaction.runs.count_unreadable()
    findings.wrong["overrides cannot be read"] += transaction.count_unreadable_overrides()
    sentences = [f"{count} {fault}." for fault, count in findings.wrong.items() if count]
    for name, filed, expected in (
        ("record numbers", databases.buckets[NUMBERS].tally(txn), findings.numbers),
        ("signatures", databases.buckets[SIGNATURES].tally(txn), findings.tables),
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
        representatives = transaction.find_filed(scope, signature)
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


def _array(numbers: Iterable[int]) -> Numbers:
    return np.array(list(numbers), dtype=np.uint64)
