"""The rights of the files of an index, whatever the umask is; and several users at once."""

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawler_dedup import Config, Deduplicator
from crawler_dedup.index.lmdb import compaction
from crawler_dedup.journal.writer import JournalWriter
from crawler_dedup.system import files
from crawler_dedup.warc.writer import append_whole
from tests.support.crawling import article
from tests.support.indexing import run, running_program
from tests.support.users import NOBODY, as_root, as_two_users

pytestmark = pytest.mark.skipif(os.name != "posix", reason="Windows has other rights")

USER = """
import os, sys, tempfile
from pathlib import Path
from crawler_dedup import Config, Deduplicator
from tests.support.crawling import article

directory, user, umask, *seeds = sys.argv[1:]
config = Config(tokenizer="bigrams")
with tempfile.TemporaryDirectory() as scratch, Deduplicator.open(Path(scratch), config) as deduplicator:
    deduplicator.check("http://a.org/", article("before").encode())  # loads what another user may not be able to
if int(user):
    os.setgroups([])
    os.setgid(int(user))
    os.setuid(int(user))
os.umask(int(umask, 8))
with Deduplicator.open(Path(directory), config) as deduplicator:
    for seed in seeds:
        print(deduplicator.check(f"http://{user}/{seed}", article(seed, frame=user).encode()).verdict, flush=True)
    if "WAIT" in os.environ:
        sys.stdin.readline()
        print(deduplicator.check(f"http://{user}/later", article("later").encode()).verdict, flush=True)
"""


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def modes(directory: Path) -> dict[str, int]:
    return {path.name: mode_of(path) for path in directory.iterdir()}


@pytest.fixture
def shared() -> Iterator[Path]:
    """Yield a directory that another user can reach."""
    above = Path(tempfile.mkdtemp())
    above.chmod(0o755)
    directory = above / "index"
    directory.mkdir()
    yield directory
    shutil.rmtree(above)


