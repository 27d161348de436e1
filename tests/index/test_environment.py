import errno
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path, PureWindowsPath
from textwrap import dedent
from types import SimpleNamespace
from typing import Any, cast

import lmdb
import pytest

from crawler_dedup import IndexGone, IndexMismatch, IndexUnusable, Verdict
from crawler_dedup.index.header import FORMAT
from crawler_dedup.index.lmdb import committer as committer_module
from crawler_dedup.index.lmdb.committer import Committer
from crawler_dedup.index.lmdb.compaction import compact
from crawler_dedup.index.lmdb.index import DirectoryIndex
from crawler_dedup.index.lmdb.locks import refuse_network
from crawler_dedup.inspection.verification import find_problems
from tests.support import processes
from tests.support.crawling import article
from tests.support.disks import fill_up
from tests.support.indexing import SPEC, ByDistance, number_of, open_store, page, run, running_program, uniform
from tests.support.mounts import mountinfo
from tests.support.users import as_root

PAGE = 4096


def held(directory: Path) -> set[int]:
    """Return the numbers of all pages of a sound index."""
    with closing(open_store(directory)) as store:
        assert find_problems(store, ByDistance()) == []
        return {number_of(record.page) for record in store.records()}


def filled(directory: Path, size: int = 300) -> set[int]:
    """File *size* pages, and return their numbers."""
    with closing(open_store(directory)) as store:
        pages = [page(number, signature) for number, signature in enumerate(uniform(1, size))]
        store.offer(pages, ByDistance(0)).result()
    return set(range(size))


# What is refused


_LIMITED = """
    import resource, sys
    from pathlib import Path
    from crawler_dedup import Config, Deduplicator
    from crawler_dedup.index.opening import open_to_write

    directory = sys.argv[1]
    Deduplicator.open(f"{directory}/large", Config(tokenizer="bigrams")).close()
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    try:
        Deduplicator.open(f"{directory}/new", Config(tokenizer="bigrams"))
    except Exception as error:
        print(error)
    Deduplicator.open(f"{directory}/new", Config(tokenizer="bigrams", map_size=1 << 30)).close()
    open_to_write(Path(f"{directory}/large")).close()  # as commands do, which have no such setting
    print("usable")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the limit has no effect")
def test_a_limit_of_address_space_is_named_with_the_setting_that_helps(tmp_path: Path) -> None:
    done = processes.run(["-c", dedent(_LIMITED), str(tmp_path)], fresh=True)
    refusal, usable = done.stdout.splitlines()
    for part in ("Cannot allocate memory", "DEDUP_MAP_SIZE", "`ulimit -v`"):
        assert part in refusal
    assert usable == "usable"


_OPEN_AS_FIRST_PROCESS = """
    import os, sys
    from crawler_dedup import Config, Deduplicator

    assert os.getpid() == 1
    try:
        with Deduplicator.open(sys.argv[1], Config(tokenizer="bigrams")):
            print("open", flush=True)
            input()
    except Exception as error:
        print(error, flush=True)
