from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import lmdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from crawler_dedup import IndexMismatch, IndexUnusable, Match, SignedPage, Verdict
from crawler_dedup import environment as environment_module
from crawler_dedup.committer import Committer
from crawler_dedup.hamming import SignatureMatch, distance
from crawler_dedup.schemes import SimHash
from crawler_dedup.store import MAX_REPRESENTATIVES, Store

SPEC = {"scheme": "test"}


class ByDistance:
    """The plainest judge: what is within the distance is a duplicate."""

    def __init__(self, max_distance: int = 3) -> None:
        self.max_distance = max_distance
        self.scheme = SimHash()

    def unfit(self, page: SignedPage) -> str:
        return page.unsigned

    def keys(self, signature: int) -> list[int]:
        return self.scheme.keys(signature)

    def probes(self, signature: int) -> list[int]:
        return self.scheme.probes(signature, self.max_distance)

    def near(self, signature: int, filed: NDArray[np.uint64]) -> list[SignatureMatch]:
        return self.scheme.near(signature, filed, self.max_distance)

    def compare(self, new: SignedPage, kept: SignedPage) -> Match | None:
        apart = distance(new.signature, kept.signature)
        return Match("near", apart, 1, 1) if apart <= self.max_distance else None


class Never(ByDistance):
    def compare(self, new: SignedPage, kept: SignedPage) -> Match | None:
        return None


def open_store(directory: Path, *, fresh: bool = False, spec: dict[str, str] | None = None) -> Store:
    return Store.open(directory, spec or SPEC, {}, map_size=1 << 30, fresh=fresh)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path)
    yield opened
    opened.close()


def page(number: int, signature: int, scope: str = "") -> SignedPage:
    return SignedPage(key=str(number), url=f"http://example.com/{number}", scope=scope, signature=signature)


def clusters(seed: int, size: int) -> list[int]:
    """Uniform signatures, neighbours of earlier ones at distances 0 to 9, and a spike."""
    source = random.Random(seed)
    found: list[int] = []
    while len(found) < size:
        kind = source.random()
        if kind < 0.4 or not found:
            found.append(source.getrandbits(64))
        elif kind < 0.95:
            near = source.choice(found)
            for bit in source.sample(range(64), source.randint(0, 9)):
                near ^= 1 << bit
            found.append(near)
        else:
            found.append(0xABCDEF0123456789)
    return found


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 7), st.integers(1, 120))
def test_every_representative_within_the_distance_is_found(seed: int, max_distance: int, reopen_at: int) -> None:
    kept: list[int] = []
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(Path(folder))
        for number, signature in enumerate(clusters(seed, 120)):
            if number == reopen_at:
                store.close()
                store = open_store(Path(folder))
            verdict = store.offer([page(number, signature)], ByDistance(max_distance)).result()[0].verdict
            covered = any(distance(signature, one) <= max_distance for one in kept)
            assert verdict is (Verdict.DUPLICATE if covered else Verdict.NEW)
            if not covered:
                kept.append(signature)
        assert len(store) == len(kept)
        store.close()


def test_the_nearest_page_is_named_first(store: Store) -> None:
    store.offer([page(1, 0), page(2, 0b11111 << 20)], ByDistance(3)).result()
    decision = store.offer([page(3, 0b1111 << 20)], ByDistance(5)).result()[0]
    assert decision.duplicate_of == "http://example.com/2"
    assert decision.match is not None
    assert decision.match.distance == 1


def test_pages_of_one_batch_are_compared_with_each_other(store: Store) -> None:
    verdicts = [one.verdict for one in store.offer([page(n, 5) for n in range(12)], ByDistance()).result()]
    assert verdicts == [Verdict.NEW] + [Verdict.DUPLICATE] * 11


def test_scopes_do_not_see_each_other(store: Store) -> None:
    for scope in ("a", "b", "ab"):
        assert store.offer([page(1, 5, scope)], ByDistance()).result()[0].verdict is Verdict.NEW
        assert store.offer([page(2, 5, scope)], ByDistance()).result()[0].verdict is Verdict.DUPLICATE


def test_a_page_is_never_a_duplicate_of_its_own_record(store: Store) -> None:
    for verdict in (Verdict.NEW, Verdict.UNCHANGED, Verdict.UNCHANGED):
        assert store.offer([page(1, 5)], ByDistance()).result()[0].verdict is verdict
    assert len(store) == 1


def test_a_changed_page_takes_its_old_signature_out_of_the_index(store: Store) -> None:
    store.offer([page(1, 0)], ByDistance()).result()
    assert store.offer([page(1, 2**64 - 1)], ByDistance()).result()[0].verdict is Verdict.CHANGED
    assert store.offer([page(2, 0)], ByDistance()).result()[0].verdict is Verdict.NEW
    assert store.offer([page(3, 2**64 - 1)], ByDistance()).result()[0].duplicate_of == "http://example.com/1"
    assert len(store) == 2


