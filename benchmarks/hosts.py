"""Real pages at addresses of many hosts, which a proxy on loopback serves.

``wcxb``: 595 pages of many kinds, mostly one of a site, as they are (:mod:`benchmarks.kinds`). ``twenty``: twenty pages of
each saved site.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from unittest import mock
from urllib.parse import urlsplit

from benchmarks.kinds import KINDS_OF_PAGES
from tests.support.data import DATA, documents, html_pages, saved, served

HOSTS = ("wcxb", "twenty")
_PAGES_OF_A_SITE = 20


def find_pages(name: str) -> dict[str, Path]:
    """Return the files of the pages by their addresses."""
    if name == "wcxb":
        pages = [
            (page["url"] or f"//{page['id']}.example", page["html"])
            for page in documents(KINDS_OF_PAGES, "pages.jsonl")
        ]
        files = [(urlsplit(url).netloc, KINDS_OF_PAGES / file) for url, file in pages]
    else:
        folders = [site for data in (DATA, DATA.parent / "dinomite") for site in sorted((data / "sites").iterdir())]
        files = [
            (f"{folder.name}.example", folder.parent / page)
            for folder in folders
            for page in _choose(sorted(html_pages(folder.name, folder.parents[1])))
        ]
    return {f"http://{host}/{number}.html": file for number, (host, file) in enumerate(files)}


def _choose(pages: list[str]) -> list[str]:
    return pages[:: max(1, len(pages) // _PAGES_OF_A_SITE)][:_PAGES_OF_A_SITE]


@contextmanager
def serve_hosts(pages: Mapping[str, Path], core: int) -> Iterator[tuple[str, str]]:
    """Serve *pages* to all crawls that this process starts; yield the address of a list of them, and their hosts."""
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder, "sites", "pages")
        site.mkdir(parents=True)
        for address, file in pages.items():
            (site / address.rpartition("/")[2]).write_bytes(saved(file))
        links = "".join(f'<li><a href="{address}">{address}</a></li>' for address in pages)
        (site / "index.html").write_text(f"<!doctype html><title>all pages</title><ul>{links}</ul>", encoding="utf-8")
        with served("pages", core=core, folder=Path(folder)) as proxy, mock.patch.dict(os.environ, http_proxy=proxy):
            yield "http://list.example/", ",".join({urlsplit(address).netloc for address in pages})
