"""Compare the native core with Python."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from crawler_dedup.signing import native
from tests.support.data import DATA


def require_function(name: str) -> None:
    """Skip the test if the core lags behind in the function *name*, which Python runs then."""
    if name in native.describe_core():
        pytest.skip(f"the native core has another revision of {name}")


def assert_equal(compute: Callable[..., object], *args: Any, **kwargs: Any) -> None:
    """Check that *compute* returns or raises the same with and without the core, and that the core does not fail."""
    failures = native.count_failures()
    with_core = _outcome(compute, args, kwargs)
    with native.switched_off():
        without = _outcome(compute, args, kwargs)
    assert with_core == without
    assert native.count_failures() == failures


def _outcome(compute: Callable[..., object], args: Any, kwargs: Any) -> object:
    try:
        return compute(*args, **kwargs)
    except Exception as error:
        return type(error), str(error)


def saved_pages() -> Iterator[tuple[str, bytes]]:
    """Yield all pages of the saved sites, with a name for each."""
    for file in sorted((DATA / "sites").rglob("*")):
        if file.is_file() and file.name.removesuffix(".gz").endswith((".html", ".htm", ".xhtml")):
            yield file.relative_to(DATA).as_posix(), _read(file)


def _read(file: Path) -> bytes:
    return gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