def test_a_signature_stays_while_another_page_stands_on_it(store: Store) -> None:
    store.offer([page(1, 5), page(2, 5)], Never()).result()
    assert store.release("", "1", ByDistance()).result()
    assert store.offer([page(3, 5)], ByDistance()).result()[0].duplicate_of == "http://example.com/2"
    assert store.release("", "2", ByDistance()).result()
    assert store.offer([page(4, 5)], ByDistance()).result()[0].verdict is Verdict.NEW


def test_a_released_page_stands_for_nothing_and_settling_needs_a_record(store: Store) -> None:
    store.offer([page(1, 5)], ByDistance()).result()
    assert store.settle("", "1", ByDistance()).result()
    assert store.release("", "1", ByDistance()).result()
    assert not store.release("", "1", ByDistance()).result()
    assert not store.settle("", "1", ByDistance()).result()
    assert store.offer([page(2, 5)], ByDistance()).result()[0].verdict is Verdict.NEW


def test_a_spike_is_bounded(store: Store) -> None:
    many = MAX_REPRESENTATIVES + 10
    decisions = store.offer([page(number, 5) for number in range(many)], Never()).result()
    assert all(decision.verdict is Verdict.NEW for decision in decisions)
    compared: list[str] = []

    class Counting(ByDistance):
        def compare(self, new: SignedPage, kept: SignedPage) -> Match | None:
            compared.append(kept.key)
            return None

    store.offer([page(many, 5)], Counting()).result()
    assert len(compared) == MAX_REPRESENTATIVES
    assert store.offer([page(many - 1, 5)], ByDistance()).result()[0].verdict is Verdict.UNCHANGED


def test_an_unfit_page_is_not_filed(store: Store) -> None:
    decision = store.offer([SignedPage("1", "u", "", unsigned="too many bytes")], ByDistance()).result()[0]
    assert (decision.verdict, decision.reason) == (Verdict.UNCHECKED, "too many bytes")
    assert len(store) == 0


def test_two_openings_in_one_process_share_the_index(tmp_path: Path) -> None:
    one, other = open_store(tmp_path), open_store(tmp_path / ".." / tmp_path.name)
    one.offer([page(1, 5)], ByDistance()).result()
    one.close()
    assert other.offer([page(2, 5)], ByDistance()).result()[0].verdict is Verdict.DUPLICATE
    other.close()


def test_fresh_empties_also_an_index_of_another_configuration(tmp_path: Path) -> None:
    first = open_store(tmp_path)
    first.offer([page(1, 5)], ByDistance()).result()
    first.close()
    again = open_store(tmp_path, fresh=True, spec={"scheme": "other"})
    assert len(again) == 0
    assert again.offer([page(2, 5)], ByDistance()).result()[0].verdict is Verdict.NEW
    again.close()
    with pytest.raises(IndexMismatch):
        open_store(tmp_path)


