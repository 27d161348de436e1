import contextlib
import itertools
import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import lmdb
import msgspec
import pytest

from crawler_dedup import Config, Deduplicator, IndexDamaged, IndexUnusable, SignedPage
from crawler_dedup.index.lmdb.index import DirectoryIndex
from crawler_dedup.index.overrides import make_override
from crawler_dedup.index.records import Record, decode, encode
from crawler_dedup.inspection import transfer
from crawler_dedup.inspection.transfer import Export
from crawler_dedup.inspection.verification import find_problems
from crawler_dedup.rules.counts import can_read
from tests.support.crawling import article
from tests.support.indexing import FILING

DATABASES = (b"tables", b"records", b"numbers", b"runs", b"sites", b"counts", b"overrides")
CONFIG = Config(tokenizer="bigrams")
URLS = ["http://a.org/ü", "http://a.org/2", "http://b.org/3"]
UNREADABLE = "1 records cannot be read."


class Pages:
    """An index of three pages that can be damaged again and again, and all that is done with one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.file = folder / "file"
        self.deduplicator = Deduplicator.open(folder / "index", CONFIG)
        self.store = DirectoryIndex.attach(folder / "index")
        self._numbers = itertools.count()
        self.own = [self.deduplicator.sign(url, article(url).encode()) for url in URLS]
        self.copies = [self.deduplicator.sign(f"{url}?copy", article(url, frame="x").encode()) for url in URLS]
        self.deduplicator.decide(self.own)
        self.store.add_overrides([make_override("keep", ["http://c.org/"])])
        opened = self.store.environment.make_databases(lambda env, txn: [env.open_db(name, txn) for name in DATABASES])
        self._databases = dict(zip(DATABASES, opened, strict=True))
        with self.store.environment.read() as txn:
            self.sound = {
                name: {bytes(key): bytes(content) for key, content in txn.cursor(db=database)}
                for name, database in self._databases.items()
            }

    def damage(self, name: bytes, change: Callable[[bytes], bytes]) -> None:
        """Make it sound again but for the first entry of the database *name*."""
        key, content = next(iter(self.sound[name].items()))
        self.put(name, key, change(content))

    def put(self, name: bytes, key: bytes, content: bytes) -> None:
        """Make it sound again, but put something into the database *name*."""

        def job(txn: lmdb.Transaction) -> None:
            for other_database, database in self._databases.items():
                txn.drop(database, delete=False)
                for sound_key, sound in self.sound[other_database].items():
                    txn.put(sound_key, sound, db=database)
            txn.put(key, content, db=self._databases[name])

        self.store.environment.write(job)

    def readable(self) -> int:
        return sum(1 for _ in self.store.records())

    def use(self) -> None:
        """Use the index in every way; only errors of the index are caught."""
        uses: list[Callable[[], object]] = [
            lambda: list(self.store.sites()),
            lambda: transfer.export_index(self.store, self.file, lambda _: None),
            *(partial(self.deduplicator.decide, [page]) for page in (*self.copies, *self.own)),
            *(partial(self._claim_and_end, page) for page in self.copies),
            lambda: self.store.merge([Record(page) for page in self.copies], FILING),
            lambda: list(self.store.records(handled_only=True)),
            lambda: len(self.store),
            self.deduplicator.tidy,
            lambda: self.store.forget(lambda record: record.page.url in URLS[:2], FILING),
            lambda: find_problems(self.store, FILING),
            self.store.list_overrides,
        ]
        for use in uses:
            with contextlib.suppress(IndexUnusable):
                use()

    def _claim_and_end(self, page: SignedPage) -> None:
        (decision,) = self.deduplicator.submit([page], claim=True).result()
        self.deduplicator.settle(decision)
        self.deduplicator.release(decision)

    def carry(self) -> tuple[Path, set[str]]:
        """Export the index into a new directory; return that, and the addresses of the pages that it has."""
        new = self._folder / f"new {next(self._numbers)}"
        transfer.export_index(self.store, self.file, lambda _: None, is_readable=can_read)
        transfer.import_index(
            Export(self.file), new, lambda _: FILING, lambda _: None, lambda _: None, is_readable=can_read
        )
        with contextlib.closing(DirectoryIndex.attach(new, readonly=True)) as store:
            assert find_problems(store, FILING) == []
            return new, {record.page.url for record in store.records()}

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


@pytest.mark.parametrize("step", [15, pytest.param(1, marks=pytest.mark.slow)])
def test_a_flipped_bit_in_a_record_is_read_or_reported_and_costs_no_other_record(pages: Pages, step: int) -> None:
    record = next(iter(pages.sound[b"records"].values()))
    page = decode(record).page
    bits = {*random.Random(1).sample(range(8 * len(record)), 150), *range(0, 24)}
    bits |= {*bits_of(record, page.url.encode()), *bits_of(record, page.title[:10].encode())}
    unreadable = 0
    tried = sorted(bits)[::step]
    for bit in tried:
        pages.damage(b"records", partial(flip, bit=bit))
        is_reported = UNREADABLE in find_problems(pages.store, FILING)
        assert pages.readable() == len(URLS) - is_reported, bit
        assert pages.carry()[1] >= {*URLS[1:]}, bit
        pages.use()
        unreadable += is_reported
    assert 20 / step < unreadable < len(tried) - 20 / step


def with_fields(content: bytes, **fields: object) -> bytes:
    record = decode(content)
    return encode(msgspec.structs.replace(record, page=msgspec.structs.replace(record.page, **fields)))


@pytest.mark.parametrize(
    "change",
    [
        lambda content: with_fields(content, signature=-5),
        lambda content: content.replace("ü".encode(), b"\xc3\xff"),
        lambda content: content[:-1],
        lambda content: content + b"\0",
        lambda content: b"",
    ],
    ids=["signature below 0", "half a character", "cut off", "too long", "empty"],
)
def test_an_unreadable_record_is_reported_and_not_exported(pages: Pages, change: Callable[[bytes], bytes]) -> None:
    pages.damage(b"records", change)
    assert UNREADABLE in find_problems(pages.store, FILING)
    assert pages.readable() == 2
    with pytest.raises(IndexDamaged):
        pages.deduplicator.decide(pages.own[:1])
    with pytest.raises(IndexDamaged):
        pages.deduplicator.decide(pages.copies[:1])
    new, urls = pages.carry()
    assert urls == {*URLS[1:]}
    with Deduplicator.open(new, CONFIG) as deduplicator:
        assert [decision.verdict for decision in deduplicator.decide(pages.copies)] == ["new", *["duplicate"] * 2]


@pytest.mark.parametrize("fields", [{"links": b"x" * 195}, {"cover": b"short"}], ids=repr)
def test_a_field_of_another_length_raises_only_errors_of_the_index(pages: Pages, fields: dict[str, object]) -> None:
    pages.damage(b"records", lambda content: with_fields(content, **fields))
    assert pages.carry()[1] >= {*URLS[1:]}
    pages.use()


# What is derived from the records


@pytest.mark.parametrize("name", [b"tables", b"numbers"], ids=bytes.decode)
def test_a_flipped_bit_in_derived_data_is_reported_and_costs_no_record(pages: Pages, name: bytes) -> None:
    size = 8 * len(next(iter(pages.sound[name].values())))
    for bit in range(0, size, 7):
        pages.damage(name, partial(flip, bit=bit))
        assert find_problems(pages.store, FILING), bit
        assert pages.carry()[1] == {*URLS}
        pages.use()


# Anything else


def changed_bytes(source: random.Random, content: bytes) -> bytes:
    """Return bytes in the place of *content*: a number that is too large, of another length, or no number at all."""
    return source.choice(
        [
            b"\xff" * len(content),
            b"\xff" * (len(content) + 1),
            b"\0" * len(content),
            source.randbytes(len(content)),
            source.randbytes(source.randrange(1, 20)),
            content[: source.randrange(len(content))] or b"\1",
            content + source.randbytes(source.choice([1, 4, 8])),
            msgspec.msgpack.encode([source.choice([-1, 1 << 40, (1 << 64) - 1, "a"]) for _ in range(4)]),
        ]
    )


@pytest.mark.parametrize("name", DATABASES, ids=bytes.decode)
def test_any_content_of_an_index_is_read_or_reported_and_costs_no_other_record(pages: Pages, name: bytes) -> None:
    source = random.Random(name)
    for _ in range(25):
        key, content = source.choice([*pages.sound[name].items()])
        if source.random() < 0.5:
            pages.put(name, changed_bytes(source, key), content)
        else:
            pages.put(name, key, changed_bytes(source, content))
        lost = {*URLS} - pages.carry()[1]
        assert len(lost) <= (name == b"records")
        pages.use()


def test_a_record_with_the_last_possible_number_is_reported_as_damage(pages: Pages) -> None:
    (_, content) = next(iter(pages.sound[b"records"].items()))
    pages.put(b"records", b"\xff" * 5, content)
    new = pages.deduplicator.sign("http://c.org/", article("c").encode())
    with pytest.raises(IndexDamaged):
        pages.deduplicator.decide([new])


def test_a_run_that_cannot_be_read_may_have_lost_its_pages(pages: Pages) -> None:
    (decision,) = pages.deduplicator.submit(pages.copies[:1]).result()
    assert decision.verdict == "duplicate"
    run = msgspec.msgpack.encode([-5, "x"])
    number = pages.deduplicator.run.to_bytes(4, "big")
    pages.put(b"runs", number, run)
    assert "1 runs cannot be read." in find_problems(pages.store, FILING)
    assert [decision.verdict for decision in pages.deduplicator.decide(pages.copies)] == ["duplicate"] * 3  # it lives
    assert pages.carry()[1] == {*URLS}
    pages.deduplicator._run.release()
    assert pages.carry()[1] == set()
    with Deduplicator.open(pages.store.directory, CONFIG) as later:
        assert [decision.verdict for decision in later.decide(pages.copies)] == ["new"] * 3
