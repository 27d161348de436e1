"""``crawler-dedup demo``: show what the filter does on two small sites."""

from __future__ import annotations

import click

from crawler_dedup.cli.terminal import INTERRUPTED


@click.command()
def demo() -> None:
    """Show what the filter drops on two small sites.

    The sites come with the package and are served on this machine: no network is needed. Nothing is written to the working
    directory. The index is kept in a new directory among the system's temporary files.

    \b
    Example:
      crawler-dedup demo
    """
    from crawler_dedup.spiders.demo import DemoSpider  # noqa: PLC0415  (slow to load)
    from crawler_dedup.spiders.running import polite_settings, run_spider  # noqa: PLC0415

    if run_spider(DemoSpider, polite_settings()).interrupts:
        raise click.exceptions.Exit(INTERRUPTED)
