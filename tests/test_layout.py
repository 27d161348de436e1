"""The root of the repository has no other files, and tests share code in tests/support only."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
_ROOT = """
.ci .gitignore .pre-commit-config.yaml CHANGELOG.md CONTRIBUTING.md LICENSE README.md SECURITY.md
benchmarks crawler_dedup docs noxfile.py pyproject.toml scrapy.cfg settings spiders tests
"""
"""The tracked files and folders in the root of the repository."""
_IN_A_PROGRAM = re.compile(
    r"^\s*(?:from|import) (?:tests\.(?!support\b)|tests import(?! support\b)|benchmarks\b)", re.MULTILINE
)
"""An import in the text of a program that a test runs."""


def test_the_root_of_the_repository_has_no_other_files() -> None:
    git = shutil.which("git")
    if git is None or not (TESTS.parent / ".git").exists():
        pytest.skip("no checkout with git")
    tracked = subprocess.run([git, "ls-files", "-z"], cwd=TESTS.parent, capture_output=True, text=True, check=True)
    assert {path.partition("/")[0] for path in tracked.stdout.split("\0") if path} == set(_ROOT.split())


@pytest.mark.parametrize(
    "file", sorted({*TESTS.rglob("*.py")} - {Path(__file__)}), ids=lambda file: file.relative_to(TESTS).as_posix()
)
def test_a_test_file_imports_only_from_support(file: Path) -> None:
    assert list(forbidden_imports(file.read_text(encoding="utf-8"))) == []


def forbidden_imports(source: str) -> Iterator[str]:
    """Yield the imports of modules of the tests outside of tests/support, and of the benchmarks."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ImportFrom(level=level) if level:
                yield ast.unparse(node)
            case ast.ImportFrom(module="tests", names=names):
                yield from (name.name for name in names if not _is_allowed(f"tests.{name.name}"))
            case ast.ImportFrom(module=str(module)):
                yield from [module] * (not _is_allowed(module))
            case ast.Import(names=names):
                yield from (name.name for name in names if not _is_allowed(name.name))
            case ast.Call(
                func=ast.Name(id=function) | ast.Attribute(attr=function), args=[ast.Constant(str(name)), *_]
            ):
                if function in ("import_module", "__import__", "importorskip"):
                    yield from [name] * (name.startswith(".") or not _is_allowed(name))
            case ast.Constant(str(text)):
                yield from _IN_A_PROGRAM.findall(text)


def _is_allowed(module: str) -> bool:
    package, *parts = module.split(".")
    return package not in ("tests", "benchmarks") or (package == "tests" and parts[:1] == ["support"])


@pytest.mark.parametrize(
    "line",
    [
        "from tests.index.test_store import batch",
        "from tests import support, index",
        "from . import test_store",
        "import tests.index.test_store as stored",
        "import os, benchmarks",
        "from benchmarks import data",
        "import_module('tests.index.test_store')",
        "importlib.import_module('.test_store', 'tests.index')",
        "PROGRAM = '''\nimport os\n    from tests.index.test_store import batch\n'''",
        "PROGRAM = f'''\nimport {os}\nimport benchmarks.data\n'''",
    ],
)
def test_an_import_of_another_test_file_is_detected(line: str) -> None:
    assert list(forbidden_imports(f"import os\n{line}\n"))
    indented = line.replace("\n", "\n    ")
    assert list(forbidden_imports(f"def function():\n    {indented}\n"))


@pytest.mark.parametrize(
    "line", ["from tests.support import peak", "import os, benchmarks_of_others", "import_module(name)"]
)
def test_an_import_from_support_is_allowed(line: str) -> None:
    assert list(forbidden_imports(f"import os\n{line}\nPROGRAM = 'from tests.support.walker import main'\n")) == []
