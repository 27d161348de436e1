"""Checking the buckets of an index, in a directory or on a server, against its records."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from crawler_dedup.index.index import Index
from crawler_dedup.index.layout import NUMBERS, SIGNATURES, reference_entry, reference_of_name, reference_of_signature
from crawler_dedup.index.lmdb.index import DirectoryIndex
from crawler_dedup.index.protocols import Filing
from crawler_dedup.index.records import hash_scope, name_page
from crawler_dedup.index.transaction import Transaction
from crawler_dedup.inspection.verification import find_problems

if TYPE_CHECKING:
    from crawler_dedup.index.redis.storage import ServerStorage


def verify(pages: Index, filing: Filing) -> list[str]:
    """Check every bucket of an index against the records; return a sentence for each fault."""
    if isinstance(pages, DirectoryIndex):
        return find_problems(pages, filing)
    from crawler_dedup.index.redis.index import ServerIndex

    assert isinstance(pages, ServerIndex)
    with pages._read() as txn:
        return _find_problems_on_server(txn, filing)


def _find_problems_on_server(pages: Transaction, filing: Filing) -> list[str]:
    storage: ServerStorage = pages._storage  # type: ignore[assignment]
    keys = storage.keys
    items = list(pages.items())
    readable = [(number, record) for number, record in items if record is not None]
    numbers, tables = (_read_buckets(storage, keys.prefix + letter) for letter in (b"n", b"b"))
    expected = Counter[tuple[bytes, int]]()
    filed: dict[tuple[int, int], list[bytes]] = {}
    for number, record in readable:
        page, scope = record.page, hash_scope(record.page.scope)
        references = [reference_of_name(name) for name in (name_page(page.scope, page.key), *record.aliases)]
        if record.is_representative:
            references.append(reference_of_signature(scope, page.signature))
            filed.setdefault(
                (scope, page.signature), [name for (name,) in keys.buckets(SIGNATURES, scope, filing.keys(page))]
            )
        entries = [reference_entry(reference, number) for reference in references]
        if title := filing.title_key(page):  # of a frequent title, not all records are filed
            key, payload = reference_entry(reference_of_signature(scope, title), number)
            entries += [(key, payload)] * numbers[keys.buckets(NUMBERS, 0, [key])[0][0], payload]
        expected.update((keys.buckets(NUMBERS, 0, [key])[0][0], payload) for key, payload in entries)
    wrong = {
        "records cannot be read": len(items) - len(readable),
        "entries of the numbers are missing": (expected - numbers).total(),
        "entries of the numbers lead nowhere": (numbers - expected).total(),
        "sites cannot be read": pages.sites.count_unreadable(),
        "entries are in the tables that should be elsewhere": tables
        != Counter((name, signature) for (_, signature), names in filed.items() for name in names),
        "is not the number of records": len(items) - pages.count(),
        "entries of runs cannot be read": pages.runs.count_unreadable(),
    }
    return [f"{int(count)} {what}." for what, count in wrong.items() if count]


def _read_buckets(storage: ServerStorage, prefix: bytes) -> Counter[tuple[bytes, int]]:
    """Count the payloads of the buckets whose names begin with *prefix*, each with the name of its bucket."""
    call = storage.connection.call
    names = call(b"KEYS", prefix + b"*")
    contents = call(b"MGET", *names) if names else ()
    payloads = (np.frombuffer(content, dtype="<u8").tolist() for content in contents)
    return Counter((name, payload) for name, some in zip(names, payloads, strict=True) for payload in some)
