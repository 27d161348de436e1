"""The knowledge of an index about sites: from which pages, in which transaction, and until when."""

from collections.abc import Iterable
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path
from typing import Any

import lmdb
import msgspec
import pytest
from xxhash import xxh3_64_intdigest

from crawler_dedup import Config, Decision, Deduplicator, SignedPage, Verdict
from crawler_dedup.errors import ExportUnreadable, IndexDamaged, IndexMismatch
from crawler_dedup.index import opening, runs
from crawler_dedup.index.decider import RunContext
from crawler_dedup.index.index import Index
from crawler_dedup.index.layout import COUNTS, SITES, SNAPSHOTS, RowTable
from crawler_dedup.index.limits import MAX_SNAPSHOTS
from crawler_dedup.index.lmdb.index import DirectoryIndex
from crawler_dedup.index.profiles import Snapshot
from crawler_dedup.inspection import transfer
from crawler_dedup.inspection.transfer import Export, write_export
from crawler_dedup.rules.counts import SiteCounts, can_read
from crawler_dedup.rules.limits import MIN_PAGES
from crawler_dedup.rules.sites import decode_profile, trim
from crawler_dedup.system.callbacks import ignore_progress
from tests.support.crawling import article
from tests.support.indexing import FILING, ByDistance, open_store
from tests.support.signedpages import block, hash_of
from tests.support.verification import verify

FURNITURE = 7


def page(number: int, signature: int | None = None, *, host: str = "h", scope: str = "") -> SignedPage:
    """Return a page that is like no page of another signature, with a block of its own and one of the site."""
    url = f"http://{host}/{number}"
    signature = xxh3_64_intdigest(url.encode()) if signature is None else signature
    blocks = block(FURNITURE) + block(1000 + number)
    return SignedPage(url, url, scope, title=f"Story {number}", signature=signature, blocks=blocks)


def offer(store: Index, *pages: SignedPage) -> list[Decision]:
    return store.offer(pages, ByDistance()).result()


def count_pages(store: Index, count: int, *, first: int = 1, host: str = "h") -> None:
    for number in range(first, first + count):
        assert offer(store, page(number, host=host))[0].verdict is Verdict.NEW


def known(store: Index, url: str = "http://h/", scope: str = "") -> int:
    """Return the number of the latest snapshot."""
    return store.latest_snapshot(scope, url).number


Rows = dict[tuple[RowTable, bytes], bytes]


def rows(store: DirectoryIndex) -> Rows:
    """Return the stored rows of all sites."""
    with store._read() as txn:
        return {
            (table, name): bytes(content)
            for table in (SITES, COUNTS, SNAPSHOTS)
            for name, content in txn._storage.scan(table)
        }


@pytest.fixture
def store(tmp_path: Path) -> Iterable[DirectoryIndex]:
    opened = open_store(tmp_path)
    yield opened
    opened.close()


# What teaches


def test_a_site_is_known_by_its_first_snapshot_after_eight_pages(backend: Index) -> None:
    count_pages(backend, MIN_PAGES - 1)
    assert known(backend) == 0
    count_pages(backend, 1, first=MIN_PAGES)
    assert known(backend) == MIN_PAGES
    assert decode_profile(backend.latest_snapshot("", "https://www.h/x").content).furniture == {hash_of(FURNITURE)}
    assert known(backend, "http://other/") == known(backend, scope="other") == 0


def test_a_decision_records_the_snapshots_that_were_used(backend: Index) -> None:
    count_pages(backend, MIN_PAGES)
    assert [offer(backend, page(100))[0].snapshot, offer(backend, page(100, 5, host="other"))[0].snapshot] == [8, 0]
    copy = offer(backend, page(101, 5))[0]
    assert (copy.verdict, copy.snapshot, copy.kept_snapshot) == (Verdict.DUPLICATE, 8, 0)
    copy = offer(backend, page(102, page(1).signature, host="third"))[0]
    assert (copy.verdict, copy.snapshot, copy.kept_snapshot) == (Verdict.DUPLICATE, 0, 8)


def test_pages_of_one_batch_are_decided_with_the_earlier_ones_counted(backend: Index) -> None:
    decisions = offer(backend, *map(page, range(1, 18)))
    assert [decision.snapshot for decision in decisions] == [0] * 8 + [8] * 8 + [16]


def test_dropped_unchanged_and_unchecked_pages_teach_nothing(backend: Index) -> None:
    count_pages(backend, MIN_PAGES - 1)
    unsigned = msgspec.structs.replace(page(200), unsigned="too little text")
    decisions = offer(backend, page(1), page(100, page(1).signature), unsigned)
    assert [decision.verdict for decision in decisions] == ["unchanged", "duplicate", "unchecked"]
    assert known(backend) == 0
    assert offer(backend, page(1, 5))[0].verdict is Verdict.CHANGED
    assert known(backend) == MIN_PAGES