"""


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="needs namespaces of Linux")
def test_two_containers_whose_processes_have_the_same_number_are_told_what_to_do(tmp_path: Path) -> None:
    started = [sys.executable, "-c", dedent(_OPEN_AS_FIRST_PROCESS), str(tmp_path)]
    program = ["unshare", "--pid", "--fork", "--kill-child", *started]
    with subprocess.Popen(
        program, cwd=processes.ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as first:
        assert first.stdin is not None
        assert first.stdout is not None
        if first.stdout.readline() != "open\n":
            pytest.skip("this machine allows no namespaces")
        second = subprocess.run(program, cwd=processes.ROOT, capture_output=True, text=True, check=False)
        first.stdin.write("\n")
    assert "--pid=host" in second.stdout, second.stderr
    assert "DEDUP_INDEX" in second.stdout


def test_another_configuration_is_refused_with_the_differences(tmp_path: Path) -> None:
    other = {"scheme": "other"}
    for opening in (partial(open_store, spec=other), partial(DirectoryIndex.attach, spec=other, readonly=True)):
        open_store(tmp_path).close()
        with pytest.raises(IndexMismatch, match="scheme: made with 'test', now 'other'") as caught:
            opening(tmp_path)
        assert "DEDUP_FRESH" in str(caught.value)


@pytest.mark.parametrize("noted", [{"jieba": "0.1"}, {"opencc": "1.1"}, {}], ids=["other", "only there", "only here"])
def test_another_version_of_a_library_that_both_sides_record_only_causes_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, noted: dict[str, str]
) -> None:
    DirectoryIndex.open(tmp_path, SPEC, noted, map_size=1 << 30, fresh=False).close()
    DirectoryIndex.open(tmp_path, SPEC, {"jieba": "0.2"}, map_size=1 << 30, fresh=False).close()
    assert ("jieba 0.1, this process has 0.2" in caplog.text) == (noted == {"jieba": "0.1"}) == bool(caplog.records)


Mounted = Callable[..., None]


@pytest.fixture
def mounted(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Mounted:
    """Let the system report these mounts, each with a directory and a type."""
    if sys.platform != "linux":
        pytest.skip("mounts are read from /proc on Linux only")

    def mount(*mounts: tuple[str | Path, str]) -> None:
        file = tmp_path_factory.mktemp("proc") / "mountinfo"
        file.write_text(mountinfo((str(point), kind) for point, kind in mounts), encoding="utf-8")
        monkeypatch.setattr("crawler_dedup.index.lmdb.locks._MOUNTINFO", file)

    return mount


@pytest.mark.parametrize(("kind", "below"), [("nfs4", "."), ("fuse.sshfs", "not/there/yet"), ("NFS", ".")])
def test_a_network_file_system_is_refused_with_the_reason(
    tmp_path: Path, mounted: Mounted, kind: str, below: str
) -> None:
    mounted(("/", "ext4"), (tmp_path, kind))
    with pytest.raises(IndexUnusable, match="is on a network file system") as caught:
        open_store(tmp_path / below)
    assert f"({kind} at {tmp_path})" in str(caught.value)
    assert "DEDUP_DIR" in str(caught.value)
    assert list(tmp_path.iterdir()) == []
    link = tmp_path.with_name(f"{tmp_path.name} link")
    link.symlink_to(tmp_path / below)
    with pytest.raises(IndexUnusable, match="is on a network file system"):
        open_store(link)


def test_a_mapped_network_drive_and_a_share_without_a_drive_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class OnWindows:
        def __init__(self, path: str) -> None:
            self.path = path

        def resolve(self) -> PureWindowsPath:
            return PureWindowsPath(self.path)

    kernel = SimpleNamespace(GetDriveTypeW=lambda root: {"C:\\": 3, "Z:\\": 4}[root])
    monkeypatch.setattr("ctypes.windll", SimpleNamespace(kernel32=kernel), raising=False)
    monkeypatch.setattr("sys.platform", "win32")
    refuse_network(cast(Path, OnWindows(r"C:\crawl\index")))
    with pytest.raises(IndexUnusable, match=r"network file system \(remote at Z:\)"):
        refuse_network(cast(Path, OnWindows(r"Z:\crawl\index")))
    for path in (r"\\host\share\crawl\index", r"\\?\UNC\host\share\index"):
        with pytest.raises(IndexUnusable, match="network file system"):
            refuse_network(cast(Path, OnWindows(path)))


def test_an_index_is_opened_if_mounts_are_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crawler_dedup.index.lmdb.locks._MOUNTINFO", tmp_path / "nowhere")
    open_store(tmp_path / "index").close()


@as_root
def test_a_directory_of_another_user_is_refused(tmp_path: Path) -> None:
    with_modes = {"closed": 0o700, "read-only": 0o755}
    for name, mode in with_modes.items():
        filled(tmp_path / name, 10)
        (tmp_path / name).chmod(mode)
    for folder in (tmp_path, tmp_path.parent, tmp_path.parent.parent):  # pytest's own, closed to others
        folder.chmod(folder.stat().st_mode | 0o055)
    for name in with_modes:
        status, output, errors = run(
            """
            import os, sys
            from pathlib import Path
            from crawler_dedup import IndexUnusable
            from tests.support.indexing import open_store

            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            try:
                open_store(Path(sys.argv[1]))
            except IndexUnusable as error:
                print(error)
            """,
            tmp_path / name,
        )
        assert (status, errors) == (0, "")
        assert output.startswith(f"The index in {tmp_path / name} cannot be opened: ")
        assert "ermission denied" in output


def write_header(directory: Path, header: object) -> None:
    """Write a header with LMDB alone."""
    directory.mkdir(exist_ok=True)
    with lmdb.open(str(directory), max_dbs=8) as env:
        meta = env.open_db(b"meta")
        with env.begin(write=True, db=meta) as txn:
            txn.put(b"header", header if isinstance(header, bytes) else json.dumps(header).encode())


@pytest.mark.parametrize("format", [FORMAT - 1, 99])
def test_an_index_of_another_format_is_refused_with_both_formats(tmp_path: Path, format: int) -> None:
    both = f"format: made with '{format}', now '{FORMAT}'"
    write_header(tmp_path, {"format": format, "spec": SPEC, "libraries": {}})
    with pytest.raises(IndexMismatch, match=both):
        open_store(tmp_path)
    before = (tmp_path / "data.mdb").read_bytes()
    (tmp_path / "compacting").mkdir()
    with pytest.raises(IndexUnusable, match=f"{format}, this version has {FORMAT}: use the version that made it"):
        compact(tmp_path)
    assert (tmp_path / "data.mdb").read_bytes() == before
    assert (tmp_path / "compacting").exists()
    open_store(tmp_path, fresh=True).close()
    open_store(tmp_path).close()


def write_file(directory: Path) -> None:
    (directory / "data.mdb").write_bytes(b"not lmdb" * 1000)


def writing_foreign(database_name: bytes | None) -> Callable[[Path], None]:
    """Write the database of another application, perhaps under a name of the index's own."""

    def write(directory: Path) -> None:
        with lmdb.open(str(directory), max_dbs=8) as env:
            database = env.open_db(database_name)
            with env.begin(write=True, db=database) as txn:
                for number in range(300):
                    txn.put(f"user {number}".encode(), b"somebody")

    return write


