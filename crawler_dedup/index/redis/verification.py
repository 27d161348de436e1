"""Checking the buckets of an index on a server against its records, and rebuilding them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from secrets import token_bytes

import msgspec
import numpy as np

from crawler_dedup.errors import DedupError, IndexUnusable
from crawler_dedup.hamming import Numbers
from crawler_dedup.index.keptpages import Filing
from crawler_dedup.index.places import numbers_in, place_entry, place_of_name, place_of_signature
from crawler_dedup.index.profiles import site_key
from crawler_dedup.index.records import Record, hash_scope, name_page
from crawler_dedup.index.redis.changes import Changes
from crawler_dedup.index.redis.client import Client
from crawler_dedup.index.redis.keys import Keys
from crawler_dedup.index.redis.pages import PagesOnServer
from crawler_dedup.index.redis.recordrows import decode_record
from crawler_dedup.index.runs import DAMAGED_RUN, RUN_NAME_BYTES, encode_run
from crawler_dedup.index.tally import Tally, tally
from crawler_dedup.system.callbacks import Advance

_SLICE = 500
_REPAIR_SECONDS = 60
"""Seconds without a step after which a repair counts as killed."""
_Stored = tuple[int, bytes]


def find_problems(pages: PagesOnServer, filing: Filing, advance: Advance) -> list[str]:
    """Check an index; return a sentence for each fault.

    Raises:
        IndexUnusable: there were faults, but the index was changed meanwhile, which may be their cause.
    """
    client, wrong = pages.client, Counter[str]()
    before = client.read_state()
    numbers = tables = Tally()
    sites: Counter[bytes] = Counter()
    records, stored = 0, pages.stored_records()
    while batch := list(islice(stored, _SLICE)):
        readable = dict(_decoded(batch))
        wrong["records cannot be read"] += len(batch) - len(readable)
        records += len(batch)
        numbers += tally(
            0, *_columns(entry for number, record in readable.items() for entry in _entries(number, record))
        )
        numbers += tally(0, *_columns(_under_titles(client, readable, filing)))
        tables += tally(*_columns(_filed(client, readable, filing), 3))
        sites.update(site_key(record.page.scope, record.page.url) for record in readable.values())
        advance(len(batch))
    del sites[b""]
    for name, prefix, expected in (("numbers", client.keys.numbers, numbers), ("tables", client.keys.buckets, tables)):
        filed = _tally_buckets(client, prefix)
        if filed != expected:  # a scan may return keys twice; remembering all names takes memory
            filed = _tally_buckets(client, prefix, set())
        if filed != expected:
            wrong[f"entries are in the {name}, {expected.entries} or others are expected"] = max(filed.entries, 1)
    counted = dict(pages.site_counts())
    if counted != dict(sites):
        wrong["sites have a wrong number of records"] = len(counted.items() ^ sites.items())
    if client.read_state().records != records:
        wrong["records exist, but another number of them is stored"] = records
    wrong["entries of runs cannot be read"] = sum(run is DAMAGED_RUN for run in client.runs.entries.values())
    problems = [f"{count} {what}." for what, count in wrong.items() if count]
    if problems and client.read_state() != before:
        raise IndexUnusable("The index was changed while it was verified. Verify it when no crawl uses it.")
    return problems


def rebuild(pages: PagesOnServer, filing: Filing, advance: Advance) -> None:
    """Rebuild everything else from the records, and remove records that cannot be read.

    If this is interrupted, it must be done again: until then, near-duplicates are missed.

    Raises:
        IndexUnusable: a run uses the index, or another repair is under way.
    """
    if any(pages.client.scan(pages.client.keys.prefix + b"l*")):
        raise IndexUnusable("A crawl uses the index, or has used it a minute ago: repair it when none does.")
    with _only_repair(pages.client) as go_on:

        def advance_and_go_on(count: int) -> None:
            advance(count)
            go_on()

        _rebuild(pages, filing, advance_and_go_on)


@contextmanager
def _only_repair(client: Client) -> Iterator[Callable[[], None]]:
    """Prevent other repairs within the context. Yield a function that must be called at least once a minute."""
    key, name = client.keys.repair, token_bytes(8)

    def go_on() -> None:
        if client.call(b"GET", key) != name:
            raise IndexUnusable("Another repair of the index has begun. Repair it again when that has ended.")
        client.call(b"EXPIRE", key, _REPAIR_SECONDS)

    if client.call(b"SET", key, name, b"NX", b"EX", _REPAIR_SECONDS) is None and client.call(b"GET", key) != name:
        raise IndexUnusable("Another process repairs the index, or was killed less than a minute ago while it did.")
    try:
        yield go_on
    finally:
        with suppress(DedupError):  # an earlier error says more
            if client.call(b"GET", key) == name:
                client.call(b"DEL", key)


def _rebuild(pages: PagesOnServer, filing: Filing, advance: Advance) -> None:
    client, keys = pages.client, pages.client.keys
    _remove_buckets(client, client.other_keys, advance)  # left by a repair that was interrupted
    for number, run in client.runs.entries.items():
        if run is DAMAGED_RUN:
            client.call(b"HSET", keys.runs, number.to_bytes(RUN_NAME_BYTES, "big"), encode_run(run))
    last = client.begin_other_buckets()
    _remove_buckets(client, keys, advance)
    stored = pages.read_records(1, last)
    while batch := list(islice(stored, _SLICE)):
        readable = dict(_decoded(batch))
        for number, _ in batch:
            if number not in readable:
                client.call(b"DEL", keys.record(number))
        _file_again(pages, readable, filing)
        advance(len(batch))


def _remove_buckets(client: Client, keys: Keys, advance: Advance) -> None:
    for pattern in (keys.numbers, keys.buckets):
        for names in client.scan(pattern + b"*"):
            advance(0)
            if names:
                client.call(b"UNLINK", *names)


def _file_again(pages: PagesOnServer, numbers: Iterable[int], filing: Filing) -> None:
    """File the records with *numbers* again, fewer at a time if others change the index meanwhile."""
    waiting = list(numbers)
    size = len(waiting)
    while waiting:
        pages.client.prepare()
        writing = pages.begin_another()
        for number in waiting[:size]:
            _file_record_again(writing, number, filing)
        if pages.client.commit(writing.collect()) is None:
            size = max(size // 2, 1)
        else:
            waiting = waiting[size:]


def _file_record_again(writing: PagesOnServer, number: int, filing: Filing) -> None:
    """File a record again, unless it was forgotten meanwhile. Of two records of a page, the newer one stays."""
    record = writing.get(number)
    if record is None:
        return
    other = writing.find(record.page.scope, record.page.key)
    if other is not None and other[0] > number:
        writing.remove(number, record, filing)
        return
    if other is not None:
        writing.remove(*other, filing)
    writing.file(number, record, filing)


def _decoded(batch: Iterable[_Stored]) -> Iterator[tuple[int, Record]]:
    for number, content in batch:
        with suppress(msgspec.DecodeError):
            yield number, decode_record(content)


def _entries(number: int, record: Record) -> Iterator[tuple[int, int]]:
    """Yield the bucket key and the payload of each entry that should contain the number of a record."""
    page = record.page
    for name in (name_page(page.scope, page.key), *record.aliases):
        yield place_entry(place_of_name(name), number)
    if record.stands:
        yield place_entry(place_of_signature(hash_scope(page.scope), page.signature), number)


def _filed(client: Client, readable: dict[int, Record], filing: Filing) -> Iterator[tuple[int, int, int]]:
    """Yield (scope, key, signature) of each entry that should be in the tables: once for all records with a signature."""
    for number, record in readable.items():
        if record.stands:
            scope, signature = hash_scope(record.page.scope), record.page.signature
            numbers = _numbers_at(client, place_of_signature(scope, signature))
            if number == next(_standing(client, numbers, scope, signature), number):
                yield from ((scope, key, signature) for key in filing.keys(record.page))


def _under_titles(client: Client, readable: dict[int, Record], filing: Filing) -> Iterator[tuple[int, int]]:
    """Yield the bucket key and the payload of each record filed under its title; of a frequent title, not all are."""
    for number, record in readable.items():
        if title := filing.title_key(record.page):
            place = place_of_signature(hash_scope(record.page.scope), title)
            if number in _numbers_at(client, place):
                yield place_entry(place, number)


def _numbers_at(client: Client, place: int) -> list[int]:
    key, first = place_entry(place, 0)
    return numbers_in(client.cells.read_bucket(Changes(), client.keys.number_bucket(key)), first)


def _standing(client: Client, numbers: list[int], scope: int, signature: int) -> Iterator[int]:
    """Yield the *numbers* whose records have *signature* and the hash *scope*; a single number is not checked."""
    if len(numbers) == 1:
        yield from numbers
        return
    contents = client.call(b"MGET", *map(client.keys.record, numbers)) if numbers else ()
    stored = [(number, content or b"") for number, content in zip(numbers, contents, strict=True)]
    for number, record in _decoded(stored):
        if record.page.signature == signature and hash_scope(record.page.scope) == scope:
            yield number


def _tally_buckets(client: Client, prefix: bytes, seen: set[bytes] | None = None) -> Tally:
    """Tally the payloads of the buckets whose names begin with *prefix*, skipping names in *seen* and adding others."""
    total = Tally()
    for scanned in client.scan(prefix + b"*"):
        names = scanned
        if seen is not None:
            names = [name for name in dict.fromkeys(scanned) if name not in seen]
            seen.update(names)
        contents = client.call(b"MGET", *names) if names else ()
        rows = []
        for name, content in zip(names, contents, strict=True):
            payloads = np.frombuffer(content[: len(content or b"") // 8 * 8], dtype="<u8") if content else ()
            if prefix == client.keys.numbers:
                key = int.from_bytes(name[len(prefix) :], "big")
                rows += [(0, key, payload) for payload in map(int, payloads)]
            else:
                scope, key = client.keys.bucket_of(name) or (0, 0)
                rows += [(scope, key, payload) for payload in map(int, payloads)]
        total += tally(*_columns(rows, 3))
    return total


def _columns(rows: Iterable[tuple[int, ...]], width: int = 2) -> list[Numbers]:
    listed = list(rows)
    columns = zip(*listed, strict=True) if listed else [()] * width
    return [np.array(list(column), dtype=np.uint64) for column in columns]