def test_a_site_whose_only_page_changes_stays_known(backend: Index) -> None:
    count_pages(backend, MIN_PAGES)
    forgotten = backend.forget(lambda record: record.page.url != page(1).url, FILING)
    assert forgotten == MIN_PAGES - 1
    (decision,) = offer(backend, page(1, 5))
    assert decision.verdict is Verdict.CHANGED
    assert [(site.pages_counted, site.number) for site in backend.sites()] == [(MIN_PAGES + 1, MIN_PAGES)]


def test_the_only_page_of_a_site_is_not_counted_twice(backend: Index) -> None:
    for number in range(2 * MIN_PAGES):
        (decision,) = offer(backend, page(1, 0xFFFF << 3 * number))
        assert decision.verdict is (Verdict.CHANGED if number else Verdict.NEW)
    assert [site.pages_counted for site in backend.sites()] == [1]
    count_pages(backend, MIN_PAGES - 1, first=100)
    assert known(backend) == MIN_PAGES


def test_a_page_with_a_claim_teaches_once_it_is_settled(backend: Index) -> None:
    lock = backend.begin_run()
    claims = iter(range(1, 100))
    context = RunContext(lock.number, next_claim=lambda: next(claims))
    matcher = ByDistance()
    decisions = backend.offer([page(number) for number in range(1, MIN_PAGES + 2)], matcher, context).result()
    assert known(backend) == 0
    first, last, *rest = decisions
    backend.end_claim(first, matcher, context, settled=False).result()
    ended = [
        backend.end_claim(decision, matcher, context, settled=True) for decision in (*rest[:-1], last, last, *rest[:-1])
    ]
    assert [future.result() for future in ended] == [True] * (2 * MIN_PAGES - 2)
    assert known(backend) == 0
    backend.end_claim(rest[-1], matcher, context, settled=True).result()
    assert known(backend) == MIN_PAGES
    lock.release()


def test_all_blocks_and_links_of_a_page_are_kept_until_it_is_settled(tmp_path: Path) -> None:
    with Deduplicator.open(tmp_path, Config(tokenizer="bigrams")) as deduplicator:
        signed = deduplicator.sign("http://h/1", article(1, links="/a /b /c".split()).encode())
        decision = deduplicator.submit([signed], claim=True).result()[0]
        store = DirectoryIndex.attach(tmp_path)
        (record,) = store.records()
        assert (record.page.blocks, record.page.links) == (signed.blocks, signed.links)
        assert signed.blocks
        deduplicator.settle(decision)
        (record,) = store.records()
        assert (record.page.blocks, record.page.links) == (trim(signed).blocks, b"")
        store.close()


# Snapshots


def test_the_latest_sixteen_snapshots_are_kept_unchanged(backend: Index) -> None:
    published: dict[int, Snapshot] = {}
    for number in range(1, 32 * (MAX_SNAPSHOTS + 4) + 1):
        offer(backend, page(number))
        snapshot = backend.latest_snapshot("", "http://h/")
        published[snapshot.number] = snapshot
    kept = {number: backend.find_snapshot("", "http://h/", number, runs.wall_clock()) for number in published}
    latest = sorted(published)[-MAX_SNAPSHOTS:]
    assert kept == {number: published[number] if number in latest or not number else None for number in published}


def test_a_snapshot_with_an_unknown_number_or_from_before_the_site_was_known_is_not_found(backend: Index) -> None:
    count_pages(backend, MIN_PAGES)
    now = runs.wall_clock()
    assert backend.find_snapshot("", "http://h/", 9, now) is None
    assert backend.find_snapshot("", "http://h/", 8, now + 1)
    assert backend.find_snapshot("", "http://h/", 8, now - 1000) is None
    assert backend.find_snapshot("", "http://other/", 8, now) is None


# Removal


def test_a_profile_is_removed_with_the_last_record_of_its_site(store: DirectoryIndex) -> None:
    count_pages(store, MIN_PAGES + 2)
    count_pages(store, 1, first=100, host="other")
    assert store.forget(lambda record: record.page.url != "http://h/1", FILING) == MIN_PAGES + 2
    assert known(store) == MIN_PAGES
    store.forget(lambda _: True, FILING)
    assert known(store) == 0
    assert rows(store) == {}