NO_UTF_8 = b'{"format": 2, "spec": {"scheme": "\xff"}, "libraries": {}}'
OTHERS: list[Callable[[Path], None]] = [write_file, *map(writing_foreign, (b"users", None, b"meta"))]
DAMAGED = [partial(write_header, header=header) for header in (b"", b"[]", b'{"format": "x"}', NO_UTF_8)]


@pytest.mark.parametrize("write", [*OTHERS, *DAMAGED])
def test_a_file_that_is_no_sound_index_is_refused_and_not_changed(
    tmp_path: Path, write: Callable[[Path], None]
) -> None:
    write(tmp_path)
    before = (tmp_path / "data.mdb").read_bytes()
    openings: list[Callable[[Path], object]] = [open_store, DirectoryIndex.attach, compact]
    openings += [] if write in DAMAGED else [partial(open_store, fresh=True)]
    for opening in openings:
        with pytest.raises(IndexUnusable, match=str(tmp_path)) as caught:
            opening(tmp_path)
        assert write not in DAMAGED or "is damaged" in str(caught.value)
        assert (tmp_path / "data.mdb").read_bytes() == before
    with pytest.raises(IndexUnusable, match="index"):
        open_store(tmp_path / "data.mdb" / "index")


# Other file systems


@pytest.mark.parametrize("code", [errno.EOPNOTSUPP, errno.EBADF, errno.EINVAL, errno.ENOSYS, errno.ENODEV])
def test_an_index_opens_where_space_cannot_be_reserved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "posix_fallocate", refuse, raising=False)
    for _ in range(2):
        filled(tmp_path, 100)
    monkeypatch.delattr(os, "posix_fallocate")
    assert held(tmp_path) == filled(tmp_path, 100)