def test_an_index_that_another_process_empties_for_another_configuration_is_not_mixed(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.offer([page(1, 5)], ByDistance()).result()
    other = (
        "from tests.test_store import *; open_store(Path(sys.argv[1]), fresh=True, spec={'scheme': 'other'}).close()"
    )
    subprocess.run([sys.executable, "-c", other, str(tmp_path)], cwd=Path(__file__).parents[1], check=True)
    with pytest.raises(IndexUnusable, match="emptied for another configuration"):
        store.offer([page(2, 6)], ByDistance()).result()
    store.close()


def test_an_index_that_another_process_locks_is_refused_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_store(tmp_path).close()
    monkeypatch.setattr(environment_module, "_OPEN_TIMEOUT", 0.2)
    monkeypatch.setattr(environment_module, "_CLOSE_TIMEOUT", 0.2)
    hold = "import lmdb, sys; t = lmdb.open(sys.argv[1], max_dbs=8).begin(write=True); print(1, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", hold, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline()
        with pytest.raises(IndexUnusable, match="locked by another process"):
            open_store(tmp_path)
        holder.communicate("\n")


def test_a_forked_child_is_refused_instead_of_hanging(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.offer([page(1, 5)], ByDistance()).result()
    child = os.fork()
    if not child:
        try:
            open_store(tmp_path)
        except IndexUnusable:
            os._exit(0)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert store.offer([page(3, 5)], ByDistance()).result()[0].verdict is Verdict.DUPLICATE
    store.close()


def test_another_configuration_is_refused_with_what_differs(tmp_path: Path) -> None:
    open_store(tmp_path).close()
    with pytest.raises(IndexMismatch, match="scheme: index has 'test' / you have 'other'") as caught:
        open_store(tmp_path, spec={"scheme": "other"})
    assert "DEDUP_FRESH" in str(caught.value)
    open_store(tmp_path).close()


def test_other_library_versions_are_only_warned_about(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    Store.open(tmp_path, SPEC, {"jieba": "0.1"}, map_size=1 << 30, fresh=False).close()
    Store.open(tmp_path, SPEC, {"jieba": "0.2"}, map_size=1 << 30, fresh=False).close()
    assert "made with jieba 0.1, this is 0.2" in caplog.text


@pytest.mark.parametrize("content", [b"", b"not lmdb" * 1000])
def test_a_file_that_is_no_index_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "data.mdb").write_bytes(content)
    if content:
        with pytest.raises(IndexUnusable, match=str(tmp_path)):
            open_store(tmp_path)
    else:  # an empty file is a new index
        open_store(tmp_path).close()


def test_a_directory_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(IndexUnusable, match="file/index"):
        open_store(tmp_path / "file" / "index")


def test_a_full_map_fails_the_offer_and_keeps_what_was_filed(tmp_path: Path) -> None:
    store = Store.open(tmp_path, SPEC, {}, map_size=1 << 20, fresh=False)
    source = random.Random(1)
    offers = (store.offer([page(number, source.getrandbits(64))], ByDistance(0)) for number in range(100_000))
    errors = (offer.exception() for offer in offers)
    filed, error = next((number, error) for number, error in enumerate(errors) if error)
    assert isinstance(error, IndexUnusable)
    assert "is full: its map has 1048576 bytes (DEDUP_MAP_SIZE)" in str(error)
    assert len(store) == filed > 100
    store.close()


# Processes

_FILER = textwrap.dedent(
    """
    import sys
    from pathlib import Path
    from tests.test_store import ByDistance, open_store, page, clusters
    directory, process, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    store = open_store(directory)
    import random
    pages = [page(number * 10 + process, signature) for number, signature in enumerate(clusters(1, count))]
    random.Random(process).shuffle(pages)
    print("ready", flush=True)
    sys.stdin.readline()
    for one in pages:
        decision = store.offer([one], ByDistance(0)).result()[0]
        print(decision.verdict, one.signature, flush=True)
    store.close()
    """
)


def filer(directory: Path, process: int, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _FILER, str(directory), str(process), str(count)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[1],
    )


def test_two_processes_keep_each_content_exactly_once(tmp_path: Path) -> None:
    count = 400
    processes = [filer(tmp_path, number, count) for number in (1, 2)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    answers: list[list[str]] = [[], []]
    threads = [
        threading.Thread(
            target=lambda one=one, process=process: one.extend(process.communicate("go\n")[0].splitlines())
        )
        for one, process in zip(answers, processes, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = [line.split()[1] for lines in answers for line in lines if line.startswith("new")]
    assert len(answers[0]) == len(answers[1]) == count
    assert sorted(kept) == sorted({str(signature) for signature in clusters(1, count)})


@pytest.mark.parametrize("lines", [1, 50, 333])
def test_what_was_answered_survives_kill_9(tmp_path: Path, lines: int) -> None:
    process = filer(tmp_path, 1, 5000)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("go\n")
    process.stdin.flush()
    assert process.stdout.readline() == "ready\n"
    answered = [process.stdout.readline().split() for _ in range(lines)]
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    store = open_store(tmp_path)
    for number, (verdict, signature) in enumerate(answered):
        assert verdict in ("new", "duplicate")
        assert not store.offer([page(-number, int(signature))], ByDistance(0)).result()[0].passes
    store.close()


# The writing thread


@pytest.fixture
def env(tmp_path: Path) -> Iterator[lmdb.Environment]:
    with lmdb.open(str(tmp_path / "env")) as opened:
        yield opened


def put(name: bytes) -> Callable[[lmdb.Transaction], bytes]:
    def job(txn: lmdb.Transaction) -> bytes:
        txn.put(name, b"1")
        return name

    return job


def fail(txn: lmdb.Transaction) -> None:
    txn.put(b"half", b"done")
    raise ValueError("bad job")


def test_all_that_waits_shares_one_transaction(env: lmdb.Environment) -> None:
    committer = Committer(env)
    with env.begin(write=True):  # as another process would, for a while
        futures = [committer.submit(put(str(number).encode())) for number in range(50)]
    assert [future.result() for future in futures] == [str(number).encode() for number in range(50)]
    transactions = env.info()["last_txnid"]
    # One for each half at the most: jobs may come after the thread has asked for the lock, but not after it has it.
    assert transactions <= 2
    assert committer.close(10)


def test_a_bad_job_fails_alone_and_leaves_nothing(env: lmdb.Environment) -> None:
    committer = Committer(env)
    with env.begin(write=True):
        before, bad, after = committer.submit(put(b"a")), committer.submit(fail), committer.submit(put(b"b"))
    assert (before.result(), after.result()) == (b"a", b"b")
    with pytest.raises(ValueError, match="bad job"):
        bad.result()
    with env.begin() as txn:
        assert [key for key, _ in txn.cursor()] == [b"a", b"b"]
    assert committer.close(10)


def test_a_job_withdrawn_in_time_is_not_done(env: lmdb.Environment) -> None:
    committer = Committer(env)
    with env.begin(write=True):
        withdrawn, other = committer.submit(put(b"a")), committer.submit(put(b"b"))
        assert withdrawn.cancel()
    assert other.result() == b"b"
    with env.begin() as txn:
        assert txn.get(b"a") is None
    assert committer.close(10)


def test_a_locked_index_does_not_keep_it_from_closing(env: lmdb.Environment) -> None:
    committer = Committer(env)
    with env.begin(write=True):
        late = committer.submit(put(b"a"))
        assert not committer.close(0.01)
        with pytest.raises(RuntimeError, match="closed"):
            committer.submit(put(b"b"))
    assert late.result() == b"a"
