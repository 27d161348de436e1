"""Each command runs as it is installed: the script, a new interpreter, and nothing imported beforehand."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.commandline import command
from tests.support.crawling import Site, article, html

URL = "http://a.org/1"
BIGRAMS = ("-s", "DEDUP_TOKENIZER=bigrams")


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
        (("compare", "x.html", "y.html", *BIGRAMS), 1, "signatures far apart"),
        (("why", URL, "index", *BIGRAMS), 0, f"{URL} is kept"),
        (("report", "index", "-o", "report.html"), 0, "report.html: "),
        (("evaluate", "labelled", *BIGRAMS), 0, "precision"),
        (("works", "add", "x.html", "--library", "works", "-j", "1"), 0, "the library has 1 work."),
        (("index", "stats", "index"), 0, "simhash"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_command_runs_as_it_is_installed(
    made: Path, site: Site, arguments: tuple[str, ...], status: int, output: str
) -> None:
    given = [argument.replace("SITE", site.url) for argument in arguments]
    done = command(made, *given, fresh=True, TMPDIR=str(made))
    assert done.returncode == status, done.stderr
    assert output in " ".join(done.stdout.split()), (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
