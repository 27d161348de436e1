"""The scheme of one's own in docs/examples works with the entry point that docs/reference/schemes.md shows."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.crawling import words

DOCS = Path(__file__).parents[2] / "docs"

PAGE = "<html><head><title>{title}</title></head><body><p>{text}</p></body></html>"
WORDS = " ".join(words("openings", 200))


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """Return a directory with the module and with the metadata of its entry point, as pip would install them."""
    document = (DOCS / "reference" / "schemes.md").read_text(encoding="utf-8")
    (entry_point,) = re.findall(r'\[project\.entry-points\."(.+?)"\]\n(\w+) = "(.+?)"', document)
    group, name, target = entry_point
    shutil.copy(DOCS / "examples" / "openings.py", tmp_path)
    metadata = tmp_path / "openings-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: openings\nVersion: 1\n", encoding="utf-8")
    (metadata / "entry_points.txt").write_text(f"[{group}]\n{name} = {target}\n", encoding="utf-8")
    return tmp_path


def run(installed: Path, code: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(installed), *sys.path])}
    return subprocess.run(
        [sys.executable, "-c", code], env=env, cwd=installed, capture_output=True, text=True, timeout=120, check=False
    )


def test_the_documented_scheme_finds_texts_that_begin_alike(installed: Path) -> None:
    longer = " ".join([*words("openings", 199), "another"])
    unlike = "something " + WORDS
    code = f"""
from crawler_dedup import Config, Deduplicator
page = {PAGE!r}
with Deduplicator.open("index", Config(scheme="openings first=50", compare="signatures")) as index:
    for number, text in enumerate({[WORDS, longer, unlike]!r}):
        decision = index.check(f"http://example.com/{{number}}", page.format(title="t", text=text).encode())
        print(decision.verdict, decision.duplicate_of)
"""
    done = run(installed, code)
    assert done.stdout.splitlines() == ["new ", "duplicate http://example.com/0", "new "], done.stderr
