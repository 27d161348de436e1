"""Where the labelled pages are, and how to serve them."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

DATA = Path(os.environ.get("CRAWLER_DEDUP_DATA", Path(__file__).parents[2] / "shared/data/dev"))


def require_data() -> None:
    """End the program with a sentence where the pages are absent."""
    if not (DATA / "sites").is_dir():
        sys.exit(f"No labelled pages in {DATA}: set CRAWLER_DEDUP_DATA to their folder.")


@contextmanager
def served(site: str, *options: str, core: int | None = None) -> Iterator[str]:
    """Serve a saved site on loopback, on one core if given; gives its origin without the last slash."""
    command = [sys.executable, str(DATA.parent / "serve.py"), str(DATA / "sites" / site), "0", "--quiet", *options]
    if core is not None:
        command = ["taskset", "-c", str(core), *command]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert server.stdout is not None
        yield server.stdout.readline().strip().rstrip("/")
    finally:
        server.kill()
        server.wait()
        assert server.stdout is not None
        server.stdout.close()


def html_pages(site: str) -> set[str]:
    """Identifiers (``site/path``) of the pages of a saved site."""
    folder = DATA / "sites"
    return {
        page.relative_to(folder).as_posix().removesuffix(".gz")
        for page in (folder / site).rglob("*")
        if page.name.removesuffix(".gz").endswith((".html", ".htm", ".xhtml"))
    }


def page_id(site: str, url: str) -> str:
    """The identifier of the page that *url* of the served *site* shows."""
    path = unquote(urlsplit(url).path).lstrip("/")
    return f"{site}/{path}" + ("index.html" if not path or path.endswith("/") else "")


def labelled_pairs() -> Iterator[dict[str, Any]]:
    """The labelled pairs of pages of the saved sites."""
    with gzip.open(DATA / "pairs/sites.pairs.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def contents(feeds: Iterable[Path]) -> Counter[str]:
    """How often each text stands in *feeds* of JSON lines; a last line that a kill has cut does not count."""
    whole = (line for feed in feeds if feed.exists() for line in feed.read_bytes().split(b"\n")[:-1])
    return Counter(json.loads(line)["text"] for line in whole)
