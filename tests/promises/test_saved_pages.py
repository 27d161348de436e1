"""The files of saved sites, as the benchmarks find them."""

from __future__ import annotations

import gzip
from pathlib import Path

from tests.support.data import html_pages, saved


def test_a_folder_is_not_read_as_a_page_whatever_its_name(tmp_path: Path) -> None:
    site = tmp_path / "sites" / "site"
    for folder in ("page.html", "archive.htm", "old.html.gz", "read.html"):
        (site / folder).mkdir(parents=True)
    (site / "page.html" / "index.html").write_bytes(b"<p>in a folder")
    (site / "read.html.gz").write_bytes(gzip.compress(b"<p>beside a folder"))
    assert html_pages("site", tmp_path) == {"site/page.html/index.html", "site/read.html"}
    assert saved(site / "read.html") == b"<p>beside a folder"