def test_an_emptied_index_knows_no_site(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    count_pages(store, MIN_PAGES)
    store.close()
    store = open_store(tmp_path, fresh=True)
    assert known(store) == 0
    count_pages(store, MIN_PAGES)  # the same number, of other pages
    store.close()


# Transactions


def submit_together(store: DirectoryIndex, *jobs: Any) -> list[Future[Any]]:
    """Let *jobs* share a transaction: they wait while another one runs."""
    futures: list[Future[Any]] = []

    def first(_: lmdb.Transaction) -> None:
        futures.extend(job() for job in jobs)

    store.environment.write(first)
    return futures


def test_a_job_that_fails_changes_nothing_and_the_snapshots_of_its_transaction_are_made_anew(
    store: DirectoryIndex,
) -> None:
    count_pages(store, MIN_PAGES - 2)
    matcher = ByDistance()

    def fail(txn: lmdb.Transaction) -> None:
        assert txn.put(b"half", b"done", db=store.environment.meta)
        raise ZeroDivisionError

    counting, failing, asking = submit_together(
        store,
        lambda: store.offer([page(100), page(101)], matcher),
        lambda: store.environment.submit(fail),
        lambda: store.offer([page(102)], matcher),
    )
    assert isinstance(failing.exception(), ZeroDivisionError)
    with store.environment.read() as txn:
        assert txn.get(b"half", db=store.environment.meta) is None
    assert [decision.snapshot for decision in (*counting.result(), *asking.result())] == [0, 0, 8]
    counts = SiteCounts()
    for number in (*range(1, MIN_PAGES - 1), 100, 101, 102):
        counts.add(page(number))
    (site,) = store.sites()
    assert (site.pages_counted, site.counts) == (MIN_PAGES + 1, counts.encode())


# Damage


def damage(store: DirectoryIndex, table: RowTable) -> None:
    """Change the last bit of a row of the only site."""
    ((name, content),) = ((name, content) for (stored_in, name), content in rows(store).items() if stored_in == table)
    wrong = content[:-1] + bytes([content[-1] ^ 1])
    store._write(lambda txn: txn._storage.write(table, name, wrong))


def test_a_damaged_snapshot_is_detected(store: DirectoryIndex) -> None:
    count_pages(store, MIN_PAGES)
    damage(store, SNAPSHOTS)
    with pytest.raises(IndexDamaged, match="profile of a site is damaged"):
        offer(store, page(100))
    assert offer(store, page(100, host="other"))[0].verdict is Verdict.NEW
    assert verify(store, FILING) == ["1 profiles of sites cannot be read."]


@pytest.mark.parametrize("table", [SITES, COUNTS, SNAPSHOTS])
def test_the_pages_of_a_site_whose_profile_is_damaged_can_be_forgotten(store: DirectoryIndex, table: RowTable) -> None:
    count_pages(store, MIN_PAGES)
    damage(store, table)
    count_pages(store, 2, host="other")
    assert store.forget(lambda record: record.page.url == "http://h/1", FILING) == 1
    assert store.forget(lambda record: "other" not in record.page.url, FILING) == MIN_PAGES - 1
    assert len(store) == 2
    assert verify(store, FILING) == []


# Export and import


def carry(store: DirectoryIndex, directory: Path) -> tuple[int, int]:
    file = directory.with_suffix(".export")
    transfer.export_index(store, file, ignore_progress)
    return transfer.import_index(
        Export(file), directory, lambda _: FILING, ignore_progress, ignore_progress, is_readable=lambda _: True
    )


def test_profiles_are_exported_and_imported_with_the_pages_of_their_sites(
    store: DirectoryIndex, tmp_path: Path
) -> None:
    count_pages(store, 2 * MIN_PAGES + 1)
    count_pages(store, 3, host="other")
    carry(store, tmp_path / "copy")
    copy = open_store(tmp_path / "copy")
    assert rows(copy) == rows(store)
    assert verify(copy, FILING) == []
    assert offer(copy, page(100)) == offer(store, page(100))
    copy.close()


def test_of_two_profiles_of_a_site_the_one_counted_on_more_pages_is_kept(store: DirectoryIndex, tmp_path: Path) -> None:
    count_pages(store, MIN_PAGES)
    count_pages(store, MIN_PAGES, host="other")
    directory = tmp_path / "target"
    target = open_store(directory)
    count_pages(target, 2 * MIN_PAGES, first=100)
    count_pages(target, 1, first=100, host="other")
    known_before = target.latest_snapshot("", "http://h/")
    assert carry(store, directory) == (2 * MIN_PAGES, 2 * MIN_PAGES)
    assert target.latest_snapshot("", "http://h/") == known_before
    assert target.latest_snapshot("", "http://other/") == store.latest_snapshot("", "http://other/")
    assert verify(target, FILING) == []
    target.close()


def test_a_snapshot_that_an_import_has_replaced_is_not_found_by_its_number(
    store: DirectoryIndex, tmp_path: Path
) -> None:
    """The number that a local journal names belongs to another snapshot now."""
    count_pages(store, 2 * MIN_PAGES)
    target = open_store(tmp_path / "target")
    count_pages(target, MIN_PAGES, first=100)
    moment = runs.wall_clock() + 0.99
    assert target.find_snapshot("", "http://h/", MIN_PAGES, moment)
    carry(store, tmp_path / "target")
    assert target.find_snapshot("", "http://h/", MIN_PAGES, moment) is None
    assert target.find_snapshot("", "http://h/", MIN_PAGES, runs.wall_clock() + 2)
    target.close()


def test_sites_are_imported_also_without_pages(store: DirectoryIndex, tmp_path: Path) -> None:
    count_pages(store, MIN_PAGES)
    file = tmp_path / "file"
    write_export(file, store.header, [], store.sites())
    transfer.import_index(Export(file), tmp_path / "target", lambda _: FILING, ignore_progress, ignore_progress)
    target = open_store(tmp_path / "target")
    assert rows(target) == rows(store)
    target.close()


@pytest.mark.parametrize("part", ["counts", "snapshots", "pages_counted", "number"])
def test_an_export_with_damaged_sites_changes_nothing(store: DirectoryIndex, tmp_path: Path, part: str) -> None:
    count_pages(store, MIN_PAGES)
    (site,) = store.sites()
    damage: dict[str, Any] = {
        "counts": {"counts": site.counts[:-1]},
        "snapshots": {"snapshots": [(8, b"\x91")]},
        "number": {"number": 7},
    }
    damaged = msgspec.structs.replace(site, **damage.get(part, {"pages_counted": 7}))
    file = tmp_path / "file"
    write_export(file, store.header, [], [damaged])
    with pytest.raises(ExportUnreadable, match="the profile of a site is damaged"):
        transfer.import_index(
            Export(file), tmp_path / "target", lambda _: FILING, ignore_progress, ignore_progress, is_readable=can_read
        )
    assert not (tmp_path / "target").exists()


def test_an_export_that_fails_among_the_sites_ends_its_reading_transaction(
    store: DirectoryIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The transaction has ended when the error is handled, so that the index can be closed."""
    count_pages(store, MIN_PAGES)
    values: list[bytes] = []

    def fail(_: object, value: bytes) -> None:
        if b"" in values:  # sites follow
            raise ZeroDivisionError
        values.append(value)

    monkeypatch.setattr(transfer, "_write", fail)
    with pytest.raises(ZeroDivisionError) as raised:
        transfer.export_index(store, tmp_path / "file", ignore_progress)
    assert raised.tb
    assert {line.split()[-1] for line in store.environment._lmdb.readers().splitlines()[1:]} <= {"-"}


# Profiles that stay as they are


@pytest.fixture
def profiles(tmp_path: Path) -> Path:
    """Return an export of an index that knows the site ``http://h`` by eight pages."""
    with Deduplicator.open(tmp_path / "known", Config(tokenizer="bigrams")) as known:
        for number in range(MIN_PAGES):
            assert known.check(f"http://h/{number}", article(number).encode()).snapshot == 0
    with closing(opening.open_index(tmp_path / "known")) as pages:
        write_export(tmp_path / "profiles.dedup", pages.header, [], pages.sites())
    return tmp_path / "profiles.dedup"


def test_pages_are_decided_by_given_profiles_and_nothing_is_learned(tmp_path: Path, profiles: Path) -> None:
    directory = tmp_path / "index"
    with Deduplicator.open(directory, Config(tokenizer="bigrams"), profiles=profiles) as deduplicator:
        for number in range(2 * MIN_PAGES):
            assert deduplicator.check(f"http://h/{number}", article(f"x {number}").encode()).snapshot == MIN_PAGES
            assert deduplicator.check(f"http://i/{number}", article(f"y {number}").encode()).snapshot == 0
        (claimed,) = deduplicator.submit([deduplicator.sign("http://h/c", article("c").encode())], claim=True).result()
        assert deduplicator.settle(claimed)
    with Deduplicator.open(directory, Config(tokenizer="bigrams")) as deduplicator:
        assert deduplicator.check("http://h/last", article("last").encode()).snapshot == 0


def test_profiles_of_another_configuration_are_refused(tmp_path: Path, profiles: Path) -> None:
    with pytest.raises(IndexMismatch, match="min features"):
        Deduplicator.open(tmp_path / "index", Config(tokenizer="bigrams", min_features=30), profiles=profiles)
    assert not (tmp_path / "index").exists()


def test_an_index_is_opened_with_the_tokenizer_of_given_profiles(tmp_path: Path, profiles: Path) -> None:
    with Deduplicator.open(tmp_path / "index", Config(tokenizer="auto"), profiles=profiles) as deduplicator:
        assert deduplicator.config.tokenizer == "bigrams"
