"""Tests in this folder compare the native core with Python, where the core is installed."""

from __future__ import annotations

import pytest

from crawler_dedup.signing import native


@pytest.fixture(autouse=True, scope="session")
def _core() -> None:
    if native.load_core() is None:
        pytest.skip("crawler-dedup-native is not installed, or does not fit: pip install ./native")
