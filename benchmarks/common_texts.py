"""Which texts do many sites have in common? ``python -m benchmarks.common_texts [FOLDER]``.

The benchmark counts the registered domains on which each block of text occurs that has 100 letters or more and is not mainly
a link. The table shows how many blocks occur on how many domains, and how many of these blocks are a part of the main text
of a page. A text of many sites, such as a consent text, may be taken for the main text of pages that have nothing else in
common.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.kinds import KINDS_OF_PAGES, read_pages
from crawler_dedup import Config
from crawler_dedup.signedpage import Trait
from crawler_dedup.signing.blocks import unpack_blocks
from crawler_dedup.signing.signer import Signer
from crawler_dedup.urls import registered_domain

_LONG = 100  # letters
_DOMAINS = (1, 2, 3, 4)


def main() -> None:
    """Sign the pages, count and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=KINDS_OF_PAGES)
    signer = Signer(Config.from_settings({"DEDUP_TOKENIZER": "rjieba"}))
    domains: dict[int, set[str]] = defaultdict(set)
    in_main: set[int] = set()
    pages = 0
    for page in read_pages(parser.parse_args().folder):
        if not page.url:
            continue
        pages += 1
        signed = signer.sign(page.url, page.body, encoding="utf-8", key=page.url, scope="")[0]
        for block in unpack_blocks(signed.blocks):
            if block.size >= _LONG and not block.traits & (Trait.ENTRY | Trait.EMBEDDED):
                domains[block.hash].add(registered_domain(page.url))
                if block.traits & Trait.MAIN:
                    in_main.add(block.hash)
    known = set().union(*domains.values())
    table = Table("on so many domains or more", title=f"{pages} pages of {len(known)} domains", title_justify="left")
    for column in ("blocks", "of a main text"):
        table.add_column(column, justify="right")
    for least in _DOMAINS:
        common = {block for block, hosts in domains.items() if len(hosts) >= least}
        table.add_row(str(least), str(len(common)), str(len(common & in_main)))
    Console().print(table)


if __name__ == "__main__":
    main()
