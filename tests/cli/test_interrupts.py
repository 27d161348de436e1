"""Ctrl-C ends long work with a line and exit status 130, and leaves nothing behind."""

import os
import shutil
import signal
from contextlib import closing
from pathlib import Path

import pytest

from crawler_dedup.index.lmdb.index import DirectoryIndex
from crawler_dedup.inspection.verification import find_problems
from crawler_dedup.signing.lookup import lookup_of
from tests.support import processes
from tests.support.indexing import first_line

BIGRAMS = ("-s", "DEDUP_TOKENIZER=bigrams")
# Work stops when its progress is reported, until it is interrupted.
HELD = """
import sys, time
from contextlib import contextmanager
from crawler_dedup.cli import app, terminal

@contextmanager
def progress_bars():
    def advance(_):
        print("working", flush=True)
        time.sleep(60)
    yield lambda label, total: advance

original = terminal.progress_bars
for module in [*sys.modules.values()]:
    if getattr(module, "progress_bars", None) is original:
        module.progress_bars = progress_bars
app(sys.argv[1:])
"""


@pytest.mark.parametrize(
    "call",
    [
        "index compact index",
        "index export new index",
        "index import export index",
        "index import export new",
        "forget index --host a.org",
        "forget index --last --export urls.txt",
        "why http://a.org/1 index",
        "report index",
        "lexicon build labelled/html",
        "evaluate labelled --jobs 2",
    ],
)
def test_interrupted_work_leaves_nothing_behind(made: Path, tmp_path: Path, call: str) -> None:
    folder = shutil.copytree(made, tmp_path / "folder")
    before = files(folder)
    words = call.split()
    arguments = [*words, *BIGRAMS] if words[0] in ("lexicon", "evaluate") else words
    work = processes.start(["-c", HELD, *arguments], cwd=folder, start_new_session=True)
    assert first_line(work) == "working"
    os.killpg(work.pid, signal.SIGINT)  # as a terminal does: also to the processes that it has started
    assert work.communicate(timeout=60)[1] == "\nInterrupted.\n"
    assert work.returncode == 130
    assert files(folder) - before <= {Path("new"), Path("new/data.mdb"), Path("new/lock.mdb"), Path("new/users.lock")}
    for index in folder.glob("*/data.mdb"):
        with closing(DirectoryIndex.attach(index.parent)) as store:
            assert find_problems(store, lookup_of(store.header.spec)) == []


def test_an_interrupted_verification_ends_its_process_too(made: Path, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import sys, time\n"
        "if '--multiprocessing-fork' in sys.argv:\n"
        "    from crawler_dedup.inspection import verification\n"
        "    def find_problems(index, filing, advance):\n"
        "        print('working', flush=True)\n"
        "        while True:\n"
        "            advance(1)\n"
        "            time.sleep(0.01)\n"
        "    verification.find_problems = find_problems\n",
        encoding="utf-8",
    )
    path = os.pathsep.join([str(tmp_path), str(processes.ROOT)])
    work = processes.start(
        ["-m", "crawler_dedup", "index", "verify", str(made / "index")],
        env={**os.environ, "PYTHONPATH": path},
        start_new_session=True,
    )
    assert first_line(work) == "working"
    os.killpg(work.pid, signal.SIGINT)
    # Both outputs end when every process that has them open has ended.
    assert work.communicate(timeout=30)[1] == "\nInterrupted.\n"
    assert work.returncode == 130


def files(folder: Path) -> set[Path]:
    return {path.relative_to(folder) for path in folder.rglob("*")}
