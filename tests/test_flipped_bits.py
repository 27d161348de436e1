from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import lmdb
import msgspec
import pytest

from crawler_dedup import Config, Deduplicator, IndexDamaged, IndexMismatch, IndexUnusable, maintenance
from crawler_dedup.permuted import PermutedIndex
from crawler_dedup.records import Record, decode, encode
from crawler_dedup.store import Store
from tests.crawling import article
from tests.indexing import FILING, array, cut_chunks, put_meta, uniform

DATABASES = (b"tables", b"representatives", b"records", b"numbers")
CONFIG = Config(tokenizer="bigrams")
URLS = ["http://a.org/ü", "http://a.org/2", "http://b.org/3"]
UNREADABLE = "1 records cannot be read."


class Pages:
    """An index of three pages that can be damaged again and again, and all that is done with one."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "file"
        self.deduplicator = Deduplicator.open(folder / "index", CONFIG)
        self.store = Store.attach(folder / "index")
        self.own = [self.deduplicator.sign(url, article(url).encode()) for url in URLS]
        self.copies = [self.deduplicator.sign(f"{url}?copy", article(url, frame="x").encode()) for url in URLS]
        self.deduplicator.decide(self.own)
        opened = self.store.environment.databases(lambda env, txn: [env.open_db(name, txn) for name in DATABASES])
        self._databases = dict(zip(DATABASES, opened, strict=True))
        with self.store.environment.read() as txn:
            self.sound = {
                name: {bytes(key): bytes(content) for key, content in txn.cursor(db=database)}
                for name, database in self._databases.items()
            }

    def damage(self, name: bytes, change: Callable[[bytes], bytes]) -> None:
        """Make it sound again but for the first entry of the database *name*."""

        def job(txn: lmdb.Transaction) -> None:
            for each, database in self._databases.items():
                txn.drop(database, delete=False)
                for key, content in self.sound[each].items():
                    txn.put(key, content, db=database)
            key, content = next(iter(self.sound[name].items()))
            txn.put(key, change(content), db=self._databases[name])

        self.store.environment.write(job)

    def readable(self) -> int:
        return sum(len(block) for block in self.store.records(10))

    def use(self) -> None:
        """Whatever is done with it: what is no error of the index comes through."""
        uses: list[Callable[[], object]] = [
            lambda: maintenance.contents(self.store, lambda _: None),
            lambda: maintenance.export_index(self.store, self.file, lambda _: None),
            *(partial(self.deduplicator.decide, [page]) for page in (*self.copies, *self.own)),
            lambda: self.store.forget(lambda record: record.page.url in URLS[:2], FILING),
            lambda: self.store.verify(FILING),
        ]
        for use in uses:
            with contextlib.suppress(IndexUnusable):
                use()

    def repair(self) -> None:
        self.store.repair(FILING)
        assert self.store.verify(FILING) == []

    def close(self) -> None:
        self.store.close()
        self.deduplicator.close()


@pytest.fixture
def pages(tmp_path: Path) -> Iterator[Pages]:
    opened = Pages(tmp_path)
    yield opened
    opened.close()


def flip(content: bytes, bit: int) -> bytes:
    return (int.from_bytes(content, "little") ^ 1 << bit).to_bytes(len(content), "little")


def bits_of(content: bytes, part: bytes) -> range:
    at = content.index(part)
    return range(8 * at, 8 * (at + len(part)))


# Records


def test_a_flipped_bit_in_a_record_is_read_or_said_and_always_repaired(pages: Pages) -> None:
    record = next(iter(pages.sound[b"records"].values()))
    page = decode(record).page
    bits = {*random.Random(1).sample(range(8 * len(record)), 150), *range(0, 24)}
    bits |= {*bits_of(record, page.url.encode()), *bits_of(record, page.title[:10].encode())}
    unreadable = 0
    for bit in sorted(bits):
        pages.damage(b"records", partial(flip, bit=bit))
        said = UNREADABLE in pages.store.verify(FILING)
        assert pages.readable() == len(URLS) - said, bit
        pages.use()
        pages.repair()
        unreadable += said
    assert 20 < unreadable < len(bits) - 20


def resigned(content: bytes, signature: int) -> bytes:
    record = decode(content)
    return encode(msgspec.structs.replace(record, page=msgspec.structs.replace(record.page, signature=signature)))


@pytest.mark.parametrize(
    "change",
    [
        lambda content: resigned(content, -5),
        lambda content: content.replace(b"http", b"\xff\xfe\xc3\x28", 1),
        lambda content: content.replace("ü".encode(), b"\xc3\xff"),
        lambda content: content[:-1],
        lambda content: content + b"\0",
        lambda content: b"",
    ],
    ids=["signature below 0", "no UTF-8", "half a character", "cut off", "too long", "empty"],
)
def test_a_record_that_cannot_be_read_is_said_and_removed_by_a_repair(
    pages: Pages, change: Callable[[bytes], bytes]
) -> None:
    pages.damage(b"records", change)
    assert UNREADABLE in pages.store.verify(FILING)
    assert pages.readable() == 2
    with pytest.raises(IndexDamaged):
        pages.deduplicator.decide(pages.own[:1])
    with pytest.raises(IndexDamaged):
        pages.deduplicator.decide(pages.copies[:1])
    pages.repair()
    assert pages.readable() == len(pages.store) == 2
    assert [decision.verdict for decision in pages.deduplicator.decide(pages.copies)] == ["new", *["duplicate"] * 2]


@pytest.mark.parametrize(
    "fields",
    [
        {"sketch": b"x" * 195},
        {"sketch": b""},
        {"sketch": b"x" * 64},
        {"numbers": b"x" * 63},
        {"sketch": b"short"},
        {"numbers": b"short"},
    ],
    ids=repr,
)
def test_a_record_with_a_part_of_another_length_is_no_error_but_of_the_index(
    pages: Pages, fields: dict[str, object]
) -> None:
    def change(content: bytes) -> bytes:
        record: Record = decode(content)
        return encode(msgspec.structs.replace(record, page=msgspec.structs.replace(record.page, **fields)))

    pages.damage(b"records", change)
    pages.use()
    pages.repair()


# What is derived from the records


@pytest.mark.parametrize("name", [b"tables", b"representatives", b"numbers"], ids=bytes.decode)
def test_a_flipped_bit_in_what_is_derived_is_said_and_repaired(pages: Pages, name: bytes) -> None:
    size = 8 * len(next(iter(pages.sound[name].values())))
    for bit in range(0, size, 3):
        pages.damage(name, partial(flip, bit=bit))
        assert pages.store.verify(FILING), bit
        pages.use()
        pages.damage(name, partial(flip, bit=bit))
        pages.repair()
        assert pages.readable() == len(URLS)


# The header


def test_a_flipped_bit_in_a_header_is_an_error_of_the_index_or_none(tmp_path: Path) -> None:
    PermutedIndex.open(tmp_path).close()
    with lmdb.open(str(tmp_path), max_dbs=8) as env, env.begin(db=env.open_db(b"meta", create=False)) as txn:
        header = txn.get(b"header")
    assert header is not None
    for bit in (*range(7, 8 * len(header), 40), *bits_of(header, b"format"), *bits_of(header, b'"4"')):
        put_meta(tmp_path, b"header", flip(header, bit))
        with contextlib.suppress(IndexUnusable, IndexMismatch):
            PermutedIndex.open(tmp_path).close()


# Bare signatures


def test_a_chunk_of_an_odd_length_is_said_by_every_reading(tmp_path: Path) -> None:
    signatures = uniform(1, 200)
    with PermutedIndex.open(tmp_path) as index:
        index.insert(array(signatures))
    cut_chunks(tmp_path, 1)
    with PermutedIndex.open(tmp_path) as index:
        for signature in signatures[:20]:
            with pytest.raises(IndexDamaged, match="is damaged"):
                index.query(signature ^ 1)
        with pytest.raises(IndexDamaged, match="is damaged"):
            list(index.blocks(50))
        (problem,) = index.verify()
        assert "is damaged" in problem


def test_two_half_payloads_are_not_taken_for_a_whole_one(tmp_path: Path) -> None:
    with PermutedIndex.open(tmp_path) as index:
        index.insert(5)
    with lmdb.open(str(tmp_path), max_dbs=8) as env:
        tables = env.open_db(b"tables")
        with env.begin(write=True, db=tables) as txn:
            for name, chunk in list(txn.cursor())[:2]:
                txn.put(name, chunk + b"half")
    with PermutedIndex.open(tmp_path) as index, pytest.raises(IndexDamaged, match="is damaged"):
        index.query(5, 1)


def test_a_repair_keeps_every_whole_signature_that_stands_in_some_table(tmp_path: Path) -> None:
    signatures = uniform(1, 400)
    with PermutedIndex.open(tmp_path) as index:
        index.insert(array(signatures))
    whole = cut_chunks(tmp_path, 0.7)
    assert 200 < len(whole) < 400
    with PermutedIndex.open(tmp_path) as index:
        index.repair()
        assert index.verify() == []
        assert {signature for block in index.blocks(100) for signature in block.tolist()} == whole
        assert all(index.query(signature, 0) for signature in whole)


def test_a_damaged_count_is_said_and_repaired(tmp_path: Path) -> None:
    with PermutedIndex.open(tmp_path) as index:
        index.insert([1, 2, 3])
    for bit in (1, 8, 63):
        put_meta(tmp_path, b"count", flip((3).to_bytes(8, "little"), bit))
        with PermutedIndex.open(tmp_path) as index:
            assert index.verify()
            with contextlib.suppress(IndexUnusable):
                assert len(index) != 3
            with contextlib.suppress(IndexUnusable):
                index.insert(4)
            with contextlib.suppress(IndexUnusable):
                index.remove([1, 2, 3, 4])
            index.repair()
            assert index.verify() == []
            index.remove(range(10))
            assert index.insert([1, 2, 3]) == 3