# A cut off power


def test_each_commit_is_synchronised_and_writes_over_no_page_in_use(tmp_path: Path) -> None:
    """In other modes of LMDB, a power cut undoes many commits, or damages the file."""
    with closing(open_store(tmp_path)) as store:
        modes = store.environment._lmdb.flags()
    assert (modes["sync"], modes["writemap"], modes["map_async"]) == (True, False, False)


# A full disk


def test_pages_offered_to_a_full_disk_get_an_error_and_no_answer(small_disk: Path) -> None:
    (small_disk / "else").write_bytes(bytes(3 << 20))
    store = open_store(small_disk / "index")
    filed = 0
    error: BaseException | None = None
    for number, signature in enumerate(uniform(1, 100_000)):
        offer = store.offer([page(number, signature)], ByDistance(0))
        error = offer.exception()
        if error:
            break
        assert offer.result()[0].verdict is Verdict.NEW
        filed += 1
    assert isinstance(error, IndexUnusable)
    assert "the disk is full" in str(error)
    assert len(store) == filed > 100
    known = store.offer([page(-1, uniform(1, 1)[0])], ByDistance(0)).result()[0]
    assert (known.verdict, known.duplicate_of) == (Verdict.DUPLICATE, "http://example.com/0")
    store.close()
    store = open_store(small_disk / "index")
    assert find_problems(store, ByDistance()) == []
    assert len(store) == filed
    store.close()


def test_a_new_index_on_a_full_disk_is_refused(small_disk: Path) -> None:
    fill_up(small_disk)
    with pytest.raises(IndexUnusable, match="No space left on device"):
        open_store(small_disk / "index")


# Readers

_READ = """
    import sys
    from pathlib import Path
    from tests.support.indexing import open_store

    store = open_store(Path(sys.argv[1]))
    with store.environment.read() as txn:
        print("reading", flush=True)
        input()
"""
_HOLD = """
    import sys
    from pathlib import Path
    from tests.support.indexing import open_store

    store = open_store(Path(sys.argv[1]))
    print("open", flush=True)
    input()
"""


def reading(store: DirectoryIndex) -> list[int]:
    """Return the processes with a slot in the table of readers."""
    lines = store.environment._lmdb.readers().splitlines()[1:]
    return [int(line.split()[0]) for line in lines]


def test_opening_clears_the_slot_of_a_killed_reader(tmp_path: Path) -> None:
    filled(tmp_path, 100)
    with running_program(_HOLD, tmp_path):
        with running_program(_READ, tmp_path) as reader:
            with closing(open_store(tmp_path)) as store:
                assert reader.pid in reading(store)
            reader.kill()
            reader.wait()
        with closing(open_store(tmp_path)) as store:
            assert reader.pid not in reading(store)


def test_an_index_that_is_open_for_long_clears_the_slot_of_a_killed_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(committer_module, "_READERS_INTERVAL", 0.0)
    with closing(open_store(tmp_path)) as store:
        with running_program(_READ, tmp_path) as reader:
            assert reader.pid in reading(store)
            reader.kill()
            reader.wait()
        for number in (1, 2):  # then the first one's clearing is done
            store.offer([page(number, number)], ByDistance()).result()
        assert reader.pid not in reading(store)


# Compaction


def test_compaction_frees_space_and_loses_nothing(tmp_path: Path) -> None:
    everything = filled(tmp_path, 1000)
    kept = {number for number in everything if number % 10 == 0}
    with closing(open_store(tmp_path)) as store:
        store.forget(lambda record: number_of(record.page) not in kept, ByDistance())
    before, after = compact(tmp_path)
    assert after < before / 2
    assert (tmp_path / "data.mdb").stat().st_size == after
    assert not (tmp_path / "compacting").exists()
    assert held(tmp_path) == kept
    filled(tmp_path, 1000)
    assert held(tmp_path) == everything