@pytest.fixture(params=[0o000, 0o077], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def use(directory: Path) -> dict[str, int]:
    """Make all files of an index in *directory*; their modes, while a run is open."""
    with Deduplicator.open(directory, Config(tokenizer="bigrams")) as deduplicator:
        deduplicator.check("http://a.org/1", article("1").encode())
        journal = JournalWriter(directory / "journal.jsonl")
        journal.close()
        append_whole(directory / "dropped.warc.gz", b"")
        modes_before = modes(directory)
    compaction.compact(directory)
    assert modes(directory)["data.mdb"] == modes_before["data.mdb"]
    return {name if not name.startswith("run-") else "run": mode for name, mode in modes_before.items()}


RECORDS = {"journal.jsonl", "dropped.warc.gz"}
FILES = {"data.mdb", "lock.mdb", "users.lock", "run", *RECORDS}


@pytest.mark.parametrize(
    ("mode", "wanted", "of_records"),
    [(None, 0o600, 0o600), (0o755, 0o644, 0o600), (0o2750, 0o640, 0o600), (0o770, 0o660, 0o660), (0o777, 0o666, 0o660)],
)
def test_files_have_the_rights_of_their_directory_but_records_of_pages_only_those_of_a_group_that_may_write_there(
    tmp_path: Path, umask: int, mode: int | None, wanted: int, of_records: int
) -> None:
    directory = tmp_path / "above" / "index"
    if mode is not None:
        directory.mkdir(parents=True)
        directory.chmod(mode)
    assert use(directory) == dict.fromkeys(FILES, wanted) | dict.fromkeys(RECORDS, of_records)
    assert mode_of(directory) == (mode or 0o700)


def test_rights_that_somebody_has_changed_stay(tmp_path: Path) -> None:
    directory = tmp_path / "index"
    directory.mkdir(mode=0o755)
    directory.chmod(0o755)
    use(directory)
    for name in FILES - {"run"}:
        (directory / name).chmod(0o604)
    use(directory)
    assert {name: mode for name, mode in modes(directory).items() if not name.startswith("run-")} == dict.fromkeys(
        FILES - {"run"}, 0o604
    )


def test_folders_of_the_journal_have_the_rights_of_their_parent(tmp_path: Path, umask: int) -> None:
    directory = tmp_path / "index"
    directory.mkdir()
    directory.chmod(0o2770)
    JournalWriter(directory / "notes" / "of" / "journal.jsonl").close()
    assert {mode_of(directory / "notes"), mode_of(directory / "notes" / "of")} == {0o2770}
    assert mode_of(directory / "notes" / "of" / "journal.jsonl") == 0o660


@as_root
def test_files_have_the_group_of_the_directory(tmp_path: Path) -> None:
    directory = tmp_path / "index"
    directory.mkdir()
    os.chown(directory, -1, NOBODY)
    directory.chmod(0o770)
    use(directory)
    assert {path.stat().st_gid for path in directory.iterdir()} == {NOBODY}
    assert set(modes(directory).values()) == {0o660}


@as_two_users
def test_files_of_another_group_are_not_accessible_to_our_group(shared: Path) -> None:
    shared.chmod(0o777)  # of root's group
    assert run(USER, shared, NOBODY, "0", "a")[:2] == (0, "new\n")
    assert {path.stat().st_gid for path in shared.iterdir()} == {NOBODY}
    assert set(modes(shared).values()) == {0o606}


@as_two_users
@pytest.mark.parametrize(("first", "umask"), [(0, "077"), (NOBODY, "0")])
def test_several_users_share_an_index_in_a_directory_that_they_share(
    shared: Path, first: int, umask: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.chown(shared, -1, NOBODY)
    shared.chmod(0o2770)
    second = NOBODY - first
    with monkeypatch.context() as patch:
        patch.setenv("WAIT", "1")
        waiting = running_program(USER, shared, first, umask, "a")
        with waiting as process:
            patch.delenv("WAIT")
            assert run(USER, shared, second, umask, "a", "b")[:2] == (0, "duplicate\nnew\n")
            output, errors = process.communicate("go on\n")
            assert (output, errors) == ("new\n", "")
    assert run(USER, shared, first, umask, "b", "later")[:2] == (0, "duplicate\nunchanged\n")
    assert set(modes(shared).values()) == {0o660}


# A preview by a user who may only read

PREVIEW = """
import os, sys
from pathlib import Path
from crawler_dedup import Config, DedupError
from crawler_dedup.worker.preview import preview
from crawler_dedup.signing.signer import Signer
from tests.support.crawling import article

signer = Signer(Config(tokenizer="bigrams"))
page = signer.sign("http://copy/", article("a", frame="copy").encode(), encoding=None, key=None, scope="global")[0]
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
try:
    print(preview(Path(sys.argv[1]), signer, page).verdict)
except DedupError as error:
    print(error)
"""


@as_two_users
def test_an_index_that_a_user_may_only_read_is_read_while_unused(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared.chmod(0o755)
    monkeypatch.setenv("WAIT", "1")
    with running_program(USER, shared, 0, "0", "a") as process:
        (status, output, errors) = run(PREVIEW, shared)
        assert (status, errors) == (0, "")
        assert (
            f"{shared} is open in another process, and its lock file {shared / 'lock.mdb'} is missing or may" in output
        )
        assert output.endswith("Read it after that process has ended, or as the user root.\n")
        assert process.communicate("go on\n") == ("new\n", "")
    before = {path.name: path.read_bytes() for path in shared.iterdir()}
    assert run(PREVIEW, shared) == (0, "duplicate\n", "")
    assert {path.name: path.read_bytes() for path in shared.iterdir()} == before


@as_two_users
def test_an_index_that_a_user_may_not_read_is_reported_in_a_sentence(shared: Path) -> None:
    shared.chmod(0o700)
    assert run(USER, shared, 0, "0", "a")[:2] == (0, "new\n")
    shared.chmod(0o711)
    status, output, errors = run(PREVIEW, shared)
    assert (status, errors) == (0, "")
    assert output.startswith(f"The index in {shared} cannot be opened: [Errno 13] Permission denied")


# A run of another user


def lock_file(directory: Path) -> Path:
    """Return the lock file of a run of root, which nobody else may open."""
    left = directory / "run-00c0ffee.lock"
    left.touch(mode=0o600)
    left.chmod(0o600)
    return left


@as_two_users
def test_a_run_of_another_user_whose_lock_cannot_be_read_is_an_error_at_the_start(shared: Path) -> None:
    shared.chmod(0o777)
    assert run(USER, shared, NOBODY, "0", "a")[:2] == (0, "new\n")
    left = lock_file(shared)
    status, output, errors = run(USER, shared, NOBODY, "0", "b")
    assert (status, output) == (1, "")
    sentence = errors.splitlines()[-1]
    assert sentence.startswith("crawler_dedup.errors.IndexUnusable: The lock file ")
    assert f"{left} of another run, which belongs to the user root, cannot be opened" in sentence
    assert "remove the file if that run has ended" in sentence
    assert left.exists()
    left.unlink()
    assert run(USER, shared, NOBODY, "0", "a", "b")[:2] == (0, "unchanged\nnew\n")


@as_two_users
def test_during_a_run_such_a_lock_file_counts_as_a_living_run(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared.chmod(0o777)
    monkeypatch.setenv("WAIT", "1")
    with running_program(USER, shared, NOBODY, "0", "a") as process:
        left = lock_file(shared)
        assert process.communicate("go on\n") == ("new\n", "")
    assert process.returncode == 0
    assert left.exists()


def test_the_owner_of_a_file_is_named_or_called_another_user(tmp_path: Path) -> None:
    assert files.owner_of(tmp_path / "gone") == "another user"
    assert files.owner_of(tmp_path).startswith("the user ")
