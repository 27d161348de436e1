"""``crawler-dedup review``: look at drops in the browser, and correct them."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from crawler_dedup.cli.options import answers_option
from crawler_dedup.cli.progress import progress_bars
from crawler_dedup.cli.project import JUDGED, TargetOptions, target_options
from crawler_dedup.journal.reader import Journals
from crawler_dedup.system.extras import require_extra


@click.command()
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=0, show_default="any free port", help="Port of the pages."
)
@answers_option
@target_options
def review(port: int, folder: Path | None, options: TargetOptions) -> None:
    """Look at drops in the browser, and correct them.

    The command prints an address of this machine. Its pages list the drops, the most doubtful first, and show each beside
    the page that represents it. Buttons do what `judge`, `restore`, `separate` and `keep` do. The texts come from
    DEDUP_STORE_TEXT or DEDUP_DROPPED_WARC, or are fetched when you ask for them. INDEX is the directory of the index, or
    its address on a server; without it, the index of this Scrapy project is used. The command needs Starlette: install
    crawler-dedup with the extra review.

    \b
    Examples:
      crawler-dedup review
      crawler-dedup review .scrapy/dedup --port 8008
    """
    require_extra("review", "crawler-dedup review")
    from crawler_dedup.review.pages import serve  # noqa: PLC0415  (it needs the extra)
    from crawler_dedup.review.review import Review  # noqa: PLC0415

    target = options.find(needs_journal=True)

    def find_journals() -> Journals:  # a crawl that runs meanwhile adds a file
        return options.find_journals(target.directory, target.config)

    answers = folder or target.directory / JUDGED
    with closing(Review(target.index, find_journals, target.config, target.warc_directory, answers)) as opened:
        with progress_bars() as start:
            opened.refresh(start("reading the journal", target.journals.size))
        serve(opened, port, lambda address: click.echo(f"{address}  (press Ctrl-C to stop)"))