def test_compaction_is_refused_while_another_process_has_the_index_open(tmp_path: Path) -> None:
    everything = filled(tmp_path)
    file = (tmp_path / "data.mdb").read_bytes()
    with running_program(_HOLD, tmp_path) as holder:
        with pytest.raises(IndexUnusable, match="open in another process"):
            compact(tmp_path)
        assert (tmp_path / "data.mdb").read_bytes() == file
        assert held(tmp_path) == everything  # others may open the index
        with closing(open_store(tmp_path)), pytest.raises(IndexUnusable, match="or elsewhere in this one"):
            compact(tmp_path)
        holder.kill()
        holder.wait()
        compact(tmp_path)  # its lock has gone with it
    assert held(tmp_path) == everything


def test_the_remains_of_a_killed_compaction_do_no_harm(tmp_path: Path) -> None:
    everything = filled(tmp_path)
    remains = tmp_path / "compacting"
    remains.mkdir()
    (remains / "data.mdb").write_bytes((tmp_path / "data.mdb").read_bytes()[: 5 * PAGE])
    assert held(tmp_path) == everything
    assert not remains.exists()
    remains.mkdir()
    (remains / "data.mdb").write_bytes(b"half")
    compact(tmp_path)
    assert not remains.exists()
    assert held(tmp_path) == everything


def test_a_compaction_that_fails_does_not_change_the_index(small_disk: Path) -> None:
    everything = filled(small_disk / "index", 1000)
    fill_up(small_disk)
    with pytest.raises(IndexUnusable, match="cannot be compacted"):
        compact(small_disk / "index")
    assert not (small_disk / "index" / "compacting").exists()
    assert held(small_disk / "index") == everything


def test_compaction_keeps_the_rights_of_the_file(tmp_path: Path) -> None:
    everything = filled(tmp_path)
    file = tmp_path / "data.mdb"
    if os.geteuid() == 0:
        os.chown(file, 12345, 54321)
    for mode in (0o664, 0o600):
        file.chmod(mode)
        before = file.stat()
        compact(tmp_path)
        after = file.stat()
        assert (after.st_mode & 0o777, after.st_uid, after.st_gid) == (mode, before.st_uid, before.st_gid)
        assert after.st_ino != before.st_ino
    assert held(tmp_path) == everything


# Forks

