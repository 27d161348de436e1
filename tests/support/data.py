"""The labelled pages: where they are, how to serve them, and their labels. They do not belong to this project."""

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

DATA = Path(os.environ.get("CRAWLER_DEDUP_DATA", Path(__file__).parents[3] / "shared/data/dev"))


def require_data(folder: Path = DATA) -> None:
    """Exit with a message if the pages are absent."""
    if not (folder / "sites").is_dir():
        sys.exit(f"No labelled pages in {folder}: set CRAWLER_DEDUP_DATA to their folder.")


@contextmanager
def served(site: str, *options: str, core: int | None = None, folder: Path = DATA) -> Iterator[str]:
    """Serve a saved site on loopback, on the core *core* if given; yield its origin without the last slash."""
    command = [sys.executable, str(DATA.parent / "serve.py"), str(folder / "sites" / site), "0", "--quiet", *options]
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


def html_pages(site: str, folder: Path = DATA) -> set[str]:
    """Return the identifiers (``site/path``) of the pages of a saved site."""
    sites = folder / "sites"
    return {
        page.relative_to(sites).as_posix().removesuffix(".gz")
        for page in (sites / site).rglob("*")
        if page.is_file() and page.name.removesuffix(".gz").endswith((".html", ".htm", ".xhtml"))
    }


def saved(file: Path) -> bytes:
    """Return the content of *file*, or of the gzipped file of that name."""
    if file.suffix != ".gz" and file.is_file():
        return file.read_bytes()
    return gzip.decompress(file.with_name(file.name.removesuffix(".gz") + ".gz").read_bytes())


def page_id(site: str, url: str) -> str:
    """Return the identifier of the page that *url* of the served *site* shows."""
    path = unquote(urlsplit(url).path).lstrip("/")
    return f"{site}/{path}" + ("index.html" if not path or path.endswith("/") else "")


def labelled_pairs(folder: Path = DATA) -> Iterator[dict[str, Any]]:
    """Yield the labelled pairs of pages of the saved sites."""
    with gzip.open(folder / "pairs/sites.pairs.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def documents(folder: Path = DATA, name: str = "pairs/sites.docs.jsonl") -> list[dict[str, Any]]:
    """Return the records of the pages of the saved sites, or of pages whose main text people have marked
    (``gold/gold.jsonl``).
    """
    return [json.loads(line) for line in (folder / name).read_bytes().splitlines()]


def contents(feeds: Iterable[Path]) -> Counter[str]:
    """Count each text in *feeds* of JSON lines; a last line that was cut by a kill does not count."""
    whole = (line for feed in feeds if feed.exists() for line in feed.read_bytes().split(b"\n")[:-1])
    return Counter(json.loads(line)["text"] for line in whole)
