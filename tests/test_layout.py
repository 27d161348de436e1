"""What tests share stands in tests/support."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
FORBIDDEN = re.compile(
    r"^\s*(?:from|import) (?:tests\.(?!support\b)|tests import(?! support\b)|benchmarks\b)", re.MULTILINE
)


@pytest.mark.parametrize("file", sorted(TESTS.rglob("*.py")), ids=lambda file: file.relative_to(TESTS).as_posix())
def test_a_test_file_imports_only_what_stands_in_support(file: Path) -> None:
    assert FORBIDDEN.findall(file.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "line",
    ["from tests.index import test_store", "    from tests.index.test_store import batch", "import benchmarks.data"],
)
def test_such_an_import_would_be_noticed(line: str) -> None:
    assert FORBIDDEN.search(f"import os\n{line}\n")
    assert not FORBIDDEN.search("from tests.support.indexing import batch\nfrom tests.support import peak\n")
