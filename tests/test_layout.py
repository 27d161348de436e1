"""The root of the repository has no other files, and tests share code in tests/support only."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
_ROOT = """
.ci .gitignore .pre-commit-config.yaml CHANGELOG.md CITATION.cff CONTRIBUTING.md LICENSE README.md SECURITY.md
benchmarks crawler_dedup docs noxfile.py pyproject.toml scrapy.cfg settings spiders tests
"""
"""The tracked files and folders in the root of the repository."""
_FOREIGN = re.compile(
    r"^\s*(?:from|import) (?:.*, )?(?:\.|tests\.(?!support\b)|tests import (?!support\b)|benchmarks\b)", re.MULTILINE
)
"""An import that a test file may not have, also in the text of a program that it runs."""


def test_the_root_of_the_repository_has_no_other_files() -> None:
    git = shutil.which("git")
    if git is None or not (TESTS.parent / ".git").exists():
        pytest.skip("no checkout with git")
    tracked = subprocess.run([git, "ls-files", "-z"], cwd=TESTS.parent, capture_output=True, text=True, check=True)
    assert {path.partition("/")[0] for path in tracked.stdout.split("\0") if path} == set(_ROOT.split())


def test_tests_import_only_from_support() -> None:
    for file in {*TESTS.rglob("*.py")} - {Path(__file__)}:
        assert _FOREIGN.findall(file.read_text(encoding="utf-8")) == [], file
