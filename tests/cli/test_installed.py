"""Each command runs as it is installed: the script, a new interpreter, and nothing imported beforehand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from crawler_dedup import Config, Deduplicator
from tests.support.commandline import command
from tests.support.crawling import Site, article, html
from tests.support.labelled import write_set

URL = "http://a.org/1"
BIGRAMS = ("-s", "DEDUP_TOKENIZER=bigrams")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with an index of one page and its journal, two pages, and labelled pages."""
    folder = tmp_path_factory.mktemp("installed")
    with Deduplicator.open(folder / "index", Config(tokenizer="bigrams")) as deduplicator:
        deduplicator.check(URL, article("x", count=400).encode())
    drop = (
        '{"version":2,"time":"2026-11-22T08:00:00Z","event":"drop","run":"00000001","spider":"s","url":"http://a.org/2",'
        f'"key":"2","scope":"","duplicate_of":"{URL}","rule":"same bytes","distance":0}}\n'
    )
    (folder / "index" / "journal-2026.jsonl").write_text(drop, encoding="utf-8")
    for name in ("x", "y"):
        (folder / f"{name}.html").write_text(article(name, count=400), encoding="utf-8")
    pages = {"1": article("x"), "2": article("x", frame="copy"), "3": article("y")}
    pairs = [{"id_a": "1", "id_b": "2", "label": 1}, {"id_a": "1", "id_b": "3", "label": 0}]
    write_set(folder / "labelled", pages, pairs)
    return folder


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """Yield a site of two pages."""
    with Site({"/": html(article("front", links=["/x"])), "/x": html(article("x"))}) as opened:
        yield opened


@pytest.mark.parametrize(
    ("arguments", "status", "output"),
    [
        (
            ("crawl", "SITE/", "--dry-run", *BIGRAMS, "-s", "DOWNLOAD_DELAY=0", "-s", "AUTOTHROTTLE_ENABLED=False"),
            0,
            "2 kept",
        ),
        (("settings",), 0, "## DEDUP_MAX_DISTANCE"),
        (("compare", "x.html", "y.html", *BIGRAMS), 1, "signatures far apart"),
        (("why", URL, "index", *BIGRAMS), 0, f"{URL} is kept"),
        (("drops", "index"), 0, "http://a.org/2"),
        (("judge", "index", "--sample", "1", *BIGRAMS), 0, "http://a.org/2"),
        (("forget", "index", "--host", "other.org"), 0, "0 pages forgotten"),
        (("report", "index", "-o", "report.html"), 0, "report.html: "),
        (("evaluate", "labelled", *BIGRAMS), 0, "precision"),
        (("works", "add", "x.html", "--library", "works", "-j", "1"), 0, "the library has 1 work."),
        (("index", "stats", "index"), 0, "simhash"),
        (("lexicon", "build", "labelled/html", *BIGRAMS), 0, "lexicon"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_command_runs_as_it_is_installed(
    folder: Path, site: Site, arguments: tuple[str, ...], status: int, output: str
) -> None:
    given = [argument.replace("SITE", site.url) for argument in arguments]
    done = command(folder, *given, fresh=True, TMPDIR=str(folder))
    assert done.returncode == status, done.stderr
    assert output in " ".join(done.stdout.split()), (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
