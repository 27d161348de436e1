"""``crawler-dedup groups``: which pages and which hosts have the same content."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Literal

import click
from rich.text import Text

from crawler_dedup.cli.journals import print_damage
from crawler_dedup.cli.progress import progress_bars
from crawler_dedup.cli.project import TargetOptions, target_options
from crawler_dedup.cli.terminal import make_console, make_table, print_json, printable
from crawler_dedup.index.opening import open_index
from crawler_dedup.inspection.droptable import find_redundant_hosts

if TYPE_CHECKING:
    from crawler_dedup.inspection.droptable import DropTable


@click.command()
@click.option("--hosts", is_flag=True, help="List hosts that mostly have copies of pages of another host.")
@click.option(
    "--list",
    "listed",
    type=click.Choice(["deny", "allow"]),
    help="Print only hosts, one per line: those that need not be crawled, or all others.",
)
@click.option("--json", "--jsonl", "json", is_flag=True, help="Print JSON Lines: one JSON object per line.")
@target_options
def groups(*, hosts: bool, listed: Literal["deny", "allow"] | None, json: bool, options: TargetOptions) -> None:
    """List the pages, or the hosts, that have the same content.

    The lines below a kept page are the addresses of its duplicates. They come from the journal of all runs since a
    crawl last emptied the index (DEDUP_FRESH). A dropped page that was kept later is left out. INDEX is the directory
    of the index, or its address on a server; without it, the index of this Scrapy project is used.

    --hosts lists the hosts that mostly have copies: at least ten pages of the host are known (kept or dropped), and at
    least half of them are duplicates of pages of one other host. The share is printed. --list deny prints only the
    names of these hosts, for LinkExtractor(deny_domains=...); --list allow prints the other hosts, for allowed_domains.

    \b
    Examples:
      crawler-dedup groups
      crawler-dedup groups --jsonl > groups.jsonl
      crawler-dedup groups --hosts
      crawler-dedup groups --list deny > deny.txt
    """
    if json and listed:
        raise click.UsageError("--json and --list cannot be combined.")
    from crawler_dedup.inspection.droptable import DropTable  # noqa: PLC0415  (slow to load)

    target = options.find(needs_journal=True)
    with closing(DropTable(None)) as table:
        with progress_bars() as start, closing(open_index(target.index)) as pages:
            table.read(pages, target.journals, start)
        print_damage(table.damaged)
        if hosts or listed:
            _print_hosts(table, listed, json=json)
        elif json:
            print_json("group", map(vars, table.groups()))
        else:
            for group in table.groups():
                click.echo(printable(group.url))
                for each in group.duplicates:
                    click.echo(f"  ← {printable(each['url'])}  ({printable(each['rule'])})")


def _print_hosts(table: DropTable, listed: Literal["deny", "allow"] | None, *, json: bool) -> None:
    hosts_with_mirrors = table.mirrors()
    redundant = find_redundant_hosts(hosts_with_mirrors)
    if listed:
        for host in redundant if listed == "deny" else [host for host in table.hosts() if host not in redundant]:
            click.echo(printable(host))
    elif json:
        lines = ({**vars(each), "share": each.share, "deny": each.host in redundant} for each in hosts_with_mirrors)
        print_json("mirror", lines)
    elif not hosts_with_mirrors:
        click.echo("No host mostly has copies of pages of one other host (half of at least ten known pages).")
    else:
        table_of_hosts = make_table("host", "duplicates of", right=("pages", "duplicates", "share"))
        for each in hosts_with_mirrors:
            names = Text(printable(each.host)), Text(printable(each.mirrors))
            table_of_hosts.add_row(*names, f"{each.pages:,}", f"{each.duplicates:,}", f"{each.share:.0%}")
        make_console().print(table_of_hosts)