_FORK = """
    import gc, os, signal, sys, threading, traceback
    from pathlib import Path
    from crawler_dedup import Config, Deduplicator, IndexUnusable
    from crawler_dedup.inspection.verification import find_problems
    from tests.support.indexing import FILING, ByDistance, open_store, page

    pages = Deduplicator.open(sys.argv[1], Config(tokenizer="bigrams"))
    first, second = (pages.sign(url, text.encode()) for url, text in zip("ab", sys.argv[2:]))
    (decision,) = pages.decide([first])
    calls = {
        "decide": lambda: pages.decide([second]),
        "offer": lambda: pages.submit([second]),
        "settle": lambda: pages.settle(decision),
        "length": lambda: len(pages),
        "forget": lambda: pages.index.forget(lambda _: True, FILING),
        "records": lambda: [*pages.index.records()],
        "opening": lambda: Deduplicator.open(sys.argv[1], Config(tokenizer="bigrams")),
    }
    busy, ended = open_store(Path(sys.argv[1], "busy")), threading.Event()

    def file():
        while not ended.is_set():
            busy.offer([page(number, number << 32) for number in range(100)], ByDistance()).result()

    thread = threading.Thread(target=file)
    thread.start()
    while len(busy) == 0:
        pass
    child = os.fork()  # during a transaction of this index
    if not child:
        signal.alarm(10)
        try:
            busy.close()
            del busy
            gc.collect()
            for name, call in calls.items():
                try:
                    print(name, call(), file=sys.stderr, flush=True)
                except IndexUnusable as error:
                    assert name != "opening" or "is open in the parent process" in str(error), error
            pages.close()
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    ended.set()
    thread.join()
    busy.close()
    assert pages.decide([first, second])[0].verdict == "unchanged" and len(pages) == 2
    assert find_problems(pages.index, FILING) == []
    pages.close()
    sys.exit(status)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_forked_child_cannot_use_the_open_index_of_its_parent_and_does_no_harm(tmp_path: Path) -> None:
    assert run(_FORK, tmp_path, article("a"), article("b"), fresh=True) == (0, "", "")


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


def test_all_waiting_jobs_share_one_transaction(env: lmdb.Environment) -> None:
    committer = Committer(env)
    with env.begin(write=True):  # as another process would, for a while
        futures = [committer.submit(put(str(number).encode())) for number in range(50)]
    assert [future.result() for future in futures] == [str(number).encode() for number in range(50)]
    transactions = env.info()["last_txnid"]
    # One for each half at the most: jobs may come after the thread has asked for the lock, but not after it has it.
    assert transactions <= 2
    assert committer.close(10)


def test_the_last_commit_is_on_disk_when_the_thread_has_ended(env: lmdb.Environment) -> None:
    synced = []

    class Recording:
        def __getattr__(self, name: str) -> Any:
            return getattr(env, name)

        def sync(self, force: bool) -> None:
            env.sync(force)
            synced.append((force, env.info()["last_txnid"]))

    committer = Committer(Recording())  # type: ignore[arg-type]
    committer.submit(put(b"a")).result()
    assert committer.close(10)
    assert synced == [(True, 1)]


def test_withdrawn_jobs_are_not_kept_while_a_disk_hangs(env: lmdb.Environment) -> None:
    committer, hangs, continues = Committer(env), threading.Event(), threading.Event()

    def hang(txn: lmdb.Transaction) -> None:
        hangs.set()
        continues.wait()

    hanging = committer.submit(hang)
    hangs.wait()
    wanted = [committer.submit(put(str(number).encode())) for number in range(100)]  # is done nevertheless
    for number in range(20_000):
        committer.submit(put(f"withdrawn {number}".encode())).cancel()
    assert len(committer._waiting) < 2_000
    continues.set()
    hanging.result()
    assert [future.result() for future in wanted] == [str(number).encode() for number in range(100)]
    assert env.stat()["entries"] == 100
    assert committer.close(10)


def broken(txn: lmdb.Transaction) -> None:
    raise lmdb.Error("broken")


def test_jobs_are_answered_even_if_their_error_cannot_be_explained(env: lmdb.Environment) -> None:
    def explain(error: Exception) -> Exception:
        raise OSError("the directory is gone") from error

    committer = Committer(env, explain)
    with pytest.raises(lmdb.Error, match="broken"):
        committer.submit(broken).result(10)
    assert committer.submit(put(b"a")).result(10) == b"a"
    assert committer.close(10)


def test_an_index_whose_directory_is_removed_accepts_nothing_more_and_reports_it(tmp_path: Path) -> None:
    with closing(open_store(tmp_path / "index")) as store:
        shutil.rmtree(tmp_path / "index")
        for number in range(3):
            assert isinstance(store.environment.submit(broken).exception(10), IndexGone)
            assert isinstance(store.offer([page(number, 5)], ByDistance()).exception(10), IndexGone)
            with pytest.raises(IndexGone, match="was deleted"):
                store.preview(page(number, 5), ByDistance())


@pytest.mark.parametrize("error", [OSError("gone"), PermissionError("not yours")], ids=repr)
def test_an_error_while_looking_for_a_cause_does_not_end_the_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def refuse(*_: object) -> None:
        raise error

    monkeypatch.setattr(shutil, "disk_usage", refuse)
    with closing(open_store(tmp_path)) as store:
        for number in range(3):
            assert store.environment.submit(broken).exception(10) is not None
            assert store.offer([page(number, number << 32)], ByDistance()).exception(10) is None


def test_a_locked_index_can_be_closed(env: lmdb.Environment) -> None:
    committer = Committer(env)
    with env.begin(write=True):
        late = committer.submit(put(b"a"))
        assert not committer.close(0.01)
        with pytest.raises(IndexUnusable, match="closed"):
            committer.submit(put(b"b"))
    assert late.result() == b"a"
