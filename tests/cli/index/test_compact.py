"""``crawler-dedup index compact``."""

from __future__ import annotations

from pathlib import Path

from tests.support.commandline import invoke, printed_text
from tests.support.indexcommands import PAGES, cli, fill, is_sound, kept


def test_compact_reports_how_many_bytes_it_freed(pages: Path) -> None:
    fill(pages)
    invoke("forget", pages, "--host", "c.org")
    before = (pages / "data.mdb").stat().st_size
    assert " before, and takes " in printed_text(cli("compact", pages))
    assert (pages / "data.mdb").stat().st_size < before
    assert is_sound(pages)
    assert kept(pages) == set(PAGES)
